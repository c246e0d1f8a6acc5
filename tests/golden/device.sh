#!/usr/bin/env bash
# device.sh - the device tools over generated runs: what was made is what they find.
# labels: asan, tsan
#
# A small run is kept, with all that is expected of it, to the byte; others are made where the
# generator is. `UPDATE=1 tests/golden/device.sh` makes it anew; look at the change.
set -u
: "${ACCELPROF:?}" "${BUILD:?}" "${SRC:?}"
export LC_ALL=C.UTF-8 # charts are drawn as the terminal can
cd "$SRC/tests/golden/device" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
gen=$BUILD/bench/accelprof-gen
tools=kernel_freq,copies,memory,regions

if [ -n "${UPDATE:-}" ]; then
	"$gen" -n 1 -o "$dir/step" | sed "s|$dir/||" >oracle.json || exit 1
	cp "$dir"/step/shards/*.pst step.pst
fi

# check WHAT ORACLE RUN...
check() {
	local what=$1 oracle=$2
	shift 2
	if "$ACCELPROF" report "$@" -t $tools --format json >"$dir/report.json" &&
		python3 ../_oracle.py "$oracle" "$dir/report.json"; then return; fi
	echo "FAILED: $what"
	status=1
}

status=0
check "the kept run" oracle.json step.pst
for tool in ${tools//,/ }; do
	"$ACCELPROF" report step.pst -t "$tool" --rows 12 >"$dir/$tool" || status=1
	[ -z "${UPDATE:-}" ] || cp "$dir/$tool" "$tool.text"
	diff -u "$tool.text" "$dir/$tool" || status=1
done

if [ -x "$gen" ]; then
	n=0
	for options in '--seed 2' '--ranks 3 --seed 3' '--profile all --ranks 2 --threads 3' \
		'--ranks 9 --seed 4 -n 60000' '--kinds kernel,copy,set,alloc,free,region'; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		"$gen" -n 20000 $options -o "$dir/run$n" >"$dir/oracle.json" || status=1
		check "$options" "$dir/oracle.json" "$dir/run$n"
	done
fi
exit $status
