#!/usr/bin/env python3
"""_kills.py - kill the program, accelprof run, both, or accelprof report, in every phase.

	_kills.py [--seed S] KILLS        in the current folder

Records a program that counts its own calls in a file, kills it or accelprof, and reports on the
run. In every case expected = captured + dropped, nothing is damaged, and expected is what the program
counted (plus one for a call that was interrupted). Killing a report changes nothing, and two reports
are equal, one after the other or at the same time.

Most kills come before or after a system call that has an effect outside of the process, which killat
counts: so every moment at which files change is reached, however busy the machine is. Other kills
come at random times, in a program that emits without a pause.
"""
import argparse
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

ACCELPROF = os.environ["ACCELPROF"]
BUILD = os.environ["BUILD"]
HANG_S = 120
THREADS = 2
FIRST_OF_CHILD, PIDS = 256, 400  # in the file of counts
kills = 0
failures = 0


def program(name):
    for folder in ("tests/harm", "tests/programs"):
        path = os.path.join(BUILD, folder, name)
        if os.path.exists(path):
            return path
    sys.exit(f"{name} is not built")


def failed(what, why):
    global failures
    failures += 1
    print(f"FAILED: {what}: {why}")


def report(folder, *options):
    """Returns status, text and errors of a report."""
    done = subprocess.run(
        [ACCELPROF, "report", folder, "--format", "json", *options], capture_output=True, check=False, timeout=HANG_S
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def counted(path):
    """Returns how many calls of the program returned."""
    try:
        with open(path, "rb") as f:
            words = struct.unpack("512Q", f.read())
    except (FileNotFoundError, struct.error):
        return 0  # it was killed before it had the file
    return sum(words[:64]) + sum(words[FIRST_OF_CHILD : FIRST_OF_CHILD + 64])


def check_account(what, text, count):
    """Checks that each emitted event is captured or dropped."""
    loss = json.loads(text)["loss"]
    if loss["expected"] != loss["captured"] + loss["dropped"]:
        failed(what, f"it does not add up: {loss}")
    if loss["reasons"]["damaged"] or loss["damaged_bytes"]:
        failed(what, f"a kill is no damage: {loss}")
    if not count <= loss["expected"] <= count + THREADS:
        failed(what, f"the program counted {count}: {loss}")


def check_run(what, folder, count):
    """Reports on what a kill left. Returns the text, or None if nothing was recorded."""
    status, text, errors = report(folder)
    if not text:
        if count or status != 1:
            failed(what, f"no report, but the program counted {count}: status {status}: {errors}")
        return None
    if status:
        failed(what, f"status {status}: {errors}")
    check_account(what, text, count)
    left = [n for n in os.listdir(os.path.join(folder, "shards")) if not n.endswith(".pst")]
    if left:
        failed(what, f"left in shards: {left}")
    again = report(folder)
    if again[1] != text:
        failed(what, f"the second report differs: {again[2]}")
    return text


def moments(command):
    """Returns the number of moments at which killat can kill a command."""
    read, write = os.pipe()
    process = subprocess.Popen(
        ["sh", "-c", f'exec 3>&{write}; exec "$0" 0 "$@"', program("killat"), *command],
        pass_fds=[write],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read, encoding="ascii") as f:
        text = f.read()
    if process.wait(HANG_S) == 77 or not text:
        print("skipped: the system does not permit ptrace, or is older than Linux 5.3")
        sys.exit(77)
    return int(text)


def recording(folder, memory="1M"):
    """Returns the accelprof run that precedes a command. With little memory the writer is busy."""
    return [ACCELPROF, "run", "-q", "-t", "regions", "--record", "all", "--memory", memory, "-o", folder, "--"]


def record(folder, command, before=()):
    """Records a command, and waits for all its processes. Returns the status."""
    process = subprocess.Popen(
        [*before, *recording(folder), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process.stdout as f:
        f.read()  # the program has it too, and may outlive accelprof
    return process.wait(HANG_S)


def rings(counts, how="exit", before=120, after=0):
    return [program("rings"), counts, str(THREADS), str(before), str(after), how]


def forget(folder, counts):
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(counts):
        os.unlink(counts)


def kill_program(at):
    """Kills the program at a moment of its agent: attach, emit, write."""
    global kills
    folder, counts = f"program-{at}", f"program-{at}.counts"
    kills += 1
    status = record(folder, [program("killat"), str(at), *rings(counts)])
    if status not in (0, -9, 137):
        failed(f"program at {at}", f"status {status}")
    check_run(f"program killed at moment {at}", folder, counted(counts))
    forget(folder, counts)


def kill_run(at):
    """Kills accelprof run at one of its moments: before, during and after the program."""
    global kills
    folder, counts = f"run-{at}", f"run-{at}.counts"
    kills += 1
    record(folder, rings(counts), [program("killat"), str(at)])
    what = f"accelprof run killed at moment {at}"
    if os.path.isdir(os.path.join(folder, "shards")):
        check_run(what, folder, counted(counts))
        for name in ("run.json", "results/report.json"):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    json.load(f)  # whole, or not there
    elif counted(counts):
        failed(what, "the program recorded, and there is no run")
    forget(folder, counts)


def kill_report(folder, at, reference):
    """Kills accelprof report at one of its moments: while it recovers, reads and writes."""
    global kills
    copy = f"report-{at}"
    shutil.copytree(folder, copy)
    kills += 1
    done = subprocess.run(
        [program("killat"), str(at), ACCELPROF, "report", copy, "--format", "json", "-o", copy + ".json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=HANG_S,
    )
    what = f"accelprof report killed at moment {at}"
    if done.returncode not in (0, -9):
        failed(what, f"status {done.returncode}")
    if os.path.exists(copy + ".json"):
        with open(copy + ".json", encoding="utf-8") as f:
            if f.read().replace(f'"{copy}"', f'"{folder}"') != reference:
                failed(what, "what it wrote differs from the report of a copy")
        os.unlink(copy + ".json")
    status, text, errors = report(copy)
    if status or text.replace(f'"{copy}"', f'"{folder}"') != reference:
        failed(what, f"the next report differs: status {status}: {errors}")
    shutil.rmtree(copy)
    for name in os.listdir():
        if name.startswith(copy):
            os.unlink(name)  # a temporary file of the one that was killed


def report_together(folder, reference, count=4):
    """Runs several reports at once: each shows everything, whichever of them recovers."""
    copy = "together"
    shutil.copytree(folder, copy)
    begun = [
        subprocess.Popen(
            [ACCELPROF, "report", copy, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(count)
    ]
    for process in begun:
        text, errors = process.communicate(timeout=HANG_S)
        if process.returncode or errors or text.decode().replace(f'"{copy}"', f'"{folder}"') != reference:
            failed("reports at the same time", f"one differs: status {process.returncode}: {errors.decode()}")
    if report(copy)[1].replace(f'"{copy}"', f'"{folder}"') != reference:
        failed("reports at the same time", "the one after them differs")
    shutil.rmtree(copy)


def wait_for_pid(path):
    """Returns the program's process id, once it has begun to count."""
    limit = time.monotonic() + HANG_S
    while time.monotonic() < limit:
        try:
            with open(path, "rb") as f:
                pid = struct.unpack("512Q", f.read())[PIDS]
            if pid:
                return pid
        except (FileNotFoundError, struct.error):
            pass
        time.sleep(0.0005)
    sys.exit("the program did not start")


def flooded(rng, number):
    """Kills a program that emits without a pause at a random time, and accelprof before it, at the
    same time, or not at all. Then kills reports at random times."""
    global kills
    folder, counts = f"flood-{number}", f"flood-{number}.counts"
    process = subprocess.Popen(
        [*recording(folder, rng.choice(["1M", "8M"])), *rings(counts, "endless", 0)],
        stderr=subprocess.PIPE,
    )
    pid = wait_for_pid(counts)
    who = rng.choice(["program", "both", "accelprof first"])
    time.sleep(rng.choice([0, 0.002, 0.01, 0.06]) * rng.random())
    if who != "program":
        os.kill(process.pid, signal.SIGKILL)
        kills += 1
    if who == "accelprof first":
        time.sleep(0.03 * rng.random())
    os.kill(pid, signal.SIGKILL)
    kills += 1
    errors = process.communicate(timeout=HANG_S)[1]
    what = f"flood {number}: {who} killed"
    if process.returncode != -9:
        failed(what, f"status {process.returncode}: {errors.decode()}")
    wait_gone(pid)
    if who != "program":
        for _ in range(3):
            begun = subprocess.Popen([ACCELPROF, "report", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.03 * rng.random())
            begun.kill()
            begun.wait(HANG_S)
            kills += 1
    check_run(what, folder, counted(counts))
    forget(folder, counts)


def wait_gone(pid):
    """Waits for an orphan's end. Another process reaps it; a zombie counts as ended."""
    limit = time.monotonic() + HANG_S
    while time.monotonic() < limit:
        try:
            with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
                if f.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.001)
    sys.exit(f"{pid} does not end")


def abandoned(folder):
    """Makes a run whose processes and accelprof are dead, and which is not recovered. Returns the
    report on it."""
    record(folder, rings(f"{folder}.counts", "fork", 25, 7))
    shutil.copytree(folder, "reference")
    text = check_run(f"{folder}, as it was left", "reference", counted(f"{folder}.counts"))
    shutil.rmtree("reference")
    return text.replace('"reference"', f'"{folder}"')


FULL = """
mount -t tmpfs -o size=8m none disk && cp -a left-1 disk/left-1 || exit 77
free=$(df --output=avail -k disk | tail -n 1)
head -c $(((free - $1) * 1024)) /dev/zero >disk/filler || exit 77
"$ACCELPROF" report disk/left-1 --format json >full.out 2>full.err
echo $? >full.status
rm disk/filler
"$ACCELPROF" report disk/left-1 --format json >freed.out 2>freed.err
"""


def full_disk(room, reference):
    """Recovers onto a disk with this much room, in KiB; then the disk has room again. Returns False
    if the user may not mount one."""
    os.makedirs("disk", exist_ok=True)
    done = subprocess.run(["unshare", "-m", "sh", "-c", FULL, "sh", str(room)], capture_output=True, check=False, timeout=HANG_S)
    if done.returncode == 77 or b"unshare" in done.stderr:
        return False
    what = f"a disk with {room} KiB of room"
    texts = {}
    for name in ("full.out", "full.err", "full.status", "freed.out", "freed.err"):
        with open(name, encoding="utf-8") as f:
            texts[name] = f.read().replace('"disk/left-1"', '"left-1"')
    if texts["full.out"] != reference and not texts["full.err"]:
        failed(what, "the report differs without a word")
    if int(texts["full.status"]) not in (0, 1):
        failed(what, f"status {texts['full.status']}")
    if texts["freed.out"] != reference:
        failed(what, f"events are dropped: {texts['full.err']}{texts['freed.err']}")
    return True


def spread(rng, last, count):
    """Returns count of the moments up to the last, evenly spread; all if there are fewer."""
    if last <= count:
        return range(1, last + 1)
    return [int(1 + (i + rng.random()) * last / count) for i in range(count)]


def kill_reports(rng, budget):
    number = 0
    while budget > 0:
        number += 1
        reference = abandoned(f"left-{number}")
        if number == 1 and not all([full_disk(room, reference) for room in (0, 4, 8, 12, 16, 32)]):
            print("left out: full disks: only root can mount one")
        for _ in range(10):
            report_together(f"left-{number}", reference)
        shutil.copytree(f"left-{number}", "measured")
        last = moments([ACCELPROF, "report", "measured", "--format", "json", "-o", "measured.json"])
        shutil.rmtree("measured")
        for at in spread(rng, last, budget):
            kill_report(f"left-{number}", at, reference)
            budget -= 1
        forget(f"left-{number}", f"left-{number}.counts")


def kill_programs(rng, budget):
    counting = ["sh", "-c", 'exec "$0" "$@" 3>moments', program("killat"), "0"]
    while budget > 0:
        if record("measured", [*counting, *rings("measured.counts")]):
            sys.exit("the program cannot be recorded")
        with open("moments", encoding="ascii") as f:
            last = int(f.read())
        forget("measured", "measured.counts")
        for at in spread(rng, last, budget):
            kill_program(at)
            budget -= 1


def kill_runs(rng, budget):
    while budget > 0:
        last = moments([*recording("measured"), *rings("measured.counts")])
        forget("measured", "measured.counts")
        for at in spread(rng, last, budget):
            kill_run(at)
            budget -= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", default="1")
    parser.add_argument("kills", type=int)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    kill_reports(rng, args.kills * 40 // 100)
    kill_programs(rng, args.kills * 30 // 100)
    kill_runs(rng, args.kills * 15 // 100)
    number = 0
    while kills < args.kills:
        flooded(rng, number)
        number += 1
    print(f"seed {args.seed}: {kills} kills, {failures} failures")
    return failures > 0


sys.exit(main())
