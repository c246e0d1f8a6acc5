#!/usr/bin/env bash
# behave_suid.sh - a set-user-ID program loads no library that its caller names, and writes no file for it.
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1
skip() {
	echo "skipped: $*"
	exit 77
}
nobody_can || skip "this needs root, and another user that can run what was built here"

# secure NAME - makes a set-user-ID root copy of a program.
secure() {
	cp "$1" "./suid-${1##*/}" && chmod 4755 "./suid-${1##*/}"
}
secure "$harm/sandbox"
nobody ./suid-sandbox identity >native
grep -q 'user 65534, effective 0, secure 1' native ||
	skip "set-user-ID has no effect in $dir: $(cat native)"

# A run that a caller could make, and that root must not write into.
mkdir run run/shards && chown -R 65534:65534 run
evil=$harm/preload_evil.so
export EVIL_FILE=$dir/evil
touched() {
	[ ! -e evil ] || failed "$1: it loaded the caller's library"
	rm -f evil
	find run -newer native -type f | grep . && failed "$1: it wrote into the caller's folder"
	rm -rf run/shards/*
}
sleep 0.05 # what is written from now on is newer

# Without the set-user-ID bit the library is loaded: so the check can fail.
PASTA_AGENT=$evil PASTA_RUN=$dir/run "$harm/sandbox" identity >out 2>&1
[ -e evil ] || failed "the test itself: annotate.h does not load PASTA_AGENT"
rm -f evil
PASTA_AGENT=$agent PASTA_RUN=$dir/run "$harm/sandbox" identity >out 2>&1
[ -n "$(ls run/shards)" ] || failed "the test itself: nothing was recorded"
rm -f run/shards/*
touch native
sleep 0.05

for library in "$evil" "$agent"; do
	name=${library##*/}
	nobody env PASTA_AGENT="$library" PASTA_RUN="$dir/run" ./suid-sandbox identity >out 2>err
	is "annotate.h, $name: status" $? 0
	cmp native out || failed "annotate.h, $name: output"
	is "annotate.h, $name: stderr" "$(cat err)" ""
	touched "annotate.h, $name"
done

# Under accelprof run the program runs as natively, and is not recorded.
mkdir home && chown 65534:65534 home
(cd home && nobody "$ACCELPROF" run -q -o its -- ../suid-sandbox identity) >out 2>err
is "accelprof run: status" $? 0
cmp native out || failed "accelprof run: output"
is "accelprof run: files of root's" "$(find home -user 0 | sed 's/^/ /')" ""

# Vendors' entry points. The loaders of these programs do not check AT_SECURE; the agent does.
for program in handler_nvtx handler_cuda handler_cl; do
	[ -x "$harm/$program" ] || continue
	secure "$harm/$program"
	plain=(nobody env PASTA_CUPTI="$programs/fake_cupti.so" HARM_FAKE="$programs/fake_cupti.so"
		POCL_CACHE_DIR="$dir/home")
	"${plain[@]}" "./suid-$program" pending >wanted 2>wanted.err
	wanted=$?
	"${plain[@]}" NVTX_INJECTION64_PATH="$agent" CUDA_INJECTION64_PATH="$agent" OPENCL_LAYERS="$agent" \
		PASTA_AGENT="$agent" PASTA_RUN="$dir/run" "./suid-$program" pending >out 2>err
	is "$program: status" $? $wanted
	cmp wanted out || failed "$program: output"
	cmp wanted.err err || failed "$program: stderr"
	touched "$program"
done

# Python, started by a set-user-ID program: real and effective user differ.
secure "$(command -v env)"
python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3)
if nobody test -x "$python" && nobody test -r "$SRC/python/accelprof/__init__.py"; then
	nobody env PASTA_AGENT="$evil" PASTA_RUN="$dir/run" PYTHONPATH="$SRC/python/site:$SRC/python" \
		./suid-env "$python" -c '
import accelprof, os
with accelprof.region("root"):
    print("region", os.geteuid())' >out 2>err
	is "Python: output" "$(cat out)" "region 0"
	touched "Python, the caller's library"
	nobody env PASTA_AGENT="$agent" PASTA_RUN="$dir/run" PYTHONPATH="$SRC/python/site:$SRC/python" \
		./suid-env "$python" -c '
import accelprof
with accelprof.region("root"):
    pass' >out 2>err
	is "Python: stderr" "$(cat err)" ""
	touched "Python, the agent"
fi
done_
