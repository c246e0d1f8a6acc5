"""python_flame.py ACCELPROF FILE... - time by Python in traces, against intervals alone.

A kernel's Python is what was running on the thread of its launch when it was launched. In the
backward pass, in which operators have a forward thread, and on threads that run no Python, it is
what was running when the last operator began that has the sequence number of an operator around the
launch, the innermost such operator's. The host time of an operator has the Python of the operator.
"""
import collections
import json
import re
import subprocess
import sys

import _trace_oracle as oracle

accelprof, *files = sys.argv[1:]
wrong = 0


def equal(what, got, wanted):
    global wrong
    for key in sorted(set(got) | set(wanted), key=str):
        if got.get(key) != wanted.get(key):
            wrong += 1
            print(f"FAILED: {what}: {key}: got {got.get(key)}, wanted {wanted.get(key)}")


def frame_of(name):
    """Function, file and line of a frame."""
    m = re.fullmatch(r"(.+?)\((\d+)\): (.*)", name, re.DOTALL)
    return (m[3], m[1], int(m[2])) if m else (name, "", 0)


def text(name):
    function, file, line = frame_of(name)
    return f"{function} ({file.rsplit('/', 1)[-1]}:{line})" if file else function


PACKAGES = {"torch", "transformers", "tqdm"}  # those of the traces


def is_library(file):
    """Whether a file is one of Python's or of a package; the folders of sys.path may be missing."""
    first = file.split("/")[0]
    return first in PACKAGES or first.removesuffix(".py") in sys.stdlib_module_names or \
        re.search("/(site|dist)-packages/|/lib/python[0-9]", file) is not None


def line_of(frames, library=True):
    """The innermost that is in a file, of frames from the innermost; not library: of the program,
    if there is one."""
    found = [f for f in map(frame_of, frames)
             if f[1] and f[1][0] != "<" and not f[0].startswith("<built-in")]
    user = [f for f in found if not is_library(f[1])]
    return ((not library and user) or found or [None])[0]


class Trace:
    def __init__(self, path):
        events = oracle.complete(oracle.load(path)["traceEvents"])
        of = collections.defaultdict(list)
        for e in events:
            of[e.cat].append(e)
        calls = [e for cat in oracle.CALLS for e in of[cat]]
        self.kernels = of["kernel"]
        self.ops = oracle.Operators(of["cpu_op"], calls)
        self.python = oracle.Operators(of["python_function"], calls)
        self.annotations = of["user_annotation"]
        self.forward = {}
        self.python_threads = set()
        for op in sorted(of["cpu_op"], key=lambda e: e.begin):
            frames = self.running(op)
            seq = op.args.get("Sequence number", -1)
            if frames:
                self.python_threads.add(op.thread)
            if frames and seq >= 0:
                self.forward.setdefault(seq, []).append((op.begin, frames))

    def running(self, at):
        """Names of the Python functions that run when this begins, from the innermost."""
        if at.thread not in self.python.threads:
            return []
        frames, parents = self.python.threads[at.thread]
        begins = self.python.begins[at.thread]
        last = oracle.bisect.bisect_right(begins, at.begin) - 1
        return [frames[k].name for k in oracle.chain(parents, last if last >= 0 else None)
                if oracle.holds(frames[k], at)]

    def where(self, kernel):
        """Python from the innermost, whether it is backward, and operators from the outermost."""
        launch = self.ops.calls.get(kernel.args.get("correlation"))
        around = self.ops.around(kernel)
        names = [op.name for op in reversed(around)]
        frames = self.running(launch) if launch else []
        backward = any(op.args.get("Fwd thread id") for op in around)
        if not backward and (frames or (launch and launch.thread in self.python_threads)):
            return frames, False, names
        for op in around:
            before = [f for begin, f in self.forward.get(op.args.get("Sequence number", -1), [])
                      if begin < op.begin]
            if before:
                return before[-1], True, names
        return frames, backward, names


    def where_op(self, op, around):
        """The same for an operator; `around` begins with the operator itself."""
        frames = self.running(op)
        backward = any(o.args.get("Fwd thread id") for o in around)
        if not backward and (frames or op.thread in self.python_threads):
            for o in around:
                if self.running(o):
                    return self.running(o), False
            return [], False
        for o in around:
            before = [f for begin, f in self.forward.get(o.args.get("Sequence number", -1), [])
                      if begin < o.begin]
            if before:
                return before[-1], True
        return frames, backward


