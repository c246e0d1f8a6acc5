"""import_traces.py ACCELPROF TRACES - is every figure of real traces there after importing?

The figures are those of the table in TRACES/README.md, and those of the oracle, which agree.
"""
import decimal
import glob
import json
import os
import sqlite3
import subprocess
import sys

import _trace_oracle as oracle

TOOLS = "kernel_freq,copies,ops,collectives,regions"
SMALL = 16  # bytes of a shard for a launch, at most, if only launches and kernels are imported

accelprof, folder = sys.argv[1:]
wrong = 0


def equal(what, got, wanted):
    global wrong
    if got != wanted:
        wrong += 1
        print(f"FAILED: {what}: got {got}, wanted {wanted}")


def same_rows(what, got, wanted):
    """Compares dictionaries by key; prints only the rows that differ."""
    global wrong
    for key in sorted(set(got) | set(wanted), key=str):
        if got.get(key) != wanted.get(key):
            wrong += 1
            print(f"FAILED: {what}: {key}: got {got.get(key)}, wanted {wanted.get(key)}")


def run(*args):
    done = subprocess.run([accelprof, *args], capture_output=True, text=True, timeout=50)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(args)}: status {done.returncode}, {done.stderr}")


def report(source, name, tools=TOOLS):
    """{TOOL.TABLE: [{column: cell}]}"""
    run("report", source, "-t", tools, "--format", "json", "-o", name)
    with open(name, encoding="utf-8") as f:
        parts = json.load(f)["tools"]
    for tool in parts:
        equal(f"{name}: {tool['name']} failed", tool.get("error"), None)
    return {f"{tool['name']}.{table['name']}":
            [dict(zip([c["name"] for c in table["columns"]], r)) for r in table["rows"]]
            for tool in parts for table in tool.get("tables", [])}


def total(rows, column):
    return sum(r[column] for r in rows)


def database(source, name):
    run("export", source, "--to", "sqlite", "-o", name)
    db = sqlite3.connect(f"file:{name}?mode=ro", uri=True)
    equal(f"{name}: foreign keys", db.execute("PRAGMA foreign_key_check").fetchall(), [])
    equal(f"{name}: nothing is dropped, unknown or late", db.execute(
        "SELECT sum(value) FROM about WHERE key IN ('dropped', 'unknown', 'late')").fetchone(),
        (0,))
    return db


def one(db, sql):
    return db.execute(sql).fetchone()[0]


def account(run_):
    with open(f"{run_}/run.json", encoding="utf-8") as f:
        return json.load(f)["import"]


def published():
    """The table of the README: {file: {column: cell}}, without what it leaves open."""
    rows = {}
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as f:
        lines = [[c.strip() for c in line.strip().strip("|").split("|")]
                 for line in f if line.startswith("|")]
    for cells in lines[2:]:
        rows[cells[0]] = {c: v for c, v in zip(lines[0][1:], cells[1:]) if v != "–"}
    return rows


def us(ns):
    return f"{(decimal.Decimal(ns) / 1000).normalize():f}"


def with_bytes(count, size):
    return f"{count} ({size})" if count else "0"


def in_database(db, counts):
    """The README's row, from the database; what it cannot distinguish, from run.json."""
    calls = one(db, "SELECT count(*) FROM api")
    driver = counts.get("cuda_driver", 0) + counts.get("hip_driver", 0)
    return {
        "kernels": str(one(db, "SELECT count(*) FROM kernels")),
        "kernel time": us(one(db, "SELECT sum(dur) FROM kernel")),
        "names": str(one(db, "SELECT count(DISTINCT name) FROM kernels")),
        "cpu ops": str(one(db, "SELECT count(*) FROM ops")),
        "copies (bytes)": with_bytes(one(db, "SELECT count(*) FROM copies"),
                                     one(db, "SELECT sum(bytes) FROM copies")),
        "sets": str(one(db, "SELECT count(*) FROM sets")),
        "runtime": str(calls - driver),
        "driver": str(driver),
        "annotations": str(one(db, "SELECT count(*) FROM regions")),
        "python": str(counts.get("python_function", 0)),
        "collectives": str(one(db, "SELECT count(*) FROM collectives")),
    }


