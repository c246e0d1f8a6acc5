#!/usr/bin/env bash
# torch.sh - the tools for PyTorch over generated runs: what was made is what they find.
# labels: asan, tsan
#
# A small run is kept, with all that is expected of it, to the byte; others are made where the
# generator is. `UPDATE=1 tests/golden/torch.sh` makes it anew; look at the change.
set -u
: "${ACCELPROF:?}" "${BUILD:?}" "${SRC:?}"
export LC_ALL=C.UTF-8 # charts are drawn as the terminal can
cd "$SRC/tests/golden/torch" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
gen=$BUILD/bench/accelprof-gen
tools=python_flame,tensors,ops

if [ -n "${UPDATE:-}" ]; then
	"$gen" --profile torch -n 13000 -o "$dir/steps" | sed "s|$dir/||" >oracle.json || exit 1
	cp "$dir"/steps/shards/*.pst steps.pst
fi

# check WHAT ORACLE RUN...
check() {
	local what=$1 oracle=$2
	shift 2
	if "$ACCELPROF" report "$@" -t $tools --format json >"$dir/report.json" &&
		python3 ../_torch_oracle.py "$oracle" "$dir/report.json"; then return; fi
	echo "FAILED: $what"
	status=1
}

status=0
check "the kept run" oracle.json steps.pst
for tool in ${tools//,/ }; do
	"$ACCELPROF" report steps.pst -t "$tool" --rows 12 >"$dir/$tool" || status=1
	[ -z "${UPDATE:-}" ] || cp "$dir/$tool" "$tool.text"
	diff -u "$tool.text" "$dir/$tool" || status=1
done
"$ACCELPROF" report steps.pst -t python_flame --format folded >"$dir/folded" || status=1
[ -z "${UPDATE:-}" ] || cp "$dir/folded" python_flame.folded
diff -u python_flame.folded "$dir/folded" || status=1

if [ -x "$gen" ]; then
	n=0
	for options in '--seed 2' '--ranks 3 --seed 3' '--ranks 2 --threads 3 --seed 4 -n 60000'; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		"$gen" --profile torch -n 30000 $options -o "$dir/run$n" >"$dir/oracle.json" || status=1
		check "$options" "$dir/oracle.json" "$dir/run$n"
		for threads in 1 3; do
			"$ACCELPROF" report "$dir/run$n" -t $tools --threads $threads --format json |
				python3 -c 'import json, sys; print(json.load(sys.stdin)["tools"])' \
					>"$dir/threads$threads" || status=1
		done
		cmp "$dir/threads1" "$dir/threads3" || status=1
	done
fi
exit $status
