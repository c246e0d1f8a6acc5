#!/usr/bin/env bash
# behave_limits.sh - a program at its limits behaves as natively, and dropped events are counted.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

same "memory: 64 MiB" -- "$harm/limits" memory 64
same "memory: 4 MiB" -- "$harm/limits" memory 4
same "memory: 1 MiB" -- "$harm/limits" memory 1
same "file size, before the first call" -- "$harm/limits" fsize 64
same "file size, after some" -- "$harm/limits" fsize -64
same "file size, with room for rings" -- "$harm/limits" fsize 20000
same "file size, default action" --status -25 -- "$harm/limits" fsize-default 64
same "stack: 256 KiB" --no-loss -- "$harm/limits" stack 256
same "locked memory" -- "$harm/limits" memlock 0
if nobody_can; then
	mkdir home && chown 65534:65534 home
	as_nobody() {
		(TMPDIR=$PWD/home nobody "$nobody_python" -S "$SRC/tests/harm/_compare.py" --repeat "$repeat" "$@") ||
			failures=$((failures + 1))
	}
	as_nobody "no more threads" -- "$harm/limits" nproc
	as_nobody "locked memory, limited" -- "$harm/limits" memlock 0
else
	left_out "no more threads" "root is exempt, and no other user can run what was built here"
fi

# Features that the system lacks are missing in the native run too.
for what in threads fallocate new sockets locks; do
	same "without $what: fork" --under "$harm/launch $what" -- "$harm/family" fork
done
same "without locks: exec" --under "$harm/launch locks" -- "$harm/family" chain 5
same "without locks: killed" --under "$harm/launch locks" --status -25 -- "$harm/limits" fsize-default 64
same "without shared mappings" --under "$harm/launch shared" -- "$harm/family" fork
same "without shared mappings: exec" --under "$harm/launch shared" -- "$harm/family" chain 5
same "without shared mappings: killed" --under "$harm/launch shared" --status -25 --no-count --at-least 2400 -- "$harm/limits" fsize-default 64

# A full disk, in a private mount namespace, so that nothing is left behind.
if is_root && unshare -m true 2>/dev/null; then
	mkdir disk
	full() {
		unshare -m bash -c 'mount -t tmpfs -o size=24m tmpfs disk && exec "$@"' bash python3 -S \
			"$SRC/tests/harm/_compare.py" --disk "$PWD/disk" "$@" || failures=$((failures + 1))
	}
	for room in 65536 2000000 9500000; do
		full "a disk with $room bytes left" --room $room -- "$harm/limits" disk 300
	done
else
	left_out "full disks" "no right to mount"
fi
done_
