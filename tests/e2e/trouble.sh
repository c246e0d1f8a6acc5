#!/usr/bin/env bash
# trouble.sh - of two tools in a library the one that crashes is named; the others' results are whole.
# timeout: 300
set -u
ulimit -c 0
. "$SRC/tests/e2e/lib.sh" || exit 1

gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "no accelprof-gen in this build"
	exit 77
}
plugin=$BUILD/tests/programs/plugin_trouble.so
"$gen" -n 30000 --ranks 3 -o run >/dev/null || failed "gen"
"$ACCELPROF" report run -t kernel_freq,copies --format json >good.json || failed "report"

# The results of the two tools that do nothing wrong, wherever they are.
others() {
	python3 -S -c 'import json, sys
tools = json.load(open(sys.argv[1]))["tools"]
print(json.dumps([t for t in tools if t["name"] in ("kernel_freq", "copies")]))' "$1"
}
others good.json >good

# one THREADS TOOL HOW TEXT
one() {
	timeout 100 "$ACCELPROF" report run -t "kernel_freq,$plugin,copies" --threads "$1" \
		--opt "$2.how=$3" --format json >bad.json 2>err
	is "$2 $3, $1 threads: status" $? 1
	others bad.json >bad
	cmp bad good || failed "$2 $3, $1 threads: the others' results"
	grep -qF "accelprof: tool $2 failed: $4" err || failed "$2 $3, $1 threads: $(cat err)"
	json bad.json 'any(t["tables"] for t in d["tools"] if "error" in t)' >out
	is "$2 $3, $1 threads: no tables" "$(cat out)" "False"
}
for threads in 1 4; do
	for tool in trouble trouble_merging; do
		one $threads $tool segv-open 'the plug-in crashed in open (SIGSEGV)'
		one $threads $tool segv-event 'the plug-in crashed in event (SIGSEGV)'
		one $threads $tool segv-report 'the plug-in crashed in report (SIGSEGV)'
		one $threads $tool abort-report 'the plug-in crashed in report (SIGABRT)'
		one $threads $tool overflow-event 'the plug-in crashed in event (SIGSEGV)'
		one $threads $tool free-report 'the plug-in crashed in report (SIG'
		one $threads $tool fpe-event 'the plug-in crashed in event (SIGFPE)'
		one $threads $tool fail-open 'told not to open'
		one $threads $tool fail-report 'cannot report: '
	done
done
one 4 trouble_merging segv-merge 'the plug-in crashed in merge (SIGSEGV)'

# run opens tools before the program starts: a crash there is reported once, with the report.
timeout 100 "$ACCELPROF" run -t "regions,$plugin" --opt trouble.how=segv-open -o crashed -- "$behave" region x >out 2>err
is "run, segv-open: status" $? 0
is "run, segv-open: reported" "$(grep -c 'accelprof: tool trouble failed: the plug-in crashed in open (SIGSEGV)' err)" 1
has "run, segv-open: the others" err '^main/x +1 '

# What was reported before a crash in close is whole, but where a shard's state is closed before.
for tool in trouble trouble_merging; do
	timeout 100 "$ACCELPROF" report run -t "kernel_freq,$plugin,copies" --threads 1 \
		--opt $tool.how=segv-close --format json >bad.json 2>err
	is "$tool segv-close: status" $? 0
	others bad.json >bad
	cmp bad good || failed "$tool segv-close: the others' results"
	has "$tool segv-close" err "^accelprof: tool $tool: the plug-in crashed in close \\(SIGSEGV\\), after the tool's report was complete"
	is "$tool segv-close: tables" \
		"$(json bad.json '[len(t["tables"]) for t in d["tools"] if "trouble" in t["name"]]')" "[1, 1]"
done
one 4 trouble_merging segv-close 'the plug-in crashed in close (SIGSEGV)'

# With stdout or the heap locked, or by exit.
one 1 trouble printf-report 'the plug-in crashed in report (SIGSEGV)'
one 4 trouble printf-event 'the plug-in crashed in event (SIGSEGV)'
one 4 trouble frames-event 'the plug-in crashed in event (SIGSEGV)'
one 4 trouble heap-report 'the plug-in crashed in report (SIG'
one 4 trouble exit-event 'the plug-in called exit in event'
# The other tool of the library fails too, and the message names the tool that crashed.
has "the same library" err '^accelprof: tool trouble_merging failed: the plug-in has no results, because its tool trouble failed: the plug-in called exit in event$'
done_
