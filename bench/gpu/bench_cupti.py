"""bench_cupti.py [--seconds N] [--only PART,...] [--json FILE] - the cost of recording CUDA.

Variants: native, and once more as the control; floor, a library that only lets CUPTI fill its buffers;
callbacks, a library that only lets CUPTI call an empty function at each launch; accelprof run;
accelprof run --level count; for training also torch.profiler and Proton, if installed. Each variant is
a process that waits for its turn (servers.py), in several generations. Results are medians with 95 %
intervals in brackets (figures.py).

Parts: loops (empty kernels, saxpy), many (two million launches), training (GPT-2).

ACCELPROF and BUILD come from the environment; PASTA_PYTHON is a Python with PyTorch.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import figures
import servers

HERE = os.path.dirname(os.path.abspath(__file__))
SHARES = {"loops": 0.35, "many": 0.05, "training": 0.6}
MANY = 2_000_000
MANY_WAIT = 3.0  # s, from the program's end to the table
AIM_SHAPE = "8x512"
LOOP_LIMITS = servers.Limits(ready=60, block=30, end=30)
TORCH_LIMITS = servers.Limits(ready=180, block=60, end=60)

# One variant per line: the options of accelprof run.
KINDS = "launch,kernel,copy,set"
RUNS = {"accelprof": ["--record", KINDS],
        "accelprof, count": ["--level", "count"]}
FLOORS = {"floor": "10,1,2",  # kernels, copies, fills
          "callbacks": "callbacks"}
ONLY_LOOPS = ["callbacks"]
PROFILERS = {"torch.profiler": "torch", "Proton": "proton"}  # of gpt2.py
NAMES = ["native", "native 2", *FLOORS, *RUNS, *PROFILERS]

# kind, value, title, unit, divisor, digits, comparisons
LOOP_FIGURES = [
    ("empty", "all", "An empty kernel: many, until they are done", "ns", 1, 0,
     ("over_native", "over_floor")),
    ("empty", "call", "An empty kernel: many, in the call", "ns", 1, 0,
     ("over_native", "over_floor")),
    ("burst", "call", "An empty kernel: 500 at a time, in the call", "ns", 1, 0,
     ("over_native", "over_floor")),
    ("saxpy", "all", "saxpy of 64 M elements", "us", 1000, 2, ("over_native", "ratio"))]


def emit(*words):
    print(*words, flush=True)


# -- Variants --

class Bench:
    def __init__(self, args):
        self.args = args
        self.accelprof, self.build = os.environ["ACCELPROF"], os.environ["BUILD"]
        self.loop = os.path.join(self.build, "tests/gpu/loop")
        self.floor = os.path.join(self.build, "bench/gpu/floor.so")
        self.begin = time.monotonic()
        self.cupti = self.doctor()
        self.folder = tempfile.mkdtemp(prefix="accelprof-bench-")
        self.left_out = []
        self.result = {"bench": "cupti", "cupti": self.cupti, "left_out": self.left_out}
        self.names = ["native", "native 2", *FLOORS] + [n for n in RUNS if self.can(n)]
        self.runs = {}

    def doctor(self):
        """The path of the CUPTI library that the agent would use."""
        out = subprocess.run([self.accelprof, "doctor"], capture_output=True, text=True).stdout
        line = next((x for x in out.splitlines() if " cupti " in x), "no  cupti")
        if not line.startswith("ok"):
            sys.exit(f"CUDA cannot be recorded here: {line}")
        return line.rsplit(", ", 1)[-1]

    def can(self, name):
        """Whether this accelprof has these options."""
        run = tempfile.mkdtemp(dir=self.folder)
        done = subprocess.run([self.accelprof, "run", "-q", *RUNS[name], "-o", run, "--", "true"],
                              capture_output=True, text=True)
        if done.returncode:
            self.left_out.append(f"{name}: " + (done.stderr.splitlines() or ["it fails"])[0])
        return not done.returncode

    def command(self, variant, program, run):
        """Returns the command line and the environment of a variant."""
        env = {k: v for k, v in os.environ.items() if k != "CUDA_INJECTION64_PATH"}
        if variant in FLOORS:
            env.update(CUDA_INJECTION64_PATH=self.floor, FLOOR_KINDS=FLOORS[variant],
                       FLOOR_CUPTI=self.cupti, FLOOR_FILE=run + ".floor")
        elif variant in RUNS:
            program = [self.accelprof, "run", "-t", "kernel_freq", "-o", run, *RUNS[variant],
                       "--", *program]
        elif variant in PROFILERS:
            program = [*program, "--profiler", PROFILERS[variant]]
        return program, env

    def start(self, program):
        def start_one(variant):
            run = self.runs[variant] = tempfile.mkdtemp(dir=self.folder)
            command, env = self.command(variant, program, run)
            return servers.Server(variant, command, env, run + ".err")
        return start_one

    def save(self):
        self.result["seconds"] = time.monotonic() - self.begin
        if self.args.json:
            with open(self.args.json, "w", encoding="utf-8") as f:
                json.dump(self.result, f)
                f.write("\n")

    def until(self, part):
        """The time at which the share of this part is over, including the parts before it."""
        chosen = [p for p in SHARES if p in self.args.only]
        before = chosen[:chosen.index(part) + 1]
        share = sum(SHARES[p] for p in before) / sum(SHARES[p] for p in chosen)
        return self.begin + self.args.seconds * share

    def keeper(self):
        """Starts an idle process that uses the GPU: otherwise its driver may shut it down between
        generations, and the next one would wait for it."""
        server = self.start([self.loop, "serve"])("native")
        try:
            server.ready(time.monotonic() + LOOP_LIMITS.ready)
        except servers.Failure as e:
            server.kill()
            sys.exit(f"{self.loop}: {e}{server.words()}")
        return server

    def serve(self, part, names, program, ended, limits, kinds, rounds):
        crew = servers.Crew(names, self.start(program), ended, limits)
        # Stored first, so that an interrupt reports what was measured so far.
        found = self.result[part] = {"blocks": crew.blocks, "lost": crew.failures}
        try:
            servers.generations(part, crew, kinds, rounds, self.args.generations, self.until(part))
        finally:
            crew.kill()
        return found


def folder_bytes(run):
    shards = os.path.join(run, "shards")
    return sum(os.path.getsize(os.path.join(shards, f)) for f in os.listdir(shards))


def counted(run):
    """Returns the launches in the tool's table, and the number of dropped events."""
    with open(os.path.join(run, "results/report.json"), encoding="utf-8") as f:
        d = json.load(f)
    table = d["tools"][0]["tables"][0]
    return sum(row[1] for row in table["rows"]), d["loss"]["dropped"]


