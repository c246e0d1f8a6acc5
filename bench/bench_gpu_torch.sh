#!/usr/bin/env bash
# bench_gpu_torch.sh - what recording PyTorch on a GPU costs. BENCH_GPU_TORCH has options of it.
set -u
# shellcheck disable=SC2086 # words of it are options
exec python3 "$SRC/bench/gpu/bench_torch.py" ${BENCH_GPU_TORCH:-}
