/*
 * make_corpus.c - the seeds of fuzz_shard, fuzz_ring, fuzz_raw and fuzz_worker: the same bytes
 * whenever it is run.
 *
 * Run it when the format changes, from the top of the tree:
 *   cc -std=c17 -D_GNU_SOURCE= -Iinclude -Isrc tests/fuzz/make_corpus.c src/core/frame.c \
 *      src/core/kinds.c src/core/rawblock.c src/core/ringfile.c -lzstd -o make_corpus
 *   ./make_corpus tests/fuzz/corpus
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/ringfile.h"
#include "core/pathnode.h"
#include "core/rawblock.h"

static uint8_t buffer[1 << 20];
static size_t used;
static bool sealed; /* leave frames as they are */
static struct pasta_encoder *encoder;
static const char *corpus;

static void put(const void *data, size_t size)
{
	memcpy(buffer + used, data, size);
	used += size;
}

static void save(const char *room, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", corpus, room, name);
	f = fopen(path, "wb");
	if (!f || fwrite(buffer, 1, used, f) != used || fclose(f)) {
		perror(path);
		exit(1);
	}
	used = 0;
}

/* Fields that rise, fall, jump and stay. */
static struct pasta_event event(unsigned int kind, uint32_t i)
{
	const struct pasta_kind_info *info = &pasta_kinds[kind];
	struct pasta_event ev = {.size = info->size, .kind = (uint8_t)kind};

	ev.sub = (uint8_t)(i % 3);
	ev.tid = 100 + i % 2;
	ev.time = 1000000 + i * 1000 + i * i % 7;
	for (unsigned int f = 0; f < info->count; f++) {
		uint64_t v = f % 4 == 0 ? i : f % 4 == 1 ? i * UINT64_C(0x9e3779b97f4a7c15) : f;

		if (info->fields[f].type == PASTA_FIELD_str ||
		    info->fields[f].type == PASTA_FIELD_ref)
			v = i % 5;
		memcpy((char *)&ev + info->fields[f].offset, &v,
		       pasta_field_size(info->fields[f].type));
	}
	if (kind == PASTA_KIND_CLOCK)
		ev.clock = (struct pasta_clock_record){
			.value = i * 2000, .raw = ev.time, .real = ev.time + 5000000, .id = i % 2};
	if (kind == PASTA_KIND_LOSS)
		ev.loss = (struct pasta_loss_record){
			.pushed = 10 + i, .dropped = i, .source = 1 + i % 2};
	return ev;
}

/* -- Shards: a byte that selects how to read them, then the file
 * -----------------------------------
 */

static void begin(unsigned int how)
{
	const uint8_t byte = (uint8_t)how;
	struct pasta_shard_head head = {.raw = 1000000, .real = 6000000, .pid = 1};

	sealed = !(how & 1);
	put(&byte, 1);
	head.boot[0] = 1;
	pasta_shard_head_seal(&head);
	put(&head, sizeof(head));
}

/* Not compressed: a mutation in zstd's bytes is the end of them. fuzz_shard makes the sums right.
 */
static void put_frame(const void *frame, size_t size)
{
	static const char zeros[8];
	static uint8_t raw[1 << 16];
	struct pasta_frame f;

	memcpy(&f, frame, sizeof(f));
	if (sealed || !(f.flags & PASTA_FRAME_ZSTD)) {
		put(frame, size);
		return;
	}
	if (ZSTD_decompress(raw, sizeof(raw), (const uint8_t *)frame + sizeof(f), f.size) !=
	    f.raw_size)
		abort();
	f.flags &= (uint8_t)~PASTA_FRAME_ZSTD;
	f.size = f.raw_size;
	put(&f, sizeof(f));
	put(raw, f.raw_size);
	put(zeros, -(size_t)f.raw_size & 7);
}

