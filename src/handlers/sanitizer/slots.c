/*
 * slots.c - allocates and initializes slots: device memory in which a counted launch stores its
 * counts.
 *
 * A context has at most 128 slots, normally one for each stream, with at most 1 GiB together. A
 * slot's memory contains the header, the list of objects, and then the data that is zero when a
 * launch starts, in this order: thread-block times, tables, marks, counters and the sums of pages.
 * The sums are last, so that only the sums of existing pages are zeroed. If pages have 4 KiB, the
 * sums need 1/128 of the program's device memory. If there is no memory for the sums, pages are
 * counted as rows of a table.
 */
#include <stdlib.h>
#include <string.h>

#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/idle.h"
#include "handlers/sanitizer/patching.h"
#include "handlers/sanitizer/slots.h"
#include "core/lock.h"

enum { PARTS_LEAST = 1 << 10, PARTS_SPREAD = 1 << 12, PARTS_MOST = 1 << 16, SPREAD = 2 };
enum { MANY_ROWS = 1 << 16, SITE_ROWS = 1 << 14, BLOCKS = 1 << 16 };
enum { ALIGN = 256 };
#define BYTES_MOST ((size_t)1 << 30)
#define PAGES_STEP (UINT32_C(1) << 14)
/* If a copy's source is not pinned memory and exceeds 64 KiB, the library waits for the stream. */
#define CHUNK ((size_t)32 << 10)
/* The driver buffers copies that wait behind a running kernel, in about 4 MB. When the buffer is
 * full, a launch blocks until the running kernel ends, and that kernel may wait for the program. */
#define QUEUED_MOST ((size_t)2 << 20)

#define TABLES                                                                                     \
	(PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(SITE) | PASTA_REDUCER_MASK(SITE_OBJECT) |   \
	 PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE) | PASTA_REDUCER_MASK(OWN) |    \
	 PASTA_REDUCER_MASK(BARRIER))
#define ROWS_MANY (PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(OWN))

/* -- Layout -- */

/* Returns the address of the next data in a slot's memory, and advances *at past the data. `memory`
 * is NULL when only the size is computed. */
static void *slot_piece(char *memory, size_t *at, size_t bytes)
{
	void *p = (void *)((uintptr_t)memory + *at);

	*at += (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	return p;
}

static void slot_lay_table(struct pasta_gpu_table *t, uint32_t rows, char *memory, size_t *at)
{
	t->index = slot_piece(memory, at, 2 * rows * sizeof(*t->index));
	t->rows = slot_piece(memory, at, (rows + 1) * sizeof(*t->rows));
	t->mask = 2 * rows - 1;
	t->max = rows;
}

static void slot_lay_counts(struct san_slot *s, char *memory, size_t *at)
{
	struct pasta_gpu_launch *l = &s->image;

	l->spread = s->room <= PARTS_SPREAD && san_patching_spread() ? SPREAD : 0;
	l->counts = slot_piece(memory, at,
			       ((size_t)PASTA_GPU_PARTS(s->room) << l->spread) *
				       PASTA_GPU_COUNTERS * sizeof(*l->counts));
}

/* Sets the pointers in the slot's header to addresses in this memory, and returns the total size of
 * the data. */
static size_t slot_lay_out(struct san_slot *s, char *memory)
{
	struct pasta_gpu_launch *l = &s->image;
	size_t at = 0;

	memset(l, 0, sizeof(*l));
	l->reducers = san.reducers;
	l->spaces = san_patching_spaces();
	l->page_shift = pasta_accesses_config.page_shift;
	l->every = pasta_accesses_config.blocks;
	slot_piece(memory, &at, sizeof(*l) + (s->room + 1) * sizeof(struct pasta_gpu_part));
	s->zero = at;
	if (san.reducers & PASTA_REDUCER_MASK(BLOCK)) {
		l->blocks.begin = slot_piece(memory, &at, BLOCKS * sizeof(*l->blocks.begin));
		l->blocks.end = slot_piece(memory, &at, BLOCKS * sizeof(*l->blocks.end));
		l->blocks.max = BLOCKS;
	}
	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT; i++)
		if (san.reducers & TABLES & UINT32_C(1) << i)
			slot_lay_table(&l->tables[i], ROWS_MANY >> i & 1 ? MANY_ROWS : SITE_ROWS,
				       memory, &at);
	l->pages.marks = slot_piece(memory, &at, (s->page_room >> PASTA_GPU_STRETCH) + 1);
	slot_lay_counts(s, memory, &at);
	s->sums = at;
	l->pages.sums = slot_piece(memory, &at, s->page_room * sizeof(*l->pages.sums));
	return at;
}

