"""import_random.py ACCELPROF TRACES [SEED] - ops of random small traces, against their definition.

Spans are compared two by two, as documented for ops; without sorting and without a stack.
"""
import collections
import gzip
import json
import random
import subprocess
import sys

accelprof, traces = sys.argv[1], int(sys.argv[2])
first = int(sys.argv[3]) if len(sys.argv) > 3 else 1

TYPES = ["float", "c10::BFloat16", "long int", "Scalar", ""]
NAMES = ["aten::mm", "aten::add", "aten::linear", "aten::\u00e9\"\\", "autograd::engine"]
LINES = [("forward", "nn/linear.py", 12), ("step", "train.py", 400), ("forward", "nn/conv.py", 7)]
CALLS = {"cudaLaunchKernel": "kernel", "cuLaunchKernelEx": "kernel",
         "hipModuleLaunchKernel": "kernel", "cudaMemcpyAsync": "gpu_memcpy",
         "hipMemsetAsync": "gpu_memset"}


class Span:
    """What lies on a thread, in ns."""

    def __init__(self, kind, thread, begin, end, name, **more):
        self.kind, self.thread, self.begin, self.end, self.name = kind, thread, begin, end, name
        self.inputs, self.line, self.corr = "", None, 0
        self.__dict__.update(more)


class Trace:
    """A random trace: spans, work on devices, and their lines of JSON."""

    def __init__(self, rng):
        self.rng, self.spans, self.work, self.corr = rng, [], [], 0
        for thread in range(rng.randint(1, 3)):
            self.fill(thread, 0, rng.choice([3, 12, 60, 4000]), 0)
        rng.shuffle(self.spans)
        rng.shuffle(self.work)

    def fill(self, thread, begin, end, depth):
        """Spans side by side, which may touch, and what is in them."""
        rng, at = self.rng, begin
        while at <= end and depth < 6 and rng.random() < (0.9 if depth < 2 else 0.6):
            a = rng.randint(at, end)
            b = rng.choice([end, rng.randint(a, end), rng.randint(a, end), a])
            if self.add(thread, a, b):
                self.fill(thread, a, b, depth + 1)
            at = max(b, a + 1)

    def add(self, thread, begin, end):
        rng = self.rng
        kind = rng.choice(["op", "op", "op", "frame", "call", "call", "region"])
        if kind == "op":
            types = rng.choice([[], ["float"], [rng.choice(TYPES) for _ in range(2)]])
            dims = [[] if t in ("Scalar", "") else [rng.randint(1, 2), 3] for t in types]
            text = ", ".join((t or "-") + (json.dumps(d).replace(" ", "") if d else "")
                             for t, d in zip(types, dims))
            span = Span(kind, thread, begin, end, rng.choice(NAMES), types=types, dims=dims,
                        inputs=text)
        elif kind == "frame":
            span = Span(kind, thread, begin, end, "", line=rng.choice(LINES))
        elif kind == "call":
            self.corr += 1
            span = Span(kind, thread, begin, end, rng.choice(list(CALLS)), corr=self.corr)
            for _ in range(rng.choice([0, 1, 1, 2])):
                self.work.append((self.corr, CALLS[span.name], begin + rng.randint(0, 9000),
                                  rng.randint(0, 500)))
        else:
            span = Span(kind, thread, begin, end, rng.choice(["step", "ProfilerStep#3"]))
        self.spans.append(span)
        return kind != "call"

    def number(self, ns):
        """Microseconds, as one writer or another has them."""
        text = f"{ns // 1000}.{ns % 1000:03d}"
        return self.rng.choice([text, text + "000", f"{ns}e-3", f"{ns // 10}.{ns % 10}E-2"])

    def event(self, **members):
        parts = [f"{json.dumps(k)}:{v}" for k, v in members.items()]
        self.rng.shuffle(parts)
        return "{" + self.rng.choice([", ", ",\n  "]).join(parts) + "}"

    def lines(self):
        for s in self.spans:
            name, args = s.name, {}
            cat = {"op": "cpu_op", "frame": "python_function", "region": "user_annotation",
                   "call": "cuda_driver" if s.name.startswith("cu") and s.name[2].isupper()
                   else "cuda_runtime"}[s.kind]
            if s.line:
                name = f"{s.line[1]}({s.line[2]}): {s.line[0]}"
            if s.corr:
                args["correlation"] = s.corr
            if s.inputs:
                args.update({"Input type": s.types, "Input Dims": s.dims})
            yield self.event(ph='"X"', cat=f'"{cat}"', name=json.dumps(name), pid="77",
                             tid=str(700 + s.thread), ts=self.number(s.begin),
                             dur=self.number(s.end - s.begin), args=json.dumps(args))
        for corr, cat, begin, dur in self.work:
            yield self.event(ph='"X"', cat=f'"{cat}"', name='"work"', pid="0", tid="7",
                             ts=self.number(begin), dur=self.number(dur),
                             args=json.dumps({"correlation": corr, "device": 0, "stream": 7}))

    def save(self, path):
        text = '{"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, ' \
            '"traceEvents": [' + ",".join(self.lines()) + "]}"
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as f:
            f.write(text)


