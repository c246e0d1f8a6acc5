#!/usr/bin/env bash
# import_small.sh - every construct of the traces in tests/data/import becomes what it should.
# timeout: 60
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

for expected in "$SRC"/tests/data/import/*.expected.json; do
	python3 -B "$SRC/tests/e2e/import_small.py" "$ACCELPROF" "$expected" || failed "${expected##*/}"
done
done_
