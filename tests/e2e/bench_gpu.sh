#!/usr/bin/env bash
# bench_gpu.sh - without a GPU: bench/gpu asks its servers in turn, and its figures are right.
# labels: long
# timeout: 180
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
unset CUDA_INJECTION64_PATH FLOOR_FILE VIRTUAL_ENV
bench=$SRC/bench/gpu/bench_cupti.py
export PYTHONDONTWRITEBYTECODE=1

timeout 100 python3 "$SRC/tests/e2e/bench_gpu.py" >out 2>err || {
	failed "bench_gpu.py"
	cat out err
}

# -- All of it, on fakes of the programs, of Python and of accelprof --
mkdir -p fake/tests/gpu
cp "$SRC/tests/e2e/_bench_fake.py" fake/fake.py
python=$(python3 -c 'import sys; print(sys.executable)')
for name in loop accelprof python; do
	printf '#!/bin/sh\nexec %s %s %s "$@"\n' "$python" \
		"$dir/fake/fake.py" $name >fake/$name
	chmod +x fake/$name
done
mv fake/loop fake/tests/gpu/loop

# fake NAME STATUS OPTIONS... - NAME.out, NAME.err, NAME.json.
fake() {
	local name=$1 status=$2
	shift 2
	ACCELPROF=$dir/fake/accelprof BUILD=$dir/fake PASTA_PYTHON=$dir/fake/python timeout 60 \
		python3 "$bench" --rounds 3 --train-rounds 3 --json "$name.json" "$@" \
		>"$name.out" 2>"$name.err"
	is "$name: status" $? "$status"
}

# blocks NAME PART - how many of each variant.
blocks() {
	json "$1.json" \
		"sorted(__import__('collections').Counter(b['variant'] for b in d['$2']['blocks']).items())"
}

export FAKE_COST="floor=0.3,accelprof=0.3,torch.profiler=0.8,Proton=0.4"
fake all 0 --generations 3 --seconds 60
is "all: loops" "$(blocks all loops)" \
	"[('accelprof', 27), ('accelprof, count', 27), ('callbacks', 27), ('floor', 27), ('native', 27), ('native 2', 27)]"
is "all: training" "$(blocks all training)" \
	"$(printf '%s%s' "[('Proton', 18), ('accelprof', 18), ('accelprof, count', 18), ('floor', 18)," \
		" ('native', 18), ('native 2', 18), ('torch.profiler', 18)]")"
is "all: failures" "$(json all.json 'd["loops"]["lost"] + d["training"]["lost"]')" "[]"
is "all: many" "$(json all.json 'd["many"]["launches"]')" 2000000
has "all: a table" all.out '^\| accelprof \| [0-9]+ \| \+[0-9]+ \[\+[0-9]+, \+[0-9]+\] \| [+-][0-9]+ \['
has "all: the control" all.out '^\| native 2 \| [0-9]+ \| [+-][0-9]+ \['
has "all: training" all.out '^\| torch.profiler \| [0-9.]+ \| 1\.[6-9][0-9]+ \[1\.'
has "all: an aim" all.out '^Aim: trace, GPT-2 8x512, times torch.profiler, at most 1.000: 0\.[0-9]+ \[.*\]: reached$'
has "all: size" all.out '^On disk: 3\.0 bytes a launch'
has "all: many" all.out '2000000 recorded, 0 dropped, 3\.0 bytes each; .*: good$'
has "all: progress" all.err '^loops: generation 3, 162 blocks, [0-9]+ s$'

# The same figures again, from the file.
python3 "$bench" --from all.json >again.out || failed "again: status $?"
is "again" "$(grep '^|' again.out | cut -d '|' -f 1-3)" "$(grep '^|' all.out | cut -d '|' -f 1-3)"

# -- Failures are reported, and the rest is measured --
FAKE_BAD="native:die:4" FAKE_FLOOR="0 0 0" FAKE_MISSING=1 \
	fake wrong 1 --generations 1 --seconds 60 --only loops,many
has "dies: named" wrong.out '^LOST: native: ended, status 3$'
has "dies: last words" wrong.out 'the GPU is on fire'
has "dies: the others" wrong.out '^\| accelprof \|'
has "floor: named" wrong.out "^LOST: floor: it measured nothing: '0 0 0'"
is "floor: its blocks" \
	"$(json wrong.json 'sum(b["variant"] == "floor" for b in d["loops"]["blocks"])')" 0
