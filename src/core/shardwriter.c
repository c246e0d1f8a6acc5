/* shardwriter.c - writes shards of events that the agent did not record, such as imported ones. */
#include "core/shardwriter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pasta/map.h>

#include "core/shardfile.h"
#include "core/strings.h"

enum { ROOM = 4096, TEXT = 2 << 20 };
_Static_assert(TEXT <= PASTA_FRAME_BYTES && PASTA_SHARDWRITER_STRING + 5 <= TEXT, "strings fit");

struct source {
	uint32_t clock, count; /* `count`: number of buffered events */
	uint64_t seq;	       /* number of events written */
	uint64_t dropped[PASTA_LOSS_COUNT];
	uint8_t *data;
	size_t size, capacity;
};

struct pasta_shardwriter {
	struct pasta_shardfile file;
	char *path;
	int error;
	struct pasta_encoder *encoder;
	const struct pasta_event **events; /* array of PASTA_FRAME_EVENTS pointers */
	struct pasta_map *sources;	   /* struct source, by number */
	/* The source of the previous event. It is cached, because consecutive events mostly have
	 * the same source. */
	struct source *recent;
	uint32_t recent_number;
	size_t buffered; /* number of bytes allocated for events, over all sources */
	/* Maps string ids of this process to string ids of the shard. The values are of type
	 * uint32_t. */
	struct pasta_map *ids;
	uint32_t strings; /* number of string ids assigned so far */
	uint8_t *text;	  /* buffer of TEXT bytes for strings that have not been written yet */
	size_t text_size;
	uint32_t text_count;
	uint64_t last; /* the latest time of an event, on the clock of the host */
};

static void writer_free(struct pasta_shardwriter *w)
{
	struct source *s;
	size_t at = 0;

	while (w->sources && (s = pasta_map_next(w->sources, &at, NULL)))
		free(s->data);
	pasta_map_free(w->sources);
	pasta_map_free(w->ids);
	if (w->encoder)
		munmap(w->encoder, pasta_encoder_size());
	if (w->file.fd >= 0)
		close(w->file.fd);
	free(w->events);
	free(w->text);
	free(w->path);
	free(w);
}

