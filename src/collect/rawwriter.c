/* rawwriter.c - the thread that writes raw accesses to a file of the run. */
#include "collect/rawwriter.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/state.h"
#include "core/rawblock.h"

enum { ACCESSES = 8192, BUFFERS = 64, BUFFERS_MOST = 4096, A_PROCESSOR = 4, WAIT_MS = 1000 };
uint32_t pasta_rawwriter_wait_ms = WAIT_MS;
enum { EXIT_WAIT_S = 5, LEVEL = 1, STACK = 512 << 10, NAME = 300 };
enum { RAW_SIZE = PASTA_BATCH_HEAD + ACCESSES * PASTA_BATCH_ACCESS_MAX };

struct pasta_rawwriter {
	struct pasta_batches *batches;
	pthread_t thread;
	bool running;
	/* Only the writer thread uses the members that follow. */
	struct pasta_file file;
	uint64_t end; /* offset of the end of the complete blocks in the file */
	struct pasta_port *port;
	uint32_t path; /* interned path of the file, relative to the run's folder */
	ZSTD_CCtx *zstd;
	uint8_t raw[RAW_SIZE];
	uint8_t block[sizeof(struct pasta_raw_block) + ZSTD_COMPRESSBOUND(RAW_SIZE)];
};

/* -- The file -- */

/* Determines the file's name, which is the shard's name with another suffix. The name is unique
 * even after an exec. */
static void raw_file_name(char name[NAME])
{
	const char *slash = strrchr(pasta_shard_file.path, '/');
	const char *base = slash ? slash + 1 : pasta_shard_file.path, *dot = strrchr(base, '.');

	snprintf(name, NAME, PASTA_RAW_FOLDER "/%.*s.acc",
		 dot ? (int)(dot - base) : (int)strlen(base), base);
}

static int raw_file_open(struct pasta_rawwriter *w)
{
	char name[NAME], path[sizeof(pasta_config.run) + NAME];
	int error;

	if (w->file.fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "%s/" PASTA_RAW_FOLDER, pasta_config.run);
	if (mkdir(path, 0777) && errno != EEXIST)
		return -errno;
	raw_file_name(name);
	snprintf(path, sizeof(path), "%s/%s", pasta_config.run, name);
	error = pasta_file_create(&w->file, path);
	w->path = error ? 0 : pasta_intern_str(name);
	return error;
}

/* Appends a block of accesses to the file, after the last complete block. Overwrites what a failed
 * write may have left after that block. */
static int raw_append(struct pasta_rawwriter *w, size_t size)
{
	size_t at = 0;

	while (at < size) {
		int fd = pasta_file_fd(&w->file);
		ssize_t n =
			fd < 0 ? -1 : pwrite(fd, w->block + at, size - at, (off_t)(w->end + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += (size_t)n;
	}
	return 0;
}

/* -- Blocks -- */

/* Encodes a buffer into w->block. Returns the block's size, or 0 on failure. */
static size_t raw_encode_block(struct pasta_rawwriter *w, const struct pasta_buffer *b)
{
	struct pasta_raw_block head = {.corr = b->tag[0], .count = (uint32_t)b->count};
	uint8_t *bytes = w->block + sizeof(head);
	size_t raw, n;

	pasta_raw_encode(b->accesses, b->count, w->raw, sizeof(w->raw), &raw);
	n = ZSTD_compressCCtx(w->zstd, bytes, sizeof(w->block) - sizeof(head), w->raw, raw, LEVEL);
	if (ZSTD_isError(n))
		return 0;
	head.raw_size = (uint32_t)raw;
	head.size = (uint32_t)n;
	pasta_raw_block_seal(&head, bytes);
	memcpy(w->block, &head, sizeof(head));
	return sizeof(head) + n;
}

static void raw_push(struct pasta_rawwriter *w, struct pasta_event *ev,
		     const struct pasta_buffer *b)
{
	ev->tid = (uint32_t)b->tag[1];
	ev->time = pasta_now();
	if (w->port)
		pasta_port_push(w->port, ev, ev->size);
	else
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
}

static void raw_emit_batch(struct pasta_rawwriter *w, const struct pasta_buffer *b, uint64_t size)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_ACCESS_BATCH, 0, PASTA_EVENT_SIZE(access_batch));
	ev.access_batch.corr = b->tag[0];
	ev.access_batch.count = b->count;
	ev.access_batch.offset = w->end;
	ev.access_batch.bytes = size;
	ev.access_batch.path = w->path;
	ev.access_batch.name = (uint32_t)(b->tag[1] >> 32);
	if (pasta_agent_records(PASTA_KIND_ACCESS_BATCH))
		raw_push(w, &ev, b);
}

