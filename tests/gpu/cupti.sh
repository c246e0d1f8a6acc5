#!/usr/bin/env bash
# cupti.sh - CUDA on a GPU: what is recorded is what the program did, and when.
# timeout: 300
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_cuda
cuda_program cuda_exact
exact=$gpu/cuda_exact
events=(python3 "$SRC/tests/gpu/cupti.py")

# run NAME ARGS... - native and recorded: status, stdout and stderr are the same.
run() {
	local name=$1 status
	shift
	"$exact" "$@" >"$name.native" 2>"$name.native.err"
	status=$?
	"$ACCELPROF" run -q --record all -o "$name" -- "$exact" "$@" >"$name.out" 2>"$name.err"
	is "$name: status" $? $status
	is "$name: stdout" "$(cat "$name.out")" "$(cat "$name.native")"
	is "$name: stderr" "$(cat "$name.err")" "$(cat "$name.native.err")"
	export_ "$name"
}

# ticks NAME - launches of k_tick, and kernels of it, by process.
ticks() {
	ask "$1" "SELECT (SELECT count(*) FROM launch l WHERE l.process = p.number AND
		l.name LIKE '%k_tick%'), (SELECT count(*) FROM kernel k WHERE k.process = p.number AND
		k.name LIKE '%k_tick%') FROM process p ORDER BY 1, 2"
}

run work work details.json
"${events[@]}" exact work.db work.out details.json || failed "work: not exact"
"$ACCELPROF" report work -t kernel_freq --format csv >report.out || failed "report"
has "names are as people write them" report.out 'k_scale<int>'

# Three times: one may have been disturbed, but not all.
good=
for i in 1 2 3; do
	run times$i times 1000 stamps.json
	"$dump" times$i clock >clock.json || failed "dump"
	! "${events[@]}" times times$i.db clock.json stamps.json || good=yes
	[ -z "$good" ] || break
done
[ -n "$good" ] || failed "times"

run fork fork 1000
is "fork: launches, kernels" "$(ticks fork)" "(1000, 1000) (1000, 1000)"
run children children 500
is "children: launches, kernels" "$(ticks children)" "(500, 500) (500, 500) (500, 500) (500, 500)"

# Kernels still buffered in CUPTI are dropped when the program ends; launches are not.
run exit exit 1000 7
is "_exit: launches" "$(ask exit "SELECT count(*) FROM launch WHERE name LIKE '%k_tick%'")" "(1000,)"
is "_exit: not more kernels" \
	"$(ask exit "SELECT count(*) <= 1000 FROM kernel WHERE name LIKE '%k_tick%'")" "(1,)"
echo "_exit: $(ticks exit)"

run fault fault 1000
has "a fault is the program's own" fault.out '^700 cudaErrorIllegalAddress, then 700$'
is "a fault: launches" "$(ask fault "SELECT count(*) FROM launch WHERE name LIKE '%k_tick%'
	UNION ALL SELECT count(*) FROM launch WHERE name LIKE '%k_fault%'")" "(1000,) (1,)"
echo "a fault: $(ticks fault)"
done_