static void put_plain(enum pasta_frame_type type, const void *payload, size_t size, uint64_t first,
		      uint32_t count)
{
	size_t n;
	const void *frame = pasta_encode_plain(encoder, type, payload, size, first, count, &n);

	put_frame(frame, n);
}

static void put_schema(void)
{
	size_t n;
	const char *schema = pasta_schema_text(&n);

	put_plain(PASTA_FRAME_SCHEMA, schema, n, 0, 0);
}

static void put_strings(uint64_t first, uint32_t count)
{
	uint8_t payload[512];
	size_t size = 0;
	char text[16];

	for (uint32_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		size += pasta_encode_string(payload + size, text, (uint32_t)strlen(text));
	}
	put_plain(PASTA_FRAME_STRINGS, payload, size, first, count);
}

/* Each called by the one before, the first by itself, if that could be; from id first on. */
static void put_paths(uint32_t first, uint32_t count)
{
	uint8_t payload[512], bytes[PASTA_PATHNODE_SIZE];
	size_t size = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct pasta_pathnode node = {first + i - (i != 0), 1 + i % 2, 2, 10 + i};

		pasta_pathnode_encode(&node, bytes);
		size += pasta_encode_string(payload + size, bytes, sizeof(bytes));
	}
	put_plain(PASTA_FRAME_STRINGS, payload, size, first, count);
}

static void put_events(const struct pasta_event *events, size_t count, struct pasta_frame_meta meta)
{
	static const struct pasta_event *list[PASTA_FRAME_EVENTS];
	const void *frame;
	size_t n;

	for (size_t i = 0; i < count; i++)
		list[i] = &events[i];
	frame = pasta_encode_events(encoder, list, count, &meta, &n);
	put_frame(frame, n);
}

static void put_kind(unsigned int kind, uint32_t source, uint64_t seq, size_t count)
{
	struct pasta_event events[64];

	for (uint32_t i = 0; i < count; i++)
		events[i] = event(kind, i);
	put_events(events, count,
		   (struct pasta_frame_meta){.source = source,
					     .seq = seq,
					     .clock = source == 2,
					     .flags = source ? 0 : PASTA_FRAME_STATE});
}

static void put_singles(void)
{
	for (unsigned int kind = 1; kind < PASTA_KIND_MAX; kind++)
		if (pasta_kinds[kind].size)
			put_kind(kind, 1, kind, 1);
}

static void shards(void)
{
	struct pasta_event mixed[40];

	begin(1);
	put_singles();
	save("shard", "singles");
	begin(1);
	put_schema();
	put_strings(1, 5);
	put_kind(PASTA_KIND_PROCESS, 0, 0, 1);
	put_kind(PASTA_KIND_CLOCK, 0, 1, 3);
	put_kind(PASTA_KIND_REGION, 1, 0, 3);
	put_kind(PASTA_KIND_KERNEL, 2, 0, 2);
	put_kind(PASTA_KIND_LOSS, 0, 4, 2);
	save("shard", "whole");
	begin(0);
	put_strings(1, 5);
	put_kind(PASTA_KIND_REGION, 1, 0, 30);
	put_kind(PASTA_KIND_REGION, 1, 30, 30);
	save("shard", "unsealed");
	for (uint32_t i = 0; i < 40; i++)
		mixed[i] = event(1 + i % 28, i / 2);
	begin(1);
	put_events(mixed, 3, (struct pasta_frame_meta){.source = 1});
	put_events(mixed, 7, (struct pasta_frame_meta){.source = 2});
	put_events(mixed, 40, (struct pasta_frame_meta){.source = 3});
	save("shard", "mixed");
	begin(1 | 2);
	put_kind(PASTA_KIND_LINK, 1, 0, 2);
	put_kind(PASTA_KIND_CLOCK, 0, 0, 1);
	put_kind(PASTA_KIND_LINK, 1, 2, 2);
	save("shard", "followed");
	begin(1 | 8);
	for (uint64_t i = 0; i < 8; i++)
		put_kind(PASTA_KIND_COUNTER, 1 + i % 3, i / 3 * 4, 4);
	save("shard", "overlapping");
	begin(1 | 4);
	put_kind(PASTA_KIND_LAUNCH, 1, 0, 2);
	put_kind(PASTA_KIND_KERNEL, 1, 2, 2);
	put_kind(PASTA_KIND_KERNEL, 1, 2, 2);
	save("shard", "twice");
	begin(1);
	put_strings(1, 2);
	put_paths(3, 2); /* a field's ids go up to 4 */
	put_kind(PASTA_KIND_LAUNCH, 1, 0, 6);
	put_kind(PASTA_KIND_OP_BEGIN, 1, 6, 6);
	put_paths(2, 2);
	save("shard", "paths");
	begin(1);
	put_plain(PASTA_FRAME_SCHEMA, "19 link u64:to u32:from str:new\n62 new u64:x", 44, 0, 0);
	put_kind(PASTA_KIND_LINK, 1, 0, 1);
	save("shard", "schema");
}

