#!/usr/bin/env bash
# cupti_modules.sh - CUDA on a GPU: the saved modules are the code that ran.
# timeout: 600
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_cuda
cuda_program cuda_exact
exact=$gpu/cuda_exact
modules_py=$SRC/tests/gpu/cupti_modules.py

python=
for candidate in "${PASTA_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" python3; do
	[ -n "$candidate" ] || continue
	"$candidate" -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null &&
		python=$candidate && break
done

# tool NAME - of NVIDIA's, where it is: the toolkit's, or the one that Triton brings.
tool() {
	local triton=
	[ -z "$python" ] ||
		triton=$("$python" -c 'import importlib.util as u; s = u.find_spec("triton")
print(s.submodule_search_locations[0] if s else "")' 2>/dev/null)
	command -v "$1" || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/$1" ||
		command -v "${triton:-/nonexistent}/backends/nvidia/bin/$1"
}
nvdisasm=$(tool nvdisasm) || echo "no nvdisasm: it reads nothing here"
cuobjdump=$(tool cuobjdump) || echo "no cuobjdump: it reads nothing here"

# readable RUN - NVIDIA's own programs read the smallest of the copies.
readable() {
	local file
	# shellcheck disable=SC2012 # names are hashes
	ls -Sr "$1"/modules/*.cubin | head -n 5 | while read -r file; do
		[ -z "$nvdisasm" ] || "$nvdisasm" -c "$file" >disasm 2>tool.err || cat tool.err
		# Some have data alone.
		[ -z "$nvdisasm" ] || ! grep -aq '[.]text[.]' "$file" || grep -q EXIT disasm || echo "$file: nvdisasm finds no code"
		[ -z "$cuobjdump" ] || "$cuobjdump" -elf "$file" >elf 2>tool.err || cat tool.err
	done >complaints 2>&1
	is "$1: errors of NVIDIA's programs" "$(cat complaints)" ""
}

# run NAME PROGRAM ARGS... - native and recorded: status, stdout and stderr are the same.
run() {
	local name=$1 status
	shift
	"$@" >"$name.native" 2>"$name.native.err"
	status=$?
	"$ACCELPROF" run -q --keep-modules -t kernel_freq -o "$name" -- "$@" >"$name.out" 2>"$name.err"
	is "$name: status" $? $status
	is "$name: stdout" "$(cat "$name.out")" "$(cat "$name.native")"
	is "$name: stderr" "$(cat "$name.err")" "$(cat "$name.native.err")"
	export_ "$name"
	python3 "$modules_py" "$name" "$name.db" || failed "$name: not what ran"
	readable "$name"
	"$ACCELPROF" report "$name" -t modules --rows 5 || failed "$name: report"
}

run work "$exact" work details.json
run again "$exact" work details.json
is "copies of two runs" "$(ls again/modules)" "$(ls work/modules)"
run children "$exact" children 10
is "copies of several processes" "$(ls children/modules)" "$(ls work/modules)"
"$ACCELPROF" run -q -t kernel_freq -o plain -- "$exact" tick 10 >plain.out || failed "plain"
[ ! -e plain/modules ] || failed "plain: copies that were not requested"

if [ -n "$python" ]; then
	cat >small.py <<'P'
import torch
torch.manual_seed(0)
x = torch.randn(256, 256, device="cuda")
w = torch.randn(256, 256, device="cuda", requires_grad=True)
image = torch.randn(2, 3, 64, 64, device="cuda")
kernel = torch.randn(8, 3, 3, 3, device="cuda", requires_grad=True)
loss = (x @ w).softmax(1).sort(1)[0].sum() + torch.nn.functional.conv2d(image, kernel).relu().sum()
loss.backward()
torch.cuda.synchronize()
print(w.grad.shape, kernel.grad.shape)
P
	run torch "$python" small.py
else
	echo "no Python that has PyTorch with CUDA (PASTA_PYTHON): it is not tried"
fi
done_