static void raw_drop(struct pasta_rawwriter *w, const struct pasta_buffer *b, int error)
{
	struct pasta_event ev;
	char why[240];

	snprintf(why, sizeof(why),
		 "raw accesses cannot be written to %.100s and are dropped (%s): free some space, "
		 "or choose another folder with -o",
		 pasta_config.run, strerror(-error));
	pasta_agent_log("accesses", why);
	pasta_emit_loss(PASTA_LOSS_RAW, b->count);
	if (!pasta_agent_records(PASTA_KIND_ACCESS_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_KIND_ACCESS_LAUNCH, PASTA_ACCESS_LAUNCH_LOST,
			 PASTA_EVENT_SIZE(access_launch));
	ev.access_launch.corr = b->tag[0];
	ev.access_launch.name = (uint32_t)(b->tag[1] >> 32);
	ev.access_launch.lost = b->count;
	ev.access_launch.flags = PASTA_ACCESS_LAUNCH_RAW_DROPPED;
	raw_push(w, &ev, b);
}

static void raw_write(struct pasta_rawwriter *w, const struct pasta_buffer *b)
{
	size_t size = raw_encode_block(w, b);
	int error = size ? raw_file_open(w) : -ENOMEM;

	if (!error)
		error = raw_append(w, size);
	if (error) {
		raw_drop(w, b, error);
		return;
	}
	raw_emit_batch(w, b, size);
	w->end += size;
}

static void *raw_main(void *arg)
{
	struct pasta_rawwriter *w = arg;
	struct pasta_buffer *b;

	pthread_setname_np(pthread_self(), "pasta-accesses");
	pasta_files_own();
	while ((b = pasta_batches_acquire(w->batches, true))) {
		raw_write(w, b);
		pasta_batches_release(w->batches, b);
	}
	return NULL;
}

/* -- Start and end -- */

static uint32_t raw_buffers(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN) * A_PROCESSOR;

	return n < BUFFERS ? BUFFERS : n > BUFFERS_MOST ? BUFFERS_MOST : (uint32_t)n;
}

/* Starts the thread. The guard blocks signals, and the new thread inherits the signal mask. */
static int raw_start(struct pasta_rawwriter *w)
{
	pthread_attr_t attr;
	struct pasta_guard guard;
	int error;

	pasta_guard_enter(&guard);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	error = pthread_create(&w->thread, &attr, raw_main, w);
	pthread_attr_destroy(&attr);
	pasta_guard_leave(&guard);
	w->running = !error;
	return -error;
}

struct pasta_rawwriter *pasta_rawwriter_new(void)
{
	struct pasta_rawwriter *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->file.fd = -1;
	w->port = pasta_port_open(
		/* The port is opened first, because that creates the shard and determines the
		 * shard's name. */
		PASTA_CLOCK_RAW);
	w->zstd = ZSTD_createCCtx();
	w->batches = pasta_batches_new(raw_buffers(), ACCESSES, pasta_rawwriter_wait_ms);
	if (w->port && w->zstd && w->batches && !raw_start(w))
		return w;
	ZSTD_freeCCtx(w->zstd);
	pasta_batches_free(w->batches);
	free(w);
	return NULL;
}

struct pasta_batches *pasta_rawwriter_batches(struct pasta_rawwriter *w)
{
	return w->batches;
}

void pasta_rawwriter_close(struct pasta_rawwriter *w)
{
	struct timespec until;

	if (!w->running)
		return;
	pasta_batches_close(w->batches);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += EXIT_WAIT_S;
	/* A timeout means that the disk hangs. In that case, the accesses in the buffers are
	 * dropped when the process ends. */
	w->running = pthread_timedjoin_np(w->thread, NULL, &until) != 0;
}

void pasta_rawwriter_forked(struct pasta_rawwriter *w)
{
	/* In most cases the descriptor belongs to the descriptor table of the parent process's
	 * writer thread, and is not open in this process. */
	pasta_file_close(&w->file);
}
