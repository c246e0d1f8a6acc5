#!/usr/bin/env bash
# summary.sh - the default report: at most a screen for any run, with the right numbers.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
gen=$BUILD/bench/accelprof-gen

# fits RUN ARGS... - the report has 30 lines at most, of 100 columns but for notes.
fits() {
	"$ACCELPROF" report "$@" >out 2>err
	local status=$?
	is "$*: tool" "$(head -n 1 out)" "== summary =="
	[ "$(wc -l <out)" -le 30 ] || failed "$*: $(wc -l <out) lines"
	grep -q 'more rows' out && failed "$*: rows are left out"
	grep -Ev '^(note|warning): ' out |
		python3 -c 'import sys; sys.exit(any(len(l) > 101 for l in open(0, encoding="utf-8")))' ||
		failed "$*: lines are wider than 100 columns"
	grep -q ' $' out && failed "$*: blanks at the end of a line"
	return $status
}

for profile in kernels training all; do
	for ranks in 1 2 3 9; do
		"$gen" --profile $profile --ranks $ranks -n 20000 -o $profile$ranks >$profile$ranks.json ||
			failed "accelprof-gen"
		fits $profile$ranks || failed "report of $profile$ranks"
	done
done
for damage in torn truncate flip holes; do
	"$gen" --profile all --ranks 2 -n 20000 --damage $damage -o $damage >/dev/null
	fits $damage
done
fits all9 --time 5ms-
fits kernels3 --time 1h- # nothing is left
has "nothing" out '^process +3 processes, 3 of 3 ranks +0 ns$'
fits all9 --rank 1,3 --kernel gemm
"$gen" --profile all -n 5000 -o other >/dev/null
fits all9 other kernels3 || failed "several runs"

# A run of regions only, and one that drops events.
"$ACCELPROF" run -q -o regions -- "$BUILD/tests/programs/regions_demo" >/dev/null || failed "run"
fits regions || failed "report of regions"
has "regions" out '^process +.*regions_demo, .*-[0-9]+ .* 100\.0%$'
has "regions" out '^region +train +1 '
is "regions" "$(grep -c '^region ' out)" 3
is "its tools" "$(json regions/run.json 'd["tools"]')" "['summary']"
"$ACCELPROF" run -q -o deep -- "$behave" nest 2000 || failed "run with loss"
fits deep || failed "report of deep"
has "loss" out '^events: .* [1-9][0-9]* dropped'

# At the end of a run it is the same.
"$ACCELPROF" run -o end -- "$BUILD/tests/programs/regions_demo" 2>err >/dev/null || failed "run"
has "at the end" err '^region +train/step +5 '
[ "$(wc -l <err)" -le 30 ] || failed "at the end: $(wc -l <err) lines"

# The numbers are the generator's, and those of the other tools.
"$ACCELPROF" report all9 -t summary,kernel_freq,copies,memory --format json >all9.report || failed "json"
python3 - all9.json all9.report <<'P' || failed "numbers"
import json, sys
made, report = (json.load(open(f)) for f in sys.argv[1:])
tools = {t["name"]: {u["name"]: u["rows"] for u in t["tables"]} for t in report["tools"]}
rows = tools["summary"]["other"]
def of(what):
    return [r for r in rows if r[0] == what]
devices, kernels, copies = of("device"), tools["summary"]["kernel"], of("copy")
assert sum(r[2] for r in devices) == sum(k["count"] for k in made["kernels"].values())
assert all(0 < r[4] <= 100 for r in devices), devices
for r in kernels:
    assert [r[1], r[2]] == [made["kernels"][r[0]]["count"], made["kernels"][r[0]]["ns"]], r
    assert abs(r[3] - 100 * r[2] / made["kernel_ns"]) < 1e-9, r
assert len(kernels) >= 3 and [r[0] for r in kernels] == [k[0] for k in tools["kernel_freq"]["kernels"][:len(kernels)]]
for r in copies:
    assert [r[2], r[5], r[3]] == [made["copies"][r[1]][k] for k in ("count", "bytes", "ns")], r
assert of("memory")[0][5] == max(r[6] for r in tools["memory"]["memory"])
assert of("communication")[0][2] == made["kinds"]["collective"]
assert of("communication")[0][3] >= of("communication")[1][3] > 0
assert of("process") == [["process", "9 processes, 9 of 9 ranks", None] + of("process")[0][3:]]
moved = sum(c["ns"] for c in made["copies"].values())
assert 0 < sum(r[2] for r in tools["summary"]["layer"]) <= made["kernel_ns"] + moved
assert not of("op") # layers take their place
P
done_
