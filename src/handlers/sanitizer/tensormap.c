/* tensormap.c - finds and decodes tensor descriptors in a kernel's arguments. */
#include "handlers/sanitizer/tensormap.h"

#include <string.h>

/* Positions of 32-bit words in a descriptor: the address; the form; all strides except the
 * first, in units of 16 bytes; each dimension minus one; the box's first dimension minus one, in
 * the highest byte. */
enum { ADDR, FORM = 2, STRIDES = 3, DIMS = 8, BOX = 13, WORDS = PASTA_TENSORMAP_BYTES / 4 };
enum { ALIGN = 16 };

/* Bits 4 to 6 of the word FORM are the rank minus one, and bits 7 to 10 are the element type. */
static uint32_t tensormap_rank(uint32_t form)
{
	return (form >> 4 & 7) + 1;
}

/* Returns the element size of a CUtensorMapDataType; 0 if the type is invalid. */
static uint32_t tensormap_element(uint32_t form)
{
	static const uint8_t sizes[16] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2};

	return sizes[form >> 7 & 15];
}

/* Adds the product of `count` and `each` to *sum. Returns false if the result exceeds the address
 * space. */
static bool tensormap_extend(uint64_t *sum, uint64_t count, uint64_t each)
{
	uint64_t product;

	return !__builtin_mul_overflow(count, each, &product) &&
	       !__builtin_add_overflow(*sum, product, sum) && *sum < UINT64_C(1) << 56;
}

static bool tensormap_read_dims(const uint32_t *w, struct pasta_tensormap *m)
{
	uint64_t elements = 1;

	m->last = m->addr + m->element - 1;
	for (uint32_t i = 0; i < PASTA_TENSORMAP_RANK; i++) {
		m->dims[i] = (uint64_t)w[DIMS + i] + 1;
		m->strides[i] = i ? (uint64_t)w[STRIDES + i - 1] * ALIGN : m->element;
		if (i >= m->rank && m->dims[i] != 1)
			return false;
		/* The stride of a dimension of size 1 is ignored. */
		if (m->dims[i] > 1 &&
		    (!m->strides[i] || !tensormap_extend(&m->last, m->dims[i] - 1, m->strides[i])))
			return false;
		if (__builtin_mul_overflow(elements, m->dims[i], &elements))
			return false;
	}
	return !__builtin_mul_overflow(elements, m->element, &m->bytes);
}

/* The size of a row of a tensor map's box is a multiple of 16 bytes. This check rejects plain
 * pointers that are followed by zeros. */
static bool tensormap_is_box(uint32_t word, uint32_t element)
{
	return ((word >> 24) + 1) * element % ALIGN == 0;
}

bool pasta_tensormap_read(const void *bytes, struct pasta_tensormap *map)
{
	uint32_t w[WORDS];

	memcpy(w, bytes, sizeof(w));
	memset(map, 0, sizeof(*map));
	map->addr = (uint64_t)w[ADDR + 1] << 32 | w[ADDR];
	map->rank = tensormap_rank(w[FORM]);
	map->element = tensormap_element(w[FORM]);
	return map->addr && map->addr % ALIGN == 0 && map->addr < UINT64_C(1) << 56 &&
	       map->element && map->rank <= PASTA_TENSORMAP_RANK &&
	       tensormap_is_box(w[BOX], map->element) && tensormap_read_dims(w, map);
}

static bool tensormap_is_listed(const struct pasta_tensormap *maps, size_t count,
				const struct pasta_tensormap *map)
{
	for (size_t i = 0; i < count; i++)
		if (maps[i].addr == map->addr && maps[i].last == map->last &&
		    maps[i].bytes == map->bytes)
			return true;
	return false;
}

size_t pasta_tensormap_find(const void *bytes, size_t size, struct pasta_tensormap *maps,
			    size_t count)
{
	struct pasta_tensormap map;

	for (size_t at = 0; at + PASTA_TENSORMAP_BYTES <= size; at += ALIGN)
		if (count < PASTA_TENSORMAPS &&
		    pasta_tensormap_read((const char *)bytes + at, &map) &&
		    !tensormap_is_listed(maps, count, &map))
			maps[count++] = map;
	return count;
}
