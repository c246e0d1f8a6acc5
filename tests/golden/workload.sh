#!/usr/bin/env bash
# workload.sh - a trace of GPT-2 through the tool workload, to the byte.
# labels: asan
#
# `UPDATE=1 tests/golden/workload.sh` writes what is expected; look at the change.
set -u
: "${ACCELPROF:?}" "${BUILD:?}" "${SRC:?}"
export LC_ALL=C.UTF-8
cd "$SRC/tests/golden/workload" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CONFIG_HOME=$dir # no measured peaks

status=0
for format in text csv; do
	"$ACCELPROF" report "$SRC/tests/data/flops/gpt2.json.gz" -t workload --width 160 \
		--opt workload.layers=12 --opt workload.operators=12 --opt workload.kernels=8 \
		--format $format >"$dir/$format" 2>"$dir/err" || status=1
	[ -z "${UPDATE:-}" ] || cp "$dir/$format" gpt2.$format
	diff -u gpt2.$format "$dir/$format" || status=1
done
exit $status
