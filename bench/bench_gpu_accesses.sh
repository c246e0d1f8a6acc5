#!/usr/bin/env bash
# bench_gpu_accesses.sh - the cost of counting memory accesses of CUDA kernels. BENCH_ACCESSES has
# options of bench_accesses.py.
set -u
here=$PWD
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
skip() {
	echo "skipped: $*"
	exit 0
}
need_accesses
cuda_program access_loop "$SRC/bench/gpu/access_loop.cu"
[ "$failures" = 0 ] || exit 1
cd "$here" || exit 1
# shellcheck disable=SC2086 # words of it are options
exec python3 "$SRC/bench/gpu/bench_accesses.py" ${BENCH_ACCESSES:-}
