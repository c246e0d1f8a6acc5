#!/usr/bin/env bash
# regions.sh - a recorded run through the tool regions: every format, to the byte.
# labels: asan, tsan
#
# `UPDATE=1 tests/golden/regions.sh` records anew and writes what is expected; look at the change.
set -u
: "${ACCELPROF:?}" "${BUILD:?}" "${SRC:?}"
export LC_ALL=C.UTF-8 # charts are drawn as the terminal can
cd "$SRC/tests/golden/regions" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if [ -n "${UPDATE:-}" ]; then
	"$ACCELPROF" run -q -o "$dir/run" -- "$BUILD/tests/programs/regions_demo" || exit 1
	cp "$dir"/run/shards/*.pst demo.pst
fi

status=0
for format in text csv json; do
	"$ACCELPROF" report demo.pst -t regions --rows 0 --format $format >"$dir/$format" || status=1
	[ -z "${UPDATE:-}" ] || cp "$dir/$format" demo.$format
	diff -u demo.$format "$dir/$format" || status=1
done
exit $status
