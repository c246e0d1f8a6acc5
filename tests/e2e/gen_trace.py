"""gen_trace.py TRUTH FILE... - count what is in the traces, and compare it with TRUTH.

Nothing here knows how they were made: times are exact decimals, an operator is known by its thread
and its time, work by its correlation.
"""
import collections
import decimal
import json
import sys

SIZES = {"BFloat16": 2, "Float": 4}
WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
GIVES_WORK = ("Launch", "Memcpy", "Memset")


def fail(what):
    sys.exit(f"gen_trace.py: {what}")


def same(what, got, wanted):
    if got != wanted:
        fail(f"{what}: the trace has {got}, the truth is {wanted}")


def ns(value):
    exact = decimal.Decimal(value) * 1000
    if exact != int(exact):
        fail(f"{value} is no whole number of nanoseconds")
    return int(exact)


def times(event):
    begin = ns(event["ts"])
    return begin, begin + ns(event["dur"])


class Counts:
    def __init__(self):
        self.plain = collections.Counter()
        self.categories = collections.Counter()
        self.calls = collections.Counter()
        self.by = {key: collections.defaultdict(collections.Counter)
                   for key in ("kernels", "copies", "ops", "annotations", "python", "collectives")}
        self.sets = collections.Counter()
        self.memory = collections.Counter()


def nest(events, what):
    """Visit them in order; yield each with those that it is in, the outermost first."""
    open_ = []
    for e in sorted(events, key=lambda e: (times(e)[0], -times(e)[1])):
        begin, end = times(e)
        while open_ and times(open_[-1])[1] <= begin:
            open_.pop()
        if open_ and times(open_[-1])[1] < end:
            fail(f"{what}: {e['name']} at {e['ts']} ends after {open_[-1]['name']}, which it is in")
        yield e, open_
        open_.append(e)


def add_ops(counts, ops, marks):
    """marks: points on the same thread, each to be given its innermost operators."""
    found = {}
    deepest = 0
    for e, above in nest(ops + marks, "operators and calls"):
        begin, end = times(e)
        inside = [a for a in above if a["cat"] == "cpu_op"]
        if e["cat"] != "cpu_op":
            found[e["args"]["correlation"]] = inside
            continue
        row = counts.by["ops"][e["name"]]
        row["calls"] += 1
        row["host_ns"] += end - begin
        row["host_self_ns"] += end - begin
        deepest = max(deepest, len(inside) + 1)
        if inside:
            counts.by["ops"][inside[-1]["name"]]["host_self_ns"] -= end - begin
            if e["name"] in [a["name"] for a in inside]:
                fail(f"{e['name']} is in itself")
    if ops and not 3 <= deepest <= 6:
        fail(f"operators are {deepest} deep")
    return found


def add_work(counts, events, calls, inside):
    last = collections.Counter()
    for e in events:
        begin, end = times(e)
        args = e["args"]
        call = calls[args["correlation"]]
        kind = "kernels" if e["cat"] == "kernel" else "copies"
        row = counts.sets if e["cat"] == "gpu_memset" else counts.by[kind][e["name"]]
        row["count"] += 1
        row["ns"] += end - begin
        if e["cat"] == "kernel":
            counts.plain["kernel_ns"] += end - begin
        else:
            row["bytes"] += args["bytes"]
        if begin <= times(call)[0]:
            fail(f"{e['name']} at {e['ts']} begins before its launch")
        if begin < last[e["tid"]]:
            fail(f"{e['name']} at {e['ts']} begins before the last one of its stream ended")
        last[e["tid"]] = end
        same("the stream", args["stream"], e["tid"])
        ops = inside[args["correlation"]]
        same("the External id", args.get("External id"), ops[-1]["args"]["External id"])
        same("its call's", call["args"].get("External id"), args.get("External id"))
        for op in ops:
            counts.by["ops"][op["name"]]["device_total_ns"] += end - begin
        counts.by["ops"][ops[-1]["name"]]["device_self_ns"] += end - begin
        if "Collective name" in args:
            row = counts.by["collectives"][args["Collective name"]]
            row["count"] += 1
            row["ns"] += end - begin
            row["bytes_in"] += args["In msg nelems"] * SIZES[args["dtype"]]
            row["bytes_out"] += args["Out msg nelems"] * SIZES[args["dtype"]]
            same("its operator", ops[-1]["name"], "record_param_comms")
            same("its operator's Seq", ops[-1]["args"]["Seq"], args["Seq"])


