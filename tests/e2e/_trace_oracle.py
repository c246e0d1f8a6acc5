"""_trace_oracle.py FILE... - what is in Kineto and rocprofv3 traces, counted apart from accelprof.

Times are exact: numbers are read as text and become integer ns. Which operator a thing belongs to
follows from intervals alone. Lies in: same pid and tid, and the interval within the other's,
ends included; of equal intervals the earlier in the file is outside. A launch is the runtime or
driver call with the correlation of the work; it lies in an operator if its begin t has
begin <= t < end. What has no length lies at the end of an operator, too, or in another of none.
"""
import bisect
import collections
import decimal
import functools
import gzip
import json
import math
import re
import sys

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = {"cuda_runtime": "runtime", "hip_runtime": "runtime", "cuda_driver": "driver",
         "hip_driver": "driver"}
DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "p2p", "HtoH": "h2h", "HtoA": "h2d",
              "AtoH": "d2h"}
MEMORIES = ("Pageable", "Pinned", "Device", "Array", "Managed")
LOADER = "enumerate(DataLoader)#"
WAITS = {"EventSynchronize": "event", "StreamSynchronize": "stream",
         "DeviceSynchronize": "context", "CtxSynchronize": "context"}
BYTES = {"float": 4, "int": 4, "long": 8, "unsigned char": 1, "signed char": 1}
COLUMNS = ("calls", "host", "host_self", "device_self", "device_total", "copies")

Event = collections.namedtuple("Event", "at cat name thread begin end args")


def exact(us):
    """Integer ns of a decimal number of us."""
    value = decimal.Decimal(str(us)) * 1000
    ns = value.to_integral_value(rounding=decimal.ROUND_HALF_UP)
    return int(ns)


def load(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="surrogateescape") as f:
        return json.load(f, parse_float=str)


def complete(events):
    """The events of ph X, with ns."""
    made = []
    for at, e in enumerate(events):
        if e.get("ph") == "X":
            begin = exact(e["ts"])
            made.append(Event(at, e.get("cat"), e["name"], (e.get("pid"), e.get("tid")), begin,
                              begin + exact(e.get("dur", 0)), e.get("args", {})))
    return made


def listed(args, name):
    return args[name] if isinstance(args.get(name), list) else []


def inputs_text(args):
    """Types and shapes as an operator's inputs are shown: "float[2,3], TensorList[[1],[2]], -"."""
    types = listed(args, "Input type")
    dims = listed(args, "Input Dims")
    shown = []
    for i in range(max(len(types), len(dims))):
        kind = (types[i] or "-") if i < len(types) else ""
        shape = dims[i] if i < len(dims) and isinstance(dims[i], list) else []
        shown.append(kind + (json.dumps(shape, separators=(",", ":")) if shape else ""))
    return ", ".join(shown)


def scalars_text(args):
    """The values of an operator's inputs: ";;[1, 1];False"; None if there are none."""
    values = listed(args, "Concrete Inputs")
    shown = [str("" if v is None else v).replace(";", ",") for v in values]
    return ";".join(shown) if any(shown) else None


@functools.lru_cache(maxsize=None)
def contiguous(dims, strides):
    """Whether the elements lie one after another, in order: small tensors element by element."""
    if not all(isinstance(n, int) and n >= 0 for n in dims + strides) or 0 in dims:
        return True
    if math.prod(dims) > 1 << 10:
        return math.prod(dims) >= 1 << 64 or all(
            size == 1 or step == math.prod(dims[i + 1:])
            for i, (size, step) in enumerate(zip(dims, strides)))
    at = [0]
    for size, step in zip(dims, strides):
        at = [a + i * step for a in at for i in range(size)]
    return at == list(range(len(at)))


