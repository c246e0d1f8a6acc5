#!/usr/bin/env bash
# device_header.sh - device.h and the accumulate functions compile as C, C++ and, with nvcc, as CUDA.
. "$SRC/tests/e2e/lib.sh" || exit 1

# All of the functions, so that none is left unread.
cat >use.h <<'CODE'
#include <pasta/device.h>
#include "reduce/accumulate.h"
PASTA_DEV uint64_t use(const struct pasta_access *a, const uint32_t *n, const uint64_t *last)
{
	return pasta_access_bytes(a->kind, a->size) +
	       pasta_access_crosses(a->addr, PASTA_READ32(n), PASTA_READ64(last));
}
CODE
cat >host.c <<'CODE'
#include "use.h"
int main(void)
{
	struct pasta_access a = {4096, 4, 7, 1, 0, 0, 0, PASTA_ACCESS_ATOMIC, PASTA_SPACE_GLOBAL};
	uint32_t n = 4;
	uint64_t inside = 4099, across = 4098;

	return use(&a, &n, &inside) == 8 && use(&a, &n, &across) == 9 ? 0 : 1;
}
CODE
sed 's/int main(void)/int main()/' host.c >host.cpp
flags="-Wall -Wextra -Werror -I. -I$SRC/include -I$SRC/src"

# shellcheck disable=SC2086
cc -std=c17 -pedantic $flags host.c -o host_c || failed "as C"
./host_c || failed "what it counts as C"
# shellcheck disable=SC2086
c++ -std=c++17 -pedantic $flags host.cpp -o host_cpp || failed "as C++"
./host_cpp || failed "what it counts as C++"

nvcc=$(command -v nvcc || true)
if [ -z "$nvcc" ]; then
	echo "no nvcc: not compiled as CUDA"
	done_
fi
cat >device.cu <<'CODE'
#include "use.h"
__global__ void kernel(const struct pasta_access *a, const uint32_t *n, uint64_t *last)
{
	*last = use(&a[threadIdx.x], n, last);
}
CODE
"$nvcc" -std=c++17 --compile -Werror all-warnings -I. -I"$SRC/include" -I"$SRC/src" device.cu \
	-o device.o || failed "as CUDA"
[ -s device.o ] || failed "an object of CUDA"
# What other threads may write is read each time.
"$nvcc" -std=c++17 --ptx -I. -I"$SRC/include" -I"$SRC/src" device.cu -o device.ptx ||
	failed "as PTX"
has "reads of what may change" device.ptx 'ld[.]volatile[.a-z]*[.][ub]64'
done_