/* -- Rings: what of the file is not zero --------------------------------------------------------
 */

static uint8_t file[PASTA_RINGFILE_HEAD + 32 * 4096];
static size_t file_size;

static struct pasta_ringfile *head(void)
{
	return (void *)file;
}

static void *segment(uint32_t type, uint64_t size)
{
	void *p = file + file_size;
	uint32_t i = head()->segments++;

	head()->segment[i] = (struct pasta_segment){
		.offset = file_size, .size = size, .type = (uint16_t)type, .in_file = 1};
	head()->segment[i].sum = pasta_segment_sum(head(), i);
	file_size += size;
	return p;
}

static struct pasta_ring *ring(uint32_t source, uint32_t size)
{
	struct pasta_ring *r = segment(PASTA_SEGMENT_RING, PASTA_RING_DATA + size);

	r->size = size;
	r->source = source;
	r->sum = pasta_ring_sum(head(), r);
	r->state = PASTA_RING_OPEN;
	for (uint32_t i = 0; i < PASTA_LOSS_COUNT; i++)
		r->dropped[i] = pasta_seal(0, i);
	return r;
}

static void push(struct pasta_ring *r, unsigned int kind, uint32_t i)
{
	struct pasta_event ev = event(kind, i), *to;
	uint64_t off = r->head & (r->size - 1), check;
	uint64_t pad = off + ev.size > r->size ? r->size - off : 0;

	to = (void *)((uint8_t *)r + PASTA_RING_DATA + off);
	if (pad) {
		*(uint16_t *)to = (uint16_t)pad;
		to->kind = PASTA_KIND_NONE;
		to = (void *)((uint8_t *)r + PASTA_RING_DATA);
	}
	memcpy(to, &ev, ev.size);
	check = pasta_record_check(pasta_ring_seed(head(), r->source), r->head + pad, to);
	memcpy((char *)to + PASTA_RECORD_CHECK, &check, 8);
	r->head += pad + ev.size;
	r->pushed++;
}

static void strings(uint64_t first, uint32_t count)
{
	struct pasta_strings *s = segment(PASTA_SEGMENT_STRINGS, 8192);

	s->size = 8192 - sizeof(*s);
	s->first = first;
	s->sum = pasta_strings_sum(head(), s);
	for (uint32_t i = 0; i < count; i++) {
		struct pasta_string *string = (void *)(s->data + s->used);

		string->size = 1 + i % 6;
		string->sum = pasta_string_sum(pasta_ring_seed(head(), 0), first + i, "string",
					       string->size);
		memcpy(string->bytes, "string", string->size);
		s->used += pasta_string_room(string->size);
	}
}

