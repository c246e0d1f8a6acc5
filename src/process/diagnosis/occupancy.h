/* occupancy.h - how many blocks of a kernel run on a device at once. */
#ifndef PASTA_PROCESS_DIAGNOSIS_OCCUPANCY_H
#define PASTA_PROCESS_DIAGNOSIS_OCCUPANCY_H

#include <pasta/event.h>

/* The limits of a multiprocessor, by compute capability. */
struct pasta_occupancy_limits {
	uint32_t arch; /* 90 for sm_90 */
	uint32_t threads, blocks, registers, shared;
	uint32_t reserved; /* shared memory that each block needs in addition */
};
/* Returns the limits of an architecture such as "sm_90" or "sm_90a"; NULL: not known. */
const struct pasta_occupancy_limits *pasta_occupancy_limits(const char *arch);
/* Returns the number of blocks of the kernel that fit on a multiprocessor, or 0 if the kernel does
 * not state its size. */
uint32_t pasta_occupancy_blocks(const struct pasta_occupancy_limits *limits,
				const struct pasta_kernel_record *kernel);
/* Returns the time in ns in which the last wave of a kernel's blocks leaves multiprocessors without
 * work. Returns 0 for kernels of more than five waves, and for unknown devices. */
double pasta_occupancy_tail(uint32_t proc, const struct pasta_kernel_record *kernel);
/* The same for a device with `units` multiprocessors. */
double pasta_occupancy_tail_of(const struct pasta_occupancy_limits *limits, uint32_t units,
			       const struct pasta_kernel_record *kernel);

#endif
