#!/usr/bin/env bash
# import_bad.sh - a file that is not a trace, or is damaged, is one clear message and no run;
# --recover imports the valid part, and reports how much is damaged.
# timeout: 120
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
data=$SRC/tests/data/import

# limited COMMAND... - limits the memory and the time of a command.
limited() (
	ulimit -v 1500000
	exec timeout 20 "$@"
)

# refused PATTERN FILE... - status 1, a first line that names the last file, and nothing left.
refused() {
	local pattern=$1
	shift
	limited "$ACCELPROF" import "$@" -o refused >out 2>err
	is "import ${*: -1}: status" $? 1
	head -n 1 err >first
	has "import ${*: -1}" first "^accelprof: .*${*: -1}.*($pattern)"
	is "import ${*: -1}: stdout" "$(cat out)" ""
	is "import ${*: -1}: left behind" "$(echo refused*)" 'refused*'
	rm -rf refused*
}

# imported FILE [OPTIONS...] - imports FILE as the run "imported", and checks for status 0.
imported() {
	rm -rf imported
	limited "$ACCELPROF" import "$@" -o imported >out 2>err
	is "import $*: status, $(head -n 1 err)" $? 0
}

# count TABLE - prints the number of rows in TABLE of the run "imported".
count() {
	rm -f imported.db
	"$ACCELPROF" export imported --to sqlite -o imported.db 2>/dev/null
	python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM " + sys.argv[2]).fetchone()[0])' \
		imported.db "$1" 2>&1
}

# trace EVENTS... - a Kineto trace of these events.
trace() {
	local IFS=,
	printf '{"schemaVersion": 1, "traceEvents": [%s]}\n' "$*"
}
kernel='{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 100, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 1}}'
call='{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 90, "dur": 2, "args": {"correlation": 1}}'

# What cannot be read.
refused 'No such file' absent.json
mkdir folder
refused 'folder|no trace' folder
: >empty.json
refused 'empty' empty.json
if [ "$(id -u)" != 0 ]; then
	trace "$kernel" >secret.json
	chmod 0 secret.json
	refused 'Permission denied' secret.json
fi
mkdir there
echo precious >there/file
trace "$kernel" >good.json
limited "$ACCELPROF" import good.json -o there >out 2>err
is "an output that is there: status" $? 1
has "an output that is there" err '\bthere\b.*(exists|not empty)'
is "an output that is there: untouched" "$(ls -A there) $(cat there/file)" "file precious"

# Files that are not traces.
n=0
for text in null 42 '"text"' '[]x' '[1, 2]' '{}' '{"a": 1}' '{"traceEvents": 5}' 'rubbish' \
	'<html></html>' "$(printf '\177ELF\2\1\1')" '[[[]]]' '{"traceEvents": [[1], 2, "x"]}'; do
	n=$((n + 1))
	printf '%s' "$text" >none$n.json
	refused 'byte [0-9]+|not a trace|format|no events' none$n.json
done
trace "$kernel" | iconv -t UTF-16 >utf16.json
refused 'byte [0-9]+|not a trace|format|UTF' utf16.json

# Syntax: which byte is it, from 0 on?
# wrong_at BYTE TEXT
wrong_at() {
	printf '%s' "$2" >syntax.json
	refused "byte $1\b" syntax.json
}
head='{"schemaVersion": 1, "traceEvents": [' # 37 bytes
wrong_at 37 "$head}]}"
wrong_at 38 "$head{]}"
wrong_at 44 "$head{\"ph\": X}]}"
wrong_at "$((38 + ${#kernel}))" "$head$kernel x]}"
wrong_at "$((37 + ${#kernel}))" "$head$kernel"
wrong_at "$((40 + ${#kernel}))" "$head$kernel]} x"
trace "$kernel" "${kernel/\"k\"/\"a$(printf '\001')b\"}" >syntax.json
refused 'byte [0-9]+' syntax.json
trace "$kernel" "${kernel/\"k\"/\"\\x\"}" >syntax.json
refused 'byte [0-9]+' syntax.json
trace "$kernel" "${kernel/100/0100}" >syntax.json
refused 'byte [0-9]+' syntax.json
trace "$kernel" "${kernel/100/1.}" >syntax.json
refused 'byte [0-9]+' syntax.json
python3 -B "$SRC/tests/e2e/import_bad.py" make || failed "cannot make what is bad"
refused 'byte [0-9]+|not a trace' deep.json
refused 'byte [0-9]+' deep_event.json
refused 'byte [0-9]+' huge_event.json
refused 'byte [0-9]+' cut.json.gz
refused 'byte [0-9]+' cut.json.zst
refused 'byte [0-9]+' flipped.json.gz

