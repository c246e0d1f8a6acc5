#!/usr/bin/env bash
# gpu_accesses.sh - without a GPU: what tests/gpu holds counts against sees what is right and wrong.
# labels: asan
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
judge=(python3 "$SRC/tests/gpu/sanitizer.py")
export PYTHONDONTWRITEBYTECODE=1
command -v zstd >/dev/null || python3 -c 'import zstandard' 2>/dev/null || {
	echo "skipped: neither zstd nor its package for Python is here"
	exit 77
}

# All tables, and each access. Groups are whole, so that no warp is counted by two threads.
"$ACCELPROF" run -q -t hotness,access_pattern,mem_trace -o run -- "$BUILD/tests/make_accesses" \
	5 1024 >out 2>err || failed "run: status $?"
"$ACCELPROF" export run --to sqlite -o run.db >/dev/null 2>&1 || failed "export"
"${judge[@]}" raw run.db run >raw.out || failed "rows are not those of the accesses: $(cat raw.out)"
has "all tables" raw.out '^[0-9]+ accesses of 3 launches; reducers \[1, 2, 3, 5, 6\]$'
"${judge[@]}" same run.db run.db >same.out || failed "a run differs from itself: $(cat same.out)"

# falsified CHANGE - a database in which one thing is otherwise.
falsified() {
	cp run.db false.db
	python3 -c 'import sqlite3, sys
db = sqlite3.connect("false.db")
if db.execute("UPDATE access_sums SET " + sys.argv[1]).rowcount != 1:
    sys.exit("it has changed no row, or several")
db.commit()' "$1" || failed "$1"
}
one="WHERE rowid = (SELECT min(rowid) FROM access_sums WHERE reducer ="
for change in "loads = loads + 1 $one 1)" "bytes = bytes - 4 $one 2)" "stores = stores + 1 $one 3)" \
	"extra = extra + 1 $one 5)" "key1 = key1 + 1 $one 6)"; do
	falsified "$change"
	! "${judge[@]}" raw false.db run >raw.out || failed "raw does not see: $change"
	has "raw: $change" raw.out '^launch [0-9]+, scale, '
	! "${judge[@]}" same run.db false.db >same.out || failed "same does not see: $change"
done
done_
