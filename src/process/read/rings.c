/* rings.c - extracts the events that are in a ring file but not in the shard, and encodes them as
 * frames. */
#include "process/read/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/shardfile.h"
#include "process/io/files.h"

enum {
	/* Largest number of events that a producer publishes at once. */
	OWN = 64,
	RESYNC = 65536,
	STRINGS_SKIP = 4,
	UNPUBLISHED = 4096 / PASTA_EVENT_HEAD
};
/* Maximum size of a segment in bytes. The agent makes segments of at most 8 MiB. */
#define SEGMENT_MAX (UINT64_C(64) << 20)
#define PAGE 4096

/* The data of one call of pasta_rings_extract. */
struct rings {
	const struct pasta_rings *in;
	const struct pasta_ringfile *file;
	const struct pasta_shard *shard;
	struct pasta_rings_found *found;
	struct pasta_shardfile out;
	struct pasta_encoder *encoder;
	const struct pasta_event **events;
	struct pasta_event own[OWN];
	uint32_t own_count;
	uint64_t own_seq;
	/* Id of the next string to extract. The shard already has the strings with smaller ids. */
	uint64_t next_string;
	uint32_t rings; /* number of ring entries found in the segment table so far */
};

/* -- Frames -- */

static int rings_append(struct rings *s, const void *frame, size_t size)
{
	return pasta_shardfile_append(&s->out, frame, size);
}

static int rings_flush_own(struct rings *s)
{
	struct pasta_frame_meta meta = {.seq = s->own_seq, .flags = PASTA_FRAME_STATE};
	const void *frame;
	size_t size;

	if (!s->own_count)
		return 0;
	for (uint32_t i = 0; i < s->own_count; i++)
		s->events[i] = &s->own[i];
	frame = pasta_encode_events(s->encoder, s->events, s->own_count, &meta, &size);
	s->own_seq += s->own_count;
	s->own_count = 0;
	return rings_append(s, frame, size);
}

static int rings_put_loss(struct rings *s, uint32_t source, unsigned int reason, uint64_t pushed,
			  uint64_t dropped)
{
	struct pasta_event *ev = &s->own[s->own_count++];
	/* Don't use the current time, because the crash may be long ago. */
	uint64_t last = s->shard ? s->shard->last_clock : 0;

	memset(ev, 0, sizeof(*ev));
	ev->size = PASTA_EVENT_SIZE(loss);
	ev->kind = PASTA_KIND_LOSS;
	ev->sub = (uint8_t)reason;
	ev->time = last > s->file->raw ? last : s->file->raw;
	ev->loss.source = source;
	ev->loss.pushed = pushed;
	ev->loss.dropped = dropped;
	return s->own_count == OWN ? rings_flush_own(s) : 0;
}

/* Emits a loss record for each loss counter that is not 0. If a counter is damaged, skips it; the
 * number of missing events is then unknown. */
static int rings_put_losses(struct rings *s, uint32_t source, uint64_t pushed,
			    const _Atomic uint64_t *counters)
{
	int r = source ? rings_put_loss(s, source, PASTA_LOSS_ACCOUNT, pushed, 0) : 0;

	for (uint32_t i = 1; !r && i < PASTA_LOSS_COUNT; i++) {
		uint64_t dropped;

		if (!pasta_unseal(atomic_load(&counters[i]), i, &dropped))
			s->found->damaged = s->found->uncounted = true;
		else if (dropped)
			r = rings_put_loss(s, source, i, pushed, dropped);
	}
	return r;
}

/* -- Segments -- */

/* Reads `size` bytes of the ring file, starting at `offset`; the caller frees them. Bytes past the
 * end of the file become zero and count as damage. Returns NULL when out of memory. */
static void *rings_load(struct rings *s, uint64_t offset, uint64_t size)
{
	char *bytes = aligned_alloc(PAGE, (size + PAGE - 1) & ~(uint64_t)(PAGE - 1));
	ssize_t n;

	if (!bytes) {
		s->found->damaged = s->found->unread = true;
		return NULL;
	}
	n = pasta_files_read_at(s->in->fd, bytes, size, offset);
	s->found->unread = s->found->unread || n < 0;
	n = n < 0 ? 0 : n;
	memset(bytes + n, 0, size - (size_t)n);
	if (n < (ssize_t)size)
		s->found->damaged = true;
	return bytes;
}

