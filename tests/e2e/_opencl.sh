# _opencl.sh - what the OpenCL tests share. Source it after lib.sh.
dump=$BUILD/tests/dump
layers=$BUILD/tests/layers
programs=$BUILD/tests/programs
events=(python3 "$SRC/tests/e2e/_opencl.py")
unset OPENCL_LAYERS COUNT_FILE
# Cache compiled kernels, so that the durations of runs are comparable.
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$BUILD/tests/pocl-cache}

skip() {
	echo "skipped: $*"
	exit 77
}

# need PROGRAM... - a device, and these.
need() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null || skip "$program is not here: run scripts/bootstrap"
	done
	[ -x "$programs/cl_exact" ] || skip "libOpenCL was not there when this was built"
	"$ACCELPROF" doctor | grep -q '^ok  opencl' ||
		skip "no OpenCL platform: $("$ACCELPROF" doctor | sed -n 's/^no  opencl *//p')"
}

# counted RUN PROGRAM... - under accelprof, with all recorded and the counting layer of a user:
# RUN, RUN.count, RUN.out, RUN.err; returns the program's status.
counted() {
	local run=$1
	shift
	OPENCL_LAYERS=$layers/count.so COUNT_FILE=$PWD/$run.count "$ACCELPROF" run -q --record all \
		-o "$run" -- "$@" >"$run.out" 2>"$run.err" </dev/null
}

# hot RUN OPTIONS... -- PROGRAM... - with the accesses of all launches counted: RUN, RUN.out, RUN.err,
# RUN.json, hotness's report. Again, if on a busy machine a ring got full and events were dropped.
# If the counting layer was not built, prints that and does nothing.
hot() {
	local run=$1 status
	shift
	if [ ! -e "$BUILD/lib/libpasta-opencl-trace.so" ]; then
		echo "$run: left out: there was no LLVM of PoCL's version when this was built"
		return 1
	fi
	for _ in 1 2 3 4 5; do
		rm -rf "$run"
		"$ACCELPROF" run -q -t hotness --all -o "$run" "$@" >"$run.out" 2>"$run.err" </dev/null
		is "$run: status" $? 0
		"$ACCELPROF" report "$run" -t hotness --strict --format json >"$run.json"
		status=$?
		[ $status = 3 ] || break
	done
	is "$run: status of its report" $status 0
}

# accessed RUN - prints hotness's number of accesses, and the kernels that were left out.
accessed() {
	python3 "$SRC/tests/e2e/_accesses.py" hot "$1.json"
}

# "${below[@]}" LAYERS PROGRAM... - the program, with these layers between the agent and the driver.
# shellcheck disable=SC2016 # the shell that is started expands it
below=(sh -c 'list=$1; shift; OPENCL_LAYERS=$list:$PASTA_AGENT exec "$@"' sh)
