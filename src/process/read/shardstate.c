/* shardstate.c - stores the schema, the strings, the clocks, the loss counts and the names of a
 * shard. */
#include "process/read/shardstate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/pathnode.h"
#include "core/strings.h"
#include "core/varint.h"
#include "process/join/demangle.h"

enum { SOURCES_MAX = 1 << 20, CLOCKS_MAX = 1 << 10, NAMES_MAX = 1 << 16 };
#define STRINGS_MAX (UINT64_C(1) << 28) /* maximum number of strings in a shard */
/* Maximum size of all strings in a shard together, in bytes. */
#define STRING_BYTES_MAX (UINT64_C(1) << 30)

int pasta_shardstate_schema(struct pasta_shard *sh, const char *text, size_t size)
{
	struct pasta_plan *plan;

	if (sh->plan && sh->schema == pasta_schema_hash(text, size))
		return 0; /* the common case: the shard has the schema of this build */
	plan = pasta_plan_new(text, size, NULL);
	if (!plan)
		return -EBADMSG;
	pasta_plan_free(sh->plan);
	sh->plan = plan;
	sh->schema = pasta_schema_hash(text, size);
	return 0;
}

/* Makes room for string ids. Uses mmap and mremap, so that a damaged id that is very large costs
 * only address space: unused pages are neither written nor copied. */
