"""bench_accesses.py [--seconds N] [--only PART,...] [--json FILE] - the cost of counting accesses.

Variants:
    native          without a profiler, and once more as the control
    floor           the same instructions, patched with functions that do nothing
    naive           each thread searches for its object and adds to it
    by object,      as accelprof run --all counts
    object and page
    callbacks       nothing is patched, but the Compute Sanitizer calls an empty function at each
                    launch: the lower bound for sampled launches

Each variant is a process that waits for its turn (servers.py), in several generations. Results are
medians with 95 % intervals in brackets (figures.py).

Parts: loops (saxpy and an 8-way gather of 16 M elements, 200 live ranges), models (forward passes of
GPT-2 and ResNet-18), sampled (50 passes at a time, as accelprof run samples by default), processors
(GPT-2: counting on the GPU, on all cores of the host, and, extrapolated, on one core).

ACCELPROF and BUILD come from the environment; PASTA_PYTHON is a Python with PyTorch.
"""
import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import bench_cupti
import figures
import servers
from bench_cupti import aim, emit, report_failures, table

HERE = os.path.dirname(os.path.abspath(__file__))
SHARES = {"loops": 0.2, "models": 0.4, "sampled": 0.15, "processors": 0.25}
LOOP_LIMITS = servers.Limits(ready=60, block=60, end=60)
MODEL_LIMITS = servers.Limits(ready=180, block=120, end=120)
TITLES = {"saxpy": "saxpy of 16 M elements", "gather": "8-way gather of 16 M elements",
          "gpt2": "GPT-2, a forward pass of 4 x 256",
          "resnet18": "ResNet-18, a forward pass of 8 images"}
WALKED = 1 << 24  # accesses
OBJECT = 1

# One variant per line: the options of accelprof run, and additional environment variables.
TOOL = ["-t", "object_traffic"]
RUNS = {"floor": (["--all", *TOOL], {"PASTA_PATCHES": "floor"}),
        "by object": (["--all", *TOOL], {}),
        "by object and page": (["--all", "-t", "hotness"], {}),
        "naive": (["--all", *TOOL], {"PASTA_PATCHES": "naive"}),
        "sampled": (["-t", "hotness"], {}),
        "on the GPU": (["--all", *TOOL, "--processor", "gpu"], {}),
        "on the host": (["--all", *TOOL, "--processor", "cpu"], {})}
COSTS = ["native", "native 2", "floor", "by object", "by object and page", "naive"]
PROCESSORS = ["native", "on the GPU", "on the host"]
SAMPLED = ["native", "native 2", "callbacks", "sampled"]
NAMES = [*COSTS, *SAMPLED[2:], *PROCESSORS[1:]]
KEYS = ("ratio", "ratio_floor")


class Bench:
    def __init__(self, args):
        self.args = args
        self.accelprof, self.build = os.environ["ACCELPROF"], os.environ["BUILD"]
        self.loop = os.path.join(self.build, "tests/gpu/access_loop")
        self.floor = os.path.join(self.build, "bench/gpu/sanfloor.so")
        self.sanitizer = self.doctor()
        self.begin = time.monotonic()
        self.folder = tempfile.mkdtemp(prefix="accelprof-bench-")
        self.left_out = []
        self.result = {"bench": "accesses", "left_out": self.left_out}
        self.runs = {}

    def doctor(self):
        """The path of the Compute Sanitizer library that the agent would use; "" if none."""
        out = subprocess.run([self.accelprof, "doctor"], capture_output=True, text=True).stdout
        lines = [x for x in out.splitlines() if x.startswith("ok") and "libsanitizer" in x]
        return lines[0].rsplit(" by ", 1)[-1] if lines else ""

    def can(self, name):
        """Whether this accelprof has these options."""
        if name not in RUNS:
            return True
        run = tempfile.mkdtemp(dir=self.folder)
        done = subprocess.run([self.accelprof, "run", "-q", *RUNS[name][0], "-o", run, "--",
                               "true"], capture_output=True, text=True)
        if done.returncode:
            self.left_out.append(f"{name}: " + (done.stderr.splitlines() or ["it fails"])[0])
        return not done.returncode

    def start(self, program):
        def start_one(variant):
            run = self.runs[variant] = tempfile.mkdtemp(dir=self.folder)
            env = {k: v for k, v in os.environ.items()
                   if k not in ("CUDA_INJECTION64_PATH", "PASTA_PATCHES")}
            command = program
            if variant in RUNS:
                options, more = RUNS[variant]
                env.update(more)
                command = [self.accelprof, "run", *options, "-o", run, "--", *program]
            elif variant == "callbacks":
                env.update(CUDA_INJECTION64_PATH=self.floor, FLOOR_SANITIZER=self.sanitizer,
                           FLOOR_FILE=run + ".floor")
            return servers.Server(variant, command, env, run + ".err")
        return start_one

    def ended(self, name, _):
        run = self.runs[name]
        if name in RUNS:
            look(name, run)
        elif name == "callbacks":
            bench_cupti.check_floor(run)
        shutil.rmtree(run)

    def until(self, part, share=1.0):
        """The time at which this share of the part is over, including the parts before it."""
        chosen = [p for p in SHARES if p in self.args.only]
        before = sum(SHARES[p] for p in chosen[:chosen.index(part)])
        whole = sum(SHARES[p] for p in chosen)
        return self.begin + self.args.seconds * (before + SHARES[part] * share) / whole

    def serve(self, part, names, program, limits, kinds, share=1.0, ended=None):
        """Adds blocks and losses to the part's."""
        crew = servers.Crew([n for n in names if self.can(n)], self.start(program),
                            ended or self.ended, limits)
        found = self.result.setdefault(part, {"blocks": [], "lost": []})
        try:
            servers.generations(f"{part}, {kinds[0][0]}", crew, kinds, self.args.rounds,
                                self.args.generations, self.until(part, share))
        finally:
            crew.kill()
            found["blocks"] += crew.blocks
            found["lost"] += crew.failures
        return found

    def save(self):
        self.result["seconds"] = time.monotonic() - self.begin
        if self.args.json:
            with open(self.args.json, "w", encoding="utf-8") as f:
                json.dump(self.result, f)
                f.write("\n")


