#!/usr/bin/env bash
# misuse_long.sh - plug-ins that do what tools must not do, a hundred times each.
#
# Many of them wait for a limit of time, so several run at once: each part is this script again.
# labels: long
# timeout: 14400
set -u
PARTS=5
RUNS=${MISUSE_RUNS:-100}
if [ -n "${MISUSE_PART-}" ]; then
	. "$SRC/tests/e2e/_misuse.sh" || exit 1
	done_
	exit
fi
. "$SRC/tests/e2e/lib.sh" || exit 1
runs=$(((RUNS + PARTS - 1) / PARTS))
parts=()
for part in $(seq "$PARTS"); do
	MISUSE_PART=$part MISUSE_RUNS=$runs bash "$SRC/tests/e2e/misuse_long.sh" >"part$part" 2>&1 &
	parts+=($!)
done
for part in $(seq "$PARTS"); do
	wait "${parts[part - 1]}" || failed "part $part: $(cat "part$part")"
	sed "s/^/part $part: /" "part$part"
done
done_
