"""import_bad.py make | try ACCELPROF DATA - damaged traces, here.

make: write those that a shell cannot. try: cut, shuffle and damage good ones, and see what becomes
of them.
"""
import glob
import gzip
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

HEAD = '{"schemaVersion": 1, "traceEvents": [\n'
KERNEL = '{"ph": "X", "cat": "kernel", "name": "k%d", "pid": 0, "tid": 7, "ts": %d, "dur": 5, ' \
    '"args": {"device": 0, "stream": 7, "correlation": %d}}'
OP = '{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": 1, "ts": %d, "dur": %d, ' \
    '"args": %s}'
STEP = 37  # bytes from one cut to the next
wrong = 0


def kernels(n):
    return [KERNEL % (i, 100 + 10 * i, i) for i in range(n)]


def write(name, text):
    with open(name, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())


def trace(events):
    return HEAD + ",\n".join(events) + "\n]}\n"


def make():
    write("deep.json", "[" * 10**6)
    one = kernels(2)
    deep = '{"ph": "X", "args": ' + '{"a": [' * 5 * 10**5 + "]}" * 5 * 10**5 + "}"
    write("deep_event.json", trace([one[0], deep, one[1]]))
    huge = '{"ph": "X", "cat": "kernel", "name": "' + "n" * 10**8 + '", "ts": 1, "dur": 1}'
    write("huge_event.json", trace([one[0], huge, one[1]]))
    rng = random.Random(5)
    varied = trace([k.replace("correlation", "x%016x" % rng.getrandbits(64))
                    for k in kernels(3000)])
    write("many.json", varied)
    packed = gzip.compress(varied.encode(), mtime=0)
    write("cut.json.gz", packed[:-len(packed) // 3])
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 0x55
    write("flipped.json.gz", bytes(flipped))
    packed = subprocess.run(["zstd", "-q", "-c"], input=varied.encode(), capture_output=True,
                            check=True).stdout
    write("cut.json.zst", packed[:-len(packed) // 3])
    spaces = gzip.compress(b" " * (1 << 24), mtime=0)  # of many members, as gzip allows
    write("bomb.json.gz", gzip.compress((HEAD + one[0]).encode()) + spaces * 64 +
          gzip.compress(b"]}"))
    write("crossing.json", trace([OP % ("a", 100, 100, "{}"), OP % ("b", 150, 100, "{}"),
                                  OP % ("c", 120, 60, "{}"), OP % ("d", 170, 10, "{}")]))
    ones = ",".join(["1"] * 100000)
    odd = ['{"Input type": [%s]}' % ones, '{"Input Dims": [%s]}' % ones,
           '{"Input type": 5, "Input Dims": "x"}', '{"Input type": {}, "Input Dims": {"a": []}}',
           '{"Input type": ["a", null, ["b"]], "Input Dims": [[[[[[1]]]]]]}',
           '{"Sequence number": 18446744073709551615, "Input type": ["\\u00e9\\"\\\\"]}']
    odd += ['{"Input type": [%s]}' % ",".join(["1"] * n) for n in range(1000, 1640)]
    write("inputs.json", trace([OP % ("o", 100 + 20 * i, 10, a) for i, a in enumerate(odd)]))


def fail(what):
    global wrong
    wrong += 1
    print(f"FAILED: {what}")


def imported(path, *options):
    """(status, stderr) of an import into try.run."""
    shutil.rmtree("try.run", ignore_errors=True)
    done = subprocess.run([accelprof, "import", *options, path, "-o", "try.run"],
                          capture_output=True, timeout=20)
    return done.returncode, done.stderr.decode(errors="replace")


def tables():
    """The rows of try.run, without what names files and numbers rows."""
    if os.path.exists("try.db"):
        os.remove("try.db")
    subprocess.run([accelprof, "export", "try.run", "--to", "sqlite", "-o", "try.db"], check=True,
                   capture_output=True, timeout=20)
    db = sqlite3.connect("try.db")
    rows = {}
    for view in ("kernel", "copy", "fill", "call", "launch", "op", "region", "collective",
                 "counter", "iteration", "device", "sync"):
        names = [c[1] for c in db.execute(f"PRAGMA table_info({view})")
                 if c[1] not in ("id", "parent") and not (view == "op" and c[1] == "op")]
        columns = ", ".join(f'"{n}"' for n in names)
        rows[view] = sorted(db.execute(f"SELECT {columns} FROM {view}"), key=repr)
    db.close()
    return rows


def cut(path):
    """Every prefix is refused, names its byte, and gives up its whole events when recovered."""
    with open(path, "rb") as f:
        text = f.read()
    ends = [m.end() for m in re.finditer(rb'^\{"ph": .*?\}(?=,?$)', text, re.MULTILINE)
            if b'"cat": "kernel"' in m.group()]
    begin = text.index(b'"traceEvents": [') + 16
    for at in range(STEP, len(text.rstrip()), STEP):
        write("cut.json", text[:at])
        status, message = imported("cut.json")
        first = message.split("\n", maxsplit=1)[0]
        if status != 1 or os.path.exists("try.run") or "cut.json" not in first:
            fail(f"cut at {at}: status {status}, {first}")
        byte = re.search(r"byte (\d+)", first)
        if at > begin and not (byte and int(byte.group(1)) <= at):
            fail(f"cut at {at}: which byte? {first}")
        if at <= begin:
            continue
        whole = sum(e <= at for e in ends)
        status, message = imported("cut.json", "--recover")
        if status != 0 or "cut.json" not in message:
            if whole:
                fail(f"cut at {at}, recovered: status {status}, {message}")
            continue
        if whole != len(tables()["kernel"]):
            fail(f"cut at {at}, recovered: {len(tables()['kernel'])} kernels of {whole}")


def shuffle(path):
    """The order of the events changes nothing but that of equals."""
    status, message = imported(path)
    if status:
        return fail(f"{path}: {message}")
    wanted = tables()
    with open(path, encoding="utf-8") as f:
        doc = json.load(f)
    for seed in range(4):
        random.Random(seed).shuffle(doc["traceEvents"])
        write("shuffled.json", json.dumps(doc))
        status, message = imported("shuffled.json")
        if status:
            return fail(f"{path}, shuffled: {message}")
        got = tables()
        for view, rows in wanted.items():
            if got[view] != rows:
                fail(f"{path}, shuffled by {seed}: {view}: "
                     f"{[r for r in got[view] if r not in rows][:2]} for "
                     f"{[r for r in rows if r not in got[view]][:2]}")


def damage(path, tries):
    """Bytes changed, doubled and left out: refused or imported, and never a crash."""
    with open(path, "rb") as f:
        text = f.read()
    rng = random.Random(7)
    for i in range(tries):
        bad = bytearray(text)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(bad))
            how = rng.randrange(4)
            if how == 0:
                bad[at] = rng.randrange(256)
            elif how == 1:
                bad[at] ^= 1 << rng.randrange(8)
            elif how == 2:
                del bad[at:at + rng.randrange(1, 50)]
            else:
                bad[at:at] = bad[at:at + rng.randrange(1, 50)]
        write("damaged.json", bytes(bad))
        status, message = imported("damaged.json", *(["--recover"] if i % 2 else []))
        if status not in (0, 1) or (status == 1 and "damaged.json" not in message) or \
                os.path.exists("try.run") != (status == 0):
            fail(f"{path} damaged, try {i}: status {status}, {message}")


def interrupt():
    """Ctrl-C leaves nothing behind."""
    with open("long.json", "w", encoding="utf-8") as f:
        f.write(HEAD)
        for i in range(400000):
            f.write(OP % ("o", 10 * i, 5, '{"External id": 1}') + ",\n")
        f.write(OP % ("o", 10**8, 5, "{}") + "]}")
    stopped = 0
    for wait in (0.01, 0.03, 0.06, 0.1, 0.15, 0.2):
        shutil.rmtree("try.run", ignore_errors=True)
        p = subprocess.Popen([accelprof, "import", "long.json", "-o", "try.run"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        p.send_signal(signal.SIGINT)
        message = p.communicate(timeout=20)[1]
        if p.returncode == 130:
            stopped += 1
            if "interrupted" not in message or os.path.exists("try.run"):
                fail(f"interrupted after {wait} s: {message}, {os.listdir('.')}")
        elif p.returncode not in (0, -signal.SIGINT):
            fail(f"interrupted after {wait} s: status {p.returncode}")
    if not stopped:
        fail("never interrupted in time")


if sys.argv[1] == "make":
    make()
else:
    accelprof, data = sys.argv[2:]
    cut(f"{data}/kineto-rocm.json")
    for name in ("kineto-cuda", "kineto-rocm", "kineto-nccl-rank0"):
        shuffle(f"{data}/{name}.json")
    for name in sorted(glob.glob(f"{data}/*.json")):
        if not name.endswith(".expected.json"):
            damage(name, 20)
    interrupt()
sys.exit(wrong > 0)
