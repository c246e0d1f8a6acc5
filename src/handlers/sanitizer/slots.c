/*
 * slots.c - memory of devices where launches count.
 *
 * At most 128 launches of a context, one a stream in general, and 1 GiB. A slot is, in this order:
 * the header, places; and what is zero when a launch begins: times of blocks, tables, marks and
 * counters, which are read together, and, last, sums of pages, so that no more of them are zeroed
 * than there are pages. Those are 1/128 of the memory that the program has, where pages have 4 KiB;
 * where there is no room for them, pages are rows of a table.
 */
#include <stdlib.h>
#include <string.h>

#include "handlers/sanitizer/sanitizer.h"
#include "core/lock.h"

enum { PLACES_LEAST = 1 << 10, PLACES_SPREAD = 1 << 12, PLACES_MOST = 1 << 16, SPREAD = 2 };
enum { MANY_ROWS = 1 << 16, SITE_ROWS = 1 << 14, BLOCKS = 1 << 16 };
enum { ALIGN = 256 };
#define BYTES_MOST ((size_t)1 << 30)
#define PAGES_STEP (UINT32_C(1) << 14)
/* From memory that is not pinned, more than 64 KiB make the library wait for the stream. */
#define CHUNK ((size_t)32 << 10)
/* What waits behind a kernel that waits for the program lies in memory of the driver's, of which it
 * has some 4 MB; without, who launches is held up. */
#define QUEUED_MOST ((size_t)2 << 20)

#define TABLES                                                                                     \
	(PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(SITE) | PASTA_REDUCER_MASK(SITE_OBJECT) |   \
	 PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE) | PASTA_REDUCER_MASK(OWN) |    \
	 PASTA_REDUCER_MASK(BARRIER))
#define ROWS_MANY (PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(OWN))

/* -- Where things are -- */

/* The next piece of a slot; memory may be NULL, to find out how long it is. */
static void *piece(char *memory, size_t *at, size_t bytes)
{
	void *p = (void *)((uintptr_t)memory + *at);

	*at += (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	return p;
}

static void lay_table(struct pasta_gpu_table *t, uint32_t rows, char *memory, size_t *at)
{
	t->index = piece(memory, at, 2 * rows * sizeof(*t->index));
	t->rows = piece(memory, at, (rows + 1) * sizeof(*t->rows));
	t->mask = 2 * rows - 1;
	t->max = rows;
}

static void lay_counts(struct san_slot *s, char *memory, size_t *at)
{
	struct pasta_gpu_launch *l = &s->image;

	l->spread = s->room <= PLACES_SPREAD && san_modules_spread() ? SPREAD : 0;
	l->counts = piece(memory, at,
			  ((size_t)PASTA_GPU_PLACES(s->room) << l->spread) * PASTA_GPU_COUNTERS *
				  sizeof(*l->counts));
}

/* Fills in the header; returns the bytes that all takes. */
static size_t lay_out(struct san_slot *s, char *memory)
{
	struct pasta_gpu_launch *l = &s->image;
	size_t at = 0;

	memset(l, 0, sizeof(*l));
	l->reducers = san.reducers;
	l->spaces = san_modules_spaces();
	l->page_shift = pasta_accesses_config.page_shift;
	l->every = pasta_accesses_config.blocks;
	piece(memory, &at, sizeof(*l) + (s->room + 1) * sizeof(struct pasta_gpu_place));
	s->zero = at;
	if (san.reducers & PASTA_REDUCER_MASK(BLOCK)) {
		l->blocks.begin = piece(memory, &at, BLOCKS * sizeof(*l->blocks.begin));
		l->blocks.end = piece(memory, &at, BLOCKS * sizeof(*l->blocks.end));
		l->blocks.max = BLOCKS;
	}
	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT; i++)
		if (san.reducers & TABLES & UINT32_C(1) << i)
			lay_table(&l->tables[i], ROWS_MANY >> i & 1 ? MANY_ROWS : SITE_ROWS, memory,
				  &at);
	l->pages.marks = piece(memory, &at, (s->page_room >> PASTA_GPU_STRETCH) + 1);
	lay_counts(s, memory, &at);
	s->sums = at;
	l->pages.sums = piece(memory, &at, s->page_room * sizeof(*l->pages.sums));
	return at;
}

