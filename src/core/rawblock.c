/* rawblock.c - encodes and decodes raw accesses, and checks the heads of blocks of accesses. */
#include "core/rawblock.h"

#include <errno.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/varint.h"

enum { FORMAT = 1, SITES = 64, THREAD_SHIFT = 4, THREAD_MASK = 3 };
enum flag { F_SITE = 1, F_SIZE = 2, F_WHAT = 4, F_GROUP = 8, F_TURN = 64, F_NONE = 128 };
enum thread { THREAD_SAME, THREAD_NEXT, THREAD_OTHER };

/* The accesses that the encoder and the decoder refer to: the previous access, and the previous
 * access of each site. */
struct known {
	struct pasta_access last, sites[SITES];
};

static struct pasta_access *raw_site(struct known *k, uint32_t site)
{
	return &k->sites[site % SITES];
}

static uint8_t *raw_put_difference(uint8_t *p, uint32_t now, uint32_t before)
{
	return pasta_varint_put(p, pasta_zigzag((uint64_t)(int64_t)(int32_t)(now - before)));
}

static unsigned int raw_flags(const struct pasta_access *a, const struct pasta_access *last,
			      const struct pasta_access *same)
{
	enum thread thread = a->thread == last->thread			 ? THREAD_SAME
			     : a->thread == (uint16_t)(last->thread + 1) ? THREAD_NEXT
									 : THREAD_OTHER;

	return (a->site != last->site ? F_SITE : 0u) | (a->size != same->size ? F_SIZE : 0u) |
	       (a->kind != same->kind || a->space != same->space ? F_WHAT : 0u) |
	       (a->launch != last->launch || a->group != last->group ? F_GROUP : 0u) |
	       (a->turn != same->turn ? F_TURN : 0u) | (unsigned int)thread << THREAD_SHIFT;
}

static uint8_t *raw_put_access(uint8_t *p, struct known *k, const struct pasta_access *a)
{
	struct pasta_access *same = raw_site(k, a->site), *last = &k->last;
	unsigned int flags = raw_flags(a, last, same);

	*p++ = (uint8_t)flags;
	if (flags & F_SITE)
		p = raw_put_difference(p, a->site, last->site);
	if (flags & F_SIZE)
		p = pasta_varint_put(p, a->size);
	if (flags & F_WHAT)
		p = pasta_varint_put(p, a->kind | (uint32_t)a->space << 8);
	if (flags & F_GROUP) {
		p = raw_put_difference(p, a->launch, last->launch);
		p = raw_put_difference(p, a->group, last->group);
	}
	if ((flags >> THREAD_SHIFT & THREAD_MASK) == THREAD_OTHER)
		p = raw_put_difference(p, a->thread, last->thread);
	if (flags & F_TURN)
		p = raw_put_difference(p, a->turn, same->turn);
	p = pasta_varint_put(p, pasta_zigzag(a->addr - same->addr));
	*same = *last = *a;
	return p;
}

size_t pasta_raw_encode(const struct pasta_access *accesses, size_t count, uint8_t *bytes,
			size_t room, size_t *size)
{
	struct known k = {0};
	uint8_t *p = bytes;
	size_t i = 0;

	if (room >= PASTA_BATCH_HEAD) {
		*p++ = FORMAT;
		while (i < count && room - (size_t)(p - bytes) >= PASTA_BATCH_ACCESS_MAX)
			p = raw_put_access(p, &k, &accesses[i++]);
	}
	*size = (size_t)(p - bytes);
	return i;
}

/* -- Decoding. These functions return NULL if the bytes are damaged -- */

static const uint8_t *raw_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	return p ? pasta_varint_get(p, end, v) : NULL;
}

static const uint8_t *raw_get_difference(const uint8_t *p, const uint8_t *end, uint32_t *v)
{
	uint64_t difference = 0;

	p = raw_get_varint(p, end, &difference);
	*v += (uint32_t)pasta_unzigzag(difference);
	return p;
}

static const uint8_t *raw_get_thread(const uint8_t *p, const uint8_t *end, unsigned int how,
				     struct pasta_access *a)
{
	uint32_t thread = a->thread;

