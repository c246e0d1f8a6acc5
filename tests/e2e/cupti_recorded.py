"""cupti_recorded.py - compare the events of a run with fake_cuda's own output.

	cupti_recorded.py exact DUMP OUT     all of it, and how it fits together
	cupti_recorded.py counts DUMP        launches, kernels, processes that have them, dropped
"""

import collections
import json
import sys

KERNEL_NS = 500  # FAKE_KERNEL_NS
SLACK_NS = 1000000  # between the clocks of the program and of the records
H2D, D2H, P2P = 1, 2, 5
POOL, PHYSICAL, MAPPED = 4, 7, 8
HANDLES = HOST = 2**32 - 1
TO_DEVICE, TO_HOST, GPU_FAULT, CPU_FAULT = 1, 2, 4, 5
EXTERNAL = 2
failures = 0


def check(what, got, wanted):
    global failures
    if got != wanted:
        print(f"{what}: got {got}, wanted {wanted}")
        failures += 1


def load(path):
    events = collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            event = json.loads(line)
            events[event["kind"]].append(event)
    return events


def key_of(event):
    return event["context"], event["corr"]


def check_counts(e, p):
    check("launches", len(e["launch"]), p["launches"])
    check("kernels", sum(not k["node"] for k in e["kernel"]), p["kernels"])
    check("kernels of graphs", sum(k["node"] != 0 for k in e["kernel"]), p["nodes"])
    for sub, count, size in (
        (H2D, "host_to_device", "bytes_in"),
        (D2H, "device_to_host", "bytes_out"),
        (P2P, "peer", "bytes_peer"),
    ):
        copies = [c for c in e["copy"] if c["sub"] == sub]
        check(count, len(copies), p[count])
        check(size, sum(c["bytes"] for c in copies), p[size])
    check("sets", len(e["set"]), p["sets"])
    check("bytes set", sum(s["bytes"] for s in e["set"]), p["bytes_set"])
    check("values set", {s["value"] for s in e["set"]}, {0x5A})
    allocs = [a for a in e["alloc"] if a["sub"] not in (PHYSICAL, MAPPED)]
    check("allocs", len(allocs), p["allocs"])
    check("bytes allocated", sum(a["bytes"] for a in allocs), p["bytes_allocated"])
    check("frees", len(e["free"]), p["frees"] + p["physical"] + p["mapped"])
    check("freed", {(f["addr"], f["pool"]) for f in e["free"]}, {(a["addr"], a["pool"]) for a in e["alloc"]})
    pooled = [a for a in allocs if a["sub"] == POOL]
    check("of pools", len(pooled), p["pooled"])
    check("pools", {a["origin"] for a in pooled}, {0x9000, 0x9001, 0x9002, 0x9003})
    check("of no pool", {a["origin"] for a in allocs if a["sub"] != POOL}, {0})
    check("syncs", len(e["sync"]), p["syncs"])
    check("driver calls", sum(a["sub"] == 2 for a in e["api"]), p["calls"])
    check("runtime calls", sum(a["sub"] == 1 for a in e["api"]), p["runtime_calls"])


def check_virtual(e, p):
    made = [a for a in e["alloc"] if a["sub"] == PHYSICAL]
    parts = [a for a in e["alloc"] if a["sub"] == MAPPED]
    check("physical memory", len(made), p["physical"])
    check("bytes of it", sum(a["bytes"] for a in made), p["bytes_physical"])
    check("handles are no addresses", {a["pool"] for a in made}, {HANDLES})
    check("mapped", len(parts), p["mapped"])
    check("of what", collections.Counter(a["parent"] for a in parts),
          collections.Counter({a["addr"]: 2 for a in made}))
    ends = {f["addr"]: f["time"] for f in e["free"] if f["pool"] == HANDLES}
    last = collections.Counter()
    by_address = {f["addr"]: f["time"] for f in e["free"] if f["pool"] != HANDLES}
    for a in parts:
        last[a["parent"]] = max(last[a["parent"]], by_address[a["addr"]])
    check("ends before what is mapped to it", sum(ends[h] < t for h, t in last.items()), 0)


def check_unified(e, p):
    for sub, count, of, total, ends in (
        (TO_DEVICE, "to_device", "bytes", "bytes_to_device", {(HOST, 0), (HOST, 1)}),
        (TO_HOST, "to_host", "bytes", "bytes_to_host", {(0, HOST), (1, HOST)}),
        (GPU_FAULT, "gpu_faults", "count", "gpu_pages", {(0, 0), (1, 1)}),
        (CPU_FAULT, "cpu_faults", "count", "cpu_faults", {(HOST, HOST)}),
    ):
        found = [u for u in e["uvm"] if u["sub"] == sub]
        check(count, len(found), p[count])
        check(total, sum(u[of] for u in found), p[total])
        check(f"{count}: from, to", {(u["src"], u["dst"]) for u in found}, ends)
        dur = 0 if sub == CPU_FAULT else KERNEL_NS
        check(f"{count}: durations", {u["dur"] for u in found}, {dur})
    check("unified memory, other", sum(u["sub"] not in (1, 2, 4, 5) for u in e["uvm"]), 0)


