# lib.sh - what the end-to-end tests share. Source it first: it makes a folder to work in.
: "${ACCELPROF:?}" "${BUILD:?}" "${SRC:?}"

failures=0
dir=$(mktemp -d)
# A child of this shell that a signal ends before it has become another program runs this, too.
trap '[ $BASHPID != $$ ] || { chmod -R u+rwx "$dir" 2>/dev/null; rm -rf "$dir"; }' EXIT
cd "$dir" || exit 1
behave=$BUILD/tests/programs/behave

# failed WHAT - prints WHAT; the test goes on, and done_ returns failure.
failed() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# is WHAT GOT WANTED
is() {
	[ "$2" = "$3" ] || failed "$1: got '$2', wanted '$3'"
}

# has WHAT FILE PATTERN
has() {
	LC_ALL=C.UTF-8 grep -qE -- "$3" "$2" || {
		failed "$1: no line like '$3' in:"
		sed 's/^/  | /' "$2"
	}
}

# lines WHAT FILE N
lines() {
	is "$1: lines" "$(wc -l <"$2")" "$3"
}

# json FILE EXPRESSION - print what a Python expression makes of the document d.
#
# Without Python's packages, which take longer to find than the rest.
json() {
	python3 -S -c 'import json, sys
with open(sys.argv[1], encoding="utf-8") as f:
    d = json.load(f)
print(eval(sys.argv[2]))' "$1" "$2"
}

# until_line FILE PATTERN - wait for a line, ten seconds at most.
until_line() {
	for _ in $(seq 200); do
		grep -qE -- "$2" "$1" 2>/dev/null && return 0
		sleep 0.05
	done
	failed "waited in vain for '$2' in $1"
	return 1
}

done_() {
	exit $((failures > 0))
}
