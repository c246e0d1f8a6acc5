"""workload.py - compares the FLOPs that tool workload shows with those that PyTorch counted.

Usage: workload.py ACCELPROF FOLDER, the folder tests/data/flops. The traces were made by models.py,
which also counted the FLOPs of the same step by operator.
"""

import gzip
import json
import pathlib
import subprocess
import sys

# FlopCounterMode counts the operator that the CPU's convolution implements.
SAME = {"aten::mkldnn_convolution": "aten::convolution"}
# The work of these operators is a matrix product, convolution or attention.
COUNTED = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::convolution",
           "aten::convolution_backward")


def tables(accelprof, trace):
    command = [accelprof, "report", trace, "-t", "workload", "--format", "json"]
    for option in ("operators", "layers", "kernels"):
        command += ["--opt", f"workload.{option}=0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    if done.returncode:
        sys.exit(f"{trace}: {done.stderr}")
    tool = next(t for t in json.loads(done.stdout)["tools"] if t["name"] == "workload")
    result = {}
    for table in tool["tables"]:
        names = [c["name"] for c in table["columns"]]
        result[table["name"]] = [dict(zip(names, r)) if isinstance(r, list) else r
                                 for r in table["rows"]]
    return result


def by(rows, key, value):
    sums = {}
    for row in rows:
        sums[row[key]] = sums.get(row[key], 0) + (row[value] or 0)
    return sums


def count_kernels(trace):
    """All kernels of a trace by models.py take 1 us."""
    with gzip.open(trace) as file:
        return sum(e.get("cat") == "kernel" for e in json.load(file)["traceEvents"])


def compare(name, expected, found, kernels):
    wrong = 0
    for row, count in (("launches", kernels), ("time", 1000 * kernels)):
        total = sum(r[row] for r in found["layers"])
        if total != count:
            wrong += 1
            print(f"{name}: column {row} adds up to {total}, expected {count}")
    flops = by([{**r, "op": SAME.get(r["op"], r["op"])} for r in found["operators"]], "op", "flops")
    for op, count in expected.items():
        wrong += flops.get(op) != count
        print(f"{name} {op}: {flops.get(op)} FLOPs, PyTorch counts {count}")
    for op in COUNTED:
        if flops.get(op) and op not in expected:
            wrong += 1
            print(f"{name} {op}: {flops[op]} FLOPs, PyTorch counts none")
    # All tables show the same work. Each row is rounded to whole FLOPs.
    for column, slack in (("time", 0), ("launches", 0), ("flops", 1000), ("bytes", 1000)):
        sums = [sum(r[column] or 0 for r in found[t]) for t in ("layers", "operators", "kernels")]
        if max(sums) - min(sums) > slack or not sums[0]:
            wrong += 1
            print(f"{name}: column {column} adds up to {sums}")
    phases = by(found["layers"], "phase", "flops")
    if not phases.get("backward", 0) > phases.get("forward", 0) > 0:
        wrong += 1
        print(f"{name}: FLOPs by phase: {phases}")
    return wrong


def count_modules(found):
    """The 16 blocks of ResNet-50 have three convolutions each, and four have a further one."""
    wrong = 0
    head = "ResNet50.Sequential.Bottleneck."
    for layer, count in ((head + "Conv2d", 48), (head + "Sequential.Conv2d", 4),
                         ("ResNet50.Conv2d", 1), ("ResNet50.Linear", 1)):
        for phase in ("forward", "backward"):
            rows = [r["modules"] for r in found["layers"]
                    if r["layer"] == layer and r["phase"] == phase]
            if rows != [count]:
                wrong += 1
                print(f"{layer}, {phase}: {rows} modules, expected {count}")
    return wrong


def main():
    accelprof, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    wrong = 0
    for name, expected in json.loads((folder / "models.json").read_text()).items():
        trace = str(folder / f"{name}.json.gz")
        found = tables(accelprof, trace)
        wrong += compare(name, expected, found, count_kernels(trace))
        if name == "resnet50":
            wrong += count_modules(found)
    sys.exit(wrong > 0)


main()
