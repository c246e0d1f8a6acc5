/* occupancy.c - computes how many blocks of a kernel run on a device at once. */
#include "process/diagnosis/occupancy.h"

#include <stdlib.h>
#include <string.h>

#include <pasta/directory.h>

enum { WARP = 32, REGISTER_UNIT = 256, WAVES = 5 };

/* "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide. */
static const struct pasta_occupancy_limits occupancy_table[] = {
	{70, 2048, 32, 65536, 98304, 0},      {72, 2048, 32, 65536, 98304, 0},
	{75, 1024, 16, 65536, 65536, 0},      {80, 2048, 32, 65536, 167936, 1024},
	{86, 1536, 16, 65536, 102400, 1024},  {87, 1536, 16, 65536, 167936, 1024},
	{89, 1536, 24, 65536, 102400, 1024},  {90, 2048, 32, 65536, 233472, 1024},
	{100, 2048, 32, 65536, 233472, 1024}, {103, 2048, 32, 65536, 233472, 1024},
	{120, 1536, 24, 65536, 102400, 1024},
};

const struct pasta_occupancy_limits *pasta_occupancy_limits(const char *arch)
{
	unsigned long number;
	char *end;

	/* "sm_90", or "9.0" as CUDA reports the compute capability */
	number = strtoul(strncmp(arch, "sm_", 3) ? arch : arch + 3, &end, 10);
	if (*end == '.')
		number = 10 * number + strtoul(end + 1, NULL, 10);
	for (size_t i = 0; i < sizeof(occupancy_table) / sizeof(*occupancy_table); i++)
		if (occupancy_table[i].arch == number)
			return &occupancy_table[i];
	return NULL;
}

static uint64_t occupancy_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint32_t pasta_occupancy_blocks(const struct pasta_occupancy_limits *limits,
				const struct pasta_kernel_record *k)
{
	unsigned __int128 size = (unsigned __int128)k->block_x * k->block_y * k->block_z;
	uint64_t threads, blocks, registers, shared;

	if (!size || size > limits->threads)
		return 0;
	threads = ((uint64_t)size + WARP - 1) / WARP * WARP;
	blocks = occupancy_min(limits->blocks, limits->threads / threads);
	/* Each warp receives a multiple of REGISTER_UNIT registers. */
	registers = ((uint64_t)k->registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT *
		    REGISTER_UNIT * (threads / WARP);
	if (registers)
		blocks = occupancy_min(blocks, limits->registers / registers);
	shared = (uint64_t)k->shared_static + k->shared_dynamic + limits->reserved;
	if (shared)
		blocks = occupancy_min(blocks, limits->shared / shared);
	return (uint32_t)blocks;
}

double pasta_occupancy_tail_of(const struct pasta_occupancy_limits *limits, uint32_t units,
			       const struct pasta_kernel_record *k)
{
	double blocks = (double)k->grid_x * k->grid_y * k->grid_z, slots, full, last;

	slots = (double)pasta_occupancy_blocks(limits, k) * units;
	if (!(blocks >= 1) || slots < 1 || blocks > WAVES * slots)
		return 0;
	full = (double)(uint64_t)(blocks / slots);
	last = blocks - full * slots;
	if (last == 0 || last >= units)
		return 0;
	return (double)k->dur / (full + 1) * (1 - last / units);
}

double pasta_occupancy_tail(uint32_t proc, const struct pasta_kernel_record *k)
{
	const struct pasta_device_info *device = pasta_device(proc, k->device);
	const struct pasta_occupancy_limits *limits =
		device->units ? pasta_occupancy_limits(device->arch) : NULL;

	return limits ? pasta_occupancy_tail_of(limits, device->units, k) : 0;
}
