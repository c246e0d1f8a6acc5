#!/usr/bin/env bash
# measure.sh - doctor --measure measures OpenCL devices and stores their peaks, and reports use the
# stored peaks.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1

export XDG_CONFIG_HOME=$PWD/config
conf=$XDG_CONFIG_HOME/accelprof/peaks.conf

# Reports do not need a device: they find the product's name in the file.
mkdir -p "${conf%/*}"
printf '# by hand\n[NVIDIA H100 80GB HBM3]\nmemory = 1e12\nfp32 = 5e13\n[other]\nmemory = 7e11\n' >"$conf"
trace=$SRC/tests/data/flops/resnet50.json.gz
"$ACCELPROF" report "$trace" -t workload --width 400 >out 2>err || failed "report: $(cat err)"
has "measured peaks" out "note: the peaks of the devices were measured by 'accelprof doctor --measure': NVIDIA H100 80GB HBM3"
has "the stored bandwidth" out 'limit memory: slope 1e\+12'
has "the stored peak" out 'limit float32: 50.000 TFLOP/s'
rm "$conf"
"$ACCELPROF" report "$trace" -t workload --width 400 >out 2>err || failed "report: $(cat err)"
has "peaks of a datasheet" out 'note: the peaks of the devices come from datasheets'
has "the datasheet's bandwidth" out 'limit memory: slope 3.35e\+12'

printf '[other]\nmemory = 7e11\n' >"$conf"
"$ACCELPROF" doctor --measure >out 2>err
status=$?
has "cuda" out '^(ok|no ) '
if ! grep -q '^ok  ' out; then
	is "no device: status" $status 1
	grep '^no' out
	echo "skipped: there is no device to measure"
	[ $failures = 0 ] || exit 1
	exit 77
fi
is "status" $status 0
has "rates" out '^ok  .*: memory [0-9.]+ GB/s, float32 [0-9.e-]+ TFLOP/s'
has "where" out "^stored in $conf\$"
has "other products remain" "$conf" '^memory = 7e11$'
has "own section" "$conf" '^\[.+\]$'
has "own numbers" "$conf" '^fp32 = [0-9.]+e\+[0-9]+$'
sections=$(grep -c '^\[' "$conf")
"$ACCELPROF" doctor --measure >out 2>err || failed "again"
is "sections after the second time" "$(grep -c '^\[' "$conf")" "$sections"
is "files" "$(ls "${conf%/*}")" peaks.conf

"$ACCELPROF" doctor --measure --format json >out 2>err
is "json: status" $? 2
has "json" err 'omit --format json'
XDG_CONFIG_HOME=/dev/null "$ACCELPROF" doctor --measure >out 2>err
is "no folder: status" $? 1
has "no folder" err '^accelprof: cannot store the peaks: Not a directory; set HOME'
done_