static void begin_ring(void)
{
	memset(file, 0, sizeof(file));
	file_size = PASTA_RINGFILE_HEAD;
	head()->guid[0] = 1;
	head()->raw = 1000000;
	head()->real = 6000000;
	for (uint32_t i = 0; i < PASTA_LOSS_COUNT; i++)
		head()->lost[i] = pasta_seal(0, i);
	head()->own = pasta_seal(0, PASTA_OWN_SALT);
}

/* Spans that are at most 16 zeros apart are one. */
static void save_ring(const char *name)
{
	const uint8_t pages = (uint8_t)((file_size - PASTA_RINGFILE_HEAD) / 4096);

	put(&pages, 1);
	for (size_t at = 0; at < file_size; at++) {
		size_t end = at, zeros = 0;
		uint32_t offset = (uint32_t)at;
		uint16_t n;

		if (!file[at])
			continue;
		for (; at < file_size && zeros < 16 && at - offset < 60000; at++) {
			zeros = file[at] ? 0 : zeros + 1;
			end = file[at] ? at + 1 : end;
		}
		n = (uint16_t)(end - offset);
		put(&offset, 4);
		put(&n, 2);
		put(file + offset, n);
		at--;
	}
	save("ring", name);
}

static void rings(void)
{
	struct pasta_ring *r;

	begin_ring();
	strings(1, 4);
	r = ring(1, 4096);
	for (uint32_t i = 0; i < 8; i++)
		push(r, PASTA_KIND_REGION, i);
	save_ring("one");
	begin_ring();
	strings(1, 9);
	strings(10, 3);
	for (uint32_t k = 1; k < 4; k++) {
		r = ring(k, 4096);
		for (uint32_t i = 0; i < 6; i++)
			push(r, 1 + (i * 5 + k) % 28, i);
		r->dropped[1 + k] = pasta_seal(k, 1 + k);
	}
	head()->lost[PASTA_LOSS_MEMORY] = pasta_seal(3, PASTA_LOSS_MEMORY);
	save_ring("three");
	begin_ring();
	r = ring(1, 4096);
	for (uint32_t i = 0; i < 100; i++)
		push(r, PASTA_KIND_KERNEL, i);
	r->tail = r->head; /* taken, and in no frame */
	r->drained = r->pushed;
	for (uint32_t i = 0; i < 10; i++)
		push(r, PASTA_KIND_KERNEL, i);
	save_ring("round");
	begin_ring();
	r = ring(1, 16384);
	for (uint32_t i = 0; i < 40; i++)
		push(r, PASTA_KIND_LINK, i);
	ring(2, 8192)->pushed = 9;
	save_ring("broken");
}

/* As bytes, with what fuzz_raw wants before them, and as a block. */
static void save_raw(const char *name, const struct pasta_access *accesses, size_t count)
{
	struct pasta_raw_block block = {.corr = 7, .count = (uint32_t)count};
	static uint8_t raw[1 << 16], packed[1 << 17];
	const uint8_t n = (uint8_t)count;
	char other[64];
	size_t size;

	pasta_raw_encode(accesses, count, raw, sizeof(raw), &size);
	put(&n, 1);
	put(raw, size);
	save("raw", name);
	put(raw, size);
	snprintf(other, sizeof(other), "%s-bytes", name);
	save("raw", other);
	block.raw_size = (uint32_t)size;
	block.size = (uint32_t)ZSTD_compress(packed, sizeof(packed), raw, size, 1);
	pasta_raw_block_seal(&block, packed);
	put(&block, sizeof(block));
	put(packed, block.size);
	snprintf(other, sizeof(other), "%s-block", name);
	save("raw", other);
}

