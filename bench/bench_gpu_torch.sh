#!/usr/bin/env bash
# bench_gpu_torch.sh - the cost of recording PyTorch on a GPU. BENCH_GPU_TORCH has options of bench_torch.py.
set -u
# shellcheck disable=SC2086 # words of it are options
exec python3 "$SRC/bench/gpu/bench_torch.py" ${BENCH_GPU_TORCH:-}
