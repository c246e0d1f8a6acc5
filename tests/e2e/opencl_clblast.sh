# opencl_clblast.sh - clblast's self-test of xaxpy passes, with the same output as without accelprof.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need clblast_test_xaxpy

clblast_test_xaxpy >native.out 2>native.err </dev/null
is "native: status" $? 0
counted run clblast_test_xaxpy
is "status" $? 0
is "output" "$(cat run.out)" "$(cat native.out)"
is "stderr" "$(cat run.err)" "$(cat native.err)"
has "tests passed" run.out '[1-9][0-9]* test\(s\) passed'
grep -E '[1-9][0-9]* test\(s\) failed' run.out && failed "tests failed"
"$dump" run >run.dump || failed "dump"
"${events[@]}" counts run.dump run.count || failed "not what the layer counted"

if hot hot -- clblast_test_xaxpy; then
	is "hotness: output" "$(cat hot.out)" "$(cat native.out)"
	is "hotness: stderr" "$(cat hot.err)" "$(cat native.err)"
	has "hotness: counted" <(accessed hot) '^[1-9][0-9]* accesses$'
	lines "hotness: left out" <(accessed hot) 1
fi
done_
