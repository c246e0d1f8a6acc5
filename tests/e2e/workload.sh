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

# A run without modules and inputs: the classes on the call paths are the layers.
cp -r "$SRC/tests/data/runs/gpt2-train" run
"$ACCELPROF" report run -t workload --width 250 >out 2>err || failed "report of a run: $(cat err)"
for phase in forward backward; do
	has "layers by class" out "^GPT2LMHeadModel.GPT2Model.GPT2Block.GPT2MLP.Conv1D +$phase "
done
has "optimizer" out '^train \(memory_steps.py:60\) +optimizer '
has "no inputs" out '^note: FLOPs and bytes are known for 0.0% of the time'
done_
