#!/usr/bin/env bash
# device_header.sh - device.h and the accumulate functions compile as C, C++ and, with nvcc, as CUDA.
. "$SRC/tests/e2e/lib.sh" || exit 1

# All of the functions, so that none is left unread.
cat >use.h <<'CODE'
#include <pasta/device.h>
#include "reduce/accumulate.h"
PASTA_DEV void use(struct pasta_rows *t, struct pasta_request *r, const struct pasta_access *a)
{
	uint64_t site = PASTA_SITE_KEY(1, a->site);

	pasta_count_object(t, PASTA_OBJECT_NONE, a->kind, a->size, 0);
	pasta_count_page(t, 12, a->addr, a->kind, a->size);
	pasta_count_site(t, site, a->kind, a->size, 0);
	pasta_count_site_object(t, site, PASTA_OBJECT_FIRST, a->kind, a->size, 0);
	pasta_count_coalesce(t, r);
	pasta_count_diverge(t, r);
}
CODE
cat >host.c <<'CODE'
#include "use.h"
int main(void)
{
	static struct pasta_row rows[17];
	static uint32_t used[16];
	struct pasta_rows t = {rows, used, 15, 12, 0, 0};
	struct pasta_request r = {1, 1, 32, PASTA_ACCESS_LOAD, {4}, {0}};
	struct pasta_access a = {4096, 4, 7, 1, 0, 0, 0, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL};

	use(&t, &r, &a);
	return t.count == 6 && rows[16].loads == 0 ? 0 : 1;
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
__global__ void kernel(struct pasta_rows *t, struct pasta_request *r, const struct pasta_access *a)
{
	use(t, &r[threadIdx.x], &a[threadIdx.x]);
}
CODE
"$nvcc" -std=c++17 --compile -Werror all-warnings -I. -I"$SRC/include" -I"$SRC/src" device.cu \
	-o device.o || failed "as CUDA"
[ -s device.o ] || failed "an object of CUDA"
# Counting is by atomics there.
"$nvcc" -std=c++17 --ptx -I. -I"$SRC/include" -I"$SRC/src" device.cu -o device.ptx ||
	failed "as PTX"
has "atomic additions" device.ptx '(atom|red)[.a-z]*[.]add[.]u64'
has "claims of rows" device.ptx 'atom[.a-z]*[.]cas[.]b32'
done_
