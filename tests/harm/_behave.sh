# _behave.sh - what the scripts behave_*.sh share: comparisons of a program with itself.
#
# HARM_REPEAT is how often each case runs under accelprof (1), HARM_JOBS how many runs at a time (1).
. "$SRC/tests/e2e/lib.sh" || exit 1
harm=$BUILD/tests/harm
programs=$BUILD/tests/programs
agent=$BUILD/lib/libpasta-agent.so
repeat=${HARM_REPEAT:-1}
jobs=${HARM_JOBS:-1}
ulimit -c 0
# Another user, as which some cases run, must find the way.
chmod 755 "$dir"
export TMPDIR=$dir

# same NAME [OPTION...] -- COMMAND... - natively and under accelprof; _compare.py has the options.
same() {
	python3 -S "$SRC/tests/harm/_compare.py" --repeat "$repeat" --jobs "$jobs" "$@" ||
		failures=$((failures + 1))
}

# left_out WHAT WHY
left_out() {
	echo "$1: left out: $2"
}

is_root() {
	[ "$(id -u)" = 0 ]
}

# nobody COMMAND... - as a user with no rights. False, and nothing done: there is no way.
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
}

# Whether that user can run what was built here, and a Python (one in somebody's home it cannot).
nobody_python=/usr/bin/python3
nobody_can() {
	is_root && nobody test -x "$ACCELPROF" && nobody test -r "$agent" && nobody test -x "$harm/launch" &&
		nobody test -r "$SRC/tests/harm/_compare.py" && nobody "$nobody_python" -S -c ''
} 2>/dev/null
