"""bench_cupti.py [--quick] [--json FILE] - what recording CUDA programs costs.

Each variant is a process of its own, and all take turns: the host is noisy, and what is compared
ran side by side. Variants: native; floor, a library that only has CUPTI fill its buffers; accelprof
run; accelprof run --level count; and for training a model torch.profiler and Proton, where they are.
Figures are medians and, in brackets, 95 % bootstrap intervals.

Takes ACCELPROF and BUILD from the environment; PASTA_PYTHON is a Python that has PyTorch.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RESAMPLES = 2000
MANY = 2_000_000
MANY_WAIT = 3.0  # s, from the program's end to the table
HIERARCHY = 10  # with fewer turns than these, blocks within a turn are drawn, too
KINDS = "launch,kernel,copy,set"
FLOOR_KINDS = "10,1,2"  # kernels, copies, fills


def say(*words):
    print(*words, flush=True)


# -- Variants --

class Bench:
    def __init__(self, args):
        self.accelprof = os.environ["ACCELPROF"]
        self.build = os.environ["BUILD"]
        self.loop = os.path.join(self.build, "tests/gpu/loop")
        self.floor = os.path.join(self.build, "bench/gpu/floor.so")
        self.folder = tempfile.mkdtemp(prefix="accelprof-bench-")
        self.args = args
        self.begin = time.monotonic()
        self.cupti = self.doctor()
        self.left_out = []
        self.count = self.has_count()
        self.result = {"bench": "cupti", "quick": args.quick, "cupti": self.cupti}

    def doctor(self):
        """The path of the CUPTI that the agent would use."""
        out = subprocess.run([self.accelprof, "doctor"], capture_output=True, text=True).stdout
        line = next((x for x in out.splitlines() if " cupti " in x), "no  cupti")
        if not line.startswith("ok"):
            sys.exit(f"CUDA cannot be recorded here: {line}")
        return line.rsplit(", ", 1)[-1]

    def has_count(self):
        run = os.path.join(self.folder, "level")
        return subprocess.run([self.accelprof, "run", "-q", "--level", "count", "-o", run, "--",
                               "true"], capture_output=True).returncode == 0

    def variants(self):
        names = ["native", "floor", "accelprof"]
        if self.count:
            names.append("accelprof, count")
        else:
            self.left_out.append("accelprof, count: this accelprof has no --level")
        return names

    def command(self, variant, program, run):
        """The command line and the environment for it."""
        env = {k: v for k, v in os.environ.items() if k != "CUDA_INJECTION64_PATH"}
        record = [self.accelprof, "run", "-t", "kernel_freq", "-o", run]
        if variant == "floor":
            env.update(CUDA_INJECTION64_PATH=self.floor, FLOOR_KINDS=FLOOR_KINDS,
                       FLOOR_CUPTI=self.cupti, FLOOR_FILE=run + ".floor")
        elif variant == "accelprof":
            program = record + ["--record", KINDS, "--"] + program
        elif variant == "accelprof, count":
            program = record + ["--level", "count", "--"] + program
        elif variant == "torch.profiler":
            program = program + ["--profiler", "torch"]
        elif variant == "Proton":
            program = program + ["--profiler", "proton"]
        return program, env

    def measure(self, variant, program):
        """What the program printed, the folder that it left, and when all of it was over."""
        run = tempfile.mkdtemp(dir=self.folder)
        command, env = self.command(variant, program, run)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        ended = time.time()
        if done.returncode:
            sys.exit(f"{variant}: status {done.returncode}\n{done.stdout}{done.stderr}")
        if variant == "floor":
            with open(run + ".floor", encoding="utf-8") as f:
                told = f.read()
            if told.startswith("failed") or told.split()[0] == "0":
                sys.exit(f"floor: {told.strip()} (buffers, bytes, dropped): it measures nothing")
        # A profiler may have said something before.
        return json.loads(done.stdout[done.stdout.rindex("{"):]), run, ended

    def until(self, share):
        """When this share of all the time is over."""
        return self.begin + self.args.seconds * share


def folder_bytes(run):
    shards = os.path.join(run, "shards")
    return sum(os.path.getsize(os.path.join(shards, f)) for f in os.listdir(shards))


def report(run):
    with open(os.path.join(run, "results/report.json"), encoding="utf-8") as f:
        return json.load(f)


def counted(run):
    """Launches by the tool's table, and what was dropped."""
    d = report(run)
    table = d["tools"][0]["tables"][0]
    return sum(row[1] for row in table["rows"]), d["loss"]["dropped"]


