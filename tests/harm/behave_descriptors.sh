#!/usr/bin/env bash
# behave_descriptors.sh - every descriptor number belongs to the program.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

for way in list closed closefrom "dup2 20" "zero 20000" "lowest 5000" pipe lock inherit; do
	# shellcheck disable=SC2086 # a mode and its number
	same "descriptors: $way" -- "$harm/descriptors" $way
done
same "descriptors: all taken" -- "$harm/descriptors" limit
# If a thread cannot have a descriptor table of its own, or the kernel is older.
same "descriptors: an older kernel" --under "$harm/launch new" -- "$harm/descriptors" list
same "descriptors: an older kernel, pipes" --under "$harm/launch new" -- "$harm/descriptors" pipe
done_
