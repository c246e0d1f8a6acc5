#!/usr/bin/env python3
"""_mutate.py - damages files of runs, and checks that no report changes without a message.

	_mutate.py make FOLDER            make the runs
	_mutate.py attack FOLDER [--seed S] [--count N] [--workers N] [--only RUN] [--kind KIND]
	_mutate.py replay FOLDER SEED:N   one trial again, with all that accelprof printed

ACCELPROF and BUILD are set by the tests. A trial copies a run, damages one file of it and
reports on it. It passes if the report is that of the undamaged run, or if it differs, adds up
(expected = captured + dropped) and accelprof printed what is damaged or returned a status other
than 0. It fails if accelprof crashes, hangs, or prints another report without a message, and if
bytes of the run are removed whose events are in no report. No offset is exempt: only what no report
shows may change unnoticed.

Trial N of a seed is the same mutation for the same runs. Failures are saved, with the runs, in
BUILD/tests/harm: replay them with the printed folder.
"""
import argparse
import ctypes
import hashlib
import json
import multiprocessing
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ACCELPROF = os.environ["ACCELPROF"]
BUILD = os.environ["BUILD"]
SRC = os.environ["SRC"]
PAGE = 4096
HANG_S = 120  # no report of these runs takes a second, but machines are busy
FRAME = b"PSTF"
BLOCK = b"PACC"
LOSS = re.compile(
    r"damaged|lost|missing|dropped|cannot|could not|no run\.json|unreadable|not a |is no |empty|newer|another version"
)


# -- Runs ------------------------------------------------------------------------------------------


def program(name):
    """Returns the path of a program of tests/harm or tests/programs."""
    for folder in ("tests/harm", "tests/programs", "tests"):
        path = os.path.join(BUILD, folder, name)
        if os.path.exists(path):
            return path
    sys.exit(f"{name} is not built")


def record(folder, name, options, command, env=None, status=0):
    done = subprocess.run(
        [ACCELPROF, "run", "-q", "-o", name, *options, "--", *command],
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        timeout=HANG_S,
    )
    if done.returncode != status:
        sys.exit(f"{name}: status {done.returncode}, wanted {status}: {done.stderr.decode()}")


def captured_without_rings(run):
    """Returns the number of events in the shards of a run, without its rings."""
    shutil.copytree(run, run + ".bare", ignore=shutil.ignore_patterns("*.ring"))
    loss = Report(run + ".bare", "json").loss()
    shutil.rmtree(run + ".bare")
    return loss["captured"] if loss else 0


def record_rings(folder, name, threads, how):
    """Records with little memory, so that rings are small. Repeats if, on a busy machine, a ring got
    full or the writer ran before the end. The rounds after the sleep are too few to wake it."""
    options = ["--memory", "1M", "--record", "all", "-t", "regions,summary"]
    command = [program("rings"), f"{name}.counts", str(threads), "25", "7", "abandon" if how == "after" else how]
    if how == "after":
        # A process that ended normally, before the one that did not.
        command = ["sh", "-c", '"$0" "$1" 2 25 7 exit && exec "$0" "$@"', *command]
    run, copy = os.path.join(folder, name), os.path.join(folder, "copy")
    for _ in range(20):
        record(folder, name, options, command, None, 0 if how == "exit" else -9)
        shutil.copytree(run, copy)
        loss = Report(copy, "json").loss()
        shutil.rmtree(copy)
        left = loss and loss["captured"] - captured_without_rings(run)
        if loss and not loss["dropped"] and (left or how == "exit"):
            return
        shutil.rmtree(run)
    sys.exit(f"{name}: in each of twenty runs events were dropped or none were left: {loss}")


def record_lossy(folder, name):
    """One process records, another cannot: only the control page has the loss of that one."""
    rings = f'"{program("rings")}" {name}.counts 2 20 0 exit'
    script = f'{rings}; mv "$PASTA_RUN/shards" "$PASTA_RUN/s"; {rings}; mv "$PASTA_RUN/s" "$PASTA_RUN/shards"'
    record(folder, name, ["-t", "regions"], ["sh", "-c", script])


