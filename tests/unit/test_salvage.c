/* test_salvage.c - what dead processes left in their rings: all of it, once, whatever the state
 * they were left in. */
/* timeout: 120 */
#include "support.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "collect/agent.h"
#include "collect/control.h"
#include "core/ringfile.h"
#include "process/salvage.h"

enum { PID = 4711, RING = 16384, NUMBERS = 20000 };

/* -- Ring files, made by hand
 * ----------------------------------------------------------------------- */

static uint64_t got[NUMBERS];

static const char *stem(const char *suffix)
{
	char host[256] = "", name[400];

	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), "%s-%d%s", host, PID, suffix);
	return in_dir(name);
}

/* Of a boot that was long ago, so that its process is dead. */
static struct pasta_ringfile *ring_begin(struct bytes *b)
{
	static const char zeros[4096];
	struct pasta_ringfile *f;
	const char *schema;
	size_t n;

	while (b->size < PASTA_RINGFILE_HEAD)
		put(b, zeros, sizeof(zeros));
	f = (void *)b->data;
	memcpy(f->magic, PASTA_RINGFILE_MAGIC, sizeof(f->magic));
	f->version = PASTA_RINGFILE_VERSION;
	f->pid = PID;
	f->boot[0] = 1;
	f->raw = RAW_0;
	f->real = REAL_0;
	schema = pasta_schema_text(&n);
	f->schema = pasta_schema_hash(schema, n);
	return f;
}

static struct pasta_ringfile *file_of(struct bytes *b)
{
	return (void *)b->data;
}

/* Where a segment lies; the bytes may move when the next is added. */
static void *segment_of(struct bytes *b, uint32_t i)
{
	return b->data + file_of(b)->segment[i].offset;
}

static uint32_t segment_add(struct bytes *b, uint32_t type, uint64_t size)
{
	static const char zeros[4096];
	uint32_t i = file_of(b)->segments;
	uint64_t offset = b->size;

	for (uint64_t n = 0; n < size; n += sizeof(zeros))
		put(b, zeros, sizeof(zeros));
	file_of(b)->segment[i] =
		(struct pasta_segment){.offset = offset, .size = size, .type = type, .in_file = 1};
	file_of(b)->segments = i + 1;
	return i;
}

static uint32_t ring_add(struct bytes *b, uint32_t source)
{
	uint32_t i = segment_add(b, PASTA_SEGMENT_RING, PASTA_RING_DATA + RING);
	struct pasta_ring *r = segment_of(b, i);

	r->size = RING;
	r->source = source;
	r->state = PASTA_RING_OPEN;
	r->tid = 1;
	return i;
}

/* As the agent pushes it. */
static void ring_push(struct pasta_ring *r, const struct pasta_event *ev)
{
	uint64_t off = r->head & (RING - 1), pad = off + ev->size > RING ? RING - off : 0;
	uint8_t *data = (uint8_t *)r + PASTA_RING_DATA;

	if (pad) {
		((struct pasta_event *)(void *)(data + off))->size = (uint16_t)pad;
		((struct pasta_event *)(void *)(data + off))->kind = PASTA_NONE;
		off = 0;
	}
	memcpy(data + off, ev, ev->size);
	r->head += pad + ev->size;
	r->pushed++;
}

/* As the agent's writer takes it, but for the frame. */
static void ring_pop(struct pasta_ring *r, size_t count)
{
	const uint8_t *data = (const uint8_t *)r + PASTA_RING_DATA;

	while (count) {
		const struct pasta_event *ev = (const void *)(data + (r->tail & (RING - 1)));

		count -= ev->kind != PASTA_NONE;
		r->drained += ev->kind != PASTA_NONE;
		r->tail += ev->size;
	}
}

static void push_numbers(struct bytes *b, uint32_t segment, uint64_t first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct pasta_event ev = numbered(first + i, RAW_0 + first + i);

		ring_push(segment_of(b, segment), &ev);
	}
}

static uint32_t strings_add(struct bytes *b, uint64_t first, uint32_t count,
			    const char *const *texts)
{
	uint32_t i = segment_add(b, PASTA_SEGMENT_STRINGS, 8192);
	struct pasta_strings *s = segment_of(b, i);

	s->size = 8192 - sizeof(*s);
	s->first = first;
	for (uint32_t k = 0; k < count; k++) {
		uint32_t n = (uint32_t)strlen(texts[k]);

		memcpy(s->data + s->used, &n, 4);
		memcpy(s->data + s->used + 4, texts[k], n);
		s->used += (4 + (uint64_t)n + 3) & ~UINT64_C(3);
	}
	return i;
}

/* One sweep of the folder; what it says. */
static struct pasta_salvaged sweep(void)
{
	struct pasta_salvaged out = {0};
	struct pasta_err err = {0};
	int r = pasta_salvage_sweep(support_dir, &out, &err);