static void raws(void)
{
	struct pasta_access a[200];

	memset(a, 0, sizeof(a));
	save_raw("one", a, 1);
	for (uint32_t i = 0; i < 200; i++)
		a[i] = (struct pasta_access){.addr = UINT64_C(0x7f0000000000) + 4 * i,
					     .size = 4,
					     .site = 1 + i % 3,
					     .launch = 7,
					     .group = i / 64,
					     .turn = i % 2,
					     .thread = (uint16_t)(i % 64),
					     .kind = (uint8_t)(1 + i % 3)};
	save_raw("stride", a, 200);
	for (uint32_t i = 0; i < 100; i++)
		a[i] = (struct pasta_access){.addr = i * UINT64_C(0x9e3779b97f4a7c15),
					     .size = i << 24,
					     .site = i * 2654435761u,
					     .launch = ~i,
					     .group = i << 31,
					     .turn = UINT32_MAX - i,
					     .thread = (uint16_t)(i * 40503),
					     .kind = (uint8_t)i,
					     .space = (uint8_t)~i};
	save_raw("wild", a, 100);
}

/* -- Answers of workers: a byte that selects their type, then a head, which fuzz_worker makes ----
 */

static void begin_answer(unsigned int how)
{
	static const char head[24];
	const uint8_t byte = (uint8_t)how;

	put(&byte, 1);
	put(head, sizeof(head));
}

static void number(uint64_t value)
{
	put(&value, sizeof(value));
}

static void text(const char *s)
{
	number(s ? strlen(s) : UINT64_MAX);
	if (s)
		put(s, strlen(s) + 1);
}

static void real(double value)
{
	put(&value, sizeof(value));
}

/* Events, stopped, bytes, files that changed, raw accesses that could not be read, tools. */
static void put_answer_begin(void)
{
	begin_answer(0);
	number(1000);
	number(1);
	number(4096);
	number(8192);
	number(1);
	text("/lib/libchanged.so");
	number((uint64_t)-2);
	text("cannot read it");
	number(2);
}

/* Three columns, two rows; one cell is empty. */
static void put_answer_table(const char *name)
{
	static const uint8_t none = 0, second = 2;

	text(name);
	number(3);
	text("name"), number(0), text(NULL), number(4);
	text("time"), number(1), text("ns"), number(2);
	text("share"), number(2), text("%"), number(3);
	number(2);
	put(&none, 1);
	text("gr\xc3\xb6\xc3\x9f"
	     "e");
	text("\033[31m");
	put(&second, 1);
	number(UINT64_MAX);
	put(&none, 1);
	real(0.5);
	real(1e300 * 1e10);
}

static void put_answer_axis(const char *name, const char *unit, uint64_t scale)
{
	text(name), text(unit), number(scale), number(0);
}

static void put_answer_chart(const char *name, uint64_t type)
{
	text(name);
	number(type);
	put_answer_axis("x", "ns", 0);
	put_answer_axis("y", NULL, type == 5);
	put_answer_axis("value", NULL, 0);
}

/* No edges of bins, no lanes, no names, no limits, no grid; and so many series, with the first one,
 * which has no name. */
static void put_answer_plain(uint64_t series)
{
	for (int i = 0; i < 5; i++)
		number(0);
	number(series);
}

static void put_answer_old_charts(void)
{
	put_answer_chart("line", 0);
	put_answer_plain(3);
	text(NULL), number(0);
	text("first"), number(2), real(1), real(2), real(3), real(4);
	text(""), number(0);
	number(0);
	put_answer_chart("bar", 1);
	put_answer_plain(1);
	text(NULL), number(1), text("label"), real(7);
	number(0);
	put_answer_chart("heat", 2);
	put_answer_plain(1);
	text(NULL), number(1), real(1), real(2), real(3);
	number(0);
	put_answer_chart("flame", 3);
	put_answer_plain(1);
	text(NULL), number(1), number(2), text("main"), text("f"), number(9);
	number(0);
}

/* A grid of three by two cells, two of which have a value, with labels for its rows. */
static void put_answer_grid(void)
{
	static const uint8_t bits = 0x21;

	text("grid"), number(2);
	put_answer_axis("x", NULL, 0);
	text("y"), text(NULL), number(0), number(2), text("rank 0"), text("rank 1");
	put_answer_axis("value", "bytes", 0);
	for (int i = 0; i < 4; i++)
		number(0);
	number(1), real(-1), real(0.5), real(0), real(1), number(3), number(2);
	put(&bits, 1);
	real(5), real(7);
	number(1), text(NULL), number(0);
	number(0);
}

