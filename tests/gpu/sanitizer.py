"""sanitizer.py - hold what a run counted of CUDA's memory accesses against what was to be counted.

sanitizer.py forms DATABASE FILE          every row, of every kernel in FILE, exactly
sanitizer.py some DATABASE FILE [LOST]    by object alone, and objects alone: memory that has none
                                          is counted only where a tool asks where accesses are
                                          made; the counts of LOST launches were dropped
sanitizer.py sampled DATABASE FILE REPORT N
                                          of access_exact repeat N: 3 launches of each shape are
                                          counted, and hotness has them scaled
sanitizer.py same DATABASE DATABASE       two runs of a program have the same rows
sanitizer.py raw DATABASE RUN             rows are those of the raw accesses that RUN stored
sanitizer.py barriers DATABASE FILE       of barrier_exact, all arrivals at barriers, exactly

DATABASE is what accelprof export makes, FILE what access_exact,
access_ways and barrier_exact write.
"""
import bisect
import collections
import ctypes
import functools
import json
import os
import sqlite3
import struct
import sys

OBJECT, PAGE, SITE, SITE_OBJECT, COALESCE, DIVERGE = range(1, 7)
BARRIER, BARRIER_KIND = 10, 4
OUTSIDE, VARIABLE, FOREIGN = -1, -2, -6  # targets in FILE; the numbers between them are spaces
SPACES = {-3: 3, -4: 4, -5: 5}
FIRST, OTHER, PAGE_SIZE = 16, 2**64 - 1, 4096
SAMPLED = 3
bad = 0


def wrong(*words):
    global bad
    print(*words)
    bad += 1


def equal(what, got, wanted):
    if got != wanted:
        wrong(f"{what}: counted {got}, but it was {wanted}")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def unsigned(n):
    return n & OTHER


def total(rows):
    return [sum(column) for column in zip(*rows)] or [0, 0, 0, 0]


class Run:
    """What a database has. Rows are by (kernel, reducer): (key0, key1, launch, four sums)."""

    def __init__(self, path, dropped=0):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        about = dict(self.ask("SELECT key, value FROM about"))
        for key in "dropped", "late", "unknown", "damaged_bytes":
            equal(key, about.get(key, 0), dropped if key == "dropped" else 0)
        self.objects = {i: (unsigned(a), b, t) for i, a, b, t in self.ask(
            "SELECT object, addr, bytes, begin FROM object ORDER BY object")}
        self.rows = collections.defaultdict(list)
        for name, reducer, key0, key1, corr, *sums in self.ask(
                "SELECT name, reducer, key0, key1, corr, loads, stores, bytes, extra "
                "FROM access_sum"):
            self.rows[name, reducer].append((unsigned(key0), unsigned(key1), corr, sums))
        # Of one kernel's: where it is in its function, or in one that a kernel calls.
        self.sites = {i: (function or "", offset or "") for i, function, offset in self.ask(
            "SELECT site, function, callee FROM site")}
        self.launches = collections.defaultdict(collections.Counter)
        for name, what, n in self.ask("SELECT name, what, count(*) FROM access_launch "
                                      "GROUP BY name, what"):
            self.launches[name][what] += n

    def ask(self, sql):
        return self.db.execute(sql).fetchall()

    def by_key(self, kernel, reducer):
        found = collections.defaultdict(lambda: [0, 0, 0, 0])
        for key0, _, _, sums in self.rows[kernel, reducer]:
            found[key0] = [a + b for a, b in zip(found[key0], sums)]
        return found

    def sums(self, kernel, reducer):
        return total([row[3] for row in self.rows[kernel, reducer]])

    def kernels(self):
        return sorted({name for name, _ in self.rows if name})


# -- Closed forms --

class Targets:
    """Objects of the program's allocations. An address that was allocated again is another one."""

    def __init__(self, run, printed):
        self.variable, self.objects, self.run = printed["variable"], [], run
        seen = collections.Counter()
        for addr, size in printed["allocations"]:
            same = [i for i, (a, b, _) in run.objects.items() if (a, b) == (addr, size)]
            number = seen[addr, size]
            seen[addr, size] += 1
            self.objects.append(same[number] if number < len(same) else None)
            if number >= len(same):
                wrong(f"allocation {len(self.objects) - 1}, {addr:#x}, {size} bytes: no object "
                      f"({len(same)} with this address and size)")

    def keys(self, target, found):
        """Those of the rows that an entry of FILE is about."""
        if target >= 0:
            return {self.objects[target]}
        if target == OUTSIDE:
            return {0}
        if target == VARIABLE:  # the profiler may or may not know it
            return {0} | {k for k in found if k in self.run.objects and
                          0 <= self.variable - self.run.objects[k][0] < self.run.objects[k][1]}
        if target == FOREIGN:  # CUDA may or may not report its own allocations
            return {0} | {k for k in found if k in self.run.objects and k not in self.objects}
        return {SPACES[target]}