def tally(run):
    """Returns counted(), or raises Failure with the problem of the report."""
    try:
        return counted(run)
    except (OSError, ValueError, LookupError) as e:
        raise servers.Failure(f"its report: {e!r}") from e


def check_floor(run):
    try:
        with open(run + ".floor", encoding="utf-8") as f:
            answer = f.read().strip()
    except OSError as e:
        raise servers.Failure(f"it was not loaded: {e}") from e
    if answer.startswith("failed") or answer.split()[:1] in ([], ["0"]):
        raise servers.Failure(f"it measured nothing: '{answer}'")


# -- Measurements --

def cores(args):
    """Returns the core of the launching thread, and the cores of all others, without its sibling."""
    allowed = os.sched_getaffinity(0)
    core = max(allowed) if args.core is None else args.core
    if core < 0 or len(allowed) < 2:
        return None, allowed
    if core not in allowed:
        sys.exit(f"--core {core}: allowed are {sorted(allowed)}")
    halves = {core}
    try:
        with open(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list",
                  encoding="ascii") as f:
            for part in f.read().strip().split(","):
                first, _, last = part.partition("-")
                halves |= set(range(int(first), int(last or first) + 1))
    except (OSError, ValueError):
        pass
    return core, allowed - halves or allowed - {core}


def loops(bench):
    args, sizes, wrong = bench.args, [], []

    def ended(name, answer):
        run = bench.runs[name]
        if name in FLOORS:
            check_floor(run)
        if name in RUNS and answer:
            launches, dropped = tally(run)
            if launches != answer["launches"] or dropped:
                wrong.append([name, launches, answer["launches"], dropped])
            if name == "accelprof":
                sizes.append(folder_bytes(run) / answer["launches"])
        shutil.rmtree(run)

    core, others = cores(args)
    allowed = os.sched_getaffinity(0)
    # Servers inherit it; the launching thread then moves to its own core.
    os.sched_setaffinity(0, others)
    try:
        found = bench.serve("loops", bench.names,
                            [bench.loop, "serve"] + ([] if core is None else [str(core)]), ended,
                            LOOP_LIMITS, [("empty", args.launches), ("burst", args.launches // 4),
                                          ("saxpy", 20)], args.rounds)
    finally:
        os.sched_setaffinity(0, allowed)
    found.update(core=core, wrong=wrong,
                 bytes_a_launch=figures.middle(sizes) if sizes else None)
    return report_loops(bench.result)


def many(bench):
    """Two million launches: nothing is dropped, and the report is quick."""
    run = tempfile.mkdtemp(dir=bench.folder)
    command, env = bench.command("accelprof", [bench.loop, "many", str(MANY)], run)
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        bench.result["many"] = {"error": "it hangs: 120 s are over"}
        return report_many(bench.result)
    ended = time.time()
    if done.returncode:
        bench.result["many"] = {"error": f"status {done.returncode}\n{done.stderr}"}
        return report_many(bench.result)
    # The program ends when main returns: the time of CUPTI and the agent after that counts as overhead.
    known = json.loads(next(x for x in done.stdout.splitlines() if x.startswith("{")))
    try:
        launches, dropped = tally(run)
    except servers.Failure as e:
        bench.result["many"] = {"error": str(e)}
        return report_many(bench.result)
    bench.result["many"] = {
        "launches": launches, "dropped": dropped, "wait_s": ended - known["end"],
        "recorded_s": known["seconds"], "bytes_a_launch": folder_bytes(run) / MANY}
    return report_many(bench.result)


# Importing takes seconds, so one process answers all questions.
PROBE = """import torch
if not torch.cuda.is_available():
    raise SystemExit(1)
try:
    import triton.profiler
    print("Proton")
except ImportError as e:
    print(e)
"""


def find_torch():
    """Returns a Python that has PyTorch with CUDA, and "Proton" or why that is missing."""
    venv = os.environ.get("VIRTUAL_ENV")
    for python in (os.environ.get("PASTA_PYTHON"), venv and os.path.join(venv, "bin/python"),
                   sys.executable, "python3"):
        if not python or not shutil.which(python):
            continue
        done = subprocess.run([python, "-c", PROBE], capture_output=True, text=True)
        if not done.returncode:
            return python, (done.stdout.splitlines() or ["it printed nothing"])[-1]
    return None, None


def training(bench):
    args, dropped = bench.args, []
    python, proton = find_torch()
    if not python:
        bench.left_out.append("training: no Python that has PyTorch with CUDA (set PASTA_PYTHON)")
        return True

    def ended(name, _):
        run = bench.runs[name]
        if name in FLOORS:
            check_floor(run)
        if name in RUNS:
            dropped.append(tally(run)[1])
        shutil.rmtree(run)

    names = [n for n in bench.names if n not in ONLY_LOOPS] + ["torch.profiler"]
    if proton == "Proton":
        names.append(proton)
    else:
        bench.left_out.append(f"Proton: {proton}")
    kinds = [tuple(x.split("=")) for x in args.shapes.split(",")]
    program = [python, os.path.join(HERE, "gpt2.py"), "--warm", kinds[0][0]]
    found = bench.serve("training", names, program, ended, TORCH_LIMITS, kinds, args.train_rounds)
    found.update(steps=dict(kinds), dropped=sum(dropped), runs=len(dropped))
    return report_training(bench.result)


# -- The report, as Markdown for docs/results --

def in_order(data):
    return {n: data[n] for n in NAMES if n in data}


def cell(found, form):
    return "{} [{}, {}]".format(*(form.format(x) for x in found)) if found else ""


def table(title, unit, s, digits, keys):
    heads = {"over_native": f"over native, {unit}", "over_floor": f"over the floor, {unit}",
             "ratio": "times native", "ratio_floor": "times the floor"}
    emit(f"\n{title}; generations: {s['generations']}, blocks of each variant: {s['rounds']}\n")
    emit("| |", unit, "|", " | ".join(heads[k] for k in keys), "|")
    emit("| --- " * (2 + len(keys)) + "|")
    for name, value in s["medians"].items():
        cells = [cell(s[k].get(name), "{:.3f}" if k.startswith("ratio") else f"{{:+.{digits}f}}")
                 for k in keys]
        emit(f"| {name} | {value:.{digits}f} |", " | ".join(cells), "|")
    if s["generations"] == 1:
        emit("\nOf one generation: the intervals say nothing of what other processes would have.")
    texts = [f"{name} {x['between']:.{digits}f} and {x['within']:.{digits}f}"
            for name, x in s["spread"].items() if None not in x.values()]
    if texts:
        emit(f"\nStandard deviation of generations, and of blocks within one, {unit}:",
             "; ".join(texts))


def aim(what, found, most, form):
    if not found:
        emit(f"Aim: {what}: not measured")
        return
    verdict = ("reached" if found[2] <= most else "NOT reached" if found[1] > most else
            "not decided")
    emit(f"Aim: {what}, at most {form.format(most)}: {cell(found, form)}: {verdict}")


def report_loops(result):
    found = result["loops"]
    results = found["figures"] = {}
    for kind, key, title, unit, scale, digits, keys in LOOP_FIGURES:
        data = in_order(figures.series(found["blocks"], kind, key, scale))
        if data:
            s = results[f"{kind} {key}"] = figures.summary(data, keys)
            table(title, unit, s, digits, keys)
    s = results.get("empty all", {"over_floor": {}, "over_native": {}})
    core = found.get("core")
    emit("\nThe thread that launches:", "on any core" if core is None else f"on core {core}")
    aim("trace, ns over the floor", s["over_floor"].get("accelprof"), 150, "{:+.0f}")
    aim("count, ns over native", s["over_native"].get("accelprof, count"), 100, "{:+.0f}")
    if found.get("bytes_a_launch"):
        emit(f"On disk: {found['bytes_a_launch']:.1f} bytes a launch (launch and kernel).")
    wrong = found.get("wrong", [])
    emit(f"Counts wrong, or events dropped: {len(wrong)} runs", wrong[:3] or "")
    report_failures(found)
    return not wrong and not found["lost"]


def report_many(result):
    found = result["many"]
    if "error" in found:
        emit(f"\n{MANY} launches: {found['error']}")
        return False
    good = found["launches"] == MANY and not found["dropped"] and found["wait_s"] <= MANY_WAIT
    emit(f"\n{MANY} launches in {found['recorded_s']:.2f} s: {found['launches']} recorded, "
         f"{found['dropped']} dropped, {found['bytes_a_launch']:.1f} bytes each; the table came "
         f"{found['wait_s']:.2f} s after the program's end: {'good' if good else 'NOT GOOD'}")
    return good


def report_training(result):
    found = result["training"]
    results = found["figures"] = {}
    kinds = dict.fromkeys(b["kind"] for b in found["blocks"])
    for kind in kinds:
        s = in_order(figures.series(found["blocks"], kind, "ms"))
        s = results[kind] = figures.summary(s, ("ratio", "ratio_floor"))
        table(f"GPT-2, a training step of {kind}", "ms", s, 2, ("ratio", "ratio_floor"))
    emit()
    if AIM_SHAPE in results:
        aim(f"trace, GPT-2 {AIM_SHAPE}, times the floor",
            results[AIM_SHAPE]["ratio_floor"].get("accelprof"), 1.03, "{:.3f}")
        data = figures.series(found["blocks"], AIM_SHAPE, "ms")
        for other in PROFILERS:
            if "accelprof" in data and other in data:
                aim(f"trace, GPT-2 {AIM_SHAPE}, times {other}",
                    figures.compare(data["accelprof"], data[other], "ratio"), 1, "{:.3f}")
    if "dropped" in found:
        emit(f"GPT-2: {found['dropped']} events dropped in {found['runs']} runs")
    report_failures(found)
    return not found.get("dropped") and not found["lost"]


def report_failures(found):
    for line in found["lost"]:
        emit("LOST:", line)


REPORT = {"loops": report_loops, "many": report_many, "training": report_training}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--quick", action="store_true", help="all in three minutes")
    p.add_argument("--seconds", type=float, help="for all parts together (540; 180 if quick)")
    p.add_argument("--only", default=",".join(SHARES), help="parts, of " + ", ".join(SHARES))
    p.add_argument("--generations", type=int, default=1000, help="at most, in each part")
    p.add_argument("--rounds", type=int, default=3, help="of the loops, in a generation")
    p.add_argument("--launches", type=int, default=10000, help="in a block of the loops")
    p.add_argument("--core", type=int, help="of the thread that launches (the last; -1: any)")
    p.add_argument("--train-rounds", type=int, default=6, help="of training, in a generation")
    p.add_argument("--shapes", default="8x512=8,32x1024=2", help="of training: shape=steps,...")
    p.add_argument("--json", help="write all blocks and figures to this file, too")
    p.add_argument("--from", dest="file", help="report again what --json wrote; measure nothing")
    args = p.parse_args()
    args.seconds = args.seconds or (180 if args.quick else 540)
    args.only = args.only.split(",")
    unknown = [x for x in args.only if x not in SHARES]
    if unknown:
        p.error(f"--only {unknown[0]}: the parts are {', '.join(SHARES)}")
    for shape in args.shapes.split(","):
        size, _, steps = shape.partition("=")
        if not steps.isdigit() or not all(x.isdigit() for x in size.split("x")) or "x" not in size:
            p.error(f"--shapes {shape}: it is like 8x512=10")
    return args


def measure(bench):
    good, keeper = True, None
    try:
        keeper = bench.keeper()
        for part in loops, many, training:
            if part.__name__ in bench.args.only:
                good &= part(bench)
                bench.save()
    finally:
        if keeper:
            keeper.kill()
        shutil.rmtree(bench.folder, ignore_errors=True)
        bench.save()
    for line in bench.left_out:
        emit("left out:", line)
    emit(f"{bench.result['seconds']:.0f} s in all")
    return good


def main():
    args = options()
    random.seed(1)
    if args.file:
        with open(args.file, encoding="utf-8") as f:
            result = json.load(f)
        return not all([REPORT[part](result) for part in args.only if part in result])
    # So that servers end, and blocks are saved.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    return not measure(Bench(args))


if __name__ == "__main__":
    sys.exit(main())
