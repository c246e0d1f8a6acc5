#!/usr/bin/env bash
# own_reducer.sh - a tool's own reducer: built as documented, found, refused where it cannot be,
# and, on a fake of the Compute Sanitizer, run.
# timeout: 180
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
programs=$BUILD/tests/programs
unset PASTA_TOOL_PATH PASTA_REDUCER CUDA_INJECTION64_PATH PASTA_CUDA_INJECTION PASTA_PATCHES
layout=$(sed -n 's/^#define PASTA_GPU_LAYOUT //p' "$SRC/src/reduce/gpu.h")

# -- As authors build it, from what is installed --
cmake --install "$BUILD" --prefix "$dir/prefix" >/dev/null || failed "cmake --install"
export PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig
cp -r "$SRC/examples/bank_conflicts" made
strict='-O2 -Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror'
make -s -C made CFLAGS="$strict" bank_conflicts.so || failed "the tool"
make -s -C made CFLAGS="$strict" check >out || failed "the reducer on the host"
is "the reducer on the host" "$(cat out)" "0 failures"
# All that the page has is compiled, by the lines that it has; its test runs.
python3 - "$SRC/docs/writing-a-reducer.md" <<'P' || failed "the page's pieces"
import re, sys
with open(sys.argv[1], encoding="utf-8") as f:
    text = f.read()
for piece in re.findall(r"^```(?:cuda|cpp|c)\n(.*?)^```$", text, re.M | re.S):
    with open(re.match(r"/\* ([a-z_]+\.[a-z]+) - ", piece)[1], "w", encoding="utf-8") as f:
        f.write(piece)
P
for line in '^cc .* pages.c ' '^c[+][+] .* test_pages.cpp '; do
	line=$(grep -m 1 "$line" "$SRC/docs/writing-a-reducer.md")
	[ -n "$line" ] || failed "the page has no line to build with"
	eval "$line" || failed "$line"
done
"$ACCELPROF" tools ./pages.so >out || failed "the page's tool"
has "the page's tool" out 'pages .*memory accesses by page and space'
if command -v nvcc >/dev/null; then
	make -s -C made NVCC="nvcc -Werror all-warnings" ARCH=sm_90 bank_conflicts.fatbin || failed "the reducer"
	line=$(grep -m 1 '^nvcc .* pages.cu ' "$SRC/docs/writing-a-reducer.md")
	[ -n "$line" ] || failed "the page has no line to build with"
	eval "$line" || failed "$line"
	for name in global shared local memcpy_async matrix bulk_to_shared; do
		grep -qa "pasta_own_[A-Z]*_${layout}_$name" pages.fatbin || failed "pages.cu: no $name"
	done
	# The compiler rejects invalid keys and spaces.
	printf '#include <pasta/reducer.cuh>\nPASTA_REDUCER(SIGHTS, ALL)\n{\n}\n' >bad.cu
	nvcc --fatbin --compile-as-tools-patch -arch=sm_90 -I"$dir/prefix/include" bad.cu -o bad.fatbin \
		>bad.err 2>&1 && failed "keys that are none"
	has "keys that are none" bad.err KEYS_SIGHTS
else
	echo "no nvcc: the reducer is a list of names"
	printf '\x50\xed\x55\xbapasta_own_SITES_%s_shared\0' "$layout" >made/bank_conflicts.fatbin
fi

# -- What the agent finds in its environment --
agent_env() {
	"$ACCELPROF" run -q -o agent_env "$@" -- sh -c 'env -0 | grep -z -e ^PASTA_ACCESSES -e ^PASTA_REDUCER | sort -z | tr "\0" "\n"' 2>err
	rm -rf agent_env
}
tool=made/bank_conflicts.so
is "beside the tool" "$(agent_env -t ./$tool)" "PASTA_ACCESSES=0x200,launches=3
PASTA_REDUCER=$dir/made/bank_conflicts.fatbin"
is "with a tool that counts no accesses" "$(agent_env -t ./$tool,regions --all)" "PASTA_ACCESSES=0x200,launches=0
PASTA_REDUCER=$dir/made/bank_conflicts.fatbin"
cp made/bank_conflicts.fatbin mine.fatbin
is "at a path" "$(agent_env -t ./$tool --opt bank_conflicts.reducer=mine.fatbin | tail -n 1)" \
	"PASTA_REDUCER=$dir/mine.fatbin"
is "a run within a run has its own" "$(PASTA_REDUCER=old agent_env -t hotness | grep -c REDUCER)" 0

# refused WHAT PATTERN OPTIONS... - before the program starts.
refused() {
	local what=$1 pattern=$2
	shift 2
	"$ACCELPROF" run -q -o never "$@" -- touch started >out 2>err
	is "$what: status" $? 2
	has "$what" err "$pattern"
	[ ! -e started ] && [ ! -e never ] || failed "$what: the program was started"
}
mkdir other
sed 's/"bank_conflicts"/"other"/; s/bank_conflicts[.]fatbin"/other.fatbin"/' made/bank_conflicts.c >other.c
cc -std=c17 -shared -fPIC -I"$SRC/include" other.c -o other/other.so || failed "other.so"
refused "a file that is not there" \
	"tool other needs the reducer $dir/other/other.fatbin, which cannot be read \(No such file .*\): build the reducer with nvcc" -t ./other/other.so
