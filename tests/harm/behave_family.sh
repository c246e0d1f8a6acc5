#!/usr/bin/env bash
# behave_family.sh - processes that start processes: a parent sees each child once, and no other process.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

for way in fork vfork spawn clone "many 50" daemon orphan wall sigchld death; do
	# shellcheck disable=SC2086 # a mode and its number
	same "family: $way" --no-loss -- "$harm/family" $way
done
same "family: plain" --no-loss --status 28 -- "$harm/family" plain
repeat=1 same "family: 250 programs in one process" --no-loss --marks link=251 -- "$harm/family" chain 250
same "family: stopped while threads begin" -- "$harm/family" stop 60
same "family: fork beside first calls" -- "$harm/family" race 40
same "family: 300 threads at once" -- "$harm/family" crowd 300
same "family: 300 threads in little memory" --option=--memory --option=1M -- "$harm/family" crowd 300
if cc -fsanitize=thread -w -I"$SRC/include" -o tsan "$SRC/tests/harm/programs/family.c" -pthread 2>/dev/null &&
	./tsan leaf >/dev/null 2>&1; then
	same "family: built with ThreadSanitizer" -- "$PWD/tsan" crowd 20
else
	left_out "ThreadSanitizer" "no compiler with it"
fi
statuses=(0 1 2 -6 -9 5)
for how in "${!statuses[@]}"; do
	same "family: leaves beside calls, status ${statuses[how]}" --status "${statuses[how]}" -- \
		"$harm/family" leave "$how"
done
done_
