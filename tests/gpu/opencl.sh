#!/usr/bin/env bash
# opencl.sh - OpenCL on a GPU, whose clock is its own: what is recorded is what the program did.
# timeout: 300
. "$SRC/tests/e2e/lib.sh" || exit 1

driver=$(ldconfig -p | sed -n 's/.*\(libnvidia-opencl\.so\.1\).*/\1/p' | head -n 1)
[ -n "$driver" ] || {
	echo "no OpenCL driver of a GPU here"
	exit 77
}
echo "$driver" >gpu.icd
export OCL_ICD_VENDORS=$PWD/gpu.icd
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need
"$ACCELPROF" doctor | grep '  opencl'

"$programs/cl_exact" >native || failed "native: status $?"
"$ACCELPROF" run -q --record all -o exact -- "$programs/cl_exact" >exact.out 2>exact.err
is "status" $? 0
# All that the program sees is as without us, but for the list of a queue that was made with an empty
# one: drivers report that differently.
seen='{k: {q: v[q] for q in v if q != "list"} if isinstance(v, dict) else v for k, v in d["seen"].items()}'
is "seen" "$(json exact.out "$seen")" "$(json native "$seen")"
"$dump" exact >exact.dump || failed "dump"
# Within 5 us: the two clocks are paired by when calls are made.
"${events[@]}" exact exact.dump exact.out 5000 || failed "not exact"

many=$programs/cl_many
for i in 1 2 3 4 5; do
	"$many" 100000 4 4 >out 2>native.$i || failed "many, native"
	"$ACCELPROF" run -q -t kernel_freq -o many$i -- "$many" 100000 4 4 >out 2>run.$i || failed "many"
	is "launches that the kernels counted" "$(cat out)" 100000
	is "launches" "$(json many$i/results/report.json \
		'[d["tools"][0]["tables"][0]["rows"][0][1], d["loss"]["dropped"]]')" "[100000, 0]"
	echo "native $(cat native.$i), recorded $(cat run.$i)"
done
"$ACCELPROF" report many1 -t kernel_freq
done_