/* -- Slots -- */

static uint32_t slot_room_for(size_t parts)
{
	uint32_t room = PARTS_LEAST;

	while (room < parts && room < PARTS_MOST)
		room *= 2;
	return room;
}

static bool slot_is_better(const struct san_slot *s, const struct san_slot *than, uint32_t room)
{
	if (s->room < room || than->room < room)
		return s->room > than->room;
	return s->page_room > than->page_room;
}

/* Reserves and returns a free slot, preferably a slot with room for the objects. Returns NULL if
 * all slots are in use. The caller holds san.lock. */
static struct san_slot *slot_find_free(struct san_context *c, uint32_t room)
{
	struct san_slot *best = NULL;

	for (uint32_t i = 0; i < c->count; i++) {
		struct san_slot *s = c->slots[i];

		if (s->state == SAN_SLOT_FREE && (!best || slot_is_better(s, best, room)))
			best = s;
	}
	if (best)
		san_slot_advance(best, SAN_SLOT_RESERVED);
	return best;
}

/* Adds a new, reserved slot to the context. Returns NULL if the context has too many slots, or if
 * out of memory. The caller holds san.lock. */
static struct san_slot *slot_add(struct san_context *c)
{
	struct san_slot *s = c->count < SAN_SLOTS ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->context = c;
	san_slot_advance(s, SAN_SLOT_RESERVED);
	c->slots[c->count++] = s;
	return s;
}

/* Reserves a slot. Returns NULL if no slot is free. Does not wait for a slot, because the driver
 * may hold a lock of its own. The caller holds san.lock. */
static struct san_slot *slot_find_or_add(struct san_context *c, uint32_t room)
{
	struct san_slot *s = slot_find_free(c, room),
			*more = !s || s->room < room ? slot_add(c) : NULL;

	if (more && s)
		san_slot_advance(s, SAN_SLOT_FREE);
	return more ? more : s;
}

/* -- Device memory of slots -- */

/* Moves the slot's device memory to the context's spares. Freeing the memory would wait for all
 * kernels, and a kernel may wait for the program. Spares are reused, or freed when no kernel runs.
 * The caller holds san.lock. */
static void slot_detach_memory(struct san_slot *s)
{
	struct san_context *c = s->context;

	if (s->memory && c->spare_count < SAN_SPARES)
		c->spares[c->spare_count++] = (struct san_spare){s->memory, s->size};
	s->memory = NULL;
	s->size = 0;
	s->version = 0;
	s->room = s->page_room = 0;
}

/* Removes and returns the smallest spare that has between `size` and `most` bytes. If there is no
 * such spare, the result's member `memory` is NULL. The caller holds san.lock. */
static struct san_spare spare_reuse(struct san_context *c, size_t size, size_t most)
{
	struct san_spare *best = NULL, found = {0};

	for (uint32_t i = 0; i < c->spare_count; i++)
		if (c->spares[i].size >= size && c->spares[i].size <= most &&
		    (!best || c->spares[i].size < best->size))
			best = &c->spares[i];
	if (!best)
		return found;
	found = *best;
	*best = c->spares[--c->spare_count];
	return found;
}

/* Requests that memory be freed if some slots have far more memory than `size`, because these slots
 * needed sums for more pages earlier. The caller holds san.lock. */
