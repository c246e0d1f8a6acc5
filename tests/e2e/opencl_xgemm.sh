# opencl_xgemm.sh - clblast's self-test of xgemm passes: many kernels, minutes long.
# labels: long
# timeout: 1800
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need clblast_test_xgemm

counted run clblast_test_xgemm
is "status" $? 0
is "stderr" "$(cat run.err)" ""
grep -aE 'test\(s\) (passed|skipped|failed)' run.out
has "tests passed" run.out '[1-9][0-9]* test\(s\) passed'
grep -E '[1-9][0-9]* test\(s\) failed' run.out && failed "tests failed"
"$dump" run >run.dump || failed "dump"
"${events[@]}" counts run.dump run.count || failed "not what the layer counted"

if hot hot -- clblast_test_xgemm; then
	has "hotness: tests passed" hot.out '[1-9][0-9]* test\(s\) passed'
	grep -E '[1-9][0-9]* test\(s\) failed' hot.out && failed "hotness: tests failed"
	is "hotness: stderr" "$(cat hot.err)" ""
	has "hotness: counted" <(accessed hot) '^[1-9][0-9]* accesses$'
	lines "hotness: left out" <(accessed hot) 1
fi
done_