def check_streams(e, p):
    check("streams", len(e["queue"]), p["streams"])
    check("streams: number, priority, flags",
          sorted((q["stream"], q["priority"], q["flags"]) for q in e["queue"]),
          [(10 + i, 2**32 - 1, 2) for i in range(4)])
    check("events", len(e["event_record"]), p["events"])
    check("events: stream, event", {(x["stream"], x["event"]) for x in e["event_record"]},
          {(10 + i, 100 + i) for i in range(4)})
    threads = {x["tid"] for x in e["launch"]}
    check("threads of streams and events", {x["tid"] for x in e["queue"] + e["event_record"]}, threads)
    calls = {a["corr"]: a for a in e["api"] if a["name"] in ("cuStreamCreate", "cuEventRecord")}
    late = [x for x in e["queue"] + e["event_record"]
            if not calls[x["corr"]]["time"] <= x["time"] <= calls[x["corr"]]["time"] + calls[x["corr"]]["dur"]]
    check("streams and events begin in their calls", len(late), 0)
    check("links", sorted((x["sub"], x["to"]) for x in e["link"]),
          sorted((EXTERNAL, x["corr"]) for x in e["event_record"]))
    check("waits", collections.Counter(s["sub"] for s in e["sync"]),
          {sub: p["events"] for sub in (1, 2, 3)})
    check("waits: events", {s["event"] for s in e["sync"]}, {100, 101, 102, 103})


def check_joins(e):
    launches = {key_of(x): x for x in e["launch"]}
    work = [x for x in e["kernel"] + e["copy"] + e["set"]]
    check("launches have distinct keys", len(launches), len(e["launch"]))
    check("work without a launch", sum(key_of(x) not in launches for x in work), 0)
    check("launches without work", len(set(launches) - {key_of(x) for x in work}), 0)
    nodes = collections.defaultdict(set)
    for k in e["kernel"]:
        if k["node"]:
            nodes[key_of(k)].add(k["node"] & 0xFFFFFFFF)
    check("nodes of a graph", {frozenset(n) for n in nodes.values()}, {frozenset((1, 2, 3))})
    named = [k for k in e["kernel"] if not k["node"]]
    check("names", sum(k["name"] != launches[key_of(k)]["name"] for k in named), 0)
    check("begun before its launch", sum(x["time"] < launches[key_of(x)]["time"] for x in work), 0)


def check_fields(e, p):
    kernels = e["kernel"]
    shapes = {
        tuple(k[n] for n in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"))
        for k in kernels
    }
    check("shapes", shapes, {(4, 2, 1, 128, 1, 1)})
    check("registers", {k["registers"] for k in kernels}, {32})
    check("shared", {(k["shared_static"], k["shared_dynamic"]) for k in kernels}, {(48, 1024)})
    check("local", {k["local_bytes"] for k in kernels}, {16})
    check("streams", {k["stream"] for k in kernels}, {10, 11, 12, 13})
    check("devices", {(k["context"], k["device"]) for k in kernels}, {(1, 0), (2, 1)})
    peers = {(c["device"], c["peer"]) for c in e["copy"] if c["sub"] == P2P}
    check("peers", peers, {(0, 1), (1, 0)})
    names = sorted((d["id"], d["name"]) for d in e["device"])
    check("devices there are", names, [(0, "Fake GPU 0"), (1, "Fake GPU 1")])
    check("durations", {x["dur"] for x in kernels + e["copy"] + e["set"] + e["sync"]}, {KERNEL_NS})
    early = [x for x in kernels if x["time"] < p["begin"] - SLACK_NS]
    late = [x for x in kernels if x["time"] + x["dur"] > p["end"] + SLACK_NS]
    check("kernels before the program began, or after it ended", (len(early), len(late)), (0, 0))
    check("calls are of the threads that launched", {a["tid"] for a in e["api"]}, {x["tid"] for x in e["launch"]})
    check("a runtime call's name", {a["name"] for a in e["api"] if a["sub"] == 1}, {"cudaLaunchKernel_v7000"})


def exact(dump, out):
    e = load(dump)
    with open(out, encoding="utf-8") as f:
        p = json.load(f)
    check_counts(e, p)
    check_virtual(e, p)
    check_unified(e, p)
    check_streams(e, p)
    check_joins(e)
    check_fields(e, p)
    check("dropped", e["account"][0]["dropped"], 0)


def counts(dump):
    e = load(dump)
    processes = {x["proc"] for x in e["launch"]}
    print(len(e["launch"]), len(e["kernel"]), len(processes), e["account"][0]["dropped"])


{"exact": exact, "counts": counts}[sys.argv[1]](*sys.argv[2:])
sys.exit(failures > 0)
