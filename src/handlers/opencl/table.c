/* table.c - a hash table from OpenCL handles to values. */
#include "handlers/opencl/table.h"
#include "core/lock.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { VALUE = 48, FIRST = 256, CHUNK = 64 << 10 };

struct slot {
	_Atomic(const void *) handle;
	void *value;
};

/* When the table grows, the old slots are not freed, because a thread may still read them. */
struct cl_table_slots {
	size_t size; /* number of slots, a power of two */
	struct slot slot[];
};

static pthread_mutex_t chunk_lock = PTHREAD_MUTEX_INITIALIZER;
static char *chunk;
static size_t chunk_left;

static void *table_pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Allocates memory that is never freed. Does not use malloc, because a leak checker of the
 * application would report this memory. */
static void *table_alloc(size_t size)
{
	void *p = NULL;

	size = (size + 15) & ~(size_t)15;
	if (size > CHUNK)
		return table_pages(size);
	pasta_lock(&chunk_lock);
	if (chunk_left < size) {
		chunk = table_pages(CHUNK);
		chunk_left = chunk ? CHUNK : 0;
	}
	if (chunk_left >= size) {
		p = chunk;
		chunk += size;
		chunk_left -= size;
	}
	pasta_unlock(&chunk_lock);
	return p;
}

static size_t table_hash(const void *handle)
{
	uint64_t h = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(h >> 32);
}

/* Returns the handle's slot, or the empty slot to store the handle in. */
static struct slot *table_probe(struct cl_table_slots *s, const void *handle)
{
	size_t i = table_hash(handle) & (s->size - 1);
	const void *at;

	while ((at = atomic_load_explicit(&s->slot[i].handle, memory_order_acquire)) &&
	       at != handle)
		i = (i + 1) & (s->size - 1);
	return &s->slot[i];
}

void *cl_table_find(struct cl_table *t, const void *handle)
{
	struct cl_table_slots *s = atomic_load_explicit(&t->slots, memory_order_acquire);
	struct slot *slot = s && handle ? table_probe(s, handle) : NULL;

	return slot && atomic_load_explicit(&slot->handle, memory_order_acquire) ? slot->value
										 : NULL;
}

static void table_set(struct slot *slot, const void *handle, void *value)
{
	slot->value = value;
	atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

/* Returns slots with space for one more handle, or NULL when out of memory. The caller holds the
 * table's lock. */
static struct cl_table_slots *table_grow(struct cl_table *t)
{
	struct cl_table_slots *old = atomic_load(&t->slots), *s;
	size_t size = old ? old->size * 2 : FIRST;

	if (old && t->count * 2 < old->size)
		return old;
	s = table_pages(sizeof(*s) + size * sizeof(s->slot[0]));
	if (!s)
		return NULL;
	s->size = size;
	for (size_t i = 0; old && i < old->size; i++) {
		const void *handle = atomic_load(&old->slot[i].handle);

		if (handle)
			table_set(table_probe(s, handle), handle, old->slot[i].value);
	}
	atomic_store_explicit(&t->slots, s, memory_order_release);
	return s;
}

void *cl_table_get(struct cl_table *t, const void *handle, size_t size, bool *added)
{
	struct cl_table_slots *s;
	struct slot *slot;
	void *value = cl_table_find(t, handle);

	*added = false;
	if (value || !handle || size > VALUE)
		return value;
	pasta_lock(&t->lock);
	s = table_grow(t);
	slot = s ? table_probe(s, handle) : NULL;
	if (slot && !atomic_load(&slot->handle)) {
		value = table_alloc(VALUE);
		if (value) {
			*(uint32_t *)value = ++t->number;
			t->count++;
			table_set(slot, handle, value);
			*added = true;
		}
	} else if (slot) {
		value = slot->value;
	}
	pasta_unlock(&t->lock);
	return value;
}

void *cl_table_put(struct cl_table *t, const void *handle, size_t size)
{
	bool added;
	void *value = cl_table_get(t, handle, size, &added);

	if (value && !added) {
		pasta_lock(&t->lock);
		*(uint32_t *)value = ++t->number;
		pasta_unlock(&t->lock);
	}
	return value;
}

struct text {
	uint32_t number;
	_Atomic(const char *) text;
};

/* Looks up texts by their hash. If two texts have the same hash, only the text that was added last
 * is found, and each call with the other text adds a new copy. */
const char *cl_table_text(const char *text)
{
	static struct cl_table texts;
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t size = strlen(text) + 1;
	const char *there;
	struct text *t;
	bool added;
	char *copy;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	t = cl_table_get(&texts, (const void *)(uintptr_t)(h | 1), sizeof(*t), &added);
	there = t ? atomic_load_explicit(&t->text, memory_order_acquire) : NULL;
	if (there && !strcmp(there, text))
		return there;
	copy = table_alloc(size);
	if (!copy)
		return NULL;
	memcpy(copy, text, size);
	if (t)
		atomic_store_explicit(&t->text, copy, memory_order_release);
	return copy;
}
