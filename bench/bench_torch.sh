#!/usr/bin/env bash
# bench_torch.sh - the cost of recording PyTorch. BENCH_TORCH has options of bench_torch.py.
set -u
python=
for each in "${PASTA_PYTHON:-}" ${VIRTUAL_ENV:+"$VIRTUAL_ENV/bin/python"} python3 /usr/bin/python3; do
	if [ -n "$each" ] && "$each" -c 'import torch' 2>/dev/null; then
		python=$each
		break
	fi
done
[ -n "$python" ] || {
	echo "skipped: no Python with PyTorch (set PASTA_PYTHON)"
	exit 0
}
# shellcheck disable=SC2086 # words of it are options
exec python3 "$SRC/bench/bench_torch.py" --python "$python" ${BENCH_TORCH:-}
