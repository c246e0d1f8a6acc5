#!/usr/bin/env bash
# sanitizer_torch.sh - PyTorch computes the same when its memory accesses are counted, and a product
# of matrices shows its operands.
# timeout: 1800
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
# PASTA_TORCH_DEVICE=cpu tries the test itself, where nothing can be counted.
[ "${PASTA_TORCH_DEVICE:-cuda}" = cpu ] || need_accesses
# cuBLAS is deterministic only so; nothing is fetched.
export CUBLAS_WORKSPACE_CONFIG=:4096:8 HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
export PYTHONDONTWRITEBYTECODE=1
model_py=$SRC/tests/gpu/sanitizer_torch.py
usable='import torch; raise SystemExit(not torch.cuda.is_available())'
[ "${PASTA_TORCH_DEVICE:-cuda}" = cuda ] || usable='import torch'

python=
for candidate in "${PASTA_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" python3; do
	[ -n "$candidate" ] && "$candidate" -c "$usable" 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || skip "no Python that has PyTorch with CUDA: set PASTA_PYTHON to one"

# compute MODEL OUT [COMMAND...] - in a process of its own, below that command.
compute() {
	local model=$1 out=$2
	shift 2
	timeout 200 "$@" "$python" "$model_py" compute "$model" "$out" >"$out.log" 2>&1 || {
		failed "$model, $out: status $?"
		tail -n 20 "$out.log"
		return 1
	}
	echo "$out: $SECONDS s"
}

# counted MODEL NAME OPTIONS... - the model's output, and NAME.run.db.
counted() {
	local model=$1 name=$2
	shift 2
	compute "$model" "$name" "$ACCELPROF" run -q "$@" -o "$name.run" -- || return
	export_ "$name.run"
}

# same MODEL OPTIONS -- TOOL... - natively twice, and then under each tool.
same() {
	local model=$1 tool options=() outs=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	compute "$model" "$model.1" || return
	compute "$model" "$model.2" || return
	for tool; do
		counted "$model" "$model.$tool" "${options[@]}" -t "$tool" &&
			outs+=("$model.$tool" "$model.$tool.run.db" "$tool")
	done
	"$python" "$model_py" compare "$model.1" "$model.2" "${outs[@]}" ||
		failed "$model: not the same"
}

for model in ${PASTA_MODELS:-gpt2 resnet18}; do
	same "$model" --all -- hotness access_pattern working_set object_traffic block_divergence
	# All accesses of a whole pass would be hundreds of gigabytes.
	same "$model-small" --sample launches=1 -- mem_trace
	rm -rf "$model-small.mem_trace.run"
done

# both MODEL TOOLS - both halves of the reducers are fed with the same launches: cuBLAS has kernels
# that wait for each other, and how often they look differs from run to run.
both() {
	local model=$1 name=$1.both
	compute "$model" "$name.1" && compute "$model" "$name.2" &&
		counted "$model" "$name" --all -t "$2" --processor both || return
	[ "${PASTA_TORCH_DEVICE:-cuda}" = cpu ] || has "$model: the device and the host" "$name.log" \
		'^accelprof: accesses: device and host counted the same accesses \(launches: [1-9][0-9]*, rows: [1-9][0-9]*\)$'
	grep -h 'device and host counted' "$name.log"
	"$python" "$model_py" compare "$name.1" "$name.2" "$name" "$name.run.db" hotness ||
		failed "$model, counted twice: not the same"
}
for model in ${PASTA_MODELS:-gpt2 resnet18}; do
	both "$model" hotness
	both "$model-small" hotness,access_pattern
done

counted matmul matmul --all -t object_traffic &&
	{ "$python" "$model_py" operands matmul matmul.run.db || failed "matmul: operands"; }
done_