def add_python(counts, events):
    by_id = {}
    for e, above in nest(events, "Python functions"):
        args = e["args"]
        name = e["name"]
        if name.startswith("nn.Module: "):
            name = name.rstrip("0123456789")
            same("the module", int(e["name"][len(name):]), args["Python module id"])
        row = counts.by["python"][name]
        row["calls"] += 1
        row["ns"] += ns(e["dur"])
        by_id[args["Python id"]] = e
        same(f"the parent of {e['name']}", args["Python parent id"],
             above[-1]["args"]["Python id"] if above else None)
    same("Python ids", len(by_id), len(events))


def add_memory(counts, events):
    live = {}
    base = None
    for e in sorted(events, key=lambda e: ns(e["ts"])):
        args = e["args"]
        size = args["Bytes"]
        if size > 0:
            if args["Addr"] in live:
                fail(f"{args['Addr']} is allocated twice")
            live[args["Addr"]] = size
        else:
            same("what is freed", -size, live.pop(args["Addr"], None))
        counts.memory["allocs" if size > 0 else "frees"] += 1
        counts.memory["alloc_bytes" if size > 0 else "free_bytes"] += abs(size)
        base = args["Total Allocated"] - sum(live.values()) if base is None else base
        same("Total Allocated", args["Total Allocated"], base + sum(live.values()))
        if args["Total Reserved"] < args["Total Allocated"]:
            fail("less is reserved than allocated")
    same("what is left", live, {})


def check_flows(events, calls):
    ends = {"s": collections.defaultdict(set), "f": collections.defaultdict(set)}
    for e in events:
        if e["ph"] in "sf":
            ends[e["ph"]][e["cat"]].add(e["id"])
    same("arrows that end nowhere", ends["s"]["fwdbwd"] ^ ends["f"]["fwdbwd"], set())
    work = {e["args"]["correlation"] for e in events if e.get("cat") in WORK}
    same("arrows to work", ends["f"]["ac2g"], work)
    if not work <= ends["s"]["ac2g"] <= set(calls):
        fail("an arrow to the device does not begin at a call")


def add(counts, trace, shapes):
    events = trace["traceEvents"]
    of = collections.defaultdict(list)
    for e in events:
        counts.categories[e.get("cat", "")] += 1
        of[e.get("cat", "")].append(e)
    counts.plain["events"] += len(events)
    calls = {e["args"]["correlation"]: e for e in of["cuda_runtime"] + of["cuda_driver"]}
    inside = {}
    for tid in sorted({e["tid"] for e in of["cpu_op"]}):
        inside.update(add_ops(counts, [e for e in of["cpu_op"] if e["tid"] == tid],
                              [e for e in calls.values() if e["tid"] == tid]))
    for e in calls.values():
        counts.calls[e["name"]] += 1
        counts.plain["launches"] += any(part in e["name"] for part in GIVES_WORK)
    add_work(counts, [e for e in events if e.get("cat") in WORK], calls, inside)
    for e in of["user_annotation"]:
        row = counts.by["annotations"][e["name"].rstrip("0123456789")]
        row["calls"] += 1
        row["ns"] += ns(e["dur"])
    counts.plain["steps"] += sum(e["name"].startswith("ProfilerStep#")
                                 for e in of["user_annotation"])
    add_python(counts, of["python_function"])
    add_memory(counts, of["cpu_instant_event"])
    check_flows(events, calls)
    indices = [e["args"]["Ev Idx"] for e in events if "Ev Idx" in e.get("args", {})]
    same("the order of events", indices, list(range(len(indices))))
    for e in of["cpu_op"]:
        args = e["args"]
        same("inputs are recorded", "Input Dims" in args,
             shapes and not e["name"].startswith("autograd::engine::"))
        if "Input Dims" in args:
            same("inputs", {len(args[key]) for key in ("Input Dims", "Input Strides", "Input type",
                                                       "Concrete Inputs")},
                 {len(args["Input Dims"])})


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        truth = json.load(f)
    counts = Counts()
    size = 0
    for rank, path in enumerate(sys.argv[2:]):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        size += len(text)
        trace = json.loads(text, parse_float=decimal.Decimal)
        same("the rank", trace["distributedInfo"]["rank"], rank)
        same("the world", trace["distributedInfo"]["world_size"], truth["world"])
        add(counts, trace, "record_shapes" in trace)
    same("files", len(sys.argv) - 2, truth["files"])
    same("bytes", size, truth["bytes"])
    for key in ("events", "steps", "launches", "kernel_ns"):
        same(key, counts.plain[key], truth[key])
    for key in ("categories", "calls", "sets", "memory"):
        same(key, {k: v for k, v in getattr(counts, key).items() if v}, truth[key])
    for key, rows in counts.by.items():
        wanted = truth.get(key, {})
        same(f"{key} in one only", set(rows) ^ set(wanted), set())
        for name, row in rows.items():
            same(f"{key}: {name}", {k: row[k] for k in wanted[name]}, wanted[name])
    print(counts.plain["events"], "events are as expected")


main()
