# _behave.sh - shared by behave_*.sh: compares a program's native run with its run under accelprof.
#
# HARM_REPEAT: runs of each case under accelprof (default: 1). HARM_JOBS: runs at a time (default: 1).
. "$SRC/tests/e2e/lib.sh" || exit 1
harm=$BUILD/tests/harm
programs=$BUILD/tests/programs
agent=$BUILD/lib/libpasta-agent.so
repeat=${HARM_REPEAT:-1}
jobs=${HARM_JOBS:-1}
ulimit -c 0
# Some cases run as another user, who must be able to reach these files.
chmod 755 "$dir"
export TMPDIR=$dir

# same NAME [OPTION...] -- COMMAND... - compares native runs with runs under accelprof; _compare.py
# documents the options.
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

# nobody COMMAND... - runs it as a user without rights. Returns false, and runs nothing, if it cannot.
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
}

# Whether that user can run what was built here, and Python (which may be in a private home folder).
nobody_python=/usr/bin/python3
nobody_can() {
	is_root && nobody test -x "$ACCELPROF" && nobody test -r "$agent" && nobody test -x "$harm/launch" &&
		nobody test -r "$SRC/tests/harm/_compare.py" && nobody "$nobody_python" -S -c ''
} 2>/dev/null