/* -- Rings -- */

struct rings_part {
	uint64_t at, seq; /* position in the ring at which to start, and sequence number of the
			   * event there */
	uint64_t end;	  /* position after the last intact record */
	uint64_t count;	  /* number of events from `at` to `end` */
	bool torn;	  /* some bytes from `at` to `end` are damaged */
};

/* Returns the position after the record at position `at`. Returns 0 if there is no intact record,
 * or if the record ends more than the size of the ring after part->at. */
static uint64_t rings_step(const struct pasta_ring *r, uint64_t seed, struct rings_part *part,
			   uint64_t at)
{
	uint64_t next = pasta_ring_next(r, seed, at);

	if (!next || next - part->at > r->size)
		return 0;
	part->count++;
	part->end = next;
	return next;
}

/* Finds the end of the intact records. If the end does not agree with the producer's counters,
 * searches for further records after a damaged one. The size in a damaged record is unreliable, so
 * the search tries every position after it. */
static void rings_find_end(const struct pasta_ring *r, uint64_t seed, struct rings_part *part)
{
	uint64_t at = part->at, limit = part->at + r->size, next;

	part->end = part->at;
	while ((next = rings_step(r, seed, part, at)))
		at = next;
	if (atomic_load(&r->head) == at && atomic_load(&r->pushed) <= part->seq + part->count)
		return;
	for (at += 8; at + 8 < limit; at = next ? next : at + 8) {
		next = rings_step(r, seed, part, at);
		part->torn = part->torn || next;
	}
}

/* Returns the position in the ring at which to start, which is where the shard's frames of this
 * source end. If the ring no longer has that position, returns the ring's tail; the events in
 * between are missing. */
static struct rings_part rings_begin(struct rings *s, const struct pasta_ring *r, uint64_t seed,
				     uint32_t source)
{
	const struct pasta_source *known =
		s->shard ? pasta_map_find(s->shard->sources, source) : NULL;
	struct rings_part part = {.at = known ? known->pos : 0, .seq = known ? known->next : 0};
	uint64_t tail = atomic_load(&r->tail), head = atomic_load(&r->head);
	uint64_t pushed = atomic_load(&r->pushed),
		 drained = r->drained < pushed ? r->drained : pushed;

	if (part.at % 8 || part.at > UINT64_MAX - 2 * r->size)
		part.at = part.seq = 0; /* the position is invalid */
	if (pasta_ring_next(r, seed, part.at) || tail <= part.at || tail % 8 ||
	    tail > UINT64_MAX - 2 * r->size)
		return part;
	/* The ring no longer has the events before its tail, and no frame of the shard has them
	 * either. */
	if (pasta_ring_next(r, seed, tail) || (tail == head && drained > part.seq)) {
		part.at = tail;
		part.seq = drained > part.seq ? drained : part.seq;
		s->found->gap = true;
	}
	return part;
}

/* Checks the head of a ring. If the head's checksum is wrong, sets the size and the source from the
 * segment table. Returns false if the process has not finished creating the ring. */
static bool rings_repair(struct rings *s, struct pasta_ring *r, uint64_t space, bool published)
{
	uint64_t ignored;

	/* If the process has not finished creating the ring, the ring has no events, and its
	 * counters have no checksums. */
	if (!published && !pasta_unseal(atomic_load(&r->dropped[1]), 1, &ignored))
		return false;
	if (r->size == space && r->source && r->sum == pasta_ring_sum(s->file, r))
		return true;
	s->found->damaged = true;
	r->size = space;
	if (r->source && r->sum == pasta_ring_sum(s->file, r))
		return true;
	r->source = s->rings;
	return true;
}

static int rings_put_events(struct rings *s, const struct pasta_ring *r, uint64_t seed,
			    struct rings_part *part)
{
	uint64_t ignored = 0;
	size_t n, size;

	while ((n = pasta_ring_collect(r, seed, &part->at, part->end, s->events, PASTA_FRAME_EVENTS,
				       &ignored))) {
		struct pasta_frame_meta meta = {
			.source = r->source, .clock = r->clock, .seq = part->seq, .pos = part->at};
		const void *frame = pasta_encode_events(s->encoder, s->events, n, &meta, &size);
		int error = rings_append(s, frame, size);

		if (error)
			return error;
		part->seq += n;
		s->found->events += n;
	}
	return 0;
}

