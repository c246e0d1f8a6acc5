# cupti_recorded.sh - on a fake CUPTI, without a GPU: the run has exactly what the program did.
# labels: asan
# timeout: 180
. "$SRC/tests/e2e/lib.sh" || exit 1
programs=$BUILD/tests/programs
fake=$programs/fake_cupti.so
cuda=$programs/fake_cuda
dump=$BUILD/tests/dump
unset CUDA_INJECTION64_PATH PASTA_CUDA_INJECTION CUDA_HOME CUDA_PATH
unset FAKE_CUPTI_VERSION FAKE_CUPTI_FAIL FAKE_CUPTI_DROP FAKE_CUPTI_LINGER
export PASTA_CUPTI=$fake

events() {
	python3 "$SRC/tests/e2e/cupti_recorded.py" "$@"
}

# record NAME STATUS OPTIONS -- ARGS... - run fake_cuda: NAME, NAME.out, NAME.err, NAME.dump.
record() {
	local name=$1 status=$2 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout 60 "$ACCELPROF" run -q "${options[@]}" -o "$name" -- "$cuda" "$@" >"$name.out" 2>"$name.err"
	is "$name: status" $? "$status"
	"$dump" "$name" >"$name.dump" 2>"$name.dump.err"
}

# clean NAME - the run printed no message.
clean() {
	is "$1: stderr" "$(cat "$1.err")" ""
}

# -- All kinds of records, in the layout of each version of CUPTI --
for version in 19 28 130001 130401; do
	FAKE_CUPTI_VERSION=$version record "all$version" 0 --record all -- all 2000
	clean "all$version"
	events exact "all$version.dump" "all$version.out" || failed "version $version: not exact"
done
# More than fits into one of CUPTI's buffers.
record many 0 --record launch,kernel -- all 6000
clean many
is "many: launches, kernels, processes, dropped" "$(events counts many.dump)" \
	"$(json many.out 'd["launches"]') $(json many.out 'd["kernels"] + d["nodes"]') 1 0"

# -- Only the kinds that tools need are enabled --
# enabled FILE KIND - whether the handler enabled this activity kind.
enabled() {
	json "$1" "d['enabled'] >> $2 & 1"
}
record freq 0 -t kernel_freq -- all 500
is "kernel_freq: kernels" "$(enabled freq.out 10)" 1
is "kernel_freq: copies" "$(enabled freq.out 1)$(enabled freq.out 22)" 00
is "kernel_freq: calls" "$(enabled freq.out 4)$(enabled freq.out 5)" 00
is "kernel_freq: events of calls" "$(grep -c '"kind":"api"' freq.dump)" 0
is "kernel_freq: kernels counted" \
	"$(json freq/results/report.json 'sum(r[1] for t in d["tools"][0]["tables"] if t["name"] == "kernels" for r in t["rows"])')" \
	"$(json freq.out 'd["kernels"] + d["nodes"]')"
allocs='d["allocs"] + d["physical"] + d["mapped"]'
record memory 0 -t memory -- all 500
is "memory: kernels" "$(enabled memory.out 10)" 0
is "memory: memory" "$(enabled memory.out 49)" 1
is "memory: allocs" "$(grep -c '"kind":"alloc"' memory.dump)" "$(json memory.out "$allocs")"
for kind in 25 36 37 39; do
	is "memory: no records of kind $kind" "$(enabled memory.out $kind)" 0
done
record uvm 0 -t uvm -- all 500
clean uvm
is "uvm: unified memory" "$(enabled uvm.out 25)" 1
is "uvm: kernels, events, streams, links" "$(for k in 10 36 37 39; do enabled uvm.out $k; done | tr -d '\n')" 0000
is "uvm: migrations" \
	"$(json uvm/results/report.json '[r[:3] for t in d["tools"][0]["tables"] if t["name"] == "migrations" for r in t["rows"]]')" \
	"$(json uvm.out '[["to_device", d["to_device"], d["bytes_to_device"]], ["to_host", d["to_host"], d["bytes_to_host"]]]')"
