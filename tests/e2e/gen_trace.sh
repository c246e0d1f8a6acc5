#!/usr/bin/env bash
# gen_trace.sh - an independent count of generated traces matches what accelprof-gen-trace reports.
# timeout: 180
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

gen=$BUILD/bench/accelprof-gen-trace
[ -x "$gen" ] || {
	echo "no accelprof-gen-trace in this build"
	exit 77
}

# agrees OPTIONS... - generates traces, and compares their contents with the generator's report.
agrees() {
	rm -f t*.json
	"$gen" -o t.json --truth truth "$@" || failed "$*: status"
	python3 "$SRC/tests/e2e/gen_trace.py" truth t*.json || failed "$*"
}
agrees --seed 1 -n 20000
agrees --seed 2 -n 1
agrees --seed 3 -n 10k --compact
agrees --seed 4 -n 1 --stacks no
agrees --seed 5 -n 1 --shapes no --compact
agrees --seed 6 -n 1 --ranks 3
is "a file a rank" "$(echo t*.json)" "t-rank0.json t-rank1.json t-rank2.json"

# White space is all that --compact leaves out.
"$gen" -o a.json -n 1 && "$gen" -o b.json -n 1 --compact || failed "two layouts"
python3 - <<'END' || failed "--compact is another trace"
import json, re
a, b = (json.load(open(name, encoding="utf-8")) for name in ("a.json", "b.json"))
assert a.pop("traceName") == "a.json" and b.pop("traceName") == "b.json"
assert a == b and list(a) == list(b)
text = open("b.json", encoding="utf-8").read()
assert not re.search(r"\s", re.sub(r'"[^"]*"', "", text))
END

# A seed makes the same bytes, another one others; stdout is a file like any other.
"$gen" -o - -n 1 | sed 's/"traceName": .*//' >c
"$gen" -o a.json -n 1 && sed 's/"traceName": .*//' a.json | cmp - c || failed "the same again"
"$gen" -o - -n 1 --seed 9 | cmp -s - c && failed "seeds make no difference"

# As large as asked, to a step.
"$gen" -o a.json --bytes 40M || failed "--bytes"
size=$(wc -c <a.json)
[ "$size" -gt 39200000 ] && [ "$size" -lt 43000000 ] || failed "--bytes 40M made $size bytes"

# Invalid options are refused with a message.
wrong() {
	"$gen" "$@" >out 2>err
	is "$*: status" $? 2
	lines "$*" err 1
}
wrong -n 10
has "no file" err "^accelprof-gen-trace: no output file given: use '-o FILE'"
wrong -o a.json -n 0
has "no events" err "^accelprof-gen-trace: invalid value '0'"
wrong -o a.json --stacks maybe
wrong -o - --ranks 2
wrong -o - --truth -
wrong -o a.json b.json
"$gen" -o no/such/folder.json >out 2>err
is "no folder: status" $? 1
has "no folder" err '^accelprof-gen-trace: cannot write no/such/folder.json: No such file'
"$gen" -n 1 -o - >/dev/full 2>err
is "a full disk: status" $? 1
has "a full disk" err '^accelprof-gen-trace: cannot write to stdout: No space left'
done_
