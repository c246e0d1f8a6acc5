"""timeline.py TIMELINE ORACLE - is it valid, and does it show what accelprof-gen made?

Times are compared as decimals: every nanosecond must match.
"""
import collections
import decimal
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    doc = json.load(f, parse_float=decimal.Decimal)
with open(sys.argv[2], encoding="utf-8") as f:
    oracle = json.load(f)
dropped = oracle["dropped"]
events = doc["traceEvents"]


def ns(value):
    n = value * 1000
    assert n == int(n), value
    return int(n)


def count(what):
    return sum(1 for e in events if what(e))


# As many as there are, each once.
for kind in ("kernel", "copy", "set", "launch", "sync", "api"):
    if kind in oracle["kinds"]:
        got = count(lambda e: e["ph"] == "X" and e["cat"] == kind)
        assert got == oracle["kinds"][kind], (kind, got)
assert count(lambda e: e["name"].startswith("iteration ") if e["ph"] == "i" else False) == \
    oracle["kinds"]["iteration"]
assert sum(ns(e["dur"]) for e in events if e.get("cat") == "kernel") == oracle["kernel_ns"]
assert sum(e["args"]["bytes"] for e in events if e.get("cat") == "copy") == oracle["copy_bytes"]

# Slices of a track nest, and regions take as long as they were made to take. Of two slices with the
# same times, the outer one comes first.
assert not count(lambda e: e["ph"] in "BE"), "slices that are not complete events"
tracks = collections.defaultdict(list)
for index, e in enumerate(events):
    if e["ph"] == "X":
        assert e["ts"] >= 0 and e["dur"] >= 0, e
        tracks[e["pid"], e["tid"]].append((ns(e["ts"]), -ns(e["dur"]), index, e))
regions = collections.defaultdict(lambda: [0, 0])
for track in tracks.values():
    stack = []
    for begin, minus_dur, _, e in sorted(track, key=lambda slice: slice[:3]):
        end = begin - minus_dur
        while stack and stack[-1][0] <= begin:
            stack.pop()
        assert not stack or end <= stack[-1][0], ("overlap", e)
        stack.append((end, e["name"] if e["cat"] == "region" else None))
        if e["cat"] == "region":
            path = "/".join(name for _, name in stack if name)
            regions[path][0] += 1
            regions[path][1] += end - begin
if not dropped:
    made = {path: [r["calls"], r["ns"]] for path, r in oracle["regions"].items()}
    assert regions == made, (dict(regions), made)

# Slices of a device's track do not overlap; arrows have two ends, in order.
ends = {}
for e in events:
    if e["ph"] == "X" and e["cat"] in ("kernel", "copy", "set"):
        key = e["pid"], e["tid"]
        assert ends.get(key, 0) <= ns(e["ts"]), e
        ends[key] = ns(e["ts"]) + ns(e["dur"])
begins = {e["id"]: ns(e["ts"]) for e in events if e["ph"] == "s"}
assert len(begins) == count(lambda e: e["ph"] == "s")
arrows = [e for e in events if e["ph"] == "f"]
assert len([e for e in arrows if e["id"] not in begins]) <= dropped
assert all(begins[e["id"]] <= ns(e["ts"]) for e in arrows if e["id"] in begins)
assert len(arrows) == sum(oracle["kinds"][k] for k in ("kernel", "copy", "set"))

# Memory is never negative, and all is freed in the end.
live = {}
for e in events:
    if e["ph"] == "C" and e["name"].startswith("live "):
        live[e["pid"], e["name"]] = e["args"]["bytes"]
        assert 0 <= e["args"]["bytes"] < 2**63
assert dropped or not any(live.values()), live

# Every track has a name, and every process.
named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
used = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
assert used <= named, used - named
assert count(lambda e: e["ph"] == "M" and e["name"] == "process_name") == oracle["shards"]
assert doc["otherData"]["loss"]["captured"] == oracle["events"]
