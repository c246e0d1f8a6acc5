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

# Invalid filters are refused with a message.
wrong() {
	"$ACCELPROF" report run "$@" >out 2>err
	is "$*: status" $? 2
	lines "$*" err 1
}
wrong --kernel '('
has "a pattern" err "^accelprof: report: --kernel '\(' is not a regular expression: "
wrong --time 5
has "a time" err "^accelprof: report: --time '5' is not a time span: use "
wrong --time 2s-1s
wrong --time 1s-2x
wrong --iteration x
has "a list" err "^accelprof: report: --iteration 'x' is not a list of numbers: use "
wrong --device 3-1
wrong --device 1,
wrong --stream -
"$ACCELPROF" report run --rank 7 >out 2>err
is "no such rank: status" $? 1
has "no such rank" err '^accelprof: no process has the rank that --rank selects'
"$ACCELPROF" report run --kernel gemm --device 0 -t kernel_freq >out 2>err || failed "a report"
has "the report names the filter" out \
	'^note: the report covers only the part of the run that matches the filter: --kernel gemm --device 0'

# The timeline is filtered, too.
"$ACCELPROF" report run --rank 1 --kernel gemm --format perfetto -o part.json 2>/dev/null
is "the timeline's kernels" "$(json part.json \
	'sorted({"gemm" in e["name"] for e in d["traceEvents"] if e.get("cat") == "kernel"})')" "[True]"

# A filter that matches nothing is an error that lists the choices; no report, timeline or database.
# missed PATTERN FILTER...
missed() {
	local pattern=$1
	shift
	for tools in kernel_freq memory summary,regions; do
		"$ACCELPROF" report run -t $tools "$@" >out 2>err
		is "$tools $*: status" $? 1
		lines "$tools $*" err 1
		has "$tools $*" err "$pattern"
		is "$tools $*: stdout" "$(cat out)" ""
	done
	"$ACCELPROF" report run "$@" --format perfetto -o none.json 2>err
	is "timeline $*: status" $? 1
	has "timeline $*" err "$pattern"
	"$ACCELPROF" export run "$@" --to sqlite -o none.db 2>err
	is "export $*: status" $? 1
	has "export $*" err "$pattern"
	is "$*: files" "$(echo none.*)" 'none.*'
}
missed "^accelprof: --kernel 'nosuch' or '\^x\\$' matches nothing: the run has '.*', '.*', '.*', \.\.\.$" \
	--kernel nosuch --kernel '^x$'
missed "^accelprof: --region 'nosuch' matches nothing: the run has '[a-z/]*'" --region nosuch
missed "^accelprof: --device '7-' matches nothing: the run has '0', '1', '2'$" --device 7-
missed "^accelprof: --device '7-' matches nothing" --device 7- --kernel gemm
"$gen" --profile kernels -n 2000 -o kernels >/dev/null || failed "gen"
"$ACCELPROF" report kernels --region a >out 2>err
is "no regions: status" $? 1
has "no regions" err "^accelprof: --region 'a' matches nothing: the run has no region$"

# The status of a program under study is its own.
"$ACCELPROF" run --region nosuch -o recorded -- "$behave" region here exit 5 2>err
is "run: status" $? 5
has "run" err "^accelprof: --region 'nosuch' matches nothing: the run has 'main', 'main/here'"
is "run: no report" "$(grep -c '^summary' err)" 0
done_
