/* shard.c - reads one shard: finds its frames and decodes their events. */
#include "process/read/shard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/io/files.h"
#include "process/read/shardstate.h"

enum { WINDOW = 1 << 16 };

/* The offset at which the tail begins. */
static uint64_t shard_base(const struct pasta_shard_parts *p)
{
	return p->file < 0 ? 0 : (p->end + 7) & ~UINT64_C(7);
}

/* Reads `size` bytes of the shard. Returns the number of bytes read, which is less than `size` only
 * at the end of the shard, or a negative errno. */
static ssize_t shard_read_at(const struct pasta_shard_parts *p, void *to, size_t size,
			     uint64_t offset)
{
	uint64_t base;
	size_t head = 0;
	ssize_t n;

	if (p->tail < 0)
		return pasta_files_read_at(p->file, to, size, offset);
	base = shard_base(p);
	if (offset < base) {
		head = size < base - offset ? size : (size_t)(base - offset);
		/* The bytes between the end of the file and the tail are zero. */
		memset(to, 0, head);
		if (offset < p->end) {
			size_t in_file = head < p->end - offset ? head : (size_t)(p->end - offset);

			n = pasta_files_read_at(p->file, to, in_file, offset);
			if (n < (ssize_t)in_file)
				return n; /* the file was truncated */
		}
	}
	if (head == size)
		return (ssize_t)size;
	n = pasta_files_read_at(p->tail, (char *)to + head, size - head, offset + head - base);
	return n < 0 ? n : n + (ssize_t)head;
}

static int shard_size(const struct pasta_shard_parts *p, uint64_t *size)
{
	struct stat st;

	if (fstat(p->tail < 0 ? p->file : p->tail, &st))
		return -errno;
	*size = (uint64_t)st.st_size + (p->tail < 0 ? 0 : shard_base(p));
	if (p->limit && *size > p->limit)
		*size = p->limit;
	return 0;
}

/* Returns the offset of the next data at or after the offset `at`, or UINT64_MAX if there is none.
 * Skips holes in the file, which may be huge. */
static uint64_t shard_next_data(const struct pasta_shard_parts *p, uint64_t at)
{
	bool in_file = p->tail < 0 || at < shard_base(p);
	off_t data = in_file ? lseek(p->file, (off_t)at, SEEK_DATA) : (off_t)at;

	if (data < 0 && errno == ENXIO)
		return p->tail < 0 ? UINT64_MAX : shard_base(p);
	if (in_file && p->tail >= 0 && data >= (off_t)p->end)
		return shard_base(p);
	return data > (off_t)at ? (uint64_t)data : at;
}

/* Reads exactly `size` bytes of the shard. Returns false if it cannot. If the reason is a read
 * error, stores the error. */
static bool shard_load(struct pasta_shard *sh, void *to, size_t size, uint64_t offset)
{
	ssize_t n = shard_read_at(&sh->parts, to, size, offset);

	if (n < 0)
		sh->error = (int)n;
	return n == (ssize_t)size;
}

static uint64_t shard_frame_bytes(const struct pasta_frame *f)
{
	return sizeof(*f) + ((f->size + UINT64_C(7)) & ~UINT64_C(7));
}

static struct pasta_source *shard_source(struct pasta_shard *sh, uint32_t number)
{
	struct pasta_source *s = pasta_map_find(sh->sources, number);

	return s ? s : pasta_map_add(sh->sources, number);
}

/* Returns the stored payload of a frame, which is valid until the next call, or NULL. */
static const void *shard_payload_at(struct pasta_shard *sh, struct pasta_decoder *d,
				    const struct pasta_frame *f, uint64_t offset)
{
	void *payload = pasta_decoder_payload(d, f->size);

	return payload && shard_load(sh, payload, f->size, offset + sizeof(*f)) ? payload : NULL;
}

static const struct pasta_clockmap *shard_clock(const struct pasta_shard *sh, uint32_t clock)
{
	return clock == PASTA_CLOCK_RAW ? NULL : pasta_map_find(sh->clocks, clock);
}

static int shard_add_frame(struct pasta_shard *sh, const struct pasta_frame *f, uint64_t offset)
{
	if (sh->frame_count == sh->frame_capacity) {
		size_t n = sh->frame_capacity ? sh->frame_capacity * 2 : 64;
		struct pasta_shard_frame *p = realloc(sh->frames, n * sizeof(*p));

		if (!p)
			return -ENOMEM;
		sh->frames = p;
		sh->frame_capacity = n;
	}
	sh->frames[sh->frame_count++] =
		(struct pasta_shard_frame){.offset = offset, .first = f->first, .clock = f->clock};
	return 0;
}

