#!/usr/bin/env bash
# reduce_gpu.sh - the reducers on a GPU count what those on the host count.
# timeout: 300
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
nvidia-smi -L >/dev/null 2>&1 || skip "no GPU here (nvidia-smi is absent or finds none)"

# The reducers on the host are C: nvcc is given what the C compiler makes of them.
sources=("$SRC"/src/reduce/{cpu,cpucount,objects,requests,rows,sums}.c "$SRC"/src/core/{err,lock}.c
	"$SRC/tests/gpu/reduce_oracle.c")
includes="-I$SRC/include -I$SRC/src -I$SRC/tests"
if command -v "${NVCC:-nvcc}" >/dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
	[ -z "$(find "$SRC/src/reduce" "$SRC/tests/gpu" -newer "$gpu/reduce_gpu" 2>&1)" ] ||
		rm -f "$gpu/reduce_gpu"
	for source in "${sources[@]}"; do
		# shellcheck disable=SC2086 # several words
		"${CC:-cc}" -std=c17 -D_GNU_SOURCE -O2 $includes -c "$source" || failed "$source"
	done
	export NVCC_APPEND_FLAGS="$includes $(echo ./*.o)"
fi
cuda_program reduce_gpu
timeout 120 "$gpu/reduce_gpu" >out 2>&1
is "reduce_gpu: status" $? 0
cat out
has "reduce_gpu" out '^all good$'
done_
