"""cupti.py - compare what a run recorded of CUDA with the program's output.

cupti.py exact DATABASE COUNTERS DETAILS   of cuda_exact work
cupti.py times DATABASE CLOCK STAMPS       of cuda_exact times; CLOCK is what dump prints of it
DATABASE is what accelprof export makes.
"""
import bisect
import collections
import json
import sqlite3
import statistics
import sys

KERNEL, COPY, SET = 2, 3, 4  # launch.flags
STABLE = 500  # ns, and the timer's tick
bad = 0


def equal(what, got, wanted):
    global bad
    if got != wanted:
        print(f"{what}: recorded {got}, but it was {wanted}")
        bad += 1


def holds(what, truth):
    global bad
    if not truth:
        print(f"{what}: does not hold")
        bad += 1


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def rows(db, sql):
    return db.execute(sql).fetchall()


def counted(db, table, where="1"):
    return rows(db, f"SELECT count(*), coalesce(sum(bytes), 0) FROM {table} WHERE {where}")[0]


# -- What was done --

def kernels(db, known):
    got = collections.Counter()
    for name, n in rows(db, "SELECT name, count(*) FROM kernel GROUP BY name"):
        got[next((k for k in known["kernels"] if k in name), name)] += n
    equal("kernels", dict(got), known["kernels"])
    equal("launches of kernels and graphs (captured calls are none)",
          rows(db, f"SELECT count(*) FROM launch WHERE flags = {KERNEL}")[0][0],
          known["launches"] + known["graph_launches"])
    holds("kernels have times", not rows(db, "SELECT * FROM kernel WHERE dur <= 0 OR begin = 0"))


def graphs(db, known):
    """A launch of a graph has all of its kernels, each of a node of its own."""
    by_launch = collections.defaultdict(list)
    for corr, node in rows(db, "SELECT corr, node FROM kernel WHERE coalesce(node, 0) != 0"):
        by_launch[corr].append(node)
    equal("graph launches", len(by_launch), known["graph_launches"])
    equal("kernels of graphs", sum(map(len, by_launch.values())), sum(known["graph_kernels"]))
    holds("a node runs once a launch", all(len(set(n)) == len(n) for n in by_launch.values()))


def copies(db, known):
    for way in "h2d", "d2h", "d2d":
        equal(way, list(counted(db, "copy", f"direction = '{way}'")), known[way][:2])
    equal("copies of other directions",
          counted(db, "copy", "direction NOT IN ('h2d', 'd2h', 'd2d')"), (0, 0))
    equal("fills", list(counted(db, "fill")), known["sets"][:2])
    calls = dict(rows(db, "SELECT flags, count(*) FROM launch GROUP BY flags"))
    equal("calls that copy", calls.get(COPY, 0), sum(known[w][2] for w in ("h2d", "d2h", "d2d")))
    equal("calls that fill", calls.get(SET, 0), known["sets"][2])


def joined(db):
    """Work has its launch, launched before it ran; a launch has its work."""
    for view in "kernel", "copy", "fill":
        unmatched = rows(db, f"SELECT count(*) FROM {view} w LEFT JOIN launch l ON "
                             "l.process = w.process AND l.corr = w.corr WHERE l.corr IS NULL")
        equal(f"{view}: without a launch", unmatched[0][0], 0)
        early = rows(db, f"SELECT count(*), max(l.begin - w.begin) FROM {view} w JOIN launch l ON "
                         "l.process = w.process AND l.corr = w.corr WHERE w.begin < l.begin")
        equal(f"{view}: begun before it was launched, and ns", early[0], (0, None))
    idle = rows(db, "SELECT name, flags, count(*) FROM launch l WHERE NOT EXISTS (SELECT 1 FROM "
                    "(SELECT process, corr FROM kernels UNION ALL SELECT process, corr FROM copies "
                    "UNION ALL SELECT process, corr FROM sets) w WHERE w.process = l.process AND "
                    "w.corr = l.corr) GROUP BY name, flags")
    equal("launches without work", idle, [])


def memory(db, known, details):
    got = collections.Counter()
    for addr, size, type_ in rows(db, "SELECT addr, bytes, type FROM allocation"):
        got[(addr & (2**64 - 1), size, type_)] += 1
    wanted = collections.Counter(tuple(a) for a in details["allocations"])
    equal("allocations that were not made", sorted((got - wanted).elements())[:10], [])
    equal("allocations that were not recorded", sorted((wanted - got).elements())[:10], [])
    equal("frees", rows(db, 'SELECT count("end") FROM allocation')[0][0], known["freed"])
    about = dict(rows(db, "SELECT key, value FROM about"))
    equal("unknown frees", about.get("unknown_frees", 0), 0)


def unified(db, known, details):
    """All of it went to the device and back; what more CUDA moved is bounded."""
    size, begin = known["managed"], details["managed"]
    got = {what: (n, total, faults) for what, n, total, faults in rows(
        db, 'SELECT what, count(*), sum(bytes), sum("count") FROM migration GROUP BY what')}
    print("unified memory:", got)
    for way in "to_device", "to_host":
        total = got.get(way, (0, 0, 0))[1]
        holds(f"{way}: {total} bytes of {size}", size <= total <= 2 * size)
    for who in "gpu_fault", "cpu_fault":
        n, _, faults = got.get(who, (0, 0, 0))
        holds(f"{who}: {n} of {faults}", 0 < n <= faults)
    equal("migrations of other memory", rows(
        db, "SELECT count(*) FROM migration WHERE what IN ('to_device', 'to_host') AND "
            f"NOT addr BETWEEN {begin} AND {begin + size - 1}")[0][0], 0)
    equal("migrations that take no time", rows(
        db, "SELECT count(*) FROM migration WHERE what IN ('to_device', 'to_host') AND "
            "dur <= 0")[0][0], 0)


