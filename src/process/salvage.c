/* salvage.c - what a process that died left in its rings, brought into its shard. */
#include "process/salvage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/ringfile.h"
#include "core/shardfile.h"
#include "process/shard.h"

enum { HALF_MADE_S = 10, OWN = 64 };

struct salvage {
	char ring_path[4096], shard_path[4096];
	int ring_fd;
	struct pasta_shardfile out;
	uint64_t size; /* of the ring file */
	const struct pasta_ringfile *file;
	struct pasta_shard *shard;
	struct pasta_decoder *decoder;
	struct pasta_encoder *encoder;
	const struct pasta_event **events;
	struct pasta_event own[OWN];
	uint32_t own_count;
	uint64_t own_seq, salvaged;
	struct pasta_err *err;
};

static int written(const struct salvage *s, int error)
{
	return !error ? 0
		      : pasta_fail(s->err, error,
				   "cannot write %s: %s; free some space and report again",
				   s->shard_path, strerror(-error));
}

static int append(struct salvage *s, const void *bytes, size_t size)
{
	return written(s, pasta_shardfile_append(&s->out, bytes, size));
}

/* In the same way as the agent would have begun it. */
static int begin_shard(struct salvage *s)
{
	struct pasta_shard_head head = {
		.raw = s->file->raw, .real = s->file->real, .pid = s->file->pid};

	memcpy(head.guid, s->file->guid, sizeof(head.guid));
	memcpy(head.boot, s->file->boot, sizeof(head.boot));
	return written(s, pasta_shardfile_begin(&s->out, &head, s->encoder));
}

static int open_shard(struct salvage *s)
{
	struct stat st;
	int r = 0;

	s->out.fd = open(s->shard_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (s->out.fd < 0 || fstat(s->out.fd, &st))
		return pasta_fail(s->err, -errno, "cannot open %s: %s", s->shard_path,
				  strerror(errno));
	if (st.st_size < (off_t)sizeof(struct pasta_shard_head))
		r = begin_shard(s);
	if (r)
		return r;
	s->shard = pasta_shard_open(s->shard_path, 0, s->decoder, s->err);
	if (!s->shard)
		return s->err->code;
	if (s->shard->error)
		return pasta_fail(s->err, s->shard->error, "cannot read %s: %s", s->shard_path,
				  strerror(-s->shard->error));
	/* A frame that was torn goes: what is appended would seem to be a part of it. What it held
	 * is still in its ring, for the ring is told after the frame is whole. */
	if (s->shard->at < s->shard->size && ftruncate(s->out.fd, (off_t)s->shard->at))
		return written(s, -errno);
	s->out.end = (s->shard->at + 7) & ~UINT64_C(7);
	return 0;
}

static int flush_own(struct salvage *s)
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
	return append(s, frame, size);
}

static int put_loss(struct salvage *s, uint32_t source, unsigned int reason, uint64_t pushed,
		    uint64_t dropped)
{
	struct pasta_event *ev = &s->own[s->own_count++];
	uint64_t last = s->shard->last_clock; /* now may be years later, or another boot */

	memset(ev, 0, sizeof(*ev));
	ev->size = PASTA_EVENT_SIZE(loss);
	ev->kind = PASTA_LOSS;
	ev->sub = (uint8_t)reason;
	ev->time = last > s->file->raw ? last : s->file->raw;
	ev->loss.source = source;
	ev->loss.pushed = pushed;
	ev->loss.dropped = dropped;
	return s->own_count == OWN ? flush_own(s) : 0;
}

static int put_losses(struct salvage *s, uint32_t source, uint64_t pushed,
		      const _Atomic uint64_t *dropped)
{
	int r = source ? put_loss(s, source, PASTA_LOSS_ACCOUNT, pushed, 0) : 0;

	for (unsigned int i = 1; !r && i < PASTA_LOSS_REASONS; i++) {
		uint64_t n;

		pasta_unseal(atomic_load(&dropped[i]), i, &n);
		if (n)
			r = put_loss(s, source, i, pushed, n);
	}
	return r;
}

static int salvage_ring(struct salvage *s, const struct pasta_ring *r, uint64_t space)
{
	uint64_t head = atomic_load(&r->head), at = atomic_load(&r->tail), seq = r->drained;
	uint64_t pushed = atomic_load(&r->pushed), damaged = 0;
	uint32_t source = r->source;
	struct pasta_source *known;
	int e;

	if (r->size != space || (space & (space - 1)) || !source)
		return 0; /* not a ring */
	known = pasta_map_add(s->shard->sources, source);
	if (!known)
		return pasta_fail(s->err, -ENOMEM, "out of memory");
	if (at % 8 || head > UINT64_MAX - space || at > head || head - at > space)
		at = head; /* nonsense: what it had is missing from its account */
	if (seq > pushed + 1 || pushed + 1 - seq > space / 8) {
		seq = known->next; /* nonsense, too: the program wrote where it should not */
		pushed = 0;
	}
	if (known->pos > at && known->pos <= head) {
		/* The frame was written, but the process died before the ring was told. */
		at = known->pos;
		seq = known->next;
	}
	while (at < head) {
		struct pasta_frame_meta meta = {.source = source, .clock = r->clock, .seq = seq};
		size_t size, n = pasta_ring_collect(r, pasta_ring_seed(s->file, source), &at, head,
						    s->events, PASTA_FRAME_EVENTS, &damaged);
		const void *frame;

		if (!n)
			break;
		meta.pos = at;
		frame = pasta_encode_events(s->encoder, s->events, n, &meta, &size);
		e = append(s, frame, size);
		if (e)
			return e;
		known->next = seq += n;
		known->pos = at;
		s->salvaged += n;
	}
	return put_losses(s, source, pushed, r->dropped);
}

