#!/usr/bin/env bash
# torch.sh - PyTorch on a GPU: kernels have operators and lines, and times and peaks are PyTorch's.
# timeout: 600
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
# PASTA_TORCH_DEVICE=cpu tries all but what needs a GPU, as tests/e2e/gpu_torch.sh does.
[ "${PASTA_TORCH_DEVICE:-cuda}" = cpu ] || need_cuda
# cuBLAS is deterministic only so; nothing is fetched. One shim is compiled for all models.
export CUBLAS_WORKSPACE_CONFIG=:4096:8 HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
export XDG_CACHE_HOME=$dir/cache PYTHONDONTWRITEBYTECODE=1
steps=$SRC/tests/gpu/torch_steps.py
usable='import torch; raise SystemExit(not torch.cuda.is_available())'
[ "${PASTA_TORCH_DEVICE:-cuda}" = cuda ] || usable='import torch'

python=
for candidate in "${PASTA_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" python3; do
	[ -n "$candidate" ] && "$candidate" -c "$usable" 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || skip "no Python that has PyTorch with CUDA: set PASTA_PYTHON to one"

# train HOW MODEL OUT [COMMAND...] - in a process of its own, below that command.
train() {
	local how=$1 model=$2 out=$3
	shift 3
	"$@" "$python" "$steps" "$how" "$model" "$out" >"$out.log" 2>&1 || {
		failed "$model, $how: status $?"
		tail -n 20 "$out.log"
		return 1
	}
}

# judged MODEL - times are compared again, twice at most: the GPU's clock is not still.
judged() {
	local model=$1 rounds=() status=1 run
	for i in 1 2 3; do
		run=$model.run$i
		train native "$model" "$model.n$i" && train record "$model" "$model.r$i" "$ACCELPROF" run -q \
			-t ops,python_flame,tensors --stacks python,modules -o "$run" -- || return
		export_ "$run"
		rounds+=("$model.n$i" "$model.r$i" "$run/results/report.json" "$run.db")
		python3 "$steps" judge "${rounds[@]}"
		status=$?
		[ $status = 2 ] || break
	done
	is "$model" $status 0
}

tried=0
for model in ${PASTA_MODELS:-gpt2 bert resnet50}; do
	"$python" "$SRC/tests/gpu/cupti_torch.py" has "$model" || continue
	tried=$((tried + 1))
	judged "$model"
	echo "$model: $SECONDS s"
done
[ $tried -gt 0 ] || skip "neither torchvision nor transformers is here"
done_
