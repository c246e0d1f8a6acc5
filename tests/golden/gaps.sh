#!/usr/bin/env bash
# gaps.sh - the tool gaps on two runs, as CSV and JSON, to the byte: a generated run, whose steps
# are iterations, and a recorded run, whose steps end with calls of an optimizer.
# labels: asan, tsan
#
# `UPDATE=1 tests/golden/gaps.sh` writes the expected files again. Check the change.
set -u
: "${ACCELPROF:?}" "${BUILD:?}" "${SRC:?}"
cd "$SRC/tests/golden/gaps" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

status=0
# same NAME FORMAT RUN - compares a report with the expected file.
same() {
	"$ACCELPROF" report "$3" -t gaps --rows 12 --format "$2" >"$dir/$1.$2" || status=1
	[ -z "${UPDATE:-}" ] || cp "$dir/$1.$2" .
	diff -u "$1.$2" "$dir/$1.$2" || status=1
}

same steps csv ../torch/steps.pst
for format in csv json; do
	same gpt2 $format ../../data/runs/gpt2-train/shards/vm-609.pst
done
for threads in 1 3; do
	"$ACCELPROF" report ../../data/runs/two-ranks -t gaps --threads $threads --format json |
		python3 -S -c 'import json, sys; print(json.load(sys.stdin)["tools"])' \
			>"$dir/threads$threads" || status=1
done
cmp "$dir/threads1" "$dir/threads3" || status=1
exit $status
