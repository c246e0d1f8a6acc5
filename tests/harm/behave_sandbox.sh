#!/usr/bin/env bash
# behave_sandbox.sh - programs that confine themselves behave as natively, and dropped events are counted.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

# Documented differences, by case. "0": the first call comes before the sandbox; "1": within it.
#   strict	Strict mode allows neither opening files (SIGKILL) nor reading the processor's clock
#		(SIGSEGV), and no system call is left to detect it.
#   kill, trap	A filter that kills for unexpected system calls kills for the agent's too: a thread's
#		first call maps a ring. The agent cannot query a filter beforehand.
#   newuser	The kernel refuses it to processes with threads, and the writer is a thread.
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

# sandboxed CASE [OPTION...] - runs it with the first call before the sandbox (0) and within it (1).
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
	# Threads that begin after the process has dropped its rights have rings in ordinary memory, which
	# exec destroys: the report states that, and that the number of events is unknown.
	same "sandbox: setuid-exec 0" --no-count --at-least 2100 -- "$harm/sandbox" setuid-exec 0
	same "sandbox: setuid-exec 1" --no-count --at-least 1800 -- "$harm/sandbox" setuid-exec 1
	for what in locks shared; do
		same "setuid without $what" --under "$harm/launch $what" -- "$harm/sandbox" setuid 1
	done
else
	left_out setuid-exec "no other user can run what was built here"
fi
done_