static struct pasta_encoder *writer_encoder_new(void)
{
	void *memory = mmap(NULL, pasta_encoder_size(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : pasta_encoder_init(memory);
}

struct pasta_shardwriter *pasta_shardwriter_adopt(int fd, const char *path,
						  const struct pasta_shard_head *head,
						  struct pasta_error *err)
{
	struct pasta_shardwriter *w = calloc(1, sizeof(*w));
	struct pasta_shard_head own = *head;
	int r = 0;

	if (!w) {
		close(fd);
		pasta_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	w->file.fd = fd;
	w->path = strdup(path);
	w->encoder = writer_encoder_new();
	w->events = malloc(PASTA_FRAME_EVENTS * sizeof(*w->events));
	w->sources = pasta_map_new(sizeof(struct source));
	w->ids = pasta_map_new(sizeof(uint32_t));
	w->text = malloc(TEXT);
	if (!w->path || !w->encoder || !w->events || !w->sources || !w->ids || !w->text)
		pasta_fail(err, -ENOMEM, "out of memory");
	else if ((r = pasta_shardfile_begin(&w->file, &own, w->encoder)))
		pasta_fail(err, r, "cannot write %s: %s", path, strerror(-r));
	else
		return w;
	writer_free(w);
	return NULL;
}

struct pasta_shardwriter *pasta_shardwriter_new(const char *path,
						const struct pasta_shard_head *head,
						struct pasta_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	struct pasta_shardwriter *w;

	if (fd < 0) {
		pasta_fail(err, -errno, "cannot create %s: %s", path, strerror(errno));
		return NULL;
	}
	w = pasta_shardwriter_adopt(fd, path, head, err);
	if (!w)
		unlink(path);
	return w;
}

/* Stores an error, unless an error is stored already. After an error, nothing is written. Returns
 * the stored error. */
static int writer_fail(struct pasta_shardwriter *w, int error)
{
	if (error && !w->error)
		w->error = error;
	return w->error;
}

static int writer_append(struct pasta_shardwriter *w, const void *frame, size_t size)
{
	return w->error ? w->error : writer_fail(w, pasta_shardfile_append(&w->file, frame, size));
}

static int writer_flush_strings(struct pasta_shardwriter *w)
{
	const void *frame;
	size_t size;

	if (!w->text_count)
		return w->error;
	frame = pasta_encode_plain(w->encoder, PASTA_FRAME_STRINGS, w->text, w->text_size,
				   w->strings - w->text_count + 1, w->text_count, &size);
	w->text_size = w->text_count = 0;
	return writer_append(w, frame, size);
}

uint32_t pasta_shardwriter_intern(struct pasta_shardwriter *w, const void *bytes, size_t size)
{
	size_t n = size < PASTA_SHARDWRITER_STRING ? size : PASTA_SHARDWRITER_STRING;
	uint32_t known = pasta_strings_add(bytes, n);
	uint32_t *id = known ? pasta_map_add(w->ids, known) : NULL;

	if (!id) {
		writer_fail(w, -ENOMEM);
		return 0;
	}
	if (!*id) {
		if (w->text_size + n + 5 > TEXT)
			writer_flush_strings(w);
		w->text_size += pasta_encode_string(w->text + w->text_size, bytes, (uint32_t)n);
		w->text_count++;
		*id = ++w->strings;
	}
	return *id;
}

uint32_t pasta_shardwriter_str(struct pasta_shardwriter *w, const char *text)
{
	return pasta_shardwriter_intern(w, text, strlen(text));
}

static struct source *writer_source(struct pasta_shardwriter *w, uint32_t number)
{
	if (!w->recent || w->recent_number != number) {
		w->recent = pasta_map_add(w->sources, number);
		w->recent_number = number;
		if (!w->recent)
			writer_fail(w, -ENOMEM);
	}
	return w->recent;
}

static int writer_flush_source(struct pasta_shardwriter *w, uint32_t number, struct source *s)
{
	struct pasta_frame_meta meta = {.source = number,
					.clock = s->clock,
					.seq = s->seq,
					.flags = number ? 0 : PASTA_FRAME_STATE};
	size_t at = 0, size;
	const void *frame;

	if (!s->count)
		return w->error;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct pasta_event *ev = (const void *)(s->data + at);

		if (!number && ev->kind == PASTA_KIND_CLOCK)
			meta.flags |= PASTA_FRAME_CLOCK;
		w->events[i] = ev;
		at += ev->size;
	}
	writer_flush_strings(w);
	frame = pasta_encode_events(w->encoder, w->events, s->count, &meta, &size);
	s->seq += s->count;
	s->size = s->count = 0;
	return writer_append(w, frame, size);
}

/* Writes the buffered events of source 0 before the events of another source. A reader of a
 * truncated file then has the events of source 0, which it needs first. */
static int writer_flush(struct pasta_shardwriter *w, uint32_t number, struct source *s)
{
	struct source *state = number ? pasta_map_find(w->sources, 0) : NULL;

	if (state)
		writer_flush_source(w, 0, state);
	return writer_flush_source(w, number, s);
}

static int writer_flush_all(struct pasta_shardwriter *w)
{
	struct source *s;
	size_t at = 0;
	uint64_t number;

	while ((s = pasta_map_next(w->sources, &at, &number))) {
		writer_flush(w, (uint32_t)number, s);
		free(s->data);
		s->data = NULL;
		s->capacity = 0;
	}
	w->buffered = 0;
	return w->error;
}

/* Makes space for `size` more bytes. Buffers start small, because there may be many sources. */
static int writer_reserve(struct pasta_shardwriter *w, struct source *s, size_t size)
{
	size_t n = s->capacity ? s->capacity * 2 : ROOM;
	uint8_t *data;

	if (s->size + size <= s->capacity)
		return 0;
	if (w->buffered + n - s->capacity > PASTA_SHARDWRITER_MEMORY) {
		if (writer_flush_all(w))
			return w->error;
		n = ROOM;
	}
	data = realloc(s->data, n);
	if (!data)
		return writer_fail(w, -ENOMEM);
	w->buffered += n - s->capacity;
	s->data = data;
	s->capacity = n;
	return 0;
}

static int writer_put(struct pasta_shardwriter *w, uint32_t number, const struct pasta_event *ev)
{
	struct source *s = writer_source(w, number);

	if (w->error)
		return w->error;
	if (ev->kind >= PASTA_KIND_MAX || !ev->size || ev->size != pasta_kinds[ev->kind].size)
		return writer_fail(w, -EINVAL);
	if (writer_reserve(w, s, ev->size))
		return w->error;
	memcpy(s->data + s->size, ev, ev->size);
	s->size += ev->size;
	if (s->clock == PASTA_CLOCK_RAW && ev->time > w->last)
		w->last = ev->time;
	return ++s->count == PASTA_FRAME_EVENTS ? writer_flush(w, number, s) : 0;
}

int pasta_shardwriter_clock(struct pasta_shardwriter *w, uint32_t source, uint32_t clock)
{
	struct source *s = writer_source(w, source);

	if (!source || (s && (s->seq || s->count)))
		return writer_fail(w, -EINVAL);
	if (s)
		s->clock = clock;
	return w->error;
}

int pasta_shardwriter_event(struct pasta_shardwriter *w, uint32_t source,
			    const struct pasta_event *ev)
{
	return source ? writer_put(w, source, ev) : writer_fail(w, -EINVAL);
}

int pasta_shardwriter_state(struct pasta_shardwriter *w, const struct pasta_event *ev)
{
	return writer_put(w, 0, ev);
}

int pasta_shardwriter_drop(struct pasta_shardwriter *w, uint32_t source, enum pasta_loss_sub reason,
			   uint64_t count)
{
	struct source *s = writer_source(w, source);

	if (reason <= PASTA_LOSS_ACCOUNT || reason >= PASTA_LOSS_COUNT)
		return writer_fail(w, -EINVAL);
	if (s)
		s->dropped[reason] += count;
	return w->error;
}

static void writer_put_loss(struct pasta_shardwriter *w, uint32_t source, unsigned int reason,
			    const struct source *s)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(loss),
				 .kind = PASTA_KIND_LOSS,
				 .sub = (uint8_t)reason,
				 .time = w->last};

