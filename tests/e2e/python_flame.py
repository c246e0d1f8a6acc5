"""python_flame.py ACCELPROF FILE... - device time by Python in traces, against intervals alone.

A kernel's Python is what was running on the thread of its launch when it was launched. In the
backward pass, in which operators have a forward thread, and on threads that run no Python, it is
what was running when the last operator began that has the sequence number of an operator around the
launch, the innermost such operator's.
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


def line_of(frames):
    """The innermost that is in a file, of frames from the innermost."""
    for f in map(frame_of, frames):
        if f[1] and f[1][0] != "<" and not f[0].startswith("<built-in"):
            return f
    return None


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


def compare(path):
    trace = Trace(path)
    stacks, lines = collections.Counter(), collections.defaultdict(lambda: [0, 0, 0, 0])
    for k in trace.kernels:
        frames, backward, ops = trace.where(k)
        ns, line = k.end - k.begin, line_of(frames)
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
    done = subprocess.run([accelprof, "report", path, "-t", "python_flame", "--format", "json"],
                          capture_output=True, text=True, timeout=100, check=True)
    tool = json.loads(done.stdout)["tools"][0]
    table = tool["tables"][0]
    equal(f"{path}: lines", {(f, file, line): [own, total, back, n]
                             for f, file, line, own, total, back, n, _ in table["rows"]},
          dict(lines))
    got = collections.Counter()
    for frames, ns in tool["charts"][0]["stacks"]:
        got[tuple(frames)] += ns
    equal(f"{path}: stacks", got, stacks)
    print(f"{path}: {len(trace.kernels)} kernels, {len(stacks)} stacks, {len(lines)} lines, "
          f"{sum(r[2] for r in lines.values())} ns backward")


for file in files:
    compare(file)
sys.exit(wrong > 0)
