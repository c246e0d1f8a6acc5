/* segment.c - the ring file, its segments, and descriptors that the program may close. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/state.h"

enum {
	HIGH_FD = 512, /* out of the way of programs that count on low numbers */
	RING_MAX = 8 << 20,
	RING_MIN = 16 << 10,
	SHARE = 32, /* a ring takes at most this part of what memory is left */
};

struct pasta_file pasta_shard_file = {.fd = -1}, pasta_ring_file = {.fd = -1};

void pasta_signals_hold(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

void pasta_signals_release(const sigset_t *old)
{
	const struct timespec now = {0};
	sigset_t limit;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (!sigismember(old, SIGXFSZ))
		sigtimedwait(&limit, NULL, &now);
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

static int open_high(const char *path, int flags)
{
	int low = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0666), high, e;

	if (low < 0)
		return -1;
	high = fcntl(low, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0)
		return low;
	e = errno;
	close(low);
	errno = e;
	return high;
}

/* Salvage asks for the ring file's lock, to see that its owner lives; where there are no locks it
 * looks in /proc. */
static int adopt(struct pasta_file *f, int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	fcntl(fd, F_SETLK, &lock);
	f->fd = fd;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return fd;
}

/* -EEXIST where there is one already. */
int pasta_file_create(struct pasta_file *f, const char *path)
{
	snprintf(f->path, sizeof(f->path), "%s", path);
	return adopt(f, open_high(path, O_RDWR | O_CREAT | O_EXCL)) < 0 ? -errno : 0;
}

static bool is_ours(const struct pasta_file *f)
{
	struct stat st;

	return f->fd >= 0 && !fstat(f->fd, &st) && st.st_dev == f->dev && st.st_ino == f->ino;
}

int pasta_file_fd(struct pasta_file *f)
{
	struct pasta_file again = *f;

	if (is_ours(f))
		return f->fd;
	f->fd = -1;
	if (adopt(&again, open_high(f->path, O_RDWR)) < 0)
		return -1;
	if (again.dev != f->dev || again.ino != f->ino) {
		close(again.fd);
		errno = ESTALE;
		return -1;
	}
	*f = again;
	return f->fd;
}

void pasta_file_close(struct pasta_file *f)
{
	if (is_ours(f))
		close(f->fd);
	f->fd = -1;
}

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

/* Map part of the ring file, with its blocks allocated: a full disk is told here, not by SIGBUS. */
static void *map_part(uint64_t offset, uint64_t size)
{
	static const char zeros[4096];
	int fd = pasta_file_fd(&pasta_ring_file);
	void *p;

	if (fd < 0)
		return NULL;
	if (fallocate(fd, 0, (off_t)offset, (off_t)size)) {
		if (errno != EOPNOTSUPP && errno != ENOSYS)
			return NULL;
		for (uint64_t at = 0; at < size; at += sizeof(zeros))
			if (pwrite(fd, zeros, sizeof(zeros), (off_t)(offset + at)) != sizeof(zeros))
				return NULL;
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_DONTFORK);
	return p;
}

int pasta_ringfile_create(const char *path)
{
	struct pasta_state *s = pasta_state;
	int r = pasta_file_create(&pasta_ring_file, path);

	if (r < 0)
		return r;
	s->file = map_part(0, PASTA_RINGFILE_HEAD);
	if (!s->file)
		return -errno;
	s->file_end = PASTA_RINGFILE_HEAD;
	s->used = PASTA_RINGFILE_HEAD;
	return 0;
}

/* Where the file cannot be had any more (the disk is full, the program has changed its root) plain
 * memory serves, which salvage cannot see. */
void *pasta_segment_add(enum pasta_segment_type type, uint64_t size)
{
	struct pasta_state *s = pasta_state;
	uint32_t i = atomic_load_explicit(&s->file->segments, memory_order_relaxed);
	struct pasta_segment *entry = &s->file->segment[i];

	if (i >= PASTA_SEGMENTS_MAX || s->used + size > pasta_config.memory)
		return NULL;
	s->segment[i] = map_part(s->file_end, size);
	*entry = (struct pasta_segment){.offset = s->file_end, .size = size, .type = type};
	if (s->segment[i]) {
		s->file_end += size;
		entry->in_file = 1;
	} else {
		s->segment[i] = pasta_memory_new(size);
	}
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

/* The ring without a thread that has the most room. */
static struct pasta_ring *find_closed(void)
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

static struct pasta_ring *add_ring(uint32_t clock, bool port)
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
	pasta_segment_publish();
	return r;
}

struct pasta_ring *pasta_ring_take(uint32_t tid, uint32_t clock, bool port)
{
	struct pasta_ring *closed = port ? NULL : find_closed(), *r = NULL;

	if (!closed || ring_used(closed) > closed->size / 2)
		r = add_ring(clock, port);
	if (!r)
		r = closed;
	if (!r)
		return NULL;
	prctl(PR_GET_NAME, r->name);
	atomic_store_explicit(&r->tid, tid, memory_order_release);
	atomic_store_explicit(&r->state, PASTA_RING_OPEN, memory_order_release);
	return r;
}
