#!/usr/bin/env bash
# python_flame.sh - device time by line of Python in traces of PyTorch's profiler, real ones and
# generated ones, is what another computes from the intervals.
# timeout: 200
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

gen=$BUILD/bench/accelprof-gen-trace
traces=${PASTA_TRACES:-$SRC/../shared/traces}
files=()
if [ -x "$gen" ]; then
	"$gen" -n 1 -o step.json || failed "accelprof-gen-trace"
	"$gen" -n 30000 --seed 3 -o steps.json || failed "accelprof-gen-trace"
	files+=(step.json steps.json)
fi
for name in kineto-h100-bert-small kineto-mi300-bert-small kineto-h100-qwen1.5-0.5b \
	kineto-mi300-qwen1.5-0.5b kineto-2rank-rank0 kineto-mi210-gpu-only; do
	[ ! -f "$traces/$name.json.gz" ] || files+=("$traces/$name.json.gz")
done
[ ${#files[@]} -gt 0 ] || {
	echo "SKIPPED: no accelprof-gen-trace in this build, and no real traces in $traces"
	exit 77
}
python3 -B "$SRC/tests/e2e/python_flame.py" "$ACCELPROF" "${files[@]}" || failed "see above"
done_
