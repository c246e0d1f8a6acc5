#!/usr/bin/env bash
# bench_accesses.sh - without a GPU: the benchmark of counted accesses, on fakes, and its figures.
# labels: long
# timeout: 180
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
unset CUDA_INJECTION64_PATH VIRTUAL_ENV PASTA_PATCHES
bench=$SRC/bench/gpu/bench_accesses.py
export PYTHONDONTWRITEBYTECODE=1

mkdir -p fake/tests/gpu
python=$(python3 -c 'import sys; print(sys.executable)')
for name in access_loop accelprof python; do
	printf '#!/bin/sh\nexec %s %s %s "$@"\n' "$python" "$SRC/tests/e2e/_accesses_fake.py" \
		$name >fake/$name
	chmod +x fake/$name
done
mv fake/access_loop fake/tests/gpu/access_loop

# fake NAME STATUS OPTIONS... - NAME.out, NAME.err, NAME.json.
fake() {
	local name=$1 status=$2
	shift 2
	ACCELPROF=$dir/fake/accelprof BUILD=$dir/fake PASTA_PYTHON=$dir/fake/python timeout 60 \
		python3 "$bench" --rounds 4 --generations 2 --json "$name.json" "$@" \
		>"$name.out" 2>"$name.err"
	is "$name: status" $? "$status"
}

# blocks NAME PART - how many of each variant.
blocks() {
	json "$1.json" \
		"sorted(__import__('collections').Counter(b['variant'] for b in d['$2']['blocks']).items())"
}

fake all 0 --seconds 100
for part in loops models; do
	is "all: $part" "$(blocks all $part)" \
		"[('by object', 16), ('by object and page', 16), ('floor', 16), ('naive', 16), ('native', 16), ('native 2', 16)]"
done
is "all: sampled" "$(blocks all sampled)" \
	"[('callbacks', 16), ('native', 16), ('native 2', 16), ('sampled', 16)]"
is "all: processors" "$(blocks all processors)" \
	"[('native', 8), ('on the GPU', 8), ('on the host', 8)]"
has "all: a table" all.out '^\| by object \| [0-9.]+ \| 2[0-9]\.[0-9]+ \[.*\] \| 1\.[12][0-9]+ \['
has "all: the floor" all.out '^Aim: gather: by object, times the floor, at most 1.500: 1\..*: reached$'
has "all: naive" all.out '^Aim: saxpy: by object, times naive, at most 0.1000: 0\.0.*: reached$'
has "all: sampled" all.out '^Aim: resnet18: sampled by default, times native, at most 2.000: 1\.'
has "all: processors" all.out '^Aim: GPT-2: on the GPU, times on the host .* 0\.(09|1)[0-9]* \[.*: reached$'
# 40 ns times 1,000 accesses a pass.
has "all: one core" all.out '^One core and an ordered map, scaled: 40.0 ns .* the 2 objects .* 1000 accesses a pass: 0 ms$'
is "all: failures" "$(json all.json '[x for p in ("loops", "models", "sampled", "processors") for x in d[p]["lost"]]')" "[]"
python3 "$bench" --from all.json >again.out || failed "again: status $?"
is "again" "$(grep '^|' again.out | cut -d '|' -f 1-3)" "$(grep '^|' all.out | cut -d '|' -f 1-3)"

FAKE_BAD=floor fake floor 1 --only loops
has "a floor that counts" floor.out '^LOST: floor: it counts 3000 accesses: PASTA_PATCHES was not heeded'
has "a floor that counts: no figure" floor.out '^Aim: saxpy: by object, times the floor: not measured$'
FAKE_BAD=callbacks fake callbacks 1 --only sampled
has "no callbacks" callbacks.out "^LOST: callbacks: it measured nothing: 'failed: sanitizerSubscribe'"
FAKE_BAD=object fake nothing 1 --only loops
has "nothing counted" nothing.out '^LOST: by object: no access was counted'
FAKE_OLD=1 fake old 0 --only processors
has "an option that is not there" old.out '^left out: on the host: accelprof: unknown option --processor$'
fake unknown 2 --only loop
has "unknown part" unknown.err 'the parts are loops, models, sampled, processors'
done_
