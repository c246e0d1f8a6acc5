/*
 * fuzz_ring.c - any bytes as the ring file of a dead process, salvaged and read.
 *
 * A ring file is mostly zeros, so the input lists what is not: { u32 offset, u16 size, bytes }
 * each, after a byte that says how many pages the file has, past its head.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ringfile.h"
#include "process/salvage.h"
#include "process/stream.h"

enum { PID = 4711, PAGE = 4096 };

static char dir[64], ring_path[512], shard_path[512];

static void clean_up(void)
{
	unlink(ring_path);
	unlink(shard_path);
	rmdir(dir);
}

static void set_up(void)
{
	char host[256] = "";

	/* In memory, where that is possible: it is a file a run. */
	strcpy(dir,
	       access("/dev/shm", W_OK) ? "/tmp/fuzz-ring-XXXXXX" : "/dev/shm/fuzz-ring-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	gethostname(host, sizeof(host) - 1);
	snprintf(ring_path, sizeof(ring_path), "%s/%s-%d.ring", dir, host, PID);
	snprintf(shard_path, sizeof(shard_path), "%s/%s-%d.pst", dir, host, PID);
	atexit(clean_up);
}

/* What must be right for it to be salvaged at all: this version, of another boot of this host. */
static void make_dead(struct pasta_ringfile *f)
{
	size_t n;
	const char *schema = pasta_schema_text(&n);

	memcpy(f->magic, PASTA_RINGFILE_MAGIC, sizeof(f->magic));
	f->version = PASTA_RINGFILE_VERSION;
	f->pid = PID;
	f->schema = pasta_schema_hash(schema, n);
	memset(f->boot, 1, sizeof(f->boot));
}

static void unpack(const uint8_t *data, size_t size, uint8_t *file, size_t file_size)
{
	while (size >= 6) {
		uint32_t offset;
		uint16_t n;

		memcpy(&offset, data, 4);
		memcpy(&n, data + 4, 2);
		data += 6;
		size -= 6;
		n = n < size ? n : (uint16_t)size;
		offset %= (uint32_t)file_size;
		memcpy(file + offset, data, n < file_size - offset ? n : file_size - offset);
		data += n;
		size -= n;
	}
}

static void read_back(void)
{
	struct pasta_stream *s = pasta_stream_new(4096);
	const struct pasta_event *ev;
	struct pasta_account a;

	if (!s)
		abort();
	pasta_stream_add(s, shard_path, NULL);
	while ((ev = pasta_stream_next(s)))
		if (ev->size != pasta_kinds[ev->kind].size)
			abort();
	pasta_stream_loss(s, &a);
	if (a.expected != a.captured + a.dropped)
		abort();
	pasta_stream_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t file_size = PASTA_RINGFILE_HEAD + (size_t)(size ? data[0] % 32 : 0) * PAGE;
	struct pasta_salvaged out = {0};
	struct pasta_err err = {0};
	uint8_t *file;
	int fd;

	if (!dir[0])
		set_up();
	file = calloc(1, file_size);
	if (!size || !file) {
		free(file);
		return 0;
	}
	unpack(data + 1, size - 1, file, file_size);
	make_dead((void *)file);
	fd = open(ring_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (write(fd, file, file_size) != (ssize_t)file_size)
		abort();
	close(fd);
	free(file);
	unlink(shard_path);
	if (pasta_salvage_sweep(dir, &out, &err) || out.processes != 1)
		abort();
	read_back();
	return 0;
}