	assert_int_equal(r, out.failed ? err.code : 0);
	return out;
}

static bool ring_is_there(void)
{
	return !access(stem(".ring"), F_OK);
}

/* The shard has the numbers from 0 up, each once; the account has so many and lost so many. */
static void check_shard(uint64_t count, uint64_t dropped)
{
	struct pasta_stream *s = open_stream(stem(".pst"));
	struct pasta_account a;

	assert_int_equal(read_numbers(s, got, NUMBERS), count);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(got[i], i);
	a = account_of(s);
	assert_int_equal(a.captured, count);
	assert_int_equal(a.dropped, dropped);
	assert_int_equal(a.damaged_bytes, 0);
	pasta_stream_free(s);
}

static int fresh_dir(void **state)
{
	return make_dir(state);
}

/* -- Sound rings
 * --------------------------------------------------------------------------------------- */

static void a_dead_process_s_ring_goes_to_its_shard_and_is_removed(void **state)
{
	static const char *const texts[] = {"first", "second", ""};
	struct bytes b = {0};
	struct pasta_event region = {.size = PASTA_EVENT_SIZE(region),
				     .kind = PASTA_REGION,
				     .time = RAW_0 + 1000,
				     .region = {.name = 2}};
	struct pasta_salvaged out;
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint32_t ring;

	ring_begin(&b);
	strings_add(&b, 1, 3, texts);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 100);
	ring_push(segment_of(&b, ring), &region);
	((struct pasta_ring *)segment_of(&b, ring))->dropped[PASTA_LOSS_FULL] = 7;
	file_of(&b)->lost[PASTA_LOSS_MEMORY] = 5;
	save(&b, b.size, stem(".ring"));
	out = sweep();
	assert_int_equal(out.processes, 1);
	assert_int_equal(out.events, 101);
	assert_int_equal(out.alive + out.failed, 0);
	assert_false(ring_is_there());
	s = open_stream(stem(".pst"));
	for (uint64_t i = 0; i < 100; i++) {
		do
			ev = pasta_stream_next(s);
		while (ev && ev->kind == PASTA_LOSS);
		assert_int_equal(ev->link.from, i);
		assert_int_equal(ev->time, REAL_0 + i);
	}
	ev = pasta_stream_next(s);
	assert_string_equal(pasta_str(ev->region.name), "second");
	assert_int_equal(account_of(s).captured, 101);
	assert_int_equal(account_of(s).by_reason[PASTA_LOSS_FULL], 7);
	assert_int_equal(account_of(s).by_reason[PASTA_LOSS_MEMORY], 5);
	assert_int_equal(pasta_stream_shard(s, 0)->pid, PID);
	pasta_stream_free(s);
	free(b.data);
}

static void a_ring_that_went_round_is_salvaged_from_its_tail(void **state)
{
	struct bytes b = {0};
	uint32_t ring;
	uint64_t n = 0;

	put_head(&b, 1, REAL_0); /* the shard, up to what the ring has left */
	put_schema(&b, NULL, 0);
	put_numbered(&b, 1, 0, 0, 1000, RAW_0);
	save(&b, b.size, stem(".pst"));
	b.size = 0;
	ring_begin(&b);
	ring = ring_add(&b, 1);
	for (; n < 1000; n += 100) {
		push_numbers(&b, ring, n, 100);
		ring_pop(segment_of(&b, ring), 100);
	}
	push_numbers(&b, ring, n, 300);
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().events, 300);
	check_shard(1300, 0);
	free(b.data);
}

/* The writer appends a frame, then tells the ring: a process may die between the two. */
static void a_frame_that_its_ring_does_not_know_of_is_not_salvaged_again(void **state)
{
	for (int told = 0; told < 3; told++) {
		struct bytes b = {0}, shard = {0};
		struct pasta_ring *r;
		uint32_t ring;

		ring_begin(&b);
		ring = ring_add(&b, 1);
		push_numbers(&b, ring, 0, 50);
		r = segment_of(&b, ring);
		put_head(&shard, 1, REAL_0);
		put_schema(&shard, NULL, 0);
		put_numbered(&shard, 1, 0, 0, 50, RAW_0);
		/* put_numbered says that a position is 40 bytes an event, which it is. */
		assert_int_equal(r->head, 50 * 40);
		r->drained = told ? 50 : 0; /* the number is told before the position */
		r->tail = told == 2 ? r->head : 0;
		push_numbers(&b, ring, 50, 30);
		save(&shard, shard.size, stem(".pst"));
		save(&b, b.size, stem(".ring"));
		assert_int_equal(sweep().events, 30);
		check_shard(80, 0);
		free(b.data);
		free(shard.data);
	}
}