/* -- Slots -- */

static uint32_t room_for(size_t places)
{
	uint32_t room = PLACES_LEAST;

	while (room < places && room < PLACES_MOST)
		room *= 2;
	return room;
}

static bool is_better(const struct san_slot *s, const struct san_slot *than, uint32_t room)
{
	if (s->room < room || than->room < room)
		return s->room > than->room;
	return s->page_room > than->page_room;
}

/* Under the lock: one that is free and has room, else one that is free; it is taken. */
static struct san_slot *find(struct san_context *c, uint32_t room)
{
	struct san_slot *best = NULL;

	for (uint32_t i = 0; i < c->count; i++) {
		struct san_slot *s = c->slots[i];

		if (!s->busy && (!best || is_better(s, best, room)))
			best = s;
	}
	if (best)
		best->busy = true;
	return best;
}

/* Under the lock. */
static struct san_slot *add(struct san_context *c)
{
	struct san_slot *s = c->count < SAN_SLOTS ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->context = c;
	s->busy = true;
	c->slots[c->count++] = s;
	return s;
}

/* Under the lock. Nobody waits for one here: the driver's lock may be held. */
static struct san_slot *find_or_add(struct san_context *c, uint32_t room)
{
	struct san_slot *s = find(c, room), *more = !s || s->room < room ? add(c) : NULL;

	if (more && s)
		s->busy = false;
	return more ? more : s;
}

/* -- Their memory -- */

/* Under the lock. To free memory is to wait for all kernels, and one of them may wait for the
 * program: it is kept, used again, and freed when nothing runs. */
static void set_aside(struct san_slot *s)
{
	struct san_context *c = s->context;

	if (s->memory && c->aside_count < SAN_ASIDE)
		c->aside[c->aside_count++] = (struct san_aside){s->memory, s->size};
	s->memory = NULL;
	s->size = 0;
	s->version = 0;
	s->room = s->page_room = 0;
}

/* Under the lock: the smallest that is large enough, and no larger than most; memory is NULL: there
 * is none. */
static struct san_aside use_again(struct san_context *c, size_t size, size_t most)
{
	struct san_aside *best = NULL, found = {0};

	for (uint32_t i = 0; i < c->aside_count; i++)
		if (c->aside[i].size >= size && c->aside[i].size <= most &&
		    (!best || c->aside[i].size < best->size))
			best = &c->aside[i];
	if (!best)
		return found;
	found = *best;
	*best = c->aside[--c->aside_count];
	return found;
}

/* Under the lock. Some may have had many pages, and have few by now: all that are nobody's then are
 * freed. */
static void ask_for_slots(struct san_context *c, size_t size)
{
	for (uint32_t i = 0; i < c->count; i++)
		c->wasteful = c->wasteful || c->slots[i]->size / 4 > size;
	if (c->wasteful)
		atomic_store(&san.cramped, true);
}

static struct san_aside allocate(struct san_context *c, size_t size)
{
	struct san_aside found;
	void *memory = NULL;
	bool fits;

	pasta_lock(&san.lock);
	found = use_again(c, size, 2 * size);
	fits = !found.memory && c->bytes + size <= BYTES_MOST;
	c->bytes += fits ? size : 0;
	pasta_unlock(&san.lock);
	if (found.memory)
		return found;
	if (fits && SAN_CALL(Alloc, c->handle, &memory, size) == SAN_OK)
		return (struct san_aside){memory, size};
	pasta_lock(&san.lock);
	c->bytes -= fits ? size : 0;
	found = use_again(c, size, SIZE_MAX);
	if (!found.memory)
		ask_for_slots(c, size);
	pasta_unlock(&san.lock);
	return found;
}

/* Its memory, or more of it; *size: what it takes. */
static bool make_room(struct san_slot *s, uint32_t room, uint32_t pages, size_t *size)
{
	struct san_aside a;

	pasta_lock(&san.lock);
	set_aside(s);
	pasta_unlock(&san.lock);
	s->room = room;
	s->page_room = pages;
	*size = lay_out(s, NULL);
	a = allocate(s->context, *size);
	if (!a.memory) {
		s->room = s->page_room = 0;
		return false;
	}
	s->memory = a.memory;
	s->size = a.size;
	lay_out(s, s->memory);
	return true;
}

