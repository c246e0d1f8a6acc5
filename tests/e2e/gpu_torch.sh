#!/usr/bin/env bash
# gpu_torch.sh - without a GPU: tests/gpu/torch.sh trains and records, and its judge is just.
# timeout: 240
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_torch.sh" || exit 1
export PYTHONDONTWRITEBYTECODE=1
judge=$SRC/tests/gpu/torch_steps.py

# -- Training and recording, on the CPU, with small models of the same names --
mkdir -p fakes/torchvision fakes/transformers
cat >fakes/torchvision/models.py <<'END'
import torch


def resnet50(weights):
    assert weights is None
    return torch.nn.Sequential(torch.nn.AvgPool2d(56), torch.nn.Flatten(), torch.nn.Linear(48, 1000))
END
: >fakes/torchvision/__init__.py
cat >fakes/transformers/__init__.py <<'END'
import types

import torch


class Config:
    vocab_size = 50


class Words(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = torch.nn.Embedding(config.vocab_size, 8)
        self.drop = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(8, config.vocab_size)

    def forward(self, input_ids, labels):
        out = self.head(self.drop(self.embed(input_ids)))
        return types.SimpleNamespace(loss=torch.nn.functional.cross_entropy(
            out.view(-1, self.config.vocab_size), labels.view(-1)))


BertConfig = GPT2Config = Config
BertForMaskedLM = GPT2LMHeadModel = Words
END
# bert is as gpt2: it is left out for time.
PASTA_PYTHON=${pythons[0]} PASTA_TORCH_DEVICE=cpu PYTHONPATH=$dir/fakes \
	PASTA_MODELS="gpt2 resnet50" timeout 200 \
	bash "$SRC/tests/gpu/torch.sh" >out 2>err
is "on the CPU: status" $? 1 # it has no kernels
for model in gpt2 resnet50; do
	has "on the CPU: $model" out "^$model: losses: the same$"
	has "on the CPU: $model" out "^$model: weights: the same$"
	has "on the CPU: $model" out "^$model: WRONG: python_flame does not say"
	has "on the CPU: $model" out "^FAILED: $model: got '1', wanted '0'$"
done
is "on the CPU: other trouble" "$(grep -c FAILED out)" 2
is "on the CPU: stderr" "$(cat err)" ""

# -- The judge, of a run with kernels --
"$BUILD/bench/accelprof-gen" --profile torch -n 30000 -o run >/dev/null || failed "accelprof-gen"
"$ACCELPROF" report run -t ops,python_flame,tensors --format json >report.json || failed "report"
"$ACCELPROF" export run --to sqlite -o run.db >/dev/null || failed "export"
cat >make.py <<'END'
import json, sqlite3, sys

sys.path.insert(0, sys.argv[1])
import torch_steps

db = sqlite3.connect("run.db")
window = db.execute('SELECT min(begin) - 1, max("end") + 1 FROM kernels').fetchone()
# A trace of torch.profiler with the same kernels, each in an operator of its own.
rows = db.execute("SELECT op, begin, dur FROM kernel").fetchall()
events = [{"cat": "cpu_op", "name": op, "args": {"External id": i}}
          for i, (op, _, _) in enumerate(rows, 1) if op]
events += [{"cat": "kernel", "name": "k", "dur": dur / 1000, "args": {"External id": i}}
           for i, (_, _, dur) in enumerate(rows, 1)]
ops = torch_steps.kernels_by_operator(events)
assert sum(n for n, _ in ops.values()) == len(rows) and len(ops) > 5 and torch_steps.NONE in ops
first = {"losses": ["0x1p+0"], "weights": "w", "window": window}
with open("report.json", encoding="utf-8") as f:
    report = json.load(f)
for tool in report["tools"]:
    for finding in tool["findings"]:
        if "of device time is attributed" in finding["what"]:
            finding["what"] = "99.5% of device time is attributed to an operator, 96.0% to a Python line"
    for table in tool["tables"]:
        if table["name"] == "peak":
            top = max(row[2] for row in table["rows"])


def put(name, **changed):
    native = {"model": "m", "runs": [first, dict(first), first], "operators": ops}
    recorded = {"model": "m", "runs": [dict(first)], "peak": top}
    report_copy = json.loads(json.dumps(report))
    changed.get("change", lambda *_: None)(native, recorded, report_copy)
    for part, data in ("n", native), ("r", recorded), ("j", report_copy):
        with open(f"{name}.{part}", "w", encoding="utf-8") as f:
            json.dump(data, f)


def scaled(factor, only=None):
    return {op: [n, ns * (factor if op in (only or ops) else 1)] for op, (n, ns) in ops.items()}


def edit_findings(report_copy, old, new):
    for tool in report_copy["tools"]:
        for finding in tool["findings"]:
            finding["what"] = finding["what"].replace(old, new)


most = max(ops, key=lambda op: ops[op][1])
put("good")
put("near", change=lambda n, r, j: n.update(operators=scaled(1.015)))
put("far", change=lambda n, r, j: n.update(operators=scaled(1.03)))
put("one", change=lambda n, r, j: n.update(operators=scaled(1.04, [most])))
put("peak", change=lambda n, r, j: r.update(peak=round(top * 1.02)))
put("losses", change=lambda n, r, j: r["runs"][0].update(losses=["0x1p+1"]))
put("moody", change=lambda n, r, j: (n["runs"][1].update(losses=["0x1p+2"]),
                                     r["runs"][0].update(losses=["0x1p+1"])))
put("dropped", change=lambda n, r, j: j["loss"].update(dropped=3))
put("lines", change=lambda n, r, j: edit_findings(j, "96.0%", "94.0%"))
put("fewer", change=lambda n, r, j: r["runs"][0].update(
    window=[window[0], (window[0] + window[1]) // 2]))
END
python3 make.py "$SRC/tests/gpu" || failed "make.py"

# judged NAME... STATUS PATTERN
judged() {
	local rounds=() status=${*: -2:1} pattern=${*: -1}
	for name in "${@:1:$#-2}"; do rounds+=("$name.n" "$name.r" "$name.j" run.db); done
	python3 "$judge" judge "${rounds[@]}" >judged.out 2>&1
	is "$1: status" $? "$status"
	has "$1" judged.out "$pattern"
}
judged good 0 '^m: by operator .* apart by 0\.00 % in sum$'
judged near 0 'apart by 1\.[45][0-9] % in sum$'
judged far 2 'apart by 2\.9[0-9] % in sum$'
judged one 2 '^m: aten::[a-z]+: [0-9.]+ ms, torch.profiler [0-9.]+ ms$'
judged far near good 0 'apart by 1\.[45][0-9] % in sum$'
judged peak 1 'WRONG: the peaks are not alike'
judged losses 1 'WRONG: losses: recorded'
judged moody 0 'losses of two native runs differ: not compared'
judged dropped 1 'WRONG: 3 events dropped'
judged lines 1 'WRONG: wanted are 99.0 % and 95.0 %'
judged fewer 1 'WRONG: the kernels are not the same'
python3 "$judge" judge x >out 2>&1
is "usage: status" $? 64
done_