def by_object(run, printed, targets, kernel, spaces=True):
    found = run.by_key(kernel, OBJECT)
    known = set() if spaces else set(SPACES.values())
    for name, target, sums, also in printed["rows"]:
        if name != kernel or (target in SPACES and not spaces):
            continue
        keys = targets.keys(target, found)
        known |= keys
        got = total([found[k] for k in keys if k in found])
        if sums is None:
            print(f"{kernel}, target {target}: {got}")
            if not any(got):
                wrong(f"{kernel}, target {target}: nothing was counted, but it was something")
            continue
        both = [a + b for a, b in zip(sums, also)]
        if got not in (sums, both):
            wrong(f"{kernel}, target {target}: counted {got}, but it was {sums}" +
                  (f" or {both}" if sums != both else ""))
        elif sums != both:
            print(f"{kernel}, target {target}: {got}, of {sums} or {both}")
    for key, sums in found.items():
        if key not in known and any(sums):
            wrong(f"{kernel}: counted {sums} for object {key}, {run.objects.get(key)}, "
                  "which it does not access")


def by_page(run, printed, kernel):
    wanted = {(begin + step * i) // PAGE_SIZE * PAGE_SIZE for name, begin, step, count
              in printed["pages"] if name == kernel for i in range(count)}
    got = run.by_key(kernel, PAGE)
    if wanted and set(got) != wanted:
        wrong(f"{kernel}: {len(got)} pages, but it was {len(wanted)}: too many "
              f"{sorted(set(got) - wanted)[:5]}, too few {sorted(wanted - set(got))[:5]}")
    inside = total([s for k, s in run.by_key(kernel, OBJECT).items() if k == 0 or k >= FIRST])
    equal(f"{kernel}: loads, stores, bytes by page", total(list(got.values()))[:3], inside[:3])


def by_site(run, kernel):
    wanted = run.sums(kernel, OBJECT)
    for reducer in SITE, SITE_OBJECT:
        if run.rows[kernel, reducer]:
            equal(f"{kernel}: reducer {reducer}, all sites", run.sums(kernel, reducer), wanted)


def by_request(run, printed, kernel):
    for name, sums, active in printed["requests"]:
        if name != kernel:
            continue
        loads, stores, _, sectors = run.sums(kernel, COALESCE)
        equal(f"{kernel}: requests that load, that store, sectors", [loads, stores, sectors], sums)
        got = collections.defaultdict(lambda: [0, 0])
        for _, threads, _, row in run.rows[kernel, DIVERGE]:
            got[str(threads)] = [a + b for a, b in zip(got[str(threads)], row)]
        equal(f"{kernel}: requests by active threads", dict(got), active)


def forms(run, printed):
    targets = Targets(run, printed)
    kernels = sorted({row[0] for row in printed["rows"]})
    for kernel in kernels:
        counted = run.launches[kernel]["counted"]
        equal(f"{kernel}: launches", dict(run.launches[kernel]),
              {"counted": counted, "ended": counted})
        by_object(run, printed, targets, kernel)
        by_page(run, printed, kernel)
        by_site(run, kernel)
        by_request(run, printed, kernel)
    if (None, OBJECT) in run.rows:
        wrong("there are rows of no kernel")
    full = [row for rows in run.rows.values() for row in rows if row[0] == OTHER]
    equal("rows of what tables had no room for", full, [])
    print(f"{len(kernels)} kernels, {len(printed['rows'])} rows by object, "
          f"{sum(map(len, run.rows.values()))} rows in all")


def some(run, printed):
    targets = Targets(run, printed)
    if not printed["rows"]:
        wrong("nothing was to be counted")
    for kernel in sorted({row[0] for row in printed["rows"]}):
        by_object(run, printed, targets, kernel, spaces=False)
        print(f"{kernel}: {dict(run.launches[kernel])}")


