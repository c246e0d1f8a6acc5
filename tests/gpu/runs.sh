#!/usr/bin/env bash
# runs.sh - record the programs of tests/data/runs: launches are torch.profiler's, peaks PyTorch's own.
# timeout: 900
# serial: yes
#
# PASTA_RUNS=FOLDER leaves the runs, each with its oracle.json, in that folder.
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_cuda
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 XDG_CACHE_HOME=$dir/cache PYTHONDONTWRITEBYTECODE=1
python=${PASTA_PYTHON:-python3}
"$python" -c 'import torch, torchvision, transformers; raise SystemExit(not torch.cuda.is_available())' \
	2>/dev/null || skip "no Python that has PyTorch with CUDA, torchvision and transformers"
tools=summary,memory,tensors,ops,kernel_freq,copies,collectives

# judged NAME - what the tools show of a run is what its oracle.json has.
judged() {
	"$ACCELPROF" report "$1" -t $tools,uvm --format json >"$1.report" || failed "$1: report"
	python3 -S "$SRC/tests/gpu/runs_judge.py" "$1.report" "$1/oracle.json" || failed "$1: differs"
	[ -z "${PASTA_RUNS:-}" ] || { rm -rf "$1/results" && cp -r "$1" "$PASTA_RUNS/"; }
}

# recorded NAME WORK - a run, and torch.profiler over the same work.
recorded() {
	"$python" runs.py profile "$2" "$1.profile" >"$1.log" 2>&1 &&
		"$ACCELPROF" run -q -t $tools -o "$1" -- \
			"$python" runs.py record "$2" "$1.peaks" >>"$1.log" 2>&1 || {
		failed "$1: status $?"
		tail -n 20 "$1.log"
		return
	}
	oracle "$1.profile" "$1.peaks" >"$1/oracle.json"
	judged "$1"
}

# oracle PROFILE PEAKS - counts of torch.profiler's run, and the peaks of the run that was recorded.
oracle() {
	python3 -S -c 'import json, sys
found = [json.load(open(path, encoding="utf-8")) for path in sys.argv[1:]]
print(json.dumps({**found[0], **found[1]}, indent=1, sort_keys=True))' "$@"
}

# Commands have no path of this machine.
cp "$SRC/tests/gpu/runs.py" "$SRC/tests/gpu/memory_steps.py" .
mkdir -p ${PASTA_RUNS:+"$PASTA_RUNS"}
for work in gpt2 vit whisper resnet50; do
	recorded $work-train $work
done
recorded llama-decode llama

# Two processes on one device.
for how in profile record; do
	run=()
	[ $how = profile ] || run=("$ACCELPROF" run -q -t $tools -o two-ranks --)
	"${run[@]}" "$python" -m torch.distributed.run --standalone --nproc-per-node 2 \
		runs.py $how ranks ranks.$how >ranks.log 2>&1 || {
		failed "two ranks, $how: status $?"
		tail -n 20 ranks.log
	}
done
printf '{"ranks": [%s, %s]}\n' "$(oracle ranks.profile.0 ranks.record.0)" \
	"$(oracle ranks.profile.1 ranks.record.1)" >two-ranks/oracle.json
judged two-ranks

cuda_program managed_pipeline
cp "$gpu/managed_pipeline" .
"$ACCELPROF" run -q -t $tools,uvm -o managed -- ./managed_pipeline >managed.out || failed "managed"
cp managed.out managed/oracle.json
judged managed
done_
