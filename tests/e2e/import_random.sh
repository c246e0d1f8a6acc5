#!/usr/bin/env bash
# import_random.sh - operators of random traces are as documented for ops, tie by tie.
# timeout: 120
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

python3 "$SRC/tests/e2e/import_random.py" "$ACCELPROF" "${TRACES:-200}" "${SEED:-1}" ||
	failed "random traces"
done_
