# tutorial.sh - every piece of code in docs/writing-a-tool.md compiles; the whole tools run, and agree.
. "$SRC/tests/e2e/lib.sh" || exit 1
unset PASTA_TOOL_PATH
gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "there is no accelprof-gen here: PASTA_BENCH is off"
	exit 77
}

# A whole tool is a file of the name that its first line has; what is a part gets the headers.
python3 - "$SRC/docs/writing-a-tool.md" <<'P' || failed "the pieces"
import re, sys
with open(sys.argv[1], encoding="utf-8") as f:
    pieces = re.findall(r"^```(c|cpp)\n(.*?)^```$", f.read(), re.M | re.S)
for n, (language, text) in enumerate(pieces):
    whole = re.match(r"/\* ([a-z_]+\.(?:c|cpp)) - ", text)
    assert bool(whole) == ("PASTA_TOOL(" in text), text
    assert not whole or whole[1].endswith("." + language), whole[1]
    with open(whole[1] if whole else f"part{n}.{language}", "w", encoding="utf-8") as f:
        f.write(text if whole else "#include <stdio.h>\n#include <pasta/tool.h>\n" + text)
P
is "whole tools" "$(echo [!p]*.c*)" "busy.c bytes.c copied.c idle.c load.c slack.c streams.cpp tempo.c waits.c"
is "parts" "$(ls part*.c | wc -l)" 3
strict="-O2 -Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror -shared -fPIC -I$SRC/include"
for file in *.c; do
	# shellcheck disable=SC2086
	cc -std=c17 $strict -Wno-unused-function "$file" -o "${file%.c}.so" || failed "$file"
done
# shellcheck disable=SC2086
c++ -std=c++20 $strict streams.cpp -o streams.so || failed "streams.cpp"

"$gen" -n 20000 --ranks 2 -o run >made.json || failed "accelprof-gen"
"$ACCELPROF" report run -t ./copied.so,./waits.so,./streams.so,./tempo.so,./slack.so,./busy.so,./load.so,./idle.so,gaps \
	--opt waits.limit=500us --opt tempo.window=2 --format json \
	>report.json || failed "report"
"$BUILD/tests/dump" run launch kernel iteration >events || failed "dump"
python3 - <<'P' || failed "idle"
import json
with open("report.json", encoding="utf-8") as f:
    tools = {t["name"]: t for t in json.load(f)["tools"]}
idle = sorted(tuple(r[2:4]) for r in tools["idle"]["tables"][0]["rows"])
parts = next(t["rows"] for t in tools["gaps"]["tables"] if t["name"] == "devices")
assert idle == sorted((r[2][6:], r[3]) for r in parts if r[2].startswith("idle: ")), idle
P
is "copied" "$(json report.json 'd["tools"][0]["tables"][0]["rows"]')" \
	"$(json made.json '[[sum(d["copies"][s]["count"] for s in ("h2d", "d2h")), d["copy_bytes"]]]')"
python3 - <<'P' || failed "waits and streams"
import json
from collections import Counter
with open("report.json", encoding="utf-8") as f:
    tools = {t["name"]: t for t in json.load(f)["tools"]}
with open("events", encoding="utf-8") as f:
    events = [json.loads(line) for line in f]
launched = {(e["proc"], e["corr"]): e["time"] for e in events if e["kind"] == "launch"}
kernels = [e for e in events if e["kind"] == "kernel"]
waits = sorted(e["time"] - launched[e["proc"], e["corr"]] for e in kernels)
count, mean, p50, p99, longest = tools["waits"]["tables"][0]["rows"][0]
assert (count, mean, longest) == (len(waits), sum(waits) // len(waits), waits[-1])
assert abs(p50 - waits[(count + 1) // 2 - 1]) <= p50 / 64, p50
above = sum(w > 500000 for w in waits)
assert 0 < above < count
assert [f["what"] for f in tools["waits"]["findings"]] == \
    [f"kernels that waited longer than the limit: {above}"]
rows = {(r[0], r[1]): (r[2], r[3]) for r in tools["busy"]["tables"][0]["rows"]}
names = Counter((e["name"], f"device {e['device']}") for e in kernels)
times = Counter()
for e in kernels:
    times[e["name"], f"device {e['device']}"] += e["dur"]
assert rows == {k: (n, times[k]) for k, n in names.items()}, rows
loads = [sum(y for x, y in line["points"]) for line in tools["load"]["charts"][0]["series"]]
assert sum(loads) == sum(e["dur"] for e in kernels), loads
windows = Counter()
for e in kernels:
    begun = [i["index"] for i in events if i["kind"] == "iteration" and i["proc"] == e["proc"] and
             i["time"] <= launched[e["proc"], e["corr"]]]
    if begun:
        windows[begun[-1] // 2 * 2] += 1
assert tools["tempo"]["tables"][0]["rows"] == \
    [[k, k + 2, v] for k, v in sorted(windows.items())], tools["tempo"]["tables"]
with open("made.json", encoding="utf-8") as f:
    made = json.load(f)
assert sum(r[3] for r in tools["slack"]["tables"][0]["rows"]) == made["peak_bytes"]
bars = dict(tools["waits"]["charts"][0]["bars"])
assert "step/forward/layer" in bars and min(bars.values()) > 0, bars
streams = Counter((e["proc"], e["stream"]) for e in kernels)
assert tools["streams"]["tables"][0]["rows"] == [[*k, v] for k, v in sorted(streams.items())]
P
"$ACCELPROF" report run -t ./waits.so --opt waits.limit=soon >out 2>err
is "a bad option: status" $? 2
has "a bad option" err "waits.limit must be a time like 10ms, .* not 'soon'"
done_
