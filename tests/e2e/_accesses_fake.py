"""_accesses_fake.py loop|python|accelprof ARGS... - stands in for what bench_accesses.py measures.

Programs answer at once with made-up times, some of what native has by variant. FAKE_BAD names a
variant that counts what it should not: all, or nothing.
"""
import json
import os
import random
import sqlite3
import subprocess
import sys

BASE = {"saxpy": 0.06, "gather": 0.08, "gpt2": 9, "resnet18": 3}
COST = {"native": 1, "floor": 20, "object": 25, "hotness": 30, "naive": 500, "sampled": 1.3,
        "callbacks": 1.1, "gpu": 25, "cpu": 250}
SANITIZER = "/toolkit/libsanitizer-public.so"
PASSES, ACCESSES = 2, 1000


def floor(path):
    """Does the work of sanfloor.so, which is not loaded here."""
    right = (os.environ["FLOOR_SANITIZER"] == SANITIZER and
             os.path.basename(os.environ["CUDA_INJECTION64_PATH"]) == "sanfloor.so" and
             os.environ.get("FAKE_BAD") != "callbacks")
    with open(path, "w", encoding="utf-8") as f:
        print("12" if right else "failed: sanitizerSubscribe", file=f)
    return "callbacks"


def serve():
    name = os.environ.get("FAKE_VARIANT", "native")
    if "FLOOR_FILE" in os.environ:
        name = floor(os.environ["FLOOR_FILE"])
    cost = COST[name] * (1 + random.gauss(0, 0.02))
    print("ready", flush=True)
    made = PASSES
    for line in sys.stdin:
        kind, count = line.split()
        made += int(count)
        ms = BASE[kind] * cost * (1 + random.gauss(0, 0.01))
        print(json.dumps({"ms": ms, "launches": made, "passes": made}), flush=True)
    if "FAKE_COUNT" in os.environ:
        with open(os.environ["FAKE_COUNT"], "w", encoding="utf-8") as f:
            print(made, file=f)


def walk():
    ranges = [list(map(int, line.split())) for line in sys.stdin]
    if ranges != [[4096, 100, 5 * ACCESSES], [8192, 50, 0]]:
        sys.exit(f"the ranges are {ranges}")
    print(json.dumps({"ns": 40.0, "ranges": len(ranges), "counted": 1, "outside": 0}))


def variant(options):
    if "--processor" in options:
        return options[options.index("--processor") + 1]
    patches = os.environ.get("PASTA_PATCHES")
    tool = options[options.index("-t") + 1]
    return patches or ("sampled" if "--all" not in options else
                       {"object_traffic": "object"}.get(tool, tool))


def export(path, made):
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE object (process, object, addr, bytes);"
                     "CREATE TABLE access_sum (process, key0, reducer, loads, stores);")
    # The first two are at one address, one after the other; the last is a space.
    db.executemany("INSERT INTO object VALUES (0, ?, ?, ?)",
                   [(16, 4096, 80), (17, 4096, 100), (18, 8192, 50)])
    db.executemany("INSERT INTO access_sum VALUES (0, ?, 1, ?, ?)",
                   [(16, 2 * ACCESSES, 0), (17, 0, 3 * ACCESSES), (3, 77, 0),
                    (0, (made - 5) * ACCESSES, 0)])
    db.commit()


def run(options, command):
    name, out = variant(options), options[options.index("-o") + 1]
    count = os.path.join(out, "count")
    status = subprocess.run(command, env={**os.environ, "FAKE_VARIANT": name,
                                          "FAKE_COUNT": count}).returncode
    if os.path.exists(count):
        accesses = 0 if (name == "floor") != (os.environ.get("FAKE_BAD") == name) else ACCESSES
        os.mkdir(os.path.join(out, "results"))
        columns = [{"name": n} for n in ("object", "loads", "stores")]
        with open(os.path.join(out, "results/report.json"), "w", encoding="utf-8") as f:
            json.dump({"tools": [{"tables": [{"columns": columns, "rows": [
                ["a", accesses, 2 * accesses]]}]}], "loss": {"dropped": 0}}, f)
    return status


def accelprof(args):
    if args[0] == "doctor":
        print("ok  accesses     counts memory accesses of sanitizer kernels: on NVIDIA's "
              "devices, by " + SANITIZER)
        return 0
    if args[0] == "export":
        with open(os.path.join(args[1], "count"), encoding="utf-8") as f:
            export(args[args.index("-o") + 1], int(f.read()))
        return 0
    if os.environ.get("FAKE_OLD") and "--processor" in args:
        print("accelprof: unknown option --processor", file=sys.stderr)
        return 2
    at = args.index("--")
    return run(args[:at], args[at + 1:])


if __name__ == "__main__":
    if sys.argv[1] == "accelprof":
        sys.exit(accelprof(sys.argv[2:]))
    if sys.argv[1:3] == ["python", "-c"]:
        sys.exit(print("Proton"))
    sys.exit(walk() if "walk" in sys.argv else serve())
