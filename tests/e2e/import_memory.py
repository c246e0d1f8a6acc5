"""import_memory.py ACCELPROF FILE... - does memory of Kineto traces match their own totals?

After every record of memory the bytes that are live are the trace's "Total Allocated", and so is
the peak of the tools; what is reserved at the peak is its "Total Reserved" then.
"""
import collections
import json
import os
import sqlite3
import subprocess
import sys

import _trace_oracle as oracle

HOST = 2**32 - 1
Record = collections.namedtuple("Record", "time bytes total reserved")
accelprof, *paths = sys.argv[1:]
wrong = 0


def equal(what, got, wanted):
    global wrong
    if got != wanted:
        wrong += 1
        print(f"FAILED: {what}: got {got}, wanted {wanted}")


def run(*args):
    done = subprocess.run([accelprof, *args], capture_output=True, text=True, timeout=50)
    equal(f"status of {' '.join(args)}, which prints {done.stderr}", done.returncode, 0)


def records(path):
    """Of each device, in order of time, those that have totals; and when the trace begins."""
    trace = oracle.load(path)
    if not isinstance(trace, dict) or "traceEvents" not in trace:
        return {}
    base = int(trace.get("baseTimeNanoseconds", 0))
    devices = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        args = e.get("args", {})
        if e.get("name") != "[memory]" or "Total Allocated" not in args:
            continue
        device = args["Device Id"] if args["Device Type"] else HOST
        devices[device].append(Record(base + oracle.exact(e["ts"]), args["Bytes"],
                                      args["Total Allocated"], args["Total Reserved"]))
    return {d: sorted(r, key=lambda x: x.time) for d, r in devices.items()}


def peak_of(rows):
    """Bytes, and what was reserved then, or None where that was before the first record."""
    most = max(rows, key=lambda r: r.total)
    before = rows[0].total - rows[0].bytes
    return (most.total, most.reserved) if most.total >= before else (before, None)


def tables(name):
    run("report", name, "-t", "memory,tensors", "--format", "json", "-o", name + ".report.json")
    with open(name + ".report.json", encoding="utf-8") as f:
        tools = json.load(f)["tools"]
    return {f"{tool['name']}.{table['name']}":
            [dict(zip([c["name"] for c in table["columns"]], r)) for r in table["rows"]]
            for tool in tools for table in tool["tables"]}


def check_tools(name, device, rows, found):
    where = "host" if device == HOST else f"device {device}"
    peak, reserved = peak_of(rows)
    # What is of one level only is called held.
    levels = {r["level"]: r for r in found["memory.memory"] if r["memory"] == where}
    equal(f"{name}: {where}: peak of memory", levels.get("allocated", levels["held"])["peak"], peak)
    (row,) = (r for r in found["tensors.peak"] if r["memory"] == where)
    equal(f"{name}: {where}: peak of tensors", row["peak"], peak)
    equal(f"{name}: {where}: left", row["live_at_end"], rows[-1].total)
    equal(f"{name}: {where}: reserved", row["reserved"], reserved or None)
    equal(f"{name}: {where}: fragmentation", row["fragmentation"],
          reserved - peak if reserved else None)


def check_live(name, device, rows, db):
    changes = db.execute("SELECT begin, bytes FROM allocation WHERE device = :d UNION ALL "
                         "SELECT end, -bytes FROM allocation WHERE device = :d AND end IS NOT NULL "
                         "ORDER BY 1", {"d": device}).fetchall()
    live, at = 0, 0
    for row in rows:
        while at < len(changes) and changes[at][0] <= row.time:
            live += changes[at][1]
            at += 1
        equal(f"{name}: device {device}: live at {row.time}", live, row.total)


def check(path):
    devices = records(path)
    if not devices:
        return False
    name = os.path.basename(path)
    run("import", path, "-o", name)
    run("export", name, "--to", "sqlite", "-o", name + ".db")
    db = sqlite3.connect(f"file:{name}.db?mode=ro", uri=True)
    found = tables(name)
    for device, rows in devices.items():
        check_tools(name, device, rows, found)
        check_live(name, device, rows, db)
    return True


checked = sum(check(path) for path in paths)
print(f"{checked} traces with records of memory, {wrong} failures")
sys.exit(wrong > 0 or not checked)