/* Killed at any byte that it had appended, or before it removed the ring. */
static void salvage_that_was_interrupted_can_be_run_again(void **state)
{
	static const char *const texts[] = {"one", "two"};
	struct bytes b = {0}, whole = {0}, start = {0};
	uint32_t ring;
	int fd;
	off_t size;

	put_head(&start, 1, REAL_0);
	put_schema(&start, NULL, 0);
	put_numbered(&start, 1, 0, 0, 20, RAW_0);
	save(&start, start.size, stem(".pst"));
	ring_begin(&b);
	strings_add(&b, 1, 2, texts);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 20);
	ring_pop(segment_of(&b, ring), 20);
	push_numbers(&b, ring, 20, 40);
	((struct pasta_ring *)segment_of(&b, ring))->dropped[PASTA_LOSS_FULL] = 3;
	ring = ring_add(&b, 2);
	((struct pasta_ring *)segment_of(&b, ring))->dropped[PASTA_LOSS_DEPTH] = 2;
	push_numbers(&b, ring, 60, 25);
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().events, 65);
	check_shard(85, 5);
	fd = open(stem(".pst"), O_RDONLY | O_CLOEXEC);
	size = lseek(fd, 0, SEEK_END);
	for (char byte; pread(fd, &byte, 1, (off_t)whole.size) == 1;)
		put(&whole, &byte, 1);
	close(fd);
	assert_int_equal(whole.size, size);
	for (size_t n = start.size; n <= whole.size; n += support_slow ? 9 : 1) {
		struct pasta_stream *s;

		save(&whole, n, stem(".pst"));
		save(&b, b.size, stem(".ring"));
		assert_int_equal(sweep().processes, 1);
		assert_false(ring_is_there());
		check_shard(85, 5);
		s = open_stream(stem(".pst"));
		pasta_stream_free(s);
	}
	free(b.data);
	free(whole.data);
	free(start.data);
}

static void a_shard_that_never_got_its_head_gets_one(void **state)
{
	static const size_t sizes[] = {0,
				       1,
				       40,
				       sizeof(struct pasta_shard_head) - 1,
				       sizeof(struct pasta_shard_head),
				       sizeof(struct pasta_shard_head) + 50};
	struct bytes b = {0}, shard = {0};

	put_head(&shard, 1, REAL_0);
	put_schema(&shard, NULL, 0);
	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		save(&shard, sizes[i], stem(".pst"));
		save(&b, b.size, stem(".ring"));
		assert_int_equal(sweep().events, 10);
		check_shard(10, 0);
	}
	unlink(stem(".pst"));
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().events, 10);
	check_shard(10, 0);
	free(b.data);
	free(shard.data);
}

static void strings_after_a_block_that_is_lost_keep_their_ids(void **state)
{
	static const char *const texts[] = {"lost 1", "lost 2"}, *const rest[] = {"third",
										  "fourth"};
	struct bytes b = {0};
	struct pasta_event region = {.size = PASTA_EVENT_SIZE(region), .kind = PASTA_REGION};
	struct pasta_stream *s;
	uint32_t ring, lost;

	ring_begin(&b);
	lost = strings_add(&b, 1, 2, texts);
	strings_add(&b, 3, 2, rest);
	file_of(&b)->segment[lost].in_file = 0; /* the disk was full just then */
	ring = ring_add(&b, 1);
	for (uint32_t id = 1; id <= 4; id++) {
		region.region.name = id;
		region.time = id;
		ring_push(segment_of(&b, ring), &region);
	}
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().events, 4);
	s = open_stream(stem(".pst"));
	assert_string_equal(pasta_str(pasta_stream_next(s)->region.name), "");
	assert_string_equal(pasta_str(pasta_stream_next(s)->region.name), "");
	assert_string_equal(pasta_str(pasta_stream_next(s)->region.name), "third");
	assert_string_equal(pasta_str(pasta_stream_next(s)->region.name), "fourth");
	pasta_stream_free(s);
	free(b.data);
}

/* -- Who is dead
 * ---------------------------------------------------------------------------------------- */

static void a_ring_of_another_host_is_left_alone(void **state)
{
	struct bytes b = {0};
	char host[256] = "", name[400];
	struct pasta_salvaged out;

	gethostname(host, sizeof(host) - 1);
	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, in_dir("elsewhere-4711.ring"));
	snprintf(name, sizeof(name), "%s-1-%d.ring", host, PID); /* a host that is called HOST-1 */
	save(&b, b.size, in_dir(name));
	out = sweep();
	assert_int_equal(out.alive, 2);
	assert_int_equal(out.processes, 0);
	assert_int_equal(access(in_dir(name), F_OK), 0);
	free(b.data);
}

