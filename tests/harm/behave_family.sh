#!/usr/bin/env bash
# behave_family.sh - processes that start processes: each child is seen once, and no other.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

for way in fork vfork spawn clone "many 50" daemon orphan wall sigchld death; do
	# shellcheck disable=SC2086 # a mode and its number
	same "family: $way" --no-loss -- "$harm/family" $way
done
same "family: plain" --no-loss --status 28 -- "$harm/family" plain
repeat=1 same "family: 250 programs in one process" --no-loss --marks link=251 -- "$harm/family" chain 250
done_