record full 0 -t memory --level full -- all 100
is "full: all of them" "$(for k in 25 36 37 39; do enabled full.out $k; done | tr -d '\n')" 1111
# Without unified memory all else is recorded; a run that does not need it prints no message.
FAKE_CUPTI_FAIL=ActivityConfigureUnifiedMemoryCounter=28 record without 0 --record all -- all 100
lines "without unified memory" without.err 1
has "without unified memory" without.err '^accelprof: .*cupti: .*unified memory is not recorded'
is "without unified memory: kernels" "$(grep -c '"kind":"kernel"' without.dump)" "$(json without.out 'd["kernels"] + d["nodes"]')"
is "without unified memory: none" "$(grep -c '"kind":"uvm"' without.dump)" 0
FAKE_CUPTI_FAIL=ActivityConfigureUnifiedMemoryCounter=28 record unasked 0 -t memory -- all 100
clean unasked

# -- Stop and start --
record pausing 0 --record all --paused -- pausing 100
is "pausing: launches, kernels, processes, dropped" "$(events counts pausing.dump)" "100 100 1 0"
record resting 0 --record all --paused -- resting 100
is "resting: launches, kernels, processes, dropped" "$(events counts resting.dump)" "200 200 1 0"
record paused 0 --record all --paused -- all 100
is "paused: launches, kernels, processes, dropped" "$(events counts paused.dump)" "0 0 0 0"
is "paused: copies, sets, syncs, calls" "$(grep -cE '"kind":"(copy|set|sync|api|uvm|event_record|link)"' paused.dump)" 0
is "paused: allocs" "$(grep -c '"kind":"alloc"' paused.dump)" "$(json paused.out "$allocs")"
is "paused: streams" "$(grep -c '"kind":"queue"' paused.dump)" "$(json paused.out 'd["streams"]')"

# -- Records that CUPTI drops are counted as loss --
FAKE_CUPTI_DROP=7 record dropped 0 --record all -- all 500
dropped_count=$(json dropped.out 'd["dropped"]')
[ "$dropped_count" -gt 0 ] || failed "the fake dropped nothing"
is "dropped: the account" "$(tail -n 1 dropped.dump | grep -o '"source":[0-9]*')" "\"source\":$dropped_count"
is "dropped: the report" "$(json dropped/results/report.json 'd["loss"]["reasons"]["source"]')" "$dropped_count"
is "dropped: all others" "$(grep -cE '"kind":"(kernel|copy|set|alloc|free|sync|api|uvm|queue|event_record|link)"' dropped.dump)" \
	"$(json dropped.out 'd["made"] - d["dropped"] + 2 * (d["physical"] + d["mapped"])')"

# -- Processes --
record before 0 --record all -- before 50
clean before
is "fork before: launches, kernels, processes, dropped" "$(events counts before.dump)" "100 100 2 0"
record after 4 --record all -- after 50
clean after
is "fork after: launches, kernels, processes, dropped" "$(events counts after.dump)" "50 50 1 0"
record exec 0 --record all -- exec 50
clean exec
is "exec: launches, kernels, processes, dropped" "$(events counts exec.dump)" "100 100 2 0"
is "exec: shards" "$(ls exec/shards | grep -c 'pst$')" 2

# -- A program that uses CUPTI itself has its own records, and the run those before --
record uses 0 --record all -- uses 50
is "uses: launches, kernels, processes, dropped" "$(events counts uses.dump)" "50 50 1 0"
lines uses uses.err 1
has uses uses.err '^accelprof: .*cupti: fake_cuda began to use CUPTI itself'

# -- A killed program: all launches, and the kernels that CUPTI had delivered --
record kill 137 --record all -- kill 50
is "kill: launches, kernels, processes, dropped" "$(events counts kill.dump)" "100 50 1 0"
# _exit flushes the records.
record leave 5 --record all -- _exit 50
clean leave
is "_exit: launches, kernels, processes, dropped" "$(events counts leave.dump)" "100 100 1 0"

