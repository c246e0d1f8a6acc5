"""_timeline_nest.py TIMELINE EVENTS - do the slices of each track nest, and are there as many as events?

EVENTS is what the program dump prints for the run.
"""
import collections
import decimal
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    events = json.load(f, parse_float=decimal.Decimal)["traceEvents"]
recorded = collections.Counter()
with open(sys.argv[2], encoding="utf-8") as f:
    for line in f:
        recorded[json.loads(line)["kind"]] += 1

shown = collections.Counter()
tracks = collections.defaultdict(list)
for e in events:
    assert e["ph"] not in "BE", e
    if e["ph"] == "X":
        shown[e["cat"]] += 1
        tracks[e["pid"], e["tid"]].append((e["ts"], -e["dur"]))
for category, kind in (("op", "op_begin"), ("kernel", "kernel"), ("copy", "copy"), ("set", "set"),
                       ("launch", "launch"), ("sync", "sync"), ("api", "api")):
    assert shown[category] == recorded[kind], (category, shown[category], recorded[kind])
assert sum(shown.values()) > 1000
for track, slices in tracks.items():
    ends = []
    for begin, minus_dur in sorted(slices):
        while ends and ends[-1] <= begin:
            ends.pop()
        assert not ends or begin - minus_dur <= ends[-1], (track, begin)
        ends.append(begin - minus_dur)
