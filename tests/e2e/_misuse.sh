# _misuse.sh - a plug-in that breaks the rules for tools costs only its own result.
#
# RUNS: how often each kind is tried. Every run is under a limit of time, with room for a machine that
# is busy: what is killed by it has hung.
. "$SRC/tests/e2e/lib.sh" || exit 1
ulimit -c 0
unset PASTA_TOOL_PATH MISUSE_CONSTRUCTOR

gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "no accelprof-gen in this build"
	exit 77
}
mkdir plugins
cp "$BUILD/tests/programs/plugin_misuse.so" plugins/
misuse=./plugins/plugin_misuse.so
"$gen" -n 3000 --ranks 3 -o run >/dev/null || failed "gen"
"$ACCELPROF" report run -t kernel_freq,copies --format json >good.json || failed "report"

# others FILE - the results of the tools that do nothing wrong.
others() {
	python3 -S -c 'import json, sys
tools = json.load(open(sys.argv[1]))["tools"]
print(json.dumps([t for t in tools if t["name"] in ("kernel_freq", "copies")]))' "$1"
}
others good.json >good
kinds=0

# try WHAT STATUS PATTERN ARGUMENTS... - report with these arguments, RUNS times: never a hang, this
# status if it is given, a line like this, and the others as ever.
try() {
	local what=$1 status=$2 pattern=$3 got
	shift 3
	kinds=$((kinds + 1))
	for _ in $(seq "$RUNS"); do
		timeout -s KILL 100 "$ACCELPROF" report run --format json "$@" >bad.json 2>err
		got=$?
		[ -z "$status" ] || is "$what: status" $got "$status"
		[ $got != 137 ] || {
			failed "$what: it hangs"
			continue
		}
		others bad.json >bad
		cmp -s bad good || failed "$what: the others' results"
		[ -z "$pattern" ] || has "$what" err "$pattern"
	done
}

# wrong HOW PATTERN ARGUMENTS... - checks that the tool fails with a message that matches PATTERN.
wrong() {
	local how=$1 pattern=$2
	shift 2
	try "$how" 1 "^accelprof: tool misuse failed: $pattern" -t "kernel_freq,$misuse,copies" \
		--opt "misuse.how=$how" "$@"
	json bad.json '[len(t["tables"]) for t in d["tools"] if t["name"] == "misuse"]' >out
	is "$how: no tables" "$(cat out)" "[0]"
}

# well HOW [ARGUMENTS...] - it goes well all the same, or what goes wrong does so too late to matter.
well() {
	local how=$1
	shift
	try "$how" 0 '' -t "kernel_freq,$misuse,copies" --opt "misuse.how=$how" "$@"
	json bad.json '[len(t["tables"]) > 0 for t in d["tools"] if t["name"] == "misuse"]' >out
	is "$how: tables" "$(cat out)" "[True]"
}

# constructor HOW PATTERN - the library is left out, and named.
constructor() {
	export MISUSE_CONSTRUCTOR=$1-constructor
	try "$1 in the constructor" 0 "plugin_misuse.so is left out: $2" -t kernel_freq,copies \
		--tool-path plugins --tool-timeout 2
	unset MISUSE_CONSTRUCTOR
}

well well
for where in open event merge report; do
	wrong double_free-$where "the plug-in crashed in $where \\(SIGABRT\\)$"
	wrong segv-$where "the plug-in crashed in $where \\(SIGSEGV\\)$"
	wrong abort-$where "the plug-in crashed in $where \\(SIGABRT\\)$"
	wrong exit-$where "the plug-in called exit in $where$"
	wrong quick_exit-$where "the plug-in called exit in $where$"
	wrong loop-$where "the plug-in does not return from $where: ended after 2 s" --tool-timeout 2
done
# A shard's state is closed before the report.
for kind in double_free:crashed segv:crashed exit:called; do
	wrong "${kind%:*}-close" "the plug-in ${kind#*:} .*in close"