def within(trace, inner, outer):
    """Whether a span lies in another. Of two that are equal, the first in the file is the outer one,
    and a call is never. What takes no time is in what ends there, unless something begins there
    that does; calls come after all else."""
    s, o = trace.spans[inner], trace.spans[outer]
    if inner == outer or s.thread != o.thread or o.kind == "call":
        return False
    if o.begin > s.begin or o.end < s.end:
        return False
    same = (o.begin, o.end) == (s.begin, s.end)
    if same and s.kind != "call":
        return outer < inner
    if s.begin == s.end == o.end:
        return not any(t.thread == s.thread and t.begin == s.begin < t.end and
                       (s.kind == "call" if t.kind == "call" else not same)
                       for t in trace.spans)
    return True


def innermost(trace, candidates):
    """Of spans that all lie in each other."""
    for i in candidates:
        if not any(within(trace, k, i) for k in candidates):
            return i
    return None


KEYS = {"ops": lambda op, line: (op.name,),
        "ops_shapes": lambda op, line: (op.name, op.inputs),
        "ops_lines": lambda op, line: (line, op.name)}


def expected(all_traces):
    tables = {name: collections.defaultdict(lambda: [0] * 6) for name in KEYS}
    for trace in all_traces:
        spans = trace.spans
        ops = [i for i, s in enumerate(spans) if s.kind == "op"]
        frames = [i for i, s in enumerate(spans) if s.kind == "frame"]
        calls = {s.corr: i for i, s in enumerate(spans) if s.kind == "call"}
        around = {i: [k for k in ops if within(trace, i, k)] for i in range(len(spans))}
        lines = {}
        for i in ops:
            at = innermost(trace, [k for k in frames if within(trace, i, k)])
            lines[i] = "(unknown)" if at is None else \
                "{0} ({1}:{2})".format(spans[at].line[0], spans[at].line[1].split("/")[-1],
                                       spans[at].line[2])
        for table, key_of in KEYS.items():
            keys = {i: key_of(spans[i], lines[i]) for i in ops}
            for i in ops:
                row = tables[table][keys[i]]
                row[0] += 1
                if all(keys[k] != keys[i] for k in around[i]):
                    row[1] += spans[i].end - spans[i].begin
                row[2] += spans[i].end - spans[i].begin
                if around[i]:
                    tables[table][keys[innermost(trace, around[i])]][2] -= \
                        spans[i].end - spans[i].begin
            for corr, cat, _, dur in trace.work:
                inside = around[calls[corr]]
                for key in {keys[k] for k in inside}:
                    tables[table][key][4 if cat == "kernel" else 5] += dur
                if inside and cat == "kernel":
                    tables[table][keys[innermost(trace, inside)]][3] += dur
    if all(not k[1] for k in tables["ops_shapes"]):
        tables["ops_shapes"].clear()
    if all(k[0] == "(unknown)" for k in tables["ops_lines"]):
        tables["ops_lines"].clear()
    return {name: {k: tuple(v) for k, v in rows.items()} for name, rows in tables.items()}


def reported(paths):
    done = subprocess.run([accelprof, "report", "-t", "ops", "--format", "json"] + paths,
                          capture_output=True, check=False, timeout=60)
    if done.returncode:
        raise SystemExit(f"status {done.returncode}: {done.stderr.decode()}")
    if b"cut there" in done.stderr:
        raise SystemExit(f"nothing crosses, but: {done.stderr.decode()}")
    tables = {name: {} for name in KEYS}
    for table in json.loads(done.stdout)["tools"][0]["tables"]:
        keys = 1 if table["name"] == "ops" else 2
        for row in table["rows"]:
            tables[table["name"]][tuple(row[:keys])] = tuple(
                row[keys:keys + 3] + row[keys + 4:keys + 7])
    return tables


for seed in range(first, first + traces):
    random_ = random.Random(seed)
    made = [Trace(random_) for _ in range(random_.choice([1, 1, 2]))]
    names = [f"rank{i}{random_.choice(['.json', '.json.gz'])}" for i in range(len(made))]
    for one, file in zip(made, names):
        one.save(file)
    want, got = expected(made), reported(names)
    for name in KEYS:
        if want[name] != got[name]:
            for key in sorted(set(want[name]) | set(got[name])):
                if want[name].get(key) != got[name].get(key):
                    print(f"seed {seed}: {name} {key}: got {got[name].get(key)}, "
                          f"wanted {want[name].get(key)}: calls, host, host_self, self, total, copies")
            sys.exit(1)
