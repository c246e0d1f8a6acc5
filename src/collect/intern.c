/* intern.c - interns byte strings. The strings are stored in the ring file, so that they survive a
 * crash. */
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/agent.h"
#include "collect/state.h"

enum { BLOCK = 256 << 10, SLOTS = 4096, CUT = 32 << 10 };

static struct pasta_intern_slot *intern_find(struct pasta_intern_slot *slots, size_t count,
					     uint32_t hash, const void *bytes, size_t size)
{
	size_t i = hash & (count - 1);

	while (slots[i].id && (slots[i].hash != hash || slots[i].entry->size != size ||
			       memcmp(slots[i].entry->bytes, bytes, size)))
		i = (i + 1) & (count - 1);
	return &slots[i];
}

/* Grows the table if half of its slots are used. Returns false if memory is exhausted. */
static bool intern_grow(struct pasta_state *s)
{
	size_t count = s->slot_count ? s->slot_count * 2 : SLOTS;
	struct pasta_intern_slot *slots;

	if (s->strings_count * 2 < s->slot_count)
		return true;
	if (s->used + count * sizeof(*slots) > pasta_config.memory)
		return false;
	slots = pasta_memory_new(count * sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < s->slot_count; i++) {
		const struct pasta_intern_slot *old = &s->slots[i];

		if (old->id)
			*intern_find(slots, count, old->hash, old->entry->bytes, old->entry->size) =
				*old;
	}
	pasta_memory_free(s->slots, s->slot_count * sizeof(*slots));
	s->used += (count - s->slot_count) * sizeof(*slots);
	s->slots = slots;
	s->slot_count = count;
	return true;
}

static const struct pasta_string *intern_append(struct pasta_state *s, const void *bytes,
						uint32_t size)
{
	uint64_t need = pasta_string_room(size), used, id = s->strings_count + 1;
	struct pasta_strings *b = s->strings;
	struct pasta_string *entry;

	if (!b || b->size - atomic_load_explicit(&b->used, memory_order_relaxed) < need) {
		b = pasta_segment_add(PASTA_SEGMENT_STRINGS, BLOCK);
		if (!b)
			return NULL;
		b->first = id;
		b->sum = pasta_strings_sum(s->file, b);
		s->strings = b;
		pasta_segment_publish();
	}
	used = atomic_load_explicit(&b->used, memory_order_relaxed);
	entry = (void *)(b->data + used);
	entry->size = size;
	entry->sum = pasta_string_sum(pasta_ring_seed(s->file, 0), id, bytes, size);
	memcpy(entry->bytes, bytes, size);
	atomic_store_explicit(&b->used, used + need, memory_order_release);
	return entry;
}

uint32_t pasta_intern_known_locked(const void *bytes, size_t size,
				   const struct pasta_string **entry)
{
	const struct pasta_state *s = pasta_state;
	const struct pasta_intern_slot *slot;

	size = size > CUT ? CUT : size;
	slot = s->slots ? intern_find(s->slots, s->slot_count, (uint32_t)XXH3_64bits(bytes, size),
				      bytes, size)
			: NULL;
	*entry = slot ? slot->entry : NULL;
	return slot ? slot->id : 0;
}

uint32_t pasta_intern_locked(const void *bytes, size_t size, const struct pasta_string **entry)
{
	struct pasta_state *s = pasta_state;
	struct pasta_intern_slot *slot;
	uint32_t hash;

	size = size > CUT ? CUT : size;
	hash = (uint32_t)XXH3_64bits(bytes, size);
	slot = s->slots ? intern_find(s->slots, s->slot_count, hash, bytes, size) : NULL;
	if (!slot || !slot->id) {
		const struct pasta_string *e =
			intern_grow(s) ? intern_append(s, bytes, (uint32_t)size) : NULL;

		*entry = e;
		if (!e) /* the string "(too many names)" has the id 1 */
			return s->strings_count ? 1 : 0;
		slot = intern_find(s->slots, s->slot_count, hash, bytes, size);
		*slot = (struct pasta_intern_slot){
			.hash = hash, .id = (uint32_t)++s->strings_count, .entry = e};
	}
	*entry = slot->entry;
	return slot->id;
}