uint64_t pasta_shard_first(const struct pasta_shard *sh, size_t frame)
{
	const struct pasta_shard_frame *f = &sh->frames[frame];
	const struct pasta_clockmap *c = shard_clock(sh, f->clock);

	return c ? pasta_clockmap_raw(c, f->first) : f->first;
}

static bool shard_is_state(const struct pasta_frame *f)
{
	return !f->source && f->flags & PASTA_FRAME_STATE;
}

static bool shard_numbers_ok(const struct pasta_frame *f)
{
	return f->count && f->count <= PASTA_FRAME_EVENTS && f->seq + f->count > f->seq;
}

/* Adds a frame of events to the shard's index. Skips a frame whose events are already in an earlier
 * frame. Such frames exist if a recovery was interrupted and repeated. */
static int shard_index_events(struct pasta_shard *sh, struct pasta_decoder *d,
			      const struct pasta_frame *f, uint64_t offset, const void *payload)
{
	struct pasta_source *s = shard_numbers_ok(f) ? shard_source(sh, f->source) : NULL;

	if (!s)
		return -EBADMSG;
	if (f->seq < s->next)
		return 0;
	if (shard_is_state(f) && pasta_shardstate_events(sh, d, f, payload, PASTA_SHARDSTATE_ALL))
		return -EBADMSG;
	/* A damaged payload is not an error here, because it is counted when the frame's events are
	 * read. */
	payload = shard_is_state(f) || !(f->flags & PASTA_FRAME_NAMES)
			  ? NULL
			  : shard_payload_at(sh, d, f, offset);
	if (payload)
		pasta_shardstate_events(sh, d, f, payload, PASTA_SHARDSTATE_NAMES);
	s->next = f->seq + f->count;
	if (shard_is_state(f))
		sh->own_found += f->count;
	if (!shard_is_state(f)) {
		s->found += f->count;
		s->pos = f->pos > s->pos ? f->pos : s->pos;
	}
	return shard_add_frame(sh, f, offset);
}

/* Adds a frame to the shard's index. Decodes strings, the schema and the writer's own events now;
 * other events are decoded later. Returns 0, or -EBADMSG if the payload is damaged. */
static int shard_index_frame(struct pasta_shard *sh, struct pasta_decoder *d,
			     const struct pasta_frame *f, uint64_t offset)
{
	bool now = f->type != PASTA_FRAME_EVENTS_T || shard_is_state(f);
	const void *payload = now ? shard_payload_at(sh, d, f, offset) : NULL;
	const uint8_t *raw = NULL;

	if (now && !payload)
		return -EBADMSG;
	if (f->type == PASTA_FRAME_EVENTS_T)
		return shard_index_events(sh, d, f, offset, payload);
	raw = pasta_decode_plain(d, f, payload);
	if (!raw)
		return -EBADMSG;
	if (f->type == PASTA_FRAME_SCHEMA)
		return pasta_shardstate_schema(sh, (const char *)raw, f->raw_size);
	if (f->type == PASTA_FRAME_STRINGS)
		return pasta_shardstate_strings(sh, f, raw);
	return 0; /* a later version defines this type of frame */
}

/* Returns whether a frame belongs to this shard. A frame from another shard counts as damage. */
static bool shard_owns_frame(const struct pasta_shard *sh, const struct pasta_frame *f)
{
	return !(sh->head.flags & PASTA_SHARD_ENDS) || f->tag == pasta_shard_tag(sh->head.guid);
}

/* Returns whether there is a valid frame head at this offset, and the frame's payload is within the
 * shard. */
static bool shard_head_at(struct pasta_shard *sh, uint64_t at, struct pasta_frame *f)
{
	return at + sizeof(*f) <= sh->size && shard_load(sh, f, sizeof(*f), at) &&
	       pasta_frame_head_ok(f) && shard_owns_frame(sh, f) &&
	       at + shard_frame_bytes(f) <= sh->size;
}

/* Searches byte by byte for the next valid frame head. Returns its offset, or the size of the shard
 * if there is none. */
static uint64_t shard_find_head(struct pasta_shard *sh, uint64_t at, struct pasta_frame *f)
{
	const uint32_t magic = PASTA_FRAME_MAGIC;
	uint8_t window[WINDOW];

	while (at + sizeof(*f) <= sh->size) {
		const uint8_t *p = window, *end;
		ssize_t n;

		at = shard_next_data(&sh->parts, at);
		if (at == UINT64_MAX)
			break;
		n = shard_read_at(&sh->parts, window, sizeof(window), at);
		if (n < (ssize_t)sizeof(*f)) {
			sh->error = n < 0 ? (int)n : sh->error;
			break;
		}
		for (end = p + n; (p = memmem(p, (size_t)(end - p), &magic, sizeof(magic))); p++)
			if (shard_head_at(sh, at + (uint64_t)(p - window), f))
				return at + (uint64_t)(p - window);
		at += (uint64_t)n - sizeof(magic) + 1;
	}
	return sh->size;
}

