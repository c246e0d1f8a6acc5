"""runs_judge.py REPORT ORACLE - compare what tools show of a run with what others counted.

The oracle has one or more of: peaks of PyTorch's allocator (allocated, reserved), counts of
torch.profiler (profiler), the same by rank (ranks), and a closed form of unified memory.
"""
import functools
import sys

import judging

report, oracle = map(judging.load, sys.argv[1:])
table = functools.partial(judging.table, report)
wrong = 0


def check(what, got, wanted, holds=lambda a, b: a == b):
    global wrong
    good = holds(got, wanted)
    print(f"{'' if good else 'WRONG: '}{what}: {got}, oracle: {wanted}")
    wrong += not good


def check_counts(counts):
    """What torch.profiler counted."""
    kernels = table("kernel_freq", "kernels")
    copies = [r for r in table("copies", "copies") if r["direction"] != "set"]
    check("kernels", sum(r["launches"] for r in kernels), counts["kernels"])
    check("copies", sum(r["count"] for r in copies), counts["copies"])
    check("bytes of copies", sum(r["bytes"] for r in copies), counts["copied_bytes"])
    ours = {r["kernel"]: r["launches"] for r in kernels}
    check("kernels by name", {name: ours.get(name, 0) for name in counts["by_name"]}, counts["by_name"])


def check_peaks(peaks, process=None):
    rows = [r for r in table("memory", "memory") if r["memory"] == "device 0" and process in (None, r["process"])]
    levels = {r["level"]: r["peak"] for r in rows}
    for level in ("allocated", "reserved"):
        check(f"{process or 'memory'}, {level}", levels[level], peaks[level])


if "profiler" in oracle:
    check_counts(oracle["profiler"])
    check_peaks(oracle)
if "ranks" in oracle:
    ranks = oracle["ranks"]
    total = {k: sum(r["profiler"][k] for r in ranks) for k in ("kernels", "copies", "copied_bytes")}
    total["by_name"] = {n: sum(r["profiler"]["by_name"].get(n, 0) for r in ranks) for n in ranks[0]["profiler"]["by_name"]}
    check_counts(total)
    for number, peaks in enumerate(ranks):
        check_peaks(peaks, f"rank {number}")
if "managed_bytes" in oracle:
    moved = {r["direction"]: r["bytes"] for r in table("uvm", "migrations")}
    check("kernels", sum(r["launches"] for r in table("kernel_freq", "kernels")), oracle["kernels"])
    check("allocations", sum(r["bytes"] for r in table("uvm", "allocations")), oracle["managed_bytes"])
    check("to the device, at least", moved["to_device"], oracle["to_device_least"], lambda a, b: a >= b)
    check("to the host, at least", moved["to_host"], oracle["to_host_least"], lambda a, b: a >= b)
sys.exit(wrong > 0)
