/*
 * fuzz_import.h - any bytes as a file of another profiler, imported and read back.
 *
 * A harness is a format: it sets HEAD, a text that begins such a file, and includes this. The
 * first byte of the input selects how: whether what is damaged is recovered, what is left out, and
 * whether HEAD is put in front, so that what is changed still gets to the format's own code.
 */
#ifndef PASTA_FUZZ_IMPORT_H
#define PASTA_FUZZ_IMPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pasta/tool.h>

#include "core/frame.h"
#include "import/import.h"
#include "process/read/stream.h"

enum { RECOVER = 1, NO_STACKS = 2, FEW_KINDS = 4, WITH_HEAD = 8 };

#define STATES                                                                                     \
	(PASTA_MASK(DEVICE) | PASTA_MASK(MODULE) | PASTA_MASK(PROCESS) | PASTA_MASK(THREAD) |      \
	 PASTA_MASK(CLOCK) | PASTA_MASK(LOSS))

/* Times that are further apart are not exact: the processor's clocks are doubles. */
#define EXACT (UINT64_C(1) << 50)

#define must(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "not so: %s\n", #what);                                    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* What is open on a thread. */
struct nest {
	uint64_t ops[64];
	uint32_t op_count, regions;
};

static void check_path(uint32_t ref)
{
	struct pasta_stack_frame frames[8];
	size_t n = pasta_stack_frames(0, ref, frames, 8);
	char text[100];

	for (size_t i = 0; i < n && i < 8; i++)
		must(*pasta_stack_frame_text(&frames[i], text, sizeof(text)));
}

static void check_nesting(const struct pasta_event *ev, struct nest *n)
{
	switch (ev->kind) {
	case PASTA_KIND_OP_BEGIN:
		if (n->op_count < 64)
			n->ops[n->op_count] = ev->op_begin.id;
		n->op_count++;
		check_path(ev->op_begin.stack);
		break;
	case PASTA_KIND_OP_END:
		must(n->op_count);
		n->op_count--;
		must(n->op_count >= 64 || n->ops[n->op_count] == ev->op_end.id);
		break;
	case PASTA_KIND_REGION:
		if (ev->sub == PASTA_REGION_BEGIN)
			must(ev->region.depth == ++n->regions);
		else if (ev->sub == PASTA_REGION_END)
			must(ev->region.depth == n->regions--);
		break;
	case PASTA_KIND_LAUNCH:
		check_path(ev->launch.stack);
		break;
	default:
		break;
	}
}

static void check_event(const struct pasta_event *ev, const struct pasta_import_info *info,
			struct pasta_map *nests)
{
	struct nest *n = pasta_map_add(nests, ev->source);

	must(pasta_kinds[ev->kind].size && ev->size == pasta_kinds[ev->kind].size);
	must(n);
	check_nesting(ev, n);
	if (info->end - info->begin < EXACT && !(STATES >> ev->kind & 1))
		must(ev->time >= info->begin && ev->time <= info->end);
}

/* All that was written comes back, in order, and whatever begins ends. */
static void read_back(const char *shard, const struct pasta_import_info *info)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_map *nests = pasta_map_new(sizeof(struct nest));
	const struct pasta_event *ev;
	const struct nest *n;
	struct pasta_loss_summary a;
	uint64_t count = 0, last = 0;
	size_t at = 0;

	must(s && nests && !pasta_stream_add(s, shard, NULL));
	while ((ev = pasta_stream_next(s))) {
		check_event(ev, info, nests);
		must(ev->time >= last);
		last = ev->time;
		count += !(STATES >> ev->kind & 1);
	}
	while ((n = pasta_map_next(nests, &at, NULL)))
		must(!n->op_count && !n->regions);
	pasta_stream_loss(s, &a);
	must(count == info->events);
	must(a.expected == a.captured + info->damaged + info->invalid);
	must(!a.damaged);
	pasta_map_free(nests);
	pasta_stream_free(s);
}

static uint64_t sum(const struct pasta_import_info *info, enum pasta_import_list list)
{
	uint64_t n = 0;

	for (size_t i = 0; i < info->counts[list]; i++) {
		must(info->lists[list][i].count && info->lists[list][i].name);
		n += info->lists[list][i].count;
	}
	return n;
}

static void import_file(const char *path, unsigned int how)
{
	const struct pasta_import_options options = {
		.kinds = how & FEW_KINDS ? PASTA_MASK(REGION) | PASTA_MASK(KERNEL) : 0,
		.no_stacks = how & NO_STACKS,
		.recover = how & RECOVER,
	};
	struct pasta_import_info info;
	struct pasta_error err = {0};
	char shard[64];
	int r;

	snprintf(shard, sizeof(shard), P_tmpdir "/fuzz_import-%d.pst", (int)getpid());
	unlink(shard);
	r = pasta_import(path, shard, &options, &info, &err);
	must(r == err.code && !r == !*err.text && !r == !access(shard, F_OK));
	if (!r) {
		must(info.begin <= info.end);
		must(options.recover || (!info.damaged && !info.invalid));
		must(sum(&info, PASTA_IMPORT_LEFT_OUT) <= sum(&info, PASTA_IMPORT_FOUND));
		read_back(shard, &info);
	}
	/* Of damaged input some is imported; a file of several processes is refused all the
	 * same. */
	must(r != -EBADMSG || !options.recover || !strcmp(info.format, "rocprofv3"));
	pasta_import_info_free(&info);
	unlink(shard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	off_t at = 0;

	if (!size)
		return 0;
	if (fd < 0) {
		fd = memfd_create("trace", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	must(!ftruncate(fd, 0));
	if (data[0] & WITH_HEAD)
		at = pwrite(fd, HEAD, strlen(HEAD), 0);
	must(at >= 0 && pwrite(fd, data + 1, size - 1, at) == (ssize_t)size - 1);
	import_file(path, data[0]);
	return 0;
}

#endif
