"""export.py DATABASE ORACLE CSVS DOC - is it valid, and does it hold what accelprof-gen made?

CSVS is a folder with the tables of the tools, TABLE.csv each; the queries of DOC must run.
"""
import collections
import csv
import json
import re
import sqlite3
import sys

db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
with open(sys.argv[2], encoding="utf-8") as f:
    oracle = json.load(f)


def one(sql, *args):
    return db.execute(sql, args).fetchone()[0]


def table(name):
    with open(f"{sys.argv[3]}/{name}.csv", encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def equal(what, got, wanted):
    assert got == wanted, f"{what}: got {got}, wanted {wanted}"


# Valid, and complete.
equal("integrity", db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
equal("foreign keys", db.execute("PRAGMA foreign_key_check").fetchall(), [])
equal("user_version", one("PRAGMA user_version"), 1)
about = dict(db.execute("SELECT key, value FROM about"))
equal("schema", about["schema"], "accelprof-sqlite/1")
equal("complete", about["complete"], 1)
equal("command", about["command"], "accelprof-gen")
equal("captured", about["captured"], oracle["events"])
equal("dropped", about["dropped"], oracle["dropped"])
equal("expected", about["expected"], about["captured"] + about["dropped"])
equal("processes add up",
      db.execute("SELECT sum(expected), sum(captured), sum(dropped), count(*) FROM processes")
      .fetchone(), (about["expected"], about["captured"], about["dropped"], oracle["shards"]))
equal("ranks", [r for r, in db.execute("SELECT rank FROM process ORDER BY number")],
      list(range(oracle["shards"])))
indices = {i for i, in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
assert {"kernels_begin", "kernels_key", "launches_key", "ops_key"} <= indices, indices

# As many rows as events, in every table; every view can be read.
kinds = collections.Counter(oracle["kinds"])
tables = {
    "launches": "launch", "kernels": "kernel", "copies": "copy", "sets": "set", "syncs": "sync",
    "api": "api", "counters": "counter", "collectives": "collective", "devices": "device",
    "modules": "module", "graph_nodes": "graph", "tensors": "tensor", "op_args": "op_arg",
    "links": "link", "uvm": "uvm", "access_sums": "access_sum", "access_batches": "access_batch",
    "pc_samples": "pc_sample", "queues": "queue", "event_records": "event_record",
    "ops": "op_begin", "allocations": "alloc", "iterations": "iteration"}
for name, kind in tables.items():
    equal(name, one(f"SELECT count(*) FROM {name}"), kinds[kind])
equal("regions and marks", 2 * one("SELECT count(*) FROM regions") +
      one("SELECT count(*) FROM marks"), kinds["region"])
for view, in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
    db.execute(f"SELECT * FROM {view} LIMIT 100").fetchall()

# Kernels and copies are the oracle's, and the tools'.
kernels = {name: [count, ns] for name, count, ns in
           db.execute("SELECT name, count(*), sum(dur) FROM kernel GROUP BY name")}
equal("kernels", kernels, {n: [k["count"], k["ns"]] for n, k in oracle["kernels"].items()})
equal("kernel_freq", kernels,
      {r["kernel"]: [int(r["launches"]), int(r["total"])] for r in table("kernels")})
copies = {d: [n, b, ns] for d, n, b, ns in db.execute(
    "SELECT direction, count(*), sum(bytes), sum(dur) FROM copy GROUP BY direction UNION ALL "
    "SELECT 'set', count(*), sum(bytes), sum(dur) FROM fill HAVING count(*)")}
equal("copies", copies,
      {d: [c["count"], c["bytes"], c["ns"]] for d, c in oracle["copies"].items()})
equal("tool copies", copies, {r["direction"]: [int(r[c]) for c in ("count", "bytes", "total")]
                              for r in table("copies")})

# Regions: calls, time, and the device time of what was launched in them.
regions = {p: [n, ns] for p, n, ns in
           db.execute("SELECT path, count(*), sum(dur) FROM region GROUP BY path")}
equal("regions", regions, {p: [r["calls"], r["ns"]] for p, r in oracle["regions"].items()})
equal("tool regions", regions, {r["region"]: [int(r["calls"]), int(r["inclusive"])]
                                for r in table("regions")})
device = collections.Counter()
for name in ("kernel", "copy", "fill"):
    for path, ns in db.execute(f"SELECT region, sum(dur) FROM {name} GROUP BY region"):
        device[path] += ns
if kinds["launch"] and kinds["region"]:
    equal("device time", dict(device), {p: r["device_self_ns"] for p, r in oracle["regions"].items()
                                        if r["device_self_ns"]})
    equal("work without a launch", one("SELECT count(*) FROM kernels k LEFT JOIN launches l ON "
          "l.process = k.process AND l.corr = k.corr WHERE l.begin IS NOT k.launched"), 0)
equal("regions nest", one("SELECT count(*) FROM regions r JOIN regions p ON p.id = r.parent WHERE "
      "r.begin < p.begin OR r.end > p.end OR r.depth != p.depth + 1 OR r.process != p.process"), 0)
equal("ops nest", one("SELECT count(*) FROM ops o JOIN ops p ON p.id = o.parent WHERE "
      "o.begin < p.begin OR o.end > p.end OR o.depth != p.depth + 1"), 0)
equal("open ops", one("SELECT count(*) FROM ops WHERE end IS NULL"), 0)
if kinds["op_begin"]:
    assert one("SELECT count(*) FROM ops WHERE parent IS NOT NULL") > 0
    equal("kernels are in their operators", one(
        "SELECT count(*) FROM kernels k LEFT JOIN ops o ON o.process = k.process AND o.op = k.op "
        "WHERE k.op IS NOT NULL AND (o.id IS NULL OR k.launched NOT BETWEEN o.begin AND o.end)"), 0)
    assert one("SELECT count(*) FROM kernel WHERE op LIKE 'aten::%'") > 0
if kinds["iteration"]:
    equal("kernels are in their iterations", one(
        "SELECT count(*) FROM kernels k JOIN iterations i ON i.process = k.process AND "
        "i.number = k.iteration WHERE k.launched < i.begin OR k.launched > i.end"), 0)
    equal("iterations without an end", one("SELECT count(*) FROM iterations WHERE end IS NULL"), 0)
if kinds["collective"]:
    equal("tool collectives",
          {(f"rank {rank}", name): [n, ns] for rank, name, n, ns in db.execute(
              "SELECT rank, name, count(dur), sum(dur) FROM collective GROUP BY rank, name")},
          {(r["rank"], r["collective"]): [int(r["calls"]), int(r["total"])]
           for r in table("collectives")})

# Memory.
equal("allocated", one("SELECT ifnull(sum(bytes), 0) FROM allocations"), oracle["alloc_bytes"])
equal("never freed", one("SELECT count(*) FROM allocations WHERE end IS NULL"), 0)

# What the documentation shows.
with open(sys.argv[4], encoding="utf-8") as f:
    queries = re.findall(r"```sql\n(.*?)```", f.read(), re.DOTALL)
answers = [db.execute(q).fetchall() for q in queries]
equal("queries", len(answers), 3)
assert answers[0] and answers[2]
equal("peak", sum(peak for _, _, peak in answers[1]), oracle["peak_bytes"])
