#!/usr/bin/env python3
"""_files.py - links, pipes, owners and races against every path that accelprof opens.

	_files.py RUNS [races N]    RUNS: the folder that _mutate.py make has made

Works in the current folder. With races, runs only the races, with N reports for each path.

Each attack has a box: a run to attack, a folder of victims beside it, a folder for temporary files
and one for outputs. After each command the victims must be unchanged, there must be no new files, the
folder for temporary files must be empty, and accelprof must have ended by itself. If the report
differs from that before the attack, accelprof must have printed the reason.

Attacks that need root (other owners, devices) are skipped for ordinary users, with a message.
"""
import ctypes
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile

import _mutate

ACCELPROF, BUILD, SRC = _mutate.ACCELPROF, _mutate.BUILD, _mutate.SRC
HANG_S = int(os.environ.get("HARM_HANG_S", "60"))  # no command here takes a second
NOBODY = 65534
AT_FDCWD, RENAME_EXCHANGE, PR_SET_PDEATHSIG = -100, 2, 1
ROOT = os.geteuid() == 0
libc = ctypes.CDLL(None, use_errno=True)
failures = 0
trials = 0


def failed(what, why):
    global failures
    failures += 1
    print(f"FAILED: {what}: {why}")


def make_parent(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)


def write(path, data):
    make_parent(path)
    with open(path, "wb") as f:
        f.write(data)
    os.utime(path, (1500000000, 1500000000))


def look(path):
    """Returns mode, owner and content of a path, without following links."""
    st = os.lstat(path)
    kind = stat.S_IFMT(st.st_mode)
    content = None
    if kind == stat.S_IFREG:
        try:
            with open(path, "rb") as f:
                content = f.read()
        except PermissionError:
            content = None
    elif kind == stat.S_IFLNK:
        content = os.readlink(path)
    return st.st_mode, st.st_uid, st.st_gid, content


def look_below(folder):
    """Returns look() of everything in a folder, by path."""
    seen = {}
    for at, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(at, name)
            seen[path] = look(path)
    return seen


def difference(before, after):
    """Returns a description of the difference, or None."""
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            return f"{path} was removed"
        if path not in before:
            return f"{path} is new"
        if before[path] != after[path]:
            return f"{path} has changed"
    return None


class Done:
    """A command that has ended: status, out, err; hung is true if it had to be killed."""

    def __init__(self, command, cwd, env=None, user=None):
        who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **who,
        )
        try:
            self.out, err = process.communicate(timeout=HANG_S)
            self.hung = False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.out, err = process.communicate()
            self.hung = True
        self.status, self.err = process.returncode, err.decode(errors="replace")


class Box:
    """A run, and the files that must not change."""

    def __init__(self, runs, name, owner=None):
        self.top = tempfile.mkdtemp(prefix="box-", dir=os.getcwd())
        os.chmod(self.top, 0o755)
        self.victim, self.run = self.path("victim"), self.path("run")
        self.name = name
        for made in ("victim/dir", "victim/empty", "tmp", "out"):
            os.makedirs(self.path(made))
        os.chmod(self.path("tmp"), 0o1777)
        os.chmod(self.path("out"), 0o1777)
        write(self.path("victim/precious.txt"), b"What took a year to write.\n" * 200)
        for what in ("precious.ring", "precious.pst", "notes.txt"):
            write(self.path(f"victim/dir/{what}"), b"Not a file of accelprof.\n" * 4000)
        if name:
            _mutate.write_tree(self.run, runs[name].files)
        if owner is not None:
            for at, folders, names in os.walk(self.run):
                for one in ["."] + folders + names:
                    os.lchown(os.path.join(at, one), owner, owner)
        self.before = None

    def path(self, name):
        return os.path.join(self.top, name)

    def arm(self):
        """From now on, nothing outside of the run and the outputs may change."""
        self.before = self.outside()

    def outside(self):
        return {**look_below(self.victim), **look_below(self.path("tmp"))}

    def check(self, what, done, statuses=(0, 1)):
        """Checks what must hold after any command."""
        global trials
        trials += 1
        if done.hung:
            failed(what, f"it hangs: killed after {HANG_S} s; {done.err}")
        elif done.status < 0:
            failed(what, f"it was killed by signal {-done.status}: {done.err}")
        elif done.status not in statuses:
            failed(what, f"status {done.status}, wanted one of {statuses}: {done.err}")
        changed = difference(self.before, self.outside())
        if changed:
            failed(what, f"outside the run: {changed}")
        if "\x1b" in done.err:
            failed(what, "an escape sequence goes to the terminal")

    def accelprof(self, *arguments, user=None, env=None):
        tmp = {"TMPDIR": self.path("tmp"), **(env or {})}
        return Done([ACCELPROF, *arguments], self.path("out"), tmp, user)

    def report(self, *options, user=None):
        return self.accelprof("report", self.run, "--format", "json", *options, user=user)

    def remove(self):
        for at, folders, _ in os.walk(self.top):
            for one in folders:
                path = os.path.join(at, one)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
        shutil.rmtree(self.top, ignore_errors=True)


