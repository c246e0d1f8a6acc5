#!/usr/bin/env python3
"""bench_torch.py - the cost of recording PyTorch: small additions on the CPU.

Each variant runs in a process of its own, in turns. A process runs the loop in short rounds; the result is
the fastest tenth, because other programs, such as the agent's writer, run on the same machine. The output
is the median over the processes, and the median difference to the native process of the same turn.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

SRC = os.environ.get("SRC", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ACCELPROF = os.environ.get("ACCELPROF", os.path.join(SRC, "build", "accelprof"))

LOOP = r"""
import json, os, sys, time
import torch
torch.set_num_threads(1)
sys.path.insert(0, os.environ["BENCH_PYTHON"])
import accelprof._torch
if os.environ.get("PASTA_RUN") and not accelprof._torch.attach():
    sys.exit("not attached")
def attach_nothing():
    # The structs of shim.h. Any function without side effects serves as a callback: abs.
    import ctypes
    path = accelprof._torch._build(torch)[0]
    nothing = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value
    head = (ctypes.c_uint32 * 4)(accelprof._torch.ABI, 64, 15, 0)
    agent = ctypes.create_string_buffer(bytes(head) + bytes((ctypes.c_uint64 * 6)(*[nothing] * 6)))
    entry = ctypes.CDLL(path).pasta_torch_entry_2
    entry.restype = ctypes.POINTER(ctypes.c_void_p)
    why = ctypes.create_string_buffer(200)
    shim = entry(agent, why, len(why))
    start = shim and ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)(shim[1])
    if not shim or start(why, len(why)):
        sys.exit("not attached: %s" % why.value.decode())
    return agent
if sys.argv[3] == "nothing":
    agent = attach_nothing()
count, rounds, profile = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "profiler"
a, b = torch.ones(8), torch.ones(8)
def loop():
    add = torch.add
    for _ in range(count):
        c = add(a, b)
    return c
times = []
def measure():
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        loop()
        times.append((time.perf_counter_ns() - begin) / count)
with torch.no_grad():
    loop()
    if profile:
        with torch.profiler.profile(profile_memory=True, record_shapes=True):
            measure()
    else:
        measure()
with open(sys.argv[4], "w") as f:
    json.dump([sorted(times)[len(times) // 10], torch.__version__], f)
"""

# The kinds that tools subscribe to, by variant.
KINDS = {"op_begin": 9, "op_end": 10, "op_arg": 11, "tensor": 12, "alloc": 5, "free": 6}
VARIANTS = {
    "native": None,
    "the shim alone, for all below": None,
    "operators": ["op_begin", "op_end"],
    "operators, tensors, memory": list(KINDS),
    "and Python stacks": list(KINDS),
    "torch.profiler, with memory and shapes": None,
}


def run_once(python, name, count, rounds, folder):
    out = os.path.join(folder, "out.json")
    kinds = VARIANTS[name]
    command = [python, "-c", LOOP, str(count), str(rounds)]
    command += ["profiler" if "profiler" in name else "nothing" if "alone" in name else "no", out]
    env = dict(os.environ, BENCH_PYTHON=os.path.join(SRC, "python"))
    if "alone" in name:
        env["PASTA_TORCH_SHIM"] = os.path.join(SRC, "src")
    if kinds:
        run = tempfile.mkdtemp(dir=folder)
        # Usually tools determine the mask; here it is exactly what the variant measures.
        mask = sum(1 << KINDS[k] for k in kinds)
        script = "export PASTA_KINDS=%x; exec \"$@\"" % mask
        command = [ACCELPROF, "run", "-q", "--record", "all", "-o", os.path.join(run, "run")] + (
            ["--stacks", "python"] if "stacks" in name else []
        ) + ["--", "sh", "-c", script, "sh"] + command
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode or not os.path.exists(out):
        return None
    with open(out) as f:
        result = json.load(f)
    os.unlink(out)
    return result


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--rounds", type=int, default=500)
    p.add_argument("--turns", type=int, default=5)
    args = p.parse_args()
    times = {name: [] for name in VARIANTS}
    version = None
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(args.turns):
            names = list(VARIANTS)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                result = run_once(args.python, name, args.count, args.rounds, folder)
                times[name].append(result[0] if result else None)
                version = result[1] if result else version
    total = args.count * args.rounds
    print("PyTorch %s, %d additions of 8 elements, ns each" % (version, total))
    for name, all_ in times.items():
        good = [t for t in all_ if t is not None]
        over = [t - n for t, n in zip(all_, times["native"]) if t is not None and n is not None]
        if not good or not over:
            print("%-40s could not be run" % name)
            continue
        print("%-40s %7.0f  over native %+7.0f (%+.0f to %+.0f)" % (
            name, statistics.median(good), statistics.median(over), min(over), max(over)))


if __name__ == "__main__":
    main()
