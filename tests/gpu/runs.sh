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
	[ -z "${PASTA_RUNS:-}" ] || cp -r "$1" "$PASTA_RUNS/"
}

# recorded NAME WORK - a run, and torch.profiler over the same work.
recorded() {
	"$python" "$SRC/tests/gpu/runs.py" profile "$2" "$1.profile" >"$1.log" 2>&1 &&
		"$ACCELPROF" run -q -t $tools -o "$1" -- \
			"$python" "$SRC/tests/gpu/runs.py" record "$2" "$1.peaks" >>"$1.log" 2>&1 || {
		failed "$1: status $?"
		tail -n 20 "$1.log"
		return
	}
	cp "$1.profile" "$1/oracle.json"
	judged "$1"
}

mkdir -p ${PASTA_RUNS:+"$PASTA_RUNS"}
recorded gpt2-train gpt2
recorded vit-train vit
recorded whisper-train whisper
recorded resnet50-train resnet50
recorded llama-decode llama

# Two processes on one device.
for how in profile record; do
	run=()
	[ $how = profile ] || run=("$ACCELPROF" run -q -t $tools -o two-ranks --)
	"${run[@]}" "$python" -m torch.distributed.run --standalone --nproc-per-node 2 \
		"$SRC/tests/gpu/runs.py" $how ranks ranks.$how >ranks.log 2>&1 || {
		failed "two ranks, $how: status $?"
		tail -n 20 ranks.log
	}
done
python3 -S - ranks.profile.0 ranks.profile.1 >two-ranks/oracle.json <<'END'
import json, sys
print(json.dumps({"ranks": [json.load(open(p, encoding="utf-8")) for p in sys.argv[1:]]}, indent=1))
END
judged two-ranks

cuda_program managed_pipeline
"$ACCELPROF" run -q -t $tools,uvm -o managed -- "$gpu/managed_pipeline" >managed.out || failed "managed"
cp managed.out managed/oracle.json
judged managed
done_
