# opencl_exact.sh - what is recorded of an OpenCL program is exactly what it did.
# labels: asan
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need
agent=$BUILD/lib/libpasta-agent.so

# seen FILE - what the program saw of OpenCL's objects.
seen() {
	json "$1" 'd["seen"]'
}

"$programs/cl_exact" >native || failed "native: status $?"

# exact NAME NS COMMAND... - run it; the events of the run must be those the program prints, with
# times that are right within so many ns.
exact() {
	local name=$1 ns=$2
	shift 2
	"$ACCELPROF" run -q --record all -o "$name" -- "$@" >"$name.out" 2>"$name.err"
	is "$name: status" $? 0
	is "$name: stderr" "$(cat "$name.err")" ""
	# A clock of its own is there to be seen.
	[ "$name" = shifted ] || is "$name: seen" "$(seen "$name.out")" "$(seen native)"
	"$dump" "$name" >"$name.dump" || failed "$name: dump"
	"${events[@]}" exact "$name.dump" "$name.out" "$ns" || failed "$name: not exact"
}

exact plain 0 "$programs/cl_exact"
exact asan 0 "$programs/cl_exact_asan" # no leak of ours, either

# A user's own layer gets everything, and nothing that we added.
export COUNT_FILE=$PWD/above.count
OPENCL_LAYERS=$layers/count.so "$programs/cl_exact" >/dev/null
mv above.count alone
OPENCL_LAYERS=$layers/count.so exact above 0 "$programs/cl_exact"
"${events[@]}" counts above.dump "$COUNT_FILE" || failed "above: not what the layer counted"
is "the user's layer counts the same" "$(cat above.count)" "$(cat alone)"

# A layer below accelprof's sees the program's calls, on queues with profiling.
COUNT_FILE=$PWD/beneath exact below 0 "${below[@]}" "$layers/count.so" "$programs/cl_exact"
"${events[@]}" counts below.dump beneath || failed "below: not what the layer counted"
is "queues with profiling" "$(json beneath 'd["profiling"] >= d["queues"] - 1')" True

# Entry points that are looked up by name.
COUNT_FILE=$PWD/by_name exact named 0 "${below[@]}" "$layers/count.so:$layers/names.so" "$programs/cl_exact"
"${events[@]}" counts named.dump by_name || failed "named: not what the layer counted"

# A device with a clock of its own: near enough.
SHIFT_NS=1234567890123 SHIFT_PPM=50 exact shifted 50000 "${below[@]}" "$layers/shift.so" "$programs/cl_exact"

# Listed twice, as by a run within a run.
exact twice 0 "${below[@]}" "$agent" "$programs/cl_exact"
"$ACCELPROF" run -q -o outer -- "$ACCELPROF" run -q --record all -o inner -- \
	"$programs/cl_exact" >inner.out
"$dump" inner >inner.dump || failed "nested: dump"
"${events[@]}" exact inner.dump inner.out || failed "nested: not exact"
done_
