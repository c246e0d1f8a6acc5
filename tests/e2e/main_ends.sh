# main_ends.sh - a process whose main thread has ended runs: its rings are not taken away.
. "$SRC/tests/e2e/lib.sh" || exit 1

# For more than two sweeps.
"$ACCELPROF" run -q -t regions --record all -o run -- "$BUILD/tests/programs/main_ends" 200 2>err &
run=$!
sleep 2
"$ACCELPROF" report run --format json >early.json 2>early || failed "report while it runs"
has "report while it runs" early 'are still running: 1'
is "its ring while it runs" "$(find run/shards -name '*.ring' | wc -l)" 1
wait $run
is "status" $? 137
"$ACCELPROF" report run --format json >report.json || failed "report"
is "events" "$(json report.json '[d["loss"][k] for k in ("expected", "captured", "dropped")]')" "[201, 201, 0]"
is "rings left" "$(find run/shards -name '*.ring' | wc -l)" 0
done_
