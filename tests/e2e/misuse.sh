#!/usr/bin/env bash
# misuse.sh - plug-ins that do what tools must not do, once each.
# timeout: 600
set -u
RUNS=1
. "$SRC/tests/e2e/_misuse.sh" || exit 1

# Ctrl-C leaves a plug-in that never returns, some seconds later; also one that returns, slowly.
for how in loop-event sleep-report sleep-merge stop-event slow-event; do
	why="the plug-in does not return from ${how#*-}"
	[ $how != stop-event ] || why="the plug-in's worker was stopped by SIGSTOP"
	timeout -s KILL 100 "$ACCELPROF" report run -t "kernel_freq,$misuse,copies" \
		--opt "misuse.how=$how" --format json >bad.json 2>err &
	pid=$!
	for _ in $(seq 900); do
		grep -q 'misuse begins' err && break
		sleep 0.1
	done
	sleep 1
	kill -INT "$(pgrep -P $pid accelprof || echo $pid)"
	wait $pid
	is "Ctrl-C, $how: status" $? 130
	has "Ctrl-C, $how" err "^accelprof: tool misuse failed: $why: ended 3 s"
	# On a machine that is busy they may not have read all by then.
	others bad.json >bad
	cmp -s bad good || grep -q 'reading was interrupted' bad || failed "Ctrl-C, $how: the others' results"
done

# Five libraries, one of which is not well; no more than four processes at once.
for i in 1 2 3 4 5; do
	sed "s/\"misuse\"/\"misuse$i\"/" "$SRC/tests/programs/plugin_misuse.c" >tool.c
	cc -shared -fPIC -O1 -I"$SRC/include" tool.c -o "many$i.so" -lpthread || failed "many$i.so"
done
timeout -s KILL 100 "$ACCELPROF" report run -t kernel_freq,./many1.so,./many2.so,./many3.so \
	-t ./many4.so,./many5.so,copies --opt misuse3.how=double_free-event --format json >bad.json 2>err
is "five libraries: status" $? 1
others bad.json >bad
cmp -s bad good || failed "five libraries: the others' results"
is "five libraries" "$(json bad.json '[len(t["tables"]) for t in d["tools"] if "misuse" in t["name"]]')" \
	"[1, 1, 0, 1, 1]"

# --in-process: as any library, and what crashes crashes.
timeout -s KILL 100 "$ACCELPROF" report run --in-process -t "$misuse" >out 2>err || failed "--in-process"
{
	timeout -s KILL 100 "$ACCELPROF" report run --in-process -t "$misuse" \
		--opt misuse.how=segv-event >out
} 2>err
is "--in-process, segv: status" $? 139

# run: a tool that fails to open is reported before the program starts; a crash, with the report.
"$ACCELPROF" run -t "$misuse" --opt misuse.how=fail-open -o never -- touch started >out 2>err
is "run, fail-open: status" $? 2
has "run, fail-open" err 'tool misuse: told not to open'
[ ! -e started ] || failed "run, fail-open: the program was started"
timeout -s KILL 100 "$ACCELPROF" run -t "regions,$misuse" --opt misuse.how=double_free-open -o crashed -- \
	"$behave" region x >out 2>err
is "run, double_free-open: status" $? 0
is "run, double_free-open: reported" "$(grep -c 'tool misuse failed: the plug-in crashed in open (SIGABRT)' err)" 1
has "run, double_free-open: the others" err '^main/x +1 '
done_