def strides_text(args):
    """The strides of inputs that are not contiguous: ";[0,1]"; None if all are contiguous."""
    shown = []
    for dims, strides in zip(listed(args, "Input Dims"), listed(args, "Input Strides")):
        if not isinstance(dims, list) or not isinstance(strides, list):
            dims = strides = []
        tensors = zip(dims, strides) if dims and isinstance(dims[0], list) else [(dims, strides)]
        fine = all(contiguous(tuple(d), tuple(s)) for d, s in tensors if len(d) == len(s))
        shown.append("" if fine else json.dumps(strides, separators=(",", ":")))
    return ";".join(shown) if any(shown) else None


def memories(name):
    """The types of memory in "Memcpy DtoH (Device -> Pinned)"."""
    found = re.search(r"\((\w+).* -> (\w+)", name)
    return tuple(m.lower() if m in MEMORIES else "unspecified"
                 for m in (found.groups() if found else ("", "")))


def direction(name):
    found = re.match(r"Memcpy (\w+)", name)
    return DIRECTIONS.get(found and found.group(1), "unspecified")


def waits(calls):
    """(type, begin, ns, correlation, thread) of calls that wait, if nothing else reports waits."""
    return sorted((what, c.begin, c.end - c.begin, c.args.get("correlation", 0), c.thread[1])
                  for c in calls for word, what in WAITS.items() if word in c.name)


def nest(events):
    """Index of the parent in which each lies most closely, or None; the order is by begin."""
    events = sorted(events, key=lambda e: (e.begin, -e.end, e.at))
    parents, stack = [], []
    for i, e in enumerate(events):
        while stack and not (events[stack[-1]].end >= e.end and
                             (events[stack[-1]].end > e.begin or e.begin == e.end)):
            if events[stack[-1]].end > e.begin:
                raise ValueError(f"{e.name} and {events[stack[-1]].name} cross at {e.begin}")
            stack.pop()
        parents.append(stack[-1] if stack else None)
        stack.append(i)
    return events, parents


def chain(parents, i):
    while i is not None:
        yield i
        i = parents[i]


def holds(op, launch):
    t = launch.begin
    return op.begin <= t < op.end or (t == op.end and launch.begin == launch.end)


def threads_of(events):
    by = collections.defaultdict(list)
    for e in events:
        by[e.thread].append(e)
    return by


class Operators:
    """What is in which operator."""

    def __init__(self, ops, calls):
        self.threads = {t: nest(of) for t, of in threads_of(ops).items()}
        self.begins = {t: [e.begin for e in of] for t, (of, _) in self.threads.items()}
        self.calls = {}
        for call in sorted(calls, key=lambda c: c.begin):  # of two, the later
            if "correlation" in call.args:
                self.calls[call.args["correlation"]] = call

    def all(self):
        """Each operator with those around it, innermost first."""
        for ops, parents in self.threads.values():
            for i, op in enumerate(ops):
                yield op, [ops[k] for k in chain(parents, parents[i])]

    def around(self, work):
        """The operators that the launch of this work lies in, innermost first."""
        launch = self.calls.get(work.args.get("correlation"))
        if launch is None or launch.thread not in self.threads:
            return []
        ops, parents = self.threads[launch.thread]
        last = bisect.bisect_right(self.begins[launch.thread], launch.begin) - 1
        return [ops[k] for k in chain(parents, last if last >= 0 else None)
                if holds(ops[k], launch)]


class Brute(Operators):
    """The same from the definitions, at the cost of the square."""

    @staticmethod
    def lies_in(a, b):
        same = (a.begin, a.end) == (b.begin, b.end)
        return a is not b and a.thread == b.thread and b.begin <= a.begin and a.end <= b.end and \
            (not same or b.at < a.at)

    def __init__(self, ops, calls):
        super().__init__(ops, calls)
        self.ops = ops

    def all(self):
        for op in self.ops:
            yield op, sorted((o for o in self.ops if self.lies_in(op, o)),
                             key=lambda o: (-o.begin, o.end, -o.at))

    def around(self, work):
        launch = self.calls.get(work.args.get("correlation"))
        found = [o for o in self.ops if launch and o.thread == launch.thread and
                 holds(o, launch)]
        found.sort(key=lambda o: (-o.begin, o.end, -o.at))
        return found[:1] + [o for o in found[1:] if self.lies_in(found[0], o)]