static void a_ring_that_somebody_has_locked_is_left_alone_whatever_is_in_it(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct bytes b = {0};
	int ready[2], status;
	char byte;
	pid_t pid;

	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		int fd = open(stem(".ring"), O_RDWR | O_CLOEXEC);

		byte = (char)fcntl(fd, F_SETLK, &lock);
		_exit(write(ready[1], &byte, 1) == 1 ? pause() : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 0);
	assert_int_equal(sweep().alive, 1);
	assert_int_equal(truncate(stem(".ring"), 100), 0); /* it seems to be half made */
	utimensat(AT_FDCWD, stem(".ring"), old, 0);
	assert_int_equal(sweep().alive, 1);
	save(&b, b.size, stem(".ring"));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_int_equal(sweep().processes, 1);
	check_shard(10, 0);
	close(ready[0]);
	close(ready[1]);
	free(b.data);
}

static void a_ring_of_another_version_is_kept_and_says_so(void **state)
{
	struct bytes b = {0};
	struct pasta_salvaged out = {0};
	struct pasta_err err = {0};

	ring_begin(&b)->version = PASTA_RINGFILE_VERSION + 1;
	save(&b, b.size, stem(".ring"));
	assert_int_equal(pasta_salvage_sweep(support_dir, &out, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "another version"));
	assert_true(ring_is_there());
	assert_int_not_equal(access(stem(".pst"), F_OK), 0);
	file_of(&b)->version = PASTA_RINGFILE_VERSION;
	file_of(&b)->schema ^= 1;
	save(&b, b.size, stem(".ring"));
	assert_int_equal(pasta_salvage_sweep(support_dir, &out, &err), -EPROTONOSUPPORT);
	assert_true(ring_is_there());
	assert_int_equal(out.failed, 2);
	free(b.data);
}

static void a_shard_that_is_none_is_not_written_to_and_its_ring_is_kept(void **state)
{
	static const char text[] =
		"a text that is longer than the head of a shard, or as long, as if "
		"it were one, which it is not";
	struct bytes b = {0}, foreign = {0};
	struct stat st;

	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	put(&foreign, text, sizeof(text));
	save(&foreign, foreign.size, stem(".pst"));
	assert_int_equal(sweep().failed, 1);
	assert_true(ring_is_there());
	assert_int_equal(stat(stem(".pst"), &st), 0);
	assert_int_equal(st.st_size, sizeof(text));
	unlink(stem(".pst"));
	mkdir(stem(".pst"), 0777);
	assert_int_equal(sweep().failed, 1);
	assert_true(ring_is_there());
	rmdir(stem(".pst"));
	assert_int_equal(sweep().processes, 1);
	check_shard(10, 0);
	free(b.data);
	free(foreign.data);
}

static void a_ring_file_that_is_still_being_made_is_left_alone_for_a_while(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct bytes b = {0};

	ring_begin(&b);
	memset(file_of(&b)->magic, 0, 8);
	for (size_t size = 0; size <= b.size; size += b.size) {
		save(&b, size, stem(".ring"));
		assert_int_equal(sweep().alive, 1);
		assert_true(ring_is_there());
		utimensat(AT_FDCWD, stem(".ring"), old, 0);
		assert_int_equal(sweep().failed, 0);
		assert_false(ring_is_there());
	}
	free(b.data);
}

static void a_folder_that_is_not_there_is_an_error_that_names_it(void **state)
{
	struct pasta_salvaged out = {0};
	struct pasta_err err = {0};

	assert_int_equal(pasta_salvage_sweep("/nonexistent/shards", &out, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/shards"));
}

/* -- Damaged rings
 * ---------------------------------------------------------------------------------------- */

/* 100 events in ring 1, which is then damaged; 20 in ring 2, which must not suffer. */
static struct pasta_account salvage_damaged(void (*damage)(struct bytes *b, struct pasta_ring *r))
{
	struct bytes b = {0};
	struct pasta_stream *s;
	struct pasta_account a;
	uint32_t ring;
	uint64_t seen = 0;
	size_t n;

	ring_begin(&b);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 1000, 100);
	push_numbers(&b, ring_add(&b, 2), 0, 20);
	damage(&b, segment_of(&b, ring));
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().processes, 1);
	assert_false(ring_is_there());
	s = open_stream(stem(".pst"));
	n = read_numbers(s, got, NUMBERS);
	for (size_t i = 0; i < n; i++)
		seen += got[i] < 20;
	assert_int_equal(seen, 20);
	a = account_of(s);
	pasta_stream_free(s);
	unlink(stem(".pst"));
	free(b.data);
	return a;
}

static struct pasta_event *record_of(struct pasta_ring *r, size_t i)
{
	return (void *)((uint8_t *)r + PASTA_RING_DATA + i * 40);
}

static void break_size(struct bytes *b, struct pasta_ring *r)
{
	record_of(r, 60)->size = 0;
}

static void break_kind(struct bytes *b, struct pasta_ring *r)
{
	record_of(r, 60)->kind = 250;
}

static void break_length(struct bytes *b, struct pasta_ring *r)
{
	record_of(r, 60)->size = 65528;
}

