#!/usr/bin/env bash
# sanitizer_ways.sh - however kernels are launched, and a program ends, what is counted is what they
# did, and nothing hangs.
# timeout: 900
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_accesses
cuda_program access_ways
cuda_program access_ways_perthread "$SRC/tests/gpu/access_ways.cu" --default-stream per-thread
cuda_program access_held
cuda_program access_device_graph "$SRC/tests/gpu/access_device_graph.cu" -rdc=true -lcudadevrt
cuda_program access_nested "$SRC/tests/gpu/access_nested.cu" -rdc=true -lcudadevrt
judge=(python3 "$SRC/tests/gpu/sanitizer.py")

# what NAME - what became of each kernel's launches.
what() {
	python3 - "$1.db" <<-'END'
		import sqlite3, sys
		db = sqlite3.connect(sys.argv[1])
		for row in db.execute("SELECT name, what, count(*), min(detail) FROM access_launch "
		                      "GROUP BY name, what ORDER BY name, what"):
		    print("  ", *(x for x in row if x is not None))
	END
}

# way NAME PROGRAM OPTIONS... -- ARGS... - natively and counted: status, stdout and stderr are the
# same, and what happened is shown.
way() {
	local name=$1 program=$gpu/$2 native status begin options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout -k 5 60 "$program" "$@" "$name.json" >"$name.native" 2>"$name.native.err"
	native=$?
	rm -f "$name.json"
	begin=$SECONDS
	timeout -k 5 90 "$ACCELPROF" run -q "${options[@]}" -o "$name" -- "$program" "$@" "$name.json" \
		>"$name.out" 2>"$name.err"
	status=$?
	echo "== $name: status $status, natively $native, $((SECONDS - begin)) s"
	[ $status != 142 ] || echo "$name hung"
	cat "$name.err"
	is "$name: status" $status $native
	is "$name: stdout" "$(cat "$name.out")" "$(cat "$name.native")"
	is "$name: stderr" "$(cat "$name.err")" "$(cat "$name.native.err")"
	export_ "$name"
	[ ! -e "$name.db" ] || what "$name"
}

# exact NAME [LOST]
exact() {
	[ -e "$1.json" ] || {
		failed "$1: the program did not come to its end"
		return
	}
	"${judge[@]}" some "$1.db" "$1.json" ${2:+"$2"} || failed "$1: not exact"
}

# dropped NAME - prints the number of dropped events.
dropped() {
	ask "$1" "SELECT CAST(coalesce(sum(value), 0) AS INTEGER) FROM about WHERE key = 'dropped'" |
		tr -dc 0-9
}

# nearly NAME N - exact, except that up to N kernels that were running may be dropped.
nearly() {
	local dropped
	dropped=$(dropped "$1")
	echo "$1: $dropped dropped"
	[ "${dropped:-0}" -le "$2" ] || failed "$1: $dropped dropped, of $2 kernels at most"
	exact "$1" "${dropped:-0}"
}

# A kernel that is not counted waits for the host while its module is unpatched, and patched again;
# also if its stream is destroyed, or a copy waits.
for name in unpatch repatch destroyed unseen; do
	way $name access_ways -t hotness -- $name
	exact $name
done
for name in capture fork perthread grid contexts; do
	way $name access_ways --all -t hotness -- $name
	exact $name
done
has "captures work" capture.out '^relaxed capture, a kernel before it, meanwhile: cudaSuccess$'
way ownstreams access_ways_perthread --all -t hotness -- perthread
exact ownstreams
# A kernel is under way when the device is reset.
way reset access_ways --all -t hotness -- reset
nearly reset 1
# Each context has a ring of its own, which goes with it.
way contextrings access_ways --all -t hotness --processor cpu -- contexts
exact contextrings
way resetrings access_ways --all -t hotness --processor cpu -- reset
nearly resetrings 1

# Kernels that launch kernels are named, and nothing else of their module is counted either.
way nested access_nested --all -t hotness --
is "nested: launches" "$(ask nested "SELECT name, what, count(*) FROM access_launch GROUP BY name,
	what ORDER BY name")" "('k_parent', 'refused', 5) ('k_plain', 'refused', 1)"
is "nested: why" "$(ask nested "SELECT DISTINCT detail FROM access_launch")" \
	"(\"the kernel's module contains code that launches kernels from the device\",)"
way devicegraph access_device_graph --all -t hotness --
is "devicegraph: launches" "$(ask devicegraph "SELECT name, what, count(*) FROM access_launch
	GROUP BY name, what ORDER BY name")" \
	"('graph: k_child', 'refused', 1) ('graph: k_launch', 'refused', 10)"

# The device waits for the program, which waits for no device.
for name in value host memory; do
	way held$name access_held --all -t hotness -- $name
	exact held$name
done
way heldrings access_held --all -t mem_trace -- value
# Where all streams of the program share one queue of the device, too.
for name in value host memory; do
	CUDA_DEVICE_MAX_CONNECTIONS=1 way queue$name access_held --all -t hotness -- $name
	exact queue$name
done
# What can be counted of launches behind a kernel that waits is bounded, and the others are named.
way heldobjects access_held --all -t hotness -- objects
CUDA_DEVICE_MAX_CONNECTIONS=1 way queueobjects access_held --all -t hotness -- objects
for name in heldobjects queueobjects; do
	is "$name: all launches" "$(ask $name "SELECT sum(what IN ('counted', 'refused')),
		sum(what = 'counted') > 10 FROM access_launch")" "(62, 1)"
	is "$name: why" "$(ask $name "SELECT DISTINCT detail FROM access_launch WHERE what = 'refused'")" \
		"('the list of objects cannot be copied to the device, because a kernel has not ended',)"
done

# All that precedes an exit is there; with enough time, the rest as well.
way exit access_ways --all -t hotness -- exit
exact exit
for name in abort interrupt; do
	way $name access_ways --all -t hotness -- $name
	nearly $name 1
done

# forever NAME COMMAND... - it is ended from outside, 3 seconds after its kernel was launched.
forever() {
	local name=$1 job status begin
	shift
	timeout -k 5 60 "$@" "$gpu/access_ways" forever "$name.json" >"$name.out" 2>"$name.err" &
	job=$!
	for _ in $(seq 150); do
		[ ! -s "$name.json.pid" ] || break
		sleep 0.1
	done
	sleep 3
	begin=$SECONDS
	kill -TERM "$(cat "$name.json.pid")" || failed "$name: it did not come so far"
	wait $job
	status=$?
	echo "== $name: status $status, $((SECONDS - begin)) s after SIGTERM"
	cat "$name.err"
	is "$name: status" $status 143
	[ $((SECONDS - begin)) -le 8 ] || failed "$name: it took too long to end"
}
forever native env
forever forever "$ACCELPROF" run -q --all -t hotness -o forever --
export_ forever
what forever
nearly forever 2
done_
