"""sanitizer_torch.py - models whose memory accesses are counted, and what they compute meanwhile.

sanitizer_torch.py compute gpt2|gpt2-small|resnet18|resnet18-small|matmul OUT
                                      a forward pass, three times, or a small one once; OUT has its
                                      outputs as JSON
sanitizer_torch.py compare NATIVE NATIVE [COUNTED DATABASE TOOL]...
                                      are they the same, and was what the tool needs counted?
sanitizer_torch.py operands OUT DATABASE
                                      of matmul: each operand's bytes are there, once at least

Models are in PyTorch alone (bench/gpu/forward.py), with random weights.
"""
import hashlib
import json
import os
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bench/gpu"))
DEVICE = os.environ.get("PASTA_TORCH_DEVICE", "cuda")  # "cpu" to try the test itself
TIMES, SIDE = 3, 4096
OBJECT, TENSOR = 1, 8
# What each tool has counted. Of mem_trace it is accesses one by one.
REDUCERS = {"hotness": {OBJECT: "objects", 2: "pages"},
            "working_set": {OBJECT: "objects", 2: "pages"},
            "access_pattern": {3: "sites", 5: "requests", 6: "active threads"},
            "object_traffic": {OBJECT: "objects"}, "block_divergence": {7: "times of blocks"},
            "mem_trace": {}}
STORES = {OBJECT, 2, 3, 5, 6}
# Few accesses, so that each may leave the device.
SMALL = {"gpt2-small": ("gpt2", (1, 64)), "resnet18-small": ("resnet18", (1, 3, 64, 64))}


def fingerprint(torch, tensor):
    data = tensor.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes()
    return hashlib.sha256(data).hexdigest()


def seed(torch):
    torch.manual_seed(7)
    # What has no deterministic form only warns: whether outputs can be compared is seen natively.
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False


def model(torch, name):
    import forward
    if name in SMALL:
        name, shape = SMALL[name]
        work, times = forward.MODELS[name](DEVICE, shape), 1
    else:
        work, times = forward.MODELS[name](DEVICE), TIMES
    with torch.inference_mode():
        return {"outputs": [fingerprint(torch, work()) for _ in range(times)]}


