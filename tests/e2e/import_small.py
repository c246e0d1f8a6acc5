"""import_small.py ACCELPROF EXPECTED - are the traces in EXPECTED imported as it requires?

EXPECTED has what the tables of the database must be, row by row in order of time, and tables of
tools. Times are ns from "base" on. A table that it does not name must be empty. What the oracle
finds by brute force must agree, too.
"""
import json
import os
import sqlite3
import subprocess
import sys

import _trace_oracle as oracle

THREAD = "CASE WHEN thread < 1 << 31 THEN thread END"  # what the source does not number: NULL
TABLES = {
    "process": "SELECT pid, rank FROM process ORDER BY number",
    "threads": "SELECT CASE WHEN tid < 1 << 31 THEN tid END, name FROM thread "
               "WHERE name IS NOT NULL ORDER BY process, tid",
    "devices": "SELECT device, name, memory, units FROM device ORDER BY process, device",
    "kernels": "SELECT name, begin - :base, dur, corr, device, context, stream, "
               "grid_x || 'x' || grid_y || 'x' || grid_z, "
               "block_x || 'x' || block_y || 'x' || block_z, registers, "
               "shared_static + shared_dynamic, op, region, iteration, launched - :base "
               "FROM kernel ORDER BY process, begin, name",
    "copies": "SELECT direction, begin - :base, dur, bytes, corr, device, stream, op, "
              "launched - :base FROM copy ORDER BY process, begin, id",
    "sets": "SELECT begin - :base, dur, bytes, corr, device, stream, op, launched - :base "
            "FROM fill ORDER BY process, begin, id",
    "calls": "SELECT name, begin - :base, dur, corr, " + THREAD + ", op FROM call "
             "ORDER BY process, begin, id",
    "launches": "SELECT begin - :base, corr, " + THREAD + " FROM launch "
                "ORDER BY process, begin, id",
    "ops": "SELECT name, begin - :base, dur, depth, inputs, seq, " + THREAD + " FROM op "
           "ORDER BY process, thread, begin, depth",
    "stacks": "SELECT name, stack FROM op ORDER BY process, thread, begin, depth",
    "regions": "SELECT path, begin - :base, dur, " + THREAD + " FROM region "
               "ORDER BY process, thread, begin, depth",
    "marks": "SELECT name, begin - :base, " + THREAD + " FROM mark ORDER BY process, begin, id",
    "iterations": "SELECT number, begin - :base FROM iteration ORDER BY process, begin",
    "allocations": "SELECT type, addr, bytes, begin - :base, end - :base FROM allocation "
                   "ORDER BY process, begin, id",
    "counters": "SELECT name, nullif(device, (1 << 32) - 1), begin - :base, value FROM counter "
                "ORDER BY process, begin, name",
    "collectives": "SELECT p.rank, name, dtype, bytes_in, bytes_out, ranks, seq, corr, "
                   "begin - :base FROM collective c JOIN processes p ON p.number = c.process "
                   "ORDER BY process, begin, id",
    "syncs": "SELECT begin - :base, dur, corr, what, " + THREAD + " FROM sync "
             "ORDER BY process, begin, id",
    "args": "SELECT name, scalars, strides FROM op ORDER BY process, thread, begin, depth",
    "memories": "SELECT direction, src_memory, dst_memory FROM copy ORDER BY process, begin, id",
    "loads": "SELECT name, begin - :base, dur, " + THREAD + " FROM module "
             "ORDER BY process, begin, id",
}
SILENT = {"args", "memories", "stacks", "threads", "devices", "process"}  # not looked at where it is not named

accelprof, path = sys.argv[1:]
with open(path, encoding="utf-8") as f:
    expected = json.load(f)
folder = os.path.dirname(path)
files = [os.path.join(folder, e["file"]) for e in expected["import"]]
name = os.path.basename(path).removesuffix(".expected.json")
wrong = 0


def equal(what, got, wanted):
    global wrong
    if got == wanted:
        return
    wrong += 1
    print(f"{name}: {what}:")
    if isinstance(got, list) and isinstance(wanted, list):
        print("".join(f"  got    {r}\n" for r in got if r not in wanted) +
              "".join(f"  wanted {r}\n" for r in wanted if r not in got) or
              f"  another order: {got}")
    else:
        print(f"  got    {got}\n  wanted {wanted}")


def run(*args):
    done = subprocess.run([accelprof, *args], capture_output=True, text=True, timeout=30)
    equal(f"status of {args[0]}, which prints {done.stderr}", done.returncode, 0)
    return done


run("import", *files, "-o", name)
run("export", name, "--to", "sqlite", "-o", name + ".db")

# run.json's account of the files.
with open(f"{name}/run.json", encoding="utf-8") as f:
    account = json.load(f)["import"]
equal("files", [os.path.basename(a["file"]) for a in account],
      [e["file"] for e in expected["import"]])
for got, wanted in zip(account, expected["import"]):
    for key in set(wanted) - {"file"}:
        if isinstance(wanted[key], dict):
            equal(key, {k: got[key].get(k) for k in wanted[key]}, wanted[key])
        else:
            equal(key, got[key], wanted[key])
    equal("damaged", got["damaged"], 0)

# The database.
db = sqlite3.connect(f"file:{name}.db?mode=ro", uri=True)
equal("foreign keys", db.execute("PRAGMA foreign_key_check").fetchall(), [])
for table, query in TABLES.items():
    if table in expected or table not in SILENT:
        got = [list(r) for r in db.execute(query, {"base": expected.get("base", 0)})]
        equal(table, got, expected.get(table, []))

# The tools.
if "tools" in expected:
    used = ",".join(dict.fromkeys(t.split(".")[0] for t in expected["tools"]))
    run("report", name, "-t", used, "--format", "json", "-o", name + ".report.json")
    with open(name + ".report.json", encoding="utf-8") as f:
        report = json.load(f)
    tables = {t["name"] + "." + table["name"]: table for t in report["tools"]
              for table in t.get("tables", [])}
    for table, wanted in expected["tools"].items():
        columns = [c["name"] for c in tables[table]["columns"]]
        key = [columns.index(c) for c in wanted["key"]]
        value = [columns.index(c) for c in wanted["columns"]]
        got = {"|".join(str(r[i]) for i in key): [r[i] for i in value]
               for r in tables[table]["rows"]}
        equal(table, dict(sorted(got.items())), dict(sorted(wanted["rows"].items())))

# The oracle, which has read the same file, thinks so, too.
if len(files) == 1 and account[0]["format"] == "kineto":
    found = oracle.figures(files[0], brute=True)
    equal("oracle: brute force", found["ops_shapes"], oracle.figures(files[0])["ops_shapes"])
    if "ops.ops" in expected.get("tools", {}):
        equal("oracle: ops", {op: [row[c] for c in oracle.COLUMNS]
                              for op, row in found["ops"].items()},
              expected["tools"]["ops.ops"]["rows"])
    for count in ("kernels", "copies", "sets", "ops"):
        cat = {"kernels": "kernel", "copies": "gpu_memcpy", "sets": "gpu_memset", "ops": "cpu_op"}
        equal(f"oracle: {count}", found["complete"].get(cat[count], 0),
              len(expected.get(count, [])))
sys.exit(wrong > 0)