# -- Barriers --

def barriers(run, printed):
    wanted = collections.defaultdict(dict)
    for kernel, number, warps, threads, every in printed["barriers"]:
        wanted[kernel][number] = [warps, threads, 0, every]
    kinds = {site: flags & 255 for site, flags in run.ask("SELECT site, flags FROM site")}
    for kernel in sorted(set(wanted) | {k for k, r in run.rows if r == BARRIER}):
        got = collections.defaultdict(lambda: [0, 0, 0, 0])
        for site, number, _, row in run.rows[kernel, BARRIER]:
            got[number] = [a + b for a, b in zip(got[number], row)]
            equal(f"{kernel}, site {site}: its kind", kinds.get(site), BARRIER_KIND)
        equal(f"{kernel}: warps, threads, none, of threads by barrier", dict(got), wanted[kernel])
    others = {key0 for (_, r), rows in run.rows.items() if SITE <= r <= DIVERGE
              for key0, _, _, _ in rows}
    equal("barriers that access memory", [s for s in others if kinds.get(s) == BARRIER_KIND], [])
    print(f"{len(wanted)} kernels, {sum(map(len, wanted.values()))} barriers")


# -- Sampling --

def scaled(sums, part, whole):
    return [x * whole // part for x in sums]


def sampled(run, printed, report, times):
    equal("launches", dict(run.launches["k_good"]),
          {"counted": 2 * SAMPLED, "ended": 2 * SAMPLED, "sampled": 2 * (times - SAMPLED)})
    for row in printed["rows"]:
        row[2] = scaled(row[2], times, SAMPLED)
    some(run, printed)
    tool = next(t for t in report["tools"] if t["name"] == "hotness")
    table = next(t for t in tool["tables"] if t["name"] == "objects")
    at = {c["name"]: i for i, c in enumerate(table["columns"])}
    for _, target, sums, _ in printed["rows"]:
        size, wanted = printed["allocations"][target][1], scaled(sums, SAMPLED, times)[:3]
        got = [[r[at[c]] for c in ("loads", "stores", "bytes")] for r in table["rows"]
               if r[at["size"]] == size]
        if wanted not in got:
            wrong(f"hotness: {wanted} is not among {got}")
    notes = [f["what"] for f in tool["findings"] if f["what"].startswith("counted ")]
    equal("the note", notes, [f"counted {2 * SAMPLED} of {2 * times} launches; numbers are scaled "
                             "to all launches, by kernel and shape"])


# -- Two runs --

def anyone(run, key):
    """An object without its number and address: its size."""
    return ("object", run.objects[key][1]) if key in run.objects else ("target", key)


def page_of(ranges, page):
    """The object that the page is in, as a whole: its size, and which page. None: others may be in
    it as well, and which they are differs from run to run."""
    at = bisect.bisect(ranges, (page, OTHER))
    for addr, size in ranges[max(at - 1, 0):at]:
        if addr <= page and page + PAGE_SIZE <= addr + size:
            return size, (page - addr // PAGE_SIZE * PAGE_SIZE) // PAGE_SIZE
    return None


def site_offsets(run, keys):
    """Sites without their numbers, which go by who came first: a kernel's by their offsets. Of
    functions that it calls the offset is not known, and their order is what stays."""
    offsets = {}
    for key in keys:
        function, offset = run.sites.get(key & 2**32 - 1) or ("", "")
        offsets[key] = (function, int(offset, 16)) if offset.startswith("+0x") else None
    others = [k for k, p in offsets.items() if p is None]
    others.sort(key=lambda k: (run.sites.get(k & 2**32 - 1, ("", ""))[1].rjust(32), k))
    return {**offsets, **{k: ("", n) for n, k in enumerate(others)}}


def normal(run, with_pages, with_spaces):
    """Rows that do not depend on addresses and numbers."""
    found = collections.Counter()
    spaces = set() if with_spaces else set(SPACES.values())
    ranges = sorted({(addr, size) for addr, size, _ in run.objects.values()})
    edges = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (kernel, reducer), rows in run.rows.items():
        sites = site_offsets(run, {row[0] for row in rows})
        for key0, key1, _, sums in rows:
            if reducer == OBJECT:
                if key0 in spaces:
                    continue
                key = anyone(run, key0)
            elif reducer == PAGE:
                if not with_pages:
                    continue
                key = page_of(ranges, key0)
                if not key:  # all of a kernel together
                    edges[kernel] = [a + b for a, b in zip(edges[kernel], sums)]
                    continue
            elif reducer in (SITE, COALESCE, DIVERGE):
                key = sites[key0], key1
            elif reducer == SITE_OBJECT:
                key = sites[key0], anyone(run, key1)
            else:
                continue  # times, or what no access is of
            found[kernel, reducer, key, tuple(sums)] += 1
    found.update((kernel, PAGE, "edges", tuple(sums)) for kernel, sums in edges.items())
    return found


def same(a, b):
    offsets = [collections.Counter((addr % PAGE_SIZE, size) for addr, size, _
                                   in run.objects.values()) for run in (a, b)]
    pages = offsets[0] == offsets[1]
    if not pages:
        print("objects lie otherwise in their pages: rows by page are not compared")
    # Without them one of the two may not have looked at memory that has no objects.
    sites = all(any(reducer == SITE for _, reducer in run.rows) for run in (a, b))
    x, y = normal(a, pages, sites), normal(b, pages, sites)
    if x != y or not x:
        wrong(f"rows differ: {len(x)} and {len(y)} different ones; only in the first "
              f"{list((x - y).items())[:5]}, only in the second {list((y - x).items())[:5]}")
    print(f"{sum((x & y).values())} rows are the same")


# -- Accesses one by one: docs/tools/mem_trace.md has the format --

@functools.cache
def zstd():
    """The library itself, so that nothing need be installed for Python."""
    try:
        lib = ctypes.CDLL("libzstd.so.1")
    except OSError as why:
        sys.exit(f"accesses cannot be read: {why}: install libzstd (Debian's libzstd1)")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
    lib.ZSTD_isError.argtypes = [ctypes.c_size_t]
    lib.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
    lib.ZSTD_getErrorName.restype = ctypes.c_char_p
    return lib


def unzstd(data, size):
    lib, to = zstd(), ctypes.create_string_buffer(size)
    got = lib.ZSTD_decompress(to, size, data, len(data))
    if lib.ZSTD_isError(got):
        sys.exit(f"zstd: {lib.ZSTD_getErrorName(got).decode()}")
    if got != size:
        sys.exit(f"zstd: {got} bytes, but the head has {size}")
    return to.raw


def blocks(path):
    with open(path, "rb") as f:
        while len(head := f.read(48)) == 48:
            magic, version, skip, corr, count, whole, size = struct.unpack("<4sHHQIII4x", head[:32])
            if magic != b"PACC" or version != 1:
                sys.exit(f"{path}: no file of raw accesses, or of a later version")
            f.read(skip - 48)
            yield corr, count, unzstd(f.read(size), whole)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 1

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def plus(self, value, mask=2**32 - 1):
        v = self.varint()
        return value + (v >> 1 ^ -(v & 1)) & mask

    def accesses(self):
        """(site, group, thread, turn, kind, space, size, addr)"""
        site = launch = group = thread = 0
        before = {}  # size, kind, space, turn, addr
        while self.at < len(self.data):
            flags = self.data[self.at]
            self.at += 1
            site = self.plus(site) if flags & 1 else site
            a = before.setdefault(site % 64, [0, 0, 0, 0, 0])
            if flags & 2:
                a[0] = self.varint()
            if flags & 4:
                a[2], a[1] = divmod(self.varint(), 256)
            if flags & 8:
                launch, group = self.plus(launch), self.plus(group)
            how = flags >> 4 & 3
            thread = self.plus(thread, 0xffff) if how == 2 else thread + how & 0xffff
            a[3] = self.plus(a[3]) if flags & 64 else a[3]
            a[4] = self.plus(a[4], OTHER)
            yield site, group, thread, a[3], a[1], a[2], a[0], a[4]


class Recount:
    """Of one launch, slowly, by the definitions in docs/memory-accesses.md."""

    def __init__(self, run, begin):
        # Of those with one address the last that was there when it was launched.
        live = {a: (i, a, b) for i, (a, b, t) in run.objects.items() if t <= begin}
        self.objects = sorted(live.values(), key=lambda o: o[1])
        self.rows = collections.defaultdict(lambda: [0, 0, 0, 0])
        self.requests = collections.defaultdict(list)
        self.last = None

    def object(self, addr, space):
        """Its number, and its last byte."""
        if space >= 3:
            return space, OTHER
        if not self.last or not self.last[1] <= addr < self.last[1] + self.last[2]:
            self.last = next((o for o in self.objects if o[1] <= addr < o[1] + o[2]), None)
        if self.last:
            return self.last[0], self.last[1] + self.last[2] - 1
        after = next((o[1] for o in self.objects if o[1] > addr), OTHER + 1)
        return 0, after - 1

    def add(self, key, kind, size, extra):
        row = self.rows[key]
        row[0] += kind & 1
        row[1] += kind >> 1
        row[2] += size << (kind == 3)
        row[3] += extra

    def access(self, site, group, thread, turn, kind, space, size, addr):
        number, last = self.object(addr, space)
        crosses = size > 0 and addr + size - 1 > last
        self.add((OBJECT, number, 0), kind, size, crosses)
        if space < 3:
            page = addr // PAGE_SIZE * PAGE_SIZE
            self.add((PAGE, page, 0), kind, size, addr + size > page + PAGE_SIZE)
        self.add((SITE, site, 0), kind, size, crosses)
        self.add((SITE_OBJECT, site, number), kind, size, crosses)
        self.requests[site, group, thread // 32, turn, kind].append((kind, size, addr, thread))

    def finish(self):
        for (site, *_), parts in self.requests.items():
            sectors = {s for _, size, addr, _ in parts if size
                       for s in range(addr // 32, (addr + size - 1) // 32 + 1)}
            size = sum(p[1] for p in parts)
            self.add((COALESCE, site, 0), parts[0][0], size, len(sectors))
            self.add((DIVERGE, site, len({p[3] for p in parts})), parts[0][0], size, 0)
        return self.rows


def recounted(run, folder):
    """Rows by launch, and how many accesses there were."""
    begins = dict(run.ask("SELECT corr, min(begin) FROM access_launch GROUP BY corr"))
    launches, count = {}, 0
    paths = {p for (p,) in run.ask("SELECT DISTINCT path FROM access_batch")}
    for path in sorted(paths):
        for corr, wanted, data in blocks(os.path.join(folder, path)):
            sums = launches.setdefault(corr, Recount(run, begins[corr]))
            number = 0
            for access in Reader(data).accesses():
                sums.access(*access)
                number += 1
            equal(f"launch {corr}: accesses of a block", number, wanted)
            count += number
    return {corr: sums.finish() for corr, sums in launches.items()}, count


def raw(run, folder):
    wanted, count = recounted(run, folder)
    got = collections.defaultdict(dict)
    names = {}
    for (kernel, reducer), rows in run.rows.items():
        for key0, key1, corr, sums in rows if reducer <= DIVERGE else []:
            # How many threads a warp has is not in the file.
            got[corr][reducer, key0, key1] = sums[:3] + [0] if reducer == DIVERGE else sums
            names[corr] = kernel
    reducers = {reducer for rows in got.values() for reducer, _, _ in rows}
    for corr in sorted(set(wanted) | set(got)):
        want = {k: v for k, v in wanted.get(corr, {}).items() if k[0] in reducers}
        have = got.get(corr, {})
        for key in sorted(set(want) | set(have)):
            if want.get(key) != have.get(key):
                wrong(f"launch {corr}, {names.get(corr)}, {key}: counted {have.get(key)}, one by "
                      f"one {want.get(key)}")
                break
    if not count:
        wrong("there are no accesses")
    print(f"{count} accesses of {len(wanted)} launches; reducers {sorted(reducers)}")


def main(argv):
    if len(argv) == 4 and argv[1] in ("forms", "some"):
        {"forms": forms, "some": some}[argv[1]](Run(argv[2]), load(argv[3]))
    elif len(argv) == 5 and argv[1] == "some":
        some(Run(argv[2], int(argv[4])), load(argv[3]))
    elif len(argv) == 4 and argv[1] == "barriers":
        barriers(Run(argv[2]), load(argv[3]))
    elif len(argv) == 6 and argv[1] == "sampled":
        sampled(Run(argv[2]), load(argv[3]), load(argv[4]), int(argv[5]))
    elif len(argv) == 4 and argv[1] == "same":
        same(Run(argv[2]), Run(argv[3]))
    elif len(argv) == 4 and argv[1] == "raw":
        raw(Run(argv[2]), argv[3])
    else:
        print(__doc__, file=sys.stderr)
        return 64
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