# CUPTI is torn down while the program ends, perhaps for more than a second: no flush may follow.
FAKE_CUPTI_LINGER=2500 record linger 3 --record all -- status 50
clean linger
is "linger: launches, kernels, processes, dropped" "$(events counts linger.dump)" "50 50 1 0"

# -- A chained library is called, and CUPTI is found in the toolkit --
"$cuda" status 50 >native.out
is "native: status" $? 3
export FAKE_INJECTION_FILE=$PWD/called
CUDA_INJECTION64_PATH=$programs/fake_injection.so record chained 3 --record all -- status 50
clean chained
is "chained: called" "$(cat called)" called
is "chained: launches, kernels, processes, dropped" "$(events counts chained.dump)" "50 50 1 0"
rm called
export FAKE_INJECTION_CUPTI=$fake
CUDA_INJECTION64_PATH=$programs/fake_injection.so record chained_user 3 --record all -- status 50
unset FAKE_INJECTION_CUPTI
is "chained, uses CUPTI: called" "$(cat called)" called
is "chained, uses CUPTI: launches, kernels" "$(grep -cE '"kind":"(launch|kernel)"' chained_user.dump)" 0
lines chained_user chained_user.err 1
has chained_user chained_user.err 'fake_injection.so began to use CUPTI itself.*not recorded in this run$'
mkdir -p toolkit/lib64 && ln -s "$fake" toolkit/lib64/libcupti.so.13
PASTA_CUPTI='' CUDA_HOME=$PWD/toolkit record toolkit.run 3 --record all -- status 50
clean toolkit.run
is "toolkit: launches, kernels, processes, dropped" "$(events counts toolkit.run.dump)" "50 50 1 0"

# -- Where CUPTI cannot work, the program runs as before, and a message states what to do --
# done_by FILE - what the program did, without fields that differ between runs.
done_by() {
	json "$1" '{k: v for k, v in d.items() if k not in ("pid", "begin", "end", "made", "enabled")}'
}

# fails NAME PATTERN - run with the environment's failure: one message that matches, and no kernels.
fails() {
	record "$1" 3 --record all -- status 50
	is "$1: what the program did" "$(done_by "$1.out")" "$(done_by native.out)"
	lines "$1" "$1.err" 1
	has "$1" "$1.err" "^accelprof: .*cupti: .*$2"
	is "$1: kernels" "$(grep -c '"kind":"kernel"' "$1.dump")" 0
}

PASTA_CUPTI=$PWD/none.so fails absent 'PASTA_CUPTI is not the path of a libcupti.so: .*none.so'
PASTA_CUPTI=$programs/fake_injection.so fails other \
	'lacks cuptiGetVersion: install CUPTI of CUDA 12 or 13, or set PASTA_CUPTI'
PASTA_CUPTI=$programs/fake_cupti_old.so fails missing \
	'lacks cuptiActivityRegisterTimestampCallback: install CUPTI of CUDA 12 or 13'
FAKE_CUPTI_VERSION=18 fails old 'older than CUDA 12: install CUPTI of CUDA 12 or 13'
FAKE_CUPTI_FAIL=GetVersion=999 fails driver 'set PASTA_CUPTI to a libcupti.so of the driver.s CUDA version'
FAKE_CUPTI_FAIL=Subscribe=39 fails subscribers 'uses CUPTI itself: to record CUDA, disable'
FAKE_CUPTI_FAIL=Subscribe=15 fails uninitialized 'set PASTA_CUPTI to a libcupti.so of the driver'
FAKE_CUPTI_FAIL=EnableCallback=999 fails unknown 'CUPTI_ERROR_UNKNOWN; run .accelprof doctor. to see'
FAKE_CUPTI_FAIL=ActivityRegisterCallbacks=999 fails buffers 'device activity is missing or incomplete'
FAKE_CUPTI_FAIL=ActivityEnable=35 fails privileges 'run as root, or load the driver with NVreg_'
# Without device activity, launches are still recorded.
is "privileges: launches" "$(grep -c '"kind":"launch"' privileges.dump)" 50
done_