/* Counts the missing events. The producer's two counters, `head` and `pushed`, have no checksum, so
 * they must agree with each other and with the records found. There may be up to UNPUBLISHED more
 * records than the counters show, because a producer writes records before it updates the counters.
 * Returns the number of events that were pushed. */
static uint64_t rings_count_missing(struct rings *s, const struct pasta_ring *r,
				    const struct rings_part *part)
{
	uint64_t head = atomic_load(&r->head), pushed = atomic_load(&r->pushed);
	uint64_t more = pushed > part->seq ? pushed - part->seq : 0;

	if (!part->torn && head <= part->end && part->end - head <= r->size && !more &&
	    part->seq - pushed <= UNPUBLISHED)
		return part->seq;
	s->found->damaged = true;
	if (more && more <= r->size / PASTA_EVENT_HEAD) {
		s->found->missing += more;
		return pushed;
	}
	/* If only the counter `head` is damaged, no event is missing. */
	if (part->torn || pushed != part->seq)
		s->found->uncounted = true;
	return part->seq;
}

static int rings_ring(struct rings *s, struct pasta_ring *r, uint64_t space, bool published)
{
	struct rings_part part;
	uint64_t seed;
	int error;

	if (!rings_repair(s, r, space, published))
		return 0;
	seed = pasta_ring_seed(s->file, r->source);
	part = rings_begin(s, r, seed, r->source);
	rings_find_end(r, seed, &part);
	error = rings_put_events(s, r, seed, &part);
	return error ? error
		     : rings_put_losses(s, r->source, rings_count_missing(s, r, &part), r->dropped);
}

/* If a ring is too large for the available memory, counts all events of the ring as missing. Reads
 * only the ring's head. */
static int rings_count_unread(struct rings *s, const struct pasta_segment *seg)
{
	struct pasta_ring *r = rings_load(s, seg->offset, PASTA_RING_DATA);
	int error = 0;

	if (!r)
		return -ENOMEM;
	if (r->source && r->sum == pasta_ring_sum(s->file, r)) {
		const struct pasta_source *known =
			s->shard ? pasta_map_find(s->shard->sources, r->source) : NULL;
		struct rings_part part = {.seq = known ? known->next : 0, .torn = true};

		error = rings_put_losses(s, r->source, rings_count_missing(s, r, &part),
					 r->dropped);
	} else {
		s->found->uncounted = true;
	}
	free(r);
	return error;
}

/* -- Strings -- */

/* Returns the string at position `at`, or NULL if its checksum does not match the string and this
 * id. */
static const struct pasta_string *rings_string(const struct rings *s, const struct pasta_strings *b,
					       uint64_t space, uint64_t at, uint64_t id)
{
	const struct pasta_string *string = (const void *)(b->data + at);

	if (at % 4 || at > space || space - at < sizeof(*string) ||
	    string->size > space - at - sizeof(*string))
		return NULL;
	return string->sum == pasta_string_sum(pasta_ring_seed(s->file, 0), id, string->bytes,
					       string->size)
		       ? string
		       : NULL;
}

/* Searches for the next intact string after a damaged one. Returns its position and sets *id.
 * Returns 0 if there is no such string. */
static uint64_t rings_next_string(const struct rings *s, const struct pasta_strings *b,
				  uint64_t space, uint64_t at, uint64_t *id)
{
	for (uint64_t skip = 1; skip <= STRINGS_SKIP; skip++)
		for (uint64_t next = at + 4; next < at + RESYNC && next < space; next += 4)
			if (rings_string(s, b, space, next, *id + skip)) {
				*id += skip;
				return next;
			}
	return 0;
}

/* Strings with consecutive ids, which will become one frame. */
struct rings_text {
	uint8_t *bytes;
	size_t size;
	uint64_t first;
	uint32_t count;
};

static int rings_flush_text(struct rings *s, struct rings_text *t)
{
	const void *frame;
	size_t size;

	if (!t->count)
		return 0;
	frame = pasta_encode_plain(s->encoder, PASTA_FRAME_STRINGS, t->bytes, t->size, t->first,
				   t->count, &size);
	t->size = t->count = 0;
	return rings_append(s, frame, size);
}

