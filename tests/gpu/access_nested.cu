/*
 * access_nested - kernels that launch kernels.
 *
 *	access_nested FILE
 *
 * As access_ways. Nothing of it can be counted, and it goes on as ever. Built with -rdc=true, and
 * -lcudadevrt.
 */
#include "access_forms.cuh"

enum { ELEMENTS = 16 * BLOCK, LAUNCHES = 5 };

COPY(k_child, 4)
COPY(k_plain, 4)

KERNEL k_parent(char *dst, const char *src)
{
	if (!INDEX)
		k_child<<<ELEMENTS / BLOCK, BLOCK>>>(dst, src);
}

int main(int argc, char **argv)
{
	struct memory dst, other, src;

	if (argc != 2) {
		fputs("usage: access_nested FILE\n", stderr);
		return 2;
	}
	watch_for_hangs();
	dst = on_device((size_t)ELEMENTS * 4);
	other = on_device((size_t)ELEMENTS * 4);
	src = filled((size_t)ELEMENTS * 4);
	step = "kernels that launch kernels";
	for (int i = 0; i < LAUNCHES; i++)
		RUN(k_parent, 1, 1, 0, dst.p, src.p);
	RUN(k_plain, ELEMENTS / BLOCK, BLOCK, 0, other.p, src.p);
	show("k_child", dst);
	show("k_plain", other);
	write_file(argv[1]);
	return 0;
}
