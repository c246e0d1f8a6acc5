# opencl_many.sh - a million launches on 4 queues from 4 threads: none is dropped, memory is bounded.
# timeout: 180
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need
many=$programs/cl_many

# The program's peak of memory, in KiB, when it ends.
peak=(python3 -c 'import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as f:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=f)
sys.exit(status)')

"$many" 1000 4 4 >/dev/null 2>&1 # its kernel is compiled now
"${peak[@]}" native.peak "$many" 1000000 4 4 >native.out 2>native.err || failed "native: status $?"
"$ACCELPROF" run -q -t kernel_freq -o run -- "${peak[@]}" run.peak "$many" 1000000 4 4 \
	>run.out 2>run.err || failed "status $?"
is "launches that the kernel counted" "$(cat run.out)" 1000000
is "account" "$(json run/results/report.json '[d["loss"][k] for k in ("captured", "dropped", "late")]')" \
	"[2000005, 0, 0]"
"$dump" run kernel | awk -F, '
	/"name":"tick"/ { n++; tid[$4]++; for (i = 8; i < 13; i++) if ($i ~ /stream/) queue[$i]++ }
	END {
		printf "%d kernels", n
		for (t in tid) printf " %d", tid[t]
		for (q in queue) printf " %d", queue[q]
	}' >kernels
is "kernels, by thread and by queue" "$(cat kernels)" "1000000 kernels$(printf ' 250000%.0s' {1..8})"
echo "native $(cat native.err), at most $(cat native.peak) KiB; recorded $(cat run.err), at most $(cat run.peak) KiB"
# Rings of 8 MiB, for four threads and a device, and the writer's buffers.
[ $(($(cat run.peak) - $(cat native.peak))) -lt $((100 << 10)) ] || failed "too much memory"
done_
