#!/usr/bin/env bash
# workload.sh - the FLOPs of tool workload are those that PyTorch counts for ResNet-50, BERT and
# GPT-2.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1

export XDG_CONFIG_HOME=$PWD/config # no measured peaks
python3 -S "$SRC/tests/e2e/workload.py" "$ACCELPROF" "$SRC/tests/data/flops" >out 2>&1 || {
	failed "FLOPs differ"
	cat out
}
done_