static void slots_check_oversized(struct san_context *c, size_t size)
{
	for (uint32_t i = 0; i < c->count; i++)
		c->oversized = c->oversized || c->slots[i]->size / 4 > size;
	if (c->oversized)
		atomic_store(&san.trim_requested, true);
}

static struct san_spare slot_allocate(struct san_context *c, size_t size)
{
	struct san_spare found;
	void *memory = NULL;
	bool fits;

	pasta_lock(&san.lock);
	found = spare_reuse(c, size, 2 * size);
	fits = !found.memory && c->bytes + size <= BYTES_MOST;
	c->bytes += fits ? size : 0;
	pasta_unlock(&san.lock);
	if (found.memory)
		return found;
	if (fits && SAN_CALL(Alloc, c->handle, &memory, size) == SAN_OK)
		return (struct san_spare){memory, size};
	pasta_lock(&san.lock);
	c->bytes -= fits ? size : 0;
	found = spare_reuse(c, size, SIZE_MAX);
	if (!found.memory)
		slots_check_oversized(c, size);
	pasta_unlock(&san.lock);
	return found;
}

/* Replaces the slot's device memory with memory for this number of objects and pages, and stores
 * the size of the new memory in *size. Returns false if there is not enough device memory. */
static bool slot_make_room(struct san_slot *s, uint32_t room, uint32_t pages, size_t *size)
{
	struct san_spare a;

	pasta_lock(&san.lock);
	slot_detach_memory(s);
	pasta_unlock(&san.lock);
	s->room = room;
	s->page_room = pages;
	*size = slot_lay_out(s, NULL);
	a = slot_allocate(s->context, *size);
	if (!a.memory) {
		s->room = s->page_room = 0;
		return false;
	}
	s->memory = a.memory;
	s->size = a.size;
	slot_lay_out(s, s->memory);
	return true;
}

/* Moves the memory of all free slots to the spares. The caller holds san.lock. */
static void slots_detach_free(struct san_context *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->slots[i]->state == SAN_SLOT_FREE)
			slot_detach_memory(c->slots[i]);
}

/* Requests that the spares be freed, if they and the device's free memory together may be large
 * enough. The caller holds san.lock. */
static void slots_request_trim(struct san_context *c, size_t size)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < c->spare_count; i++)
		sum += c->spares[i].size;
	if (sum < size / 2)
		return;
	c->shortage = size;
	atomic_store(&san.trim_requested, true);
}

/* Does the same as slot_make_room, but also reuses the memory of free slots that are too small for
 * the current number of objects. */
static bool slot_find_room(struct san_slot *s, uint32_t room, uint32_t pages)
{
	struct san_context *c = s->context;
	size_t size;

	if (slot_make_room(s, room, pages, &size))
		return true;
	pasta_lock(&san.lock);
	slots_detach_free(c);
	pasta_unlock(&san.lock);
	if (slot_make_room(s, room, pages, &size))
		return true;
	pasta_lock(&san.lock);
	slots_request_trim(c, size);
	pasta_unlock(&san.lock);
	return false;
}

/* Resets the limit for pages with sums, after memory was freed. The caller holds san.lock, and no
 * thread launches. */
static void slots_reset_pages(struct san_context *c)
{
	c->pages_most = SAN_PAGES_MOST;
	for (uint32_t i = 0; i < c->count; i++)
		c->slots[i]->known = c->slots[i]->version = 0;
}

void san_slots_tidy(struct san_context *c)
{
	struct san_spare a;
	size_t sum = 0;

	pasta_lock(&san.lock);
	if (c->oversized)
		slots_detach_free(c);
	c->oversized = false;
	while (c->spare_count && !c->broken && !san_idle_breached()) {
		void *handle = c->handle;

		a = c->spares[--c->spare_count];
		pasta_unlock(&san.lock);
		SAN_CALL(Free, handle, a.memory);
		pasta_lock(&san.lock);
		c->bytes -= a.size;
		sum += a.size;
	}
	if (c->shortage && sum >= c->shortage / 2)
		slots_reset_pages(c);
	c->shortage = 0;
	pasta_unlock(&san.lock);
}