def in_tools(tables):
    """The part of the README's row that tools report."""
    copies = [r for r in tables.get("copies.copies", []) if r["direction"] != "set"]
    sets = [r for r in tables.get("copies.copies", []) if r["direction"] == "set"]
    kernels = tables["kernel_freq.kernels"]
    return {
        "kernels": str(total(kernels, "launches")),
        "kernel time": us(total(kernels, "total")),
        "names": str(len(kernels)),
        "cpu ops": str(total(tables.get("ops.ops", []), "calls")),
        "copies (bytes)": with_bytes(total(copies, "count"), total(copies, "bytes")),
        "sets": str(total(sets, "count")),
        "annotations": str(total(tables.get("regions.regions", []), "calls")),
        "collectives": str(total(tables.get("collectives.collectives", []), "calls")),
    }


def operators(rows, key):
    return {key(r): {c: r[c] for c in oracle.COLUMNS} for r in rows}


def check_operators(name, tables, *found):
    """The operators of all files together are those of the oracle, in every column."""
    for table, key in (("ops", lambda r: r["op"]),
                       ("ops_shapes", lambda r: (r["op"], r["inputs"]))):
        wanted = {}
        for rows in (f[table] for f in found):
            for k, r in rows.items():
                sums = wanted.setdefault(k, dict.fromkeys(oracle.COLUMNS, 0))
                for c in oracle.COLUMNS:
                    sums[c] += r[c]
        got = operators(tables.get("ops." + table, []), key)
        if table == "ops_shapes" and not any(k[1] for k in wanted):
            wanted = {}
        same_rows(f"{name}: {table}", got, wanted)
        equal(f"{name}: rows of {table}", len(tables.get("ops." + table, [])), len(wanted))


def check(name, published_row):
    path = os.path.join(folder, name + ".json.gz")
    found = oracle.figures(path)
    row = oracle.row(found)
    same_rows(f"{name}: the oracle and the README", {k: row[k] for k in published_row},
              published_row)
    run("import", path, "-o", name)
    parts = account(name)
    equal(f"{name}: files of run.json", [(a["format"], a["damaged"], a["unknown"]) for a in parts],
          [(found["format"], 0, {})])
    counts = parts[0]["counts"]
    same_rows(f"{name}: run.json's counts", {k: counts.get(k) for k in found["complete"]},
              found["complete"])
    db = database(name, name + ".db")
    same_rows(f"{name}: database", in_database(db, counts), row)
    same_rows(f"{name}: kernels", {n: [c, ns] for n, c, ns in db.execute(
        "SELECT name, count(*), sum(dur) FROM kernel GROUP BY name")}, found["kernels"])
    equal(f"{name}: kernels' times", db.execute(
        "SELECT begin, dur FROM kernel ORDER BY 1, 2").fetchall(),
        [(begin + found["base"], dur) for begin, dur in found["spans"]])
    same_rows(f"{name}: copies", {d: [c, b, ns] for d, c, b, ns in db.execute(
        "SELECT direction, count(*), sum(bytes), sum(dur) FROM copy GROUP BY direction")},
        found["copies"])
    same_rows(f"{name}: sets", {"set": [c, b, ns] for c, b, ns in db.execute(
        "SELECT count(*), sum(bytes), sum(dur) FROM fill HAVING count(*)")}, found["sets"])
    same_rows(f"{name}: calls", {n: [c] for n, c in db.execute(
        "SELECT name, count(*) FROM call GROUP BY name")}, {**found["runtime"], **found["driver"]})
    same_rows(f"{name}: annotations", {p: [c, ns] for p, c, ns in db.execute(
        "SELECT path, count(*), sum(dur) FROM region GROUP BY path")}, found["annotations"])
    same_rows(f"{name}: arguments", {tuple(row): [c] for *row, c in db.execute(
        "SELECT name, inputs, scalars, strides, count(*) FROM op GROUP BY 1, 2, 3, 4")},
        found["args"])
    same_rows(f"{name}: memory of copies", {tuple(row): [c] for *row, c in db.execute(
        "SELECT src_memory, dst_memory, count(*) FROM copy GROUP BY 1, 2")}, found["memories"])
    equal(f"{name}: waits", db.execute("SELECT what, begin, dur, corr, thread FROM sync "
          "ORDER BY 1, 2").fetchall(), [(what, begin + found["base"], *rest)
                                        for what, begin, *rest in found["waits"]])
    equal(f"{name}: work with its launch", one(db, "SELECT sum(n) FROM ("
          "SELECT count(*) AS n FROM kernels WHERE launched IS NOT NULL UNION ALL "
          "SELECT count(*) FROM copies WHERE launched IS NOT NULL UNION ALL "
          "SELECT count(*) FROM sets WHERE launched IS NOT NULL)"), found["launched"])
    equal(f"{name}: operators nest", one(db,
          "SELECT count(*) FROM ops o JOIN ops p ON p.id = o.parent WHERE o.begin < p.begin OR "
          "o.end > p.end OR o.end IS NULL OR o.depth != p.depth + 1"), 0)
    equal(f"{name}: rank", db.execute("SELECT rank FROM process").fetchall(), [(found["rank"],)])
    tables = report(name, name + ".report.json")
    same_rows(f"{name}: tools", in_tools(tables), {k: row[k] for k in in_tools(tables)})
    check_operators(name, tables, found)
    same_rows(f"{name}: report without importing", report(path, name + ".direct.json"), tables)
    return found


