#!/usr/bin/env bash
# export.sh - export --to sqlite is valid, complete and exact, or reports why not.
# timeout: 300
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "no accelprof-gen in this build"
	exit 77
}

# sql DATABASE QUERY - print its answer, as Python has it.
sql() {
	python3 -c 'import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall())' "$1" "$2"
}

# valid DATABASE
valid() {
	is "$1" "$(sql "$1" 'PRAGMA integrity_check') $(sql "$1" 'PRAGMA foreign_key_check')" "('ok',) "
}

# The database matches the generator and the tools.
for size in kernels=100000 training=150000 all=400000; do
	profile=${size%=*}
	"$gen" --profile $profile -n "${size#*=}" --ranks 3 --threads 3 -o $profile \
		>$profile.oracle || failed "gen"
	mkdir $profile.csv
	for table in kernel_freq.kernels copies.copies regions.regions collectives.collectives; do
		"$ACCELPROF" report $profile -t "${table%.*}" --format csv --table "${table#*.}" \
			-o "$profile.csv/${table#*.}.csv" 2>/dev/null || failed "$profile: $table"
	done
	"$ACCELPROF" export $profile --to sqlite -o $profile.db 2>err || failed "$profile: status $?"
	python3 "$SRC/tests/e2e/export.py" $profile.db $profile.oracle $profile.csv \
		"$SRC/docs/export.md" || failed "$profile"
done
has "loss is reported" err '^accelprof: events: .* [1-9][0-9]* dropped'
"$ACCELPROF" export all --to sqlite -o strict.db --strict 2>err
is "--strict: status" $? 3

# Damaged shards: what is readable, in a valid database.
for damage in torn truncate flip holes; do
	"$gen" --profile all --damage $damage -n 200000 -o $damage >/dev/null || failed "gen"
	"$ACCELPROF" export $damage --to sqlite -o $damage.db 2>err
	is "$damage: status" $? 1
	has "$damage" err 'bytes of the shards are damaged, so [0-9]* events were dropped; the file covers all other events'
	valid $damage.db
	is "$damage: some rows are there, and some are missing" "$(sql $damage.db "SELECT
		(SELECT count(*) > 1000 FROM launches),
		(SELECT value > 0 FROM about WHERE key = 'damaged_bytes')")" "(1, 1)"
done

# Names, byte for byte.
text=$(printf 'a\033[31m\t"\\,\n</script>; DROP TABLE kernels; -- größe 漢字')
bytes=$(printf 'b\377\200"\\,\n')
"$ACCELPROF" run -q -o odd -- "$behave" region "$text" region "$bytes"
"$ACCELPROF" export odd --to sqlite -o odd.db 2>err || failed "odd names: $(cat err)"
valid odd.db
python3 - odd.db "$text" "$bytes" <<'P' || failed "odd names"
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
names = {name for name, in db.execute("SELECT name FROM region")}
assert sys.argv[2] in names, names
assert os.fsencode(sys.argv[3]) in names, names
assert {path for path, in db.execute("SELECT path FROM region WHERE name = ?", (sys.argv[2],))} == \
    {"main/" + sys.argv[2]}
P

# A path that is too deep to show is cut as the tool regions cuts it.
"$ACCELPROF" run -q -o deep -- "$behave" nest 100
"$ACCELPROF" export deep --to sqlite -o deep.db || failed "deep paths"
"$ACCELPROF" report deep -t regions --format csv --table regions -o deep.csv
python3 - deep.db deep.csv <<'P' || failed "deep paths"
import csv, sqlite3, sys
paths = {path for path, in sqlite3.connect(sys.argv[1]).execute("SELECT path FROM region")}
assert any("/…(" in path for path in paths), paths
assert paths == {r["region"] for r in csv.DictReader(open(sys.argv[2], newline=""))}
P

# refused STATUS PATTERN ARGS...
refused() {
	local status=$1 pattern=$2
	shift 2
	"$ACCELPROF" export "$@" >out 2>err
	is "export $*: status" $? "$status"
	lines "export $*" err 1
	has "export $*" err "$pattern"
	is "export $*: stdout" "$(cat out)" ""
}