def streams(db, known):
    # The driver makes some for itself, also within the program's calls, and reports them.
    got = dict(rows(db, "SELECT flags, count(*) FROM queue GROUP BY flags"))
    print("streams by flags:", got, "the program's own:", known["streams"])
    holds("streams: default, not blocking, no fewer than were made",
          got.get(1, 0) >= known["streams"][0] and got.get(2, 0) >= known["streams"][1])
    events = rows(db, "SELECT stream, count(*) FROM event_record GROUP BY stream")
    equal("events recorded", [n for _, n in events], [known["events"]])
    holds("events are put into a stream that was made", rows(
        db, "SELECT count(*) FROM event_record e WHERE NOT EXISTS (SELECT 1 FROM queue q WHERE "
            "q.stream = e.stream AND q.context = e.context AND q.begin <= e.begin)")[0][0] == 0)
    waits = dict(rows(db, "SELECT what, count(*) FROM sync GROUP BY what"))
    print("waits:", waits)
    equal("waits without a type", waits.get("unspecified", 0), 0)
    for what in "event", "stream_wait", "stream", "context":
        holds(f"there are waits: {what}", waits.get(what, 0) > 0)


def exact(db, known, details):
    kernels(db, known)
    graphs(db, known)
    copies(db, known)
    joined(db)
    memory(db, known, details)
    unified(db, known, details)
    streams(db, known)
    devices = rows(db, "SELECT name, memory > 0 FROM device")
    holds("there are devices", devices and all(name and size for name, size in devices))
    threads = rows(db, f"SELECT count(DISTINCT thread) FROM launch WHERE flags = {KERNEL}")[0][0]
    equal("threads that launch", threads, 5)
    print(sum(known["kernels"].values()), "kernels,",
          sum(known[w][0] for w in ("h2d", "d2h", "d2d")), "copies,", known["sets"][0], "fills,",
          known["allocated"], "allocations on", devices)


# -- When --

class Clock:
    """The GPU's timer to CLOCK_MONOTONIC_RAW, by pairs: a straight line from group to group."""

    def __init__(self, groups, tick):
        self.at, self.offset, self.error = [], [], 0
        for group in groups:
            # The timer was read between the two, and was at most a tick old.
            low = max(before - timer - tick for before, timer, _ in group)
            high = min(after - timer for _, timer, after in group)
            holds("pairs agree", low <= high)
            self.at.append(group[len(group) // 2][1])
            self.offset.append((low + high) // 2)
            self.error = max(self.error, (high - low + 1) // 2)

    def raw(self, timer):
        i = min(max(bisect.bisect(self.at, timer), 1), len(self.at) - 1)
        span, step = self.at[i] - self.at[i - 1], self.offset[i] - self.offset[i - 1]
        return timer + self.offset[i - 1] + (timer - self.at[i - 1]) * step // span


def shard_offset(path):
    """Of CLOCK_REALTIME, in which exports are, to CLOCK_MONOTONIC_RAW."""
    with open(path, encoding="utf-8") as f:
        for line in f:
            event = json.loads(line)
            if event["kind"] == "clock" and event["id"] == 0:
                return event["real"] - event["raw"]
    sys.exit(f"{path} has no clock")


def steady(what, slacks, error, tick):
    middle = statistics.median(slacks)
    off = sorted(abs(s - middle) for s in slacks)
    print(f"{what}: {min(slacks)} to {max(slacks)} ns, median {middle:.0f}, 99 % within "
          f"{off[len(off) * 99 // 100]:.0f} of it")
    holds(f"{what}: contained, within {error} ns", min(slacks) >= -error)
    holds(f"{what}: stable within {STABLE + tick} ns", off[len(off) * 99 // 100] <= STABLE + tick)


def times(db, offset, known):
    tick = known["tick"]
    clock = Clock(known["pairs"], tick)
    runs = [(b - offset, e - offset) for b, e in rows(
        db, "SELECT begin, \"end\" FROM kernel WHERE name LIKE '%k_stamp%' ORDER BY begin")]
    equal("kernels", len(runs), len(known["stamps"]))
    if bad:
        return
    stamps = [(clock.raw(a), clock.raw(b)) for a, b in known["stamps"]]
    error = clock.error + tick
    print(f"the timer's tick is {tick} ns; the clocks are paired within {clock.error} ns")
    some = list(zip(runs, stamps))[:-2]
    steady("from the start to the first stamp", [s[0] - r[0] for r, s in some], error, tick)
    steady("from the last stamp to the end", [r[1] - s[1] for r, s in some], error, tick)
    apart = runs[-1][0] - runs[-2][0]
    by_timer = stamps[-1][0] - stamps[-2][0]
    print(f"two starts: {apart} ns apart, {by_timer} by the timer")
    holds("two starts a second apart", abs(apart - by_timer) <= STABLE + tick + 2 * clock.error)


def main(argv):
    db = sqlite3.connect(f"file:{argv[2]}?mode=ro", uri=True)
    about = dict(rows(db, "SELECT key, value FROM about"))
    for key in "dropped", "late", "unknown", "damaged_bytes":
        equal(key, about.get(key, 0), 0)
    if argv[1] == "exact":
        exact(db, load(argv[3]), load(argv[4]))
    else:
        times(db, shard_offset(argv[3]), load(argv[4]))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
