/* names.c - interns names on the program's threads. Each thread caches the ids of its names. */
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/producer.h"

/* Call paths use at most 1/SHARE of the memory, and texts as much. */
#define SHARE 8
enum { PEEKS = 64 };

/* The caller holds a guard. Without a guard, a signal handler could interrupt this code while the
 * thread holds the lock, and could wait for the lock forever. */
static uint32_t names_intern(const void *bytes, size_t size, const struct pasta_string **entry)
{
	uint32_t id;

	pthread_mutex_lock(&pasta_state->lock);
	id = pasta_intern_locked(bytes, size, entry);
	pthread_mutex_unlock(&pasta_state->lock);
	return id;
}

uint32_t pasta_intern(const void *bytes, size_t size)
{
	const struct pasta_string *entry;
	struct pasta_guard guard;
	uint32_t id;

	if (!producer_get())
		return 0;
	pasta_guard_enter(&guard);
	id = names_intern(bytes, size, &entry);
	pasta_guard_leave(&guard);
	return id;
}

/* Interns bytes. A string that has no id yet gets one only if *used, the number of bytes of all
 * strings of its type, stays within their share of the memory. */
static uint32_t names_intern_share(const void *bytes, size_t size, uint64_t *used)
{
	struct pasta_state *s = pasta_state;
	const struct pasta_string *entry = NULL;
	struct pasta_guard guard;
	uint32_t id = 0;
	size_t count;

	if (!producer_get())
		return 0;
	pasta_guard_enter(&guard);
	pthread_mutex_lock(&s->lock);
	count = s->strings_count;
	id = pasta_intern_known_locked(bytes, size, &entry);
	if (!id && *used + size <= pasta_config.memory / SHARE)
		id = pasta_intern_locked(bytes, size, &entry);
	if (s->strings_count != count)
		*used += size;
	pthread_mutex_unlock(&s->lock);
	pasta_guard_leave(&guard);
	return entry ? id : 0;
}

uint32_t pasta_intern_stack(const void *bytes, size_t size)
{
	return names_intern_share(bytes, size, &pasta_state->stack_bytes);
}

uint32_t pasta_intern_text(const void *bytes, size_t size)
{
	return names_intern_share(bytes, size, &pasta_state->text_bytes);
}

static bool names_equal(const char *text, const struct pasta_string *entry)
{
	return !strncmp(text, (const char *)entry->bytes, entry->size) && text[entry->size] == '\0';
}

static bool names_slot_fits(const char *text, const struct pasta_string *entry)
{
	return !entry || names_equal(text, entry);
}

/* Returns the slot of the array `known` that contains the text, or in which the text is to be
 * stored. */
static size_t known_slot(const struct producer *p, const char *text, size_t size)
{
	size_t at = XXH3_64bits(text, size) % PRODUCER_KNOWN;

	if (!names_slot_fits(text, p->known[at].entry) &&
	    names_slot_fits(text, p->known[at ^ 1].entry))
		return at ^ 1;
	return at;
}

/*
 * A thread's caches change only under a guard, which blocks signals, so a signal handler never sees
 * a partial change. A signal handler that changes the caches may interrupt a reader without a
 * guard. In that case the count of changes differs, and the reader must discard what it has read.
 */
static inline uint32_t names_begin(const struct producer *p)
{
	uint32_t changes = p->changes;

	atomic_signal_fence(memory_order_seq_cst);
	return changes;
}

static inline bool names_changed(const struct producer *p, uint32_t changes)
{
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(p->changes != changes, 0);
}

/* Looks up a name by its text. The address does not suffice: a string that the program builds at
 * run time has a new address each time, or an address that had another text before. If the text is
 * new, the function interns the text. */
static uint32_t known_intern(struct producer *p, const char *text,
			     const struct pasta_string **entry)
{
	size_t size = strlen(text), at = known_slot(p, text, size);
	uint32_t id;

	*entry = p->known[at].entry;
	if (*entry && names_equal(text, *entry))
		return p->known[at].id;
	id = names_intern(text, size, entry);
	p->known[at].entry = *entry;
	p->known[at].id = id;
	return id;
}

__attribute__((noinline)) static uint32_t names_intern_text(struct producer *p, const char *text,
							    size_t slot)
{
	const struct pasta_string *entry;
	struct pasta_guard guard;
	uint32_t id;

	pasta_guard_enter(&guard);
	id = known_intern(p, text, &entry);
	p->changes++;
	p->cache[slot].text = entry ? text : NULL;
	p->cache[slot].entry = entry;
	p->cache[slot].id = id;
	pasta_guard_leave(&guard);
	return id;
}

/* Looks up a text without a guard, because a guard would need system calls. Returns 0 if the text
 * is not in the cache. */
static uint32_t known_peek(const struct producer *p, const char *text)
{
	uint32_t changes = names_begin(p), id;
	size_t at = known_slot(p, text, strlen(text));
	const struct pasta_string *entry = p->known[at].entry;

	id = p->known[at].id;
	return entry && names_equal(text, entry) && !names_changed(p, changes) ? id : 0;
}

/* Looks a name up by its address first, then by its text, because most names are string
 * literals. */
uint32_t pasta_intern_str(const char *text)
{
	struct producer *p = producer_get();
	size_t slot = ((uintptr_t)text ^ (uintptr_t)text >> 8) % PRODUCER_CACHE;
	const struct pasta_string *entry;
	uint32_t id, changes;

	if (!p || !text)
		return 0;
	changes = names_begin(p);
	id = p->cache[slot].id;
	entry = p->cache[slot].entry;
	if (p->cache[slot].text == text && entry && names_equal(text, entry) &&
	    !names_changed(p, changes))
		return id;
	id = known_peek(p, text);
	/* Of the names that are found by text, one in PEEKS also updates the cache by address. */
	return id && ++p->peeks % PEEKS ? id : names_intern_text(p, text, slot);
}