static void records_after_one_that_is_damaged_are_counted_as_missing(void **state)
{
	void (*const damages[])(struct bytes *, struct pasta_ring *) = {break_size, break_kind,
									break_length};

	for (size_t i = 0; i < 3; i++) {
		struct pasta_account a = salvage_damaged(damages[i]);

		assert_int_equal(a.captured, 60 + 20);
		assert_int_equal(a.damaged, 40);
	}
}

static void break_tail(struct bytes *b, struct pasta_ring *r)
{
	r->tail = r->head + 8;
}

static void break_alignment(struct bytes *b, struct pasta_ring *r)
{
	r->head = RING * 2;
	r->tail = RING * 2 - 1;
}

static void break_head(struct bytes *b, struct pasta_ring *r)
{
	r->head = UINT64_MAX - 7;
	r->tail = UINT64_MAX - 7 - 4000;
}

static void break_distance(struct bytes *b, struct pasta_ring *r)
{
	r->head = RING + 8;
}

static void a_ring_whose_positions_are_nonsense_is_counted_as_missing(void **state)
{
	void (*const damages[])(struct bytes *, struct pasta_ring *) = {break_tail, break_alignment,
									break_head, break_distance};

	for (size_t i = 0; i < 4; i++) {
		struct pasta_account a = salvage_damaged(damages[i]);

		assert_int_equal(a.captured, 20);
		assert_int_equal(a.damaged, 100);
	}
}

static void break_counters(struct bytes *b, struct pasta_ring *r)
{
	r->drained = UINT64_MAX - 5;
}

static void break_pushed(struct bytes *b, struct pasta_ring *r)
{
	r->pushed = UINT64_C(1) << 60;
}

static void a_ring_whose_counts_are_nonsense_still_gives_its_records(void **state)
{
	struct pasta_account a = salvage_damaged(break_counters);

	assert_int_equal(a.captured, 120);
	assert_int_equal(a.dropped, 0);
	a = salvage_damaged(break_pushed);
	assert_int_equal(a.captured, 120);
	assert_int_equal(a.dropped, 0);
}

static void break_source(struct bytes *b, struct pasta_ring *r)
{
	r->source = 0;
}

static void break_ring_size(struct bytes *b, struct pasta_ring *r)
{
	r->size = RING * 2;
}

static void break_segment_offset(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segment[0].offset = UINT64_MAX - 4095;
}

static void break_segment_size(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segment[0].size = UINT64_MAX;
}

static void break_segment_type(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segment[0].type = 77;
}

static void break_segment_place(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segment[0].offset += 8;
}

static void break_segment_count(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segments = UINT32_MAX;
	file_of(b)->segment[0].size = 0;
}

static void break_into_strings(struct bytes *b, struct pasta_ring *r)
{
	struct pasta_strings *s = (void *)r;

	file_of(b)->segment[0].type = PASTA_SEGMENT_STRINGS;
	s->first = UINT64_MAX;
	s->used = UINT64_MAX;
}

static void what_is_not_a_ring_is_passed_over_and_the_others_are_salvaged(void **state)
{
	void (*const damages[])(struct bytes *, struct pasta_ring *) = {
		break_source,	    break_ring_size,	 break_segment_offset, break_segment_size,
		break_segment_type, break_segment_place, break_segment_count,  break_into_strings};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
		assert_int_equal(salvage_damaged(damages[i]).captured, 20);
}

static void break_alias(struct bytes *b, struct pasta_ring *r)
{
	for (uint32_t i = 2; i < PASTA_SEGMENTS_MAX; i++)
		file_of(b)->segment[i] = file_of(b)->segment[0];
	file_of(b)->segments = PASTA_SEGMENTS_MAX;
}

static void a_ring_that_is_listed_two_thousand_times_is_salvaged_once(void **state)
{
	struct pasta_account a = salvage_damaged(break_alias);

	assert_int_equal(a.captured, 120);
	assert_int_equal(a.dropped, 0);
}

/* A block of strings that is bigger than a frame may be: none of the agent's is. */
static void a_block_of_strings_that_no_frame_can_hold_is_passed_over(void **state)
{
	struct bytes b = {0};
	struct pasta_strings *s;
	uint32_t i, n = 12 << 20;

	ring_begin(&b);
	i = segment_add(&b, PASTA_SEGMENT_STRINGS, 16 << 20);
	s = segment_of(&b, i);
	s->first = 1;
	s->used = n + 4;
	memcpy(s->data, &n, 4);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().events, 10);
	check_shard(10, 0);
	free(b.data);
}

