#!/usr/bin/env python3
"""Runs a command natively and under accelprof, and compares everything that is visible from outside.

    _compare.py [options] NAME -- COMMAND [ARGUMENT...]

Compared are stdout, stderr (the program's own; accelprof's goes elsewhere), the exit status or
signal, the files in the working directory with their modes and contents, and that no process is
left. Then the account: expected == captured + dropped, and expected is what the program counted
in HARM_TALLY (tests/harm/programs/harm.h).

Each run has a fresh directory. HARM_SEED is the number of the repetition, for native runs and for
those under accelprof. Exit status: 0 if all runs are alike, 1 otherwise.
"""

import argparse
import concurrent.futures
import ctypes
import difflib
import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

NATIVE_RUNS = 3  # the trace must be the same each time: that is what comparisons rest on
FAILURES_SHOWN = 3
PR_SET_CHILD_SUBREAPER = 36

# accelprof writes to stderr too: so the program opens a stderr of its own, natively as well.
OWN_STDERR = ["sh", "-c", 'err=$1; shift; exec "$@" 2>"$err"', "sh"]


def parse(argv):
    at = argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--repeat", type=int, default=1, help="runs under accelprof")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a run may take")
    parser.add_argument("--status", type=int, default=0, help="of native runs; -N: signal N")
    parser.add_argument("--option", action="append", default=[], help="of accelprof run")
    parser.add_argument("--under", default="", help="command that both kinds of run start with")
    parser.add_argument("--native-under", help="the same, of native runs alone")
    parser.add_argument("--disk", metavar="DIR", help="the run goes here, and all but --room"
                        " bytes of its file system are filled until the program has ended")
    parser.add_argument("--room", type=int, default=0)
    parser.add_argument("--marks", action="append", default=[], metavar="NAME=N",
                        help="the report has exactly N marks of this name")
    parser.add_argument("--no-loss", action="store_true", help="nothing may be dropped")
    parser.add_argument("--no-count", action="store_true",
                        help="the program does not count: the account must add up all the same")
    parser.add_argument("--at-least", type=int, default=0, help="events expected at least")
    parser.add_argument("--differs", action="append", default=[], metavar="WHAT=TEXT",
                        help="documented difference: status, stdout, stderr or files must differ,"
                        " and this is how: the status, or a part of the text")
    args = parser.parse_args(argv[:at])
    args.command = argv[at + 1:]
    args.differs = dict(d.split("=", 1) for d in args.differs)
    return args


class Observed:
    """The observable results of one run."""

    def __init__(self):
        self.status = None
        self.stdout = self.stderr = b""
        self.files = {}
        self.left = []  # processes that did not end
        self.hung = False
        self.trouble = []  # what was wrong whatever the other run did


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def tree(folder):
    """Returns type, mode and content of every file below the folder."""
    found = {}
    for where, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(where, name)
            st = os.lstat(path)
            content = b""
            if stat.S_ISREG(st.st_mode):
                content = read(path)
            elif stat.S_ISLNK(st.st_mode):
                content = os.readlink(path).encode()
            found[os.path.relpath(path, folder)] = (oct(st.st_mode), len(content), content)
    return found


def become_reaper():
    """Makes orphans of started processes children of this one, which can wait for them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """Returns the child processes, ended or not."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        fields = read(f"/proc/{entry}/stat").rpartition(b")")[2].split()
        if len(fields) > 1 and int(fields[1]) == os.getpid():
            found.append(int(entry))
    return found


def reap(deadline):
    """Waits for orphans. Returns their number, and those that did not end in time."""
    seen = 0
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return seen, []
        if pid:
            seen += 1
            continue
        if time.monotonic() > deadline:
            break
        time.sleep(0.002)
    left = []
    while True:  # what is killed may leave orphans in turn
        now = children()
        if not now:
            return seen, left
        for pid in now:
            left.append(f"{pid} ({read(f'/proc/{pid}/comm').decode(errors='replace').strip()})")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def observe(command, cwd, out, env, timeout):
    seen = Observed()
    os.mkdir(cwd)
    deadline = time.monotonic() + timeout
    with open(out + ".out", "wb") as stdout, open(out + ".tool", "wb") as tool:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                                   stdout=stdout, stderr=tool, start_new_session=True)
        try:
            seen.status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            seen.trouble.append(f"it did not end within {timeout:.0f} s")
            seen.hung = True
            os.killpg(process.pid, signal.SIGKILL)
            seen.status = process.wait()
            deadline = 0
    seen.out = out
    seen.orphans, seen.left = reap(deadline)
    seen.stdout, seen.stderr = read(out + ".out"), read(out + ".err")
    seen.tool = read(out + ".tool").decode(errors="replace")
    seen.files = tree(cwd)
    return seen