refused 2 'no target given: choose one with --to; targets are sqlite' odd -o x.db
refused 2 "unknown target 'xml': targets are sqlite" odd --to xml -o x.db
refused 2 'no output file given: use -o FILE' odd --to sqlite
refused 2 'cannot be written to stdout' odd --to sqlite -o -
refused 2 'no run given' --to sqlite -o x.db
refused 2 "unknown option '--nosuch'" odd --nosuch
refused 1 'cannot read absent: No such file' absent --to sqlite -o x.db
refused 1 'cannot write absent/x.db: No such file' odd --to sqlite -o absent/x.db
mkdir folder
mkfifo pipe
refused 1 'folder exists and is not a regular file' odd --to sqlite -o folder --force
refused 1 'pipe exists and is not a regular file' odd --to sqlite -o pipe --force
echo precious >kept.db
refused 1 'kept.db exists: choose another file with -o, or replace it with --force' \
	odd --to sqlite -o kept.db
is "it is not touched" "$(cat kept.db)" precious
"$ACCELPROF" export odd --to sqlite -o kept.db --force || failed "--force"
valid kept.db
if [ "$(id -u)" != 0 ]; then
	mkdir frozen
	chmod a-w frozen
	refused 1 'cannot write frozen/x.db: Permission denied' odd --to sqlite -o frozen/x.db
fi
"$ACCELPROF" export --help >out || failed "--help"
has "--help" out '^  -o, --output FILE '

# A shard that is none costs only itself.
cp -r odd mixed
echo rubbish >mixed/shards/other.pst
"$ACCELPROF" export mixed --to sqlite -o mixed.db 2>err
is "a bad shard: status" $? 1
has "a bad shard" err 'other.pst'
is "the good shard" "$(sql mixed.db 'SELECT count(*) FROM regions')" "$(sql odd.db 'SELECT count(*) FROM regions')"

# Where there is no room there is no file either, nor a part of one.
mkdir limited
(
	ulimit -f 1000
	exec "$ACCELPROF" export training --to sqlite -o limited/x.db 2>err
)
is "a limit on files: status" $? 1
has "a limit on files" err 'cannot write limited/x.db: File too large'
is "a limit on files: left behind" "$(ls limited)" ""
mkdir disk
if mount -t tmpfs -o size=2m tmpfs disk 2>/dev/null; then
	"$ACCELPROF" export training --to sqlite -o disk/x.db 2>err
	is "a full disk: status" $? 1
	has "a full disk" err 'cannot write disk/x.db: No space left on device'
	is "a full disk: left behind" "$(ls disk)" ""
	umount disk
else
	echo "no right to mount: the full disk is not tried"
fi

# A pipe without a reader, a terminal, and interrupts.
"$gen" -n 2M -o big >/dev/null || failed "gen"
python3 - "$ACCELPROF" <<'P' || failed "a closed pipe, a terminal, an interrupt"
import os, pty, signal, sqlite3, subprocess, sys, time

def export(run, to, **more):
    return subprocess.Popen([sys.argv[1], "export", run, "--to", "sqlite", "-o", to, "--force"],
        **more)

def about(path):
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    return dict(db.execute("SELECT key, value FROM about")), \
        db.execute("SELECT count(*) FROM launches").fetchone()[0]

r, w = os.pipe()
os.close(r)
assert export("all", "pipe.db", stderr=w).wait() == 0
assert about("pipe.db")[0]["complete"] == 1

leader, follower = pty.openpty()
p = export("big", "big.db", stderr=follower)
os.close(follower)
shown = b""
while True:
    try:
        more = os.read(leader, 4096)
    except OSError:
        break
    shown += more
assert p.wait() == 0
assert b"\raccelprof: reading " in shown and shown.endswith(b"\r\x1b[K"), shown
whole, launches = about("big.db")
assert whole["complete"] == 1

stopped = 0
for wait in (0.05, 0.2, 0.4, 0.6, 1, 1.5, 2):
    p = export("big", "stopped.db", stderr=subprocess.PIPE, text=True)
    time.sleep(wait)
    p.send_signal(signal.SIGINT)
    err = p.communicate()[1]
    if p.returncode != 130:
        continue
    stopped += 1
    assert "interrupted: stopped.db contains only the events that were read before the interrupt" in err, err
    last, some = about("stopped.db")
    assert last["complete"] == 0 and some <= launches
assert stopped, "never interrupted in time"
P
is "nothing is left behind" "$(echo *.tmp)" '*.tmp'
done_