/* Bytes changed at random, in the heads of the file and of the rings and in the records. */
static void a_ring_file_with_any_bytes_changed_does_no_harm(void **state)
{
	static const char *const texts[] = {"one", "two"};
	struct bytes b = {0}, changed = {0};
	uint32_t ring;

	random_begin();
	ring_begin(&b);
	strings_add(&b, 1, 2, texts);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 30);
	for (int round = 0; round < (support_slow ? 50 : 300); round++) {
		struct pasta_salvaged out = {0};
		struct pasta_err err = {0};
		const uint64_t places[] = {offsetof(struct pasta_ringfile, lost),
					   file_of(&b)->segment[0].offset,
					   file_of(&b)->segment[1].offset,
					   file_of(&b)->segment[1].offset + 128,
					   file_of(&b)->segment[1].offset + PASTA_RING_DATA};

		changed.size = 0;
		put(&changed, b.data, b.size);
		for (uint64_t k = 1 + random_below(4); k--;)
			changed.data[places[random_below(5)] + random_below(260)] =
				random_below(3) ? (uint8_t)random_u64() : 0xff;
		save(&changed, changed.size, stem(".ring"));
		pasta_salvage_sweep(support_dir, &out, &err);
		if (!out.failed && !access(stem(".pst"), F_OK)) {
			struct pasta_stream *s = open_stream(stem(".pst"));

			account_of(s);
			pasta_stream_free(s);
		}
		unlink(stem(".pst"));
		unlink(stem(".ring"));
	}
	free(b.data);
	free(changed.data);
}

/* -- A disk that is full, and two at once
 * -------------------------------------------------------------- */

static void on_a_full_disk_the_ring_is_kept_and_salvaged_once_there_is_room(void **state)
{
	struct bytes b = {0}, filler = {0};
	struct pasta_salvaged out;
	int tries = 0;

	if (geteuid() || mount("tmpfs", support_dir, "tmpfs", 0, "size=512k"))
		skip(); /* only root can make a disk that is full */
	ring_begin(&b);
	for (uint32_t source = 1; source <= 4; source++) {
		uint32_t ring = ring_add(&b, source);

		for (uint64_t i = 0; i < 350; i++) { /* of events that do not compress */
			struct pasta_event ev =
				numbered((source - 1) * 350 + i, RAW_0 + (source - 1) * 350 + i);

			ev.tid = (uint32_t)random_u64();
			ring_push(segment_of(&b, ring), &ev);
		}
	}
	save(&b, b.size, stem(".ring"));
	put(&filler, b.data, 4096);
	for (int fd = open(in_dir("filler"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);;)
		if (write(fd, filler.data, 4096) != 4096) {
			close(fd);
			break;
		}
	do {
		struct stat st;

		out = sweep();
		tries++;
		assert_int_equal(out.failed + out.processes, 1);
		assert_int_equal(out.failed, ring_is_there());
		assert_int_equal(stat(in_dir("filler"), &st), 0);
		assert_true(st.st_size > 0 || !out.failed);
		assert_int_equal(
			truncate(in_dir("filler"), st.st_size > 4096 ? st.st_size - 4096 : 0), 0);
	} while (out.failed);
	assert_true(tries > 2);
	check_shard(1400, 0);
	umount(support_dir);
	free(b.data);
	free(filler.data);
}

static void *sweeper(void *arg)
{
	struct pasta_salvaged *out = arg;

	pasta_salvage_sweep(support_dir, out, NULL);
	return NULL;
}

static void two_sweepers_at_once_salvage_everything_once(void **state)
{
	enum { ROUNDS = 30, SWEEPERS = 2 };
	struct bytes b = {0};

	ring_begin(&b);
	for (uint32_t source = 1; source <= 4; source++)
		push_numbers(&b, ring_add(&b, source), (source - 1) * 200, 200);
	for (int round = 0; round < ROUNDS; round++) {
		struct pasta_salvaged out[SWEEPERS] = {0};
		pthread_t threads[SWEEPERS];
		uint64_t events = 0;

		unlink(stem(".pst"));
		save(&b, b.size, stem(".ring"));
		for (int i = 0; i < SWEEPERS; i++)
			pthread_create(&threads[i], NULL, sweeper, &out[i]);
		for (int i = 0; i < SWEEPERS; i++) {
			pthread_join(threads[i], NULL);
			events += out[i].events;
			assert_int_equal(out[i].failed, 0);
		}
		assert_int_equal(events, 800);
		assert_false(ring_is_there());
		check_shard(800, 0);
	}
	free(b.data);
}

/* -- The agent's own rings
 * ------------------------------------------------------------------------------- */

static int run_dir(void **state)
{
	if (make_dir(state))
		return -1;
	setenv(PASTA_ENV_RUN, support_dir, 1);
	return mkdir(in_dir("shards"), 0777);
}

static void emit_numbers(uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct pasta_event ev = numbered(first + i, pasta_now());

		pasta_emit(&ev);
	}
}

static void *emit_in_thread(void *arg)
{
	emit_numbers(*(uint64_t *)arg, 1000);
	return NULL;
}

