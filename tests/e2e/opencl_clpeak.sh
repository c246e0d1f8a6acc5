# opencl_clpeak.sh - clpeak, a real program: as many launches and bytes as an independent layer sees.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need clpeak

counted run clpeak --kernel-latency --transfer-bandwidth
is "status" $? 0
is "stderr" "$(cat run.err)" ""
has "result" run.out 'Kernel launch latency +: [0-9.]+ us'
has "result" run.out 'enqueueWriteBuffer +: [0-9.]+'
"$dump" run >run.dump || failed "dump"
"${events[@]}" counts run.dump run.count || failed "not what the layer counted"
done_
