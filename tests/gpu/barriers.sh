#!/usr/bin/env bash
# barriers.sh - arrivals at the barriers of CUDA kernels: the counts match the program's output.
# timeout: 300
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_accesses
cuda_program barrier_exact
timeout 60 "$gpu/barrier_exact" native.json >native.out 2>native.err
is "native: status" $? 0

# run NAME OPTIONS... - checks that the program's output is the same, and that each row matches it.
run() {
	local name=$1
	shift
	timeout 120 "$ACCELPROF" run -q --all "$@" -o "$name" -- "$gpu/barrier_exact" "$name.json" \
		>"$name.out" 2>"$name.err"
	is "$name: status" $? 0
	is "$name: stdout" "$(cat "$name.out")" "$(cat native.out)"
	is "$name: stderr" "$(cat "$name.err")" "$(cat native.err)"
	export_ "$name"
	python3 "$SRC/tests/gpu/sanitizer.py" barriers "$name.db" "$name.json" || failed "$name: not exact"
}

run alone -t block_divergence
is "alone: accesses are not counted" \
	"$(ask alone "SELECT count(*) FROM access_sum WHERE reducer NOT IN (7, 10)")" "(0,)"
# 7 warps, 10 rounds.
is "alone: a block" "$(json alone/results/report.json \
	'[(r[0], r[12]) for o in d["tools"] for t in o["tables"] if t["name"] == "blocks" for r in sorted(t["rows"])]')" \
	"[('k_gone', 6), ('k_none', 0), ('k_rounds', 70), ('k_some', 27)]"
# Beside accesses, and where the host counts those.
run beside -t block_divergence,hotness,access_pattern
run host --processor cpu -t block_divergence,hotness
done_
