#!/usr/bin/env bash
# gaps.sh - the tool gaps on recorded, imported and generated runs: steps, windows, parts and numbers
# of gaps are those that plain Python computes from the same events, and all sums are exact.
# timeout: 300
. "$SRC/tests/e2e/lib.sh" || exit 1

checked=0
# check NAME RUN - compares a report of the run with the run's events.
check() {
	"$BUILD/tests/dump" "$2" kernel copy set launch iteration region collective process \
		>"$1.events" || failed "$1: dump"
	"$ACCELPROF" report "$2" -t gaps --rows 0 --format json \
		--opt gaps.rows=0 --opt gaps.steps=0 >"$1.json" 2>"$1.err" ||
		failed "$1: report: $(cat "$1.err")"
	python3 -S "$SRC/tests/e2e/gaps.py" "$1.events" "$1.json" >"$1.out" || {
		failed "$1"
		head -20 "$1.out"
	}
	checked=$((checked + 1))
}

for run in "$SRC"/tests/data/runs/*/oracle.json; do
	run=$(dirname "$run")
	cp -r "$run" . # a report may write into a run of one's own
	check "$(basename "$run")" "$(basename "$run")"
done
[ "$checked" -ge 8 ] || failed "only $checked runs"

for trace in "$SRC"/tests/data/import/kineto-*.json "${PASTA_TRACES:-/nowhere}"/*.json.gz; do
	case $trace in *expected* | *'*'*) continue ;; esac
	name=$(basename "$trace")
	"$ACCELPROF" import "$trace" -o "run-$name" >"$name.err" 2>&1 || failed "$name: import"
	check "$name" "run-$name"
done

# A plug-in runs in a worker, which has a diagnosis of its own.
sed 's/\.name = "gaps"/.name = "too"/' "$SRC/tools/gaps.c" >too.c
cc -std=c17 -shared -fPIC -I"$SRC/include" -o too.so too.c || failed "cannot compile the plug-in"
"$ACCELPROF" report gpt2-train -t gaps,./too.so --format json >both.json || failed "plug-in: report"
is "a plug-in" "$(json both.json '[t["tables"] for t in d["tools"] if t["name"] == "too"]')" \
	"$(json both.json '[t["tables"] for t in d["tools"] if t["name"] == "gaps"]')"
is "tables of the plug-in" "$(json both.json 'len(d["tools"][1]["tables"])')" 6

gen=$BUILD/bench/accelprof-gen
if [ -x "$gen" ]; then
	for options in '--seed 2' '--ranks 3 --profile torch' '--profile all --seed 4'; do
		# shellcheck disable=SC2086
		"$gen" -n 30000 $options -o "gen$checked" >made || failed "accelprof-gen $options"
		check "gen$checked" "gen$checked"
	done
fi
done_
