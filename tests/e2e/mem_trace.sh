#!/usr/bin/env bash
# mem_trace.sh - raw accesses, from a program's kernels through a file to a report, and their loss.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
make=$BUILD/tests/make_accesses

# table RUN NAME - its rows, a line each.
table() {
	json "$1/results/report.json" \
		"\"\\n\".join(\" \".join(\"-\" if c is None else str(c) for c in r) for t in d[\"tools\"][0][\"tables\"] if t[\"name\"] == \"$2\" for r in t[\"rows\"])"
}
# findings RUN
findings() {
	json "$1/results/report.json" '"; ".join(f["what"] for f in d["tools"][0]["findings"])'
}

# Two threads, 1,000 work-items each: a load, and a store or, of every tenth, an atomic.
"$ACCELPROF" run -q -t mem_trace -o run -- "$make" 5 1000 >out 2>err || failed "run: status $?"
lines "three of five are counted" out 3
is "launches" "$(table run launches)" \
	"scale 1 4000 2200 2000 16800 0
scale 2 4000 2200 2000 16800 0
scale 3 4000 2200 2000 16800 0"
# The thread that handed over first has the head: work-items from 0 on, or from 1,000.
table run head >head
from=$(($(sed -n '1s/ 4$//;1s/.* //p' head) / 4))
for i in $(seq "$from" $((from + 9))); do
	kind=store
	[ $((i % 10)) != 0 ] || kind=atomic
	where="1 scale $((i / 64)) $((i % 64)) 0 scale kernels.cl"
	addr=$(printf '0x%x' $((0x7f0000001000 + 4 * i)))
	echo "$where 7 load global $addr 16 $((4 * i)) 4"
	echo "$where 8 $kind global $addr 16 $((4 * i)) 4"
done >wanted
is "head" "$(cat head)" "$(cat wanted)"
is "findings" "$(findings run)" "launches whose accesses were not recorded: 2"
is "a file a process" "$(find run/accesses -type f | wc -l)" 1
"$ACCELPROF" report run -t mem_trace --opt mem_trace.head=3 --format csv --table head >head.csv || failed "report"
lines "a shorter head" head.csv 4
mv run moved
"$ACCELPROF" report moved -t mem_trace --format csv --table launches >moved.csv || failed "moved"
has "a run that was moved" moved.csv '^scale,1,4000,'

# Many batches: none is dropped, and each access is there once.
"$ACCELPROF" run -q -t mem_trace --all --opt mem_trace.head=0 -o many -- "$make" 4 300000 >out 2>err ||
	failed "many: status $?"
is "many" "$(table many launches | cut -d ' ' -f 3,7 | sort -u)" "1200000 0"
is "many: head" "$(table many head)" ""
is "many: findings" "$(findings many)" ""

# The reader in the documentation.
if command -v zstd >/dev/null || python3 -c 'import zstandard' 2>/dev/null; then
	sed -n '/^```python$/,/^```$/p' "$SRC/docs/tools/mem_trace.md" | sed '/^```/d' >reader.py
	python3 reader.py moved/accesses/*.acc >read || failed "reader.py: status $?"
	lines "all are read" read 12000
	is "each once" "$(sort -u read | wc -l)" 12000
	is "loads and stores" "$(cut -d ' ' -f 6 read | sort | uniq -c | tr -s ' \n' ' ')" " 6000 1 5400 2 600 3 "
	has "the last work-item" read '^3 31 15 0 [0-9]+ 1 0 4 0x7f0000002f3c$'
	# Any prefix is readable, up to the block that is cut.
	size=$(stat -c %s moved/accesses/*.acc)
	head -c $((size / 2)) moved/accesses/*.acc >part.acc
	python3 reader.py part.acc >part 2>/dev/null
	[ -s part ] || failed "nothing of a prefix is read"
	cmp -s part <(head -n "$(wc -l <part)" read) || failed "a prefix reads otherwise"
else
	echo "no zstd: the reader in the documentation is not tried"
fi

# What is missing or damaged is named, with status 1; the rest is there.
cp -r moved cut && truncate -s -100 cut/accesses/*.acc
timeout 60 "$ACCELPROF" report cut -t mem_trace >out 2>err
is "cut: status" $? 1
has "cut short" out 'accesses that cannot be read: [0-9]+'
has "cut short: why" out 'was cut short'
has "cut short: reported" err 'cannot read memory accesses: .*was cut short'
"$ACCELPROF" report cut -t regions >out 2>err || failed "no tool reads the file, but the status is $?"
cp -r moved flipped
size=$(stat -c %s moved/accesses/*.acc)
printf '\377\377\377' | dd of="$(echo flipped/accesses/*.acc)" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
timeout 60 "$ACCELPROF" report flipped -t mem_trace >out 2>err
is "flipped: status" $? 1
has "flipped" err 'cannot read memory accesses: .*is damaged at byte'
cp -r moved missing && rm -r missing/accesses
timeout 60 "$ACCELPROF" report missing -t mem_trace >out 2>err
is "missing: status" $? 1
has "missing" out 'accesses that cannot be read: 12000'
has "missing: why" out 'No such file or directory; the run is incomplete without its folder accesses'
cp -r moved piped
acc=$(echo piped/accesses/*.acc)
rm "$acc" && mkfifo "$acc"
timeout 60 "$ACCELPROF" report piped -t mem_trace >out 2>err
is "a FIFO for accesses: status" $? 1
has "a FIFO for accesses" out 'the path is not a regular file'

# A folder that cannot be made: the program runs on, all is counted as dropped.
"$ACCELPROF" run -t mem_trace,object_traffic -o dropped -- sh -c 'touch dropped/accesses; "$0" 1 1000' "$make" >out 2>err
is "dropped: status" $? 0
has "dropped: the program" out '^launch 1: 4000 accesses'
has "dropped: reported" err 'accesses: raw accesses cannot be written to .* and are dropped \(Not a directory\): free some space'
is "dropped: counted" "$(table dropped launches)" "scale 1 0 0 0 0 4000"
has "dropped: reported by the tool that lacks them" <(findings dropped) '^dropped accesses: 4000; 4000 events were dropped'
is "dropped: who counted has them" "$(json dropped/results/report.json 'd["tools"][1]["findings"]')" "[]"
is "dropped: in the account" "$(json dropped/run.json 'd["loss"]["reasons"]["unkept"]')" 4000
"$ACCELPROF" run -q -t mem_trace -o strict --strict -- sh -c 'touch strict/accesses; "$0" 1 10' "$make" >out 2>err
is "dropped: --strict" $? 3

# Killed after the kernels, before all is written: mem_trace reports it, and the counts are exact.
for try in $(seq 50); do
	rm -rf killed
	"$ACCELPROF" run -q -t mem_trace,object_traffic -o killed -- "$make" 1 100000 kill >out 2>err
	is "killed: status" $? 137
	is "killed: counted" "$(json killed/results/report.json 'd["tools"][1]["findings"]')" "[]"
	read -r _ _ there _ _ _ dropped < <(table killed launches)
	is "killed: each is there, or dropped" $((there + dropped)) 400000
	[ "$dropped" = 0 ] || break
	is "killed: nothing is missing" "$(findings killed)" ""
done
[ "$dropped" != 0 ] || failed "killed: the file was always faster, $try times"
is "killed: reported" "$(findings killed)" "launches with incomplete accesses: 1"

# No tool needs raw accesses.
"$ACCELPROF" run -q -t regions -o none -- "$make" >out || failed "none"
has "nothing is wanted" out '^nothing is wanted'
[ ! -e none/accesses ] || failed "an unneeded folder"
done_
