#!/usr/bin/env bash
# import_traces.sh - real traces of other profilers are imported exactly. They are not in the
# repository: PASTA_TRACES is the folder that has them.
# timeout: 120
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

traces=${PASTA_TRACES:-$SRC/../shared/traces}
[ -f "$traces/README.md" ] || {
	echo "SKIPPED: no real traces in $traces: set PASTA_TRACES to the folder with their README.md"
	exit 77
}
python3 -B "$SRC/tests/e2e/import_traces.py" "$ACCELPROF" "$traces" || failed "see above"
done_
