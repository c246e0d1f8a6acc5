"""_bench_fake.py loop|python|accelprof ARGS... - stands in for what bench/gpu measures.

Programs answer at once with made-up times: FAKE_COST has the share that a variant adds
("floor=0.3,..."), and each process has a bias of its own. FAKE_BAD is how a variant misbehaves,
after how many blocks: "VARIANT:die|hang|nonsense|refuse|mute:N,...", or at its end: "VARIANT:fall".
FAKE_LOG gets a line when a block begins and when it ends.
"""
import json
import os
import random
import subprocess
import sys
import time

BASE = {"empty": 4000, "burst": 2000, "saxpy": 236000, "8x512": 29, "32x1024": 137}


def table(name):
    words = [x for x in os.environ.get(name, "").replace(", ", "; ").split(",") if x]
    found = dict(x.split("=", 1) if "=" in x else x.split(":", 1) for x in words)
    return {k.replace("; ", ", "): v for k, v in found.items()}


def variant():
    if "--profiler" in sys.argv:
        return {"torch": "torch.profiler", "torch-full": "torch.profiler, full",
                "proton": "Proton"}[sys.argv[-1]]
    floor = "callbacks" if os.environ.get("FLOOR_KINDS") == "callbacks" else "floor"
    return os.environ.get("FAKE_VARIANT") or (floor if "FLOOR_FILE" in os.environ else "native")


def log(*words):
    path = os.environ.get("FAKE_LOG")
    if path:
        with open(path, "a", encoding="utf-8") as f:
            print(*words, file=f)


def misbehave(how, kind):
    if how == "die":
        print("the GPU is on fire", file=sys.stderr)
        sys.exit(3)
    if how == "hang":
        time.sleep(60)
    if how == "mute":
        os.close(1)
        time.sleep(60)
    answers = {"nonsense": "{not JSON", "refuse": json.dumps({"error": "out of " + kind})}
    print(answers[how], flush=True)


def serve():
    name = variant()
    bad, _, after = table("FAKE_BAD").get(name, "").partition(":")
    bias = random.gauss(0, 0.02)
    print("a profiler says hello")
    print("ready", flush=True)
    launches = 0
    for number, line in enumerate(sys.stdin):
        kind, count = line.split()
        log("begin", name, kind)
        launches += int(count)
        time.sleep(0.002)
        log("end", name, kind)
        if after and number >= int(after):
            misbehave(bad, kind)
            continue
        cost = float(table("FAKE_COST").get(name, 0))
        value = BASE[kind] * (1 + bias + random.gauss(0, 0.01) + cost)
        print(json.dumps({"call": value, "all": value, "ms": value, "launches": launches}),
              flush=True)
    if bad == "fall":
        sys.exit(4)
    return launches


def program():
    if "many" in sys.argv:
        launches = int(sys.argv[-1])
        print(json.dumps({"seconds": 1.5, "end": time.time()}))
    else:
        launches = serve()
    if "FLOOR_FILE" in os.environ:
        with open(os.environ["FLOOR_FILE"], "w", encoding="utf-8") as f:
            print(os.environ.get("FAKE_FLOOR", "3 4096 0"), file=f)
    if "FAKE_COUNT" in os.environ:
        with open(os.environ["FAKE_COUNT"], "w", encoding="utf-8") as f:
            print(launches, file=f)


def accelprof():
    if sys.argv[2] == "doctor":
        print(os.environ.get("FAKE_DOCTOR", "ok  cupti  kernels: version 1, /nowhere/libcupti.so"))
        return 0
    if "--no-stacks" in sys.argv:
        print("accelprof: unknown option --no-stacks", file=sys.stderr)
        return 2
    run = sys.argv[sys.argv.index("-o") + 1]
    command = sys.argv[sys.argv.index("--") + 1:]
    count = os.path.join(run, "count")
    name = "accelprof, count" if "--level" in sys.argv else "accelprof"
    name = "accelprof, all" if "--stacks" in sys.argv else name
    env = {**os.environ, "FAKE_VARIANT": name, "FAKE_COUNT": count}
    status = subprocess.run(command, env=env).returncode
    if os.path.exists(count):
        with open(count, encoding="utf-8") as f:
            launches = int(f.read()) - int(os.environ.get("FAKE_MISSING", "0"))
        os.mkdir(os.path.join(run, "shards"))
        with open(os.path.join(run, "shards/x.pst"), "wb") as f:
            f.write(b"x" * 3 * launches)
        os.mkdir(os.path.join(run, "results"))
        report = {"tools": [{"name": "ops", "tables": [
            {"rows": [[os.environ.get("FAKE_OP", "aten::k"), launches]]}]}], "loss": {"dropped": int(os.environ.get("FAKE_DROPPED", "0"))}}
        with open(os.path.join(run, "results/report.json"), "w", encoding="utf-8") as f:
            json.dump(report, f)
    print("a table")
    return status


if __name__ == "__main__":
    if sys.argv[1] == "accelprof":
        sys.exit(accelprof())
    if sys.argv[1] == "python" and sys.argv[2] == "-c":
        print(os.environ.get("FAKE_PROTON", "Proton"))
        sys.exit(0)
    sys.exit(program())