def counted(run):
    """Returns the accesses in the tool's table, and the number of dropped events."""
    with open(os.path.join(run, "results/report.json"), encoding="utf-8") as f:
        d = json.load(f)
    t = d["tools"][0]["tables"][0]
    at = [i for i, c in enumerate(t["columns"]) if c["name"] in ("loads", "stores")]
    return sum(row[i] for row in t["rows"] for i in at), d["loss"]["dropped"]


def look(name, run):
    """Rejects a run that counted nothing, or too much: it measured something else."""
    try:
        accesses, dropped = counted(run)
    except (OSError, ValueError, LookupError) as e:
        raise servers.Failure(f"its report: {e!r}") from e
    if dropped:
        raise servers.Failure(f"{dropped} events dropped")
    if name == "floor" and accesses:
        raise servers.Failure(f"it counts {accesses} accesses: PASTA_PATCHES was not heeded")
    if name != "floor" and not accesses:
        raise servers.Failure("no access was counted")


# -- Measurements --

def loops(bench):
    n = bench.args.launches
    bench.serve("loops", COSTS, [bench.loop, "serve"], LOOP_LIMITS, [("saxpy", n), ("gather", n)])
    return report_costs("loops", bench.result)


def model(python, name, warm=2):
    return [python, os.path.join(HERE, "forward.py"), name, "--warm", str(warm)]


def models(bench):
    for share, name in (0.6, "gpt2"), (1.0, "resnet18"):
        bench.serve("models", COSTS, model(bench.python, name), MODEL_LIMITS,
                    [(name, bench.args.passes)], share)
    return report_costs("models", bench.result)


def sampled(bench):
    for share, name in (0.5, "gpt2"), (1.0, "resnet18"):
        bench.serve("sampled", SAMPLED, model(bench.python, name, bench.args.warm), MODEL_LIMITS,
                    [(name, 50)], share)
    return report_sampled(bench.result)


def objects_of(bench, run):
    """Returns [address, bytes, accesses] of all objects of a run, by address, and the sum of accesses."""
    path = run + ".db"
    subprocess.run([bench.accelprof, "export", run, "--to", "sqlite", "-o", path], check=True,
                   capture_output=True)
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = db.execute("SELECT o.addr, o.bytes, coalesce(sum(s.loads + s.stores), 0) FROM object o "
                      "LEFT JOIN access_sum s ON s.key0 = o.object AND s.process = o.process AND "
                      f"s.reducer = {OBJECT} GROUP BY o.process, o.object").fetchall()
    # An address that was used again is one range, as in a map.
    by_addr = {}
    for addr, size, n in rows:
        have = by_addr.setdefault(addr, [addr, 0, 0])
        have[1], have[2] = max(have[1], size), have[2] + n
    total = db.execute(f"SELECT sum(loads + stores) FROM access_sum WHERE reducer = {OBJECT} AND "
                       "(key0 = 0 OR key0 >= 16)").fetchone()[0]
    db.close()
    os.remove(path)
    return sorted(by_addr.values()), total or 0


def walk(bench, objects):
    """Returns ns per access on one core."""
    lines = "".join(f"{a} {b} {n}\n" for a, b, n in objects if b > 0)
    done = subprocess.run([bench.loop, "walk", str(WALKED)], input=lines, capture_output=True,
                          text=True, timeout=300)
    if done.returncode:
        raise servers.Failure(f"walk: {done.stderr.strip() or done.returncode}")
    return json.loads(done.stdout)


