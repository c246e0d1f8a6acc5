/* strings.c - a table of interned strings. Adding a string acquires a lock; reading a string does
 * not. */
#include "core/strings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <pasta/base.h>

enum { CHUNK = 1 << 14, CHUNKS = 1 << 14 };

struct entry {
	uint32_t size;
	char text[];
};

struct slot {
	uint32_t hash, id;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry **chunks[CHUNKS];
static _Atomic uint32_t count; /* all ids from 1 to `count` are valid */
static struct slot *slots;
static size_t slot_count;

static const struct entry *strings_entry(uint32_t id)
{
	return chunks[id / CHUNK][id % CHUNK];
}

/* Returns the slot of a string. If the string has none, returns the empty slot to which the string
 * belongs. */
static struct slot *strings_find(struct slot *in, size_t n, uint32_t hash, const void *bytes,
				 size_t size)
{
	size_t i = hash & (n - 1);

	for (; in[i].id; i = (i + 1) & (n - 1)) {
		const struct entry *e = in[i].hash == hash ? strings_entry(in[i].id) : NULL;

		if (e && e->size == size && !memcmp(e->text, bytes, size))
			break;
	}
	return &in[i];
}

/* Makes space for one more string. Returns -1 when out of memory. The caller must hold the lock. */
static int strings_grow(void)
{
	size_t n = slot_count ? slot_count * 2 : 1024;
	struct slot *bigger;

	if (count * (size_t)2 < slot_count)
		return 0;
	bigger = calloc(n, sizeof(*bigger));
	if (!bigger)
		return -1;
	for (size_t i = 0; i < slot_count; i++) {
		const struct entry *e = slots[i].id ? strings_entry(slots[i].id) : NULL;

		if (e)
			*strings_find(bigger, n, slots[i].hash, e->text, e->size) = slots[i];
	}
	free(slots);
	slots = bigger;
	slot_count = n;
	return 0;
}

/* Adds a string, and returns its id; 0 when out of memory. The caller must hold the lock. */
static uint32_t strings_append(const void *bytes, size_t size)
{
	uint32_t id = count + 1;
	struct entry ***chunk = &chunks[id / CHUNK];
	struct entry *e;

	if (id / CHUNK >= CHUNKS || size > UINT32_MAX - 64)
		return 0;
	if (!*chunk)
		*chunk = calloc(CHUNK, sizeof(**chunk));
	e = *chunk ? malloc(sizeof(*e) + size + 1) : NULL;
	if (!e)
		return 0;
	e->size = (uint32_t)size;
	memcpy(e->text, bytes, size);
	e->text[size] = '\0';
	(*chunk)[id % CHUNK] = e;
	atomic_store_explicit(&count, id, memory_order_release);
	return id;
}

uint32_t pasta_strings_add(const void *bytes, size_t size)
{
	uint32_t hash = (uint32_t)XXH3_64bits(bytes, size), id = 0;
	struct slot *slot;

	pthread_mutex_lock(&lock);
	if (!strings_grow()) {
		slot = strings_find(slots, slot_count, hash, bytes, size);
		if (!slot->id && (slot->id = strings_append(bytes, size)))
			slot->hash = hash;
		id = slot->id;
	}
	pthread_mutex_unlock(&lock);
	return id;
}

const char *pasta_bytes(uint32_t id, size_t *size)
{
	const struct entry *e = NULL;

	if (id && id <= atomic_load_explicit(&count, memory_order_acquire))
		e = strings_entry(id);
	*size = e ? e->size : 0;
	return e ? e->text : "";
}

const char *pasta_str(uint32_t id)
{
	size_t size;

	return pasta_bytes(id, &size);
}
