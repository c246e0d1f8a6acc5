#!/usr/bin/env bash
# behave_sandbox.sh - programs that confine themselves: as natively, with what is lost counted.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

# Documented differences (docs/SECURITY.md), by case: what differs, and how. A filter that kills for
# what it does not expect kills for the agent's calls, too: the agent cannot ask beforehand.
declare -A known=(
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
	sandboxed setuid-exec
	for what in locks shared; do
		same "setuid without $what" --under "$harm/launch $what" -- "$harm/sandbox" setuid 1
	done
else
	left_out setuid-exec "no other user can run what was built here"
fi
done_
