#!/usr/bin/env bash
# recorded.sh - runs of real programs on a GPU: peaks of memory are PyTorch's own, to the byte, in every
# tool.
. "$SRC/tests/e2e/lib.sh" || exit 1

judged=0
for oracle in "$SRC"/tests/data/runs/*/oracle.json; do
	run=$(dirname "$oracle")
	cp -r "$run" . # a report may write into a run of one's own
	name=$(basename "$run")
	"$ACCELPROF" report "$name" -t memory,tensors,summary --format json >"$name.json" || failed "$name: report"
	python3 -S "$SRC/tests/gpu/memory_judge.py" "$name.json" "$oracle" >"$name.out" || {
		failed "$name"
		cat "$name.out"
	}
	judged=$((judged + 1))
done
[ "$judged" -ge 5 ] || failed "only $judged runs"
done_
