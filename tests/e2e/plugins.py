"""plugins.py EVENTS REPORT - hold what the example tools report against the events themselves."""
import json
import sys
from collections import defaultdict

events = []
with open(sys.argv[1], encoding="utf-8") as f:
    for line in f:
        events.append(json.loads(line))
with open(sys.argv[2], encoding="utf-8") as f:
    tools = {t["name"]: t for t in json.load(f)["tools"]}
failures = 0


def rows(tool, table):
    """A table's rows, each a dictionary."""
    t = next(t for t in tools[tool]["tables"] if t["name"] == table)
    return [dict(zip([c["name"] for c in t["columns"]], row)) for row in t["rows"]]


def same(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"FAILED: {what}: got {got}, wanted {wanted}")


def near(what, got, wanted):
    if abs(got - wanted) > wanted / 64:
        same(what, got, wanted)


def quantile(values, q):
    """The ceil(q * count)-th in order."""
    values = sorted(values)
    return values[max(0, -int(-q * len(values) // 1) - 1)]


# -- kernel_gaps: all kernels of a device as intervals, united.

kernels = defaultdict(list)
for e in events:
    if e["kind"] == "kernel":
        kernels[e["proc"], e["device"]].append((e["time"], e["time"] + e["dur"]))
same("devices", [(r["process"], r["device"]) for r in rows("kernel_gaps", "gaps")], sorted(kernels))
every_gap = []
for r in rows("kernel_gaps", "gaps"):
    intervals = sorted(kernels[r["process"], r["device"]])
    united = []
    for begin, end in intervals:
        if united and begin <= united[-1][1]:
            united[-1][1] = max(united[-1][1], end)
        else:
            united.append([begin, end])
    gaps = [b[0] - a[1] for a, b in zip(united, united[1:])]
    every_gap += gaps
    busy = sum(end - begin for begin, end in united)
    same("kernels, busy, idle, gaps, max",
         (r["kernels"], r["busy"], r["idle"], r["gaps"], r["max"]),
         (len(intervals), busy, sum(gaps), len(gaps), max(gaps)))
    near("share", r["share"], 100 * sum(gaps) / (sum(gaps) + busy))
    near("p50", r["p50"], quantile(gaps, 0.5))
    near("p99", r["p99"], quantile(gaps, 0.99))
same("longest gaps", [r["length"] for r in rows("kernel_gaps", "longest_gaps")],
     sorted(every_gap, reverse=True)[:7])

# -- launch_latency: launches and kernels joined by process and correlation.

launches = {(e["proc"], e["corr"]): e["time"] for e in events if e["kind"] == "launch"}
ends = defaultdict(int)
latency, queued = defaultdict(list), defaultdict(int)
unknown = 0
for e in events:
    if e["kind"] not in ("kernel", "copy", "set"):
        continue
    stream = e["proc"], e["context"], e["stream"]
    if e["kind"] == "kernel":
        launch = launches.get((e["proc"], e["corr"]))
        if launch is None or launch > e["time"]:
            unknown += 1
        else:
            latency[e["name"]].append(e["time"] - launch)
            queued[e["name"]] += max(0, min(ends[stream], e["time"]) - launch)
    ends[stream] = max(ends[stream], e["time"] + e["dur"])
table = rows("launch_latency", "launch_latency")
same("kernels", sorted(r["kernel"] for r in table), sorted(latency))
for r in table:
    values = latency[r["kernel"]]
    name = r["kernel"][:30]
    same(name, (r["count"], r["latency"], r["queued"], r["min"], r["max"], r["launch_mean"]),
         (len(values), sum(values), queued[r["kernel"]], min(values), max(values),
          (sum(values) - queued[r["kernel"]]) // len(values)))
    near(name + ": p50", r["p50"], quantile(values, 0.5))
same("order", [r["latency"] for r in table],
     sorted((r["latency"] for r in table), reverse=True))
same("unknown", [f["what"] for f in tools["launch_latency"]["findings"] if "without" in f["what"]],
     [f"kernels without a launch before them: {unknown}"] if unknown else [])

# -- launch_storms: launches of kernels by thread and millisecond.

kernel_launch = (0, 1)
windows = defaultdict(list)
for e in events:
    if e["kind"] == "launch" and e.get("work", 0) in kernel_launch:
        windows[e["proc"], e["tid"], e["time"] // 1000000].append(e["time"])
first = min(min(w) for w in windows.values())
storms = sorted((-len(w), (max(w) - min(w)) // (len(w) - 1), min(w) - first)
                for w in windows.values() if len(w) >= 3)
same("storms", [(-r["launches"], r["mean_gap"], r["begin"])
                for r in rows("launch_storms", "worst_storms")], storms)
table = rows("launch_storms", "launch_storms")
same("launches", sum(r["launches"] for r in table), sum(map(len, windows.values())))
same("storms of threads", sum(r["storms"] for r in table), len(storms))
same("time in storms", sum(r["time"] for r in table), 1000000 * len(storms))

# -- idle_gaps: the idle time of all devices, and the part of it before copies.

work = defaultdict(list)
for e in events:
    if e["kind"] in ("kernel", "copy", "set"):
        work[e["proc"], e["device"]].append(e)
idle = defaultdict(int)
for device in work.values():
    end = device[0]["time"]
    for e in device:
        if e["time"] > end:
            idle[e["kind"] == "copy"] += e["time"] - end
        end = max(end, e["time"] + e["dur"])
table = rows("idle_gaps", "idle_gaps")
same("idle before copies", sum(r["idle"] for r in table if r["cause"] == "copy"), idle[True])
same("idle before other work", sum(r["idle"] for r in table if r["cause"] != "copy"), idle[False])
sys.exit(failures > 0)
