#!/usr/bin/env bash
# misuse_long.sh - plug-ins that do what tools must not do, a hundred times each.
# labels: long
# timeout: 14400
set -u
RUNS=${MISUSE_RUNS:-100}
. "$SRC/tests/e2e/_misuse.sh" || exit 1
done_
