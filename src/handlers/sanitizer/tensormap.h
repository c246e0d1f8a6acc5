/*
 * tensormap.h - descriptors of tensors in a kernel's arguments.
 *
 * Tensor copies (TMA) cannot be counted one by one. But a kernel's arguments contain a descriptor
 * of each tensor: 64 bytes, or 128 of which the second half is unused. NVIDIA does not document
 * the format. It was derived from descriptors that the driver of CUDA 13.0 created on sm_90.
 * pasta_tensormap_read checks every field, to avoid false positives.
 */
#ifndef PASTA_HANDLERS_SANITIZER_TENSORMAP_H
#define PASTA_HANDLERS_SANITIZER_TENSORMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PASTA_TENSORMAP_BYTES = 64, PASTA_TENSORMAP_RANK = 5, PASTA_TENSORMAPS = 32 };

struct pasta_tensormap {
	uint64_t addr, last; /* addresses of the first and the last byte */
	uint64_t bytes;	     /* of the elements; less than the range if there are gaps */
	uint32_t rank, element;
	uint64_t dims[PASTA_TENSORMAP_RANK];
	uint64_t strides[PASTA_TENSORMAP_RANK]; /* in bytes; the first is the element's size */
};

/* Returns whether the 64 bytes are a descriptor, and decodes it. */
bool pasta_tensormap_read(const void *bytes, struct pasta_tensormap *map);
/* Adds the descriptors at multiples of 16 bytes to the count maps in maps, without duplicates.
 * Returns the new count, at most PASTA_TENSORMAPS. */
size_t pasta_tensormap_find(const void *bytes, size_t size, struct pasta_tensormap *maps,
			    size_t count);

#endif
