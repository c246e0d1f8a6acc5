#!/usr/bin/env bash
# behave_sandbox.sh - programs that confine themselves: as natively, with what is lost counted.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

# Documented differences, by case: what differs, and how. "0": the first call came before the sandbox;
# "1": it comes within.
#   strict	Strict mode allows neither to open files (SIGKILL) nor to read the processor's clock
#		(SIGSEGV), and no call is left to ask by.
#   kill, trap	A filter that kills for what it does not expect kills for the agent's calls, too: a
#		thread's first call maps a ring. There is no way to ask a filter beforehand.
#   newuser	The kernel refuses it to processes with threads, and the writer is one.
died() { printf 'status=%s\nstdout=-%s' "$@"; }
declare -A known=(
	["strict 0"]=$(died -11 strict)
	["strict 1"]=$(died -9 strict)
	["kill 0"]=$(died -31 done)
	["kill 1"]=$(died -31 done)
	["kill-all 0"]=$(died -31 done)
	["kill-all 1"]=$(died -31 done)
	["trap 0"]=$(died -31 done)
	["trap 1"]=$(died -31 done)
	["newuser 0"]="stdout=+unshare: Invalid argument"
)

# sandboxed CASE [OPTION...] - with the first call before the sandbox (0) and within it (1).
sandboxed() {
	local case=$1 first differs
	shift
	for first in 0 1; do
		differs=()
		while IFS= read -r how; do
			[ -z "$how" ] || differs+=(--differs "$how")
		done <<<"${known[$case $first]:-}"
		same "sandbox: $case $first" "${differs[@]}" "$@" -- "$harm/sandbox" "$case" $first
	done
}

sandboxed strict --status 4
for case in kill kill-all deny trap newuser newnet; do
	case $case in new*) unshare --"${case#new}" true 2>/dev/null || {
		left_out "$case" "no right to namespaces"
		continue
	} ;; esac
	sandboxed $case
done
if is_root && unshare -m -p true 2>/dev/null; then
	for case in newpid newns chroot setuid; do
		sandboxed $case
	done
else
	left_out "newpid, newns, chroot, setuid" "no right to them"
fi
if nobody_can; then
	# Threads that begin after the process has lost its rights have rings in plain memory, which exec
	# takes along: the report says so, and that it cannot say how many events they had.
	same "sandbox: setuid-exec 0" --no-count --at-least 2100 -- "$harm/sandbox" setuid-exec 0
	same "sandbox: setuid-exec 1" --no-count --at-least 1800 -- "$harm/sandbox" setuid-exec 1
	for what in locks shared; do
		same "setuid without $what" --under "$harm/launch $what" -- "$harm/sandbox" setuid 1
	done
else
	left_out setuid-exec "no other user can run what was built here"
fi
done_
