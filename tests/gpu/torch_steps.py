"""torch_steps.py - trains models for some steps, and checks the tools' reports.

torch_steps.py native MODEL OUT  twice, from the same weights: are its losses the same? And once
                                 under torch.profiler, for the time of kernels by operator
torch_steps.py record MODEL OUT  once, below accelprof run
torch_steps.py judge NATIVE RECORDED REPORT DATABASE [the same four of another round]...
                                 status 2: only times of operators differ

OUT is JSON. The models are those of cupti_torch.py, which has all that is not of operators.
"""
import collections
import json
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time

import cupti_torch

try:
    import accelprof
except ImportError:  # natively it need not be there
    accelprof = None

WARM, STEPS = 1, 3
WITH_OPERATOR, WITH_LINE = 99.0, 95.0  # % of kernel time
ALIKE = 0.02  # of all time by operator, and of each that has a part of it
PART = 0.05
PEAK_ALIKE = 0.01
NONE = "(no operator)"


# -- Training --

class Model:
    """It can begin again from the same weights and the same random numbers."""

    def __init__(self, name):
        import torch
        self.torch = torch
        self.cuda = cupti_torch.DEVICE == "cuda"
        cupti_torch.seed(torch)
        self.model, self.loss_of = cupti_torch.MODELS[name](torch)
        self.model.train()
        self.first = {k: v.clone() for k, v in self.model.state_dict().items()}

    def sync(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def step(self, optimizer):
        if accelprof:
            accelprof.step()
        loss = self.loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def train(self, around=None):
        """Losses, weights, and when the steps were that are compared."""
        self.model.load_state_dict(self.first)
        self.torch.manual_seed(7)
        optimizer = self.torch.optim.SGD(self.model.parameters(), lr=0.01)
        losses = [self.step(optimizer) for _ in range(WARM)]
        self.sync()
        if around:
            around.start()
        time.sleep(cupti_torch.PAUSE)
        begin = time.time_ns()
        losses += [self.step(optimizer) for _ in range(STEPS)]
        self.sync()
        half = int(cupti_torch.PAUSE * 5e8)
        window = [begin - half, time.time_ns() + half]
        time.sleep(cupti_torch.PAUSE)
        if around:
            around.stop()
        return {"losses": [x.item().hex() for x in losses], "window": window,
                "weights": cupti_torch.fingerprint(self.model)}

    def profiler(self):
        kinds = self.torch.profiler.ProfilerActivity
        chosen = [kinds.CPU] + ([kinds.CUDA] if self.cuda else [])
        return self.torch.profiler.profile(activities=chosen)


def kernels_by_operator(events):
    """[number, ns] by the name of the operator that torch.profiler has launched them in."""
    ops = {e["args"]["External id"]: e["name"] for e in events
           if e.get("cat") == "cpu_op" and "External id" in e.get("args", {})}
    found = collections.defaultdict(lambda: [0, 0])
    for e in events:
        if e.get("cat") == "kernel":
            sums = found[ops.get(e.get("args", {}).get("External id"), NONE)]
            sums[0] += 1
            sums[1] += round(e["dur"] * 1000)
    return dict(found)


def trace_of(profiler):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as f:
            trace = json.load(f)
    return trace if isinstance(trace, list) else trace["traceEvents"]


def native(name):
    model = Model(name)
    found = {"model": name, "runs": [model.train(), model.train()]}
    with model.profiler():  # it loads its libraries at first
        model.torch.ones(1, device=cupti_torch.DEVICE).add_(1)
        model.sync()
    profiler = model.profiler()
    found["runs"].append(model.train(profiler))
    found["operators"] = kernels_by_operator(trace_of(profiler))
    return found


def record(name):
    model = Model(name)
    found = {"model": name, "runs": [model.train()]}
    found["peak"] = model.torch.cuda.max_memory_allocated() if model.cuda else 0
    return found


# -- The tools' reports --

class Wrong(Exception):
    """What does not hold."""


def same_results(name, native_, recorded):
    first, second = native_["runs"][:2]
    for key in "losses", "weights":
        if first[key] != second[key]:
            print(f"{name}: {key} of two native runs differ: not compared")
        elif recorded["runs"][0][key] != first[key]:
            raise Wrong(f"{key}: recorded {recorded['runs'][0][key]}, native {first[key]}")
        else:
            print(f"{name}: {key}: the same")


def tool(report, name):
    return next((t for t in report["tools"] if t["name"] == name), {"tables": [], "findings": []})


def attributed(name, report):
    """Checks python_flame's share of kernel time with an operator, and with a line."""
    for finding in tool(report, "python_flame")["findings"]:
        match = re.match(r"([\d.]+)% of device time is attributed to an operator, ([\d.]+)%",
                         finding["what"])
        if match:
            op, line = map(float, match.groups())
            print(f"{name}: {op} % of kernel time has an operator, {line} % a Python line")
            if op < WITH_OPERATOR or line < WITH_LINE:
                raise Wrong(f"wanted are {WITH_OPERATOR} % and {WITH_LINE} %")
            return
    raise Wrong("python_flame does not say how much has an operator")


def peak(name, report, recorded):
    table = next((t for t in tool(report, "tensors")["tables"] if t["name"] == "peak"), None)
    if not table:
        raise Wrong("tensors has no table peak")
    at = {c["name"]: i for i, c in enumerate(table["columns"])}
    got = max((row[at["peak"]] for row in table["rows"]
               if row[at["memory"]].startswith("device")), default=0)
    wanted = recorded["peak"]
    print(f"{name}: peak of tensors: {got}, of torch.cuda: {wanted}")
    if abs(got - wanted) > PEAK_ALIKE * wanted or not wanted:
        raise Wrong("the peaks are not alike")


def recorded_by_operator(database, window):
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    rows = db.execute("SELECT coalesce(op, ?), count(*), sum(dur) FROM kernel "
                      "WHERE begin BETWEEN ? AND ? GROUP BY 1", (NONE, *window))
    return {op: [n, ns] for op, n, ns in rows}


def same_kernels(name, ours, theirs):
    n, wanted = (sum(x[0] for x in side.values()) for side in (ours, theirs))
    print(f"{name}: {n} kernels of {len(ours)} operators; torch.profiler: {wanted} of "
          f"{len(theirs)}")
    if not n or abs(n - wanted) > 0.01 * wanted:
        raise Wrong("the kernels are not the same")


def same_times(name, rounds):
    """Medians of rounds: of each operator that has a part of the time, and of all together."""
    names = {op for side in rounds for data in side for op in data}
    ours, theirs = ({op: statistics.median(side[i].get(op, [0, 0])[1] for side in rounds)
                     for op in names} for i in (0, 1))
    all_ = sum(theirs.values())
    apart = sum(abs(ours[op] - theirs[op]) for op in names)
    print(f"{name}: by operator {sum(ours.values()) / 1e6:.3f} ms, torch.profiler "
          f"{all_ / 1e6:.3f} ms; apart by {100 * apart / all_:.2f} % in sum")
    good = apart <= ALIKE * all_
    for op in sorted(names, key=lambda op: -theirs[op]):
        if theirs[op] >= PART * all_ and abs(ours[op] - theirs[op]) > ALIKE * theirs[op]:
            print(f"{name}: {op}: {ours[op] / 1e6:.3f} ms, torch.profiler "
                  f"{theirs[op] / 1e6:.3f} ms")
            good = False
    return good


def judge(args):
    rounds, name = [], ""
    for paths in zip(*[iter(args)] * 4):
        native_, recorded, report = map(cupti_torch.load, paths[:3])
        name = native_["model"]
        try:
            same_results(name, native_, recorded)
            if report["loss"]["dropped"]:
                raise Wrong(f"{report['loss']['dropped']} events dropped")
            attributed(name, report)
            peak(name, report, recorded)
            ours = recorded_by_operator(paths[3], recorded["runs"][0]["window"])
            same_kernels(name, ours, native_["operators"])
        except Wrong as e:
            print(f"{name}: WRONG: {e}")
            return 1
        rounds.append((ours, native_["operators"]))
    return 0 if same_times(name, rounds) else 2


def main(argv):
    if len(argv) == 4 and argv[1] in ("native", "record") and argv[2] in cupti_torch.MODELS:
        found = native(argv[2]) if argv[1] == "native" else record(argv[2])
        with open(argv[3], "w", encoding="utf-8") as f:
            json.dump(found, f)
        return 0
    if len(argv) >= 6 and len(argv) % 4 == 2 and argv[1] == "judge":
        return judge(argv[2:])
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv))
