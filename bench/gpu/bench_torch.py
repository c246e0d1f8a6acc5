"""bench_torch.py [--seconds N] [--json FILE] - the cost of recording PyTorch on a GPU: GPT-2.

Variants: native, and once more as the control; accelprof run without options; accelprof run with all
that the tools for PyTorch use (operators, tensors, memory, kernels, Python stacks, modules);
torch.profiler with shapes, memory and stacks. Each variant is a process that waits for its turn
(servers.py), in several generations. Results are medians with 95 % intervals in brackets (figures.py).

ACCELPROF comes from the environment; PASTA_PYTHON is a Python with PyTorch.
"""
import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time

import bench_cupti
import figures
import servers
from bench_cupti import emit

# One variant per line: the options of accelprof run.
RUNS = {"accelprof": [],
        "accelprof, all": ["-t", "kernel_freq,ops,tensors,memory,python_flame",
                           "--stacks", "python,modules"]}
FULL = "torch.profiler, full"
NAMES = ["native", "native 2", *RUNS, FULL]
KEYS = ("over_native", "ratio")


class Bench:
    def __init__(self, args, python):
        self.args, self.accelprof = args, os.environ["ACCELPROF"]
        here = os.path.dirname(os.path.abspath(__file__))
        self.program = [python, os.path.join(here, "gpt2.py"), "--warm", args.shape]
        self.begin = time.monotonic()
        self.folder = tempfile.mkdtemp(prefix="accelprof-bench-")
        self.runs, self.sizes = {}, {}
        self.crew = servers.Crew(NAMES, self.start, self.ended, bench_cupti.TORCH_LIMITS)
        # Stored first, so that an interrupt reports what was measured so far.
        self.result = {"bench": "torch", "shape": args.shape, "blocks": self.crew.blocks,
                       "lost": self.crew.failures, "dropped": 0, "runs": 0}

    def start(self, variant):
        run = self.runs[variant] = tempfile.mkdtemp(dir=self.folder)
        env = {k: v for k, v in os.environ.items() if k != "CUDA_INJECTION64_PATH"}
        command = self.program
        if variant in RUNS:
            command = [self.accelprof, "run", *RUNS[variant], "-o", run, "--", *command]
        elif variant == FULL:
            command = [*command, "--profiler", "torch-full"]
        return servers.Server(variant, command, env, run + ".err")

    def ended(self, name, _):
        run = self.runs[name]
        if name in RUNS:
            self.result["dropped"] += look(run)
            self.result["runs"] += 1
            self.sizes.setdefault(name, []).append(bench_cupti.folder_bytes(run))
        shutil.rmtree(run)

    def measure(self):
        args = self.args
        try:
            servers.generations("GPT-2", self.crew, [(args.shape, args.steps)], args.rounds,
                                args.generations, self.begin + args.seconds)
        finally:
            self.crew.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
            self.result["bytes"] = {n: figures.middle(x) for n, x in self.sizes.items()}
            self.result["seconds"] = time.monotonic() - self.begin
            if args.json:
                with open(args.json, "w", encoding="utf-8") as f:
                    json.dump(self.result, f)
                    f.write("\n")


def look(run):
    """Returns the number of dropped events. Rejects a run without operators: it measured something else."""
    try:
        with open(os.path.join(run, "results/report.json"), encoding="utf-8") as f:
            report = json.load(f)
        rows = [row for tool in report["tools"] if tool["name"] in ("summary", "ops")
                for table in tool["tables"] for row in table["rows"]]
        dropped = report["loss"]["dropped"]
    except (OSError, ValueError, LookupError) as e:
        raise servers.Failure(f"its report: {e!r}") from e
    if not any("aten::" in str(cell) for row in rows for cell in row):
        raise servers.Failure("no operator was recorded")
    return dropped


def report(result):
    data = figures.series(result["blocks"], result["shape"], "ms")
    data = {n: data[n] for n in NAMES if n in data}
    s = result["figures"] = figures.summary(data, KEYS)
    bench_cupti.table(f"GPT-2, a training step of {result['shape']}", "ms", s, 2, KEYS)
    emit()
    for name in RUNS:
        found = None
        if {name, FULL} <= set(data):
            found = figures.compare(data[name], data[FULL], "ratio")
        bench_cupti.aim(f"{name}, times {FULL}", found, 1, "{:.3f}")
    for name, size in result.get("bytes", {}).items():
        emit(f"On disk: {name}: {size / 2**20:.1f} MiB a process")
    emit(f"{result['dropped']} events dropped in {result['runs']} runs")
    bench_cupti.report_failures(result)
    return not result["dropped"] and not result["lost"]


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seconds", type=float, default=180, help="in all (180)")
    p.add_argument("--generations", type=int, default=1000, help="at most")
    p.add_argument("--rounds", type=int, default=12, help="in a generation (12)")
    p.add_argument("--shape", default="8x512", help="batch and length (8x512)")
    p.add_argument("--steps", type=int, default=4, help="in a block (4)")
    p.add_argument("--json", help="write all blocks and figures to this file, too")
    p.add_argument("--from", dest="file", help="report again what --json wrote; measure nothing")
    return p.parse_args()


def main():
    args = options()
    random.seed(1)
    if args.file:
        with open(args.file, encoding="utf-8") as f:
            return not report(json.load(f))
    python, _ = bench_cupti.find_torch()
    if not python:
        emit("skipped: no Python that has PyTorch with CUDA (set PASTA_PYTHON)")
        return 0
    # So that servers end, and blocks are saved.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    bench = Bench(args, python)
    bench.measure()
    good = report(bench.result)
    emit(f"{bench.result['seconds']:.0f} s in all")
    return not good


if __name__ == "__main__":
    sys.exit(main())
