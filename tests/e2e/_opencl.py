"""_opencl.py - compare what a run recorded of OpenCL with other sources.

_opencl.py counts DUMP COUNT      launches, copies, fills, maps and memory equal the counting layer's
_opencl.py exact DUMP PROGRAM [NS] the same for cl_exact's output, and its intervals, within NS
_opencl.py launches DUMP          print how many launches and kernels there are
DUMP is what tests/tools/dump prints.
"""
import collections
import json
import sys

H2D, D2H, D2D, _, _, MAP, UNMAP = range(1, 8)
MANAGED = 3


def load(path):
    kinds = collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            event = json.loads(line)
            kinds[event["kind"]].append(event)
    return kinds


def found(kinds):
    """The same document that count.so and cl_exact write."""
    d = {"kernels": dict(collections.Counter(e["name"] for e in kinds["kernel"]))}
    ways = {"h2d": H2D, "d2h": D2H, "d2d": D2D, "svm": 0, "map": MAP, "unmap": UNMAP}
    for name, sub in ways.items():
        copies = [e["bytes"] for e in kinds["copy"] if e["sub"] == sub]
        d[name] = [len(copies), sum(copies)]
    d["fill"] = [len(kinds["set"]), sum(e["bytes"] for e in kinds["set"])]
    svm = {e["addr"] for e in kinds["alloc"] if e["sub"] == MANAGED}
    for name, managed in ("alloc", False), ("svm_alloc", True):
        made = [e["bytes"] for e in kinds["alloc"] if (e["sub"] == MANAGED) == managed]
        d[name] = [len(made), sum(made)]
    d["freed"] = sum(e["addr"] not in svm for e in kinds["free"])
    d["svm_freed"] = sum(e["addr"] in svm for e in kinds["free"])
    return d


def differ(got, wanted):
    bad = 0
    for key in got:
        if key in wanted and got[key] != wanted[key]:
            print(f"{key}: recorded {got[key]}, but it was {wanted[key]}")
            bad += 1
    return bad


def joined(kinds):
    """Every kernel, copy and fill has its launch, on the same thread, and the other way round."""
    launches = {(e["proc"], e["corr"]): e for e in kinds["launch"]}
    works = {"kernel": 1, "copy": 2, "set": 3}
    bad = len(kinds["launch"]) - len(launches)
    for e in kinds["kernel"] + kinds["copy"] + kinds["set"]:
        launch = launches.pop((e["proc"], e["corr"]), None)
        if (not launch or launch["tid"] != e["tid"] or launch["stream"] != e["stream"]
                or launch["work"] != works[e["kind"]]):
            print("without its launch:", e)
            bad += 1
    if launches:
        print(len(launches), "launches have nothing that they launched")
    return bad + len(launches)


def freed_once(kinds):
    """What is freed was made before, and with the same number of bytes."""
    live, bad = {}, 0
    for e in sorted(kinds["alloc"] + kinds["free"], key=lambda e: e["time"]):
        if e["kind"] == "alloc":
            bad += e["addr"] in live
            live[e["addr"]] = e["bytes"]
        else:
            made = live.pop(e["addr"], None)
            bad += made is None or e["bytes"] not in (0, made)
    if bad:
        print(bad, "allocations and frees do not fit")
    return bad


# ns: the agent's clock may be some behind the kernel's, and is never ahead (src/collect/clock.h).
BEHIND = 200


def inside(kinds, runs, slack):
    """Kernels lie in the program's own intervals, one each, on the program's threads."""
    first = kinds["clock"][0]
    offset = first["real"] - first["raw"]
    by_launch = {e["corr"]: e["time"] - offset for e in kinds["launch"]}
    key = lambda name, tid: (name, tid)
    want = collections.defaultdict(list)
    for name, tid, begin, end in runs:
        want[key(name, tid)].append((begin, end))
    bad = 0
    got = collections.defaultdict(list)
    for e in kinds["kernel"]:
        got[key(e["name"], e["tid"])].append(e)
    for k in set(want) | set(got):
        events = sorted(got[k], key=lambda e: by_launch[e["corr"]])
        if len(events) != len(want[k]):
            print(k, "kernels:", len(events), "but the program printed", len(want[k]))
            bad += 1
        for e, (begin, end) in zip(events, sorted(want[k])):
            start, launch = e["time"] - offset, by_launch[e["corr"]]
            if not (begin - BEHIND <= launch <= end and begin - slack <= start
                    and start + e["dur"] <= end + slack and e["dur"] > 0):
                print(k, "runs", start - begin, "to", start + e["dur"] - begin, "launched",
                      launch - begin, "of", end - begin)
                bad += 1
    return bad


def main(argv):
    kinds = load(argv[2])
    account = kinds["account"][0]
    bad = 0
    if argv[1] == "launches":
        print(len(kinds["launch"]), len(kinds["kernel"]))
        return 0
    with open(argv[3], encoding="utf-8") as f:
        wanted = json.load(f)
    if argv[1] == "exact":
        runs = wanted["runs"]
        wanted["kernels"] = dict(collections.Counter(r[0] for r in runs))
        bad += inside(kinds, runs, int(argv[4]) if len(argv) > 4 else 0)
    got = found(kinds)
    bad += differ(got, wanted) + joined(kinds) + freed_once(kinds)
    if account["dropped"] or account["late"]:
        print(account)
        bad += 1
    print(sum(got["kernels"].values()), "launches of", len(got["kernels"]), "kernels,",
          sum(got[k][0] for k in ("h2d", "d2h", "d2d", "svm", "map", "unmap")), "copies and maps,",
          got["fill"][0], "fills,", got["alloc"][0] + got["svm_alloc"][0], "allocations")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