void san_slots_end(struct san_context *c)
{
	uint32_t remaining = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct san_slot *s = c->slots[i];

		if (s->state != SAN_SLOT_FREE) {
			c->slots[remaining++] = s;
			continue;
		}
		free(s->parts);
		free(s->bases);
		free(s);
	}
	c->count = remaining;
	c->spare_count = 0;
}

/* -- Objects of a version -- */

static void slots_log_too_many(void)
{
	static atomic_flag logged = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&logged))
		pasta_agent_log("sanitizer",
				"more than 65,536 objects: accesses to the objects with "
				"the highest addresses are counted as outside of objects");
}

/* Assigns numbers from 0 on to the pages of all objects. When `most` pages have numbers, the pages
 * of the remaining objects receive no numbers. */
static void slot_number_pages(struct san_slot *s, uint32_t most)
{
	uint32_t shift = pasta_accesses_config.page_shift;

	s->pages = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t first = s->parts[i].begin >> shift;
		uint64_t pages = (s->parts[i].last >> shift) - first + 1;
		/* Skips the page number for which the object's base would equal PASTA_GPU_FAR. */
		uint32_t number = s->pages + (s->pages == (uint32_t)first);

		s->bases[i] = PASTA_GPU_FAR;
		if (pages > most || number + pages > most)
			continue;
		s->bases[i] = number - (uint32_t)first;
		s->pages = number + (uint32_t)pages;
	}
}

/* Copies the objects of a version of the object table into the slot. Returns false if out of
 * memory. */
static bool slot_load_parts(struct san_slot *s, const struct pasta_version *version, uint32_t room)
{
	size_t count;

	if (s->listed < room) {
		free(s->parts);
		free(s->bases);
		s->parts = malloc(room * sizeof(*s->parts));
		s->bases = malloc(room * sizeof(*s->bases));
		s->listed = s->parts && s->bases ? room : 0;
		s->known = 0;
	}
	if (!s->listed)
		return false;
	count = pasta_version_parts(version, s->parts, s->listed);
	s->cut = count > s->listed;
	if (s->cut)
		slots_log_too_many();
	s->count = count < s->listed ? (uint32_t)count : s->listed;
	s->known = pasta_version_number(version);
	slot_number_pages(s, san.reducers & PASTA_REDUCER_MASK(PAGE) ? s->context->pages_most : 0);
	return true;
}

/* Returns the number of pages for which to allocate sums: the slot's pages, and a reserve for more
 * objects. */
static uint32_t slot_page_room(const struct san_slot *s)
{
	uint32_t room = s->pages + s->pages / 4;

	room = (room + PAGES_STEP - 1) / PAGES_STEP * PAGES_STEP;
	return s->pages ? room : 0;
}

/* Allocates device memory for the objects of this version of the object table. Returns NULL on
 * success, or a static string that explains the failure. If there is no memory for the sums of
 * pages, the slot has no such sums, and in later versions at most half as many pages have sums. */
static const char *slot_prepare(struct san_slot *s, const struct pasta_version *version,
				uint32_t room)
{
	uint32_t pages;
	size_t size;

	if (s->known != pasta_version_number(version) && !slot_load_parts(s, version, room))
		return "out of memory";
	if (s->memory && s->room >= room && s->page_room >= s->pages)
		return NULL;
	if (slot_find_room(s, room, slot_page_room(s)))
		return NULL;
	pages = s->pages;
	slot_number_pages(s, 0);
	if (!slot_make_room(s, room, 0, &size)) {
		/* the slot does not fit into device memory, even without sums of pages */
		s->known = 0;
		return "not enough device memory for the launch's counters";
	}
	s->context->pages_most = pages / 2;
	return NULL;
}