static void put_answer_timeline(void)
{
	put_answer_chart("timeline", 4);
	number(0);
	number(2), text("stream"), text("device"), number(0), text("deep"), text(NULL), number(1);
	number(1), text("gemm"), number(1);
	number(0), number(0);
	number(1), text(NULL), number(2);
	number(0), number(10), number(5), real(1);
	number((uint64_t)1 << 32), number(12), number(0), real(2);
	number(0);
}

static void put_answer_scatter(void)
{
	put_answer_chart("scatter", 5);
	number(0), number(0), number(0);
	number(2), text("roof"), number(1), real(2), text("peak"), number(0), real(100);
	number(0);
	number(2), text(NULL), number(1), real(-1), real(2), real(3), text(NULL);
	text("s"), number(1), real(4), real(5), real(0), text("label");
	number(0);
}

static void put_answer_new_charts(void)
{
	put_answer_grid();
	put_answer_timeline();
	put_answer_scatter();
	put_answer_chart("area", 6);
	put_answer_plain(2);
	text(NULL), number(0), text("s"), number(2), real(0), real(1), real(1), real(2);
	number(0);
	put_answer_chart("histogram", 7);
	number(3), real(0), real(1), real(2);
	for (int i = 0; i < 4; i++)
		number(0);
	number(2), text(NULL), number(0), text("s"), number(2), number(7), number(UINT64_MAX);
	number(0);
	put_answer_chart("graph", 8);
	put_answer_plain(1);
	text(NULL), number(2);
	number(UINT32_MAX), text("root"), real(1), real(2);
	number(0), text("leaf"), real(3), real(4);
	number(1), number((uint64_t)1 << 32), real(5);
}

/* A finding with a count, a row that it refers to, and what it saves. */
static void put_answer_finding(void)
{
	number(1), number(3);
	text("slow: 3"), text("here"), text(NULL), text("be quick");
	text("t"), text(NULL), number(1), real(0), real(0);
	number(1000), number(1);
	number(2), number(100), number(200); /* process 2, device 0 */
}

static void answers(void)
{
	put_answer_begin();
	text("one"), number(0), text("");
	number(2);
	put_answer_table("t");
	put_answer_table("u");
	number(10);
	put_answer_old_charts();
	put_answer_new_charts();
	number(1);
	put_answer_finding();
	text("two"), number((uint64_t)-5), text("it failed");
	number(0), number(0), number(0);
	save("worker", "all");
	put_answer_begin();
	for (int i = 0; i < 2; i++) {
		text(i ? "two" : "one"), number(0), text("");
		number(0), number(0), number(0);
	}
	save("worker", "empty");
	begin_answer(1);
	for (uint64_t i = 0; i < 2; i++) {
		text(i ? "second" : "first"), text("what it does");
		number(1 << 3), number(i), number(i), number(i);
		text(i ? "a.fatbin" : NULL);
		number(i), number(2 * i);
		number(2 * i);
		for (uint64_t k = 0; k < 2 * i; k++)
			text("option"), text(k ? "1" : NULL), text("what it is"), number(k);
	}
	save("worker", "tools");
}

int main(int argc, char **argv)
{
	void *memory;

	if (argc != 2) {
		fprintf(stderr, "usage: make_corpus FOLDER\n");
		return 2;
	}
	corpus = argv[1];
	memory = aligned_alloc(64, (pasta_encoder_size() + 63) & ~(size_t)63);
	if (!memory)
		return 1;
	memset(memory, 0, pasta_encoder_size());
	encoder = pasta_encoder_init(memory);
	shards();
	rings();
	raws();
	answers();
	return 0;
}