def operators(operators_, work, key):
    """{key: {column: number}} of all operators."""
    table = collections.defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    for op, outer in operators_.all():
        row = table[key(op)]
        row["calls"] += 1
        row["host_self"] += op.end - op.begin
        if key(op) not in {key(o) for o in outer}:
            row["host"] += op.end - op.begin
    for op, outer in operators_.all():
        if outer:
            table[key(outer[0])]["host_self"] -= op.end - op.begin
    for e in work:
        around = operators_.around(e)
        for k in {key(o) for o in around}:
            table[k]["device_total" if e.cat == "kernel" else "copies"] += e.end - e.begin
        if around and e.cat == "kernel":
            table[key(around[0])]["device_self"] += e.end - e.begin
    return dict(table)


def by_op(op):
    return op.name


def by_shape(op):
    return op.name, inputs_text(op.args)


def tally(items):
    """{key: [count, sum, ...]} of (key, number, ...)."""
    made = {}
    for key, *numbers in items:
        row = made.setdefault(key, [0] * (1 + len(numbers)))
        row[0] += 1
        for i, n in enumerate(numbers):
            row[i + 1] += n
    return made


def talks(kernel):
    """Whether a kernel is a collective, by its name."""
    return re.search("nccl|rccl", kernel, re.IGNORECASE) is not None


def collective(e):
    return e.cat == "kernel" and ("Collective name" in e.args or talks(e.name))


def collectives(kernels, annotations, calls):
    """{(name, type, bytes): [count, ns]} of those that are launched in "nccl:NAME"."""
    found = Operators([a for a in annotations if a.name.startswith("nccl:")], calls)
    made = []
    for e in filter(collective, kernels):
        around = found.around(e)
        if around and "Collective name" not in e.args:
            kind = around[0].args["Input type"][0]
            size = BYTES[kind] * math.prod(around[0].args["Input Dims"][0])
            made.append(((around[0].name.removeprefix("nccl:"), kind, size), e.end - e.begin))
    return tally(made)


def union(spans):
    """Intervals that do not touch, of any."""
    made = []
    for begin, end in sorted(spans):
        if made and begin <= made[-1][1]:
            made[-1][1] = max(made[-1][1], end)
        else:
            made.append([begin, end])
    return made


def length(spans):
    return sum(end - begin for begin, end in union(spans))


def exposed(kernels):
    """{device: (collectives, time of any, time of them alone)}"""
    made = {}
    for device in {e.args.get("device") for e in kernels}:
        here = [e for e in kernels if e.args.get("device") == device]
        talk = [(e.begin, e.end) for e in here if collective(e)]
        work = [(e.begin, e.end) for e in here if not collective(e)]
        if talk:
            made[device] = len(talk), length(talk), length(talk + work) - length(work)
    return made


STEP = re.compile(r"^ProfilerStep#\d+$")


def paths(annotations):
    """(path, ns) of annotations, nested on their threads."""
    for of in threads_of(annotations).values():
        events, parents = nest(of)
        for i, e in enumerate(events):
            yield "/".join(STEP.sub("ProfilerStep", events[k].name)
                           for k in reversed(list(chain(parents, i)))), e.end - e.begin