	ev.loss.source = source;
	ev.loss.pushed = source ? s->seq : 0;
	ev.loss.dropped = s->dropped[reason];
	writer_put(w, 0, &ev);
}

/* Writes the last event of the shard (see PASTA_SHARD_ENDS). */
static void writer_put_end(struct pasta_shardwriter *w)
{
	const struct source *own = writer_source(w, 0);
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(loss),
				 .kind = PASTA_KIND_LOSS,
				 .sub = PASTA_LOSS_ACCOUNT,
				 .time = w->last};

	if (!own)
		return;
	ev.loss.pushed = own->seq + own->count + 1;
	ev.loss.dropped = w->strings;
	writer_put(w, 0, &ev);
}

static void writer_put_accounts(struct pasta_shardwriter *w)
{
	const struct source *s;
	size_t at = 0;
	uint64_t number;

	writer_source(w, 0); /* add source 0 now, because no source may be added during the loop */
	while (!w->error && (s = pasta_map_next(w->sources, &at, &number)))
		for (unsigned int i = number ? 0 : 1; i < PASTA_LOSS_COUNT; i++)
			if (i == PASTA_LOSS_ACCOUNT || s->dropped[i])
				writer_put_loss(w, (uint32_t)number, i, s);
}

int pasta_shardwriter_close(struct pasta_shardwriter *w, struct pasta_error *err)
{
	int r;

	if (!w)
		return 0;
	writer_flush_all(w);
	writer_put_accounts(w);
	writer_put_end(w);
	writer_flush_all(w);
	writer_flush_strings(w);
	r = w->error;
	if (close(w->file.fd) && !r)
		r = -errno;
	w->file.fd = -1;
	if (r)
		pasta_fail(err, r, "cannot write %s: %s", w->path, strerror(-r));
	writer_free(w);
	return r;
}
