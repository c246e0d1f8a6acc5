#!/usr/bin/env bash
# run_errors.sh - what cannot be run or saved is one clear line, and leaves nothing behind.
# labels: asan
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

# refused STATUS PATTERN COMMAND... - one line on stderr, nothing on stdout, no folder left.
refused() {
	local status=$1 pattern=$2
	shift 2
	"$@" >out 2>err
	is "$*: status" $? "$status"
	lines "$*" err 1
	has "$*" err "$pattern"
	is "$*: stdout" "$(cat out)" ""
	is "$*: folders left" "$(find . -name 'accelprof-run*' -o -name new)" ""
}

refused 127 'nowhere: not found' "$ACCELPROF" run -- nowhere
refused 127 'nowhere: not found' "$ACCELPROF" run -o new -- ./nowhere
refused 126 'cannot execute .*: Permission denied' "$ACCELPROF" run -- /etc/passwd
refused 126 'cannot execute .*: Permission denied' "$ACCELPROF" run -- "$PWD"
printf '#!/no/such/interpreter\n' >script
chmod +x script
refused 127 './script cannot be executed, because its interpreter' "$ACCELPROF" run -- ./script

refused 2 "no command given; try 'accelprof --help'" "$ACCELPROF"
refused 2 "unknown command 'frobnicate'; try" "$ACCELPROF" frobnicate
refused 2 "unknown option '--frobnicate'; try" "$ACCELPROF" --frobnicate
refused 2 "run: unknown option '--frobnicate'; try 'accelprof run --help'" \
	"$ACCELPROF" run --frobnicate -- true
refused 2 "run: unknown option '-x'" "$ACCELPROF" run -qx -- true
refused 2 "run: option '-o' needs an argument" "$ACCELPROF" run -o
refused 2 "run: option '--record' needs an argument" "$ACCELPROF" run --record
refused 2 'run: no program given' "$ACCELPROF" run -q --
refused 2 "unknown tool 'nosuch'" "$ACCELPROF" run -t regions,nosuch -- true
refused 2 "has no option 'nosuch'" "$ACCELPROF" run -t regions --opt regions.nosuch=1 -- true
refused 2 "tool hotness: hotness.window must be launches or time, not 'foo'" \
	"$ACCELPROF" run -t regions,hotness --opt hotness.window=foo -- touch started
refused 2 'tool mem_trace: mem_trace.head must be at most 10000000' \
	"$ACCELPROF" run -t mem_trace --opt mem_trace.head=10000001 -- touch started
refused 2 'tool trouble: told not to open' \
	"$ACCELPROF" run -t "$BUILD/tests/programs/plugin_trouble.so" --opt trouble.how=fail-open -- touch started
is "a program was started" "$(find . -name started)" ""
refused 2 'not of the form TOOL.OPTION=VALUE' "$ACCELPROF" run --opt regions -- true
refused 2 "unknown format 'xml'" "$ACCELPROF" run --format xml -- true
refused 2 "'accelprof run' cannot write the format perfetto" "$ACCELPROF" run --format perfetto -- true
refused 2 "unknown kind 'nosuch'" "$ACCELPROF" run --record nosuch -- true
refused 2 '--memory needs a size like 64M' "$ACCELPROF" run --memory lots -- true
refused 2 '--memory needs a size like 64M' "$ACCELPROF" run --memory 99999999T -- true
for size in 0 64 1023K 1048575; do
	refused 2 "--memory needs a size like 64M, at least 1M .bytes, or with a suffix K, M, G or T., not '$size'" \
		"$ACCELPROF" run --memory $size -- true
done
"$ACCELPROF" run -q --memory 1048576 -o least -- true || failed "the least memory"
refused 2 '--stacks needs a list of native, native=PERIOD, python' "$ACCELPROF" run --stacks perl -- true
refused 2 '--stacks needs a list of native, native=PERIOD, python' "$ACCELPROF" run --stacks python,native=0 -- true
refused 2 "--delay needs a time like 10s, not 'soon'" "$ACCELPROF" run --delay soon -- true
refused 2 "--duration needs a time like 10s, not '0s'" "$ACCELPROF" run --duration 0s -- true
refused 2 '--duration needs a time like 10s' "$ACCELPROF" run --duration 999999h -- true
refused 2 "--level needs count, trace or full, not 'most'" "$ACCELPROF" run --level most -- true
refused 2 '--level count does not record the kinds of events that --record enables' \
	"$ACCELPROF" run --level count --record kernel -- true
