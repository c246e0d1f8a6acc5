/* tensormap.c - descriptors of tensors among a kernel's arguments. */
#include "handlers/sanitizer/tensormap.h"

#include <string.h>

/* Words of 32 bits. The address; what it is made of; strides but the first, in units of 16 bytes;
 * one less than each dimension; one less than the box's first dimension, in the topmost byte. */
enum { ADDR, FORM = 2, STRIDES = 3, DIMS = 8, BOX = 13, WORDS = PASTA_TENSORMAP_BYTES / 4 };
enum { ALIGN = 16 };

/* Of the form: bits 4 to 6 are one less than the rank, 7 to 10 the type. */
static uint32_t rank_of(uint32_t form)
{
	return (form >> 4 & 7) + 1;
}

/* In the order of CUtensorMapDataType; 0: there is none. */
static uint32_t element_of(uint32_t form)
{
	static const uint8_t sizes[16] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2};

	return sizes[form >> 7 & 15];
}

/* False: it is more than an address space. */
static bool add(uint64_t *sum, uint64_t count, uint64_t each)
{
	uint64_t product;

	return !__builtin_mul_overflow(count, each, &product) &&
	       !__builtin_add_overflow(*sum, product, sum) && *sum < UINT64_C(1) << 56;
}

static bool read_dims(const uint32_t *w, struct pasta_tensormap *m)
{
	uint64_t elements = 1;

	m->last = m->addr + m->element - 1;
	for (uint32_t i = 0; i < PASTA_TENSORMAP_RANK; i++) {
		m->dims[i] = (uint64_t)w[DIMS + i] + 1;
		m->strides[i] = i ? (uint64_t)w[STRIDES + i - 1] * ALIGN : m->element;
		if (i >= m->rank && m->dims[i] != 1)
			return false;
		/* Where there is but one, how far away the next would be says nothing. */
		if (m->dims[i] > 1 &&
		    (!m->strides[i] || !add(&m->last, m->dims[i] - 1, m->strides[i])))
			return false;
		if (__builtin_mul_overflow(elements, m->dims[i], &elements))
			return false;
	}
	return !__builtin_mul_overflow(elements, m->element, &m->bytes);
}

/* A row of a box is a multiple of 16 bytes: so an address before zeros is no descriptor. */
static bool is_box(uint32_t word, uint32_t element)
{
	return ((word >> 24) + 1) * element % ALIGN == 0;
}

bool pasta_tensormap_read(const void *bytes, struct pasta_tensormap *map)
{
	uint32_t w[WORDS];

	memcpy(w, bytes, sizeof(w));
	memset(map, 0, sizeof(*map));
	map->addr = (uint64_t)w[ADDR + 1] << 32 | w[ADDR];
	map->rank = rank_of(w[FORM]);
	map->element = element_of(w[FORM]);
	return map->addr && map->addr % ALIGN == 0 && map->addr < UINT64_C(1) << 56 &&
	       map->element && map->rank <= PASTA_TENSORMAP_RANK && is_box(w[BOX], map->element) &&
	       read_dims(w, map);
}

static bool is_there(const struct pasta_tensormap *maps, size_t count,
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
		    !is_there(maps, count, &map))
			maps[count++] = map;
	return count;
}
