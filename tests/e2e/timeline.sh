#!/usr/bin/env bash
# timeline.sh - report --format perfetto is valid, whole and exact.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "no accelprof-gen in this build"
	exit 77
}
for profile in training all; do
	"$gen" --profile $profile -n 200000 --ranks 2 -o $profile >$profile.oracle || failed "gen"
	"$ACCELPROF" report $profile --format perfetto -o $profile.json 2>err ||
		failed "$profile: status $?"
	python3 "$SRC/tests/e2e/timeline.py" $profile.json $profile.oracle || failed "$profile"
done
has "loss is reported" err '^accelprof: events: .* [1-9][0-9]* dropped'

# The same to a pipe, and the same again.
"$ACCELPROF" report training --format perfetto | cmp - training.json || failed "into a pipe"

# Damaged shards still make a valid document.
for damage in torn truncate flip holes; do
	"$gen" --profile all --damage $damage -n 30000 -o $damage >/dev/null || failed "gen"
	"$ACCELPROF" report $damage --format perfetto -o $damage.json 2>err
	json $damage.json 'len(d["traceEvents"]) > 100' >out
	is "$damage" "$(cat out)" True
done

# Real runs: the slices of each track nest, and there are as many as the run has.
for run in gpt2-train llama-decode two-ranks; do
	cp -r "$SRC/tests/data/runs/$run" .
	"$ACCELPROF" report $run --format perfetto -o real.json 2>err || failed "$run"
	"$BUILD/tests/dump" $run >real.events || failed "dump $run"
	python3 "$SRC/tests/e2e/_timeline_nest.py" real.json real.events || failed "$run"
done

# Names that are no text, or would be something else in JSON.
name=$(printf 'a\033[31m\tb\377\200"\\,\n</script>')
"$ACCELPROF" run -q -o odd -- "$behave" region "$name" nest 2000
"$ACCELPROF" report odd --format perfetto -o odd.json 2>err || failed "odd names"
is "odd names" "$(json odd.json '[e["name"] for e in d["traceEvents"] if "</script>" in e.get("name", "")]')" \
	"['a\\x1b[31m\\tb��\"\\\\,\\n</script>']"
is "complete events" "$(json odd.json 'sum(e["ph"] == "X" for e in d["traceEvents"])')" \
	"$("$BUILD/tests/dump" odd region | grep -c '"sub":1,')"

# Nowhere to write to.
"$ACCELPROF" report odd --format perfetto >/dev/full 2>err
is "a full disk: status" $? 1
has "a full disk" err 'cannot write the report: No space'
done_
