#!/usr/bin/env bash
# memory.sh - allocated and reserved peaks of training are PyTorch's own, to the byte, in every tool.
# timeout: 600
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_cuda
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 XDG_CACHE_HOME=$dir/cache PYTHONDONTWRITEBYTECODE=1
python=${PASTA_PYTHON:-python3}
"$python" -c 'import torch, torchvision, transformers; raise SystemExit(not torch.cuda.is_available())' \
	2>/dev/null || skip "no Python that has PyTorch with CUDA, torchvision and transformers"

# trained NAME MODEL - records a run, and compares each tool's peaks with PyTorch's.
trained() {
	local name=$1 model=$2
	"$ACCELPROF" run -q -t memory,tensors,summary -o "$name" -- \
		"$python" "$SRC/tests/gpu/memory_steps.py" "$model" "$name.peaks" >"$name.log" 2>&1 || {
		failed "$name: status $?"
		tail -n 20 "$name.log"
		return
	}
	"$ACCELPROF" report "$name" -t memory,tensors,summary --format json >"$name.json" || failed "$name: report"
	python3 -S "$SRC/tests/gpu/memory_judge.py" "$name.json" "$name.peaks" || failed "$name: peaks"
}

for model in whisper vit gpt2; do
	trained $model $model
done
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True trained gpt2-expandable gpt2
done_
