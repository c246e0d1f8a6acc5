/*
 * fuzz_ring.c - any bytes as the ring file of a dead process, recovered and read.
 *
 * A ring file is mostly zeros, so the input lists what is not: { u32 offset, u16 size, bytes }
 * each, after a byte that sets how many pages the file has, past its head. Its sums are made right,
 * so that what they protect is reached; the byte's upper bits leave some of them as they are.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ringfile.h"
#include "process/read/recover.h"
#include "process/read/shard.h"
#include "process/read/stream.h"

enum { PID = 4711, PAGE = 4096 };
enum { AS_IS_HEAD = 32, AS_IS_SEGMENTS = 64, AS_IS_RECORDS = 128 };

static char dir[64], ring_path[512], shard_path[512];

static void clean_up(void)
{
	char damaged[600];

	snprintf(damaged, sizeof(damaged), "%s.damaged", ring_path);
	unlink(damaged);
	unlink(ring_path);
	unlink(shard_path);
}

static void clean_up_all(void)
{
	clean_up();
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
	atexit(clean_up_all);
}

/* What must be right for it to be recovered at all: this version, of another boot of this host. */
static void make_dead(struct pasta_ringfile *f)
{
	size_t n;
	const char *schema = pasta_schema_text(&n);

	memcpy(f->magic, PASTA_RINGFILE_MAGIC, sizeof(f->magic));
	f->version = PASTA_RINGFILE_VERSION;
	f->pid = PID;
	f->schema = pasta_schema_hash(schema, n);
	memset(f->boot, 1, sizeof(f->boot));
	f->sum = pasta_ringfile_sum(f);
}

/* Each record's check fits, from the first lap on, up to what is no record. */
static void seal_records(const struct pasta_ringfile *f, struct pasta_ring *r)
{
	uint64_t seed = pasta_ring_seed(f, r->source);

	for (uint64_t at = 0; at + 8 <= r->size;) {
		struct pasta_event *ev = (void *)((char *)r + PASTA_RING_DATA + at);
		uint64_t check;

		if (ev->kind >= PASTA_KIND_MAX || !ev->size ||
		    ev->size != pasta_kinds[ev->kind].size || ev->size > r->size - at)
			break;
		check = pasta_record_check(seed, at, ev);
		memcpy((char *)ev + PASTA_RECORD_CHECK, &check, sizeof(check));
		at += ev->size;
	}
}

static void seal_segment(struct pasta_ringfile *f, uint32_t i, size_t file_size, uint8_t flags)
{
	struct pasta_segment *seg = &f->segment[i];
	void *p;

	seg->sum = pasta_segment_sum(f, i);
	if (seg->offset % PAGE || seg->offset > file_size || seg->size < 2 * PAGE ||
	    seg->size > file_size - seg->offset)
		return;
	p = (char *)f + seg->offset;
	if (seg->type == PASTA_SEGMENT_RING) {
		struct pasta_ring *r = p;

		r->size = seg->size - PASTA_RING_DATA;
		r->sum = pasta_ring_sum(f, r);
		if (!(flags & AS_IS_RECORDS))
			seal_records(f, r);
	} else {
		struct pasta_strings *b = p;

		b->size = seg->size - sizeof(*b);
		b->sum = pasta_strings_sum(f, b);
	}
}

static void seal(struct pasta_ringfile *f, size_t file_size, uint8_t flags)
{
	if (!(flags & AS_IS_HEAD))
		make_dead(f);
	for (uint32_t i = 0; i < 16 && !(flags & AS_IS_SEGMENTS); i++)
		if (f->segment[i].type)
			seal_segment(f, i, file_size, flags);
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

static struct pasta_loss_summary read_stream(struct pasta_stream *s)
{
	const struct pasta_event *ev;
	struct pasta_loss_summary a;

	while ((ev = pasta_stream_next(s)))
		if (ev->size != pasta_kinds[ev->kind].size)
			abort();
	pasta_stream_loss(s, &a);
	if (a.expected != a.captured + a.dropped)
		abort();
	pasta_stream_free(s);
	return a;
}

/* In memory first, then again, committed: the same is on the disk, and the ring is removed only if
 * nothing is wrong with it. */
static void recover(void)
{
	struct pasta_loss_summary memory = {0}, disk = {0};
	int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int commit = 0; commit < 2; commit++) {
		struct pasta_stream *s = pasta_stream_new(4096);
		struct pasta_recovered out = {0};
		struct pasta_shard_parts parts;
		struct pasta_error err = {0};

		if (!s || folder < 0)
			abort();
		pasta_recover_shard(folder, strrchr(shard_path, '/') + 1, shard_path, commit,
				    &parts, &out, &err);
		if ((parts.file >= 0 || parts.tail >= 0) && pasta_stream_add_open(s, &parts, &err))
			abort();
		*(commit ? &disk : &memory) = read_stream(s);
		if (!commit && (out.committed || access(ring_path, F_OK)))
			abort();
		if (out.committed) {
			s = pasta_stream_new(4096);
			if (!s || pasta_stream_add(s, shard_path, NULL))
				abort();
			disk = read_stream(s);
		} else if (commit && out.events && !out.unsure) {
			abort();
		}
	}
	if (memory.captured != disk.captured || memory.expected != disk.expected)
		abort();
	close(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t file_size = PASTA_RINGFILE_HEAD + (size_t)(size ? data[0] % 32 : 0) * PAGE;
	uint8_t *file;
	int fd;

	if (!dir[0])
		set_up();
	file = aligned_alloc(PAGE, file_size);
	if (!size || !file) {
		free(file);
		return 0;
	}
	memset(file, 0, file_size);
	unpack(data + 1, size - 1, file, file_size);
	seal((void *)file, file_size, data[0]);
	clean_up();
	fd = open(ring_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (write(fd, file, file_size) != (ssize_t)file_size)
		abort();
	close(fd);
	free(file);
	recover();
	return 0;
}
