"""torch_judge.py WHAT REPORT [OTHER] - is what the tools report of torch_tools.py so?

WHAT is peak (OTHER: what torch.profiler saw), sizes, modules (OTHER: which were called), lines,
forward or leak.
"""

import json
import os
import re
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_tools.py")
MIB = 1 << 20
# The engine runs functions outside of them, too; and gradients are put into leaves.
NOT_JOINED = re.compile(r"AccumulateGrad|evaluate_function")


def tool(report, name):
    return next(t for t in report["tools"] if t["name"] == name)


def rows(report, name, table):
    """As dictionaries, by column."""
    found = next((t for t in tool(report, name)["tables"] if t["name"] == table), None)
    if not found:
        sys.exit("%s has no table %s" % (name, table))
    columns = [c["name"] for c in found["columns"]]
    return [dict(zip(columns, row)) for row in found["rows"]]


def marked():
    """The program's lines that have a mark: {mark: number}."""
    with open(PROGRAM) as f:
        found = [(re.search(r"# (op|here): (.*)", line), i) for i, line in enumerate(f, 1)]
    return {match.group(2): i for match, i in found if match}


def host_peak(report):
    peaks = [row["peak"] for row in rows(report, "tensors", "peak") if row["memory"] == "host"]
    if len(peaks) != 1:
        sys.exit("%d rows of the host in table peak" % len(peaks))
    return peaks[0]


def peak(report, other):
    got, wanted = host_peak(report), other["peak"]
    return got == wanted, "peak: %d, torch.profiler has %d" % (got, wanted)


def sizes(report, _):
    got = host_peak(report)
    return got == 5 * MIB, "peak: %d of %d" % (got, 5 * MIB)


def modules(report, other):
    got = {row["module"] for row in rows(report, "ops", "modules")}
    called = set(other["modules"])
    # Those that others are in have a row, called or not.
    wanted = {".".join(m.split(".")[:i]) for m in called for i in range(1, m.count(".") + 2)}
    return got == wanted, "modules: %d; missing %s, too many %s" % (
        len(got), sorted(wanted - got)[:3], sorted(got - wanted)[:3])


def lines(report, _):
    """Each operator, and its backward, has the line where it is called, and only that."""
    wrong = []
    found = rows(report, "ops", "ops_lines")
    marks = [(m, n) for m, n in marked().items() if "," in m]
    for mark, number in marks:
        for op in mark.split(", "):
            got = {row["line"]: row["calls"] for row in found if row["op"] == op}
            # Backward passes run forward operators, too.
            if list(got) != ["lines (torch_tools.py:%d)" % number] or sum(got.values()) % 3:
                wrong.append((op, number, got))
    return marks and not wrong, "lines: %d operators; wrong %s" % (2 * len(marks), wrong)


def forward(report, _):
    """Of the functions that autograd joins to forward operators, how many have a forward line."""
    found = [row for row in rows(report, "ops", "ops_lines")
             if re.search(r"Backward\d*$", row["op"]) and not NOT_JOINED.search(row["op"])]
    all_ = sum(row["calls"] for row in found)
    good = sum(row["calls"] for row in found if re.search(r"\.py:\d+\)$", row["line"]) and
               not re.match(r"(backward|_engine_run_backward) ", row["line"]))
    return all_ > 50 and good >= 0.95 * all_, "forward: %d of %d have a line" % (good, all_)


def leak(report, _):
    number = marked()["the leak"]
    found = [f for f in tool(report, "tensors")["findings"] if "grow with every" in f["what"]]
    good = len(found) == 1 and found[0]["what"].startswith("live tensors of aten::mul ") and \
        found[0]["where"].endswith("leak (torch_tools.py:%d)" % number) and \
        found[0]["severity"] == "problem" and found[0]["evidence"].startswith("live: ")
    return good, "leak at line %d: %s" % (number, found)


def main():
    what, path = sys.argv[1:3]
    other = None
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as f:
            other = json.load(f)
    good, text = {"peak": peak, "sizes": sizes, "modules": modules, "lines": lines,
                  "forward": forward, "leak": leak}[what](report, other)
    print(text)
    sys.exit(0 if good else 1)


main()
