#!/usr/bin/env bash
# own_reducer.sh - a tool's own reducer on a device: bank conflicts are those that the kernels have.
# timeout: 300
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_accesses
cuda_program own_reducer

# reducer NAME SOURCE - $gpu/NAME.fatbin; where there is no nvcc, one that was built elsewhere.
reducer() {
	local nvcc=${NVCC:-}
	[ -n "$nvcc" ] ||
		nvcc=$(command -v nvcc || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
	if [ -z "$nvcc" ]; then
		[ -r "$gpu/$1.fatbin" ] || skip "no nvcc to build $2"
		return 0
	fi
	"$nvcc" --fatbin --compile-as-tools-patch -std=c++17 -gencode arch=compute_75,code=compute_75 \
		-gencode arch=compute_90,code=sm_90 -I"$SRC/include" -I"$BUILD/sdk" "$2" \
		-o "$gpu/$1.fatbin" || failed "$2"
}
sed -n '/^```cuda$/,/^```$/{//!p}' "$SRC/docs/writing-a-reducer.md" >pages.cu
reducer bank_conflicts "$SRC/examples/bank_conflicts/bank_conflicts.cu"
reducer pages pages.cu
cc -std=c17 -shared -fPIC -I"$SRC/include" "$SRC/examples/bank_conflicts/bank_conflicts.c" \
	-o bank_conflicts.so || failed "the tool"

# run NAME REDUCER OPTIONS... - the program is as it is without.
run() {
	local name=$1 reducer=$2
	shift 2
	timeout 120 "$ACCELPROF" run -q -t ./bank_conflicts.so \
		--opt "bank_conflicts.reducer=$gpu/$reducer.fatbin" "$@" -o "$name" -- "$gpu/own_reducer" \
		>"$name.out" 2>"$name.err" || failed "$name: status"
	is "$name: stdout" "$(cat "$name.out")" cudaSuccess
	is "$name: stderr" "$(cat "$name.err")" ""
	export_ "$name"
}

# Requests, wavefronts that they need, and that they take, of 14 warps.
wanted="('k_0', 14, 14, 14) ('k_1', 14, 14, 14) ('k_16', 14, 14, 224) ('k_2', 14, 14, 28)"
wanted+=" ('k_32', 14, 14, 448) ('k_4', 14, 14, 56) ('k_8', 14, 14, 112) ('k_half', 14, 14, 28)"
wanted+=" ('k_wide', 14, 56, 56)"
sums="SELECT name, sum(loads + stores), sum(bytes), sum(extra) FROM access_sum WHERE reducer = 9
	GROUP BY name ORDER BY name"
run all bank_conflicts --all
is "bank conflicts" "$(ask all "$sums")" "$wanted"
is "conflicts, as expected" \
	"$(json all/results/report.json 'sorted((r[0], r[4]) for r in d["tools"][0]["tables"][0]["rows"] if r[4])')" \
	"[('k_16', 210), ('k_2', 14), ('k_32', 434), ('k_4', 42), ('k_8', 98), ('k_half', 14)]"
# One block of seven, and scaled.
run blocks bank_conflicts --all --sample blocks=1/7
is "blocks" "$(json blocks/results/report.json 'sorted((r[0], r[4]) for r in d["tools"][0]["tables"][0]["rows"] if r[4])')" \
	"[('k_16', 210), ('k_2', 14), ('k_32', 434), ('k_4', 42), ('k_8', 98), ('k_half', 14)]"
# Keys that are numbers, and each lane by itself: of shared memory.
run pages pages --all
is "accesses" "$(ask pages "SELECT name, sum(loads), sum(stores), sum(bytes), sum(extra) FROM
	access_sum WHERE reducer = 9 AND key1 = 3 AND name IN ('k_32', 'k_half', 'k_wide') GROUP BY name
	ORDER BY name")" \
	"('k_32', 448, 0, 1792, 7) ('k_half', 0, 224, 896, 0) ('k_wide', 0, 448, 7168, 7)"
done_
