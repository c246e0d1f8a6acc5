# accesses_same.sh - kernels of one name and range whose code differs are counted each for itself.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need
[ -e "$BUILD/lib/libpasta-opencl-trace.so" ] || skip "there was no LLVM of PoCL's version when this was built"
counts=(python3 "$SRC/tests/e2e/_accesses.py")

# run WAY - runs cl_same, and compares its counts with its own output.
run() {
	local way=$1
	"$ACCELPROF" run -q -t object_traffic,access_pattern -o "$way" -- "$programs/cl_same" "${way%-*}" \
		>"$way.out" 2>"$way.err"
	is "$way: status" $? 0
	is "$way: stderr" "$(cat "$way.err")" ""
	"$ACCELPROF" report "$way" -t object_traffic --format json >"$way.json" || failed "$way: report"
	"${counts[@]}" traffic "$way.json" "$way.out" || failed "$way: not what it printed"
	"$dump" "$way" access_launch >"$way.dump" || failed "$way: dump"
	"${counts[@]}" shapes "$way.dump" >"$way.shapes" || failed "$way: shapes"
}

# Two codes and one of them again are two shapes: three launches of each are counted.
for way in source options header link; do
	run $way
	is "$way: launches" "$("${counts[@]}" launches $way.dump)" "counted 6 sampled 9 filtered 0 refused 0"
	is "$way: shapes" "$(wc -w <$way.shapes)" 2
done

# The line of the source that is slow is reported, whichever program comes first.
"$ACCELPROF" report source -t access_pattern --format json >lines.json || failed "lines: report"
is "lines" "$("${counts[@]}" strides lines.json | sort)" "0 2560 4 coalesced
0 5120 4 coalesced
2560 0 32 scattered
5120 0 4 coalesced"

# Another process has the same numbers for the same code.
run source-again
is "another process: shapes" "$(cat source-again.shapes)" "$(cat source.shapes)"

# Launches that cannot be counted do not use up the sample.
run binary
is "binary: launches" "$("${counts[@]}" launches binary.dump)" "counted 3 sampled 9 filtered 0 refused 3"
done_
