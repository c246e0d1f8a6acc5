/* unpack.c - decompresses gzip and zstd data through one interface. */
#include "import/unpack.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

/* -- a gzip file may have several members -- */

struct gzip {
	struct pasta_unpacker base;
	z_stream stream;
};

static int gzip_unpack(struct pasta_unpacker *u, const void *in, size_t in_size, size_t *in_used,
		       void *out, size_t out_size, size_t *out_used)
{
	struct gzip *g = (struct gzip *)u;
	int r;

	if (u->between && inflateReset(&g->stream) != Z_OK)
		return -EBADMSG;
	g->stream.next_in = (Bytef *)in;
	g->stream.avail_in = (uInt)in_size;
	g->stream.next_out = out;
	g->stream.avail_out = (uInt)out_size;
	r = inflate(&g->stream, Z_NO_FLUSH);
	*in_used = in_size - g->stream.avail_in;
	*out_used = out_size - g->stream.avail_out;
	u->between = r == Z_STREAM_END;
	if (r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR)
		return 0;
	return r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static void gzip_free(struct pasta_unpacker *u)
{
	inflateEnd(&((struct gzip *)u)->stream);
	free(u);
}

static struct pasta_unpacker *gzip_new(void)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->base = (struct pasta_unpacker){"gzip", gzip_unpack, gzip_free, false};
	if (inflateInit2(&g->stream, 15 + 16) != Z_OK) {
		free(g);
		return NULL;
	}
	return &g->base;
}

/* -- a zstd file may have several frames; zstd itself rejects windows of more than 128 MiB -- */

struct zstd {
	struct pasta_unpacker base;
	ZSTD_DStream *stream;
};

static int zstd_unpack(struct pasta_unpacker *u, const void *in, size_t in_size, size_t *in_used,
		       void *out, size_t out_size, size_t *out_used)
{
	ZSTD_inBuffer from = {in, in_size, 0};
	ZSTD_outBuffer to = {out, out_size, 0};
	size_t r = ZSTD_decompressStream(((struct zstd *)u)->stream, &to, &from);

	*in_used = from.pos;
	*out_used = to.pos;
	u->between = !r;
	return ZSTD_isError(r) ? -EBADMSG : 0;
}

static void zstd_free(struct pasta_unpacker *u)
{
	ZSTD_freeDStream(((struct zstd *)u)->stream);
	free(u);
}

static struct pasta_unpacker *zstd_new(void)
{
	struct zstd *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->base = (struct pasta_unpacker){"zstd", zstd_unpack, zstd_free, false};
	z->stream = ZSTD_createDStream();
	if (!z->stream) {
		free(z);
		return NULL;
	}
	return &z->base;
}

/* Returns whether the data begins with a zstd frame, or with a skippable frame, which parallel zstd
 * writers put at the start of a file. */
static bool is_zstd(const uint8_t *b, size_t size)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd}, skip[] = {0x2a, 0x4d, 0x18};

	return size >= 4 && (!memcmp(b, magic, 4) || (b[0] >> 4 == 5 && !memcmp(b + 1, skip, 3)));
}

struct pasta_unpacker *pasta_unpacker_new(const void *bytes, size_t size, bool *known)
{
	const uint8_t *b = bytes;
	bool gzip = size >= 2 && b[0] == 0x1f && b[1] == 0x8b, zstd = is_zstd(b, size);

	*known = gzip || zstd;
	if (!*known)
		return NULL;
	return gzip ? gzip_new() : zstd_new();
}