/* Four threads push a thousand each, while the writer stalls: all is in the rings alone. */
static void emit_and_stall(void)
{
	uint64_t first[4] = {0, 1000, 2000, 3000};
	pthread_t threads[4];

	emit_numbers(4000, 1); /* begins to record */
	pasta_agent_stall(true);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, emit_in_thread, &first[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void die_by_exit(void)
{
	emit_and_stall();
	_exit(0);
}

static void die_by_kill(void)
{
	emit_and_stall();
	kill(getpid(), SIGKILL);
}

static void become_another(void)
{
	emit_and_stall();
	execlp("sleep", "sleep", "100", (char *)NULL);
	_exit(98);
}

static pid_t start(void (*body)(void))
{
	pid_t pid = fork();

	if (!pid) {
		if (pasta_agent_attach())
			body();
		_exit(99);
	}
	assert_true(pid > 0);
	return pid;
}

static struct pasta_salvaged sweep_run(void)
{
	struct pasta_salvaged out = {0};
	struct pasta_err err = {0};

	if (pasta_salvage_sweep(in_dir("shards"), &out, &err))
		fail_msg("%s", err.text);
	return out;
}

/* Every number below 4001 is in the run's shards once, and nothing was lost. */
static void check_run(void)
{
	static bool seen[4001];
	char path[600];
	struct pasta_stream *s = pasta_stream_new(0);
	DIR *d = opendir(in_dir("shards"));
	struct dirent *e;
	struct pasta_account a;
	size_t n;

	while ((e = readdir(d)))
		if (strstr(e->d_name, ".pst")) {
			snprintf(path, sizeof(path), "%s/%s", in_dir("shards"), e->d_name);
			assert_int_equal(pasta_stream_add(s, path, NULL), 0);
		}
	closedir(d);
	memset(seen, 0, sizeof(seen));
	n = read_numbers(s, got, NUMBERS);
	assert_int_equal(n, 4001);
	for (size_t i = 0; i < n; i++) {
		assert_true(got[i] < 4001 && !seen[got[i]]);
		seen[got[i]] = true;
	}
	a = account_of(s);
	assert_int_equal(a.captured, 4001);
	assert_int_equal(a.dropped, 0);
	pasta_stream_free(s);
}

static void all_that_was_emitted_before_exit_is_salvaged(void **state)
{
	pid_t pid = start(die_by_exit);
	int status;

	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_int_equal(sweep_run().processes, 1);
	check_run();
	assert_int_equal(sweep_run().processes, 0);
}

static void all_that_was_emitted_before_a_kill_is_salvaged(void **state)
{
	pid_t pid = start(die_by_kill);
	int status;

	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(sweep_run().processes, 1);
	check_run();
}

static void a_dead_process_that_nobody_has_waited_for_is_dead(void **state)
{
	pid_t pid = start(die_by_kill);
	siginfo_t info;

	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	assert_int_equal(sweep_run().processes, 1);
	check_run();
	waitpid(pid, NULL, 0);
}

static int live_pipe[2];

static void live(void)
{
	emit_and_stall();
	if (write(live_pipe[1], "", 1) != 1)
		_exit(97);
	pause();
}

static void a_process_that_lives_is_left_alone_until_it_dies(void **state)
{
	char byte;
	pid_t pid;

	assert_int_equal(pipe(live_pipe), 0);
	pid = start(live);
	assert_int_equal(read(live_pipe[0], &byte, 1), 1);
	assert_int_equal(sweep_run().alive, 1);
	assert_int_equal(sweep_run().processes, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(sweep_run().processes, 1);
	check_run();
	close(live_pipe[0]);
	close(live_pipe[1]);
}

/* A program may close all descriptors that it does not know: the lock goes with them. Not by
 * close(), of which ThreadSanitizer would say, when the writer has just looked at one, that they
 * race. */
static void close_and_live(void)
{
	emit_and_stall();
	for (int fd = 3; fd < 1024; fd++)
		if (fd != live_pipe[1])
			syscall(SYS_close, fd);
	if (write(live_pipe[1], "", 1) != 1)
		_exit(97);
	pause();
}

static void a_process_that_closed_our_descriptors_is_still_known_to_live(void **state)
{
	char byte;
	pid_t pid;

	assert_int_equal(pipe(live_pipe), 0);
	pid = start(close_and_live);
	assert_int_equal(read(live_pipe[0], &byte, 1), 1);
	assert_int_equal(sweep_run().alive, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(sweep_run().processes, 1);
	check_run();
	close(live_pipe[0]);
	close(live_pipe[1]);
}

static void a_process_that_became_another_program_is_salvaged_while_it_runs(void **state)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	pid_t pid = start(become_another);
	uint64_t salvaged = 0;

	for (int i = 0; !salvaged && i < 500; i++) {
		nanosleep(&nap, NULL);
		salvaged = sweep_run().processes;
	}
	assert_int_equal(salvaged, 1);
	assert_int_equal(kill(pid, 0), 0);
	check_run();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* With the writer at work: wherever it was when the process died. */
static void emit_for_ever(void)
{
	for (uint64_t i = 0;; i++) {
		emit_numbers(i, 1);
		if (i % 64 == 0 && write(live_pipe[1], &i, sizeof(i)) != sizeof(i))
			_exit(97);
	}
}

static void killed_at_any_moment_a_process_loses_nothing_that_was_emitted(void **state)
{
	random_begin();
	for (int round = 0; round < 10; round++) {
		const struct timespec nap = {.tv_nsec = (long)random_below(60000000)};
		uint64_t told = 0, next = 0;
		struct pasta_stream *s = pasta_stream_new(0);
		const struct pasta_event *ev;
		struct pasta_account a;
		char path[600] = "";
		struct dirent *e;
		pid_t pid;
		DIR *d;

		assert_int_equal(pipe(live_pipe), 0);
		fcntl(live_pipe[0], F_SETPIPE_SZ, 1 << 20);
		pid = start(emit_for_ever);
		assert_int_equal(read(live_pipe[0], &told, sizeof(told)), sizeof(told));
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(live_pipe[1]);
		while (read(live_pipe[0], &told, sizeof(told)) == sizeof(told))
			;
		close(live_pipe[0]);
		sweep_run();
		d = opendir(in_dir("shards"));
		while ((e = readdir(d)))
			if (strstr(e->d_name, ".pst"))
				snprintf(path, sizeof(path), "%s/%s", in_dir("shards"), e->d_name);
		closedir(d);
		assert_int_equal(pasta_stream_add(s, path, NULL), 0);
		pasta_stream_want(s, PASTA_BIT(LINK));
		while ((ev = pasta_stream_next(s)))
			assert_property(ev->link.from >= next && (next = ev->link.from + 1));
		a = account_of(s);
		assert_property(a.captured + a.by_reason[PASTA_LOSS_FULL] == a.expected);
		assert_property(a.expected >= told + 1);
		assert_property(a.damaged == 0 && a.damaged_bytes == 0 && a.late == 0);
		pasta_stream_free(s);
		unlink(path);
	}
}

int main(void)
{
#define BY_HAND(name) cmocka_unit_test_setup_teardown(name, fresh_dir, remove_dir)
#define BY_AGENT(name) cmocka_unit_test_setup_teardown(name, run_dir, remove_dir)
	const struct CMUnitTest tests[] = {
		BY_HAND(a_dead_process_s_ring_goes_to_its_shard_and_is_removed),
		BY_HAND(a_ring_that_went_round_is_salvaged_from_its_tail),
		BY_HAND(a_frame_that_its_ring_does_not_know_of_is_not_salvaged_again),
		BY_HAND(salvage_that_was_interrupted_can_be_run_again),
		BY_HAND(a_shard_that_never_got_its_head_gets_one),
		BY_HAND(strings_after_a_block_that_is_lost_keep_their_ids),
		BY_HAND(a_ring_of_another_host_is_left_alone),
		BY_HAND(a_ring_that_somebody_has_locked_is_left_alone_whatever_is_in_it),
		BY_HAND(a_ring_of_another_version_is_kept_and_says_so),
		BY_HAND(a_shard_that_is_none_is_not_written_to_and_its_ring_is_kept),
		BY_HAND(a_ring_file_that_is_still_being_made_is_left_alone_for_a_while),
		BY_HAND(a_folder_that_is_not_there_is_an_error_that_names_it),
		BY_HAND(records_after_one_that_is_damaged_are_counted_as_missing),
		BY_HAND(a_ring_whose_positions_are_nonsense_is_counted_as_missing),
		BY_HAND(a_ring_whose_counts_are_nonsense_still_gives_its_records),
		BY_HAND(what_is_not_a_ring_is_passed_over_and_the_others_are_salvaged),
		BY_HAND(a_ring_that_is_listed_two_thousand_times_is_salvaged_once),
		BY_HAND(a_block_of_strings_that_no_frame_can_hold_is_passed_over),
		BY_HAND(a_ring_file_with_any_bytes_changed_does_no_harm),
		BY_HAND(on_a_full_disk_the_ring_is_kept_and_salvaged_once_there_is_room),
		BY_HAND(two_sweepers_at_once_salvage_everything_once),
		BY_AGENT(all_that_was_emitted_before_exit_is_salvaged),
		BY_AGENT(all_that_was_emitted_before_a_kill_is_salvaged),
		BY_AGENT(a_dead_process_that_nobody_has_waited_for_is_dead),
		BY_AGENT(a_process_that_lives_is_left_alone_until_it_dies),
		BY_AGENT(a_process_that_closed_our_descriptors_is_still_known_to_live),
		BY_AGENT(a_process_that_became_another_program_is_salvaged_while_it_runs),
		BY_AGENT(killed_at_any_moment_a_process_loses_nothing_that_was_emitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
