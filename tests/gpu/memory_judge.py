"""memory_judge.py REPORT PEAKS - compare the peaks that tools show with those that PyTorch counted."""
import functools
import sys

import judging

report, peaks = map(judging.load, sys.argv[1:])
table = functools.partial(judging.table, report)
wrong = 0


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
    (row,) = [r for r in table("summary", "other") if r["other"] == "memory" and r["name"] == level]
    same(f"summary, {level}", row["bytes"], peaks[level])
sys.exit(wrong > 0)