def environment(folder, seed):
    tally = os.path.join(folder, "tally")
    with open(tally, "wb") as file:
        file.write(bytes(16))
    os.chmod(tally, 0o666)  # the program may become another user
    return dict(os.environ, HARM_TALLY=tally, HARM_SEED=str(seed))


def run_native(args, folder, seed):
    become_reaper()
    os.mkdir(folder)
    out = os.path.join(folder, "std")
    under = args.under if args.native_under is None else args.native_under
    command = under.split() + OWN_STDERR + [out + ".err"] + args.command
    return observe(command, os.path.join(folder, "work"), out, environment(folder, seed),
                   args.timeout)


def marks(report, name):
    return sum(row[-1] for tool in report["tools"] for table in tool["tables"]
               if table["name"] == "marks" for row in table["rows"] if row[0] == name)


def check_account(args, seen, run, begun, ended):
    """Checks that the report accounts for each event that the program emitted."""
    path = os.path.join(run, "results", "report.json")
    shards = os.path.join(run, "shards")
    late = seen.orphans or any(name.endswith(".ring") for name in os.listdir(shards))
    if late or not os.path.exists(path):  # what outlived the run is in a later report
        path = os.path.join(os.path.dirname(seen.out), "report.json")
        done = subprocess.run([os.environ["ACCELPROF"], "report", run, "--format", "json", "-t",
                               "regions", "-o", path], stderr=subprocess.PIPE, text=True)
        if not os.path.exists(path):
            if ended or args.marks or args.at_least:
                seen.trouble.append(f"{ended} events were emitted and there is no report "
                                    f"(status {done.returncode}): {done.stderr.strip()}")
            return (0, 0, 0)
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    loss = report["loss"]
    expected, captured, dropped = loss["expected"], loss["captured"], loss["dropped"]
    if expected != captured + dropped:
        seen.trouble.append(f"expected {expected} is not captured {captured} + dropped {dropped}")
    if not args.no_count and not ended <= expected <= begun:
        seen.trouble.append(f"the program emitted {ended} to {begun} events; the report has "
                            f"expected {expected}, captured {captured}, dropped {dropped}")
    if expected < args.at_least:
        seen.trouble.append(f"expected {expected} is less than {args.at_least}")
    if args.no_loss and dropped:
        seen.trouble.append(f"{dropped} events were dropped: {loss['reasons']}")
    for mark in args.marks:
        name, _, count = mark.rpartition("=")
        if marks(report, name) != int(count):
            seen.trouble.append(f"marks named {name}: {marks(report, name)}, not {count}")
    return (expected, captured, dropped)


def fill(disk, room):
    """Makes a file that leaves only this much room in its file system."""
    path = os.path.join(disk, "filler")
    size = os.statvfs(disk)
    with open(path, "wb") as file:
        file.write(bytes(max(0, size.f_bavail * size.f_frsize - room)))
    return path


def run_profiled(args, folder, seed):
    become_reaper()
    os.mkdir(folder)
    out, run = os.path.join(folder, "std"), os.path.join(folder, "run")
    filler = None
    if args.disk:
        run = os.path.join(args.disk, "run")
        filler = fill(args.disk, args.room)
    command = (args.under.split() + [os.environ["ACCELPROF"], "run", "-q", "-t", "regions",
               "--record", "all", "-o", run] + args.option + ["--"] + OWN_STDERR + [out + ".err"] +
               args.command)
    seen = observe(command, os.path.join(folder, "work"), out, environment(folder, seed),
                   args.timeout)
    if filler:
        os.unlink(filler)
    with open(os.path.join(folder, "tally"), "rb") as file:
        begun, ended = struct.unpack("QQ", file.read(16))
    if os.path.isdir(os.path.join(run, "shards")):
        seen.account = check_account(args, seen, run, begun, ended)
    else:
        seen.account = (0, 0, 0)
        seen.trouble.append("there is no run")
    if filler:
        shutil.rmtree(run, ignore_errors=True)
    return seen


def show(text):
    return text.decode(errors="backslashreplace").splitlines()


