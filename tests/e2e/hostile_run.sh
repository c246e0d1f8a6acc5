#!/usr/bin/env bash
# hostile_run.sh - runs that somebody else has made or changed: read without harm, or refused.
# timeout: 180
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
umask 022

# shown STATUS PATTERN ARGS... - there is a report, and a line about what is wrong; nothing hangs.
shown() {
	local status=$1 pattern=$2
	shift 2
	timeout 60 "$ACCELPROF" report "$@" >out 2>err
	is "report $*: status" $? "$status"
	has "report $*" err "$pattern"
	has "report $*" out '^events: '
}

"$ACCELPROF" run -q -t regions -o good -- "$behave" events 1000

# Who may read a run.
is "a run's folder" "$(stat -c %a good good/shards good/results | tr '\n' ' ')" "700 700 700 "
is "its control page" "$(stat -c %a good/control)" 600
"$ACCELPROF" run -q --share -o shared -- "$behave" events 10
is "a run's folder, with --share" "$(stat -c %a shared shared/shards shared/results | tr '\n' ' ')" "755 755 755 "
echo '[{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}]' >small.json
"$ACCELPROF" import -o imported small.json >/dev/null 2>err || failed "import"
is "an import's folder" "$(stat -c %a imported imported/shards | tr '\n' ' ')" "700 700 "
"$ACCELPROF" import --share -o open small.json >/dev/null 2>err || failed "import --share"
is "an import's folder, with --share" "$(stat -c %a open open/shards | tr '\n' ' ')" "755 755 "

# Where a run may be made.
mkdir mine
"$ACCELPROF" run -q -o mine -- "$behave" events 10 || failed "an empty folder of ours"
mkdir -m 777 anyone
"$ACCELPROF" run -q -o anyone -- "$behave" events 10 2>err
is "a folder that all can write to: status" $? 125
has "a folder that all can write to" err 'all users can write to anyone'
is "it is left as it was" "$(ls anyone)" ""
if [ "$(id -u)" = 0 ]; then
	mkdir theirs && chown nobody theirs
	"$ACCELPROF" run -q -o theirs -- "$behave" events 10 2>err
	is "another user's folder: status" $? 125
	has "another user's folder" err 'theirs belongs to another user'
	is "it is left as it was" "$(ls theirs)" ""
else
	echo "another user's folder is not tried: that takes root"
fi

# FIFOs and links instead of the run's files.
for name in run.json control; do
	cp -r good fifo && rm fifo/$name && mkfifo fifo/$name
	timeout 60 "$ACCELPROF" report fifo >out 2>err
	is "a FIFO for $name: status" $? 1
	has "a FIFO for $name" err "$name: the path is not a regular file"
	has "a FIFO for $name" out '(^| )main/event +1000 '
	rm -r fifo
	cp -r good linked && mv linked/$name victim && ln -s ../victim linked/$name
	timeout 60 "$ACCELPROF" report linked >out 2>err
	is "a link for $name: status" $? 1
	has "a link for $name" err "$name: the path is a symbolic link"
	rm -r linked victim
done
cp -r good piped
mkfifo piped/shards/other.pst piped/shards/another.ring
shown 1 'other.pst: the path is not a regular file' piped
has "a FIFO for a ring" err 'another.ring: the path is not a regular file'
cp -r good linked
mkdir elsewhere && mv linked/shards/*.pst elsewhere/
ln -s "$PWD"/elsewhere/*.pst linked/shards/
timeout 60 "$ACCELPROF" report linked >out 2>err
is "a link for the shard: status" $? 1
has "a link for the shard" err 'the path is a symbolic link, which accelprof does not follow in the folder of a run'
ln -s good alias
"$ACCELPROF" report alias >out 2>err || failed "a run that is named through a link"

# run.json: nested deep, changed, and with a zero in it.
cp -r good deep
python3 -c 'print("[" * 300000 + "]" * 300000)' >deep/run.json
shown 1 'run.json is damaged' deep
python3 -c 'print("{\"schema\": \"accelprof-run/1\", \"x\": " + "[" * 300000 + "]" * 300000 + "}")' >deep/run.json
shown 1 'run.json is damaged' deep
python3 -c 'print("{\"a\":" * 300000)' >deep/run.json
shown 1 'run.json is damaged' deep
cp -r good changed
sed -i 's/"start": 1/"start": 2/' changed/run.json
shown 1 'run.json was changed after accelprof wrote it' changed
printf '{"schema": "accelprof-run/1"}\0' >changed/run.json
shown 1 'run.json is damaged' changed
printf '{"schema": "accelprof-run/1"}' >changed/run.json
"$ACCELPROF" report changed >out 2>err || failed "a run.json without a sum, as older ones are"

# Files that end in .ring and are none of ours.
mkdir folder
echo "my precious" >folder/wedding.ring
: >folder/empty.ring
touch -d '1 hour ago' folder/*.ring
cp good/shards/*.pst folder/
shown 1 'wedding.ring is damaged' folder
is "they are left" "$(ls folder/*.ring | tr '\n' ' ')" "folder/empty.ring folder/wedding.ring "
is "with what is in them" "$(cat folder/wedding.ring)" "my precious"

# Output goes to a file with an unpredictable name first, and appears complete.
mkdir target && echo keep >target/victim
"$ACCELPROF" report good -o target/report.txt || failed "report -o"
is "nothing else is left there" "$(ls target | tr '\n' ' ')" "report.txt victim "
ln -s victim target/link
"$ACCELPROF" report good -o target/link || failed "report -o through a link of ours"
has "our own link is followed" target/victim '^events: '
if [ "$(id -u)" = 0 ]; then
	mkdir -m 1777 sticky && echo keep >precious
	ln -s ../precious sticky/report.txt && chown -h nobody sticky/report.txt
	"$ACCELPROF" report good -o sticky/report.txt 2>err
	is "a stranger's link: status" $? 1
	has "a stranger's link" err 'belongs to another user'
	is "a stranger's link is not followed" "$(cat precious)" keep
fi
long=$(printf 'n%.0s' $(seq 255))
"$ACCELPROF" report good -o "$long" || failed "a name as long as can be"

# Nothing is left of traces that are read, whatever ends it.
mkdir tmp
python3 - >trace.json <<'P'
print("[")
for i in range(400000):
    print('{"ph":"X","name":"n%d","ts":%d,"dur":1,"pid":1,"tid":%d},' % (i % 100, i * 2, i % 7))
print('{"ph":"X","name":"end","ts":900000,"dur":1,"pid":1,"tid":1}]')
P
for sig in INT TERM HUP QUIT KILL; do
	for wait in 0.02 0.1 0.3; do
		TMPDIR=$PWD/tmp "$ACCELPROF" report trace.json >out 2>err &
		pid=$!
		sleep $wait
		kill -s $sig $pid 2>/dev/null
		wait $pid 2>/dev/null
		is "after SIG$sig" "$(ls -A tmp)" ""
	done
done
TMPDIR=$PWD/tmp "$ACCELPROF" report trace.json >out 2>err || failed "a trace: status $?"
has "a trace" out '^events: '
is "after a report" "$(ls -A tmp)" ""
done_
