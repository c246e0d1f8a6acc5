# family.sh - a shard for each process with events, none for the others; nothing is dropped.
# labels: asan
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
family=$BUILD/tests/programs/family

# calls RUN REGION - how often the report saw it.
calls() {
	json "$1/results/report.json" "sum(r[1] for t in d['tools'][0]['tables'] if t['name'] == 'regions' for r in t['rows'] if r[0] == '$2')"
}

# family RUN SHARDS ARGS... - run it, and count the shards.
run() {
	name=$1
	shards=$2
	shift 2
	"$ACCELPROF" run -q -t regions -o "$name" -- "$family" "$@" 2>err
	is "$name: status" "$?" 0
	is "$name: its stderr" "$(cat err)" ""
	is "$name: shards" "$(ls "$name/shards" | grep -c 'pst$')" "$shards"
	is "$name: rings left" "$(ls "$name/shards" | grep -c 'ring$')" 0
	is "$name: dropped" "$(json "$name/results/report.json" 'd["loss"]["dropped"]')" 0
}

run fork 3 fork
is "fork: parent" "$(calls fork parent)" 1
is "fork: around" "$(calls fork 'around the fork')" 1
is "fork: child" "$(calls fork child)" 1
is "fork: grandchild" "$(calls fork grandchild)" 1

for how in forkexec vfork spawn; do
	run $how 2 $how
	is "$how: parent" "$(calls $how parent)" 1
	is "$how: leaf" "$(calls $how leaf)" 1
done
run quiet 1 forkquiet
run none 0 quiet

run exec 2 exec
is "exec: before" "$(calls exec 'before exec')" 1000
is "exec: leaf" "$(calls exec leaf)" 1

run threads 1 threads 5000
is "threads" "$(calls threads thread)" 5000

run children 501 children 1000
is "children" "$(calls children child)" 500

# A daemon outlives the run: the run ends at once, and a later report has the rest.
"$ACCELPROF" run -t regions -o daemon -- "$family" daemon 2>err
is "daemon: status" "$?" 0
until_gone() {
	for _ in $(seq 100); do
		ls daemon/shards | grep -q ring || return 0
		"$ACCELPROF" report daemon --format json -o daemon.json || return 1
		sleep 0.1
	done
	return 1
}
sleep 1
until_gone || failed "the daemon's ring is still there"
"$ACCELPROF" report daemon --format json -o daemon.json || failed "report of the daemon"
mkdir -p late/results && cp daemon.json late/results/report.json
is "daemon: events" "$(calls late daemon)" 20
is "daemon: dropped" "$(json daemon.json 'd["loss"]["dropped"]')" 0
done_