def host_stacks(trace, library):
    """{stack: ns} and {line: ns} of the host, from one interval between two events to the next."""
    stacks, lines = collections.Counter(), collections.Counter()
    threads = oracle.threads_of([op for ops, _ in trace.ops.threads.values() for op in ops] +
                                trace.annotations)
    for events in threads.values():
        times = sorted({t for e in events for t in (e.begin, e.end)})
        begins = collections.defaultdict(list)
        for e in events:
            begins[e.begin].append(e)
        opened, counts, outside = [], False, 0
        for begin, end in zip(times, times[1:]):
            opened = [e for e in opened if e.end > begin] + begins[begin]
            opened.sort(key=lambda e: (e.begin, -e.end, e.at))
            ops = [e for e in opened if e.cat == "cpu_op" and e.end > begin][::-1]
            regions = [e for e in opened if e.cat != "cpu_op" and e.end > begin]
            if ops:
                frames, backward = trace.where_op(ops[0], ops)
                line = line_of(frames, library)
                counts |= not backward
                stacks[tuple(([] if line else ["(no Python line)"]) +
                             [text(f) for f in reversed(frames)] +
                             (["(backward)"] if backward else []) +
                             [op.name for op in reversed(ops)])] += end - begin
                lines[line or ("(no Python line)", "", None)] += end - begin
            elif regions:
                counts = True
                names = (re.sub("^(ProfilerStep)#[0-9]+$", r"\1", r.name) for r in regions)
                stacks[("(outside operators)", *names)] += end - begin
                lines[("(outside operators)", "", None)] += end - begin
            else:
                outside += end - begin
        if counts and outside:
            stacks[("(outside operators)",)] += outside
            lines[("(outside operators)", "", None)] += outside
    return stacks, lines


def report(path, *options):
    done = subprocess.run([accelprof, "report", path, "-t", "python_flame", "--format", "json",
                           *options], capture_output=True, text=True, timeout=100, check=True)
    tool = json.loads(done.stdout)["tools"][0]
    got = collections.Counter()
    for frames, ns in tool["charts"][0]["stacks"]:
        got[tuple(frames)] += ns
    return tool["tables"][0]["rows"], got


def compare_host(path, trace):
    for lines in ("user", "library"):
        rows, got = report(path, "--lines", lines, "--opt", "python_flame.time=host")
        stacks, own = host_stacks(trace, lines == "library")
        equal(f"{path}: host stacks", {k: v for k, v in got.items() if v},
              {k: v for k, v in stacks.items() if v})
        equal(f"{path}: host lines, {lines}", {tuple(r[:3]): r[3] for r in rows if r[3]},
              {k: v for k, v in own.items() if v})
    print(f"{path}: {sum(stacks.values())} ns on the host")


def compare(path, library):
    trace = Trace(path)
    stacks, lines = collections.Counter(), collections.defaultdict(lambda: [0, 0, 0, 0])
    for k in trace.kernels:
        frames, backward, ops = trace.where(k)
        ns, line = k.end - k.begin, line_of(frames, library)
        known = trace.ops.calls.get(k.args.get("correlation"))
        kind = (None if line and known else "(launch not known)" if not known else
                "(no Python line)" if ops else "(no operator)")
        stacks[tuple(([kind] if kind else []) + [text(f) for f in reversed(frames)] +
                     (["(backward)"] if backward else []) + ops + [k.name])] += ns
        row = lines[line if not kind else (kind, "", None)]
        row[0] += ns
        row[2] += ns if backward else 0
        row[3] += 1
        if kind:
            row[1] += ns
        else:
            for f in {frame_of(f) for f in frames if line_of([f])}:
                lines[f][1] += ns
    rows, got = report(path, "--lines", "library" if library else "user")
    equal(f"{path}: lines", {(f, file, line): [own, total, back, n]
                             for f, file, line, own, total, back, n, _ in rows},
          dict(lines))
    equal(f"{path}: stacks", got, stacks)
    print(f"{path}: {len(trace.kernels)} kernels, {len(stacks)} stacks, {len(lines)} lines, "
          f"{sum(r[2] for r in lines.values())} ns backward")


for file in files:
    compare(file, True)
    compare(file, False)
    compare_host(file, Trace(file))
sys.exit(wrong > 0)