def text_difference(native, profiled):
    lines = list(difflib.unified_diff(show(native), show(profiled), "native", "under accelprof",
                                      lineterm="", n=1))
    return "\n".join(lines[:24])


def files_difference(native, profiled):
    lines = []
    for name in sorted(set(native) | set(profiled)):
        a, b = native.get(name), profiled.get(name)
        if a != b:
            lines.append(f"{name}: native {a[:2] if a else 'absent'}, "
                         f"under accelprof {b[:2] if b else 'absent'}")
            if a and b and a[:2] == b[:2]:
                at = next(i for i, (x, y) in enumerate(zip(a[2], b[2])) if x != y)
                lines.append(f"  from byte {at}: {a[2][at:at + 32]!r}, {b[2][at:at + 32]!r}")
    return "\n".join(lines[:24])


def differences(native, seen):
    """Returns a dictionary: what differs -> how."""
    found = {}
    if native.status != seen.status:
        found["status"] = f"native {native.status}, under accelprof {seen.status}"
    for what in ("stdout", "stderr"):
        if getattr(native, what) != getattr(seen, what):
            found[what] = text_difference(getattr(native, what), getattr(seen, what))
    if native.files != seen.files:
        found["files"] = files_difference(native.files, seen.files)
    return found


def judge(args, native, seen):
    """Returns what is wrong with a run, one text for each problem."""
    wrong = list(seen.trouble)
    if seen.left:
        wrong.append(f"processes are left: {', '.join(seen.left)}")
    found = differences(native, seen)
    for what, how in args.differs.items():
        if what not in found:
            wrong.append(f"{what} does not differ any more: the table of differences is outdated")
        elif what == "status" and str(seen.status) != how or how not in found[what] + str(
                seen.status):
            wrong.append(f"{what} differs in another way than documented ({how}): {found[what]}")
    wrong += [f"{what} differs:\n{how}" for what, how in found.items() if what not in args.differs]
    return wrong


def reference(args, top):
    """Makes native runs, which must be equal."""
    runs = [run_native(args, os.path.join(top, f"native{i}"), i)
            for i in range(min(NATIVE_RUNS, args.repeat))]
    for other in runs:
        wrong = judge(argparse.Namespace(differs={}), runs[0], other)
        if wrong:
            print(f"FAILED: {args.name}: the test itself: native runs differ, or fail")
            print("\n".join(wrong))
            return None
    if runs[0].status != args.status:
        print(f"FAILED: {args.name}: the test itself: natively its status is {runs[0].status}, "
              f"not {args.status}")
        print("\n".join(show(runs[0].stdout + runs[0].stderr)))
        return None
    return runs[0]


def repeat(args, top, native):
    """Makes all runs under accelprof. Returns how many differed, and the sums of their event counts."""
    failures, sums = 0, [0, 0, 0]
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        todo = {pool.submit(run_profiled, args, os.path.join(top, f"run{i}"), i): i
                for i in range(args.repeat)}
        for done in concurrent.futures.as_completed(todo):
            number, seen = todo[done], done.result()
            sums = [a + b for a, b in zip(sums, seen.account)]
            wrong = judge(args, native, seen)
            if wrong:
                failures += 1
                if failures <= FAILURES_SHOWN:
                    print(f"FAILED: {args.name}, run {number} of {args.repeat}:")
                    print("\n".join(f"  {line}" for text in wrong for line in text.splitlines()))
                    if seen.tool.strip():
                        print("  accelprof: " + seen.tool.strip().replace("\n", "\n  "))
                if failures == FAILURES_SHOWN or seen.hung:  # a hang takes its time
                    for other in todo:
                        other.cancel()
                    break
            shutil.rmtree(os.path.join(top, f"run{number}"), ignore_errors=True)
    return failures, sums


def main():
    args = parse(sys.argv[1:])
    os.umask(0o022)
    become_reaper()
    with tempfile.TemporaryDirectory(prefix="harm-", ignore_cleanup_errors=True) as top:
        os.chmod(top, 0o755)
        native = reference(args, top)
        if native is None:
            return 1
        failures, sums = repeat(args, top, native)
    if failures:
        print(f"FAILED: {args.name}: at least {failures} of {args.repeat} runs")
        return 1
    known = "".join(f"; {what} differs as documented" for what in args.differs)
    print(f"{args.name}: {args.repeat} runs as natively{known}; "
          f"expected {sums[0]}, captured {sums[1]}, dropped {sums[2]}")
    return 0


sys.exit(main())
