#!/usr/bin/env bash
# behave_cancel.sh - threads are cancelled at the same points as natively, and leave no lock held.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

same "pending at every call" --no-loss -- "$harm/cancel" pending
same "pending at first calls" --no-loss -- "$harm/cancel" first
same "at random moments" -- "$harm/cancel" random 30
same "asynchronously" -- "$harm/cancel" async 30
same "disabled" --no-loss -- "$harm/cancel" disabled
same "state and type" --no-loss -- "$harm/cancel" state
same "the main thread" --status 7 -- "$harm/cancel" main
same "the main thread ends first" --no-loss -- "$harm/cancel" last
same "the main thread ends last, and has emitted nothing" --no-loss -- "$harm/cancel" quiet 0
same "the main thread ends first, and has emitted nothing" --no-loss -- "$harm/cancel" quiet 20
if is_root; then
	same "the main thread ends where there is no /proc" --timeout 20 -- "$harm/cancel" jailed 100
else
	left_out "no /proc" "no right to chroot"
fi
same "SIGTERM" --status -15 -- "$harm/cancel" term
done_