static int shardstate_make_room(struct pasta_shard *sh, uint64_t ids)
{
	uint64_t n = sh->string_capacity ? sh->string_capacity : 1024;
	const size_t each = sizeof(*sh->strings);
	void *p;

	while (n < ids)
		n *= 2;
	if (n == sh->string_capacity)
		return 0;
	p = sh->strings ? mremap(sh->strings, sh->string_capacity * each, n * each, MREMAP_MAYMOVE)
			: mmap(NULL, n * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	sh->strings = p;
	sh->string_capacity = n;
	return 0;
}

/* Returns the run's id of the shard's string `id`, or 0 if that string is not defined yet. */
static uint32_t shardstate_run_id(const struct pasta_shard *sh, uint32_t id)
{
	return id < sh->string_count ? sh->strings[id] : 0;
}

/* Adds a string. Demangles C++ symbols, because the names of kernels are recorded as symbols. */
static uint32_t shardstate_add_text(const char *text, size_t size)
{
	char *plain = pasta_demangle(text, size);
	uint32_t id =
		plain ? pasta_strings_add(plain, strlen(plain)) : pasta_strings_add(text, size);

	free(plain);
	return id;
}

/* Adds a string. If the string is a node of a call path, replaces the shard's string ids in the
 * node with the run's ids. An id that is not defined yet becomes 0, so that call paths cannot have
 * cycles. */
static uint32_t shardstate_add_string(const struct pasta_shard *sh, const uint8_t *p, size_t size)
{
	uint8_t bytes[PASTA_PATHNODE_SIZE];
	struct pasta_pathnode node;

	if (!pasta_pathnode_decode(p, size, &node))
		return shardstate_add_text((const char *)p, size);
	node.parent = shardstate_run_id(sh, node.parent);
	node.function = shardstate_run_id(sh, node.function);
	node.file = shardstate_run_id(sh, node.file);
	pasta_pathnode_encode(&node, bytes);
	return pasta_strings_add(bytes, sizeof(bytes));
}

int pasta_shardstate_strings(struct pasta_shard *sh, const struct pasta_frame *f, const uint8_t *p)
{
	const uint8_t *end = p + f->raw_size;
	uint64_t id = f->seq, size;

	if (!id || id + f->count < id || id + f->count > STRINGS_MAX || f->count > f->raw_size ||
	    sh->string_bytes + f->raw_size > STRING_BYTES_MAX ||
	    shardstate_make_room(sh, id + f->count))
		return -EBADMSG;
	sh->string_bytes += f->raw_size;
	if (id > (sh->string_count ? sh->string_count : 1))
		sh->texts_missing += id - (sh->string_count ? sh->string_count : 1);
	for (uint32_t i = 0; i < f->count; i++, id++, p += size) {
		p = pasta_varint_get(p, end, &size);
		if (!p || size > (size_t)(end - p))
			return -EBADMSG;
		sh->strings[id] = shardstate_add_string(sh, p, size);
		if (id >= sh->string_count)
			sh->string_count = id + 1;
	}
	return 0;
}

static void shardstate_loss(struct pasta_shard *sh, const struct pasta_event *ev)
{
	struct pasta_source *s = pasta_map_find(sh->sources, ev->loss.source);

	if (!ev->loss.source && ev->sub == PASTA_LOSS_ACCOUNT) {
		sh->own = ev->loss.pushed > sh->own ? ev->loss.pushed : sh->own;
		sh->texts = ev->loss.dropped > sh->texts ? ev->loss.dropped : sh->texts;
		return;
	}
	if (!s && pasta_map_count(sh->sources) < SOURCES_MAX)
		s = pasta_map_add(sh->sources, ev->loss.source);
	if (!s)
		return;
	if (ev->loss.pushed > s->pushed)
		s->pushed = ev->loss.pushed;
	if (ev->sub < PASTA_LOSS_COUNT && ev->loss.dropped > s->dropped[ev->sub])
		s->dropped[ev->sub] = ev->loss.dropped;
}

static void shardstate_clock(struct pasta_shard *sh, const struct pasta_event *ev)
{
	struct pasta_clockmap *c = pasta_map_find(sh->clocks, ev->clock.id);

	if (ev->clock.raw > sh->last_clock)
		sh->last_clock = ev->clock.raw;
	if (!sh->head.real) { /* the head is damaged and has no times, so use the times of this
			       * record */
		sh->head.raw = ev->clock.raw;
		sh->head.real = sh->info.created = ev->clock.real;
	}
	if (ev->clock.id == PASTA_CLOCK_RAW)
		return;
	if (!c && pasta_map_count(sh->clocks) < CLOCKS_MAX)
		c = pasta_map_add(sh->clocks, ev->clock.id);
	if (c)
		pasta_clockmap_add(c, ev->clock.value, ev->clock.raw, ev->clock.error);
}

static void shardstate_process(struct pasta_shard *sh, const struct pasta_event *ev)
{
	sh->info.pid = ev->process.pid;
	sh->info.kinds = ev->process.kinds;
	sh->info.command = pasta_str(ev->process.command);
	sh->info.host = pasta_str(ev->process.host);
	sh->info.rank = ev->process.rank;
	sh->info.parent = ev->process.parent;
	sh->info.world = ev->process.world;
	sh->info.imported = ev->process.source;
	sh->info.source = pasta_str(ev->process.source);
	/* An agent always records its host name. If the name is missing, the frame that contains it
	 * is missing too. */
	sh->texts_missing += !ev->process.host && !ev->process.source;
}

/* Stores the name of a device or a thread. If there are too many names, a name becomes known only
 * when its event is read. */
static void shardstate_name(struct pasta_shard *sh, const struct pasta_event *ev)
{
	size_t n = sh->name_capacity ? 2 * sh->name_capacity : 16;
	struct pasta_event *names;

	if (sh->info.name_count == sh->name_capacity) {
		names = n > NAMES_MAX ? NULL : reallocarray(sh->names, n, sizeof(*names));
		if (!names) {
			sh->info.all_names = false;
			return;
		}
		sh->info.names = sh->names = names;
		sh->name_capacity = n;
	}
	pasta_event_copy(&sh->names[sh->info.name_count++], ev);
}

int pasta_shardstate_events(struct pasta_shard *sh, struct pasta_decoder *d,
			    const struct pasta_frame *f, const void *payload, uint64_t kinds)
{
	struct pasta_mapping map = {.strings = sh->strings,
				    .string_count = sh->string_count,
				    .proc = sh->number,
				    .kinds = kinds};
	struct pasta_block block = {0};
	int r = f->schema == sh->schema ? pasta_decode_events(d, sh->plan, f, payload, &map, &block)
					: -EBADMSG;

	for (size_t at = 0; !r && at < block.size;) {
		const struct pasta_event *ev = (const void *)(block.data + at);

		if (ev->kind == PASTA_KIND_LOSS)
			shardstate_loss(sh, ev);
		else if (ev->kind == PASTA_KIND_CLOCK)
			shardstate_clock(sh, ev);
		else if (ev->kind == PASTA_KIND_PROCESS)
			shardstate_process(sh, ev);
		else
			shardstate_name(sh, ev);
		at += ev->size;
	}
	free(block.data);
	return r;
}
