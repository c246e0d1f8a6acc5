#!/usr/bin/env bash
# import_hostile.sh - errors in a trace are reported or counted, and no files remain.
# labels: asan
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

head='{"schemaVersion": 1, '
# event NAME TID TS DUR - an operator.
event() {
	printf '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":%s,"ts":%s,"dur":%s}' "$@"
}
a=$(event aten::a 1 10 5) b=$(event aten::b 1 20 5) c=$(event aten::c 1 30 5)

# made STATUS EVENTS FILE OPTIONS... - the run has so many.
made() {
	local status=$1 events=$2 file=$3
	shift 3
	rm -rf run
	"$ACCELPROF" import "$@" "$file" -o run >out 2>err
	is "$file $*: status" $? "$status"
	if [ "$status" = 0 ]; then
		has "$file $*" out "^run: 1 file, $events events"
	else
		lines "$file $*" err 1
		[ ! -e run ] || failed "$file $*: a run is left behind"
	fi
}

# -- Damage is reported, and recover imports what follows it --
printf '[%s,%s,\0\0\0\0%s]' "$a" "$b" "$c" >zeros.json
made 1 - zeros.json
has "zeros" err 'byte [0-9]+: expected a value \(--recover skips the damage\)'
made 0 6 zeros.json --recover
printf '%s"traceEvents": [%s rubbish %s, %s]}' "$head" "$a" "$b" "$c" >between.json
made 1 - between.json
made 0 6 between.json --recover
has "between" err 'recovered: skipped 1 damaged parts \(8 bytes\)'
printf '%s"x": [1, {"y": tru}], "traceEvents": [%s], "distributedInfo": {"rank": 3}}' \
	"$head" "$a" >before.json
made 1 - before.json
made 0 2 before.json --recover
has "before" err 'recovered: skipped [12] damaged parts'
"$ACCELPROF" report run --format json >report.json 2>err
has "what comes after the events is read" report.json 'rank 3'

# -- Files that are not traces --
printf '{"schemaVersion": 2, "layers": []}' >image.json
made 1 - image.json
has "no events" err 'image.json has no events: its JSON object has no member traceEvents'
printf '%s"baseTimeNanoseconds": 18446744073709551615, "traceEvents": [%s]}' "$head" "$a" >base.json
made 1 - base.json
has "base" err 'the value of baseTimeNanoseconds is invalid'

# -- Threads whose names are long do not get each other's spans --
long=$(printf 'x%.0s' {1..100})
printf '%s"traceEvents": [%s, %s, %s]}' "$head" "$(event aten::a 7 1 5)" \
	"$(event aten::b "\"$long\"" 1 9)" "$(event aten::c 7 4 2)" >long.json
made 0 6 long.json
! grep -q 'cross' err || failed "spans of two threads were put on one: $(cat err)"

# -- Years apart, nanoseconds count --
printf '%s"traceEvents": [%s, %s, %s]}' "$head" "$(event aten::a 1 0 1)" \
	"$(event aten::b 1 1700000000000000.001 0.003)" \
	"$(event aten::c 1 1700000000000000.101 0.007)" >years.json
"$ACCELPROF" report years.json -t ops --format csv --table ops >out 2>err
has "years" out '^aten::b,1,3,'
has "years" out '^aten::c,1,7,'

# -- Selecting only begins, or only ends, imports both --
rm -rf run
"$ACCELPROF" import --kinds op_begin years.json -o run >out 2>err
has "kinds" out '^run: 1 file, 6 events'

# -- Ids that are a process's own are not another's; what overlaps does not cross --
async() {
	printf '{"ph":"%s","cat":"net","name":"get","pid":%s,"tid":1,"ts":%s,"id2":{"local":"%s"}}' "$@"
}
printf '[%s,%s,%s,%s,%s,%s]' "$(async b 1 10 0x1)" "$(async b 1 20 0x2)" "$(async b 2 25 0x1)" \
	"$(async e 1 30 0x1)" "$(async e 2 35 0x1)" "$(async e 1 60 0x2)" >async.json
"$ACCELPROF" report async.json -t regions --format csv --table regions >out 2>err
has "async" out '^get,3,70000,70000,23333,10000,40000,'

# -- Categories beyond a limit are counted together --
python3 -c '
import json
print(json.dumps({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": f"category{i % 5000}", "name": "n", "pid": 1, "tid": 1, "ts": i, "dur": 1}
    for i in range(10000)]}))' >categories.json
made 0 20000 categories.json
is "stacks" "$(json run/run.json 'len(d["import"][0]["counts"]) < 300')" True
is "stacks" "$(json run/run.json 'sum(d["import"][0]["counts"].values())')" 10000

# -- report: one file that is wrong does not spoil another; pipes; signals --
printf '%s"traceEvents": [%s]}' "$head" "$a" >good.json
"$ACCELPROF" report absent.json good.json -t ops >out 2>err
is "one of two: status" $? 1
has "one of two" out '^aten::a '
is "one of two is reported once" "$(grep -c absent.json err)" 1
"$ACCELPROF" report <(cat good.json) -t ops >out 2>err
has "a pipe" out '^aten::a '

TMPDIR=$dir "$ACCELPROF" report good.json --format json >report.json 2>err
is "the run is called after its file" "$(json report.json 'd["run"]["path"]')" good.json
ls accelprof-* >/dev/null 2>&1 && failed "a folder is left behind: $(ls)"

# -- Damage that could begin an event at many offsets costs time in proportion to its size --
python3 -c 'print("{\"schemaVersion\": 1, \"traceEvents\": [x" + ("{\"a\":[" * 500 + "1," * 500000) * 6)
' >nested.json
timeout 20 "$ACCELPROF" import --recover nested.json -o nested >out 2>err || failed "nested: $(cat err)"

mkdir tmp
# ended SIGNAL STATUS VERB... - while it reads, which it does for ever.
ended() {
	local signal=$1 status=$2 pid
	shift 2
	rm -f fifo
	mkfifo fifo
	{
		printf '[%s' "$a"
		while printf ',%s' "$b"; do :; done
	} >fifo 2>/dev/null &
	TMPDIR=$dir/tmp python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$ACCELPROF" "$@" >out 2>err &
	pid=$!
	for _ in $(seq 200); do
		# A shard, or a file without a name.
		[ -n "$(find made -name '*.pst' 2>/dev/null)" ] && break
		find "/proc/$pid/fd" -lname '*(deleted)' 2>/dev/null | grep -q . && break
		sleep 0.05
	done
	sleep 0.1
	kill "-$signal" $pid
	wait $pid 2>/dev/null
	is "$* and SIG$signal: status" $? "$status"
	is "$* and SIG$signal: left behind" "$(ls -A tmp)$(ls -d made 2>/dev/null)" ""
	wait
}
for verb in "report fifo" "import fifo -o made" "export fifo --to sqlite -o made"; do
	# shellcheck disable=SC2086
	for end in "INT 130" "TERM 143" "HUP 129"; do
		ended $end $verb
	done
done
done_
