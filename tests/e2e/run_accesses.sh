#!/usr/bin/env bash
# run_accesses.sh - how run has memory accesses counted: of which launches, and where it cannot.
# labels: asan
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
tool=$BUILD/tests/programs/plugin_accesses.so

# agent_env OPTIONS... - prints the variables that configure the agent's access recording.
agent_env() {
	"$ACCELPROF" run -q -o agent_env "$@" -- sh -c 'env -0 | grep -z ^PASTA_ACCESS | sort -z | tr "\0" "\n"' 2>err
	rm -rf agent_env
}

is "the default tool" "$(agent_env)" ""
is "all kinds" "$(agent_env --record all)" ""
is "a tool that needs none" "$(agent_env -t regions --kernel gemm)" ""
is "three launches" "$(agent_env -t "$tool")" "PASTA_ACCESSES=0x22,launches=3"
is "some launches" "$(agent_env -t "$tool,regions" --sample launches=7)" "PASTA_ACCESSES=0x22,launches=7"
is "all launches" "$(agent_env -t "$tool" --all)" "PASTA_ACCESSES=0x22,launches=0"
is "rounding" "$(agent_env -t "$tool" --inexact)" "PASTA_ACCESSES=0x22,launches=3,inexact"
is "some blocks" "$(agent_env -t "$tool" --sample blocks=1/8)" "PASTA_ACCESSES=0x22,launches=3,blocks=8"
is "blocks of launches" "$(agent_env -t "$tool" --sample launches=5,blocks=1/2)" "PASTA_ACCESSES=0x22,launches=5,blocks=2"
is "blocks, of all launches" "$(agent_env -t "$tool" --all --sample blocks=1/2)" "PASTA_ACCESSES=0x22,launches=0,blocks=2"
is "every block" "$(agent_env -t "$tool" --sample blocks=1/1)" "PASTA_ACCESSES=0x22,launches=3"
is "on the host" "$(agent_env -t "$tool" --processor cpu --lossy)" "PASTA_ACCESSES=0x22,launches=3,host,lossy"
is "on both" "$(agent_env -t "$tool" --processor both)" "PASTA_ACCESSES=0x22,launches=3,both"
is "on both, lossy" "$(agent_env -t "$tool" --processor both --lossy)" "PASTA_ACCESSES=0x22,launches=3,both,lossy"
is "on the device" "$(agent_env -t "$tool" --processor gpu)" "PASTA_ACCESSES=0x22,launches=3"
is "wherever" "$(agent_env -t "$tool" --processor auto)" "PASTA_ACCESSES=0x22,launches=3"
is "each access" "$(agent_env -t mem_trace --lossy)" "PASTA_ACCESSES=0,launches=3,raw,lossy"
is "times of blocks" "$(agent_env -t block_divergence)" "PASTA_ACCESSES=0x480,launches=3"
is "filters" "$(agent_env -t "$tool" --kernel 'gemm|conv' --exclude small --kernel ^x)" \
	"PASTA_ACCESSES=0x22,launches=3
PASTA_ACCESS_EXCLUDE=small
PASTA_ACCESS_KERNEL=gemm|conv
^x"
PASTA_ACCESSES=0x2 PASTA_ACCESS_KERNEL=old agent_env -t regions >out
is "a run within a run has its own" "$(cat out)" ""

"$ACCELPROF" run -q -t "$tool" --sample launches=2 -o some -- true || failed "some"
"$ACCELPROF" run -q -t "$tool" --all -o all -- true || failed "all"
"$ACCELPROF" run -q -t regions -o none -- true || failed "none"
"$ACCELPROF" run -q -t "$tool" --sample blocks=1/4 --processor cpu --lossy -o host -- true || failed "host"
rest="'processor': 'auto', 'inexact': False, 'lossy': False}"
is "run.json: some" "$(json some/run.json 'd["accesses"]')" "{'launches': 2, 'blocks': 1, $rest"
is "run.json: all" "$(json all/run.json 'd["accesses"]')" "{'launches': None, 'blocks': 1, $rest"
is "run.json: host" "$(json host/run.json 'd["accesses"]')" \
	"{'launches': 3, 'blocks': 4, 'processor': 'cpu', 'inexact': False, 'lossy': True}"
