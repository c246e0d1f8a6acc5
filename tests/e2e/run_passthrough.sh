#!/usr/bin/env bash
# run_passthrough.sh - arguments, stdin, stdout, stderr, files, environment and status are untouched.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

run() { "$ACCELPROF" run -q "$@"; }

is "arguments" "$(run -- "$behave" args -t --help '' 'a b' '*' --)" \
	"$("$behave" args -t --help '' 'a b' '*' --)"
is "options end at the program" "$(run "$behave" args -o x -q)" "$("$behave" args -o x -q)"

head -c 3000000 /dev/urandom >in
run -- "$behave" cat <in >out
cmp in out || failed "stdin to stdout is not the same"

for status in 0 1 2 3 42 125 126 127 255; do
	run -- "$behave" exit $status
	is "exit status" $? $status
done

"$ACCELPROF" run -- "$behave" args x >out 2>err
is "stdout has the program's only" "$(cat out)" "[x]"
has "the report is on stderr" err '^region +main +1 '
has "where the run is" err '^accelprof: run saved in accelprof-run-[0-9]+$'
run -- "$behave" args x >out 2>err
is "quiet is quiet" "$(cat err)" ""

"$behave" fds 2>wanted
run -- "$behave" fds 2>got
cmp got wanted || failed "other files are open than without accelprof"
"$behave" fds 2>wanted <&- >&-
run -- "$behave" fds 2>got <&- >&-
cmp got wanted || failed "closed files do not stay closed"

is "environment" "$(FOO=bar run -- "$behave" env FOO)" bar
is "an old PASTA_PAUSED does not leak in" "$(PASTA_PAUSED=1 run -- "$behave" env PASTA_PAUSED)" \
	"(unset)"
for name in $(sed -n 's/^#define PASTA_ENV_[A-Z_]* "\([A-Z_]*\)".*/\1/p' "$SRC/src/collect/control.h"); do
	has "docs/run.md: the environment" "$SRC/docs/run.md" "\`$name\`"
done
is "the working folder" "$(run -- pwd)" "$PWD"

# A program that knows nothing of us is run all the same.
"$ACCELPROF" run -o plain -- sh -c 'exit 7' 2>err
is "status of an unannotated program" $? 7
has "nothing recorded" err '^accelprof: nothing was recorded: .*annotate.h'
lines "nothing recorded" err 2

"$ACCELPROF" run -- "$behave" args x 2>/dev/full >out
is "stderr full: the program's status" $? 0
done_
