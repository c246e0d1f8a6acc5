/* segment.c - creates the ring file, and adds segments to it. A segment contains a ring or
 * strings. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/state.h"

enum {
	RING_MAX = 8 << 20,
	RING_MIN = 16 << 10,
	SHARE = 32, /* a ring uses at most 1/SHARE of the remaining memory */
};

void *pasta_memory_new(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void pasta_memory_free(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

struct part {
	uint64_t offset, size;
	void *at; /* NULL if the part is not mapped */
	bool create;
};

/* Maps a part of the ring file. The part's disk blocks are allocated first, so that a full disk is
 * an error here and not a SIGBUS later. The mapping needs no open descriptor. */
static int segment_map(void *arg)
{
	static const char zeros[4096];
	struct part *part = arg;
	struct pasta_file file;
	int fd, error = 0;

	pasta_file_same(&file, &pasta_ring_file);
	fd = part->create ? pasta_ring_file.fd : pasta_file_fd(&file);
	if (fd < 0)
		return -errno;
	if (fallocate(fd, 0, (off_t)part->offset, (off_t)part->size)) {
		error = errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
		for (uint64_t at = 0; !error && at < part->size; at += sizeof(zeros))
			if (pwrite(fd, zeros, sizeof(zeros), (off_t)(part->offset + at)) !=
			    sizeof(zeros))
				error = errno ? -errno : -EIO;
	}
	if (!error) {
		part->at = mmap(NULL, part->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				(off_t)part->offset);
		error = part->at == MAP_FAILED ? -errno : 0;
	}
	pasta_file_close(&file);
	if (error)
		part->at = NULL;
	else
		madvise(part->at, part->size, MADV_DONTFORK);
	return error;
}

int pasta_ringfile_create(const char *path)
{
	struct pasta_state *s = pasta_state;
	struct part part = {.size = PASTA_RINGFILE_HEAD, .create = true};
	int r = pasta_file_create(&pasta_ring_file, path);

	if (!r)
		r = segment_map(&part);
	pasta_file_close(&pasta_ring_file);
	if (r)
		return r;
	s->file = part.at;
	s->file_end = PASTA_RINGFILE_HEAD;
	s->used = PASTA_RINGFILE_HEAD;
	return 0;
}

static void *segment_new(uint64_t offset, uint64_t size)
{
	struct part part = {.offset = offset, .size = size};

	pasta_aside(segment_map, &part);
	return part.at;
}

/* Adds a segment. If the file cannot be extended, the segment is in ordinary memory, which cannot
 * be recovered after a crash. This happens, for example, if the disk is full or the program has
 * changed its root directory. */
void *pasta_segment_add(enum pasta_segment_type type, uint64_t size)
{
	struct pasta_state *s = pasta_state;
	uint32_t i = atomic_load_explicit(&s->file->segments, memory_order_relaxed);
	struct pasta_segment *entry = &s->file->segment[i];

	if (i >= PASTA_SEGMENTS_MAX || s->used + size > pasta_config.memory)
		return NULL;
	s->segment[i] = segment_new(s->file_end, size);
	*entry =
		(struct pasta_segment){.offset = s->file_end, .size = size, .type = (uint16_t)type};
	if (s->segment[i]) {
		s->file_end += size;
		entry->in_file = 1;
	} else {
		s->segment[i] = pasta_memory_new(size);
	}
	entry->sum = pasta_segment_sum(s->file, i);
	if (!s->segment[i])
		return NULL;
	s->used += size;
	if (type == PASTA_SEGMENT_RING)
		((struct pasta_ring *)s->segment[i])->size = size - PASTA_RING_DATA;
	else
		((struct pasta_strings *)s->segment[i])->size = size - sizeof(struct pasta_strings);
	return s->segment[i];
}

void pasta_segment_publish(void)
{
	atomic_fetch_add_explicit(&pasta_state->file->segments, 1, memory_order_release);
}

static uint64_t ring_used(const struct pasta_ring *r)
{
	return atomic_load_explicit(&r->head, memory_order_relaxed) -
	       atomic_load_explicit(&r->tail, memory_order_acquire);
}

/* Among the rings of ended threads, returns the ring with the most room. Returns NULL if no such
 * ring exists. */
static struct pasta_ring *ring_find_closed(void)
{
	struct pasta_state *s = pasta_state;
	uint32_t n = atomic_load_explicit(&s->file->segments, memory_order_relaxed);
	struct pasta_ring *best = NULL;

	for (uint32_t i = 0; i < n; i++) {
		struct pasta_ring *r = s->segment[i];

		if (s->file->segment[i].type == PASTA_SEGMENT_RING &&
		    atomic_load_explicit(&r->state, memory_order_acquire) == PASTA_RING_CLOSED &&
		    (!best || r->size - ring_used(r) > best->size - ring_used(best)))
			best = r;
	}
	return best;
}

static struct pasta_ring *ring_add(uint32_t clock, bool port)
{
	uint64_t left = pasta_config.memory - pasta_state->used, size = RING_MAX;
	struct pasta_ring *r;

	while (size > RING_MIN && size > left / SHARE)
		size /= 2;
	r = pasta_segment_add(PASTA_SEGMENT_RING, PASTA_RING_DATA + size);
	if (!r)
		return NULL;
	r->source = ++pasta_state->sources;
	r->clock = clock;
	r->port = port;
	r->sum = pasta_ring_sum(pasta_state->file, r);
	for (uint32_t i = 0; i < PASTA_LOSS_COUNT; i++)
		atomic_init(&r->dropped[i], pasta_seal(0, i));
	pasta_segment_publish();
	return r;
}

struct pasta_ring *pasta_ring_pop(uint32_t tid, uint32_t clock, bool port)
{
	struct pasta_ring *closed = port ? NULL : ring_find_closed(), *r = NULL;

	if (!closed || ring_used(closed) > closed->size / 2)
		r = ring_add(clock, port);
	if (!r)
		r = closed;
	if (!r)
		return NULL;
	prctl(PR_GET_NAME, r->name);
	atomic_store_explicit(&r->tid, tid, memory_order_release);
	atomic_store_explicit(&r->state, PASTA_RING_OPEN, memory_order_release);
	return r;
}