# One bad file of several: no run at all.
printf '%s' "$head$kernel" >cut.json
refused 'byte [0-9]+' good.json cut.json

# Where there is no room there is no run either.
(
	ulimit -f 8
	exec timeout 20 "$ACCELPROF" import "$PWD/many.json" -o limited >out 2>err
)
is "a limit on files: status" $? 1
has "a limit on files" err 'File too large'
is "a limit on files: left behind" "$(echo limited*)" 'limited*'

# --recover imports the rest, and reports how much is missing.
for f in deep_event.json huge_event.json cut.json.gz cut.json.zst flipped.json.gz cut.json; do
	imported --recover $f
	has "--recover $f" err "$f.*(damaged|lost|torn|skipped|cut)"
	[ "$(count kernels)" -ge 1 ] || failed "--recover $f: no kernel is left"
done
imported --recover huge_event.json
is "--recover: what is after an event of 100 MB" "$(count kernels)" 2

# A bomb takes time, not memory.
imported bomb.json.gz
is "1 GiB of spaces" "$(count kernels)" 1

# Odd but undamaged events: imported, or reported.
# odd WHAT KERNELS EVENTS... - imports this many kernels, whether the rest is rejected or skipped.
odd() {
	local what=$1 kernels=$2
	shift 2
	trace "$@" >odd.json
	imported --recover odd.json
	is "$what: kernels" "$(count kernels)" "$kernels"
	rm -rf strict
	limited "$ACCELPROF" import odd.json -o strict >out 2>err
	case $? in
	0) [ "$#" = "$kernels" ] || [ -s err ] || failed "$what: not a word of what is left out" ;;
	1) has "$what" err 'odd.json.*byte [0-9]+' ;;
	*) failed "$what: status" ;;
	esac
}
odd "ts of 1e400" 1 "$kernel" "${kernel/100/1e400}"
odd "ts of 20 digits" 1 "$kernel" "${kernel/100/99999999999999999999}"
odd "dur of 1e400" 1 "$kernel" "${kernel/: 5/: 1e400}"
odd "dur that ends after all time" 1 "$kernel" "${kernel/: 5/: 18446744073709551}"
odd "no ts" 1 "$kernel" "${kernel/\"ts\": 100, /}"
odd "no dur" 1 "$kernel" "${kernel/\"dur\": 5, /}"
odd "negative dur" 1 "$kernel" "${kernel/: 5/: -5}"
odd "negative ts" 1 "$kernel" "${kernel/100/-100}"
odd "ts that is text" 1 "$kernel" "${kernel/100/\"soon\"}"
odd "ts of null" 1 "$kernel" "${kernel/100/null}"
odd "no name" 1 "$kernel" "${kernel/\"name\": \"k\", /}"
odd "no ph" 1 "$kernel" "${kernel/\"ph\": \"X\", /}"
odd "numbers in place of events" 1 "$kernel" 1 null '"x"' '[]'
trace "$call" "$call" "$kernel" "$kernel" "$kernel" >twice.json
imported twice.json
is "equal correlations: kernels, launches" "$(count kernels) $(count launches)" "3 2"
trace "${kernel/: 1\}/: 1e400\}}" "${kernel/: 1\}/: 99999999999999999999\}}" \
	"${kernel/: 1\}/: -1\}}" "${kernel/: 1\}/: \"x\"\}}" "${kernel/: 1\}/: null\}}" >corr.json
imported corr.json
is "odd correlations" "$(count kernels)" 5
trace "${kernel/\{\"device*\}/5\}}" "${kernel/\{\"device*\}/[\{\}]\}}" \
	"${kernel/, \"args\"*/\}}" >args.json
imported args.json
is "odd arguments" "$(count kernels)" 3
trace "$kernel" "${kernel/\"k\"/\"$(printf 'b\377\200')\"}" >bytes.json
limited "$ACCELPROF" import bytes.json -o bytes >out 2>err
case $? in
0) ;;
1) has "a name that is not UTF-8" err 'bytes.json.*byte [0-9]+' ;;
*) failed "a name that is not UTF-8: status" ;;
esac

# Crossing operators, many types of inputs, and other things that have no good sense.
imported crossing.json
is "crossing operators" "$(count ops)" 4
imported inputs.json
is "odd inputs" "$(count ops)" 646

# Order does not matter, damage anywhere does no harm.
python3 -B "$SRC/tests/e2e/import_bad.py" try "$ACCELPROF" "$data" || failed "see above"
done_
