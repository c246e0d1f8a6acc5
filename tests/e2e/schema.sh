#!/usr/bin/env bash
# schema.sh - reports and run.json conform to the published JSON Schemas, which reject broken ones.
# timeout: 180
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

gen=$BUILD/bench/accelprof-gen
tools=$("$ACCELPROF" tools | cut -d' ' -f1 | paste -sd,)
charts=$BUILD/tests/programs/plugin_charts.so
schema=$SRC/docs/schema

# check valid|broken SCHEMA FILE...
check() {
	local mode=$1 name=$2
	shift 2
	python3 "$SRC/tests/e2e/schema.py" "$mode" "$schema/$name.schema.json" "$@" || failed "$mode: $*"
}

# All tools over generated runs, whole and damaged.
n=0
for options in '' '--profile kernels' '--profile all --ranks 3' '--profile all --damage flip' \
	'--ranks 2 --damage truncate'; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	"$gen" -n 20000 $options -o "run$n" >/dev/null || failed "accelprof-gen $options"
	"$ACCELPROF" report "run$n" -t "$tools" --format json >"all$n.json" 2>err
done
is "the tools" "$(json all1.json '",".join(t["name"] for t in d["tools"])')" "$tools"
check valid report all?.json
check valid run run?/run.json

# A shard alone, of which no run is known.
cp run1/shards/*.pst alone.pst
"$ACCELPROF" report alone.pst -t "$tools" --format json >alone.json || failed "a shard alone"
check valid report alone.json

# A chart of every type, names that no one would choose, tools that fail.
LD_PRELOAD=$charts "$ACCELPROF" report run1 -t charts,empty,failing,memory,copies,more \
	--format json >odd.json 2>err
is "tools that fail: status" $? 1
is "failed" "$(json odd.json '[t["name"] for t in d["tools"] if "error" in t]')" \
	"['failing']"
is "what failed has no charts" "$(json odd.json '[len(t["charts"]) for t in d["tools"]]')" \
	"[5, 9, 0, 1, 0, 7]"
is "types" "$(json odd.json '[c["type"] for c in d["tools"][0]["charts"]]')" \
	"['line', 'bar', 'heat', 'flame', 'flame']"
is "more types" "$(json odd.json '[c["type"] for c in d["tools"][5]["charts"]]')" \
	"['timeline', 'scatter', 'area', 'histogram', 'heat', 'heat', 'graph']"
is "savings" "$(json odd.json '[f["saving"]["disjoint_ns"] for f in d["tools"][5]["findings"]]')" \
	"[50, 300]"
is "gaps" "$(json odd.json 'sum(p[1] is None for p in d["tools"][0]["charts"][0]["series"][0]["points"])')" 10
check broken report odd.json

# What programs leave behind: one that ends, one that a signal ends, and one that still runs.
"$ACCELPROF" run -q -o ended -- "$behave" region "$(printf 'a\033\377"')" exit 3
("$ACCELPROF" run -q -o killed -- sh -c 'kill -9 $$'; true) 2>/dev/null # the shell's remark, too
"$ACCELPROF" run -q -o running -- sh -c 'cp running/run.json running.json'
is "exit" "$(json ended/run.json 'd["exit"]')" "{'status': 3}"
is "signal" "$(json killed/run.json 'd["exit"]')" "{'signal': 9}"
is "running" "$(json running.json '[d["state"], d["exit"], d["loss"]]')" "['running', None, None]"
check valid run running.json
check valid report ended/results/report.json
check broken run ended/run.json killed/run.json

# A run that was imported.
"$BUILD/bench/accelprof-gen-trace" -n 2000 -o trace.json || failed "accelprof-gen-trace"
"$ACCELPROF" import trace.json -o imported >/dev/null || failed "import"
is "imported" "$(json imported/run.json 'd["import"][0]["format"]')" "kineto"
check valid run imported/run.json
"$ACCELPROF" report imported -t "$tools" --format json >imported.json || failed "imported"
check valid report imported.json

# Both schemas agree on the parts that both documents have, and name every kind.
python3 - "$schema" "$SRC/include/pasta/events.def" <<'P' || failed "the schemas differ"
import json, re, sys
run, report = (json.load(open(f"{sys.argv[1]}/{n}.schema.json")) for n in ("run", "report"))
for name, value in run["$defs"].items():
    if name in ("imported", "counts"):
        continue
    assert report["$defs"][name] == value, name
of_run = {k: v for k, v in report["$defs"]["run"]["properties"].items() if k != "path"}
assert of_run == {k: v for k, v in run["properties"].items() if k not in ("schema", "counted", "loss", "import", "accesses", "sum")}
kinds = re.findall(r"^KIND\(\d+, *\w+, *(\w+)", open(sys.argv[2]).read(), re.M)
assert kinds == run["$defs"]["kind"]["enum"], kinds
P
done_
