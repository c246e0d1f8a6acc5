#!/usr/bin/env bash
# filters.sh - what a filter leaves is what a search in the whole database finds, to the row.
# timeout: 120
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "no accelprof-gen in this build"
	exit 77
}
"$gen" --profile all -n 40000 --ranks 3 --seed 5 -o run >/dev/null || failed "gen"
"$ACCELPROF" export run --to sqlite -o all.db 2>/dev/null
python3 "$SRC/tests/e2e/filters.py" "$ACCELPROF" run all.db || failed "filters"

# What cannot be meant is said.
wrong() {
	"$ACCELPROF" report run "$@" >out 2>err
	is "$*: status" $? 2
	lines "$*" err 1
}
wrong --kernel '('
has "a pattern" err "^accelprof: report: --kernel '\(' is no regular expression: "
wrong --time 5
has "a time" err "^accelprof: report: --time '5' is no span of time: say "
wrong --time 2s-1s
wrong --time 1s-2x
wrong --iteration x
has "a list" err "^accelprof: report: --iteration 'x' is no list of numbers: say "
wrong --device 3-1
wrong --device 1,
wrong --stream -
"$ACCELPROF" report run --rank 7 >out 2>err
is "no such rank: status" $? 1
has "no such rank" err '^accelprof: no process has such a --rank'
"$ACCELPROF" report run --kernel gemm --device 0 -t kernel_freq >out 2>err || failed "a report"
has "the report says that it is of a part" out \
	'^note: this is of a part of the run: --kernel gemm --device 0'

# The timeline is filtered, too.
"$ACCELPROF" report run --rank 1 --kernel gemm --format perfetto -o part.json 2>/dev/null
is "the timeline's kernels" "$(json part.json \
	'sorted({"gemm" in e["name"] for e in d["traceEvents"] if e.get("cat") == "kernel"})')" "[True]"
done_