is "run.json: none" "$(json none/run.json '"accesses" in d')" False
is "kinds" "$(json some/run.json '[k for k in d["kinds"] if k in ("object", "site", "access_launch", "access_sum", "access_batch", "alloc", "free")]')" \
	"['alloc', 'free', 'access_sum', 'object', 'site', 'access_launch']"
is "kinds: none" "$(json none/run.json '[k for k in d["kinds"] if "access" in k]')" "[]"

is "counted" "$(json some/run.json 'd["counted"]')" "['object', 'coalesce']"
is "counted: none" "$(json none/run.json 'd["counted"]')" "[]"

# What was not counted is not shown as zeros: a tool that needs it fails, and the others go on.
make=$BUILD/tests/make_accesses
not='the run did not count the memory accesses that the tool needs: record again with -t hotness$'
"$ACCELPROF" run -q -t mem_trace -o traced -- "$make" 5 1000 >out || failed "traced"
is "counted: raw" "$(json traced/run.json 'd["counted"]')" "['raw']"
"$ACCELPROF" report traced -t hotness,mem_trace --format json >out 2>err
is "another tool: status" $? 1
has "another tool" err "^accelprof: tool hotness failed: $not"
is "another tool: what is shown" "$(json out '[[len(t["tables"]), len(t["findings"])] for t in d["tools"]]')" \
	"[[0, 0], [2, 1]]"
"$ACCELPROF" run -q --record all -o every -- "$behave" region x || failed "every"
"$ACCELPROF" report every -t hotness >out 2>err
is "all kinds, and none counted: status" $? 1
has "all kinds, and none counted" err "$not"
"$ACCELPROF" report traced every -t mem_trace >out || failed "two runs"
has "one of two runs" out '^note: some of the runs did not count the memory accesses that mem_trace needs: .*; record the excluded runs again with -t mem_trace'
# A run that counted something else would be mixed in.
"$ACCELPROF" run -q -t object_traffic -o traffic -- "$make" 5 1000 >out || failed "traffic"
"$ACCELPROF" run -q -t hotness -o hot -- "$make" 5 1000 >out || failed "hot"
for runs in "hot traffic" "traffic hot" "every hot traffic"; do
	# shellcheck disable=SC2086 # words
	"$ACCELPROF" report $runs -t working_set,object_traffic >out 2>err
	is "other things counted, $runs: status" $? 1
	has "other things counted, $runs" err '^accelprof: tool working_set failed: some of the runs did not count the memory accesses that the tool needs: record these runs again with -t working_set, or report each run separately$'
	lines "other things counted, $runs" err 1
done
"$ACCELPROF" report hot hot every -t working_set >out 2>err || failed "the same counted, and nothing"
has "the same counted, and nothing" out '^note: some of the runs did not count the memory accesses that working_set needs: the tool.s numbers exclude these runs'
# Times beside counting are not what they were without.
note='^note: kernel times are distorted \(OpenCL\) or missing \(CUDA\), because the run also counted memory accesses; record device times in a separate run, without memory accesses$'
"$ACCELPROF" report hot -t kernel_freq >out || failed "times"
has "times" out "$note"
"$ACCELPROF" report every hot -t kernel_freq >out || failed "times of two runs"
has "times of two runs" out "$note"
"$ACCELPROF" report every -t kernel_freq >out || failed "times, and nothing counted"
"$ACCELPROF" report hot -t hotness >>out || failed "no times"
is "no word of times" "$(grep -cE "$note" out)" 0
# Accesses have no device or stream.
for filter in "--device 0" "--stream 99"; do
	# shellcheck disable=SC2086 # words
	"$ACCELPROF" report hot -t hotness,kernel_freq $filter >out 2>err
	is "$filter: status" $? 1
	lines "$filter" err 1
	has "$filter" err '^accelprof: tool hotness failed: --device and --stream cannot select memory accesses: remove these options$'
	# shellcheck disable=SC2086
	"$ACCELPROF" report traced -t mem_trace $filter >out 2>err
	is "each access, $filter: status" $? 1