has "one generation" wrong.out '^Of one generation: the intervals say nothing'
has "floor: no figure" wrong.out '^Aim: trace, ns over the floor: not measured'
has "missing: loops" wrong.out '^Counts wrong, or events dropped: 2 runs'
has "missing: many" wrong.out '1999999 recorded, .*NOT GOOD$'
FAKE_PROTON="no triton" FAKE_BAD="accelprof:refuse:0" fake memory 1 --generations 1 --seconds 60 --only training
has "memory: named" memory.out '^LOST: accelprof: 8x512: out of 8x512'
has "memory: no Proton" memory.out '^left out: Proton: no triton$'
mv fake/tests/gpu/loop fake/loop
printf '#!/bin/sh\necho "no device" >&2\nexit 1\n' >fake/tests/gpu/loop
chmod +x fake/tests/gpu/loop
fake broken 1
has "a program that does not run" broken.err 'tests/gpu/loop: ended, status 1$'
has "a program that does not run: why" broken.err '\| no device$'
mv fake/loop fake/tests/gpu/loop
FAKE_DOCTOR="no  cupti  no driver" fake nodriver 1
has "no driver" nodriver.err '^CUDA cannot be recorded here: no  cupti  no driver'
fake unknown 2 --only loop
has "unknown part" unknown.err 'the parts are loops, many, training'
fake shape 2 --shapes 8x512
has "shape" shape.err 'it is like 8x512=10'

# -- PyTorch's own bench, on the same fakes --
bench=$SRC/bench/gpu/bench_torch.py
# torch NAME STATUS OPTIONS...
torch() {
	local name=$1 status=$2
	shift 2
	ACCELPROF=$dir/fake/accelprof PASTA_PYTHON=$dir/fake/python timeout 60 \
		python3 "$bench" --rounds 4 --json "$name.json" "$@" >"$name.out" 2>"$name.err"
	is "$name: status" $? "$status"
}
export FAKE_COST="accelprof=0.2,accelprof, all=0.4,torch.profiler, full=1.1"
torch gpt2 0 --generations 3 --seconds 60
is "gpt2: blocks" "$(json gpt2.json \
	"sorted(__import__('collections').Counter(b['variant'] for b in d['blocks']).items())")" \
	"[('accelprof', 12), ('accelprof, all', 12), ('native', 12), ('native 2', 12), ('torch.profiler, full', 12)]"
has "gpt2: all" gpt2.out '^\| accelprof, all \| [0-9.]+ \| \+[0-9.]+ \[.*\] \| 1\.[2-5][0-9]+ \['
has "gpt2: torch.profiler" gpt2.out '^\| torch.profiler, full \| [0-9.]+ \| .* \| [12]\.[0-9]+ \['
has "gpt2: an aim" gpt2.out '^Aim: accelprof, all, times torch.profiler, full, at most 1.000: 0\.[0-9]+ \[.*\]: reached$'
has "gpt2: dropped" gpt2.out '^0 events dropped in 6 runs$'
has "gpt2: size" gpt2.out '^On disk: accelprof, all: [0-9.]+ MiB a process$'
python3 "$bench" --from gpt2.json >again.out || failed "gpt2 again: status $?"
is "gpt2 again" "$(grep '^|' again.out | cut -d '|' -f 1-3)" "$(grep '^|' gpt2.out | cut -d '|' -f 1-3)"
FAKE_OP=k torch blind 1 --generations 1 --seconds 60
has "blind" blind.out '^LOST: accelprof: no operator was recorded'
has "blind: an aim" blind.out '^Aim: accelprof, times torch.profiler, full: not measured$'
FAKE_DROPPED=2 torch drops 1 --generations 1 --seconds 60
has "drops" drops.out '^4 events dropped in 2 runs$'
FAKE_BAD="accelprof, all:die:2" torch dies 1 --generations 1 --seconds 60
has "dies" dies.out '^LOST: accelprof, all: ended, status 3$'
printf '#!/bin/sh\nexit 1\n' >fake/none
chmod +x fake/none
PATH=$dir/fake/path:$PATH ACCELPROF=$dir/fake/accelprof PASTA_PYTHON=$dir/fake/none timeout 60 \
	python3 "$bench" >none.out 2>none.err
is "no PyTorch: status" $? 0
has "no PyTorch" none.out '^skipped: no Python that has PyTorch with CUDA'
bench=$SRC/bench/gpu/bench_cupti.py

# One who interrupts has what was measured until then, and no server is left.
FAKE_LOG=$dir/log ACCELPROF=$dir/fake/accelprof BUILD=$dir/fake python3 "$bench" --only loops \
	--rounds 1000 --json stop.json >stop.out 2>stop.err &
until_line log end && sleep 0.5 && kill $!
wait $!
is "stopped: status" $? 1
is "stopped: blocks" "$(json stop.json 'len(d["loops"]["blocks"]) > 5')" True
is "stopped: servers" "$(pgrep -f "$dir/fake" | wc -l)" 0
done_
