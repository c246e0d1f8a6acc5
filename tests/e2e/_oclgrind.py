"""Hold Oclgrind's histograms of instructions against the formulas that cl_kernels prints.

usage: _oclgrind.py OUTPUT, of oclgrind --inst-counts cl_kernels

Oclgrind counts instructions before optimisation, as we do. It differs where
- a variable is meant: all of them are private memory to it, of which we count only those whose
  address is taken; so private memory is not compared;
- a function of the language accesses memory: that is a call to it, without bytes. Calls are compared
  with our accesses: an atomic, a vload or a vstore is one. A copy by a group is a call of each
  work-item, and elements to us: it is not compared;
- a structure is copied: a call of memcpy, with the two address spaces in its name.
"""
import collections
import json
import re
import sys

SPACES = {"0": "private", "1": "global", "2": "constant", "3": "local"}


def read(lines):
    """The counts of both, by kernel: {kernel: {what: number}}."""
    ours = collections.defaultdict(collections.Counter)
    theirs = collections.defaultdict(collections.Counter)
    kernel = None
    for line in lines:
        if line.startswith("{"):
            add_row(ours, json.loads(line))
        elif m := re.match(r"Instructions executed for kernel '(\w+)'", line):
            kernel = theirs[m[1]]
        elif m := re.match(r" *(\d+) - (load|store) (\w+) \((\d+) bytes\)", line):
            if m[3] != "private":
                kernel[f"{m[2]}s {m[3]}"] += int(m[1])
                kernel[f"bytes of {m[2]}s {m[3]}"] += int(m[4])
        elif m := re.match(r" *(\d+) - call _Z\d+((?:atomic|vload|vstore)\w*?\d?)(?:[PDm].*)", line):
            kernel[f"calls of {m[2]}"] += int(m[1])
        elif m := re.match(r" *(\d+) - call llvm\.memcpy\.p(\d)i8\.p(\d)i8", line):
            kernel[f"copies into {SPACES[m[2]]}"] += int(m[1])
            kernel[f"copies from {SPACES[m[3]]}"] += int(m[1])
    return ours, theirs


def add_row(ours, row):
    if "row" not in row:
        return
    kernel = ours[row["kernel"]]
    by = row["by"]
    if by == "memcpy":
        kernel[f"copies from {row['in']}"] += row["loads"]
        kernel[f"copies into {row['in']}"] += row["stores"]
    elif by.startswith("async"):
        return
    elif by:
        kernel[f"calls of {by}"] += max(row["loads"], row["stores"])
    elif row["in"] != "private":
        for way in ("loads", "stores"):
            kernel[f"{way} {row['in']}"] += row[way]
            kernel[f"bytes of {way} {row['in']}"] += row[way] * row["size"]


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        ours, theirs = read(f)
    wrong = compared = 0
    if ours.keys() != theirs.keys():
        sys.exit(f"kernels: {sorted(ours)} here, {sorted(theirs)} there")
    for kernel in ours:
        for what in sorted(ours[kernel].keys() | theirs[kernel].keys()):
            compared += 1
            if ours[kernel][what] != theirs[kernel][what]:
                print(f"{kernel}: {what}: {ours[kernel][what]}, Oclgrind: {theirs[kernel][what]}")
                wrong += 1
    print(f"{len(ours)} kernels, {compared} numbers, {wrong} differ")
    sys.exit(wrong > 0 or len(ours) < 12 or compared < 40)


main()