/* Under the lock: that of slots that are nobody's. */
static void set_aside_idle(struct san_context *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (!c->slots[i]->busy)
			set_aside(c->slots[i]);
}

/* Under the lock: freed, it may be enough, together with what the device has left. */
static void ask_for_room(struct san_context *c, size_t size)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < c->aside_count; i++)
		sum += c->aside[i].size;
	if (sum < size / 2)
		return;
	c->cramped = size;
	atomic_store(&san.cramped, true);
}

/* Slots of fewer objects lie about when there are more of those. */
static bool find_room(struct san_slot *s, uint32_t room, uint32_t pages)
{
	struct san_context *c = s->context;
	size_t size;

	if (make_room(s, room, pages, &size))
		return true;
	pasta_lock(&san.lock);
	set_aside_idle(c);
	pasta_unlock(&san.lock);
	if (make_room(s, room, pages, &size))
		return true;
	pasta_lock(&san.lock);
	ask_for_room(c, size);
	pasta_unlock(&san.lock);
	return false;
}

/* Under the lock, while nobody launches. */
static void try_all_pages(struct san_context *c)
{
	c->pages_most = SAN_PAGES_MOST;
	for (uint32_t i = 0; i < c->count; i++)
		c->slots[i]->known = c->slots[i]->version = 0;
}

void san_slots_tidy(struct san_context *c)
{
	struct san_aside a;
	size_t sum = 0;

	pasta_lock(&san.lock);
	if (c->wasteful)
		set_aside_idle(c);
	c->wasteful = false;
	while (c->aside_count && !c->broken && !san_quiet_breached()) {
		void *handle = c->handle;

		a = c->aside[--c->aside_count];
		pasta_unlock(&san.lock);
		SAN_CALL(Free, handle, a.memory);
		pasta_lock(&san.lock);
		c->bytes -= a.size;
		sum += a.size;
	}
	if (c->cramped && sum >= c->cramped / 2)
		try_all_pages(c);
	c->cramped = 0;
	pasta_unlock(&san.lock);
}

void san_slots_end(struct san_context *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct san_slot *s = c->slots[i];

		if (s->busy) {
			c->slots[kept++] = s;
			continue;
		}
		free(s->places);
		free(s->bases);
		free(s);
	}
	c->count = kept;
	c->aside_count = 0;
}

/* -- Objects, as a version has them -- */

static void say_too_many(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		pasta_agent_log("sanitizer", "there are more than 65,536 objects: accesses to "
					     "those with the highest addresses are outside of all");
}

/* Numbers of pages, from 0 on, as long as there are some. */
static void number_pages(struct san_slot *s, uint32_t most)
{
	uint32_t shift = pasta_accesses_config.page_shift;

	s->pages = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t first = s->places[i].begin >> shift;
		uint64_t pages = (s->places[i].last >> shift) - first + 1;
		/* None has the base that says that there is none. */
		uint32_t number = s->pages + (s->pages == (uint32_t)first);

		s->bases[i] = PASTA_GPU_FAR;
		if (pages > most || number + pages > most)
			continue;
		s->bases[i] = number - (uint32_t)first;
		s->pages = number + (uint32_t)pages;
	}
}

/* False: there is no memory. */
static bool learn(struct san_slot *s, const struct pasta_version *version, uint32_t room)
{
	size_t count;

	if (s->listed < room) {
		free(s->places);
		free(s->bases);
		s->places = malloc(room * sizeof(*s->places));
		s->bases = malloc(room * sizeof(*s->bases));
		s->listed = s->places && s->bases ? room : 0;
		s->known = 0;
	}
	if (!s->listed)
		return false;
	count = pasta_version_parts(version, s->places, s->listed);
	s->cut = count > s->listed;
	if (s->cut)
		say_too_many();
	s->count = count < s->listed ? (uint32_t)count : s->listed;
	s->known = pasta_version_number(version);
	number_pages(s, san.reducers & PASTA_REDUCER_MASK(PAGE) ? s->context->pages_most : 0);
	return true;
}

