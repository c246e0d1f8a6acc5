#!/usr/bin/env bash
# make.sh - the cubins that test_cubin reads, again: run it here, with nvcc 13.0.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nvcc -arch=sm_90 -cubin params.cu -o params.cubin
nvcc -arch=sm_90 -rdc=true -cubin called.cu -o "$work/called.o"
nvlink -arch=sm_90 "$work/called.o" -o called.cubin
# The line table is to name no folder of this machine.
nvcc -arch=sm_90 -lineinfo -ptx lines.cu -o "$work/lines.ptx"
sed -i 's|\(\.file.*\)"[^"]*lines.cu"|\1"/src/lines.cu"|' "$work/lines.ptx"
(cd "$work" && ptxas -arch=sm_90 -lineinfo lines.ptx -o lines.cubin)
mv "$work/lines.cubin" .
ptxas -arch=sm_75 turing.ptx -o turing.cubin # turing_old.cubin is what ptxas 12.8 made
ptxas -arch=sm_120 turing.ptx -o turing_120.cubin
ptxas -arch=sm_90 hopper.ptx -o hopper.cubin
ptxas -arch=sm_100 hopper.ptx -o hopper_100.cubin