def processors(bench):
    baseline = {}

    def ended(name, answer):
        run = bench.runs[name]
        if name in RUNS:
            look(name, run)
        if name == "on the GPU" and answer and not baseline:
            try:
                objects, accesses = objects_of(bench, run)
            except (OSError, subprocess.CalledProcessError, sqlite3.Error) as e:
                raise servers.Failure(f"its export: {e!r}") from e
            baseline.update(objects=len(objects), accesses=accesses / answer["passes"],
                            walk=[walk(bench, objects) for _ in range(3)])
        shutil.rmtree(run)

    found = bench.serve("processors", PROCESSORS, model(bench.python, "gpt2"), MODEL_LIMITS,
                        [("gpt2", 1)], ended=ended)
    found["one_core"] = baseline
    return report_processors(bench.result)


# -- The report, as Markdown for docs/results --

def series(found, kind):
    data = figures.series(found["blocks"], kind, "ms")
    return {n: data[n] for n in NAMES if n in data}


def reported_kinds(found):
    return list(dict.fromkeys(b["kind"] for b in found["blocks"]))


def against(data, a, b):
    return figures.compare(data[a], data[b], "ratio") if {a, b} <= set(data) else None


def report_costs(part, result):
    found = result[part]
    results = found["figures"] = {}
    for kind in reported_kinds(found):
        data = series(found, kind)
        s = results[kind] = figures.summary(data, KEYS)
        table(TITLES.get(kind, kind), "ms", s, 3, KEYS)
        emit()
        if part == "loops":
            aim(f"{kind}: by object, times the floor", against(data, "by object", "floor"), 1.5,
                "{:.3f}")
            aim(f"{kind}: by object, times naive", against(data, "by object", "naive"), 0.1,
                "{:.4f}")
    report_failures(found)
    return bool(results) and not found["lost"]


def report_sampled(result):
    found = result["sampled"]
    results = found["figures"] = {}
    for kind in reported_kinds(found):
        data = series(found, kind)
        s = results[kind] = figures.summary(data, ("ratio",))
        table(TITLES.get(kind, kind) + ", of 50 after start-up", "ms", s, 3, ("ratio",))
        emit()
        aim(f"{kind}: sampled by default, times native", against(data, "sampled", "native"), 2,
            "{:.3f}")
    report_failures(found)
    return bool(results) and not found["lost"]


def report_walk(one, data):
    ns = figures.middle([w["ns"] for w in one["walk"]])
    ms = one["accesses"] * ns / 1e6
    emit(f"One core and an ordered map, scaled: {ns:.1f} ns an access ({WALKED} made-up addresses in "
         f"the {one['objects']} objects of the run, in the shares that they have), and "
         f"{one['accesses']:.0f} accesses a pass: {ms:.0f} ms")
    if "on the GPU" in data:
        gpu = figures.location([list(r.values()) for r in data["on the GPU"].values()])
        emit(f"That is {ms / gpu:.0f} times a pass that is counted on the GPU, whole; the walk alone, "
             "without what sends accesses to the host")


def report_processors(result):
    found = result["processors"]
    data = series(found, "gpt2")
    s = found["figures"] = figures.summary(data, ("ratio",))
    table(TITLES["gpt2"], "ms", s, 2, ("ratio",))
    emit()
    aim("GPT-2: on the GPU, times on the host (all cores)",
        against(data, "on the GPU", "on the host"), 0.2, "{:.4f}")
    if found.get("one_core"):
        report_walk(found["one_core"], data)
    report_failures(found)
    return bool(data) and not found["lost"]


REPORT = {"loops": lambda r: report_costs("loops", r),
          "models": lambda r: report_costs("models", r),
          "sampled": report_sampled, "processors": report_processors}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seconds", type=float, default=300, help="for all parts together (300)")
    p.add_argument("--only", default=",".join(SHARES), help="parts, of " + ", ".join(SHARES))
    p.add_argument("--generations", type=int, default=1000, help="at most, in each part")
    p.add_argument("--rounds", type=int, default=10, help="in a generation (10)")
    p.add_argument("--launches", type=int, default=5, help="in a block of the loops (5)")
    p.add_argument("--passes", type=int, default=2, help="in a block of the models (2)")
    p.add_argument("--warm", type=int, default=10, help="passes that are start-up, sampled (10)")
    p.add_argument("--json", help="write all blocks and figures to this file, too")
    p.add_argument("--from", dest="file", help="report again what --json wrote; measure nothing")
    args = p.parse_args()
    args.only = args.only.split(",")
    unknown = [x for x in args.only if x not in SHARES]
    if unknown:
        p.error(f"--only {unknown[0]}: the parts are {', '.join(SHARES)}")
    return args


def measure(bench):
    good = True
    bench.python = bench_cupti.find_torch()[0] if set(bench.args.only) - {"loops"} else None
    try:
        for part in loops, models, sampled, processors:
            name = part.__name__
            if name not in bench.args.only:
                continue
            if part is not loops and not bench.python:
                bench.left_out.append(f"{name}: no Python that has PyTorch with CUDA "
                                      "(set PASTA_PYTHON)")
                continue
            good &= part(bench)
            bench.save()
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)
        bench.save()
    for line in dict.fromkeys(bench.left_out):
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