done
# A tool that needs every launch: sampling is off, and a run that sampled launches is refused.
sed 's/"needs_accesses"/"every"/; s/PASTA_NEED_ACCESS_COALESCE/& | PASTA_NEED_EVERY_LAUNCH/' \
	"$SRC/tests/programs/plugin_accesses.c" >every.c
cc -std=c17 -shared -fPIC -I"$SRC/include" every.c -o every.so || failed "every.so"
is "every launch" "$(agent_env -t ./every.so)" "PASTA_ACCESSES=0x22,launches=0"
lines "every launch, quietly" err 0
is "every launch, for all tools" "$(agent_env -t "$tool,./every.so" --sample blocks=1/2)" "PASTA_ACCESSES=0x22,launches=0,blocks=2"
message='sampling of launches is disabled, because tool every needs the memory accesses of every launch'
"$ACCELPROF" run -t ./every.so -o launches -- "$make" 5 1000 >out 2>err || failed "every launch: run"
has "every launch: it is stated" err "$message"
is "run.json: every" "$(json launches/run.json 'd["accesses"]["launches"]')" None
"$ACCELPROF" run -t ./every.so --all -o asked -- true >out 2>err || failed "every launch, asked for"
is "every launch, asked for" "$(grep -c "$message" err)" 0
"$ACCELPROF" run -t ./every.so --sample launches=2 -o never -- touch started >out 2>err
is "every launch and some: status" $? 2
has "every launch and some" err 'tool every needs the memory accesses of every launch: remove .launches=K. from --sample;'
[ ! -e started ] || failed "every launch and some: the program was started"
no='^accelprof: tool every failed: the run counted the memory accesses of only some launches, but the tool needs every launch: record again with -t \./every\.so, or with --all$'
"$ACCELPROF" run -q -t "$tool" -o first -- "$make" 5 1000 >out || failed "first"
for runs in first "launches first" "first launches"; do
	# shellcheck disable=SC2086 # words
	"$ACCELPROF" report $runs -t ./every.so,"$tool" --format json >out 2>err
	is "sampled launches, $runs: status" $? 1
	lines "sampled launches, $runs" err 1
	has "sampled launches, $runs" err "$no"
	is "sampled launches, $runs: the other tool" "$(json out '[len(t["tables"]) for t in d["tools"]]')" "[0, 1]"
done
"$ACCELPROF" report launches launches -t ./every.so >out 2>err || failed "every launch: report"
lines "every launch: report" err 0
# Of an old run nobody knows: the kinds of its events say what they can.
sed -i 's/"counted"/"other"/; s/"sum"/"more"/' traced/run.json
"$ACCELPROF" report traced -t hotness >out || failed "an old run"
has "an old run" out '^note: 1 of 1 processes did not record some kinds of events that hotness needs: access_sum; record again with -t hotness$'

# refused PATTERN OPTIONS...
refused() {
	local pattern=$1
	shift
	"$ACCELPROF" run "$@" -- true >out 2>err
	is "$*: status" $? 2
	has "$*" err "$pattern"
}
refused '--all counts every launch, but .--sample launches=K. counts only some: remove one of the two options' -t "$tool" --all --sample launches=3
for sample in 3 launches=0 launches=many blocks=2 blocks=1/0 blocks=1/x blocks= launches=2, launches=2,blocks=2 warps=1/2; do
	refused "--sample needs launches=K, blocks=1/N, or both separated by a comma \\(K and N at least 1\\), not '$sample'" \
		-t "$tool" --sample "$sample"
done
refused "--processor needs gpu, cpu, both or auto, not 'tpu'" -t "$tool" --processor tpu
refused '--processor requires a tool that counts memory accesses' --processor cpu
refused "'--processor cpu' cannot count the accesses that the selected tools need" \
	-t block_divergence --processor cpu
refused "'--processor gpu' cannot count the accesses that the selected tools need" -t mem_trace --processor gpu
for tools in mem_trace block_divergence mem_trace,block_divergence; do
	refused "'--processor both' compares the counts of a GPU and the CPU, but none of the accesses that the selected tools need can be counted on both" \
		-t $tools --processor both
