#!/usr/bin/env bash
# opencl_preload.sh - where the loader knows no layers, a preloaded library does what a layer does.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need
preload=$BUILD/lib/libpasta-opencl.so
[ -e "$preload" ] || skip "no preloaded way in for this processor"

"$ACCELPROF" run -q --record all -o run -- env -u OPENCL_LAYERS LD_PRELOAD="$preload" \
	"$programs/cl_exact" >out 2>err
is "status" $? 0
is "stderr" "$(cat err)" ""
"$dump" run >run.dump || failed "dump"
"${events[@]}" exact run.dump out 0 || failed "not exact"

# Without an agent it is only in the way of nothing.
env -u PASTA_AGENT LD_PRELOAD="$preload" "$programs/cl_exact" >alone || failed "without an agent"
is "without an agent" "$(json alone 'd["seen"]')" "$("$programs/cl_exact" | python3 -c \
	'import json, sys; print(json.load(sys.stdin)["seen"])')"

# A loader without layers, detected from its file: accelprof run preloads, before existing entries.
mkdir old
sed 's/OPENCL_LAYERS/OPENCL_LAYERZ/g' "$(ldconfig -p | sed -n 's/.*libOpenCL\.so\.1 .*=> //p' | head -n 1)" \
	>old/libOpenCL.so.1
LD_LIBRARY_PATH=$PWD/old "$ACCELPROF" run -q --record all -o old-run -- "$programs/cl_exact" >out 2>err
is "old loader: status" $? 0
is "old loader: stderr" "$(cat err)" ""
"$dump" old-run >old.dump || failed "old loader: dump"
"${events[@]}" exact old.dump out 0 || failed "old loader: not exact"
LD_LIBRARY_PATH=$PWD/old "$ACCELPROF" doctor >doctor
has "old loader: doctor" doctor '^ok  opencl .*; the OpenCL loader does not support layers, so accelprof preloads a library'
LD_LIBRARY_PATH=$PWD/old LD_PRELOAD=libc.so.6 "$ACCELPROF" run -q -o list -- sh -c 'echo "$LD_PRELOAD"' >out
is "a user's own library stays" "$(cat out)" "$preload:libc.so.6"
done_
