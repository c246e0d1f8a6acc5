/* varint.h - encodes integers as LEB128 and zigzag numbers, and decodes such numbers with bounds
 * checks. */
#ifndef PASTA_CORE_VARINT_H
#define PASTA_CORE_VARINT_H

#include <stdint.h>

#define PASTA_VARINT_MAX 10

static inline uint8_t *pasta_varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Reads a number, and returns the position after it. If the number is too long, or extends past
 * `end`, returns NULL. */
static inline const uint8_t *pasta_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t r = 0;

	for (unsigned int shift = 0; shift < 64 && p < end; shift += 7) {
		uint8_t b = *p++;

		r |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*v = r;
			return p;
		}
	}
	return 0;
}

static inline uint64_t pasta_zigzag(uint64_t v)
{
	return v << 1 ^ (0 - (v >> 63));
}

static inline uint64_t pasta_unzigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

#endif