def make(folder):
    """Makes runs that together have every kind of file. live, family and mixed have live rings."""
    os.makedirs(folder, exist_ok=True)
    record_rings(folder, "live", 3, "abandon")
    record_rings(folder, "family", 2, "fork")
    record_rings(folder, "mixed", 3, "after")
    record_rings(folder, "ended", 2, "exit")
    record_lossy(folder, "lossy")
    record(folder, "raw", ["-t", "mem_trace,regions"], [program("make_accesses"), "5", "200"])
    fake = {"PASTA_CUPTI": program("fake_cupti.so"), "CUDA_INJECTION64_PATH": ""}
    record(folder, "modules", ["--keep-modules", "-t", "modules,summary"], [program("fake_cuda"), "modules", "4"], fake)
    trace = os.path.join(SRC, "tests/data/import/kineto-nccl-rank")
    subprocess.run(
        [ACCELPROF, "import", trace + "0.json", trace + "1.json", "-o", os.path.join(folder, "imported")],
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=HANG_S,
    )


def read_tree(folder):
    """Returns the content of each file, by its name in the folder."""
    files = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                files[os.path.relpath(path, folder)] = f.read()
    return files


def write_tree(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    for made in ("", "shards", "results"):
        os.makedirs(os.path.join(folder, made), exist_ok=True)
    for name, data in files.items():
        path = os.path.join(folder, name)
        try:
            f = open(path, "wb")
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path))
            f = open(path, "wb")
        with f:
            f.write(data)


def kind_of(name):
    base, ext = os.path.splitext(name)
    return ext[1:] if ext in (".pst", ".ring", ".acc") else "module" if base.startswith("modules/") else base.replace("/", "_")


class Run:
    """A run's files, and offsets in them where damage has an effect."""

    def __init__(self, folder):
        self.name = os.path.basename(folder)
        self.files = read_tree(folder)
        self.used = {}

    def has(self, kind):
        return kind is None or any(kind_of(n) == kind for n in self.files)

    def used_bytes(self, name):
        """Returns ranges of bytes that are not 0: most of a ring file is 0."""
        if name not in self.used:
            self.used[name] = [m.span() for m in re.finditer(rb"[^\0]+(?:\0{1,16}[^\0]+)*", self.files[name])]
        return self.used[name]

    def bounds(self, name):
        """Returns the offsets of frames and blocks, and the end."""
        data = self.files[name]
        mark = BLOCK if name.endswith(".acc") else FRAME
        return [m.start() for m in re.finditer(mark, data)] + [len(data)]


# -- Mutations -------------------------------------------------------------------------------------


def pick_offset(rng, run, name):
    """Half of the offsets are near structures, most others in used bytes, some anywhere."""
    data, way = run.files[name], rng.random()
    if way < 0.45:
        if name.endswith((".pst", ".acc")):
            at = rng.choice(run.bounds(name)[:-1] or [0]) + rng.randrange(96)
        elif name == "control":
            at = rng.randrange(64)
        else:
            at = rng.randrange(0, len(data), PAGE) + rng.randrange(640) if rng.random() < 0.6 else rng.randrange(640)
    elif way < 0.85 and run.used_bytes(name):
        begin, end = rng.choice(run.used_bytes(name))
        at = rng.randrange(begin, end)
    else:
        at = rng.randrange(len(data))
    return min(at, len(data) - 1)


def flip_bit(rng, run, name, _):
    at, bit = pick_offset(rng, run, name), rng.randrange(8)
    data = bytearray(run.files[name])
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at} flipped", data


def set_byte(rng, run, name, _):
    at, value = pick_offset(rng, run, name), rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    data = bytearray(run.files[name])
    data[at] = value
    return f"byte {at} set to {value}", data


def set_word(rng, run, name, _):
    size = rng.choice([2, 4, 8])
    at = pick_offset(rng, run, name) // size * size
    data = bytearray(run.files[name])
    old = int.from_bytes(data[at : at + size], "little")
    value = rng.choice([old + 1, old - 1, old * 2, old + 8, old - 8, 0, -1, 1 << (8 * size - 1), rng.getrandbits(8 * size)])
    data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")[: len(data) - at]
    return f"{size} bytes at {at}: {old} set to {value % (1 << 8 * size)}", data


def fill(rng, run, name, _):
    at, value = pick_offset(rng, run, name), rng.choice([0, 0xFF])
    data = bytearray(run.files[name])
    size = min(rng.choice([8, 16, 64, 512, PAGE]), len(data) - at)
    data[at : at + size] = bytes([value]) * size
    return f"{size} bytes at {at} filled with {value}", data


