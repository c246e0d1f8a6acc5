#!/usr/bin/env bash
# cupti_torch.sh - recorded training has the same results, and the kernels that PyTorch reports.
# timeout: 900
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_cuda
# cuBLAS is deterministic only so; nothing is fetched.
export CUBLAS_WORKSPACE_CONFIG=:4096:8 HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
model_py=$SRC/tests/gpu/cupti_torch.py

python=
for candidate in "${PASTA_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" python3; do
	[ -n "$candidate" ] || continue
	"$candidate" -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null &&
		python=$candidate && break
done
[ -n "$python" ] || skip "no Python that has PyTorch with CUDA: set PASTA_PYTHON to one"

# train MODEL OUT [COMMAND...] - the model, in a process of its own below that command.
train() {
	local model=$1 out=$2 profile=
	shift 2
	[ "${1:-}" != profile ] || {
		profile=profile
		shift
	}
	"$@" "$python" "$model_py" train "$model" "$out" $profile >"$out.log" 2>&1 || {
		failed "$model, $out: status $?"
		tail -n 20 "$out.log"
		return 1
	}
}

# judged MODEL - kernel times are compared again, twice at most: the GPU's clock is not still.
judged() {
	local model=$1 rounds=() status=1
	train "$model" "$model.1" && train "$model" "$model.2" || return
	for i in 1 2 3; do
		train "$model" "$model.r$i" "$ACCELPROF" run -q -t kernel_freq -o "$model.run$i" -- &&
			train "$model" "$model.p$i" profile || return
		export_ "$model.run$i"
		rounds+=("$model.r$i" "$model.run$i.db" "$model.p$i")
		python3 "$model_py" compare "$model.1" "$model.2" "${rounds[@]}"
		status=$?
		[ $status = 2 ] || break
	done
	is "$model" $status 0
}

tried=0
for model in ${PASTA_MODELS:-resnet50 bert gpt2}; do
	"$python" "$model_py" has "$model" || continue
	tried=$((tried + 1))
	judged "$model"
done
[ $tried -gt 0 ] || skip "neither torchvision nor transformers is here"
done_
