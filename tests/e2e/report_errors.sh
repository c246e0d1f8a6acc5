#!/usr/bin/env bash
# report_errors.sh - what is no run, or a damaged one, is one clear line; what is valid is shown.
# labels: asan
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

# refused STATUS PATTERN ARGS...
refused() {
	local status=$1 pattern=$2
	shift 2
	"$ACCELPROF" report "$@" >out 2>err
	is "report $*: status" $? "$status"
	lines "report $*" err 1
	has "report $*" err "$pattern"
	is "report $*: stdout" "$(cat out)" ""
}

# shown STATUS PATTERN ARGS... - there is a report, and a line about what is wrong.
shown() {
	local status=$1 pattern=$2
	shift 2
	"$ACCELPROF" report "$@" >out 2>err
	is "report $*: status" $? "$status"
	has "report $*" err "$pattern"
	has "report $*" out '^events: '
}

"$ACCELPROF" run -q -t regions -o good -- "$behave" events 100000
refused 2 'no run given'
refused 2 "unknown option '--nosuch'" --nosuch good
refused 2 "unknown tool 'nosuch'" -t nosuch good
refused 2 "unknown format 'xml'" good --format xml
refused 2 'perfetto shows events, not the results of tools' good --format perfetto -t regions
refused 2 '--rows needs a number' good --rows many
for format in text json perfetto; do
	refused 2 "--table does not apply to format $format: remove --table, or use --format csv or folded" good \
		--table regions --format $format
done
refused 2 '--table does not apply to format text' good --table regions
"$ACCELPROF" run --table regions -o never -- true >out 2>err
is "run --table: status" $? 2
has "run --table" err '--table does not apply to format text: remove --table, or use --format csv or folded'
[ ! -e never ] || failed "a run was made with wrong options"
"$ACCELPROF" run -t regions --table regions --format csv -o tabled -- "$behave" events 10 >out 2>err ||
	failed "run --table --format csv"
has "run --table --format csv" err '^region,calls,'
refused 2 'belongs to a tool that is not selected' good --opt other.x=1
refused 2 "regions.iterations must be yes or no, not 'maybe'" good --opt regions.iterations=maybe
refused 1 'cannot read absent: No such file' absent
mkdir none
refused 1 'none is not a run: it has neither run.json nor shards' none
echo hello >foreign
refused 1 'foreign' foreign
: >empty.pst
refused 1 'empty.pst' empty.pst
"$ACCELPROF" run -q -o bare -- true
refused 1 'nothing was recorded in this run' bare
cp -r good hollow
: >"$(echo hollow/shards/*.pst)"
"$ACCELPROF" report hollow >out 2>err
is "a run of one empty shard: status" $? 1
has "a run of one empty shard" err 'none of its 1 shards can be read'
if [ "$(id -u)" != 0 ]; then
	cp -r good secret
	chmod a-r secret/shards/*.pst
	shown 1 'Permission denied' secret good
fi

# One bad shard does not cost the others.
cp -r good mixed
echo rubbish >mixed/shards/other.pst
shown 1 'other.pst' mixed
has "the good shard" out '^main/event +100000 '

# A damaged run.json costs only the facts that were in it.
cp -r good nojson
echo '{"schema": "accelprof-run/1", "command": ["x' >nojson/run.json
shown 1 'run.json is damaged' nojson
has "the events" out '^region +main/event +100000 '
sed 's|accelprof-run/1|accelprof-run/9|' good/run.json >nojson/run.json
shown 1 'run.json was written by a newer accelprof' nojson
rm nojson/run.json
shown 0 '^accelprof: nojson has no run.json: the command line and the types of counted memory accesses are unknown$' nojson
lines "without run.json" err 1
has "without run.json" out '^region +main/event +100000 '
"$ACCELPROF" report nojson/shards >out 2>err || failed "shards in a folder"
lines "shards in a folder" err 0
has "shards in a folder" out '^region +main/event +100000 '

# Cut off, and with a hole.
cp -r good cut
shard=$(echo cut/shards/*.pst)
truncate -s $(($(stat -c %s "$shard") - 100)) "$shard"
shown 1 'are damaged' cut
cp -r good holed
shard=$(echo holed/shards/*.pst)
size=$(stat -c %s "$shard")
head -c 200 /dev/urandom | dd of="$shard" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
shown 1 'are damaged, so [1-9][0-9]* events were dropped' holed
has "the account" out '^events: .* [1-9][0-9]* dropped \(damaged [1-9]'
shown 1 'are damaged' --strict holed

# A folder that cannot be written is read all the same.
if [ "$(id -u)" != 0 ]; then
	cp -r good frozen
	chmod -R a-w frozen
	"$ACCELPROF" report frozen >out 2>err || failed "a read-only run"
	has "a read-only run" out '^main/event +100000 '
fi

# A tool whose events were not recorded reports that.
"$ACCELPROF" run -q -t regions -o some -- env PASTA_KINDS=2000 "$behave"
"$ACCELPROF" report some >out 2>err || failed "some kinds"
has "some kinds" out '^note: 1 of 1 processes did not record some kinds of events that regions needs: launch, kernel, copy, set, iteration; record again'
"$ACCELPROF" run -q -o all --record all -- "$behave"
is "all kinds" "$(json all/run.json 'len(d["kinds"]) > 20')" True

# Loss is an exit status only where it is asked for, and the program's own comes first.
"$ACCELPROF" run -o deep -- "$behave" nest 2000 2>err
is "loss: status" $? 0
has "loss" err '^events: .* [1-9][0-9]* dropped \(depth [1-9][0-9]*\)$'
"$ACCELPROF" run -q --strict -- "$behave" nest 2000
is "run --strict: status" $? 3
"$ACCELPROF" run -q --strict -- "$behave" nest 2000 exit 4
is "run --strict of a program that failed: status" $? 4
"$ACCELPROF" report deep >/dev/null || failed "report of a run with loss"
"$ACCELPROF" report --strict deep --format json >deep.json
is "report --strict: status" $? 3
is "the account adds up" "$(json deep.json 'd["loss"]["expected"] == d["loss"]["captured"] + d["loss"]["dropped"]')" True
"$ACCELPROF" report --strict good >/dev/null || failed "report --strict without loss"

# An interrupt ends the reading, not the report.
"$ACCELPROF" run -q -o big -- "$behave" events 1000000
"$ACCELPROF" report big >/dev/null || failed "a big run"
python3 - "$ACCELPROF" <<'P' || failed "an interrupt"
import signal, subprocess, sys, time
for wait in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
    p = subprocess.Popen([sys.argv[1], "report", "big"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    time.sleep(wait)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate()
    if p.returncode == 130 and "events:" in out:
        assert "reading was interrupted" in out and "interrupted" in err, (out, err)
        sys.exit(0)
sys.exit(1)
P
done_
