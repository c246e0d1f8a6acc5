/*
 * tensormap.h - finds and decodes tensor descriptors in a kernel's arguments.
 *
 * Tensor copies (TMA) cannot be counted one by one, but a kernel's arguments contain a descriptor
 * of each tensor. A descriptor has 64 bytes, or 128 bytes with an unused second half. NVIDIA does
 * not document the format. The format was derived from descriptors that the driver of CUDA 13.0
 * created on sm_90. pasta_tensormap_read checks every field, to avoid false positives.
 */
#ifndef PASTA_HANDLERS_SANITIZER_TENSORMAP_H
#define PASTA_HANDLERS_SANITIZER_TENSORMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PASTA_TENSORMAP_BYTES = 64, PASTA_TENSORMAP_RANK = 5, PASTA_TENSORMAPS = 32 };

struct pasta_tensormap {
	uint64_t addr, last; /* addresses of the first and the last byte */
	uint64_t bytes;	     /* size of all elements; less than the range if there are gaps */
	uint32_t rank, element;
	uint64_t dims[PASTA_TENSORMAP_RANK];
	/* strides in bytes; the first stride is the element's size */
	uint64_t strides[PASTA_TENSORMAP_RANK];
};

/* Decodes a tensor descriptor of 64 bytes. Returns false if the bytes are not a tensor
 * descriptor. */
bool pasta_tensormap_read(const void *bytes, struct pasta_tensormap *map);
/* Searches the bytes at multiples of 16 for descriptors and appends them, without duplicates, to
 * `maps`, which has `count` entries. Returns the new count, at most PASTA_TENSORMAPS. */
size_t pasta_tensormap_find(const void *bytes, size_t size, struct pasta_tensormap *maps,
			    size_t count);

#endif
