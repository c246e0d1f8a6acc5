#!/usr/bin/env bash
# behave_handlers.sh - cancellation, signals, fork and descriptors through every handler that works
# without a GPU. HARM_LONG: includes the slow cases.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1
unset CUDA_INJECTION64_PATH PASTA_CUDA_INJECTION CUDA_HOME CUDA_PATH PASTA_CUPTI PASTA_PATCHES OPENCL_LAYERS
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$BUILD/tests/pocl-cache}

# handled NAME PROGRAM [OPTION...] - all modes. Events of vendors' calls are not in the program's count.
handled() {
	local name=$1 program=$2 way
	shift 2
	for way in pending "random 20" signals fork descriptors; do
		# shellcheck disable=SC2086 # a mode and its number
		same "$name: $way" --no-count --at-least 100 "$@" -- "$program" $way
	done
}

handled nvtx "$harm/handler_nvtx"
PASTA_CUPTI=$programs/fake_cupti.so HARM_FAKE=$programs/fake_cupti.so handled cupti "$harm/handler_cuda"

# An agent with a patches file, which the fake does not read, and a driver.
mkdir agent lib
cp "$agent" agent/
echo patches >agent/pasta-patches.fatbin
ln -s "$programs/fake_cupti.so" lib/libcuda.so.1
PASTA_SANITIZER=$programs/fake_sanitizer.so HARM_FAKE=$programs/fake_sanitizer.so \
	PASTA_AGENT=$PWD/agent/libpasta-agent.so LD_LIBRARY_PATH=$PWD/lib \
	handled sanitizer "$harm/handler_kernels" --option=-t --option=hotness --option=--all

if [ -x "$harm/handler_cl" ] && "$ACCELPROF" doctor | grep -q '^ok  opencl'; then
	"$harm/handler_cl" leaf >/dev/null # its kernel is compiled now, not while it is compared
	handled opencl "$harm/handler_cl"
	if [ -n "${HARM_LONG:-}" ] && [ -e "$BUILD/lib/libpasta-opencl-trace.so" ]; then
		"$ACCELPROF" run -q -t hotness --all -o compiled -- "$harm/handler_cl" leaf >/dev/null
		handled "opencl, accesses" "$harm/handler_cl" --option=-t --option=hotness --option=--all
	fi
else
	left_out opencl "no libOpenCL or no platform"
fi

script=$SRC/tests/harm/programs/handler_python.py
export PYTHONPATH=$SRC/python PYTHONDONTWRITEBYTECODE=1
for way in signals fork ${HARM_LONG:+cancel descriptors processes}; do
	same "python: $way" --no-count --at-least 8 -- python3 "$script" $way
done
# From 3.12 on, Python warns if a process with threads forks.
for python in "${PYENV_ROOT:-/nowhere}"/versions/3.1[2-9]*/bin/python3 python3.12 python3.13 python3.14; do
	if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
		same "$("$python" -V): fork" --no-count --at-least 8 -- "$python" "$script" fork
		break
	fi
done
[ -n "${HARM_LONG:-}" ] || done_
export XDG_CACHE_HOME=$dir/cache
for python in ${PASTA_PYTHON:-} python3 /usr/bin/python3; do
	"$python" -c 'import torch' 2>/dev/null || continue
	"$ACCELPROF" run -q -o shim -- "$python" "$script" leaf torch >/dev/null # the shim is compiled now
	for way in cancel signals fork descriptors; do
		same "torch: $way" --no-count --at-least 8 --option=-t --option=ops -- "$python" "$script" $way torch
	done
	break
done
done_
