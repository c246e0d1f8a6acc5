# opencl_bad.sh - programs that go wrong see their own errors, and the run has what came before.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need
bad=$programs/cl_bad

# same WAY STATUS LAUNCHES KERNELS - as without us, and all is there.
same() {
	local way=$1
	"$bad" "$way" >"$way.native" 2>"$way.native.err"
	is "$way, native: status" $? "$2"
	"$ACCELPROF" run -q --record all -o "$way" -- "$bad" "$way" >"$way.out" 2>"$way.err"
	is "$way: status" $? "$2"
	is "$way: output" "$(cat "$way.out")" "$(cat "$way.native")"
	[ "$way" = kernels ] || is "$way: errors" "$(cat "$way.err")" "$(cat "$way.native.err")"
	"$dump" "$way" >"$way.dump" || failed "$way: dump"
	is "$way: launches and kernels" "$("${events[@]}" launches "$way.dump")" "$3 $4"
	is "$way: dropped" "$(tail -n 1 "$way.dump" | grep -o '"dropped":[0-9]*')" '"dropped":0'
}

same build 3 3 3
same arguments 4 3 3
same device 6 3 3
same leave 9 3 3
same _exit 10 3 3
same fork 8 3 3
# What waits for an event that failed fails: launched, and never run.
same userevent 5 5 3
# Memory does not grow with every kernel that is made.
same kernels 0 603 603
grew=$(sed -n 's/grew by \([0-9-]*\) KiB/\1/p' kernels.err)
[ "$grew" -lt 4096 ] || failed "40000 kernels made and released: $(cat kernels.err)"

# Killed, or ended, while kernels run. PoCL itself does not always survive that: natively it ends by
# SIGSEGV (139), or by SIGABRT (134) when its compiler is unloaded before its threads end.
"$ACCELPROF" run -q --record all -o kill -- "$bad" kill >kill.out 2>kill.err
is "kill: status" $? 137
for i in 1 2 3; do
	"$ACCELPROF" run -q --record all -o "running$i" -- "$bad" running >running.out 2>/dev/null
	status=$?
	case $status in 7 | 134 | 139) ;; *) failed "running: status $status" ;; esac
	is "running: output" "$(cat running.out)" leaving
	"$dump" "running$i" >running.dump || failed "running: dump"
	[ "$(grep -c '"kind":"launch"' running.dump)" = 7 ] || failed "running: launches"
	[ "$(grep '"kind":"kernel"' running.dump | grep -c good)" = 3 ] || failed "running: kernels"
done
"$dump" kill >kill.dump
is "kill: launches" "$(grep -c '"kind":"launch"' kill.dump)" 7
is "kill: kernels that had ended" "$(grep '"kind":"kernel"' kill.dump | grep -c good)" 3

# No activity where none is to be recorded; state all the same.
"$ACCELPROF" run -q --record all --paused -o paused -- "$programs/cl_exact" >paused.out
"$dump" paused >paused.dump
is "paused: launches and kernels" "$("${events[@]}" launches paused.dump)" "0 0"
is "paused: allocations" "$(grep -c '"kind":"alloc"' paused.dump)" 13
is "paused: frees" "$(grep -c '"kind":"free"' paused.dump)" 13

# A tool that wants no kernels: queues are left as they are.
COUNT_FILE=$PWD/plain OPENCL_LAYERS=$layers/count.so "$programs/cl_exact" >/dev/null
export COUNT_FILE=$PWD/idle
"$ACCELPROF" run -q -t memory -o idle-run -- "${below[@]}" "$layers/count.so" \
	"$programs/cl_exact" >/dev/null
is "off: queues with profiling" "$(json idle 'd["profiling"]')" "$(json plain 'd["profiling"]')"
done_
