"""filters.py ACCELPROF RUN DATABASE - do filters leave what a search in the whole database finds?"""
import collections
import csv
import io
import re
import sqlite3
import subprocess
import sys

accelprof, run, whole = sys.argv[1:]

# Numbers of rows, and what depends on rows that are not there.
OWN = {"id", "parent", "depth", "scope"}
STATE = {"allocation", "module", "tensor", "graph_node", "link", "device", "object", "site"}
SKIP = {"process", "thread", "scope"}


def iteration_before(found, row, time):
    return max(((r["begin"], r["number"]) for r in found["iteration"]
                if r["process"] == row["process"] and r["begin"] < time), default=(0, None))[1]


def rows_of(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    found = {}
    for view, in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'"):
        if view in SKIP:
            continue
        found[view] = [dict(row) for row in db.execute(f"SELECT * FROM {view}")]
    ranks = dict(db.execute("SELECT number, rank FROM processes"))
    about = dict(db.execute("SELECT key, value FROM about"))
    start = about.get("start") or min(t for t, in db.execute("SELECT created FROM processes"))
    # Where work belongs that has no columns for it: by its launch.
    launches = {(r["process"], r["corr"]): r for r in found["launch"]}
    for view in ("access_sum", "access_batch", "pc_sample"):
        for row in found[view]:
            launch = launches.get((row["process"], row["corr"]), {})
            row["_region"], row["_iteration"] = launch.get("region"), launch.get("iteration")
    for row in found["op_arg"]:
        around = [r for r in found["region"] if r["process"] == row["process"] and
                  r["thread"] == row["thread"] and r["begin"] <= row["begin"] < r["end"]]
        row["_region"] = max(around, key=lambda r: r["depth"])["path"] if around else None
        row["_iteration"] = iteration_before(found, row, row["begin"])
    for row in found["migration"]:
        row["_region"] = None
        # Of the same time, the device's are after the thread's.
        row["_iteration"] = iteration_before(found, row, row["begin"] + 1)
    return found, ranks, start


def key(view, row):
    hide = OWN | ({"end", "dur"} if view in ("iteration", "collective") else set())
    return tuple(str(v) for k, v in row.items() if k not in hide and not k.startswith("_"))


def in_ranges(text, value, unit=lambda t: int(t)):
    for part in text.split(","):
        low, dash, high = part.partition("-")
        low = unit(low) if low else 0
        high = unit(high) if high else None if dash else low
        if value >= low and (high is None or value <= high):
            return True
    return False


def ns(text):
    number, unit = re.fullmatch(r"([0-9.]+)(ns|us|ms|s)", text).groups()
    whole_, _, part = number.partition(".")
    scale = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit]
    return int(whole_) * scale + (int(part) * scale // 10**len(part) if part else 0)


def passes(view, row, filters, ranks, start):
    named = view in ("launch", "access_sum", "access_batch", "access_launch") and row["name"] \
        and (view != "access_launch" or row["what"] != "filtered")
    of_kernel = view in ("kernel", "pc_sample") or named
    name = (row.get("function") if view == "pc_sample" else row.get("name")) or ""
    region = row.get("_region") if "_region" in row else \
        row.get("path") if view == "region" else row.get("region")
    iteration = row.get("_iteration") if "_iteration" in row else \
        row.get("number") if view == "iteration" else row.get("iteration")
    by = collections.defaultdict(list)
    for option, text in filters:
        by[option].append(text)
    for option, texts in by.items():
        done = view not in STATE
        if option == "kernel":
            ok = not of_kernel or any(re.search(t, name) for t in texts)
        elif option == "exclude":
            ok = not of_kernel or not any(re.search(t, name) for t in texts)
        elif option in ("device", "stream"):
            has = option in row and view not in ("module", "device", "object")
            ok = not has or any(in_ranges(t, row[option]) for t in texts)
        elif option == "rank":
            ok = any(in_ranges(t, ranks[row["process"]]) for t in texts)
        elif option == "region":
            ok = not done or (region is not None and any(re.search(t, region) for t in texts))
        elif option == "iteration":
            ok = not done or (iteration is not None and
                              any(in_ranges(t, iteration) for t in texts))
        else:
            ok = not done or any(
                row["begin"] - start >= (ns(t.split("-")[0]) if t.split("-")[0] else 0) and
                (not t.split("-")[1] or row["begin"] - start < ns(t.split("-")[1]))
                for t in texts)
        if not ok:
            return False
    return True


found, ranks, start = rows_of(whole)
begins = sorted(row["begin"] - start for row in found["kernel"])
third, half = begins[len(begins) // 3], begins[len(begins) // 2]
streams = sorted({row["stream"] for row in found["kernel"]})
iterations = sorted({row["number"] for row in found["iteration"]})
middle = iterations[len(iterations) // 2]

cases = [
    [("kernel", "gemm")],
    [("kernel", "^(ampere|sm80)"), ("kernel", "softmax|norm")],
    [("exclude", "gemm|elementwise")],
    [("kernel", "e"), ("exclude", "x")],
    [("device", "0")], [("device", "1-2")], [("device", "0,2")],
    [("stream", str(streams[0]))], [("stream", f"{streams[1]}-")],
    [("rank", "1")], [("rank", "0,2")], [("rank", "-1")],
    [("region", "forward")], [("region", "^step/(data|optimizer)$")], [("region", "load")],
    [("iteration", str(middle))], [("iteration", f"-{middle}")],
    [("iteration", f"{iterations[0]},{middle}-")],
    [("time", f"{third}ns-{half}ns")], [("time", f"-{half}ns")],
    [("time", f"{half // 10**9}.{half % 10**9:09d}s-")],
    [("kernel", "gemm"), ("region", "backward"), ("iteration", f"{middle}-"), ("rank", "0-1"),
     ("device", "-1"), ("exclude", "128x64"), ("time", f"{third}ns-")],
]
for number, filters in enumerate(cases):
    options = [word for option, text in filters for word in (f"--{option}={text}",)]
    path = f"part{number}.db"
    made = subprocess.run([accelprof, "export", run, "--to", "sqlite", "-o", path, *options],
                          stderr=subprocess.PIPE, text=True)
    assert made.returncode == 0, (filters, made.stderr)
    part, _, _ = rows_of(path)
    passed = 0
    for view, rows in found.items():
        wanted = collections.Counter(key(view, row) for row in rows
                                     if passes(view, row, filters, ranks, start))
        got = collections.Counter(key(view, row) for row in part[view])
        if got != wanted:
            print(f"{options}: {view}: {sum(got.values())} rows, wanted {sum(wanted.values())}")
            print("  only got:   ", list((got - wanted))[:2])
            print("  only wanted:", list((wanted - got))[:2])
            sys.exit(1)
        passed += sum(got.values())
    assert 0 < passed < sum(map(len, found.values())), (filters, passed)

    # And a tool sees no other rows.
    report = subprocess.run([accelprof, "report", run, "-t", "kernel_freq", "--format", "csv",
                             "--table", "kernels", *options], capture_output=True, text=True)
    assert report.returncode == 0, (filters, report.stderr)
    times = {row["kernel"]: int(row["total"])
             for row in csv.DictReader(io.StringIO(report.stdout)) if int(row["total"])}
    wanted = collections.Counter()
    for row in part["kernel"]:
        wanted[row["name"]] += row["dur"]
    assert times == dict(wanted), (filters, times, wanted)
