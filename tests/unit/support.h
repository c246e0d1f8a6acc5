/* support.h - makes shards by hand, frame by frame, so that tests can damage and read them. */
#ifndef PASTA_TESTS_SUPPORT_H
#define PASTA_TESTS_SUPPORT_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmocka.h>

#include "core/err.h"
#include "core/frame.h"
#include "process/read/stream.h"

/* -- Random numbers: the same ones every time, unless SEED is set -------------------------------
 */

static uint64_t support_seed_ = 1, support_random_;

__attribute__((unused)) static void random_begin(void)
{
	const char *text = getenv("SEED");

	support_seed_ = text ? strtoull(text, NULL, 0) : 1;
	support_random_ = support_seed_;
}

__attribute__((unused)) static uint64_t random_u64(void)
{
	uint64_t z = support_random_ += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

__attribute__((unused)) static uint64_t random_below(uint64_t n)
{
	return random_u64() % n;
}

/* Asserts a property. The message has the seed that reproduces a failure. */
#define assert_property(what)                                                                      \
	do {                                                                                       \
		if (!(what))                                                                       \
			fail_msg("%s, with SEED=%llu", #what, (unsigned long long)support_seed_);  \
	} while (0)

/* True under a sanitizer: tests then try about a tenth of their cases. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
__attribute__((unused)) static const bool support_slow = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
__attribute__((unused)) static const bool support_slow = true;
#else
__attribute__((unused)) static const bool support_slow = false;
#endif
#else
__attribute__((unused)) static const bool support_slow = false;
#endif

/* -- A folder for the test's files ----------------------------------------------------------------
 */

static char support_dir[64];

__attribute__((unused)) static int make_dir(void **state)
{
	(void)state;
	strcpy(support_dir, "/tmp/pasta-test-XXXXXX");
	return mkdtemp(support_dir) ? 0 : -1;
}

__attribute__((unused)) static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", support_dir);
	return system(command);
}

__attribute__((unused)) static const char *in_dir(const char *name)
{
	static char paths[8][512];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", support_dir, name);
	return path;
}

/* -- Bytes of a shard
 * ------------------------------------------------------------------------------ */

struct bytes {
	uint8_t *data;
	size_t size, capacity;
};

__attribute__((unused)) static void put(struct bytes *b, const void *data, size_t size)
{
	if (b->size + size > b->capacity) {
		b->capacity = (b->size + size) * 2;
		b->data = realloc(b->data, b->capacity);
		assert_non_null(b->data);
	}
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

__attribute__((unused)) static struct pasta_encoder *support_encoder(void)
{
	static struct pasta_encoder *encoder;
	void *memory;

	if (!encoder) {
		memory = mmap(NULL, pasta_encoder_size(), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(memory != MAP_FAILED);
		encoder = pasta_encoder_init(memory);
	}
	return encoder;
}

enum { RAW_0 = 1000000, REAL_0 = 5000000 }; /* the time of a head in both of its clocks */
enum { OFFSET = REAL_0 - RAW_0 };

/* boot: the host's boot id, as one number; 0: none. */
__attribute__((unused)) static void put_head(struct bytes *b, uint64_t boot, uint64_t real)
{
	struct pasta_shard_head head = {.raw = RAW_0, .real = real, .pid = 4711};

	memcpy(head.boot, &boot, sizeof(boot));
	memcpy(head.guid, &boot, sizeof(boot));
	pasta_shard_head_seal(&head);
	put(b, &head, sizeof(head));
}

__attribute__((unused)) static void put_schema(struct bytes *b, const char *text, size_t size)
{
	size_t n;
	const void *frame;

	if (!text)
		text = pasta_schema_text(&size);
	frame = pasta_encode_plain(support_encoder(), PASTA_FRAME_SCHEMA, text, size, 0, 0, &n);
	put(b, frame, n);
}

__attribute__((unused)) static void put_strings(struct bytes *b, uint64_t first, uint32_t count,
						const char *const *texts)
{
	uint8_t payload[4096];
	size_t size = 0, n;
	const void *frame;

	for (uint32_t i = 0; i < count; i++) {
		assert_true(size + strlen(texts[i]) + 5 <= sizeof(payload));
		size += pasta_encode_string(payload + size, texts[i], (uint32_t)strlen(texts[i]));
	}
	frame = pasta_encode_plain(support_encoder(), PASTA_FRAME_STRINGS, payload, size, first,
				   count, &n);
	put(b, frame, n);
}

/* Adds a frame of adjacent events. Returns the frame's offset in the bytes. */
__attribute__((unused)) static size_t put_frame(struct bytes *b, const struct pasta_event *events,
						size_t count, struct pasta_frame_meta meta)
{
	static const struct pasta_event *list[PASTA_FRAME_EVENTS];
	size_t n, at = b->size;
	const void *frame;

	for (size_t i = 0; i < count; i++)
		list[i] = &events[i];
	frame = pasta_encode_events(support_encoder(), list, count, &meta, &n);
	put(b, frame, n);
	return at;
}

/* Returns an event whose only content is its number. */
__attribute__((unused)) static struct pasta_event numbered(uint64_t number, uint64_t time)
{
	return (struct pasta_event){.size = PASTA_EVENT_SIZE(link),
				    .kind = PASTA_KIND_LINK,
				    .tid = 1,
				    .time = time,
				    .link = {.from = number, .to = ~number}};
}

/* Adds count events of a source, numbered from first, at time, time + 1, ... */
__attribute__((unused)) static size_t put_numbered(struct bytes *b, uint32_t source, uint64_t seq,
						   uint64_t first, size_t count, uint64_t time)
{
	struct pasta_event *events = calloc(count, sizeof(*events));
	size_t at;

	assert_non_null(events);
	for (size_t i = 0; i < count; i++)
		events[i] = numbered(first + i, time + i);
	at = put_frame(
		b, events, count,
		(struct pasta_frame_meta){.source = source, .seq = seq, .pos = (seq + count) * 40});
	free(events);
	return at;
}

__attribute__((unused)) static size_t put_state(struct bytes *b, uint64_t seq,
						const struct pasta_event *event)
{
	return put_frame(b, event, 1,
			 (struct pasta_frame_meta){.seq = seq, .flags = PASTA_FRAME_STATE});
}

__attribute__((unused)) static struct pasta_event clock_at(uint32_t id, uint64_t value,
							   uint64_t raw)
{
	return (struct pasta_event){
		.size = PASTA_EVENT_SIZE(clock),
		.kind = PASTA_KIND_CLOCK,
		.time = raw,
		.clock = {.value = value, .raw = raw, .real = raw + OFFSET, .id = id}};
}

__attribute__((unused)) static struct pasta_event
loss_of(uint32_t source, unsigned int reason, uint64_t pushed, uint64_t dropped, uint64_t time)
{
	return (struct pasta_event){
		.size = PASTA_EVENT_SIZE(loss),
		.kind = PASTA_KIND_LOSS,
		.sub = (uint8_t)reason,
		.time = time,
		.loss = {.pushed = pushed, .dropped = dropped, .source = source}};
}

__attribute__((unused)) static const struct pasta_frame *frame_at(const struct bytes *b, size_t at)
{
	return (const void *)(b->data + at);
}

/* Recomputes the checksums of a frame after a change. */
__attribute__((unused)) static void reseal(struct bytes *b, size_t at)
{
	struct pasta_frame *f = (void *)(b->data + at);

	f->sum = XXH3_64bits(f + 1, f->size);
	f->head_sum = XXH3_64bits(f, offsetof(struct pasta_frame, head_sum));
}

__attribute__((unused)) static void save(const struct bytes *b, size_t size, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->data, size), size);
	close(fd);
}

/* -- Streams
 * ------------------------------------------------------------------------------------------- */

__attribute__((unused)) static struct pasta_stream *open_stream(const char *path)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_error err = {0};

	assert_non_null(s);
	if (pasta_stream_add(s, path, &err))
		fail_msg("%s", err.text);
	return s;
}

/* Reads the numbers of the events up to the stream's end, and skips other events. Returns the
 * count. */
__attribute__((unused)) static size_t read_numbers(struct pasta_stream *s, uint64_t *numbers,
						   size_t max)
{
	const struct pasta_event *ev;
	size_t n = 0;

	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_LINK)
			continue;
		assert_true(n < max);
		assert_int_equal(ev->link.to, ~ev->link.from);
		numbers[n++] = ev->link.from;
	}
	return n;
}

/* Returns the stream's account, after its end. */
__attribute__((unused)) static struct pasta_loss_summary account_of(struct pasta_stream *s)
{
	struct pasta_loss_summary a;
	uint64_t sum;

	while (pasta_stream_next(s))
		;
	pasta_stream_loss(s, &a);
	assert_int_equal(a.expected, a.captured + a.dropped);
	sum = a.damaged;
	for (int i = 0; i < PASTA_LOSS_COUNT; i++)
		sum += a.by_reason[i];
	assert_int_equal(a.dropped, sum);
	return a;
}

#endif