static int rings_put_string(struct rings *s, struct rings_text *t, uint64_t id,
			    const struct pasta_string *string)
{
	int error = 0;

	if (id < s->next_string)
		return 0;
	if (t->count && id != t->first + t->count)
		error = rings_flush_text(s, t);
	t->first = t->count ? t->first : id;
	t->size += pasta_encode_string(t->bytes + t->size, string->bytes, string->size);
	t->count++;
	/* The ids may skip numbers, because an earlier segment of strings may be missing. */
	s->next_string = id + 1;
	return error;
}

/* Extracts the strings of a segment. A buffer of `space` bytes is large enough, because no string
 * is longer in a frame than in the segment. */
static int rings_strings(struct rings *s, const struct pasta_strings *b, uint64_t space,
			 bool published)
{
	struct rings_text text = {.bytes = malloc(space)};
	uint64_t used = atomic_load(&b->used), at = 0, id = b->first;
	int error = text.bytes ? 0 : -ENOMEM;

	if (b->size != space || b->sum != pasta_strings_sum(s->file, b)) {
		/* The head of the segment is damaged, and only the head has the id of the first
		 * string. Without this id, no string can be identified. */
		s->found->damaged = s->found->damaged || published;
		free(text.bytes);
		return text.bytes ? 0 : -ENOMEM;
	}
	s->found->damaged = s->found->damaged || used > space;
	while (!error) {
		const struct pasta_string *string = rings_string(s, b, space, at, id);

		if (string) {
			error = rings_put_string(s, &text, id++, string);
			at += pasta_string_room(string->size);
		} else if (at >= used) {
			break;
		} else {
			s->found->damaged = true;
			at = used <= space ? rings_next_string(s, b, space, at, &id) : 0;
			if (!at)
				break;
		}
	}
	if (!error)
		error = rings_flush_text(s, &text);
	free(text.bytes);
	return error;
}

/* -- The table -- */

/* Returns whether a segment can be read. A segment that is not published yet may be incomplete. If
 * a published segment cannot be read, counts it as damage. */
static bool rings_usable(struct rings *s, uint32_t i, bool published)
{
	const struct pasta_segment *seg = &s->file->segment[i];

	if (!published && seg->sum != pasta_segment_sum(s->file, i))
		return false;
	if (seg->sum != pasta_segment_sum(s->file, i)) {
		s->found->damaged = s->found->uncounted = true;
		return false;
	}
	if (!seg->in_file) {
		s->found->unfiled += published && seg->type == PASTA_SEGMENT_RING;
		return false;
	}
	if (seg->offset % PAGE || seg->size < 2 * PAGE || seg->size > SEGMENT_MAX ||
	    seg->offset < PASTA_RINGFILE_HEAD || seg->offset > s->in->size ||
	    (seg->type == PASTA_SEGMENT_RING &&
	     (seg->size - PASTA_RING_DATA) & (seg->size - PASTA_RING_DATA - 1)) ||
	    (seg->type == PASTA_SEGMENT_STRINGS && seg->size > PASTA_FRAME_BYTES)) {
		s->found->damaged = s->found->uncounted = true;
		return false;
	}
	return true;
}

static int rings_segment(struct rings *s, uint32_t i, bool published)
{
	const struct pasta_segment *seg = &s->file->segment[i];
	void *bytes = rings_load(s, seg->offset, seg->size);
	int error;

	if (seg->type == PASTA_SEGMENT_RING)
		error = bytes ? rings_ring(s, bytes, seg->size - PASTA_RING_DATA, published)
			      : rings_count_unread(s, seg);
	else
		error = bytes ? rings_strings(s, bytes, seg->size - sizeof(struct pasta_strings),
					      published)
			      : -ENOMEM;
	free(bytes);
	return error;
}

/* Checks that the bytes after the last segment are zero. If they are not, an entry of the segment
 * table is missing. */
static void rings_check_rest(struct rings *s)
{
	uint64_t at = PASTA_RINGFILE_HEAD;
	off_t data;
	ssize_t n = 1;

	for (uint32_t i = 0; i < PASTA_SEGMENTS_MAX; i++) {
		const struct pasta_segment *seg = &s->file->segment[i];

		if (seg->in_file && seg->sum == pasta_segment_sum(s->file, i) &&
		    seg->offset + seg->size > at)
			at = seg->offset + seg->size;
	}
	data = at < s->in->size ? lseek(s->in->fd, (off_t)at, SEEK_DATA) : -1;
	if (data < 0 && (at >= s->in->size || errno == ENXIO))
		return;
	at = data > (off_t)at ? (uint64_t)data : at;
	for (uint64_t end = at + SEGMENT_MAX; at < end; at += (uint64_t)n) {
		n = pasta_files_read_at(s->in->fd, s->own, sizeof(s->own), at);
		if (n <= 0 || !pasta_rings_is_zero(s->own, (size_t)n))
			break;
	}
	if (n)
		s->found->damaged = s->found->uncounted = true;
}