# -- Figures: {variant: [turn: [block, ...], ...]} --

def median_of(turns):
    return statistics.median(x for turn in turns for x in turn)


def draw(data, names):
    """A resample of turns, the same ones for all; and of blocks, where turns are few."""
    some = len(data[names[0]])
    turns = random.choices(range(some), k=some)
    if some >= HIERARCHY:
        return {n: [data[n][t] for t in turns] for n in names}
    return {n: [random.choices(data[n][t], k=len(data[n][t])) for t in turns] for n in names}


def interval(data, names, figure):
    found = sorted(figure(draw(data, names)) for _ in range(RESAMPLES))
    return [found[RESAMPLES // 40], found[-1 - RESAMPLES // 40]]


def reduced(data):
    """A median for each turn: what is drawn where there are enough of them."""
    if len(next(iter(data.values()))) < HIERARCHY:
        return data
    return {n: [[statistics.median(turn)] for turn in turns] for n, turns in data.items()}


def compare(data, base, how):
    """The difference of medians to a variant's of the same turns, or their ratio."""
    found = {}
    data = reduced(data)
    for name in data:
        if name == base or base not in data:
            continue
        if how == "ratio":
            figure = lambda d: median_of(d[name]) / median_of(d[base])
        else:
            figure = lambda d: statistics.median(
                statistics.median(a) - statistics.median(b) for a, b in zip(d[name], d[base]))
        found[name] = [figure(data), *interval(data, [base, name], figure)]
    return found


def summary(data):
    return {"turns": len(next(iter(data.values()))),
            "medians": {n: median_of(t) for n, t in data.items()},
            "over_native": compare(data, "native", "difference"),
            "over_floor": compare({n: t for n, t in data.items() if n != "native"}, "floor",
                                  "difference"),
            "ratio": compare(data, "native", "ratio")}


def cell(found, name, form):
    if name not in found:
        return ""
    return "{} [{}, {}]".format(*(form.format(x) for x in found[name]))


def tell(title, unit, s, digits, keys):
    """As Markdown: what docs/results has."""
    heads = {"over_native": f"over native, {unit}", "over_floor": f"over the floor, {unit}",
             "ratio": "times native"}
    say(f"\n{title}, {s['turns']} turns\n")
    say("| |", unit, "|", " | ".join(heads[k] for k in keys), "|")
    say("| --- " * (2 + len(keys)) + "|")
    for name, value in s["medians"].items():
        cells = [cell(s[k], name, "{:.3f}" if k == "ratio" else f"{{:+.{digits}f}}") for k in keys]
        say(f"| {name} | {value:.{digits}f} |", " | ".join(cells), "|")


def turns(bench, variants, program, least, most, until):
    """At most so many turns, fewer when time is over. The order is another one in each."""
    taken, took = [], 0.0
    while len(taken) < most and (len(taken) < least or time.monotonic() + took < until):
        begin = time.monotonic()
        order = random.sample(variants, len(variants))
        taken.append({v: bench.measure(v, program) for v in order})
        took = time.monotonic() - begin
    return taken


def by_variant(taken, variants, key):
    return {v: [t[v][0][key] for t in taken] for v in variants}


# -- What is measured --

def loops(bench):
    variants = bench.variants()
    program = [bench.loop, "measure", "60", "1000"]
    taken = turns(bench, variants, program, 5, bench.args.turns, bench.until(0.35))
    for key, title, unit, scale, digits, keys in (
            ("call", "An empty kernel: in the call", "ns", 1, 0, ("over_native", "over_floor")),
            ("all", "An empty kernel: call and finish", "ns", 1, 0, ("over_native", "over_floor")),
            ("saxpy", "saxpy of 64 M elements", "us", 1000, 2, ("over_native", "ratio"))):
        data = {v: [[x / scale for x in turn] for turn in t]
                for v, t in by_variant(taken, variants, key).items()}
        s = summary(data)
        bench.result[key] = s
        tell(title, unit, s, digits, keys)
    sizes = [folder_bytes(t["accelprof"][1]) / t["accelprof"][0]["launches"] for t in taken]
    bench.result["bytes_a_launch"] = statistics.median(sizes)
    bad = [c for c in (counted(t["accelprof"][1]) + (t["accelprof"][0]["launches"],)
                       for t in taken) if c[0] != c[2] or c[1]]
    bench.result["loops_exact"] = not bad
    say(f"\nOn disk: {bench.result['bytes_a_launch']:.1f} bytes a launch (launch and kernel).")
    say(f"Counts wrong, or events dropped: {len(bad)} of {len(taken)} runs {bad[:3] or ''}")
    return not bad


def many(bench):
    """Two million launches: nothing is dropped, and the table comes soon."""
    native, _, _ = bench.measure("native", [bench.loop, "many", str(MANY)])
    said, run, ended = bench.measure("accelprof", [bench.loop, "many", str(MANY)])
    # The program's end is when main returns: what CUPTI and the agent do after it counts as ours.
    launches, dropped = counted(run)
    found = {"launches": launches, "dropped": dropped, "wait_s": ended - said["end"],
             "native_s": native["seconds"], "recorded_s": said["seconds"],
             "bytes_a_launch": folder_bytes(run) / MANY}
    bench.result["many"] = found
    good = launches == MANY and not dropped and found["wait_s"] <= MANY_WAIT
    say(f"\n{MANY} launches: {launches} recorded, {dropped} dropped, "
        f"{found['bytes_a_launch']:.1f} bytes each; native {native['seconds']:.2f} s, "
        f"recorded {said['seconds']:.2f} s; the table came "
        f"{found['wait_s']:.2f} s after the program's end: {'good' if good else 'NOT GOOD'}")
    shutil.rmtree(run)
    return good


def find_torch():
    venv = os.environ.get("VIRTUAL_ENV")
    for python in (os.environ.get("PASTA_PYTHON"), venv and os.path.join(venv, "bin/python"),
                   sys.executable, "python3"):
        if not python or not shutil.which(python):
            continue
        code = "import torch; raise SystemExit(not torch.cuda.is_available())"
        if not subprocess.run([python, "-c", code], capture_output=True).returncode:
            return python
    return None


def training(bench):
    python = find_torch()
    if not python:
        bench.left_out.append("training: no Python that has PyTorch with CUDA (set PASTA_PYTHON)")
        return
    variants = bench.variants() + ["torch.profiler"]
    if subprocess.run([python, "-c", "import triton.profiler"], capture_output=True).returncode:
        bench.left_out.append("Proton: no triton.profiler")
    else:
        variants.append("Proton")
    args = bench.args
    program = [python, os.path.join(HERE, "gpt2.py"), "--shape", args.shape, "--blocks",
               str(args.blocks), "--steps", str(args.steps)]
    taken = turns(bench, variants, program, 2, args.torch_turns, bench.until(0.9))
    for shape in args.shape.split(","):
        if any(t[v][0][shape] is None for t in taken for v in variants):
            bench.left_out.append(f"GPT-2 {shape}: it does not fit into the GPU's memory")
            continue
        s = summary(by_variant(taken, variants, shape))
        bench.result["gpt2 " + shape] = s
        tell(f"GPT-2, a training step of {shape}, {args.blocks} blocks of {args.steps} steps", "ms",
             s, 2, ("over_native", "ratio"))
    lost = sum(counted(t["accelprof"][1])[1] for t in taken)
    bench.result["gpt2_dropped"] = lost
    say(f"\nGPT-2: {lost} events dropped in {len(taken)} runs")


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--quick", action="store_true", help="all in five minutes")
    p.add_argument("--seconds", type=float, help="take no new turns when this time is over")
    p.add_argument("--turns", type=int, help="of the loops")
    p.add_argument("--torch-turns", type=int, help="of training")
    p.add_argument("--shape", default="8x512,32x1024")
    p.add_argument("--blocks", type=int, default=10, help="of training, in a turn")
    p.add_argument("--steps", type=int, default=3, help="in a block")
    p.add_argument("--only", default="loops,many,training")
    p.add_argument("--json", help="write the figures to this file, too")
    args = p.parse_args()
    args.seconds = args.seconds or (280 if args.quick else 1800)
    args.turns = args.turns or (12 if args.quick else 30)
    args.torch_turns = args.torch_turns or (3 if args.quick else 10)
    return args


def main():
    args = options()
    bench = Bench(args)
    good = True
    random.seed(1)
    try:
        for part in loops, many, training:
            if part.__name__ in args.only.split(","):
                good &= part(bench) is not False
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)
    for line in dict.fromkeys(bench.left_out):
        say("left out:", line)
    bench.result["left_out"] = list(dict.fromkeys(bench.left_out))
    bench.result["seconds"] = time.monotonic() - bench.begin
    say(f"{bench.result['seconds']:.0f} s in all")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(bench.result, f, indent=1)
            f.write("\n")
    return not good


if __name__ == "__main__":
    sys.exit(main())
