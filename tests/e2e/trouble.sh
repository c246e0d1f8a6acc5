#!/usr/bin/env bash
# trouble.sh - a tool that crashes or never returns is named; the others' results are whole.
# timeout: 240
set -u
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
	timeout 20 "$ACCELPROF" report run -t "kernel_freq,$plugin,copies" --threads "$1" \
		--opt "$2.how=$3" --format json >bad.json 2>err
	is "$2 $3, $1 threads: status" $? 1
	others bad.json >bad
	cmp bad good || failed "$2 $3, $1 threads: the others' results"
	grep -qF "accelprof: tool $2 failed: $4" err || failed "$2 $3, $1 threads: $(cat err)"
	json bad.json '[t["tables"] for t in d["tools"] if "error" in t]' >out
	is "$2 $3, $1 threads: no tables" "$(cat out)" "[[]]"
}
for threads in 1 2; do
	for tool in trouble trouble_merging; do
		one $threads $tool segv-open 'it crashed in open (SIGSEGV)'
		one $threads $tool segv-event 'it crashed in event (SIGSEGV)'
		one $threads $tool segv-report 'it crashed in report (SIGSEGV)'
		one $threads $tool abort-report 'it crashed in report (SIGABRT)'
		one $threads $tool overflow-event 'it crashed in event (SIGSEGV)'
		one $threads $tool free-report 'it crashed in report (SIG'
		one $threads $tool fpe-event 'it crashed in event (SIGFPE)'
		one $threads $tool fail-open 'told not to open'
		one $threads $tool fail-report 'cannot report: '
	done
done
one 2 trouble_merging segv-merge 'it crashed in merge (SIGSEGV)'

# run opens them before the program starts: who crashes there is told of with the report, once.
timeout 20 "$ACCELPROF" run -t "regions,$plugin" --opt trouble.how=segv-open -o crashed -- "$behave" region x >out 2>err
is "run, segv-open: status" $? 0
is "run, segv-open: told" "$(grep -c 'accelprof: tool trouble failed: it crashed in open (SIGSEGV)' err)" 1
has "run, segv-open: the others" err '^main/x +1 '

# What was reported before a crash in close is whole.
for threads in 1 2; do
	for tool in trouble trouble_merging; do
		timeout 20 "$ACCELPROF" report run -t "kernel_freq,$plugin,copies" --threads $threads \
			--opt $tool.how=segv-close --format json >bad.json 2>err
		is "$tool segv-close: status" $? 0
		others bad.json >bad
		cmp bad good || failed "$tool segv-close: the others' results"
		has "$tool segv-close" err "^accelprof: tool $tool crashed in close; its report is whole"
		is "$tool segv-close: tables" \
			"$(json bad.json '[len(t["tables"]) for t in d["tools"] if "trouble" in t["name"]]')" "[1, 1]"
	done
done

# With stdout or the heap locked, or by exit: the others' results come all the same, or a word does.
one 1 trouble printf-report 'it crashed in report (SIGSEGV)'
one 2 trouble printf-event 'it crashed in event (SIGSEGV)'
one 2 trouble frames-event 'it crashed in event (SIGSEGV)'
# Who writes over the memory of others may take them along, but not without a word, and not for ever.
timeout 40 "$ACCELPROF" report run -t "kernel_freq,$plugin" --threads 2 \
	--opt trouble.how=heap-report >out 2>err
[ $? != 124 ] || failed "a spoilt heap: it hangs"
has "a spoilt heap" err '^accelprof: tool trouble crashed in report; '
timeout 20 "$ACCELPROF" report run -t "kernel_freq,$plugin" --opt trouble.how=exit-event >out 2>err
is "exit: status" $? 1
has "exit" err '^accelprof: tool trouble called exit in event: run again without it'

# Ctrl-C leaves a tool that never returns, some seconds later, and keeps the others' results.
endless() {
	timeout -s KILL 30 "$ACCELPROF" report run -t "kernel_freq,$plugin,copies" --threads "$1" \
		--opt "$2.how=$3" --format json >bad.json 2>err &
	local pid=$!
	sleep 1
	kill -INT "$(pgrep -P $pid accelprof || echo $pid)"
	wait $pid
	is "$2 $3, $1 threads: status" $? 130
	has "$2 $3, $1 threads" err "^accelprof: tool $2 failed: it did not return from ${3#*-}"
	others bad.json >bad
	if [ "${3#*-}" = report ]; then
		# All had been read.
		sed 's/{"severity": "warning", "what": "reading was interrupted[^}]*}//g' bad >bad.same
		cmp -s bad.same good || cmp bad good || failed "$2 $3, $1 threads: the others' results"
	fi
	json bad.json 'all(t["tables"] for t in d["tools"] if "error" not in t)' >out
	is "$2 $3, $1 threads: the others have tables" "$(cat out)" True
}
endless 1 trouble loop-report
endless 2 trouble_merging loop-report
endless 1 trouble loop-event
endless 2 trouble_merging loop-event
endless 2 trouble sleep-event
endless 2 trouble_merging sleep-merge

done_
