/*
 * tensormap.h - descriptors of tensors among a kernel's arguments.
 *
 * Copies of tensors (TMA) cannot be seen one by one; but what they copy is described by 64 bytes,
 * or 128 of which the rest is nothing, that the kernel is given. NVIDIA does not say how; the form
 * was found by having the driver make some (of CUDA 13.0, on sm_90), and is checked in each field,
 * so that what is none is not taken for one.
 */
#ifndef PASTA_HANDLERS_SANITIZER_TENSORMAP_H
#define PASTA_HANDLERS_SANITIZER_TENSORMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PASTA_TENSORMAP_BYTES = 64, PASTA_TENSORMAP_RANK = 5, PASTA_TENSORMAPS = 32 };

struct pasta_tensormap {
	uint64_t addr, last; /* from its first byte to its last */
	uint64_t bytes;	     /* of its elements: with gaps, fewer than that */
	uint32_t rank, element;
	uint64_t dims[PASTA_TENSORMAP_RANK];
	uint64_t strides[PASTA_TENSORMAP_RANK]; /* bytes; the first is the element's */
};

/* Whether these are one. */
bool pasta_tensormap_read(const void *bytes, struct pasta_tensormap *map);
/* Add those in the arguments, at multiples of 16 bytes, to count others; one that is there is not
 * added again. Returns how many there are, PASTA_TENSORMAPS at most. */
size_t pasta_tensormap_find(const void *bytes, size_t size, struct pasta_tensormap *maps,
			    size_t count);

#endif
