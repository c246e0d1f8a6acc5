#!/usr/bin/env bash
# sanitizer.sh - memory accesses of CUDA kernels: the counts match the program's output.
# timeout: 600
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_accesses
cuda_program access_exact
exact=$gpu/access_exact
judge=(python3 "$SRC/tests/gpu/sanitizer.py")
tables=hotness,access_pattern,working_set

# accelprof's message about launches that it counted twice.
twice='^accelprof: accesses: device and host counted the same accesses \(launches: [1-9][0-9]*, rows: [1-9][0-9]*\)$'

# run NAME OPTIONS... -- ARGS... - native and counted: status, stdout and stderr are the same, but
# for that line.
run() {
	local name=$1 status options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout 60 "$exact" "$@" >"$name.native" 2>"$name.native.err"
	status=$?
	timeout 120 "$ACCELPROF" run -q "${options[@]}" -o "$name" -- "$exact" "$@" \
		>"$name.out" 2>"$name.err"
	is "$name: status" $? $status
	is "$name: stdout" "$(cat "$name.out")" "$(cat "$name.native")"
	is "$name: stderr" "$(grep -Ev "$twice" "$name.err")" "$(cat "$name.native.err")"
	export_ "$name"
	echo "$name: $SECONDS s"
}

# Every row of every table.
run forms --all -t $tables -- work forms.json
has "the address was used again" forms.out '^the address was used again: yes$'
"${judge[@]}" forms forms.db forms.json || failed "forms: not exact"
# By object alone it is other code that counts.
run object --all -t object_traffic -- work object.json
"${judge[@]}" some object.db object.json || failed "by object: not exact"

run sampled -t hotness -- repeat 40 sampled.json
"${judge[@]}" sampled sampled.db sampled.json sampled/results/report.json 40 || failed "sampled"

# Both halves of the reducers, fed with the same launches: what a device counts is what the host
# does, and what each access, one by one, comes to.
run gpu --all -t $tables --processor gpu -- work gpu.json 8192
run cpu --all -t $tables --processor cpu -- work cpu.json 8192
"${judge[@]}" forms cpu.db cpu.json || failed "cpu: not exact"
"${judge[@]}" same gpu.db cpu.db || failed "the device and the host differ"
run both --all -t $tables --processor both -- work both.json 8192
has "both: the device and the host" both.err "$twice"
"${judge[@]}" forms both.db both.json || failed "both: not exact"
run raw --all -t hotness,mem_trace --processor gpu -- work raw.json 4096
"${judge[@]}" raw raw.db raw || failed "the device differs from each access"
"${judge[@]}" some raw.db raw.json || failed "raw: not exact"

# What came before a trap is there, and the program has its own error.
run trap --all -t hotness -- trap 100 trap.json
has "a trap is the program's own" trap.out '^cudaErrorLaunchFailure, then cudaErrorLaunchFailure$'
is "a trap: status" "$("$exact" trap 1 one.json >/dev/null 2>&1; echo $?)" 3
is "a trap: launches before it" "$(ask trap "SELECT count(*) FROM access_launch WHERE
	name = 'k_good' AND what = 'counted'")" "(100,)"
"${judge[@]}" some trap.db trap.json 1 || failed "a trap: not all that came before it"

# A kernel waits for the host, which goes on only after launches behind and beside it.
run wait --all -t hotness -- wait wait.json
"${judge[@]}" some wait.db wait.json || failed "wait: not exact"
is "wait: what it read" "$(ask wait "SELECT sum(loads) >= 2, sum(stores) FROM access_sum WHERE
	name = 'k_wait' AND reducer = 1")" "(1, 0)"
done_