/* Strings that are in no frame yet. Ids go on from block to block. */
static int salvage_strings(struct salvage *s, const struct pasta_strings *b, uint64_t space,
			   uint64_t *next)
{
	/* A string is no longer in a frame than in a block. One that no frame can hold is none. */
	uint8_t *text = space <= PASTA_FRAME_BYTES ? malloc(space) : NULL;
	uint64_t used = atomic_load(&b->used), first = 0;
	uint64_t id = b->first;
	uint32_t count = 0;
	size_t size = 0, frame_size;
	int r = 0;

	if (space > PASTA_FRAME_BYTES)
		return 0;
	if (!text)
		return pasta_fail(s->err, -ENOMEM, "out of memory");
	for (uint64_t at = 0; at + sizeof(struct pasta_string) <= used && used <= space; id++) {
		const struct pasta_string *entry = (const void *)(b->data + at);
		uint32_t n = entry->size;

		if (n > used - at - sizeof(*entry))
			break;
		if (id >= *next) { /* a block before it may be lost */
			first = count ? first : id;
			size += pasta_encode_string(text + size, entry->bytes, n);
			count++;
			*next = id + 1;
		}
		at += pasta_string_room(n);
	}
	if (count) {
		const void *frame = pasta_encode_plain(s->encoder, PASTA_FRAME_STRINGS, text, size,
						       first, count, &frame_size);

		r = append(s, frame, frame_size);
	}
	free(text);
	return r;
}

static const void *segment_at(const struct salvage *s, uint32_t i, uint32_t type, uint64_t *size)
{
	const struct pasta_segment *seg = &s->file->segment[i];

	*size = seg->size;
	if (!seg->in_file || seg->type != type || seg->offset % 4096 || seg->size < 8192 ||
	    seg->offset > s->size || seg->size > s->size - seg->offset)
		return NULL;
	return (const char *)s->file + seg->offset;
}

static int salvage_segments(struct salvage *s)
{
	uint32_t n = atomic_load(&s->file->segments);
	uint64_t size, next = s->shard->string_count ? s->shard->string_count : 1;
	const struct pasta_source *own = pasta_map_find(s->shard->sources, 0);
	const void *p;
	int r = 0;

	s->own_seq = own ? own->next : 0;
	n = n > PASTA_SEGMENTS_MAX ? PASTA_SEGMENTS_MAX : n;
	for (uint32_t i = 0; !r && i < n; i++)
		if ((p = segment_at(s, i, PASTA_SEGMENT_STRINGS, &size)))
			r = salvage_strings(s, p, size - sizeof(struct pasta_strings), &next);
	for (uint32_t i = 0; !r && i < n; i++)
		if ((p = segment_at(s, i, PASTA_SEGMENT_RING, &size)))
			r = salvage_ring(s, p, size - PASTA_RING_DATA);
	if (!r)
		r = put_losses(s, 0, 0, s->file->lost);
	return r ? r : flush_own(s);
}

/* Whether /proc/PID has this start time, and still maps the file: exec keeps both number and time,
 * but maps nothing. What cannot be read is taken for alive. */
static bool proc_alive(const struct salvage *s)
{
	char path[64], line[8192], *p;
	const char *name = strrchr(s->ring_path, '/') + 1;
	FILE *f;
	bool mapped = false;

	snprintf(path, sizeof(path), "/proc/%u/stat", s->file->pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || strtoull(p, NULL, 10) != s->file->start)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/maps", s->file->pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	while (!mapped && fgets(line, sizeof(line), f))
		mapped = strstr(line, name) != NULL;
	fclose(f);
	return mapped;
}

static bool same_boot(const struct salvage *s)
{
	char text[64] = "";
	uint8_t boot[16] = {0};
	size_t n = 0;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f)
		return true;
	if (fgets(text, sizeof(text), f))
		for (const char *p = text; *p && n < sizeof(boot); p += *p == '-' ? 1 : 2)
			if (*p != '-' && sscanf(p, "%2hhx", &boot[n]) == 1)
				n++;
	fclose(f);
	return !memcmp(boot, s->file->boot, sizeof(boot));
}

