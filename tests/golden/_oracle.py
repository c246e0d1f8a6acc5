"""_oracle.py ORACLE REPORT - hold what accelprof-gen says it made against what the tools found."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    made = json.load(f)
with open(sys.argv[2], encoding="utf-8") as f:
    tools = {t["name"]: t for t in json.load(f)["tools"]}
failures = 0


def rows(tool, table):
    """A table's rows, each a dictionary."""
    t = next(t for t in tools[tool]["tables"] if t["name"] == table)
    return [dict(zip([c["name"] for c in t["columns"]], row)) for row in t["rows"]]


def same(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"FAILED: {what}: got {got}, wanted {wanted}")


def total(rows, column):
    return sum(r[column] for r in rows)


# Kernels: by name, and the shapes add up to them.
kernels, shapes = rows("kernel_freq", "kernels"), rows("kernel_freq", "kernels_by_shape")
same("kernels", {r["kernel"]: (r["launches"], r["total"]) for r in kernels},
     {name: (k["count"], k["ns"]) for name, k in made["kernels"].items()})
same("kernel time", total(kernels, "total"), made["kernel_ns"])
same("order", [r["total"] for r in kernels], sorted((r["total"] for r in kernels), reverse=True))
same("share", not kernels or abs(total(kernels, "share") - 100) < 1e-6, True)
for r in kernels:
    mine = [s for s in shapes if s["kernel"] == r["kernel"]]
    same("shapes of " + r["kernel"],
         (total(mine, "launches"), total(mine, "total"), min(s["min"] for s in mine),
          max(s["max"] for s in mine)), (r["launches"], r["total"], r["min"], r["max"]))
    same("mean", r["mean"], r["total"] // r["launches"])
    order = [r["min"], r["p50"], r["p95"], r["p99"], r["max"]]
    same("percentiles of " + r["kernel"], order, sorted(order))

# Copies: by direction, and the sizes add up to them.
copies, sizes = rows("copies", "copies"), rows("copies", "copy_sizes")
same("copies", {r["direction"]: (r["count"], r["bytes"], r["total"]) for r in copies},
     {d: (c["count"], c["bytes"], c["ns"]) for d, c in made["copies"].items()})
for r in copies:
    mine = [s for s in sizes if s["direction"] == r["direction"]]
    for column in "count", "bytes", "total":
        same("sizes of " + r["direction"], total(mine, column), r[column])
    same("classes", all(s["size"] * s["count"] <= s["bytes"] < 2 * s["size"] * s["count"]
                        for s in mine), True)

# Memory: the peak is exact, and so is what it is made of.
# The generator has one level, which is what is held.
places, live = rows("memory", "memory"), rows("memory", "live")
same("levels", {p["level"] for p in places} <= {"held"}, True)
same("bytes allocated", total(places, "bytes"), made["alloc_bytes"])
same("left", total(places, "left"), made["alloc_bytes"] - made["free_bytes"])
same("peaks", total(places, "peak"), made["peak_bytes"])
same("never freed", total(rows("memory", "never_freed"), "bytes"), total(places, "left"))
same("sites", total(rows("memory", "sites"), "bytes"), made["alloc_bytes"])
same("rows of live", len(live) <= max(200, len(places)), True)
for p in places:
    key = p["memory"], p["process"]
    at_peak = [r for r in rows("memory", "peak") if (r["memory"], r["process"]) == key]
    in_time = [r for r in live if (r["memory"], r["process"]) == key]
    same("live at the peak", total(at_peak, "bytes"), p["peak"])
    same("the peak in time", max(r["peak"] for r in in_time), p["peak"])
    same("the end in time", in_time[-1]["live"], p["left"])

# Regions: host and device time.
same("regions", {r["region"]: (r["calls"], r["inclusive"], r["exclusive"], r["device"],
                               r["device_self"]) for r in rows("regions", "regions")},
     {path: (r["calls"], r["ns"], r["exclusive_ns"], r["device_ns"], r["device_self_ns"])
      for path, r in made["regions"].items()})
sys.exit(failures > 0)