	if (how == THREAD_NEXT)
		thread++;
	else if (how == THREAD_OTHER)
		p = raw_get_difference(p, end, &thread);
	else if (how != THREAD_SAME)
		return NULL;
	a->thread = (uint16_t)thread;
	return p;
}

/* Reads those fields of an access that are encoded relative to the previous access of the same
 * site. */
static const uint8_t *raw_get_rest(const uint8_t *p, const uint8_t *end, unsigned int flags,
				   struct pasta_access *a, const struct pasta_access *same,
				   uint64_t size, uint64_t what)
{
	uint64_t difference = 0;

	if (size > UINT32_MAX || what > UINT16_MAX)
		return NULL;
	a->size = flags & F_SIZE ? (uint32_t)size : same->size;
	a->kind = flags & F_WHAT ? (uint8_t)what : same->kind;
	a->space = flags & F_WHAT ? (uint8_t)(what >> 8) : same->space;
	a->turn = same->turn;
	if (flags & F_TURN)
		p = raw_get_difference(p, end, &a->turn);
	p = raw_get_varint(p, end, &difference);
	a->addr = same->addr + pasta_unzigzag(difference);
	return p;
}

static const uint8_t *raw_get_access(const uint8_t *p, const uint8_t *end, struct known *k)
{
	unsigned int flags = *p++;
	struct pasta_access a = k->last;
	uint64_t size = 0, what = 0;

	if (flags & F_NONE)
		return NULL;
	if (flags & F_SITE)
		p = raw_get_difference(p, end, &a.site);
	if (flags & F_SIZE)
		p = raw_get_varint(p, end, &size);
	if (flags & F_WHAT)
		p = raw_get_varint(p, end, &what);
	if (flags & F_GROUP) {
		p = raw_get_difference(p, end, &a.launch);
		p = raw_get_difference(p, end, &a.group);
	}
	p = raw_get_thread(p, end, flags >> THREAD_SHIFT & THREAD_MASK, &a);
	p = raw_get_rest(p, end, flags, &a, raw_site(k, a.site), size, what);
	*raw_site(k, a.site) = k->last = a;
	return p;
}

ssize_t pasta_raw_decode(const uint8_t *bytes, size_t size, struct pasta_access *accesses,
			 size_t max)
{
	const uint8_t *p = bytes, *end = bytes + size;
	struct known k = {0};
	size_t count = 0;

	if (!size || *p++ != FORMAT)
		return -EINVAL;
	while (p < end) {
		if (count == max)
			return -ENOSPC;
		p = raw_get_access(p, end, &k);
		if (!p)
			return -EINVAL;
		accesses[count++] = k.last;
	}
	return (ssize_t)count;
}

/* -- Blocks -- */

_Static_assert(sizeof(struct pasta_raw_block) == 48, "the size of struct pasta_raw_block is part "
						     "of the file format");

static uint64_t raw_head_sum(const struct pasta_raw_block *b)
{
	return XXH3_64bits(b, offsetof(struct pasta_raw_block, head_sum));
}

void pasta_raw_block_seal(struct pasta_raw_block *b, const void *bytes)
{
	b->magic = PASTA_RAW_MAGIC;
	b->version = PASTA_RAW_VERSION;
	b->head = sizeof(*b);
	b->sum = XXH3_64bits(bytes, b->size);
	b->head_sum = raw_head_sum(b);
}

bool pasta_raw_block_ok(const struct pasta_raw_block *b)
{
	const uint64_t most = PASTA_BATCH_HEAD + (uint64_t)b->count * PASTA_BATCH_ACCESS_MAX;

	return b->magic == PASTA_RAW_MAGIC && b->version == PASTA_RAW_VERSION &&
	       b->head == sizeof(*b) && b->head_sum == raw_head_sum(b) && b->count &&
	       b->count <= PASTA_RAW_ACCESSES && b->raw_size <= most && b->size <= 2 * most + 1024;
}

bool pasta_raw_bytes_ok(const struct pasta_raw_block *b, const void *bytes)
{
	return b->sum == XXH3_64bits(bytes, b->size);
}