/*
 * Returns whether a frame is complete. A process that dies while it writes a frame leaves a valid
 * head without its payload, and recovered frames may follow the head in place of the payload. If
 * another frame starts where this frame should end, this frame is complete, and its payload need
 * not be read.
 */
static bool shard_is_whole(struct pasta_shard *sh, struct pasta_decoder *d,
			   const struct pasta_frame *f, uint64_t offset)
{
	struct pasta_frame next;
	const void *payload;

	if (shard_head_at(sh, offset + shard_frame_bytes(f), &next))
		return true;
	payload = shard_payload_at(sh, d, f, offset);
	return payload && pasta_decode_check(f, payload);
}

/* Counts the events of an incomplete frame as pushed. If no other frame has these events, they are
 * then missing. */
static void shard_count_torn(struct pasta_shard *sh, const struct pasta_frame *f)
{
	bool events = f->type == PASTA_FRAME_EVENTS_T && !shard_is_state(f) && shard_numbers_ok(f);
	struct pasta_source *s = events ? shard_source(sh, f->source) : NULL;

	if (s && f->seq + f->count > s->pushed)
		s->pushed = f->seq + f->count;
}

size_t pasta_shard_scan(struct pasta_shard *sh, struct pasta_decoder *d)
{
	uint64_t from = sh->at;
	struct pasta_frame f;
	size_t found = 0;

	if (shard_size(&sh->parts, &sh->size))
		return 0;
	for (;;) {
		uint64_t offset =
			shard_head_at(sh, from, &f) ? from : shard_find_head(sh, from, &f);

		if (offset >= sh->size)
			break; /* the process may still be writing the last frame */
		if (!shard_is_whole(sh, d, &f, offset)) {
			shard_count_torn(sh, &f);
			from = offset + sizeof(f);
			continue;
		}
		sh->skipped += offset - sh->at;
		if (shard_index_frame(sh, d, &f, offset))
			sh->skipped += shard_frame_bytes(&f);
		else
			found++;
		from = sh->at = offset + shard_frame_bytes(&f);
	}
	sh->info.bytes = sh->size;
	sh->info.frames += found;
	return found;
}

/* Restores the fields of the head that are equal in all shards. Returns whether the checksum is
 * then right. */
static bool shard_repair_head(struct pasta_shard_head *head)
{
	struct pasta_shard_head mended = *head;

	pasta_shard_head_seal(&mended);
	if (mended.sum != head->sum)
		return false;
	*head = mended;
	return true;
}

static int shard_read_head(struct pasta_shard *sh, struct pasta_error *err)
{
	const char *path = sh->info.path;
	ssize_t n = shard_read_at(&sh->parts, &sh->head, sizeof(sh->head), 0);
	bool ok = n == (ssize_t)sizeof(sh->head) && shard_repair_head(&sh->head);

	if (n < 0)
		return pasta_fail(err, (int)n, "cannot read %s: %s", path, strerror(-(int)n));
	if (!n)
		return pasta_fail(err, -EINVAL,
				  "%s is empty: the recorded process ended before it wrote "
				  "anything",
				  path);
	if (n < 12 || memcmp(sh->head.magic, PASTA_SHARD_MAGIC, sizeof(sh->head.magic)))
		return pasta_fail(err, -EINVAL,
				  "%s is not a shard: specify a run's folder or a .pst file", path);
	if (sh->head.version > PASTA_SHARD_VERSION)
		return pasta_fail(
			err, -EPROTONOSUPPORT,
			"%s has format %u, newer than this accelprof's %u: update accelprof", path,
			sh->head.version, PASTA_SHARD_VERSION);
	/* If the head is damaged, the process is unknown, but the events can still be read. */
	if (!ok) {
		memset(&sh->head, 0, sizeof(sh->head));
		sh->skipped += (uint64_t)n;
	}
	sh->at = sizeof(sh->head);
	memcpy(sh->info.guid, sh->head.guid, sizeof(sh->info.guid));
	memcpy(sh->info.boot, sh->head.boot, sizeof(sh->info.boot));
	sh->info.pid = sh->head.pid;
	sh->info.created = sh->head.real;
	sh->info.all_names = sh->head.flags & PASTA_SHARD_NAMES;
	return 0;
}

static void shard_parts_close(const struct pasta_shard_parts *p)
{
	if (p->file >= 0)
		close(p->file);
	if (p->tail >= 0)
		close(p->tail);
}

struct pasta_shard *pasta_shard_open(const struct pasta_shard_parts *parts, uint32_t number,
				     struct pasta_decoder *d, struct pasta_error *err)
{
	struct pasta_shard *sh = calloc(1, sizeof(*sh));
	const char *schema;
	size_t n;

