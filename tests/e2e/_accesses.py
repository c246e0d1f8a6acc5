"""Compares the accesses that a run counted with the output of the programs under study.

	_accesses.py kernels DUMP OUT	cl_kernels: by object, by space, by line, by line and object
	_accesses.py objects DUMP OUT	cl_count: "SIZE LOADS STORES BYTES" a line
	_accesses.py launches DUMP	how many launches were counted, sampled, filtered, refused
	_accesses.py why DUMP		why launches were refused, a line a kernel
	_accesses.py hot REPORT		hotness's: "ACCESSES accesses", and a line a kernel left out
	_accesses.py traffic REPORT OUT	object_traffic's, by object, as objects
	_accesses.py strides REPORT	access_pattern's: "LOADS STORES SECTORS STRIDE" a line of source
	_accesses.py shapes DUMP	numbers of shapes, in the order in which they come

DUMP is the output of tests/dump for the run.
"""

import collections
import json
import sys

OBJECT, SITE, SITE_OBJECT = 1, 3, 4
SPACES = {3: "local", 4: "private"}
OTHER = 2**64 - 1


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.startswith("{")]


class Run:
    def __init__(self, path):
        self.events = read(path)
        self.objects = {e["id"]: e["bytes"] for e in self.of("object")}
        self.sites = {e["id"]: e for e in self.of("site")}

    def of(self, kind):
        return [e for e in self.events if e.get("kind") == kind]

    def rows(self, reducer):
        return [e for e in self.of("access_sum") if e["reducer"] == reducer]

    def where(self, key):
        """An object's size, a space's name, or None for what is in no object."""
        return self.objects.get(key) or SPACES.get(key)


def add(sums, key, row):
    have = sums[key]
    for i, name in enumerate(("loads", "stores", "bytes")):
        have[i] += row[name]


def table():
    return collections.defaultdict(lambda: [0, 0, 0])


def same(what, got, wanted):
    got, wanted = dict(got), dict(wanted)
    for key in sorted(set(got) | set(wanted), key=str):
        if got.get(key) != wanted.get(key):
            print(f"{what} {key}: got {got.get(key)}, wanted {wanted.get(key)}")
    return got == wanted and bool(wanted)


def kernels(dump, out):
    run = Run(dump)
    by_object, by_line, by_both = table(), table(), table()
    for row in run.rows(OBJECT):
        add(by_object, (row["name"], run.where(row["key0"])), row)
    for row in run.rows(SITE):
        add(by_line, (row["name"], run.sites[row["key0"]]["line"]), row)
    for row in run.rows(SITE_OBJECT):
        site = run.sites[row["key0"]]
        add(by_both, (row["name"], site["line"], run.where(row["key1"])), row)
    want_object, want_line, want_both = table(), table(), table()
    for row in read(out):
        name = row["kernel"]
        if "object" in row:
            add(want_object, (name, row["object"]), row)
        elif "space" in row:
            # A program's constants lie in no object.
            space = None if row["space"] == "constant" else row["space"]
            add(want_object, (name, space), row)
        elif "line" in row:
            add(want_line, (name, row["line"]), row)
        elif "row" in row:
            target = row.get("of") or (None if row["in"] == "constant" else row["in"])
            add(want_both, (name, row["at"], target), row)
    ok = same("object", by_object, want_object)
    ok = same("line", by_line, want_line) and ok
    return same("line and object", by_both, want_both) and ok


def told_objects(out):
    wanted = {}
    with open(out, encoding="utf-8") as f:
        for line in f:
            size, *counts = map(int, line.split())
            wanted[size] = counts
    return wanted


def objects(dump, out):
    run = Run(dump)
    got = table()
    for row in run.rows(OBJECT):
        add(got, run.where(row["key0"]), row)
    return same("object", got, told_objects(out))


def launches(dump):
    names = ("counted", "sampled", "filtered", "refused")
    count = collections.Counter(e["sub"] for e in Run(dump).of("access_launch"))
    print(" ".join(f"{name} {count[i + 1]}" for i, name in enumerate(names)))
    return True


def why(dump):
    refused = {(e["name"], e["detail"]) for e in Run(dump).of("access_launch") if e["sub"] == 4}
    for name, detail in sorted(refused):
        print(f"{name}: {detail}")
    return True


def table_of(tool, name):
    (found,) = (t for t in tool["tables"] if t["name"] == name)
    names = [c["name"] for c in found["columns"]]
    return [dict(zip(names, row)) for row in found["rows"]]


def traffic(path, out):
    got = table()
    for row in table_of(read_report(path)["tools"][0], "traffic"):
        add(got, row["size"], row)
    return same("object", got, told_objects(out))


def strides(path):
    for row in table_of(read_report(path)["tools"][0], "lines"):
        print(row["loads"], row["stores"], f"{row['sectors_per_request']:g}", row["stride"])
    return True


def shapes(dump):
    print(*dict.fromkeys(e["shape"] for e in Run(dump).of("access_launch") if 1 <= e["sub"] <= 4))
    return True


def hot(path):
    tool = read_report(path)["tools"][0]
    rows = table_of(tool, "objects")
    print(sum((r["loads"] or 0) + (r["stores"] or 0) for r in rows), "accesses")
    for finding in tool["findings"]:
        if "could not be counted" in finding["what"]:
            print("not", finding["where"])
    return True


def split(dump):
    """Bytes read and written are known of all rows, and the same by object and by site."""
    run, written, fine = Run(dump), collections.defaultdict(collections.Counter), True
    for row in run.of("access_sum"):
        if row["reducer"] > 6:
            continue
        written[row["corr"]][row["reducer"]] += row["written"]
        least = row["bytes"] if not row["loads"] else 0
        most = row["bytes"] if row["stores"] else 0
        if row["flags"] != 1 or not least <= row["written"] <= most:
            print("row:", row)
            fine = False
    for corr, by in written.items():
        if len({by[r] for r in (1, 3, 4, 5, 6)}) != 1:
            print("launch", corr, dict(by))
            fine = False
    return fine and any(by[1] for by in written.values())


def read_report(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


if __name__ == "__main__":
    ways = {f.__name__: f for f in (kernels, objects, launches, why, hot, traffic, strides, shapes,
                                   split)}
    sys.exit(not ways[sys.argv[1]](*sys.argv[2:]))