def normal(text, box):
    """Returns a report without the path of its run."""
    return text.replace(box.top.encode(), b"BOX")


# -- Replacements of a path --------------------------------------------------------------------------


def original(box, path):
    """Moves the original file to the victims: it is valid, but not part of the run."""
    to = os.path.join(box.victim, "original-" + os.path.basename(path))
    os.rename(path, to)
    return to


def discard(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def put_link_to_original(box, path):
    os.symlink(original(box, path), path)


def put_link_to_text(box, path):
    discard(path)
    os.symlink(os.path.join(box.victim, "precious.txt"), path)


def put_link_to_nothing(box, path):
    discard(path)
    os.symlink(os.path.join(box.victim, "made"), path)


def put_link_to_folder(box, path):
    discard(path)
    os.symlink(os.path.join(box.victim, "dir"), path)


def put_link_to_itself(_box, path):
    discard(path)
    os.symlink(os.path.basename(path), path)


def put_hard_link_to_original(box, path):
    if os.path.isdir(path):
        return False
    os.link(original(box, path), path)
    return True


def put_hard_link_to_text(box, path):
    discard(path)
    os.link(os.path.join(box.victim, "precious.txt"), path)


def put_fifo(_box, path):
    discard(path)
    os.mkfifo(path)


def put_folder(_box, path):
    discard(path)
    os.makedirs(os.path.join(path, "in it"))


def put_file(_box, path):
    if not os.path.isdir(path):
        return False
    discard(path)
    write(path, b"not a folder\n")
    return True


def put_socket(_box, path):
    discard(path)
    here = os.getcwd()
    os.chdir(os.path.dirname(path))  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(os.path.basename(path))
    os.chdir(here)


def put_device(_box, path):
    if not ROOT:
        return False
    discard(path)
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: it has no end
    except PermissionError:
        return False
    return True


def put_unreadable(_box, path):
    if ROOT:
        return False
    os.chmod(path, 0)
    return True


ATTACKS = [
    put_link_to_original,
    put_link_to_text,
    put_link_to_nothing,
    put_link_to_folder,
    put_link_to_itself,
    put_hard_link_to_original,
    put_hard_link_to_text,
    put_fifo,
    put_folder,
    put_file,
    put_socket,
    put_device,
    put_unreadable,
]


# -- Paths of a run --------------------------------------------------------------------------------


def paths_of(run):
    """Returns every file and every folder of the run."""
    files = sorted(run.files)
    return sorted({os.path.dirname(f) for f in files if "/" in f} | {"results"}) + files


def clean_report(runs, name):
    box = Box(runs, name)
    box.arm()
    done = box.report()
    box.check(f"{name}, without an attack", done, (0,))
    text = normal(done.out, box)
    box.remove()
    return text


def attack_paths(runs, name):
    """Replaces each path of a run in each way, and reads the run with three verbs."""
    want = clean_report(runs, name)
    for path in paths_of(runs[name]):
        for attack in ATTACKS:
            box = Box(runs, name)
            if attack(box, os.path.join(box.run, path)) is False:
                box.remove()
                continue
            what = f"{name}/{path}: {attack.__name__[4:].replace('_', ' ')}"
            box.arm()
            done = box.report()
            box.check(f"{what}: report", done)
            if normal(done.out, box) != want and not done.err:
                failed(what, f"the report differs without a word, status {done.status}")
            box.check(f"{what}: report -o", box.accelprof("report", box.run, "-o", "report.txt"))
            if attack in (put_link_to_original, put_hard_link_to_original, put_fifo):
                box.check(f"{what}: export", box.accelprof("export", box.run, "--to", "sqlite", "-o", "run.db"))
            box.remove()


# -- Owners ----------------------------------------------------------------------------------------


def can_be_used_by(user):
    """Whether another user can execute what was built."""
    done = Done([ACCELPROF, "--version"], "/", user=user) if ROOT else None
    return done is not None and not done.status


def foreign_runs(runs):
    """A run of another user, or one that is read-only, is read completely and not changed."""
    for name in ("live", "raw"):
        want = clean_report(runs, name)
        cases = [("read-only", None, None)]
        if ROOT:
            cases = [("of another user, read by root", NOBODY, None)]
            if can_be_used_by(NOBODY):
                cases.append(("of root, read by another user", 0, NOBODY))
        for what, owner, reader in cases:
            box = Box(runs, name, owner)
            if owner is None:
                for at, folders, names in os.walk(box.run):
                    for one in folders + names:
                        os.chmod(os.path.join(at, one), 0o555 if one in folders else 0o444)
                os.chmod(box.run, 0o555)
            box.arm()
            before = look_below(box.run)
            done = box.report(user=reader)
            box.check(f"{name} {what}", done, (0,))
            if normal(done.out, box) != want:
                failed(f"{name} {what}", f"the report differs: {done.err}")
            changed = difference(before, look_below(box.run))
            if changed:
                failed(f"{name} {what}", f"in the run: {changed}")
            box.remove()


def foreign_files(runs):
    """Single files of another user in one's own run are neither written nor removed."""
    for name in [n for n in sorted(runs["live"].files) if n.startswith("shards/")]:
        box = Box(runs, "live")
        path = os.path.join(box.run, name)
        os.chown(path, NOBODY, NOBODY)
        box.arm()
        before = look(path)
        done = box.report()
        box.check(f"{name} of another user", done)
        if not os.path.exists(path) or look(path) != before:
            failed(f"{name} of another user", "it was changed or removed")
        box.remove()


def private_run(runs):
    """Other users cannot read what was recorded."""
    box = Box(runs, None)
    box.arm()
    done = box.accelprof("run", "-q", "-t", "regions", "-o", box.run, "--", *rings(box, "exit"))
    box.check("a new run", done, (0,))
    mode = stat.S_IMODE(os.stat(box.run).st_mode)
    if mode & 0o077:
        failed("a new run", f"its folder has mode {mode:o}: others can read it")
    box.remove()


# -- Hostile runs and programs ---------------------------------------------------------------------


def rings(box, how):
    return [_mutate.program("rings"), box.path("out/counts"), "2", "20", "0", how]


def precious_rings(runs):
    """accelprof does not remove a file that is not a ring, whatever its name."""
    for where in ("run/shards", "run", "out/folder/shards", "out/folder"):
        for name in ("live", None):
            box = Box(runs, name)
            target = box.path(where.split("/shards")[0])
            texts = {}
            for what in ("precious.ring", "empty.ring", ".ring", "x.ring.damaged", "precious.ring.tmp"):
                path = box.path(f"{where}/{what}")
                write(path, b"" if what == "empty.ring" else b"Not a file of accelprof.\n" * 4000)
                texts[path] = look(path)
            box.arm()
            box.check(f"precious rings in {where}", box.accelprof("report", target, "--format", "json"))
            for path, before in texts.items():
                if not os.path.lexists(path) or look(path) != before:
                    failed(f"precious rings in {where}", f"{os.path.basename(path)} was changed or removed")
            box.remove()


def named_shards(runs):
    """A report on a shard includes its rings, and writes nothing. A truncated shard changes no number
    without a message."""

    def loss(done):
        return json.loads(done.out)["loss"] if done.out else None

    box = Box(runs, "live")
    box.arm()
    shard = os.path.join(box.run, next(n for n in runs["live"].files if n.endswith(".pst")))
    before = look_below(box.run)
    done = box.accelprof("report", shard, "--format", "json")
    box.check("a shard by its name", done, (0,))
    changed = difference(before, look_below(box.run))
    if changed:
        failed("a shard by its name", changed)
    whole = loss(box.report())
    if loss(done) != whole:
        failed("a shard by its name", f"{loss(done)}, and of its run {whole}")
    for at in _mutate.Run(box.run).bounds(os.path.relpath(shard, box.run))[1:-1]:
        with open(shard, "rb") as f:
            write(box.path("out/cut.pst"), f.read()[:at])
        box.check(f"a shard that is cut at {at}", box.accelprof("report", "cut.pst", "--format", "json"), (1,))
    box.remove()


def plugins_of_a_run(runs):
    """A run cannot choose the code that accelprof executes."""
    plugin = os.path.join(BUILD, "tests/programs/plugin_trouble.so")
    for names in (["./plugin_trouble.so"], [plugin], ["../run/plugin_trouble.so"], ["trouble"], ["plugin_trouble.so"]):
        box = Box(runs, "ended")
        for folder in ("run", "run/shards", "out"):
            shutil.copy(plugin, box.path(folder))
        path = os.path.join(box.run, "run.json")
        with open(path, encoding="utf-8") as f:
            info = json.load(f)
        info["tools"] = names
        with open(path, "w", encoding="utf-8") as f:
            json.dump(info, f)
        box.arm()
        done = box.report()
        box.check(f"run.json names the tool {names[0]}", done)
        if done.out and any(t["name"].startswith("trouble") for t in json.loads(done.out)["tools"]):
            failed(f"run.json names the tool {names[0]}", "it was loaded")
        if not done.err:
            failed(f"run.json names the tool {names[0]}", "nothing was printed")
        box.remove()


def names_of_shards(runs):
    """accelprof prints file names without their escape sequences."""
    box = Box(runs, "ended")
    for name in ("a\x1b]0;owned\x07.pst", "b\x1b[31m.ring", "c\nd.pst"):
        write(os.path.join(box.run, "shards", name), b"not a shard" * 10000)
    box.arm()
    box.check("names of shards with escape sequences", box.accelprof("report", box.run))
    # The notes on the control page.
    path = os.path.join(box.run, "control")
    with open(path, "rb") as f:
        page = f.read()
    # Counters and the first message stay as they are.
    text = (b"\x1b]0;owned\x07 escape\x1b[31m\n" * len(page))[: len(page) - 512]
    write(path, page[:512] + text)
    done = box.accelprof("report", box.run)
    box.check("a control page with escape sequences", done)
    if "escape" not in done.err:
        failed("a control page with escape sequences", f"its texts are not shown: {done.err}")
    box.remove()


def deep_run_info(runs):
    """A run.json of 300,000 levels, and others that are large in another way."""
    cases = {
        "deep lists": b"[" * 300000 + b"]" * 300000,
        "deep objects": b'{"a":' * 300000 + b"1" + b"}" * 300000,
        "deep lists without an end": b"[" * 300000,
        "a deep command": b'{"schema": "accelprof-run/1", "command": ' + b"[" * 300000 + b"]" * 300000 + b"}",
        "a long string": b'{"schema": "' + b"x" * 20000000,
        "a long number": b'{"schema": ' + b"9" * 1000000,
    }
    for what, text in cases.items():
        box = Box(runs, "live")
        write(os.path.join(box.run, "run.json"), text)
        box.arm()
        done = box.report()
        box.check(f"run.json: {what}", done, (1,))
        if "run.json" not in done.err:
            failed(f"run.json: {what}", f"the message does not name it: {done.err}")
        box.remove()


def recorded_paths(runs):
    """Files that a shard names, for the names of functions, have been replaced."""
    for attack in (put_fifo, put_folder, put_socket, put_device, put_link_to_itself, put_link_to_text):
        box = Box(runs, None)
        program = box.path("out/program")
        shutil.copy(_mutate.program("fake_cuda"), program)
        shutil.copy(_mutate.program("fake_cupti.so"), box.path("out"))
        fake = {"PASTA_CUPTI": box.path("out/fake_cupti.so"), "CUDA_INJECTION64_PATH": ""}
        made = box.accelprof(
            *("run", "-q", "-t", "kernel_freq,memory", "--stacks", "native=1", "-o", box.run),
            *("--", program, "all", "5"),
            env=fake,
        )
        if made.status or b"fake_cupti.c" not in box.report().out:
            failed("recorded paths", f"no call path, status {made.status}: {made.err}")
        box.arm()
        if attack(box, program) is not False:
            what = f"the program's file: {attack.__name__[4:].replace('_', ' ')}"
            box.check(what, box.report())
            box.check(f"{what}: export", box.accelprof("export", box.run, "--to", "sqlite", "-o", "run.db"))
        box.remove()


def hostile_programs(runs):
    """A program that turns its run's paths into links while it runs."""
    scripts = {
        "temporary files of run.json and the report": 'ln -s "$V/precious.txt" "$PASTA_RUN/run.json.$PPID.tmp";'
        'ln -s "$V/precious.txt" "$PASTA_RUN/results/report.json.$PPID.tmp"',
        "run.json is a link": 'ln -sf "$V/precious.txt" "$PASTA_RUN/run.json"',
        "run.json is a pipe": 'rm "$PASTA_RUN/run.json"; mkfifo "$PASTA_RUN/run.json"',
        "control is a link": 'ln -sf "$V/precious.txt" "$PASTA_RUN/control"',
        "control is a pipe": 'rm "$PASTA_RUN/control"; mkfifo "$PASTA_RUN/control"',
        "control is short": ': >"$PASTA_RUN/control"',
        "results is a link": 'rmdir "$PASTA_RUN/results"; ln -s "$V/dir" "$PASTA_RUN/results"',
        "results is removed": 'rmdir "$PASTA_RUN/results"',
        "shards is a link": 'mv "$PASTA_RUN/shards" "$PASTA_RUN/s"; ln -s "$V/dir" "$PASTA_RUN/shards"',
        "the report is a link": 'ln -s "$V/precious.txt" "$PASTA_RUN/results/report.json"',
        "the report is a pipe": 'mkfifo "$PASTA_RUN/results/report.json"',
        "a shard is a link": 'ln -s "$V/precious.txt" "$PASTA_RUN/shards/x.pst"',
        "the next shard is a link": 'ln -s "$V/made" "$PASTA_RUN/shards/$(hostname)-$$.pst"',
        "the next ring is a link": 'ln -s "$V/made" "$PASTA_RUN/shards/$(hostname)-$$.ring"',
        "the next ring is a pipe": 'mkfifo "$PASTA_RUN/shards/$(hostname)-$$.ring"',
    }
    for what, script in scripts.items():
        for before in (True, False):
            if before and what == "shards is a link":
                continue  # then the program makes its shard there itself
            box = Box(runs, None)
            box.arm()
            emit = f'"{rings(box, "exit")[0]}" counts 2 20 0 exit'
            # exec preserves the process id, which the links' names contain.
            text = f"{script}; exec {emit}" if before else f"{emit}; {script}; exit 0"
            done = box.accelprof("run", "-q", "-t", "regions", "-o", box.run, "--", "sh", "-c", text, env={"V": box.victim})
            box.check(f"the program, {'first' if before else 'last'}: {what}", done, (0,))
            box.check(f"the program, {'first' if before else 'last'}: {what}: report", box.report())
            box.remove()


def exchanged_runs(runs):
    """A program replaces its run by another one, with rings to recover: accelprof run recovers, and
    writes run.json and the report, only in the folder that it made."""
    scripts = {
        "shards is a link for a while": 'mv "$PASTA_RUN/shards" "$PASTA_RUN/s"; ln -s "$V/other/shards" "$PASTA_RUN/shards";'
        'sleep 1.5; rm "$PASTA_RUN/shards"; mv "$PASTA_RUN/s" "$PASTA_RUN/shards"',
        "shards is a link": 'mv "$PASTA_RUN/shards" "$PASTA_RUN/s"; ln -s "$V/other/shards" "$PASTA_RUN/shards"',
        "the run is a link": 'mv "$PASTA_RUN" "$PASTA_RUN.moved"; ln -s "$V/other" "$PASTA_RUN"',
        "the run is another folder": 'mv "$PASTA_RUN" "$PASTA_RUN.moved"; mv "$V/other" "$PASTA_RUN"; sleep 1.5;'
        'mv "$PASTA_RUN" "$V/other"; ln -s "$V/other" "$PASTA_RUN"',
        "the run is elsewhere": 'mv "$PASTA_RUN" "$PASTA_RUN.moved"',
    }
    for what, script in scripts.items():
        box = Box(runs, None)
        _mutate.write_tree(box.path("victim/other"), runs["live"].files)
        box.arm()
        emit = f'"{rings(box, "exit")[0]}" counts 2 20 0 exit'
        command = ("sh", "-c", f"{emit}; {script}; exit 0")
        done = box.accelprof("run", "-q", "-t", "regions", "-o", box.run, "--", *command, env={"V": box.victim})
        box.check(f"the program: {what}", done, (0,))
        if "run is" in what:
            for name in ("run.json", "results/report.json"):
                path = os.path.join(box.run + ".moved", name)
                if not os.path.exists(path) or (name == "run.json" and b'"ended"' not in look(path)[3]):
                    failed(f"the program: {what}", f"{name} is not in the run: {done.err}")
        box.remove()


# -- Outputs ---------------------------------------------------------------------------------------


def output_files(runs):
    """-o FILE in a world-writable folder: accelprof follows the user's own link, but not a link of
    another user."""
    verbs = {
        "report": ("report", "{run}", "-o", "{out}"),
        "report --format json": ("report", "{run}", "--format", "json", "-o", "{out}"),
        "export": ("export", "{run}", "--to", "sqlite", "-o", "{out}"),
        "export --force": ("export", "{run}", "--to", "sqlite", "--force", "-o", "{out}"),
    }
    targets = [put_hard_link_to_text, put_folder, put_link_to_itself]
    targets += [put_link_to_text, put_link_to_nothing, put_link_to_folder, put_fifo] if ROOT else []
    for verb, words in verbs.items():
        for target in targets:
            box = Box(runs, "ended")
            out = box.path("out/file")
            write(out, b"")
            target(box, out)
            if ROOT and target != put_hard_link_to_text:
                os.lchown(out, NOBODY, NOBODY)
            box.arm()
            done = box.accelprof(*(w.format(run=box.run, out=out) for w in words))
            what = f"{verb} -o {target.__name__[4:].replace('_', ' ')}"
            box.check(what, done)
            if done.status and not done.err:
                failed(what, "no message")
            box.remove()


def outputs_that_are_no_files(runs):
    """accelprof follows a link to a pipe or a terminal."""
    box = Box(runs, "ended")
    box.arm()
    want = box.report()
    for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        done = box.report("-o", path)
        box.check(f"report -o {path}", done, (0,))
        if done.out != want.out:
            failed(f"report -o {path}", "not what goes to standard output")
    box.check("report -o /dev/null", box.report("-o", "/dev/null"), (0,))
    box.remove()


def temporary_names(runs):
    """Names of temporary files are unpredictable; existing ones are not used."""
    for verb in ("report {run} -o {out}", "report {run} --format json -o {out}", "export {run} --to sqlite -o {out}"):
        for link in (True, False):
            box = Box(runs, "ended")
            out = box.path("out/file")
            box.arm()
            put = f'ln -s "{box.victim}/precious.txt"' if link else f'ln "{box.victim}/precious.txt"'
            names = " ".join(f'"{out}.$${s}"' for s in (".tmp", "", "-tmp", "-journal"))
            script = f'for n in {names} "{out}-journal" "{out}.tmp"; do {put} "$n"; done; exec "$0" {verb.format(run=box.run, out=out)}'
            done = Done(["sh", "-c", script, ACCELPROF], box.path("out"), {"TMPDIR": box.path("tmp")})
            box.check(f"a temporary name is there already: {verb}", done)
            box.remove()


def output_folders(runs):
    """-o DIR of run and import: a new folder, or an empty one of the user."""
    trace = os.path.join(SRC, "tests/data/import/kineto-cuda.json")

    def foreign_empty(box, path):
        os.rmdir(path)
        os.mkdir(path, 0o777)
        os.chown(path, NOBODY, NOBODY)

    def foreign_link(box, path):
        os.rmdir(path)
        os.symlink(os.path.join(box.victim, "empty"), path)
        os.lchown(path, NOBODY, NOBODY)

    targets = [put_link_to_text, put_link_to_nothing, put_link_to_folder, put_link_to_itself, put_fifo, put_file, put_socket, put_folder]
    targets += [foreign_empty, foreign_link] if ROOT else []
    for target in targets:
        for verb in ("run", "import"):
            box = Box(runs, None)
            out = box.path("out/folder")
            os.mkdir(out)
            target(box, out)
            before = look_below(box.path("out"))
            box.arm()
            what = f"{verb} -o {target.__name__.replace('put_', '').replace('_', ' ')}"
            if verb == "run":
                done = box.accelprof("run", "-o", out, "--", "touch", box.path("tmp/started"))
                box.check(what, done, (125,))
            else:
                done = box.accelprof("import", trace, "-o", out)
                box.check(what, done, (1,))
            if "folder" not in done.err:
                failed(what, f"the message does not name it: {done.err}")
            changed = difference(before, look_below(box.path("out")))
            if changed:
                failed(what, changed)
            box.remove()


def import_folders(runs):
    """Other files among traces are skipped, and accelprof does not wait for a pipe."""
    for attack in (put_fifo, put_socket, put_device, put_link_to_itself, put_link_to_text, put_link_to_nothing, put_folder):
        box = Box(runs, None)
        traces = box.path("out/traces")
        os.mkdir(traces)
        shutil.copy(os.path.join(SRC, "tests/data/import/kineto-cuda.json"), traces)
        write(os.path.join(traces, "b.json"), b"")
        if attack(box, os.path.join(traces, "b.json")) is not False:
            box.arm()
            what = f"a folder of traces: {attack.__name__[4:].replace('_', ' ')}"
            box.check(f"{what}: import", box.accelprof("import", traces, "-o", box.run))
            box.check(f"{what}: report", box.accelprof("report", traces))
            left = os.listdir(box.path("tmp"))
            if left:
                failed(what, f"left in the folder for temporary files: {left}")
        box.remove()


# -- Races -----------------------------------------------------------------------------------------


def exchange(a, b):
    return libc.renameat2(AT_FDCWD, a.encode(), AT_FDCWD, b.encode(), RENAME_EXCHANGE)


def for_ever(change):
    """Starts a process that repeats change. Returns its id once it has begun."""
    read, written = os.pipe()
    pid = os.fork()
    if not pid:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        change()
        os.write(written, b"!")
        while True:
            change()
    os.close(written)
    os.read(read, 1)
    os.close(read)
    return pid


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def exchange_for_ever(a, b):
    """Exchanges two paths as fast as possible."""
    a, b = a.encode(), b.encode()
    call = libc.renameat2
    return for_ever(lambda: call(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE))


def races(runs, count):
    """A path alternates between a file of the run and a link to a victim, while reports run."""
    shards = sorted(n for n in runs["live"].files if n.startswith("shards/"))
    box = Box(runs, "live")
    other = box.path("run/other")
    os.symlink(box.path("victim/precious.txt"), other)
    usable = not exchange(other, os.path.join(box.run, "control"))
    box.remove()
    if not usable:
        print("left out: races: the file system cannot exchange two names")
        return
    for path in [*shards, "shards", "run.json", "control", "results"]:
        for other_is in ("link to original", "fifo"):
            race(runs, path, other_is, count)


def race(runs, path, other_is, count):
    global trials
    what = f"race: {path} and a {other_is}"
    box = Box(runs, "live")
    target, other = os.path.join(box.run, path), box.path("out/other")
    same = os.path.join(box.victim, "same")
    (shutil.copytree if os.path.isdir(target) else shutil.copy2)(target, same)
    box.arm()
    for _ in range(count):
        _mutate.write_tree(box.run, runs["live"].files)
        if os.path.lexists(other):
            discard(other)
        if other_is == "fifo":
            os.mkfifo(other)
        else:
            os.symlink(same, other)
        attacker = exchange_for_ever(target, other)
        done = box.report()
        end(attacker)
        known = failures
        box.check(what, done)
        if failures > known:
            break  # once is enough
    box.remove()


def cut_for_ever(path, data):
    """Truncates a file at all offsets and restores it, repeatedly."""
    fd = os.open(path, os.O_RDWR)

    def cut():
        for at in range(0, len(data), max(len(data) // 29, 1)):
            os.ftruncate(fd, at)
            os.pwrite(fd, data[at:], at)

    pid = for_ever(cut)
    os.close(fd)
    return pid


def cuts(runs, count):
    """Files shrink while accelprof reads them: an error, not a crash."""
    for name in ("live", "raw"):
        for path in [n for n in sorted(runs[name].files) if not n.startswith("results/")]:
            box = Box(runs, name)
            box.arm()
            for _ in range(count):
                _mutate.write_tree(box.run, runs[name].files)
                attacker = cut_for_ever(os.path.join(box.run, path), runs[name].files[path])
                done = box.report()
                end(attacker)
                box.check(f"{name}/{path} is cut while it is read", done)
            box.remove()


def main():
    runs = _mutate.load(sys.argv[1])
    os.umask(0o022)
    if sys.argv[2:3] == ["races"]:
        races(runs, int(sys.argv[3]))
        cuts(runs, int(sys.argv[3]))
    else:
        for name in ("live", "ended", "raw", "modules"):
            attack_paths(runs, name)
        foreign_runs(runs)
        if ROOT:
            foreign_files(runs)
        else:
            print("left out: files of other users, and devices: only root can make them")
        for attack in (private_run, precious_rings, named_shards, plugins_of_a_run, names_of_shards, deep_run_info):
            attack(runs)
        for attack in (recorded_paths, hostile_programs, exchanged_runs, output_files, outputs_that_are_no_files):
            attack(runs)
        for attack in (temporary_names, output_folders, import_folders):
            attack(runs)
        races(runs, 10)
        cuts(runs, 10)
    print(f"{trials} commands under attack, {failures} failures")
    return failures > 0


sys.exit(main())
