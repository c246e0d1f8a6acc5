#!/usr/bin/env bash
# agent.sh - the agent brings nothing into a program but itself and libc.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

command -v readelf >/dev/null || {
	echo "no readelf here"
	exit 77
}
agent=$BUILD/lib/libpasta-agent.so
is "what it needs" "$(readelf -dW "$agent" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')" libc.so.6
is "what it shows" "$(readelf -W --dyn-syms "$agent" |
	awk '$7 != "UND" && $8 ~ /./ && NR > 3 && $8 !~ /^(pasta_((agent|annotate|python|pystack|torch)_|cupti_path$|.*_attach)|clGetLayerInfo$|clInitLayer$|InitializeInjection(Nvtx2)?$)/ {print $8}')" ""

# Call paths on, where no handler asks for any: nothing changes.
"$ACCELPROF" run -q -o without -- "$behave" || failed "without --stacks"
"$ACCELPROF" run -q -o with --stacks native -- "$behave" env PASTA_STACKS >out || failed "--stacks"
is "the agent's variable" "$(cat out)" native
is "as many events" "$(json with/results/report.json 'd["loss"]["captured"]')" \
	"$(json without/results/report.json 'd["loss"]["captured"]')"
done_
