"""torch_compare.py WHAT EVENTS OTHER - compare events of a run (tests/dump) with PyTorch's."""

import collections
import json
import re
import sys

import _trace_oracle as oracle

REGION_BEGIN, REGION_END = 1, 2
MS = 1000000


def window(events):
    """What lies in the region of that name, a millisecond or more from its ends."""
    begin = next(e for e in events if e["kind"] == "region" and e["name"] == "window")
    end = next(
        e
        for e in events
        if e["kind"] == "region"
        and e["sub"] == REGION_END
        and e["depth"] == begin["depth"]
        and e["time"] > begin["time"]
    )
    return [e for e in events if begin["time"] + MS <= e["time"] <= end["time"] - MS]


def ours(name):
    """Profilers' own operators are there or not, as a version has them."""
    return not name.startswith("profiler::")


def names(events, other):
    got = collections.Counter(
        e["name"]
        for e in window(events)
        if e["kind"] == "op_begin" or (e["kind"] == "region" and e["sub"] == REGION_BEGIN)
    )
    wanted = {k: n for k, n in other["names"].items() if ours(k)}
    got = {k: n for k, n in got.items() if ours(k)}
    for k in sorted(set(got) | set(wanted)):
        if got.get(k) != wanted.get(k):
            print("%s: recorded %s, torch.profiler has %s" % (k, got.get(k), wanted.get(k)))
    return len(wanted), sum(wanted.values()), got == wanted


def memory(events, other):
    """torch.profiler sees frees only of what was allocated since it began."""
    got, live = [], set()
    for e in window(events):
        if e["kind"] == "alloc":
            got.append(e["bytes"])
            live.add(e["addr"])
        elif e["kind"] == "free" and e["addr"] in live:
            got.append(-e["bytes"])
            live.remove(e["addr"])
    if got != other["memory"]:
        at = next((i for i, (a, b) in enumerate(zip(got, other["memory"])) if a != b), -1)
        print("recorded %d, torch.profiler has %d; the first that differs is %d" % (
            len(got), len(other["memory"]), at))
    return len(got), sum(1 for n in got if n > 0), got == other["memory"]


def arguments(events, other):
    """torch.profiler has the same types and shapes of arguments, for each operator.

    Newer versions alone report the shapes of lists, and lists and values of scalars.
    """
    def text(inputs):
        inputs = re.sub(r"TensorList\[.*?\]\]", "TensorList", inputs)
        return inputs if has_values else inputs.replace("ScalarList", "-")

    wanted, got = collections.Counter(), collections.Counter()
    has_values = any("Concrete Inputs" in args for _, args in other)
    annotations = {e.get("name") for e in events if e["kind"] == "region"}
    for name, args in other:
        if ours(name) and name not in annotations:
            wanted[name, text(oracle.inputs_text(args)), oracle.scalars_text(args) if has_values else None] += 1
    for e in window(events):
        if e["kind"] == "op_begin" and ours(e["name"]):
            got[e["name"], text(e.get("inputs") or ""), (e.get("scalars") or None) if has_values else None] += 1
    for k in sorted(set(got) | set(wanted), key=str):
        if got[k] != wanted[k]:
            print("%s: recorded %s, torch.profiler has %s" % (k, got[k], wanted[k]))
    return len(wanted), sum(wanted.values()), got == wanted


def values(events, other):
    """Operators with arguments that are known: [name, inputs, scalars, strides, outputs] each."""
    outputs = {e["id"]: e.get("outputs") or "" for e in events if e["kind"] == "op_end"}
    got = [[e["name"]] + [e.get(k) or "" for k in ("inputs", "scalars", "strides")] +
           [outputs[e["id"]]] for e in window(events) if e["kind"] == "op_begin"]
    missing = [w for w in other if w not in got]
    for w in missing:
        print("not recorded: %s\n%s" % (w, "\n".join(str(g) for g in got if g[0] == w[0])))
    return len(other), len(got), not missing


TYPES = {"float": "float32", "double": "float64", "long int": "int64", "long": "int64",
         "unsigned char": "uint8", "bool": "bool", "int": "int32", "c10::BFloat16": "bfloat16"}


def results(events):
    """The text of an operator's results has the types of the tensors recorded as its results."""
    types = {e["id"]: e["dtype"] for e in events if e["kind"] == "tensor"}
    made = collections.defaultdict(list)
    count = 0
    for e in events:
        if e["kind"] == "op_arg" and e["sub"] == 2:
            made[e["op"]].append(types[e["tensor"]])
        elif e["kind"] == "op_end" and "List" not in (e.get("outputs") or ""):
            shown = [t.split("[")[0] for t in (e.get("outputs") or "").split(", ")]
            shown = [TYPES[t] for t in shown if t in TYPES]
            assert shown == made[e["id"]], (e, made[e["id"]])
            count += len(shown)
    return count


def views(events, other):
    """One owner a storage, which all its views have as their base; in place none is made."""
    by_bytes = collections.defaultdict(list)
    for e in events:
        if e["kind"] == "tensor" and str(e["bytes"]) in other:
            by_bytes[str(e["bytes"])].append(e)
    good = True
    count = 0
    for size, wanted in other.items():
        tensors = by_bytes[size]
        owners = [t for t in tensors if not t["base"]]
        found = collections.Counter(t["addr"] for t in tensors if t["base"])
        missing = collections.Counter(wanted["views"]) - found  # there are temporary ones, too
        if len(owners) != 1 or owners[0]["addr"] != wanted["data"]:
            print("%s bytes: owners %s, wanted one at %d" % (size, owners, wanted["data"]))
            good = False
        elif missing:
            print("%s bytes: no views at %s" % (size, sorted(missing)))
            good = False
        elif {t["base"] for t in tensors} != {0, owners[0]["id"]}:
            print("%s bytes: bases %s" % (size, {t["base"] for t in tensors}))
            good = False
        elif len({t["storage"] for t in tensors}) != 1:
            print("%s bytes: more than one storage" % size)
            good = False
        count += len(wanted["views"])
    again = [e for e in window(events) if e["kind"] == "tensor" and str(e["bytes"]) in other]
    if again:
        print("in place: %s" % again[:3])
    return len(other), count, good and not again


def whole(events):
    """Operators nest, ids are unique, arguments are of known tensors and open operators."""
    stacks = collections.defaultdict(list)
    seen, tensors = set(), set()
    for e in events:
        stack = stacks[e["tid"]]
        if e["kind"] == "op_begin":
            assert e["id"] and e["id"] not in seen, e
            seen.add(e["id"])
            stack.append(e["id"])
        elif e["kind"] == "op_end":
            assert stack and stack.pop() == e["id"], e
        elif e["kind"] == "tensor":
            assert e["id"] and e["id"] not in tensors and e["storage"], e
            assert not e["base"] or e["base"] in tensors, e
            tensors.add(e["id"])
        elif e["kind"] == "op_arg":
            assert e["op"] in stack and e["tensor"] in tensors, e


def main():
    what, path, other = sys.argv[1:4]
    with open(path, encoding="latin-1") as f:
        events = [e for e in map(json.loads, f) if "tid" in e]
    with open(other, encoding="utf-8") as f:
        wanted = json.load(f)
    whole(events)
    if any(e["kind"] == "op_arg" for e in events):
        assert results(events) > 20
    judge = {"names": names, "memory": memory, "views": views, "arguments": arguments,
             "values": values}[what]
    kinds, count, good = judge(events, wanted)
    print("%s: %d of %d compared" % (what, count, kinds))
    sys.exit(0 if good and count else 1)


main()