def matmul(torch):
    side = SIDE if DEVICE == "cuda" else 64
    a, b = (torch.randn(side, side, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty(side, side, device=DEVICE, dtype=torch.bfloat16)
    outputs = []
    for _ in range(TIMES):
        torch.matmul(a, b, out=c)
        outputs.append(fingerprint(torch, c))
    size = a.numel() * a.element_size()
    return {"outputs": outputs, "times": TIMES,
            "operands": {n: [t.data_ptr(), size] for n, t in zip("abc", (a, b, c))}}


def compute(name, out):
    import torch
    seed(torch)
    found = matmul(torch) if name == "matmul" else model(torch, name)
    with open(out, "w", encoding="utf-8") as f:
        json.dump({"model": name, **found}, f)
    return 0


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def by_reducer(db, tool):
    """False where a reducer of the tool's has counted nothing."""
    good = True
    for reducer, what in REDUCERS[tool].items():
        rows, loads, stores, size = db.execute(
            "SELECT count(*), coalesce(sum(loads), 0), coalesce(sum(stores), 0), "
            "coalesce(sum(bytes), 0) FROM access_sum WHERE reducer = ?", (reducer,)).fetchone()
        print(f"  {what}: {rows} rows, {loads} loads, {stores} stores, {size} bytes")
        good &= loads > 0 and (stores > 0 or reducer not in STORES)
    if OBJECT in REDUCERS[tool]:
        outside = db.execute("SELECT coalesce(sum(loads + stores), 0) FROM access_sum "
                             "WHERE key0 = 0 AND reducer = ?", (OBJECT,)).fetchone()[0]
        print(f"  outside of objects: {outside}")
    return good


def one_by_one(db):
    batches, count, size = db.execute("SELECT count(*), coalesce(sum(count), 0), "
                                      "coalesce(sum(bytes), 0) FROM access_batch").fetchone()
    print(f"  {count} accesses in {batches} blocks of {size} bytes")
    return count > 0


def counted(path, tool):
    """Launches by what became of them, and what was counted; False where that is nothing."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    launches = dict(db.execute("SELECT what, count(*) FROM access_launch GROUP BY what"))
    for name, why in db.execute("SELECT DISTINCT name, detail FROM access_launch "
                                "WHERE what = 'refused' LIMIT 5"):
        print(f"  refused: {name}: {why}")
    print(f"  {launches}")
    good = one_by_one(db) if tool == "mem_trace" else by_reducer(db, tool)
    dropped = dict(db.execute("SELECT key, value FROM about")).get("dropped", 0)
    dropped_accesses = db.execute("SELECT sum(lost) FROM access_launch").fetchone()[0] or 0
    if dropped or dropped_accesses:
        print(f"  {dropped} events dropped, {dropped_accesses} accesses dropped")
    if not good:
        print(f"  not all that {tool} needs was counted")
    if launches.get("ended") != launches.get("counted"):
        print("  launches whose accesses are not all there")
        return False
    return bool(launches.get("counted")) and good and not dropped and not dropped_accesses


def compare(native, other, *rest):
    a, b = load(native), load(other)
    good = True
    for out, database, tool in zip(rest[::3], rest[1::3], rest[2::3]):
        print(f"{out}:")
        if a["outputs"] != b["outputs"]:
            print("  two native runs differ: not compared")
        elif load(out)["outputs"] != a["outputs"]:
            print(f"  outputs differ: {load(out)['outputs']}, natively {a['outputs']}")
            good = False
        else:
            print("  outputs: the same")
        good &= DEVICE == "cpu" or counted(database, tool)
    return 0 if good and rest else 1


def traffic(db, addr, size):
    """Bytes of the object that has the operand: seen, and described. It may be a whole segment of
    PyTorch's. What fills the operands at first, or makes a copy, is no product."""
    return db.execute(
        "SELECT coalesce(sum(CASE s.reducer WHEN ? THEN s.bytes END), 0), "
        "coalesce(sum(CASE s.reducer WHEN ? THEN s.bytes END), 0), max(o.addr), max(o.bytes) "
        "FROM access_sum s JOIN object o ON o.object = s.key0 AND o.process = s.process "
        "WHERE o.addr <= ? AND o.addr + o.bytes >= ? AND "
        "s.name NOT LIKE '%distribution%' AND s.name NOT LIKE '%elementwise%'",
        (OBJECT, TENSOR, addr, addr + size)).fetchone()


def operands(out, database):
    printed, good = load(out), True
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    needed = {}
    for name, (addr, size) in printed["operands"].items():
        seen, described, begin, whole = traffic(db, addr, size)
        if begin is None:
            print(f"{name}: no object at {addr:#x}")
            good = False
            continue
        key = begin, whole
        needed.setdefault(key, [0, seen, described, ""])
        needed[key][0] += size * printed["times"]
        needed[key][3] += name
        print(f"{name}: at {addr:#x} of an object at {begin:#x} of {whole} bytes: {seen} bytes "
              f"seen, {described} described, of {size} bytes {printed['times']} times")
    # Operands that share an object share its bytes.
    for size, seen, described, names in needed.values():
        if seen + described < size:
            print(f"{names}: {seen} + {described} bytes are less than {size}")
            good = False
    return 0 if good else 1


def main(argv):
    models = "gpt2", "resnet18", "matmul", *SMALL
    if len(argv) == 4 and argv[1] == "compute" and argv[2] in models:
        return compute(argv[2], argv[3])
    if (len(argv) >= 4 and len(argv) % 3 == 1 and argv[1] == "compare" and
            all(tool in REDUCERS for tool in argv[6::3])):
        return compare(*argv[2:])
    if len(argv) == 4 and argv[1] == "operands":
        return operands(*argv[2:])
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv))