for what in empty folder text queue; do
	rm -rf other/other.fatbin
	case $what in
	empty) : >other/other.fatbin ;;
	folder) mkdir other/other.fatbin ;;
	text) cp "$SRC/README.md" other/other.fatbin ;;
	queue) mkfifo other/other.fatbin ;;
	esac
	refused "a file that is no fatbin: $what" \
		"tool other needs the reducer $dir/other/other.fatbin, which is not a fatbin: build the reducer with 'nvcc --fatbin'" -t ./other/other.so
	refused "two tools, one has no fatbin: $what" "tool other needs the reducer .* is not a fatbin" -t ./$tool,./other/other.so
done
rm other/other.fatbin
cp mine.fatbin other/other.fatbin
refused "two reducers" "tool bank_conflicts counts accesses with its own reducer and cannot run together with other: run the two" \
	-t ./$tool,./other/other.so
refused "beside another table" "its own reducer and cannot run together with hotness: run the two tools one after the other" -t ./$tool,hotness
refused "beside each access" "its own reducer and cannot run together with mem_trace: run the two tools one after the other" -t mem_trace,./$tool
refused "on the host" "processor cpu' cannot count the accesses that the selected tools need" -t ./$tool --processor cpu
refused "on both" "processor both' compares the counts of a GPU and the CPU, but none of the accesses" -t ./$tool --processor both
is "two tools of one reducer" "$(agent_env -t ./$tool,./other/other.so --opt bank_conflicts.reducer=mine.fatbin \
	--opt other.reducer=./mine.fatbin | tail -n 1)" "PASTA_REDUCER=$dir/mine.fatbin"

# A descriptor that makes no sense is left out.
for what in 's/PASTA_NEED_ACCESS_OWN/0/' 's/[.]reducer = .*"/.reducer = NULL/' 's/[.]reducer = "/&..\//'; do
	sed "$what" made/bank_conflicts.c >odd.c
	cmp -s odd.c made/bank_conflicts.c && failed "nothing is odd: $what"
	cc -std=c17 -shared -fPIC -I"$SRC/include" odd.c -o odd.so || failed "odd.so"
	"$ACCELPROF" tools ./odd.so >out 2>err && failed "taken: $what"
	has "$what" err 'the tool (needs PASTA_NEED_ACCESS_OWN, but has no reducer|has a .reducer, but .needs)|.reducer must be the name of a file'
done

# -- On the fake --
mkdir agent lib
cp "$BUILD/lib/libpasta-agent.so" agent/ # without accelprof's own patches: they are not needed
ln -s "$programs/fake_cupti.so" lib/libcuda.so.1
export PASTA_SANITIZER=$programs/fake_sanitizer.so
export PASTA_AGENT=$PWD/agent/libpasta-agent.so LD_LIBRARY_PATH=$PWD/lib
timeout 60 "$ACCELPROF" run -t ./$tool --all -o run --format json -- "$programs/fake_kernels" windows 5 \
	>report.json 2>err || failed "run"
is "run: stderr" "$(grep -v '^accelprof: recorded\|^run:' err | grep -c 'no memory accesses\|reducer')" 0
timeout 60 "$ACCELPROF" report run -t ./$tool --format json >report.json || failed "report"
is "requests, by instruction" \
	"$(json report.json 'sorted((r[0], r[1], r[2]) for r in d["tools"][0]["tables"][0]["rows"] if r[0] == "other")')" \
	"[('other', 'window+0x10', 100), ('other', 'window+0x20', 10), ('other', 'window+0x30', 50), ('other', 'window+0x40', 7), ('other', 'window+0x50', 3)]"
# What one tool's reducer has counted is not shown as another's.
for runs in run "run run"; do
	# shellcheck disable=SC2086
	"$ACCELPROF" report $runs -t ./other/other.so,regions >out 2>err
	is "another's reducer, $runs: status" $? 1
	has "another's reducer, $runs" err \
		'tool other failed: the run did not count the memory accesses that the tool needs: record again with -t \./other/other\.so$'
done
printf '\x50\xed\x55\xbapasta_own_SITES_0_shared\0' >mine.fatbin
timeout 60 "$ACCELPROF" run -q -t ./$tool --opt bank_conflicts.reducer=mine.fatbin --all -o old \
	-- "$programs/fake_kernels" windows 5 >out 2>err || failed "an old reducer hurts the program"
"$BUILD/tests/dump" old >old.dump
has "an old reducer" <(python3 "$SRC/tests/e2e/_accesses.py" why old.dump) \
	"^window: the tool's reducer is not compatible with this accelprof: rebuild the reducer"
FAKE_SANITIZER_FAIL=pasta_own_SITES_${layout}_shared=999 timeout 60 "$ACCELPROF" run -q -t ./$tool --all \
	-o part -- "$programs/fake_kernels" windows 5 >out 2>err || failed "a part of a reducer hurts the program"
"$BUILD/tests/dump" part >part.dump
has "a class that fails" <(python3 "$SRC/tests/e2e/_accesses.py" why part.dump) \
	"^window: some of its instructions cannot be patched: the tool's reducer was not built for this device"
FAKE_SANITIZER_FAIL=sanitizerAddPatchesFromFile=1 timeout 60 "$ACCELPROF" run -q -t ./$tool --all \
	-o bad -- "$programs/fake_kernels" windows 5 >out 2>err || failed "a bad reducer hurts the program"
has "a reducer that cannot be loaded" err \
	"the patches cannot be loaded \(the fake says no\): build the tool's reducer for the device's architecture"
lines "a reducer that cannot be loaded" err 1
done_
