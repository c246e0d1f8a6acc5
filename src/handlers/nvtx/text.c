/* text.c - converts NVTX's narrow, wide and registered texts to interned UTF-8. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "handlers/nvtx/nvtx.h"

enum { WIDE = 4096, BUCKETS = 1024, BAD = 0xfffd };

/* All stored texts. No text is ever removed. */
static struct nvtx_text *_Atomic buckets[BUCKETS];

/* Writes a wide character, which is a Unicode code point, as UTF-8. Returns the number of bytes
 * that it has written. `out` has room for four bytes. */
static size_t text_put_utf8(char *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = BAD;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static const char *text_narrow(const wchar_t *wide, char out[WIDE])
{
	size_t n = 0;

	while (*wide && n + 4 < WIDE)
		n += text_put_utf8(out + n, (uint32_t)*wide++);
	out[n] = '\0';
	return out;
}

static struct nvtx_text *text_find(struct nvtx_text *t, const char *text)
{
	while (t && strcmp(t->text, text) != 0)
		t = t->next;
	return t;
}

/* If two threads store the same text at the same time, the text may be stored twice, which is
 * harmless. */
struct nvtx_text *nvtx_text_copy(const char *text)
{
	size_t size = text ? strlen(text) : 0;
	struct nvtx_text *_Atomic *bucket;
	struct nvtx_text *first, *t;

	if (!text)
		return NULL;
	bucket = &buckets[XXH3_64bits(text, size) % BUCKETS];
	first = atomic_load_explicit(bucket, memory_order_acquire);
	t = text_find(first, text);
	if (t)
		return t;
	t = calloc(1, sizeof(*t) + size + 1);
	if (!t)
		return NULL;
	t->text = memcpy(t + 1, text, size);
	do
		t->next = first;
	while (!atomic_compare_exchange_weak_explicit(bucket, &first, t, memory_order_release,
						      memory_order_acquire));
	return t;
}

struct nvtx_text *nvtx_text_copy_wide(const wchar_t *text)
{
	char out[WIDE];

	return text ? nvtx_text_copy(text_narrow(text, out)) : NULL;
}

uint32_t nvtx_text_ascii(const char *text)
{
	return pasta_intern_str(text ? text : "(no message)");
}

uint32_t nvtx_text_wide(const wchar_t *text)
{
	char out[WIDE];

	return nvtx_text_ascii(text ? text_narrow(text, out) : NULL);
}

uint32_t nvtx_text_id(struct nvtx_text *text)
{
	uint64_t known = text ? atomic_load_explicit(&text->id, memory_order_relaxed) : 0;
	uint32_t gen = pasta_agent_gen(), id;

	if (gen && known >> 32 == gen)
		return (uint32_t)known;
	id = nvtx_text_ascii(text ? text->text : NULL);
	/* The process's generation is read again, because interning the first string changes the
	 * generation. */
	gen = pasta_agent_gen();
	if (text && id)
		atomic_store_explicit(&text->id, (uint64_t)gen << 32 | id, memory_order_relaxed);
	return id;
}

uint32_t nvtx_text_message(const struct nvtx_attributes *attributes)
{
	if (!attributes || attributes->size < sizeof(*attributes))
		return nvtx_text_ascii(NULL);
	switch (attributes->message_type) {
	case NVTX_ABI_MESSAGE_ASCII:
		return nvtx_text_ascii(attributes->message.ascii);
	case NVTX_ABI_MESSAGE_WIDE:
		return nvtx_text_wide(attributes->message.wide);
	case NVTX_ABI_MESSAGE_REGISTERED:
		return nvtx_text_id((struct nvtx_text *)attributes->message.registered);
	default:
		return nvtx_text_ascii(NULL);
	}
}
