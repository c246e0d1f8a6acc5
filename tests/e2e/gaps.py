"""gaps.py - computes steps, windows, parts and gaps from a run's events, and compares them with the
tool gaps: gaps.py EVENTS REPORT.json

The events are those of `dump RUN`. The parts are computed from the union of intervals.
"""
import json
import sys
from collections import defaultdict

PARTS = ["compute", "communication", "copy", "idle"]
NCCL = ("ncclKernel_", "ncclDevKernel_", "rcclKernel_", "rcclDevKernel_", "ncclDevFunc_")
failures = 0


def same(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"{what}: got {got}, wanted {wanted}")


def read(path):
    procs = defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            e = json.loads(line)
            if e["kind"] != "account":
                procs[e["proc"]].append(e)
    return procs


def optimizer_steps(events):
    """The ends of the outermost calls of the first optimizer, except the last."""
    stacks, open_calls, first, ends = defaultdict(list), defaultdict(int), None, []
    for e in events:
        if e["kind"] != "region" or e["sub"] not in (1, 2):
            continue
        stack = stacks[e["tid"]]
        if e["sub"] == 1:
            stack.append(e["name"])
            name = e["name"]
        else:
            name = stack.pop() if stack else ""
        if not name.startswith("Optimizer.step#"):
            continue
        open_calls[e["tid"]] += 1 if e["sub"] == 1 else -1
        if open_calls[e["tid"]] != (1 if e["sub"] == 1 else 0):
            continue
        first = first or (e["tid"], name)
        if first == (e["tid"], name) and e["sub"] == 2:
            ends.append(e["time"])
    return ends[:-1]


def steps_of(events):
    iterations = [e for e in events if e["kind"] == "iteration"]
    if not iterations:
        return optimizer_steps(events)
    loop = (iterations[0]["tid"], iterations[0]["name"])
    starts = [e["time"] for e in iterations if (e["tid"], e["name"]) == loop]
    launches = [e["time"] for e in events if e["kind"] == "launch"]
    works = [e["time"] for e in events if e["kind"] in ("kernel", "copy", "set")]
    if starts and max(launches or works or [0]) < starts[-1]:
        starts.pop()
    return starts


def works_of(events):
    """(begin, end, part) of the work of each device, in order of begin."""
    calls = {e["corr"]: e for e in events if e["kind"] == "collective" and e["corr"]}
    times = {e["time"] for e in events if e["kind"] == "collective" and not e["corr"]}
    devices = defaultdict(list)
    for e in events:
        if e["kind"] not in ("kernel", "copy", "set") or (e["kind"], e["sub"]) == ("copy", 4):
            continue
        part = 2
        if e["kind"] == "kernel":
            found = calls.pop(e["corr"], None) or (not e["corr"] and e["time"] in times)
            part = int(bool(found) or e["name"].startswith(NCCL))
        devices[e["device"]].append((e["time"], e["time"] + e["dur"], part))
    return devices


def united(intervals):
    """The union of intervals, as a list of disjoint intervals."""
    out = []
    for begin, end in sorted(intervals):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def length(intervals, begin, end):
    return sum(max(0, min(e, end) - max(b, begin)) for b, e in united(intervals))


def parts_of(works, begin, end):
    covered, parts = 0, []
    for part in range(3):
        whole = length([(b, e) for b, e, p in works if p <= part], begin, end)
        parts.append(whole - covered)
        covered = whole
    return parts + [end - begin - covered]


def gaps_of(works, begin, end):
    """The number of times between the end of all earlier work and the next work."""
    last, count = min(begin, works[0][0]), 0
    for b, e, _ in works:
        count += b > last and b > begin
        last = max(last, b, e)
    return count + (end > last)


def check(proc, events, tables):
    works = works_of(events)
    launches = [e["time"] for e in events if e["kind"] == "launch"]
    starts = steps_of(events)
    if not works and not starts:
        return False
    rank = next(rows)
    if not works:
        return True
    window = [w for w in tables["windows"] if w["rank"] == rank][0]
    first = min(w[0][0] for w in works.values())
    end = max(e for w in works.values() for _, e, _ in w)
    skip = 2 if len(starts) >= 5 else 0
    begin = starts[skip] if starts else first
    if starts:
        end = max([end, starts[-1]] + launches)
    same(f"{rank}: all steps", window["all_steps"], len(starts))
    same(f"{rank}: steps", window["steps"], len(starts) - skip if starts else 0)
    same(f"{rank}: window", window["window"], end - begin)
    for device, work in sorted(works.items()):
        who = f"{rank}, device {device}"
        mine = {r["part"]: r for r in tables["devices"]
                if r["rank"] == rank and r["device"] == device}
        parts = [mine[p]["time"] for p in PARTS]
        same(f"{who}: parts", parts, parts_of(work, begin, end))
        same(f"{who}: sum of parts", sum(parts), end - begin)
        causes = {p: r for p, r in mine.items() if p.startswith("idle: ")}
        same(f"{who}: sum of causes", sum(r["time"] for r in causes.values()), parts[3])
        same(f"{who}: gaps", mine["idle"]["gaps"], gaps_of(work, begin, end))
        for cause, r in causes.items():
            waits = [g for g in tables["gaps"] if (g["rank"], g["device"], "idle: " + g["cause"])
                     == (rank, device, cause)]
            same(f"{who}: {cause}", sum(g["time"] for g in waits), r["time"])
            same(f"{who}: {cause}: gaps", sum(g["gaps"] for g in waits), r["gaps"])
        path = [r for r in tables["path"] if (r["rank"], r["device"]) == (rank, device)]
        same(f"{who}: path", sum(r["time"] for r in path), end - begin)
        names = defaultdict(int)
        for e in events:
            if e["kind"] == "kernel" and e["device"] == device and e["time"] >= begin:
                names[e["name"].encode("latin-1").decode("utf-8")] += 1  # dump writes bytes
        counts = defaultdict(int)
        for r in path:
            if r["part"] in ("compute", "communication"):
                counts[r["kernel"] or ""] += r["count"]
        same(f"{who}: kernels", {n: c for n, c in counts.items() if c}, names)
        for r in mine.values():
            same(f"{who}: share", round(r["share"], 3),
                 round(100 * r["time"] / (end - begin) if end > begin else 0, 3))
        steps = [s for s in tables.get("steps", [])
                 if (s["rank"], s["device"]) == (rank, device)]
        for i, s in enumerate(steps):
            until = starts[i + 1] if i + 1 < len(starts) else end
            same(f"{who}: step {i}", [s["time"]] + [s[p] for p in PARTS],
                 [until - starts[i]] + parts_of(work, starts[i], until))
            same(f"{who}: step {i} in the window", s["window"], "yes" if i >= skip else "no")
        same(f"{who}: steps", len(steps), len(starts))
    return True


procs = read(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as f:
    tool = json.load(f)["tools"][0]
tables = {t["name"]: [dict(zip([c["name"] for c in t["columns"]], row)) for row in t["rows"]]
          for t in tool["tables"]}
rows = iter([w["rank"] for w in tables["windows"]])


def order(proc):
    rank = [e["rank"] for e in procs[proc] if e["kind"] == "process"]
    return (rank[0] if rank and rank[0] else 1 << 40, proc)


checked = sum(check(p, procs[p], tables) for p in sorted(procs, key=order))
same("processes", checked, len(tables["windows"]))
sys.exit(failures > 0)
