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

# Its kernels may round as they like: they are left as they are, and named; or counted, if asked.
if hot strict -- clpeak --kernel-latency; then
	has "strict: result" strict.out 'Kernel launch latency +: [0-9.]+ us'
	is "strict: counted" "$(accessed strict)" "0 accesses
not global_bandwidth_v1_local_offset"
	# Of 20,002 launches of one shape, three were to be counted.
	"$ACCELPROF" run -t working_set,mem_trace -o sampled -- clpeak --kernel-latency >sampled.out 2>sampled.err
	is "sampled: launches left out" "$(grep -o 'launches that were not counted: .*' sampled.err | sort | uniq -c)" \
		"      1 launches that were not counted: 20002 (reported by 2 tools)"
	is "sampled: others" "$(grep -c -e 'counted 0 of' -e 'were not recorded' -e doctor sampled.err)" 0
	hot loose --inexact -- clpeak --kernel-latency
	has "loose: result" loose.out 'Kernel launch latency +: [0-9.]+ us'
	# 20,002 launches of 512 work-items, each of 16 loads and a store.
	is "loose: counted" "$(accessed loose)" "174097408 accesses"
fi
done_
