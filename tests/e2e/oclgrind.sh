# oclgrind.sh - the formulas of cl_kernels are what Oclgrind counts, where it counts as we do.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need oclgrind python3

oclgrind --inst-counts --build-options -cl-opt-disable "$programs/cl_kernels" >counts 2>err ||
	failed "status $?: $(cat err)"
python3 "$SRC/tests/e2e/_oclgrind.py" counts || failed "Oclgrind counts otherwise"

# The program's output and results are the same on another implementation.
"$programs/cl_kernels" >native 2>err || failed "native: status $?: $(cat err)"
grep '^{' counts | cmp - native || failed "results differ"
done_
