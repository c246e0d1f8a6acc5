#!/usr/bin/env bash
# report_formats.sh - one run, the same numbers in every format.
# labels: asan, tsan
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

"$ACCELPROF" run -q -t regions -o run -- "$BUILD/tests/programs/regions_demo" >out || failed "run"
is "the program's output" "$(cat out)" "5 steps"

"$ACCELPROF" report run >text || failed "text"
has "text" text '^train/step +5 +[0-9.]+ (ms|us) '
has "text" text '^load +5 '
has "text" text '^… [0-9]+ more rows \(--rows 0 for all\)$'
has "text" text '^events: ([0-9]+) expected, \1 captured, 0 dropped$'
"$ACCELPROF" report run --rows 0 | grep -q 'more rows' && failed "--rows 0 shows all"
grep -q "$(printf '\033')" text && failed "colours where there is no terminal"

"$ACCELPROF" report run --format json -o report.json || failed "json"
is "schema" "$(json report.json 'd["schema"]')" accelprof-report/2
is "members" "$(json report.json 'list(d)')" "['schema', 'run', 'loss', 'tools']"
is "run" "$(json report.json 'd["run"]["command"][0].split("/")[-1]')" regions_demo
is "exit" "$(json report.json 'd["run"]["exit"]')" "{'status': 0}"
is "loss" "$(json report.json '[d["loss"][k] for k in ("captured", "dropped")] == [d["loss"]["expected"], 0]')" True
is "tool" "$(json report.json '[list(t) for t in d["tools"]]')" "[['name', 'tables', 'charts', 'findings']]"
is "tables" "$(json report.json '[t["name"] for t in d["tools"][0]["tables"]]')" \
	"['regions', 'regions_by_iteration', 'marks']"
is "columns" "$(json report.json '[(c["name"], c["type"], c["unit"]) for c in d["tools"][0]["tables"][0]["columns"]][:3]')" \
	"[('region', 'string', None), ('calls', 'int', None), ('inclusive', 'int', 'ns')]"
is "inclusive is exclusive and the children" "$(json report.json \
	'(lambda r: r["train/step"][2] == r["train/step"][3] + sum(r["train/step/" + n][2] for n in ("forward", "backward", "optimizer")))({r[0]: r for r in d["tools"][0]["tables"][0]["rows"]})')" True
is "the run keeps its report" "$(json run/results/report.json 'd["tools"]')" \
	"$(json report.json 'd["tools"]')"

"$ACCELPROF" report run --format csv --table regions >csv || failed "csv"
python3 - csv report.json <<'P' || failed "csv and json differ"
import csv, json, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
table = json.load(open(sys.argv[2]))["tools"][0]["tables"][0]
assert rows[0] == [c["name"] for c in table["columns"]]
assert rows[1:] == [[str(x) for x in row] for row in table["rows"]]
P
"$ACCELPROF" report run --format csv >csv
is "csv: tables" "$(tr -d '\r' <csv | grep '^# table' | tr '\n' ' ')" \
	"# table regions # table regions_by_iteration # table marks # table loss "
"$ACCELPROF" report run --format csv --opt regions.iterations=no --table regions_by_iteration 2>err
is "a table that is not there" $? 1
has "a table that is not there" err "no table or chart 'regions_by_iteration'"

# Shards given by name, without their folder, have the same report.
cp run/shards/*.pst alone.pst
"$ACCELPROF" report alone.pst -t regions --format json >alone.json || failed "a shard alone"
is "a shard alone" "$(json alone.json 'd["tools"]')" "$(json report.json 'd["tools"]')"
is "a shard alone has no run" "$(json alone.json 'd["run"]["command"]')" None
"$ACCELPROF" report run alone.pst --format json | python3 -c '
import json, sys
rows = {r[0]: r for r in json.load(sys.stdin)["tools"][0]["tables"][0]["rows"]}
assert rows["train/step"][1] == 10' || failed "two at once add up"

# A name that a terminal would obey, and bytes that are no UTF-8.
"$ACCELPROF" run -q -t regions -o odd -- "$behave" region "$(printf 'a\033[31m\tb\377\200"\\,')"
"$ACCELPROF" report odd >text
grep -q "$(printf '\033')" text && failed "an escape reaches the terminal"
has "escaped" text 'main/a\\x1b\[31m\\tb'
"$ACCELPROF" report odd --format json >odd.json
is "mended" "$(json odd.json '[r[0] for r in d["tools"][0]["tables"][0]["rows"]][1]')" \
	"$(printf 'main/a\033[31m\tb\357\277\275\357\277\275"\\,')"

# Output into nothing.
"$ACCELPROF" report run >/dev/full 2>err
is "a full disk: status" $? 1
has "a full disk" err 'cannot write .*No space'
"$ACCELPROF" report run -o no/where 2>err
is "an output that cannot be made: status" $? 1
has "an output that cannot be made" err 'cannot write no/where: No such file'
"$ACCELPROF" report run -o /dev/null || failed "an output that is a device"
[ -c /dev/null ] || failed "the device was removed"
done_
