#!/usr/bin/env bash
# recorded.sh - runs of real programs on a GPU: launches, copies and peaks of memory are those that
# others counted, in every tool.
. "$SRC/tests/e2e/lib.sh" || exit 1

judged=0
for oracle in "$SRC"/tests/data/runs/*/oracle.json; do
	run=$(dirname "$oracle")
	cp -r "$run" . # a report may write into a run of one's own
	name=$(basename "$run")
	"$ACCELPROF" report "$name" -t summary,memory,tensors,kernel_freq,copies,uvm --format json \
		>"$name.json" 2>"$name.err" || failed "$name: report: $(cat "$name.err")"
	for judge in runs memory; do
		[ $judge = runs ] || ! grep -q '"ranks"\|managed' "$oracle" || continue
		python3 -S "$SRC/tests/gpu/${judge}_judge.py" "$name.json" "$oracle" >"$name.out" || {
			failed "$name"
			cat "$name.out"
		}
	done
	judged=$((judged + 1))
done
[ "$judged" -ge 8 ] || failed "only $judged runs"
done_