/* With its number, for another host may be called HOST-1. */
static bool same_host(const struct salvage *s)
{
	char host[256] = "", stem[300];
	const char *name = strrchr(s->ring_path, '/') + 1;
	int n;

	gethostname(host, sizeof(host) - 1);
	n = snprintf(stem, sizeof(stem), "%s-%u", host, s->file->pid);
	return !strncmp(name, stem, (size_t)n) && (name[n] == '-' || name[n] == '.');
}

static bool locked(const struct salvage *s)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return !fcntl(s->ring_fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static bool alive(const struct salvage *s)
{
	if (!same_boot(s)) /* the host was started again, or it is another one */
		return !same_host(s);
	return proc_alive(s);
}

/* 1: it is salvaged; 0: its process lives, or another sweeper has it; negative: it failed. */
static int salvage_file(struct salvage *s)
{
	struct stat st;
	bool whole;
	int r;

	s->ring_fd = open(s->ring_path, O_RDWR | O_CLOEXEC);
	if (s->ring_fd < 0)
		return errno == ENOENT ? 0
				       : pasta_fail(s->err, -errno, "cannot open %s: %s",
						    s->ring_path, strerror(errno));
	if (flock(s->ring_fd, LOCK_EX | LOCK_NB) || fstat(s->ring_fd, &st) || !st.st_nlink ||
	    locked(s))
		return 0;
	s->size = (uint64_t)st.st_size;
	if (s->size >= PASTA_RINGFILE_HEAD)
		s->file = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->ring_fd, 0);
	if (s->file == MAP_FAILED)
		s->file = NULL;
	whole = s->file && !memcmp(s->file->magic, PASTA_RINGFILE_MAGIC, sizeof(s->file->magic));
	if (!whole) { /* being made, or its maker died at it: then there is nothing in it */
		if (time(NULL) - st.st_mtime < HALF_MADE_S)
			return 0;
		return unlink(s->ring_path) ? 0 : 1;
	}
	if (alive(s))
		return 0;
	r = s->file->version == PASTA_RINGFILE_VERSION ? open_shard(s) : -EPROTONOSUPPORT;
	if (r == -EPROTONOSUPPORT || (!r && s->file->schema != s->shard->schema))
		r = pasta_fail(s->err, -EPROTONOSUPPORT,
			       "%s is of another version: report with the accelprof that ran it",
			       s->ring_path);
	if (!r)
		r = salvage_segments(s);
	if (!r && unlink(s->ring_path))
		r = pasta_fail(s->err, -errno, "cannot remove %s: %s", s->ring_path,
			       strerror(errno));
	return r ? r : 1;
}

static int salvage_one(const char *dir, const char *name, struct pasta_salvaged *out,
		       struct pasta_err *err)
{
	struct salvage *s = calloc(1, sizeof(*s));
	size_t enc = pasta_encoder_size();
	void *memory = mmap(NULL, enc, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (s) {
		s->ring_fd = s->out.fd = -1;
		s->err = err;
		s->decoder = pasta_decoder_new();
		s->events = malloc(PASTA_FRAME_EVENTS * sizeof(*s->events));
		snprintf(s->ring_path, sizeof(s->ring_path), "%s/%s", dir, name);
		snprintf(s->shard_path, sizeof(s->shard_path), "%s/%.*s.pst", dir,
			 (int)(strlen(name) - strlen(".ring")), name);
	}
	if (!s || memory == MAP_FAILED || !s->decoder || !s->events) {
		r = pasta_fail(err, -ENOMEM, "out of memory");
	} else {
		s->encoder = pasta_encoder_init(memory);
		r = salvage_file(s);
		out->events += s->salvaged;
	}
	if (s) {
		if (s->file)
			munmap((void *)(uintptr_t)s->file, s->size);
		if (s->ring_fd >= 0)
			close(s->ring_fd);
		if (s->out.fd >= 0)
			close(s->out.fd);
		pasta_shard_close(s->shard);
		pasta_decoder_free(s->decoder);
		free(s->events);
	}
	if (memory != MAP_FAILED)
		munmap(memory, enc);
	free(s);
	return r;
}

int pasta_salvage_sweep(const char *shards_dir, struct pasta_salvaged *out, struct pasta_err *err)
{
	DIR *d = opendir(shards_dir);
	struct pasta_err own = {0};
	struct dirent *e;
	int r = 0;

	err = err ? err : &own;
	if (!d)
		return pasta_fail(err, -errno, "cannot open %s: %s", shards_dir, strerror(errno));
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name);
		int one;

		if (n <= 5 || strcmp(e->d_name + n - 5, ".ring"))
			continue;
		one = salvage_one(shards_dir, e->d_name, out, err);
		out->processes += one > 0;
		out->alive += one == 0;
		out->failed += one < 0;
		r = one < 0 ? one : r;
	}
	closedir(d);
	return r;
}
