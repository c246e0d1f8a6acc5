#!/usr/bin/env bash
# import_small.sh - every construct of the traces in tests/data/import becomes what it should.
# timeout: 60
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

for expected in "$SRC"/tests/data/import/*.expected.json; do
	python3 -B "$SRC/tests/e2e/import_small.py" "$ACCELPROF" "$expected" || failed "${expected##*/}"
done

# A process of a host that the trace does not name is called the same everywhere.
trace=$SRC/tests/data/import/kineto-cuda.json
for tool in memory tensors; do
	"$ACCELPROF" report "$trace" -t $tool >out 2>/dev/null || failed "$tool"
	has "$tool" out ' pid 100 '
	is "$tool: a host without a name" "$(grep -c -- ' -100' out)" 0
done
"$ACCELPROF" report "$trace" --format perfetto 2>/dev/null >out || failed "timeline"
has "timeline" out '"python3 \(pid 100\)"'
"$ACCELPROF" export "$trace" --to sqlite -o one.db 2>/dev/null || failed "export"
is "export" "$(python3 -c 'import sqlite3
print(sqlite3.connect("one.db").execute("SELECT label, host FROM process").fetchall())')" \
	"[('pid 100', None)]"
done_
