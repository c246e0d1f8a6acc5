# _cuda.sh - what the tests of CUDA share. Source it after lib.sh.
gpu=$BUILD/tests/gpu
# shellcheck disable=SC2034 # for those that source it
dump=$BUILD/tests/dump
unset CUDA_INJECTION64_PATH

skip() {
	echo "skipped: $*"
	exit 77
}

# need_cuda - a GPU of NVIDIA's, its driver, and a CUPTI.
need_cuda() {
	nvidia-smi -L >/dev/null 2>&1 || skip "no GPU here (nvidia-smi is absent or finds none)"
	"$ACCELPROF" doctor >doctor.out 2>&1
	grep -q '^ok  cupti' doctor.out || skip "$(grep '  cupti' doctor.out || echo 'no CUPTI')"
	grep '  cupti' doctor.out
}

# need_accesses - a GPU of NVIDIA's, and all that counts memory accesses of its kernels.
need_accesses() {
	nvidia-smi -L >/dev/null 2>&1 || skip "no GPU here (nvidia-smi is absent or finds none)"
	"$ACCELPROF" doctor >doctor.out 2>&1
	grep -Eq '^ok +accesses .*of (sanitizer|cupti|CUDA) kernels' doctor.out ||
		skip "$(grep -E ' accesses .*of (sanitizer|cupti|CUDA) kernels' doctor.out ||
			echo 'doctor reports nothing about memory accesses of CUDA kernels')"
	grep -E ' accesses .*of (sanitizer|cupti|CUDA) kernels' doctor.out
}

# cuda_program NAME [SOURCE [OPTIONS...]] - $BUILD/tests/gpu/NAME, built if it is not newer than its
# source. Where there is no nvcc, one that was built elsewhere is taken.
cuda_program() {
	local source=${2:-$SRC/tests/gpu/$1.cu} nvcc=${NVCC:-}
	[ ! "$gpu/$1" -nt "$source" ] || [ ! "$gpu/$1" -nt "$SRC/tests/gpu/access_forms.cuh" ] ||
		return 0
	[ -n "$nvcc" ] ||
		nvcc=$(command -v nvcc || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
	if [ -z "$nvcc" ] && [ -x "$gpu/$1" ]; then
		echo "no nvcc: $1 is as it was built"
		return 0
	fi
	[ -n "$nvcc" ] || skip "no nvcc to build $1.cu: install CUDA's compiler, or set NVCC to its path"
	mkdir -p "$gpu"
	# Code for one, and PTX for the driver of any other.
	"$nvcc" -O2 -std=c++17 -gencode arch=compute_75,code=compute_75 \
		-gencode arch=compute_90,code=sm_90 -Xcompiler -pthread \
		-I"$SRC/include" -o "$gpu/$1" "$source" "${@:3}" >nvcc.out 2>&1 || {
		cat nvcc.out
		failed "$nvcc cannot build $source"
		done_
	}
}

# export_ RUN - RUN.db
export_() {
	"$ACCELPROF" export "$1" --to sqlite -o "$1.db" >"$1.export" 2>&1 || {
		failed "export $1: $(cat "$1.export")"
	}
}

# ask RUN QUERY - the answer's rows, as Python has them.
ask() {
	python3 -c 'import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall())' "$1.db" "$2"
}
