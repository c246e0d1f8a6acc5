/*
 * fuzz_shard.c - any bytes as a shard, read to the end.
 *
 * The first byte selects how: its lowest bit, whether the sums are made right first, so that what
 * is changed gets past them and to the decoder; the others, how the stream is read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <pasta/tool.h>

#include "core/frame.h"
#include "process/read/stream.h"

enum { SEAL = 1, FOLLOW = 2, FEW_KINDS = 4, TWICE = 8 };

static void seal_frame(uint8_t *at, size_t left, uint32_t *schema)
{
	struct pasta_frame f;
	const uint8_t *payload = at + sizeof(f);

	memcpy(&f, at, sizeof(f));
	f.magic = PASTA_FRAME_MAGIC;
	f.size = f.size < left - sizeof(f) ? f.size : (uint32_t)(left - sizeof(f));
	if (!(f.flags & PASTA_FRAME_ZSTD))
		f.raw_size = f.size;
	f.raw_size = f.raw_size < PASTA_FRAME_BYTES ? f.raw_size : PASTA_FRAME_BYTES;
	if (f.type == PASTA_FRAME_SCHEMA && !(f.flags & PASTA_FRAME_ZSTD))
		*schema = pasta_schema_hash((const char *)payload, f.size);
	if (f.type == PASTA_FRAME_EVENTS_T)
		f.schema = *schema;
	f.sum = XXH3_64bits(payload, f.size);
	f.head_sum = XXH3_64bits(&f, offsetof(struct pasta_frame, head_sum));
	memcpy(at, &f, sizeof(f));
}

/* From the head on, frames lie one after the other, with their stated lengths. */
static void seal(uint8_t *data, size_t size)
{
	size_t at = sizeof(struct pasta_shard_head), n;
	const char *text = pasta_schema_text(&n);
	uint32_t schema = pasta_schema_hash(text, n);

	if (size < at)
		return;
	pasta_shard_head_seal((void *)data);
	while (size - at >= sizeof(struct pasta_frame)) {
		struct pasta_frame f;

		seal_frame(data + at, size - at, &schema);
		memcpy(&f, data + at, sizeof(f));
		at += sizeof(f) + ((f.size + (size_t)7) & ~(size_t)7);
		if (at > size)
			break;
	}
}

/* Whatever it refers to: a path has an end, and its frames have texts. */
static void check_path(uint32_t ref)
{
	struct pasta_stack_frame frames[8];
	size_t n = pasta_stack_frames(0, ref, frames, 8);
	char text[100];

	for (size_t i = 0; i < n && i < 8; i++)
		if (!*pasta_stack_frame_text(&frames[i], text, sizeof(text)))
			abort();
}

/* What a tool may trust: the kind, that the record is all there, that names are strings, and that
 * paths can be followed. */
static void check(const struct pasta_event *ev)
{
	if (!pasta_kinds[ev->kind].size || ev->size != pasta_kinds[ev->kind].size)
		abort();
	if (ev->kind == PASTA_KIND_REGION && strlen(pasta_str(ev->region.name)) > PASTA_FRAME_BYTES)
		abort();
	if (ev->kind == PASTA_KIND_LAUNCH)
		check_path(ev->launch.stack);
	if (ev->kind == PASTA_KIND_OP_BEGIN)
		check_path(ev->op_begin.stack);
}

static void read_all(const char *path, unsigned int how)
{
	struct pasta_stream *s = pasta_stream_new(4096);
	const struct pasta_event *ev;
	struct pasta_loss_summary a;

	if (!s)
		abort();
	if (how & FEW_KINDS)
		pasta_stream_set_kinds(s,
				       PASTA_MASK(KERNEL) | PASTA_MASK(LOSS) | PASTA_MASK(REGION));
	if (!pasta_stream_add(s, path, NULL) && how & TWICE)
		pasta_stream_add(s, path, NULL);
	if (how & FOLLOW) {
		pasta_stream_follow(s, true);
		while ((ev = pasta_stream_next(s)))
			check(ev);
		pasta_stream_follow(s, false);
	}
	while ((ev = pasta_stream_next(s)))
		check(ev);
	pasta_stream_loss(s, &a);
	if (a.expected != a.captured + a.dropped)
		abort();
	pasta_stream_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	uint8_t *copy;

	if (!size)
		return 0;
	if (fd < 0) {
		fd = memfd_create("shard", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (data[0] & SEAL)
		seal(copy, size - 1);
	if (!ftruncate(fd, 0) && pwrite(fd, copy, size - 1, 0) == (ssize_t)(size - 1))
		read_all(path, data[0]);
	free(copy);
	return 0;
}