def kineto(doc, brute=False):
    all_events = doc if isinstance(doc, list) else doc["traceEvents"]
    events = complete(all_events)
    by = collections.defaultdict(list)
    for e in events:
        by[e.cat].append(e)
    loader = [e for e in by["cpu_op"] if e.name.startswith(LOADER)]
    by["cpu_op"] = [e for e in by["cpu_op"] if not e.name.startswith(LOADER)]
    work = [e for e in events if e.cat in WORK]
    calls = [e for e in events if e.cat in CALLS]
    found = (Brute if brute else Operators)(by["cpu_op"], calls)
    info = {} if isinstance(doc, list) else doc.get("distributedInfo", {})
    return {
        "format": "kineto",
        "events": len(all_events),
        "base": 0 if isinstance(doc, list) else int(doc.get("baseTimeNanoseconds", 0)),
        "rank": info.get("rank"),
        "world": info.get("world_size"),
        "complete": {cat: len(of) for cat, of in by.items() if of},
        "args": tally(((e.name, inputs_text(e.args) or None, scalars_text(e.args),
                        strides_text(e.args)),) for e in by["cpu_op"]),
        "memories": tally((memories(e.name),) for e in by["gpu_memcpy"]),
        "waits": [] if by["cuda_sync"] else waits(calls),
        "kernels": tally((e.name, e.end - e.begin) for e in by["kernel"]),
        "spans": sorted((e.begin, e.end - e.begin) for e in by["kernel"]),
        "copies": tally((direction(e.name), e.args["bytes"], e.end - e.begin) for e in by["gpu_memcpy"]),
        "sets": tally(("set", e.args["bytes"], e.end - e.begin) for e in by["gpu_memset"]),
        "runtime": tally((e.name,) for e in calls if CALLS[e.cat] == "runtime"),
        "driver": tally((e.name,) for e in calls if CALLS[e.cat] == "driver"),
        "launched": sum(e.args.get("correlation") in found.calls for e in work),
        "annotations": tally(paths(by["user_annotation"] + loader)),
        "python": len(by["python_function"]),
        "collectives": sum(map(collective, events)),
        "collective_ns": sum(e.end - e.begin for e in events if collective(e)),
        "exposed": exposed(by["kernel"]),
        "annotated": collectives(by["kernel"], by["user_annotation"], calls),
        "ops": operators(found, work, by_op),
        "ops_shapes": operators(found, work, by_shape),
    }


def rocprof(doc):
    tool = doc["rocprofiler-sdk-tool"][0]
    records = tool["buffer_records"]
    symbols = {s["kernel_id"]: s for s in tool["kernel_symbols"]}

    def name(record):
        s = symbols[record["dispatch_info"]["kernel_id"]]
        for member in ("formatted_kernel_name", "demangled_kernel_name", "kernel_name"):
            if s.get(member):
                return s[member].removesuffix(".kd")
        return ""

    kernels = [(name(r), r["start_timestamp"], r["end_timestamp"] - r["start_timestamp"])
               for r in records.get("kernel_dispatch", [])]
    return {
        "format": "rocprofv3",
        "base": 0,
        "rank": None,
        "world": None,
        "complete": {kind: len(of) for kind, of in records.items() if of},
        "kernels": tally((n, dur) for n, _, dur in kernels),
        "spans": sorted((begin, dur) for _, begin, dur in kernels),
        "copies": {}, "sets": {}, "runtime": {}, "driver": {}, "annotations": {},
        "launched": 0, "python": 0, "ops": {}, "ops_shapes": {}, "args": {}, "memories": {},
        "waits": [],
        "collectives": sum(talks(n) for n, _, _ in kernels),
        "symbols": len(symbols),
    }


def figures(path, brute=False):
    doc = load(path)
    if isinstance(doc, dict) and "rocprofiler-sdk-tool" in doc:
        return rocprof(doc)
    return kineto(doc, brute)


def row(found):
    """The columns of the table of traces, as it writes them."""
    us = decimal.Decimal(sum(ns for _, ns in found["kernels"].values())) / 1000

    def total(table, i=0):
        return sum(r[i] for r in table.values())

    return {
        "kernels": str(total(found["kernels"])),
        "kernel time": f"{us.normalize():f}",
        "names": str(len(found["kernels"])),
        "cpu ops": str(found["complete"].get("cpu_op", 0)),
        "copies (bytes)": str(total(found["copies"])) +
                          (f" ({total(found['copies'], 1)})" if found["copies"] else ""),
        "sets": str(total(found["sets"])),
        "runtime": str(total(found["runtime"])),
        "driver": str(total(found["driver"])),
        "annotations": str(total(found["annotations"])),
        "python": str(found["python"]),
        "collectives": str(found["collectives"]),
    }


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(path, json.dumps(row(figures(path))))