def check_ranks(paths, found):
    """Several files are one run."""
    run("import", *paths, "-o", "ranks")
    db = database("ranks", "ranks.db")
    equal("ranks", db.execute("SELECT rank FROM process ORDER BY number").fetchall(),
          [(f["rank"],) for f in found])
    equal("ranks: collectives of each", db.execute(
        "SELECT p.rank, count(*) FROM collectives c JOIN processes p ON p.number = c.process "
        "GROUP BY 1 ORDER BY 1").fetchall(), [(f["rank"], f["collectives"]) for f in found])
    tables = report("ranks", "ranks.json")
    equal("ranks: collectives' time", total(tables["collectives.collectives"], "total"),
          sum(f["collective_ns"] for f in found))
    same_rows("ranks: which collectives", {
        (r["rank"], r["collective"], r["dtype"], r["bytes"]): [r["calls"], r["total"]]
        for r in tables["collectives.collectives"]},
        {(f"rank {f['rank']}", *k): row for f in found for k, row in f["annotated"].items()})
    same_rows("ranks: exposed", {
        (r["rank"], r["device"]): (r["calls"], r["communication"], r["exposed"])
        for r in tables["collectives.exposed"]},
        {(f"rank {f['rank']}", d): row for f in found for d, row in f["exposed"].items()})
    check_operators("ranks", tables, *found)


def check_small(name):
    """Launches and kernels alone take few bytes."""
    global wrong
    run("import", "--kinds", "launch,kernel", "--no-stacks", os.path.join(folder, name + ".json.gz"), "-o",
        name + ".small")
    db = database(name + ".small", name + ".small.db")
    launches = one(db, "SELECT count(*) FROM launches")
    kernels = one(db, "SELECT count(*) FROM kernels")
    equal(f"{name}: other kinds", [one(db, f"SELECT count(*) FROM {t}")
                                   for t in ("api", "ops", "regions", "copies")], [0] * 4)
    size = sum(map(os.path.getsize, glob.glob(f"{name}.small/shards/*")))
    each = size / (launches or kernels)
    print(f"{name}: {size} bytes of {launches} launches and {kernels} kernels: {each:.2f} each")
    if each > SMALL:
        wrong += 1
        print(f"FAILED: {name}: more than {SMALL} bytes a launch")


rows = published()
if not rows:
    sys.exit(f"no table in {folder}/README.md")
missing = [n for n in rows if not os.path.exists(os.path.join(folder, n + ".json.gz"))]
equal("files that the README lists and that are not there", missing, [])
all_found = {n: check(n, r) for n, r in rows.items() if n not in missing}
ranked = [n for n in all_found if "2rank" in n]
check_ranks([os.path.join(folder, n + ".json.gz") for n in ranked], [all_found[n] for n in ranked])
for n in all_found:
    if "qwen" in n or "mi350" in n:
        check_small(n)
print(f"{len(all_found)} traces, {wrong} failures")
sys.exit(wrong > 0)