	if (!sh) {
		shard_parts_close(parts);
		pasta_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	sh->number = number;
	sh->parts = *parts;
	sh->parts.path = sh->info.path = strdup(parts->path);
	sh->info.command = sh->info.host = sh->info.source = "";
	sh->sources = pasta_map_new(sizeof(struct pasta_source));
	sh->clocks = pasta_map_new(sizeof(struct pasta_clockmap));
	schema = pasta_schema_text(&n);
	if (!sh->info.path || !sh->sources || !sh->clocks || pasta_shardstate_schema(sh, schema, n))
		pasta_fail(err, -ENOMEM, "out of memory");
	else if (!shard_read_head(sh, err)) {
		pasta_shard_scan(sh, d);
		return sh;
	}
	pasta_shard_close(sh);
	return NULL;
}

void pasta_shard_close(struct pasta_shard *sh)
{
	size_t at = 0;
	uint64_t key;
	struct pasta_clockmap *c;

	if (!sh)
		return;
	while (sh->clocks && (c = pasta_map_next(sh->clocks, &at, &key)))
		pasta_clockmap_free(c);
	shard_parts_close(&sh->parts);
	pasta_map_free(sh->clocks);
	pasta_map_free(sh->sources);
	pasta_plan_free(sh->plan);
	free((char *)sh->info.path);
	if (sh->strings)
		munmap(sh->strings, sh->string_capacity * sizeof(*sh->strings));
	free(sh->frames);
	free(sh->names);
	free(sh);
}

int pasta_shard_read(const struct pasta_shard *sh, struct pasta_decoder *d, uint64_t offset,
		     uint64_t kinds, struct pasta_frame *f, struct pasta_block *block,
		     struct pasta_shard_tally *tally)
{
	struct pasta_mapping map = {.strings = sh->strings,
				    .string_count = sh->string_count,
				    .proc = sh->number,
				    .kinds = kinds,
				    .offset = sh->offset};
	void *payload;
	int r = -EBADMSG;

	block->size = block->count = 0;
	if (shard_read_at(&sh->parts, f, sizeof(*f), offset) != (ssize_t)sizeof(*f) ||
	    !pasta_frame_head_ok(f))
		return r;
	payload = f->schema == sh->schema ? pasta_decoder_payload(d, f->size) : NULL;
	if (payload &&
	    shard_read_at(&sh->parts, payload, f->size, offset + sizeof(*f)) == (ssize_t)f->size) {
		map.clock = shard_clock(sh, f->clock);
		r = pasta_decode_events(d, sh->plan, f, payload, &map, block);
	}
	if (r) {
		block->size = block->count = 0;
		tally->damaged += shard_frame_bytes(f);
	}
	if (shard_is_state(f))
		return r;
	*(r ? &tally->unreadable : &tally->captured) += f->count;
	if (r)
		return r;
	tally->unknown += block->unknown;
	return 0;
}

static uint64_t shard_own_next(const struct pasta_shard *sh)
{
	const struct pasta_source *own = pasta_map_find(sh->sources, 0);

	return own ? own->next : 0;
}

bool pasta_shard_has_end(const struct pasta_shard *sh)
{
	return !(sh->head.flags & PASTA_SHARD_ENDS) || (sh->own && sh->own == shard_own_next(sh));
}

uint64_t pasta_shard_missing(const struct pasta_shard *sh)
{
	uint64_t next = shard_own_next(sh), own = sh->own > next ? sh->own : next;
	uint64_t texts = sh->string_count ? sh->string_count - 1 : 0;

	if (!(sh->head.flags & PASTA_SHARD_ENDS))
		return 0;
	return own - sh->own_found + sh->texts_missing +
	       (sh->texts > texts ? sh->texts - texts : 0);
}

void pasta_shard_loss(const struct pasta_shard *sh, struct pasta_loss_summary *loss)
{
	struct pasta_source *s;
	size_t at = 0;
	uint64_t key, missing = 0;

	*loss = (struct pasta_loss_summary){.captured = sh->tally.captured,
					    .unknown = sh->tally.unknown};
	while ((s = pasta_map_next(sh->sources, &at, &key))) {
		uint64_t pushed = !key || s->next > s->pushed ? s->next : s->pushed;

		missing += key ? pushed - s->found : 0;
		for (int i = 1; i < PASTA_LOSS_COUNT; i++)
			loss->by_reason[i] += s->dropped[i];
	}
	loss->damaged = missing + sh->tally.unreadable;
	loss->dropped = loss->damaged;
	for (int i = 1; i < PASTA_LOSS_COUNT; i++)
		loss->dropped += loss->by_reason[i];
	loss->expected = loss->captured + loss->dropped;
	loss->damaged_bytes =
		sh->skipped + sh->tally.damaged + (sh->size > sh->at ? sh->size - sh->at : 0);
}