refused 2 '--level count does not record the kinds of events that --record enables' \
	"$ACCELPROF" run --record all --level count -- true
refused 2 "--level count records nothing that tool copies shows: use '--level trace'" \
	"$ACCELPROF" run -t kernel_freq,copies --level count -- true
refused 125 'PASTA_AGENT is set to /nowhere, which cannot be used as the agent \(No such file' env PASTA_AGENT=/nowhere "$ACCELPROF" run -- true

mkdir full empty
touch full/file plain
refused 125 'full exists and is not an empty folder: choose another' \
	"$ACCELPROF" run -o full -- true
is "the old folder" "$(ls full)" file
refused 125 'plain exists and is not an empty folder' "$ACCELPROF" run -o plain -- true
refused 125 'cannot create the folder no/where: No such file' "$ACCELPROF" run -o no/where -- true
refused 127 'nowhere: not found' "$ACCELPROF" run -o empty -- nowhere
is "an empty folder that was there stays" "$(ls -A empty)" ""
"$ACCELPROF" run -q -o empty -- "$behave" || failed "an empty folder is not taken"

if [ "$(id -u)" != 0 ]; then
	mkdir locked
	chmod a-w locked
	refused 125 'locked/new: Permission denied' "$ACCELPROF" run -o locked/new -- true
	(cd locked && "$ACCELPROF" run -- true) 2>err
	is "a folder that cannot be written: status" $? 125
	has "a folder that cannot be written" err 'cannot create a folder for the run in the current folder'
fi

# Two at once never get the same folder.
mkdir many
(
	cd many || exit 1
	for _ in 1 2 3 4 5 6 7 8; do "$ACCELPROF" run -q -- "$behave" & done
	wait
)
is "runs at once" "$(find many -name run.json | wc -l)" 8

# A process that cannot record still runs, and the reason is printed.
"$ACCELPROF" run -o broken -- sh -c 'rmdir "$PASTA_RUN/shards"; exec "$0" exit 5' "$behave" 2>err
is "cannot record: status" $? 5
has "cannot record" err '^accelprof: processes that could not record: 1 \(cannot create .*: No such file'
"$ACCELPROF" report broken 2>err
is "report of what could not be recorded: status" $? 1
has "report of what could not be recorded" err 'nothing was recorded in this run, and 1 events were dropped: cannot create '

# A file size limit is a disk that is full.
(
	ulimit -f 0
	exec "$ACCELPROF" run -o limited -- "$behave" exit 5
) 2>&1 | cat >err
is "file size limit: status" "${PIPESTATUS[0]}" 125
is "file size limit: folders left" "$(find . -name limited)" ""
has "file size limit" err '^accelprof: cannot (write|create)'

"$ACCELPROF" run --help >out 2>err
is "help: status" $? 0
has "help" out '^usage: accelprof run '
# Each format that help names is one.
for format in $(sed -n 's/.*--format FORMAT *text (default)//p' out | tr -d ,); do
	"$ACCELPROF" run -q --format "$format" -o "as-$format" -- true 2>err || failed "--format $format: $(cat err)"
	rm -rf "as-$format"
done
for verb in report tools doctor; do
	"$ACCELPROF" $verb -h | grep -q "^usage: accelprof $verb" || failed "$verb -h"
done
"$ACCELPROF" --help | grep -q '^usage: accelprof COMMAND' || failed "--help"
"$ACCELPROF" --version | grep -qE '^accelprof [0-9]+\.[0-9]+' || failed "--version"
"$ACCELPROF" --help >/dev/full 2>err
is "help into a full disk: status" $? 1
has "help into a full disk" err 'cannot write to stdout: No space'
"$ACCELPROF" --help 2>err >&-
is "help into a closed stdout: status" $? 1
done_