def swap_blocks(rng, run, name, _):
    data = bytearray(run.files[name])
    size = rng.choice([8, 64, 512, PAGE])
    a, b = sorted(pick_offset(rng, run, name) // size * size for _ in range(2))
    x, y = bytes(data[a : a + size]), bytes(data[b : b + size])
    if a != b and len(x) == len(y):
        data[a : a + size], data[b : b + size] = y, x
    return f"{size} bytes at {a} and {b} exchanged", data


def repeat_block(rng, run, name, _):
    data = bytearray(run.files[name])
    size = rng.choice([8, 64, 512, PAGE])
    a, b = (pick_offset(rng, run, name) // size * size for _ in range(2))
    part = data[a : a + size]
    data[b : b + len(part)] = part
    return f"{size} bytes at {a} copied to {b}", data


def truncate(rng, run, name, _):
    data = run.files[name]
    at = rng.choice([rng.choice(run.bounds(name)), pick_offset(rng, run, name), len(data) - 1, len(data) - 8, len(data) // PAGE * PAGE])
    return f"cut at byte {at} of {len(data)}", data[: max(at, 0)]


def extend(rng, run, name, _):
    size = rng.choice([1, 8, 100, PAGE])
    return f"{size} bytes appended", run.files[name] + rng.choice([bytes(size), rng.randbytes(size), run.files[name][-size:]])


def cut_out(rng, run, name, _):
    """Removes a whole frame, or bytes of a page; the rest moves up."""
    data, bounds = run.files[name], run.bounds(name)
    if len(bounds) > 2 and rng.random() < 0.7:
        i = rng.randrange(len(bounds) - 1)
        a, b = bounds[i], bounds[rng.randrange(i + 1, min(i + 3, len(bounds)))]
    else:
        a = pick_offset(rng, run, name)
        b = min(a + rng.choice([1, 8, 64, PAGE]), len(data))
    return f"bytes {a} to {b} taken out", data[:a] + data[b:]


def swap_frames(rng, run, name, others):
    """Exchanges two frames, each of which is intact."""
    data, bounds = run.files[name], run.bounds(name)
    if len(bounds) < 3:
        return swap_blocks(rng, run, name, others)
    i = rng.randrange(len(bounds) - 2)
    a, b, c = bounds[i : i + 3]
    return f"frames at {a} and {b} exchanged", data[:a] + data[b:c] + data[a:b] + data[c:]


def splice(rng, run, name, others):
    """Inserts a page or a frame of the same kind of file of another run. Never a whole file, which
    would not be damaged, except for a ring beside the shard of another process."""
    other = rng.choice([o for o in others if any(kind_of(n) == kind_of(name) for n in o.files)])
    from_ = rng.choice([n for n in sorted(other.files) if kind_of(n) == kind_of(name)])
    data, source = bytearray(run.files[name]), other.files[from_]
    if len(run.bounds(name)) > 2 and len(other.bounds(from_)) > 2 and rng.random() < 0.7:
        mine, theirs = run.bounds(name), other.bounds(from_)
        i, j = rng.randrange(len(mine) - 1), rng.randrange(len(theirs) - 1)
        a, b, part = mine[i], mine[i + 1], source[theirs[j] : theirs[j + 1]]
    else:
        a = rng.randrange(0, len(data) + 1, PAGE)
        part = source[a : a + PAGE]
        b = a + len(part)
    if not name.endswith(".ring") and bytes(data[:a]) + part + bytes(data[b:]) == source:
        part = part[: len(part) // 2]
        b = a + len(part)
    return f"bytes {a} to {b} replaced by {len(part)} of {other.name}/{from_}", bytes(data[:a]) + part + bytes(data[b:])


def replace(rng, run, name, others):
    """Replaces the whole file by another of its kind, like a misplaced copy. Files of other runs are
    valid too: only a larger event count in run.json reveals them."""
    names = [n for n in sorted(run.files) if kind_of(n) == kind_of(name) and n != name]
    if name == "control" and run.name in MESSAGES:
        source = rng.choice([o for o in others if o.name not in MESSAGES])
        return f"replaced by that of {source.name}", source.files[name]
    if not names or not name.endswith((".pst", ".ring")):
        return swap_blocks(rng, run, name, others)
    other = rng.choice(names)
    return f"replaced by {other}", run.files[other]


def empty(_rng, _run, _name, _):
    return "emptied", b""


def remove(_rng, _run, _name, _):
    return "removed", None


OPS = [
    (flip_bit, 22),
    (set_byte, 12),
    (set_word, 16),
    (fill, 12),
    (swap_blocks, 5),
    (repeat_block, 5),
    (truncate, 8),
    (extend, 4),
    (cut_out, 5),
    (swap_frames, 3),
    (splice, 5),
    (replace, 3),
    (empty, 1),
    (remove, 1),
]
RUNS = {"live": 30, "family": 20, "mixed": 15, "ended": 12, "lossy": 6, "raw": 10, "modules": 5, "imported": 8}
MESSAGES = {"lossy": "could not record"}  # what is printed of an undamaged run
KINDS = {"ring": 10, "pst": 6, "acc": 4, "control": 3, "run": 2, "module": 1, "results_report": 1}


class Trial:
    """What is damaged, how, and which reports are made."""

    def __init__(self, runs, seed, number, only=None, kind=None):
        rng = random.Random(f"{seed}:{number}")
        self.number = number
        names = [n for n in RUNS if n in runs and only in (None, n) and runs[n].has(kind)]
        self.run = runs[rng.choices(names, [RUNS[n] for n in names])[0]]
        files = [n for n in sorted(self.run.files) if kind in (None, kind_of(n))]
        self.file = rng.choices(files, [KINDS.get(kind_of(n), 2) for n in files])[0]
        op = rng.choices([o for o, _ in OPS], [w for _, w in OPS])[0]
        if not self.run.files[self.file]:
            op = extend
        how, data = op(rng, self.run, self.file, [runs[n] for n in sorted(runs)])
        self.what = f"{self.run.name}/{self.file}: {how}"
        self.files = dict(self.run.files)
        if data is None:
            del self.files[self.file]
        else:
            self.files[self.file] = bytes(data)
        self.format = "perfetto" if rng.random() < 0.25 else "json"
        self.again = rng.random() < 0.2


# -- Reports ---------------------------------------------------------------------------------------


class Report:
    """One call of accelprof report: what it printed, and how it ended."""

    def __init__(self, folder, form):
        out, err = (os.memfd_create(n) for n in ("out", "err"))
        actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)]
        pid = os.posix_spawn(ACCELPROF, [ACCELPROF, "report", folder, "--format", form], os.environ, file_actions=actions)
        handle = os.pidfd_open(pid)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        self.hung = not poll.poll(HANG_S * 1000)
        if self.hung:
            os.kill(pid, signal.SIGKILL)
        self.status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(handle)
        self.out, self.err = self.take(out), self.take(err).decode(errors="replace")

    @staticmethod
    def take(fd):
        size = os.fstat(fd).st_size
        data = os.pread(fd, size, 0)
        os.close(fd)
        return data

    def loss(self):
        """Returns the event counts of a JSON report, or None."""
        try:
            return json.loads(self.out)["loss"]
        except (ValueError, KeyError, TypeError):
            return None


def crashed(report):
    if report.hung:
        return f"it hangs: nothing in {HANG_S} s"
    if report.status < 0:
        return f"it was killed by signal {-report.status}"
    if report.status not in (0, 1):
        return f"status {report.status}"
    if "Sanitizer" in report.err or "runtime error" in report.err:
        return "a sanitizer found an error"
    return None


def adds_up(report, clean):
    """Checks the event counts of a JSON report that differs."""
    if not report.out:
        return None if report.status else "no report, and status 0"
    loss, before = report.loss(), clean.loss()
    if loss is None:
        return "the report is no JSON document"
    if loss["expected"] != loss["captured"] + loss["dropped"]:
        return f"it does not add up: {loss}"
    if loss["expected"] > before["expected"] + 1000000:
        return f"{loss['expected']} events expected, of {before['expected']}"
    return None


def judge_report(trial, report, clean, form):
    """Returns why the report is wrong, or None."""
    why = crashed(report)
    if why or (report.out == clean.out and report.status == clean.status):
        return why
    if form == "json":
        why = adds_up(report, clean)
    if why:
        return why
    if not report.status and report.err == clean.err:
        return "the report differs without a word"
    stem = os.path.splitext(os.path.basename(trial.file))[0]
    if stem not in report.err and not LOSS.search(report.err):
        return "the report differs, and the message names neither the file nor a loss"
    return None


def lost_end(trial, name, now, folder, count):
    """Whether recovery cut more than a torn end off a shard: would the report have more events with
    that end undamaged?"""
    data, original = trial.files[name], trial.run.files[name]
    if len(data) != len(original):
        return True
    same = len(os.path.commonprefix([data, now]))
    write_tree(folder, {**trial.files, name: data[:same] + original[same:]})
    return captured(Report(folder, "json")) > count


def missing_bytes(trial, after, folder, clean, count):
    """Yields files whose bytes were removed. A file may be renamed. A shard may grow, and drop a torn
    end whose events the report has. A ring may be removed if its events are in the report:
    unrecovered() checks that, unless the ring itself was damaged."""
    held = {hashlib.sha1(data).digest() for data in after.values()}
    whole = count == clean.captured[trial.run.name]
    for name, data in trial.files.items():
        now = after.get(name)
        if (now is not None and now.startswith(data)) or hashlib.sha1(data).digest() in held:
            continue
        if name.endswith(".pst") and now is not None:
            if whole or not lost_end(trial, name, now, folder, count):
                continue
        if name.endswith(".ring") and now is None and (whole or name != trial.file):
            continue
        yield f"{name} ({len(data)} bytes, now {'removed' if now is None else len(now)})"


def captured(report):
    loss = report.loss()
    return loss["captured"] if loss else 0


def unrecovered(trial, after, folder, clean, now):
    """Whether events of removed rings are in no shard. The report must have all events that the
    damaged shards still had, and all further events of the rings."""
    removed = [n for n in trial.files if n.endswith(".ring") and n not in after]
    if not removed or trial.file.endswith(".ring") or now >= clean.captured[trial.run.name]:
        return None  # a damaged ring is renamed, not removed
    write_tree(folder, {n: d for n, d in trial.files.items() if not n.endswith(".ring")})
    want = captured(Report(folder, "json")) + sum(clean.in_ring[trial.run.name, n] for n in removed)
    if now >= want:
        return None
    return f"{', '.join(removed)}: removed, and {now} of {want} events are in the report"


def judge(trial, folder, clean):
    """Returns why the trial failed, or None, and the report."""
    write_tree(folder, trial.files)
    want = clean.reports[trial.run.name, trial.format]
    report = Report(folder, trial.format)
    why = judge_report(trial, report, want, trial.format)
    if why:
        return why, report
    after = read_tree(folder)
    if trial.again:
        second = Report(folder, trial.format)
        if second.out != report.out or crashed(second):
            return f"the second report differs from the first: {second.status} {second.err}", report
    if report.out == want.out:
        now = clean.captured[trial.run.name]
    else:
        now = captured(report if trial.format == "json" else Report(folder, "json"))
    removed = list(missing_bytes(trial, after, folder, clean, now))
    if removed:
        return f"bytes were removed: {', '.join(removed)}", report
    return unrecovered(trial, after, folder, clean, now), report


# -- The attack ------------------------------------------------------------------------------------


def limit():
    """Limits the memory of reports: accelprof must reject a damaged size, not allocate it."""
    with open(ACCELPROF, "rb") as f:
        sanitized = re.search(rb"__[at]san_init", f.read())
    if not sanitized:  # a sanitizer's shadow needs more
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def load(folder):
    return {n: Run(os.path.join(folder, n)) for n in RUNS if os.path.isdir(os.path.join(folder, n))}


class Clean:
    """What the undamaged runs report, in both formats. Each report is made twice: it must be the
    same. captured: its events; in_ring: those that only this ring has."""

    def __init__(self, runs, folder):
        self.reports, self.captured, self.in_ring = {}, {}, {}
        for run in runs.values():
            for form in ("json", "perfetto"):
                write_tree(folder, run.files)
                first, second = Report(folder, form), Report(folder, form)
                match = MESSAGES.get(run.name, "") in first.err and \
                    bool(first.err) == (run.name in MESSAGES)
                if first.status or not match or not first.out or first.out != second.out:
                    sys.exit(f"{run.name}: the undamaged run: status {first.status}: {first.err}{second.err}")
                self.reports[run.name, form] = first
            self.captured[run.name] = captured(self.reports[run.name, "json"])
            for ring in [n for n in run.files if n.endswith(".ring")]:
                write_tree(folder, {n: d for n, d in run.files.items() if n != ring})
                self.in_ring[run.name, ring] = self.captured[run.name] - captured(Report(folder, "json"))


def store(args, trial, report, why, where):
    folder = os.path.join(where, f"{trial.run.name}-{args.seed}-{trial.number}")
    write_tree(folder, trial.files)
    with open(folder + ".txt", "w", encoding="utf-8") as f:
        f.write(f"{trial.what}\n{why}\nstatus {report.status}\n{report.err}")


def work(args, worker, queue, where):
    limit()
    runs = load(args.folder)
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="accelprof-mutate-", dir=shm)
    done = 0
    try:
        clean = Clean(runs, os.path.join(folder, "run"))
        for number in range(worker, args.count, args.workers):
            trial = Trial(runs, args.seed, number, args.only, args.kind)
            why, report = judge(trial, os.path.join(folder, "run"), clean)
            done += 1
            if why:
                queue.put((number, kind_of(trial.file), trial.what, trial.format, why, report.status, report.err))
                store(args, trial, report, why, where)
    finally:
        queue.put(done)
        shutil.rmtree(folder, ignore_errors=True)


def folder_for_failures(seed):
    """Returns a folder in the build tree, or for temporary files if that is not writable."""
    where = os.path.join(BUILD, "tests/harm", f"failures-{seed}-{os.getpid()}")
    try:
        os.makedirs(where)
    except OSError:
        where = tempfile.mkdtemp(prefix=f"accelprof-failures-{seed}-")
    return where


def attack(args):
    where = folder_for_failures(args.seed)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [context.Process(target=work, args=(args, i, queue, where)) for i in range(args.workers)]
    begun, done, ended, failures = time.monotonic(), 0, 0, []
    for w in workers:
        w.start()
    while ended < len(workers):
        item = queue.get()
        if isinstance(item, int):
            done, ended = done + item, ended + 1
        else:
            failures.append(item)
    for w in workers:
        w.join()
    for number, _, what, form, why, status, err in sorted(failures)[:20]:
        print(f"FAILED {args.seed}:{number} --format {form}: {what}\n  {why}\n  status {status}; {err.strip() or 'nothing was printed'}")
    if not failures:
        shutil.rmtree(where)
    else:
        for name in load(args.folder):
            shutil.copytree(os.path.join(args.folder, name), os.path.join(where, name), dirs_exist_ok=True)
        options = "".join(f" --{n} {v}" for n, v in (("only", args.only), ("kind", args.kind)) if v)
        print(f"{len(failures)} of {done} failed; _mutate.py replay {where}{options} {args.seed}:NUMBER")
        kinds = {}
        for _, kind, _, _, why, _, _ in failures:
            key = kind, re.sub(r"[\d:].*", "", why)
            kinds[key] = kinds.get(key, 0) + 1
        for (kind, why), n in sorted(kinds.items()):
            print(f"{n:6} {kind}: {why}")
    print(f"seed {args.seed}: {done} mutations, {len(failures)} failures, {time.monotonic() - begun:.1f} s")
    return 1 if failures or done != args.count or any(w.exitcode for w in workers) else 0


def replay(args):
    seed, number = args.trial.rsplit(":", 1)
    limit()
    runs = load(args.folder)
    folder = tempfile.mkdtemp(prefix="accelprof-mutate-")
    clean = Clean(runs, os.path.join(folder, "run"))
    trial = Trial(runs, seed, int(number), args.only, args.kind)
    why, report = judge(trial, os.path.join(folder, "run"), clean)
    write_tree(os.path.join(folder, "run"), trial.files)
    print(f"{trial.what}\nformat {trial.format}, status {report.status}\n{report.err}")
    if trial.format == "json":
        print("loss, undamaged:", json.dumps(clean.reports[trial.run.name, "json"].loss()))
        print("loss, damaged:  ", json.dumps(report.loss()))
    for name, data in (("before", clean.reports[trial.run.name, trial.format].out), ("after", report.out)):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    print(f"{folder} has the damaged run and both reports: before, after")
    print(why or "passed")
    return 1 if why else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("make", "attack", "replay"):
        verb = verbs.add_parser(name)
        verb.add_argument("folder")
        if name == "replay":
            verb.add_argument("trial", help="SEED:N")
        if name != "make":
            verb.add_argument("--only", help="this run alone")
            verb.add_argument("--kind", help="files of this kind alone: " + ", ".join(KINDS))
        if name == "attack":
            verb.add_argument("--seed", default=str(random.randrange(1 << 32)))
            verb.add_argument("--count", type=int, default=1000)
            verb.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    if args.verb == "make":
        make(args.folder)
        return 0
    return attack(args) if args.verb == "attack" else replay(args)


if __name__ == "__main__":
    sys.exit(main())
