"""_torch_oracle.py ORACLE REPORT - hold a run of the profile torch against what the tools found."""
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


# Lines: the backward pass is its forward line's; what is in no operator has a row of its own.
lines = rows("python_flame", "lines")
wanted = {k: (v["kernels"], v["ns"], v["backward_ns"]) for k, v in made["lines"].items()
          if v["kernels"]}
same("lines", {f'{r["file"]}:{r["line"]}': (r["kernels"], r["device_self"], r["backward"])
               for r in lines if r["file"] and r["kernels"]}, wanted)
inside = sum(v["ns"] for v in made["lines"].values())
same("outside", [r["device_self"] for r in lines if r["function"] == "(no operator)"],
     [made["kernel_ns"] - inside])
same("all", total(lines, "device_self"), made["kernel_ns"])
same("the outermost", [r["device_total"] for r in lines if r["function"] == "<module>"], [inside])
share = f'{100 * inside / made["kernel_ns"]:.1f}%'
same("the share", [f["what"] for f in tools["python_flame"]["findings"]],
     [f"{share} of device time is attributed to an operator, {share} to a Python line"])

# The flame chart has the same time.
flame = next(c for c in tools["python_flame"]["charts"] if c["name"] == "flame")
same("flame", sum(value for _, value in flame["stacks"]), made["kernel_ns"])
same("backward", sum(value for frames, value in flame["stacks"] if "(backward)" in frames),
     sum(v["backward_ns"] for v in made["lines"].values()))

# Modules: a layer has what is in it, forward and backward.
modules = {r["module"]: r for r in rows("ops", "modules")}
for name, m in made["modules"].items():
    same(name, (modules[name]["ops"], modules[name]["device_total"]), (m["ops"], m["ns"]))
    below = [r for k, r in modules.items() if k == name or k.startswith(name + ".")]
    same(name + ": self", total(below, "device_self"), m["ns"])
same("layers", modules["layers"]["device_total"], sum(m["ns"] for m in made["modules"].values()))
steps = made["kinds"]["iteration"]
same("calls", {modules[name]["calls"] for name in made["modules"]}, {steps})

# Memory: who allocates, the peak, what is left, and the leak.
sites, peak = rows("tensors", "sites"), rows("tensors", "peak")
same("bytes", total(sites, "bytes"), made["alloc_bytes"])
same("left", total(sites, "live_bytes"), made["alloc_bytes"] - made["free_bytes"])
same("the losses", made["alloc_bytes"] - made["free_bytes"], made["loss_bytes"])
same("peaks", total(peak, "peak"), made["peak_bytes"])
same("peaks are held", total(rows("tensors", "peak_held"), "bytes"), made["peak_bytes"])
same("fragmentation", [r["reserved"] - r["peak"] for r in peak], [r["fragmentation"] for r in peak])
for place, line in made["lines"].items():
    name = place.rsplit("/", 1)[1]
    mine = [r for r in sites if f"({name})" in r["line"]]
    same("allocations of " + name, (total(mine, "allocations"), total(mine, "bytes")),
         (line["allocs"], line["alloc_bytes"]))
lives = rows("tensors", "lifetimes")
same("lives", total(lives, "allocations"), made["kinds"]["alloc"] - made["shards"])
same("never freed", [r["bytes"] for r in lives if r["lifetime"] == "never freed"],
     [made["loss_bytes"]])
leaks = [f["what"] for f in tools["tensors"]["findings"] if f["severity"] != "note"]
same("leaks", leaks, ["live tensors of aten::clone grow with every iteration"] *
     made["shards"])
same("what is kept", {r["op"] for r in rows("tensors", "kept")}, {"(not seen)", "aten::clone"})
sys.exit(failures > 0)
