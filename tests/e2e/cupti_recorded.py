"""cupti_recorded.py - compare the events of a run with what fake_cuda says it did.

	cupti_recorded.py exact DUMP OUT     all of it, and how it fits together
	cupti_recorded.py counts DUMP        launches, kernels, processes that have them, dropped
"""

import collections
import json
import sys

KERNEL_NS = 500  # FAKE_KERNEL_NS
SLACK_NS = 1000000  # between the clocks of the program and of the records
H2D, D2H, P2P = 1, 2, 5
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


def place(event):
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
    check("allocs", len(e["alloc"]), p["allocs"])
    check("bytes allocated", sum(a["bytes"] for a in e["alloc"]), p["bytes_allocated"])
    check("frees", len(e["free"]), p["frees"])
    check("freed", {f["addr"] for f in e["free"]}, {a["addr"] for a in e["alloc"]})
    check("syncs", len(e["sync"]), p["syncs"])
    check("driver calls", sum(a["sub"] == 2 for a in e["api"]), p["calls"])
    check("runtime calls", sum(a["sub"] == 1 for a in e["api"]), p["runtime_calls"])


def check_joins(e):
    launches = {place(x): x for x in e["launch"]}
    work = [x for x in e["kernel"] + e["copy"] + e["set"]]
    check("launches have a place each", len(launches), len(e["launch"]))
    check("work without a launch", sum(place(x) not in launches for x in work), 0)
    check("launches without work", len(set(launches) - {place(x) for x in work}), 0)
    nodes = collections.defaultdict(set)
    for k in e["kernel"]:
        if k["node"]:
            nodes[place(k)].add(k["node"] & 0xFFFFFFFF)
    check("nodes of a graph", {frozenset(n) for n in nodes.values()}, {frozenset((1, 2, 3))})
    named = [k for k in e["kernel"] if not k["node"]]
    check("names", sum(k["name"] != launches[place(k)]["name"] for k in named), 0)
    check("begun before its launch", sum(x["time"] < launches[place(x)]["time"] for x in work), 0)


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
    check_joins(e)
    check_fields(e, p)
    check("dropped", e["account"][0]["dropped"], 0)


def counts(dump):
    e = load(dump)
    processes = {x["proc"] for x in e["launch"]}
    print(len(e["launch"]), len(e["kernel"]), len(processes), e["account"][0]["dropped"])


{"exact": exact, "counts": counts}[sys.argv[1]](*sys.argv[2:])
sys.exit(failures > 0)