static bool slot_must_send(const struct san_slot *s)
{
	return !s->known || s->version != s->known;
}

/* Adds the size of the slot's object list to the number of bytes that wait to be copied to the
 * device. Returns NULL, or a static string if too many bytes are waiting already. A single list may
 * have any size. The caller holds san.lock. */
static const char *slot_reserve_list(struct san_slot *s)
{
	struct san_context *c = s->context;
	size_t size = slot_must_send(s) ? s->count * sizeof(struct pasta_gpu_part) : 0;

	if (size && c->list_bytes && c->list_bytes + size > QUEUED_MOST)
		return "the list of objects cannot be copied to the device, because a kernel has "
		       "not ended";
	s->list_bytes = size;
	c->list_bytes += size;
	return NULL;
}

bool san_slots_wait(const struct san_context *c)
{
	return c->list_bytes > QUEUED_MOST / 2;
}

struct san_slot *san_slot_acquire(struct san_context *context, const struct pasta_version *version,
				  const char **why)
{
	uint32_t room = slot_room_for(pasta_version_parts(version, NULL, 0));
	struct san_slot *s;

	pasta_lock(&san.lock);
	s = slot_find_or_add(context, room);
	pasta_unlock(&san.lock);
	*why = s ? slot_prepare(s, version, room)
		 : "too many launches in the same CUDA context are in progress";
	if (!s)
		return NULL;
	pasta_lock(&san.lock);
	if (!*why)
		*why = slot_reserve_list(s);
	if (*why)
		san_slot_release(s);
	pasta_unlock(&san.lock);
	return *why ? NULL : s;
}

void san_slot_sent(struct san_slot *s)
{
	s->context->list_bytes -= s->list_bytes;
	s->list_bytes = 0;
}

void san_slot_release(struct san_slot *s)
{
	s->launch = NULL;
	s->stream = NULL;
	s->module = NULL;
	s->number = 0;
	san_slot_sent(s);
	san_slot_advance(s, SAN_SLOT_FREE);
	pthread_cond_broadcast(&san.changed);
}

/* -- Initial contents -- */

static int slot_send(void *to, const void *from, size_t size, void *stream)
{
	int r = SAN_OK;

	for (size_t at = 0; at < size && r == SAN_OK; at += CHUNK)
		r = SAN_CALL(MemcpyHostToDeviceAsync, (char *)to + at, (char *)from + at,
			     size - at < CHUNK ? size - at : CHUNK, stream);
	return r;
}

static int slot_send_parts(struct san_slot *s, void *stream)
{
	size_t size = (s->count + 1) * sizeof(struct pasta_gpu_part);
	struct pasta_gpu_part *parts = malloc(size);
	int r;

	if (!parts)
		return -1;
	for (uint32_t i = 0; i < s->count; i++)
		parts[i] = (struct pasta_gpu_part){
			s->parts[i].begin, s->parts[i].last, s->bases[i], {0}};
	parts[s->count] = (struct pasta_gpu_part){1, 0, PASTA_GPU_FAR, {0}};
	r = slot_send(PASTA_GPU_PARTS_OF((struct pasta_gpu_launch *)s->memory), parts, size,
		      stream);
	free(parts);
	return r;
}

int san_slot_fill(struct san_slot *s, void *stream)
{
	int r = SAN_OK;

	if (slot_must_send(s)) {
		s->version = 0;
		r = slot_send_parts(s, stream);
		if (r == SAN_OK)
			s->version = s->known;
	}
	if (s->cut)
		pasta_accesses_partial(s->launch);
	s->image.count = s->count;
	s->image.page_count = s->pages;
	if (r == SAN_OK)
		r = SAN_CALL(Memset, s->memory + s->zero, 0,
			     s->sums - s->zero + s->pages * sizeof(*s->image.pages.sums), stream);
	if (r == SAN_OK)
		r = slot_send(s->memory, &s->image, sizeof(s->image), stream);
	return r;
}