/* Extracts all segments. Extracts the strings before the rings, because events refer to strings. */
static int rings_segments(struct rings *s)
{
	uint32_t n = atomic_load(&s->file->segments);
	int error = 0;

	if (n > PASTA_SEGMENTS_MAX) {
		s->found->damaged = true;
		/* The number of segments is damaged. Read all entries; each entry's checksum shows
		 * whether it is valid. */
		n = 0;
	}
	rings_check_rest(s);
	for (uint32_t i = 0; !error && i < PASTA_SEGMENTS_MAX; i++)
		if (s->file->segment[i].type == PASTA_SEGMENT_STRINGS && rings_usable(s, i, i < n))
			error = rings_segment(s, i, i < n);
	for (uint32_t i = 0; !error && i < PASTA_SEGMENTS_MAX; i++) {
		if (s->file->segment[i].type == PASTA_SEGMENT_STRINGS)
			continue;
		if (s->file->segment[i].type == PASTA_SEGMENT_RING)
			s->rings++;
		if (rings_usable(s, i, i < n) && s->file->segment[i].type == PASTA_SEGMENT_RING)
			error = rings_segment(s, i, i < n);
	}
	return error;
}

/* -- The extraction -- */

/* Counts the events of the writer itself, which are never in a ring. The events that no
 * frame contains are missing. */
static void rings_count_own(struct rings *s)
{
	uint64_t own;

	if (!pasta_unseal(atomic_load(&s->file->own), PASTA_OWN_SALT, &own))
		s->found->damaged = true;
	else if (own > s->own_seq)
		s->own_seq = own;
}

/* Appends the end record of a shard (see PASTA_SHARD_ENDS). */
static int rings_put_end(struct rings *s)
{
	int error = rings_flush_own(s);

	if (!error)
		error = rings_put_loss(s, 0, PASTA_LOSS_ACCOUNT, s->own_seq + 1,
				       s->next_string - 1);
	return error ? error : rings_flush_own(s);
}

/* Writes the head of the shard in the same form as the agent. */
static int rings_begin_shard(struct rings *s)
{
	struct pasta_shard_head head = {
		.raw = s->file->raw, .real = s->file->real, .pid = s->file->pid};

	memcpy(head.guid, s->file->guid, sizeof(head.guid));
	memcpy(head.boot, s->file->boot, sizeof(head.boot));
	return pasta_shardfile_begin(&s->out, &head, s->encoder);
}

int pasta_rings_extract(const struct pasta_rings *in, const struct pasta_shard *shard, int file,
			struct pasta_rings_found *found)
{
	size_t enc = pasta_encoder_size();
	void *memory = mmap(NULL, enc, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rings *s = calloc(1, sizeof(*s));
	const struct pasta_source *own = shard ? pasta_map_find(shard->sources, 0) : NULL;
	int error = -ENOMEM;

	if (s)
		s->events = malloc(PASTA_FRAME_EVENTS * sizeof(*s->events));
	if (s && s->events && memory != MAP_FAILED) {
		s->in = in;
		s->file = in->file;
		s->shard = shard;
		s->found = found;
		s->out.fd = file;
		s->encoder = pasta_encoder_init(memory);
		if (shard && shard->head.flags & PASTA_SHARD_ENDS)
			pasta_encoder_tag(s->encoder, shard->head.guid);
		s->own_seq = own ? own->next : 0;
		rings_count_own(s);
		s->next_string = shard && shard->string_count ? shard->string_count : 1;
		found->damaged = found->damaged || in->head != PASTA_RINGS_WHOLE;
		error = shard ? 0 : rings_begin_shard(s);
		if (!error)
			error = rings_segments(s);
		if (!error)
			error = rings_put_losses(s, 0, 0, s->file->lost);
		if (!error)
			error = rings_put_end(s);
	}
	if (s)
		free(s->events);
	free(s);
	if (memory != MAP_FAILED)
		munmap(memory, enc);
	return error;
}
