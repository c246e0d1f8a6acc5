"""memory_judge.py REPORT PEAKS - compare the peaks that tools show with those that PyTorch counted."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    report = json.load(f)
with open(sys.argv[2], encoding="utf-8") as f:
    peaks = json.load(f)
wrong = 0


def table(tool, name):
    """Rows as dictionaries."""
    for t in next(t for t in report["tools"] if t["name"] == tool)["tables"]:
        if t["name"] == name:
            return [dict(zip([c["name"] for c in t["columns"]], row)) for row in t["rows"]]
    return []


def same(what, got, wanted):
    global wrong
    print(f"{what}: {got}, PyTorch: {wanted}")
    wrong += got != wanted


levels = {row["level"]: row for row in table("memory", "memory") if row["memory"] == "device 0"}
same("memory, allocated", levels["allocated"]["peak"], peaks["allocated"])
same("memory, reserved", levels["reserved"]["peak"], peaks["reserved"])
if levels["held"]["peak"] < peaks["reserved"]:
    same("memory, held: at least", levels["held"]["peak"], peaks["reserved"])
(tensors,) = [row for row in table("tensors", "peak") if row["memory"] == "device 0"]
same("tensors, peak", tensors["peak"], peaks["allocated"])
for level in ("allocated", "reserved"):
    (row,) = [r for r in table("summary", "summary") if r["what"] == "memory" and r["name"] == level]
    same(f"summary, {level}", row["bytes"], peaks[level])
sys.exit(wrong > 0)