done
wrong loop-close 'the plug-in does not return from close' --tool-timeout 2
constructor double_free 'the plug-in crashed while it was loaded \(SIGABRT\): remove the file'
constructor segv 'the plug-in crashed while it was loaded \(SIGSEGV\)'
constructor stack_overflow 'the plug-in crashed while it was loaded \(SIGSEGV\)'
constructor exit 'the plug-in called exit while it was loaded'
constructor quick_exit 'the plug-in called exit while it was loaded'
constructor loop 'the library.s constructors do not return: ended after 2 s'
constructor close_all "the plug-in's worker ended without a result"
wrong fpe-event 'the plug-in crashed in event \(SIGFPE\)$'
wrong trap-report 'the plug-in crashed in report \(SIG(ILL|TRAP)\)$'
wrong heap_overflow-event 'the plug-in crashed in event \(SIG(ABRT|SEGV)\)$'
wrong heap_overflow-report 'the plug-in crashed in report \(SIG(ABRT|SEGV)\)$'
wrong stack_overflow-event 'the plug-in crashed in event \(SIGSEGV\)$'
wrong stack_overflow-merge 'the plug-in crashed in merge \(SIGSEGV\)$'
wrong thread_crash-event 'the plug-in crashed in event \(SIGSEGV\)$'
wrong ignore_and_crash-report 'the plug-in crashed in report \(SIGSEGV\)$'
wrong exit_thread-event 'the plug-in does not return from event' --tool-timeout 2
wrong kill-event 'the plug-in was killed in event \(SIGKILL\)$'
wrong term_group-report 'the plug-in crashed in report \(SIGTERM\)$'
wrong alarm-event 'the plug-in crashed in event \(SIGALRM\)$'
wrong sleep-report 'the plug-in does not return from report' --tool-timeout 2
wrong stop-event "the plug-in's worker was stopped by SIGSTOP: ended after 2 s" --tool-timeout 2
wrong deadlock-event 'the plug-in does not return from event' --tool-timeout 2
wrong block_and_loop-report 'the plug-in does not return from report' --tool-timeout 2
for where in open event report; do
	wrong close_all-$where "the plug-in's worker (ended without a result|read only)"
	wrong replace_all-$where "the plug-in's worker (ended without a result|read only)"
done
wrong no_files-report "the plug-in's worker ended without a result"
wrong huge-report 'the plug-in crashed in report \(SIGSEGV\)$'
wrong memory-report 'the plug-in crashed in report \(SIGABRT\)$' --tool-memory 2G
wrong fail-open 'told not to open$'
wrong fail-report 'cannot report: '
wrong report-wrong_type 'table t, column events: the tool added a cell of type string'
wrong report-control_name "the name of table 't.x1b\\[31m' has a control character"
wrong report-bad_column 'table t, column 1: unknown type 77'
wrong report-no_columns "cannot add table 't': it has no columns, or its name is empty or already in use"
wrong report-half_row 'table t: the last row is incomplete, and ends before column y'
wrong report-severity "finding 'strange': unknown severity 9"
wrong report-bad_chart 'chart c, series s: x must not decrease'
wrong report-tables 'the tool.s report is too large: at most 4096 tables'
# Garbage that a tool sends to accelprof can end the tool, and nothing else.
for how in garbage-event garbage-report; do
	try $how "" '' -t "kernel_freq,$misuse,copies" --opt "misuse.how=$how"
done
for how in mask-event handlers-event chdir-event print-event \
	print-report fork_on-event fork_on-report fork_back-event fork_back-report thread-event \
	outlive-event report-nan report-bad_name report-rows; do
	well $how
done
try throw 1 '^accelprof: tool throw failed: the plug-in crashed in event \(SIGABRT\)$' \
	-t "kernel_freq,$BUILD/tests/programs/plugin_throw.so,copies"
[ $kinds -ge 30 ] || failed "only $kinds kinds"

# The output of the last tool is on stderr; its child processes have ended.
timeout -s KILL 100 "$ACCELPROF" report run -t "$misuse" --opt misuse.how=print-event >out 2>err ||
	failed "print"
grep -q 'this.*is no report' out && failed "print: it is on stdout"
grep -q 'this.*is no report' err || failed "print: it is not on stderr"
echo "$kinds kinds, $RUNS runs each"
