#!/usr/bin/env bash
# run_signals.sh - signals reach the program once, and its death is ours.
# labels: asan, tsan
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
ulimit -c 0

# A shell has only the status to distinguish a signal from an exit; waitpid distinguishes them.
how() {
	python3 - "$@" <<'P'
import subprocess, sys
print(subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode)
P
}

for sig in 1 2 3 6 8 9 11 13 14 15; do
	is "death by signal $sig" "$(how "$ACCELPROF" run -q -- "$behave" signal $sig)" "-$sig"
done
bash -c "\"$ACCELPROF\" run -q -- \"$behave\" signal 11" 2>/dev/null
is "a segmentation fault in a shell" $? 139
has "the region of the dead program" <("$ACCELPROF" report accelprof-run-1 -t regions) '^main +1 .* 1 +0 ns +0 ns$'
is "run.json has the signal" "$(json accelprof-run-7/run.json 'd["exit"]')" "{'signal': 11}"

# sent NAME: kill accelprof with it; the program counts what it gets.
sent() {
	rm -f out
	"$ACCELPROF" run -q -- "$behave" count "$(kill -l "$1")" ready await >out 2>err &
	pid=$!
	until_line out ready
	kill -"$1" $pid
	wait $pid
	is "SIG$1: status" $? 0
	has "SIG$1 reaches the program once" out '^caught 1$'
}
for name in TERM HUP USR1 USR2 WINCH CONT ALRM ABRT; do # bash has & jobs ignore INT and QUIT
	sent $name
done

rm -f out
"$ACCELPROF" run -o killed -- "$behave" ready sleep 20000 >out 2>err &
pid=$!
until_line out ready
kill -TERM $pid
wait $pid
is "killed with TERM" $? 143
has "its report" err '^region +main +1 '

# As a script would: interrupted from outside, not by a terminal.
python3 - "$ACCELPROF" "$behave" >out 2>err <<'P'
import signal, subprocess, sys
for sig in (signal.SIGINT, signal.SIGQUIT):
    p = subprocess.Popen([sys.argv[1], "run", "-q", "--", sys.argv[2], "count", str(int(sig)),
        "ready", "await"], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    p.send_signal(sig)
    print(p.communicate()[0].strip(), p.returncode)
P
is "SIGINT and SIGQUIT reach the program once" "$(cat out)" $'caught 1 0\ncaught 1 0'

# What the program sends to its own group has reached it: no second time through us.
python3 - "$ACCELPROF" "$behave" >out 2>err <<'P'
import os, subprocess, sys
subprocess.run([sys.argv[1], "run", "-q", "--", sys.argv[2], "count", "10", "group", "10",
    "await"], start_new_session=True)
P
has "a signal to its own group" out '^caught 1$'

# Ignored and blocked signals are inherited, and ours are not.
is "dispositions" "$("$ACCELPROF" run -q -- "$behave" ignored 2 ignored 15 ignored 17)" \
	"$("$behave" ignored 2 ignored 15 ignored 17)"
is "nohup" "$(trap '' HUP; "$ACCELPROF" run -q -- "$behave" ignored 1)" "ignored open"
is "ignored children" "$(trap '' CHLD; "$ACCELPROF" run -q -- "$behave" ignored 17 exit 0)" \
	"$(trap '' CHLD; "$behave" ignored 17)"

# An alarm set before us is for the program.
is "alarm" "$(how python3 -c '
import os, signal, sys
signal.alarm(1)
os.execv(sys.argv[1], sys.argv[1:])' "$ACCELPROF" run -q -- "$behave" sleep 20000)" -14
done_
