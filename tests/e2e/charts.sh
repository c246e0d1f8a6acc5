#!/usr/bin/env bash
# charts.sh - a report's charts: drawn as the terminal can, and the same numbers in every format.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

charts=$BUILD/tests/programs/plugin_charts.so
# accelprof, with the tools of tests in it.
accelprof() {
	LD_PRELOAD=$charts "$ACCELPROF" "$@"
}
"$BUILD/bench/accelprof-gen" -n 1 -o run >/dev/null || failed "accelprof-gen"

# What is drawn depends on the locale alone, in the order of locale(7).
LC_ALL=C.UTF-8 accelprof report run -t charts >utf8 || failed "text"
has "UTF-8" utf8 '▁.*█'
has "the range" utf8 '^time: 0 ns to 999.000 ms; each column shows the maximum$'
has "bars" utf8 '^\\x1b.* 1e\+300  █+$'
has "flame" utf8 '100\.0%  ██████████    .* > \(unnamed\) > leaf$'
LC_ALL=C LANG=C.UTF-8 accelprof report run -t charts >ascii || failed "text, in ASCII"
grep -qE '[▁▂▃▄▅▆▇█▏░▒▓│…]' ascii && failed "drawn with Unicode where the locale has none"
has "ASCII" ascii '  \.:.*#$'
env -u LC_ALL -u LANG LC_CTYPE=de_DE.utf8 LD_PRELOAD="$charts" "$ACCELPROF" report run -t charts | cmp - utf8 ||
	failed "LC_CTYPE"
env -u LC_ALL -u LC_CTYPE -u LANG LD_PRELOAD="$charts" "$ACCELPROF" report run -t charts | cmp - ascii ||
	failed "no locale at all"
LC_ALL='' LC_CTYPE='' LANG=C.UTF-8 accelprof report run -t charts | cmp - utf8 || failed "LANG"
grep -q "$(printf '\033')" utf8 && failed "an escape reaches the terminal"

# The same numbers in CSV, JSON and folded stacks.
accelprof report run -t charts,memory --format json >report.json || failed "json"
accelprof report run -t charts,memory --format csv >all.csv || failed "csv"
is "sections" "$(tr -d '\r' <all.csv | grep -a '^# ' | grep -av red | tr '\n' ' ')" \
	"# chart wave # chart bars # chart calls # chart more_calls # table memory # table live # table peak # table never_freed # table sites # chart live_bytes # table loss "
for name in wave bars calls live_bytes; do
	accelprof report run -t charts,memory --format csv --table $name >$name.csv || failed "csv $name"
done
accelprof report run -t charts --format folded --table calls >stacks || failed "folded"
python3 - <<'P' || failed "formats differ"
import csv, json
charts = {c["name"]: c for t in json.load(open("report.json"))["tools"] for c in t["charts"]}

def rows(name):
    with open(name + ".csv", newline="", encoding="utf-8") as f:
        return list(csv.reader(f))

def escaped(text):
    """As a cell of a CSV file has it."""
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\u202e": "\\u202e"}
    return "".join(named.get(c) or (f"\\x{ord(c):02x}" if ord(c) < 32 or 127 <= ord(c) < 160 else c)
                   for c in text)

def number(text):
    return None if text == "" else float(text)

for name in "wave", "live_bytes":
    wanted = [[escaped(s["name"]), *p] for s in charts[name]["series"] for p in s["points"]]
    got = rows(name)
    assert got[0] == ["series", charts[name]["x"]["name"], charts[name]["y"]["name"]], got[0]
    assert [[r[0], number(r[1]), number(r[2])] for r in got[1:]] == wanted, name
assert [[r[0], number(r[1])] for r in rows("bars")[1:]] == \
    [[escaped(label), value] for label, value in charts["bars"]["bars"]]

def frame(text):
    text = "".join(":" if c == ";" else " " if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in text)
    return text or "(unnamed)"

wanted = [[";".join(map(frame, frames)), value] for frames, value in charts["calls"]["stacks"]]
assert [[r[0], int(r[1])] for r in rows("calls")[1:]] == [[escaped(s), v] for s, v in wanted]
with open("stacks", encoding="utf-8", newline="\n") as f:
    lines = [line.rstrip("\n").rsplit(" ", 1) for line in f]
assert [[stack, int(value)] for stack, value in lines] == wanted, (lines, wanted)
P

# One flame chart, several, none.
refused() {
	local pattern=$1
	shift
	accelprof report run --format folded "$@" >out 2>err
	is "folded $*: status" $? 1
	has "folded $*" err "$pattern"
	is "folded $*: stdout" "$(cat out)" ""
}
refused 'the report has 2 flame charts: choose one with --table \(charts.calls, charts.more_calls\)' -t charts
refused "the report has no flame chart 'wave', only charts.calls" -t charts --table wave
refused 'the report has no flame chart: .* makes one with -t .*charts' -t memory
is "one of two" "$(accelprof report run -t charts --format folded --table charts.more_calls)" "leaf 12"
is "one, with nothing in it" "$(accelprof report run -t empty --format folded)" ""

# accelprof tools lists a tool's charts.
accelprof tools memory >out
has "tools" out '^charts: line$'
accelprof report --help >out
has "help" out '--format FORMAT +text \(default\), csv, json, folded, perfetto$'
python3 - "$ACCELPROF" "$charts" <<'P' || failed "a tool makes charts that it does not declare"
import json, subprocess, sys
for tool in json.load(open("report.json"))["tools"]:
    text = subprocess.run([sys.argv[1], "tools", tool["name"]], capture_output=True, text=True,
        env={"LD_PRELOAD": sys.argv[2]}).stdout
    declared = [line.split()[1:] for line in text.splitlines() if line.startswith("charts:")]
    made = {c["type"] for c in tool["charts"]}
    assert made <= set(sum(declared, [])), (tool["name"], made, declared)
P
done_