/* So that a few more objects do not need more room. */
static uint32_t page_room_for(const struct san_slot *s)
{
	uint32_t room = s->pages + s->pages / 4;

	room = (room + PAGES_STEP - 1) / PAGES_STEP * PAGES_STEP;
	return s->pages ? room : 0;
}

/* Where there is no room for the pages, they have none; with other objects half as many are tried.
 */
static const char *prepare(struct san_slot *s, const struct pasta_version *version, uint32_t room)
{
	uint32_t pages;
	size_t size;

	if (s->known != pasta_version_number(version) && !learn(s, version, room))
		return "there is no memory";
	if (s->memory && s->room >= room && s->page_room >= s->pages)
		return NULL;
	if (find_room(s, room, page_room_for(s)))
		return NULL;
	pages = s->pages;
	number_pages(s, 0);
	if (!make_room(s, room, 0, &size)) {
		s->known = 0; /* it was not for the pages */
		return "there is no memory of its device left to count in";
	}
	s->context->pages_most = pages / 2;
	return NULL;
}

static bool must_send(const struct san_slot *s)
{
	return !s->known || s->version != s->known;
}

/* Under the lock. One alone may have any size. */
static const char *reserve(struct san_slot *s)
{
	struct san_context *c = s->context;
	size_t size = must_send(s) ? s->count * sizeof(struct pasta_gpu_place) : 0;

	if (size && c->queued && c->queued + size > QUEUED_MOST)
		return "lists of objects wait for its device, behind a kernel that does not end";
	s->sent = size;
	c->queued += size;
	return NULL;
}

bool san_slots_wait(const struct san_context *c)
{
	return c->queued > QUEUED_MOST / 2;
}

struct san_slot *san_slot_acquire(struct san_context *context, const struct pasta_version *version,
			       const char **why)
{
	uint32_t room = room_for(pasta_version_parts(version, NULL, 0));
	struct san_slot *s;

	pasta_lock(&san.lock);
	s = find_or_add(context, room);
	pasta_unlock(&san.lock);
	*why = s ? prepare(s, version, room) : "too many launches of its context are under way";
	if (!s)
		return NULL;
	pasta_lock(&san.lock);
	if (!*why)
		*why = reserve(s);
	if (*why)
		san_slot_release(s);
	pasta_unlock(&san.lock);
	return *why ? NULL : s;
}

void san_slot_sent(struct san_slot *s)
{
	s->context->queued -= s->sent;
	s->sent = 0;
}

void san_slot_release(struct san_slot *s)
{
	s->launch = NULL;
	s->stream = NULL;
	s->module = NULL;
	s->number = 0;
	san_slot_sent(s);
	s->synced = s->done = s->busy = false;
	pthread_cond_broadcast(&san.changed);
}

/* -- What a launch is given -- */

static int send(void *to, const void *from, size_t size, void *stream)
{
	int r = SAN_OK;

	for (size_t at = 0; at < size && r == SAN_OK; at += CHUNK)
		r = SAN_CALL(MemcpyHostToDeviceAsync, (char *)to + at, (char *)from + at,
			     size - at < CHUNK ? size - at : CHUNK, stream);
	return r;
}

static int send_places(struct san_slot *s, void *stream)
{
	size_t size = (s->count + 1) * sizeof(struct pasta_gpu_place);
	struct pasta_gpu_place *places = malloc(size);
	int r;

	if (!places)
		return -1;
	for (uint32_t i = 0; i < s->count; i++)
		places[i] = (struct pasta_gpu_place){
			s->places[i].begin, s->places[i].last, s->bases[i], {0}};
	places[s->count] = (struct pasta_gpu_place){1, 0, PASTA_GPU_FAR, {0}};
	r = send(PASTA_GPU_PLACES_OF((struct pasta_gpu_launch *)s->memory), places, size, stream);
	free(places);
	return r;
}

int san_slot_fill(struct san_slot *s, void *stream)
{
	int r = SAN_OK;

	if (must_send(s)) {
		s->version = 0;
		r = send_places(s, stream);
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
		r = send(s->memory, &s->image, sizeof(s->image), stream);
	return r;
}
