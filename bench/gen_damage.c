/* gen_damage.c - damages shards as disks, kernels and crashes do. */
#include "gen.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/frame.h"

enum { EVERY = 1 << 20, HOLE = 4096 };

const char *const gen_damages[] = {"none", "torn", "flip", "truncate", "holes", NULL};

/* Cuts the shard within its last frame of events, as if the process had died while it wrote. */
static int tear(int fd, uint64_t size)
{
	struct pasta_frame f;
	uint64_t at = sizeof(struct pasta_shard_head), last = 0, bytes = 0;

	while (at < size && pread(fd, &f, sizeof(f), (off_t)at) == (ssize_t)sizeof(f) &&
	       f.magic == PASTA_FRAME_MAGIC) {
		uint64_t whole = sizeof(f) + ((f.size + UINT64_C(7)) & ~UINT64_C(7));

		if (f.type == PASTA_FRAME_EVENTS_T && !(f.flags & PASTA_FRAME_STATE)) {
			last = at;
			bytes = whole;
		}
		at += whole;
	}
	return ftruncate(fd, (off_t)(last + bytes / 2)) ? -errno : 0;
}

/* Damages one position in every EVERY bytes after the shard's head, at least one. */
static int spoil(int fd, uint64_t size, struct gen_random *random, bool hole)
{
	static const uint8_t zero[HOLE];
	uint64_t head = sizeof(struct pasta_shard_head);

	for (uint64_t at = head; at < size; at += EVERY) {
		uint64_t span = size - at < EVERY ? size - at : EVERY;
		uint64_t offset = at + gen_below(random, span), left = size - offset;
		uint8_t byte;
		ssize_t n;

		if (hole) {
			n = pwrite(fd, zero, left < HOLE ? left : HOLE, (off_t)offset);
		} else {
			n = pread(fd, &byte, 1, (off_t)offset);
			byte ^= (uint8_t)(1 << gen_below(random, 8));
			n = n == 1 ? pwrite(fd, &byte, 1, (off_t)offset) : -1;
		}
		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

int gen_damage(const char *how, const char *path, uint64_t seed, struct pasta_error *err)
{
	struct gen_random random = {~seed};
	int fd, r = 0;
	struct stat st;

	if (!strcmp(how, "none"))
		return 0;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		r = -errno;
	else if (!strcmp(how, "torn"))
		r = tear(fd, (uint64_t)st.st_size);
	else if (!strcmp(how, "truncate"))
		r = ftruncate(fd, st.st_size * 2 / 3) ? -errno : 0;
	else
		r = spoil(fd, (uint64_t)st.st_size, &random, !strcmp(how, "holes"));
	if (fd >= 0)
		close(fd);
	return r ? pasta_fail(err, r, "cannot damage %s: %s", path, strerror(-r)) : 0;
}
