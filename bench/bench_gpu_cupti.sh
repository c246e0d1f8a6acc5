#!/usr/bin/env bash
# bench_gpu_cupti.sh - the cost of recording CUDA programs. BENCH_CUPTI has options of bench_cupti.py.
set -u
here=$PWD
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
skip() {
	echo "skipped: $*"
	exit 0
}
need_cuda
cuda_program loop "$SRC/bench/gpu/loop.cu"
[ -f "$BUILD/bench/gpu/floor.so" ] || skip "$BUILD/bench/gpu/floor.so is missing: run make"
[ "$failures" = 0 ] || exit 1
cd "$here" || exit 1
# shellcheck disable=SC2086 # words of it are options
exec python3 "$SRC/bench/gpu/bench_cupti.py" ${BENCH_CUPTI:-}