done
refused '--device and --stream cannot select memory accesses: remove these options' -t "$tool" --device 0
refused '--device and --stream cannot select memory accesses' -t regions,mem_trace --stream 1-
refused '--lossy requires a tool that counts memory accesses' --lossy
refused '--lossy requires raw accesses: choose a tool that reads them' -t "$tool" --lossy
refused '--all requires a tool that counts memory accesses: choose one with -t' -t regions --all
refused '--sample requires a tool that counts memory accesses' --sample launches=2
refused '--inexact requires a tool that counts memory accesses' --inexact

# An agent by itself: nothing is beside it.
mkdir alone
cp "$BUILD/lib/libpasta-agent.so" alone/
PASTA_AGENT=$PWD/alone/libpasta-agent.so "$ACCELPROF" run -q -t "$tool" -o alone/run -- true 2>err
is "nothing to count with: status" $? 0
lines "nothing to count with" err 1
has "nothing to count with" err 'cannot count memory accesses: libpasta-opencl-trace.so is missing from the agent.s folder: build'
PASTA_AGENT=$PWD/alone/libpasta-agent.so "$ACCELPROF" run -q -t regions -o alone/none -- true 2>err
lines "no one asked" err 0
PASTA_AGENT=$PWD/alone/libpasta-agent.so "$ACCELPROF" doctor >out
has "doctor: nothing to count with" out '^no  accesses +cannot count memory accesses of opencl kernels: libpasta-opencl-trace.so is missing'
echo rubbish >alone/libpasta-opencl-trace.so
PASTA_AGENT=$PWD/alone/libpasta-agent.so "$ACCELPROF" doctor >out
has "doctor: rubbish" out '^no  accesses .*: install the missing library, or rebuild'
if [ -e "$BUILD/lib/libpasta-opencl-trace.so" ]; then
	"$ACCELPROF" doctor >out
	has "doctor" out "^ok  accesses +counts memory accesses of opencl kernels: on PoCL's devices"
	"$ACCELPROF" run -q -t "$tool" -o whole -- true 2>err
	lines "all is there" err 0
	# The host can count, but not for all tools. A driver that is none is as if there were none.
	mkdir driver
	echo rubbish >driver/libcuda.so.1
	export LD_LIBRARY_PATH=$PWD/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	"$ACCELPROF" run -q -t block_divergence -o blocks -- touch started 2>err
	is "only GPUs can count: status" $? 0
	[ -e started ] || failed "only GPUs can count: the program was not started"
	lines "only GPUs can count" err 1
	has "only GPUs can count" err 'cannot count the accesses that tool block_divergence needs: only GPUs can count them, and no GPU can be used \(cannot load libcuda'
	"$ACCELPROF" run -q -t block_divergence,hotness -o some_blocks -- true 2>err
	lines "only GPUs can count for one of two" err 1
	has "only GPUs can count for one of two" err 'cannot count the accesses that tool block_divergence needs: '
	sed 's/PASTA_NEED_ACCESS_OBJECT/& | PASTA_NEED_ACCESS_BLOCK/' "$SRC/tests/programs/plugin_accesses.c" >part.c
	cc -std=c17 -shared -fPIC -I"$SRC/include" part.c -o part.so || failed "part.so"
	"$ACCELPROF" run -q -t ./part.so -o part -- true 2>err
	has "only GPUs can count a part" err 'cannot count some of the accesses that tool [a-z_]+ needs: only GPUs can'
	"$ACCELPROF" run -q -t hotness,access_pattern,working_set,object_traffic,mem_trace -o host_all -- true 2>err
	lines "the host can count" err 0
fi

# An agent with an invalid configuration prints an error, and the program runs on.
for what in PASTA_ACCESSES=x PASTA_ACCESSES=2,blocks=0 PASTA_ACCESSES=2,host,both "PASTA_ACCESSES=2 PASTA_ACCESS_KERNEL=("; do
	# shellcheck disable=SC2086 # words
	"$ACCELPROF" run -t regions -o "nonsense$((n = ${n:-0} + 1))" -- env $what "$behave" region x 2>err
	is "$what: status" $? 0
	has "$what" err 'accesses: memory accesses are not counted: .*(must be MASK|is not a regular expression)'
done
done_
