#!/usr/bin/env bash
# import_memory.sh - memory of imported traces matches their own totals, including earlier allocations.
# Real traces are looked at, too, where PASTA_TRACES has them.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

traces=${PASTA_TRACES:-$SRC/../shared/traces}
files=("$SRC"/tests/data/import/kineto-{cuda,rocm,memory}.json)
for file in "$traces"/kineto-*.json.gz; do
	[ ! -f "$file" ] || files+=("$file")
done
python3 -B "$SRC/tests/e2e/import_memory.py" "$ACCELPROF" "${files[@]}" || failed "see above"

# What was there is named, has no age, and is no leak.
"$ACCELPROF" report "$SRC/tests/data/import/kineto-memory.json" -t memory,tensors --format json >all.json ||
	failed "report"
table='[t["rows"] for tool in d["tools"] if tool["name"] == "%s" for t in tool["tables"] if t["name"] == "%s"][0]'
# shellcheck disable=SC2059 # it is a format
rows() { printf "$table" "$1" "$2"; }
is "earlier: what is left" "$(json all.json "[r[0:3] + r[4:5] for r in $(rows memory never_freed)]")" \
	"[['(allocated before the trace)', 'device', 996500, None], ['(allocated before the trace)', 'device', 1300, None], ['0x7f544a84c000', 'device', 64, 55000]]"
is "earlier: sites" "$(json all.json "[r[0:5] for r in $(rows memory sites)][0]")" \
	"['(allocated before the trace)', 'allocated', 6, 1002256, 999256]"
is "earlier: operators" "$(json all.json "[r[0:4] for r in $(rows tensors sites)][0]")" "['(allocated before the trace)', '', 6, 1002256]"
is "earlier: lifetimes" "$(json all.json "[r[0:4] for r in $(rows tensors lifetimes) if r[1] == '(not known)']")" "[['4 KiB', '(not known)', 4, 4456]]"
is "earlier: findings" "$(json all.json '[f["what"] for f in d["tools"][0]["findings"]]')" \
	"['allocations that were never freed: 1']"
done_
