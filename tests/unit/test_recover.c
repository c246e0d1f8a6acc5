/* test_recover.c - recovery of the rings of dead processes: all events, once, in any state of the
 * files, for any user. */
/* timeout: 120 */
#include "ringmade.h"

#include <dirent.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collect/agent.h"
#include "collect/control.h"
#include "core/shardwriter.h"
#include "process/read/input.h"
#include "process/read/recover.h"

enum { NUMBERS = 20000, RECORD = 40 }; /* bytes of a number in a ring */

static uint64_t got[NUMBERS];

static const char *stem(const char *suffix)
{
	char host[256] = "", name[400];

	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), "%s-%d%s", host, PID, suffix);
	return in_dir(name);
}

static bool is_there(const char *suffix)
{
	return !access(stem(suffix), F_OK);
}

static bool ring_is_there(void)
{
	return is_there(".ring");
}

/* Sweeps the folder once. */
static struct pasta_recovered sweep(void)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};
	int r = pasta_recover_sweep(support_dir, &out, &err);

	assert_int_equal(!r, !(out.failed || out.damaged || out.unwritten));
	return out;
}

/* Reads the shard with the events of its ring, as a report does; *out and *err come from
 * pasta_recover_shard. */
static struct pasta_stream *read_whole(bool commit, struct pasta_recovered *out,
				       struct pasta_error *err)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_shard_parts parts;
	const char *path = stem(".pst");
	int folder = open(support_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	pasta_recover_shard(folder, strrchr(path, '/') + 1, path, commit, &parts, out, err);
	close(folder);
	if (parts.file < 0 && parts.tail < 0) {
		pasta_stream_free(s);
		return NULL;
	}
	assert_int_equal(pasta_stream_add_open(s, &parts, err), 0);
	return s;
}

/* The stream has the numbers from 0 to count, each once; the loss summary has count captured and
 * dropped dropped. */
static void check_stream(struct pasta_stream *s, uint64_t count, uint64_t dropped)
{
	struct pasta_loss_summary a;

	assert_int_equal(read_numbers(s, got, NUMBERS), count);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(got[i], i);
	a = account_of(s);
	assert_int_equal(a.captured, count);
	assert_int_equal(a.dropped, dropped);
	assert_int_equal(a.damaged_bytes, 0);
	pasta_stream_free(s);
}

static void check_shard(uint64_t count, uint64_t dropped)
{
	check_stream(open_stream(stem(".pst")), count, dropped);
}

static int fresh_dir(void **state)
{
	return make_dir(state);
}

/* A frame as the writer makes it from a ring. */
static void put_drained(struct bytes *b, uint32_t source, uint64_t seq, size_t count, uint64_t pos)
{
	struct pasta_event *events = calloc(count, sizeof(*events));

	for (size_t i = 0; i < count; i++)
		events[i] = numbered(seq + i, RAW_0 + seq + i);
	put_frame(b, events, count,
		  (struct pasta_frame_meta){.source = source, .seq = seq, .pos = pos});
	free(events);
}

static void begin_shard(struct bytes *b)
{
	put_head(b, 1, REAL_0);
	put_schema(b, NULL, 0);
}

static void load_file(struct bytes *b, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];

	assert_true(fd >= 0);
	for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) > 0;)
		put(b, bytes, (size_t)n);
	close(fd);
}

/* -- Intact rings
 * -------------------------------------------------------------------------------------- */

static void a_dead_process_s_ring_goes_to_its_shard_and_is_removed(void **state)
{
	static const char *const texts[] = {"first", "second", ""};
	struct bytes b = {0};
	struct pasta_event region = {.size = PASTA_EVENT_SIZE(region),
				     .kind = PASTA_KIND_REGION,
				     .time = RAW_0 + 1000,
				     .region = {.name = 2}};
	struct pasta_recovered out;
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint32_t ring;

	ring_begin(&b);
	strings_add(&b, 1, 3, texts);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 100);
	ring_push(&b, ring, &region);
	ring_of(&b, ring)->dropped[PASTA_LOSS_FULL] = pasta_seal(7, PASTA_LOSS_FULL);
	file_of(&b)->lost[PASTA_LOSS_MEMORY] = pasta_seal(5, PASTA_LOSS_MEMORY);
	save(&b, b.size, stem(".ring"));
	out = sweep();
	assert_int_equal(out.processes, 1);
	assert_int_equal(out.committed, 1);
	assert_int_equal(out.events, 101);
	assert_int_equal(out.alive + out.failed + out.unsure, 0);
	assert_false(ring_is_there());
	s = open_stream(stem(".pst"));
	for (uint64_t i = 0; i < 100; i++) {
		do
			ev = pasta_stream_next(s);
		while (ev && ev->kind == PASTA_KIND_LOSS);
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

static void a_ring_that_went_round_is_recovered_from_where_its_frames_end(void **state)
{
	struct bytes b = {0}, shard = {0};
	uint32_t ring;
	uint64_t n = 0;

	ring_begin(&b);
	ring = ring_add(&b, 1);
	for (; n < 1000; n += 100) {
		push_numbers(&b, ring, n, 100);
		ring_drain(ring_of(&b, ring));
	}
	begin_shard(&shard);
	put_drained(&shard, 1, 0, 1000, ring_of(&b, ring)->head);
	push_numbers(&b, ring, n, 300);
	save(&shard, shard.size, stem(".pst"));
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().events, 300);
	check_shard(1300, 0);
	free(b.data);
	free(shard.data);
}

/* The writer appends a frame, then updates the ring: a process may die in between. */
static void a_frame_that_its_ring_does_not_know_of_is_not_recovered_again(void **state)
{
	for (int drained_first = 0; drained_first < 3; drained_first++) {
		struct bytes b = {0}, shard = {0};
		struct pasta_ring *r;
		uint32_t ring;

		ring_begin(&b);
		ring = ring_add(&b, 1);
		push_numbers(&b, ring, 0, 50);
		r = ring_of(&b, ring);
		begin_shard(&shard);
		put_drained(&shard, 1, 0, 50, r->head);
		r->drained = drained_first ? 50 : 0; /* the count is updated before the position */
		r->tail = drained_first == 2 ? r->head : 0;
		push_numbers(&b, ring, 50, 30);
		save(&shard, shard.size, stem(".pst"));
		save(&b, b.size, stem(".ring"));
		assert_int_equal(sweep().events, 30);
		check_shard(80, 0);
		free(b.data);
		free(shard.data);
	}
}

/* Killed between the record and the head: the record is complete, and is recovered. */
static void a_record_that_was_not_published_yet_is_recovered(void **state)
{
	struct bytes b = {0};
	struct pasta_ring *r;
	uint32_t ring;

	ring_begin(&b);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 11);
	r = ring_of(&b, ring);
	r->head -= RECORD;
	r->pushed--;
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().committed, 1);
	check_shard(11, 0);
	free(b.data);
}

/* Killed at any byte of the appended frames, or before the ring was removed. */
static void an_interrupted_recovery_can_be_repeated(void **state)
{
	static const char *const texts[] = {"one", "two"};
	struct bytes b = {0}, whole = {0}, start = {0};
	uint32_t ring;

	ring_begin(&b);
	strings_add(&b, 1, 2, texts);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 20);
	ring_drain(ring_of(&b, ring));
	begin_shard(&start);
	put_drained(&start, 1, 0, 20, ring_of(&b, ring)->head);
	save(&start, start.size, stem(".pst"));
	push_numbers(&b, ring, 20, 40);
	ring_of(&b, ring)->dropped[PASTA_LOSS_FULL] = pasta_seal(3, PASTA_LOSS_FULL);
	ring = ring_add(&b, 2);
	ring_of(&b, ring)->dropped[PASTA_LOSS_DEPTH] = pasta_seal(2, PASTA_LOSS_DEPTH);
	push_numbers(&b, ring, 60, 25);
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().events, 65);
	check_shard(85, 5);
	load_file(&whole, stem(".pst"));
	for (size_t n = start.size; n <= whole.size; n += support_slow ? 9 : 1) {
		save(&whole, n, stem(".pst"));
		save(&b, b.size, stem(".ring"));
		assert_int_equal(sweep().committed, 1);
		assert_false(ring_is_there());
		check_shard(85, 5);
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

	begin_shard(&shard);
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

static void strings_after_a_missing_block_retain_their_ids(void **state)
{
	static const char *const texts[] = {"lost 1", "lost 2"}, *const rest[] = {"third",
										  "fourth"};
	struct bytes b = {0};
	struct pasta_event region = {.size = PASTA_EVENT_SIZE(region), .kind = PASTA_KIND_REGION};
	struct pasta_stream *s;
	uint32_t ring, lost;

	ring_begin(&b);
	lost = strings_add(&b, 1, 2, texts);
	strings_add(&b, 3, 2, rest);
	file_of(&b)->segment[lost].in_file = 0; /* the disk was full at that time */
	file_of(&b)->segment[lost].sum = pasta_segment_sum(file_of(&b), lost);
	ring = ring_add(&b, 1);
	for (uint32_t id = 1; id <= 4; id++) {
		region.region.name = id;
		region.time = id;
		ring_push(&b, ring, &region);
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

/* -- Liveness
 * ------------------------------------------------------------------------------------------- */

/* Another boot, which is later than this one. */
static void a_ring_of_another_host_of_the_same_name_is_read_and_left_alone(void **state)
{
	struct pasta_recovered out;
	struct timespec now;
	struct bytes b = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	ring_begin(&b);
	file_of(&b)->real = (uint64_t)now.tv_sec * 1000000000u;
	file_of(&b)->sum = pasta_ringfile_sum(file_of(&b));
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	out = sweep();
	assert_int_equal(out.unsure, 1);
	assert_int_equal(out.events, 10);
	assert_int_equal(out.committed, 0);
	assert_true(ring_is_there());
	free(b.data);
}

static void a_ring_of_another_host_is_read_and_left_alone(void **state)
{
	struct bytes b = {0};
	char host[256] = "", name[400];
	struct pasta_recovered out;

	gethostname(host, sizeof(host) - 1);
	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, in_dir("elsewhere-4711.ring"));
	snprintf(name, sizeof(name), "%s-1-%d.ring", host, PID); /* a host called HOST-1 */
	save(&b, b.size, in_dir(name));
	out = sweep();
	assert_int_equal(out.unsure, 2);
	assert_int_equal(out.events, 20);
	assert_int_equal(out.committed, 0);
	assert_int_equal(access(in_dir(name), F_OK), 0);
	assert_int_equal(access(in_dir("elsewhere-4711.ring"), F_OK), 0);
	assert_int_not_equal(access(in_dir("elsewhere-4711.pst"), F_OK), 0);
	free(b.data);
}

/* Starts a child that holds an fcntl(2) lock on the ring file, and maps it or not. */
static pid_t lock_ring(bool map)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		int fd = open(stem(".ring"), O_RDWR | O_CLOEXEC);

		byte = (char)fcntl(fd, F_SETLK, &lock);
		if (map && mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			byte = 1;
		_exit(write(ready[1], &byte, 1) == 1 ? pause() : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 0);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_ring_that_its_process_has_locked_is_left_alone_whatever_is_in_it(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct bytes b = {0};
	pid_t pid;

	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	pid = lock_ring(true);
	assert_int_equal(sweep().alive, 1);
	assert_int_equal(truncate(stem(".ring"), 0), 0); /* looks unfinished */
	utimensat(AT_FDCWD, stem(".ring"), old, 0);
	assert_int_equal(sweep().alive, 1);
	assert_true(ring_is_there());
	save(&b, b.size, stem(".ring"));
	end(pid);
	assert_int_equal(sweep().committed, 1);
	check_shard(10, 0);
	free(b.data);
}

/* On NFS, flock(2) and fcntl(2) locks are the same: another report may hold one. */
static void a_ring_that_another_process_has_locked_is_read_and_not_changed(void **state)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};
	struct bytes b = {0};
	pid_t pid;

	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	pid = lock_ring(false);
	check_stream(read_whole(true, &out, &err), 10, 0);
	assert_int_equal(out.alive + out.committed, 0);
	assert_true(ring_is_there());
	end(pid);
	assert_int_equal(sweep().committed, 1);
	check_shard(10, 0);
	free(b.data);
}

/* Makes a system call fail with this errno in the child, which then reads the ring. */
static void fail_calls(int call, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

/* Runs body in a child. Returns its exit status. */
static int in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		body();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int lock_errors[] = {ENOLCK, EOPNOTSUPP, EINVAL, EBADF};
static int lock_error;

static void read_without_locks(void)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};
	struct pasta_stream *s;

	fail_calls(SYS_flock, lock_error);
	s = read_whole(true, &out, &err);
	if (!s || read_numbers(s, got, NUMBERS) != 10 || account_of(s).dropped)
		_exit(1);
	if (out.alive || out.unsure || out.committed || out.failed || err.code)
		_exit(2);
}

static void where_locks_fail_dead_processes_are_dead_and_all_is_read(void **state)
{
	struct bytes b = {0};

	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	for (size_t i = 0; i < sizeof(lock_errors) / sizeof(*lock_errors); i++) {
		int status;

		lock_error = lock_errors[i];
		status = in_child(read_without_locks);
		if (status == 77)
			skip(); /* no seccomp here */
		assert_int_equal(status, 0);
		assert_true(ring_is_there());
		assert_false(is_there(".pst"));
	}
	assert_int_equal(sweep().committed, 1);
	check_shard(10, 0);
	free(b.data);
}

static void a_ring_of_another_version_is_reported_and_not_removed(void **state)
{
	struct bytes b = {0};
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};

	ring_begin(&b)->version = PASTA_RINGFILE_VERSION + 1;
	file_of(&b)->sum ^= 1; /* an unknown checksum */
	save(&b, b.size, stem(".ring"));
	assert_int_equal(pasta_recover_sweep(support_dir, &out, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "another version"));
	assert_true(ring_is_there());
	assert_false(is_there(".pst"));
	file_of(&b)->version = PASTA_RINGFILE_VERSION;
	file_of(&b)->schema ^= 1;
	file_of(&b)->sum = pasta_ringfile_sum(file_of(&b));
	save(&b, b.size, stem(".ring"));
	assert_int_equal(pasta_recover_sweep(support_dir, &out, &err), -EPROTONOSUPPORT);
	assert_true(ring_is_there());
	assert_int_equal(out.failed, 2);
	free(b.data);
}

static void a_file_that_is_not_a_shard_is_not_written_to_and_its_ring_is_read(void **state)
{
	static const char text[] =
		"a text that is longer than the head of a shard, or as long, as if "
		"it were one, which it is not";
	struct bytes b = {0}, foreign = {0}, after = {0};
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};

	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	put(&foreign, text, sizeof(text));
	save(&foreign, foreign.size, stem(".pst"));
	check_stream(read_whole(true, &out, &err), 10, 0);
	assert_int_equal(out.failed, 1);
	assert_non_null(strstr(err.text, ".pst"));
	assert_true(ring_is_there());
	load_file(&after, stem(".pst"));
	assert_int_equal(after.size, sizeof(text));
	assert_memory_equal(after.data, text, sizeof(text));
	unlink(stem(".pst"));
	mkdir(stem(".pst"), 0777);
	assert_int_equal(sweep().failed, 1);
	assert_true(ring_is_there());
	rmdir(stem(".pst"));
	assert_int_equal(sweep().committed, 1);
	check_shard(10, 0);
	free(b.data);
	free(foreign.data);
	free(after.data);
}

static void a_shard_of_another_process_gets_nothing(void **state)
{
	struct bytes b = {0}, shard = {0}, after = {0};
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};

	put_head(&shard, 2, REAL_0);
	put_schema(&shard, NULL, 0);
	save(&shard, shard.size, stem(".pst"));
	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	check_stream(read_whole(true, &out, &err), 0, 0);
	assert_int_equal(out.failed, 1);
	assert_non_null(strstr(err.text, "another shard"));
	assert_true(ring_is_there());
	load_file(&after, stem(".pst"));
	assert_int_equal(after.size, shard.size);
	free(b.data);
	free(shard.data);
	free(after.data);
}

static void a_ring_file_that_is_still_being_made_is_left_alone_for_a_while(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	const time_t soon = time(NULL) + 3600;
	const struct timespec later[2] = {{.tv_sec = soon}, {.tv_sec = soon}};
	struct pasta_recovered out;
	struct bytes b = {0};

	ring_begin(&b);
	memset(file_of(&b)->magic, 0, 8);
	for (size_t size = 0; size <= b.size; size += b.size) {
		save(&b, size, stem(".ring"));
		assert_int_equal(sweep().alive, 1);
		assert_true(ring_is_there());
		/* With a future time, it is unknown whether the process still runs. */
		utimensat(AT_FDCWD, stem(".ring"), later, 0);
		out = sweep();
		assert_int_equal(out.alive, 0);
		assert_int_equal(out.unsure, 1);
		assert_true(ring_is_there());
		utimensat(AT_FDCWD, stem(".ring"), old, 0);
		assert_int_equal(sweep().failed, 0);
		assert_true(ring_is_there()); /* the agent makes the shard first: the file is not an
						 agent's */
		save(&b, 0, stem(".pst"));
		assert_int_equal(sweep().failed, 0);
		assert_false(ring_is_there());
		unlink(stem(".pst"));
	}
	free(b.data);
}

/* The process has written to the shard, so the ring was complete once. */
static void an_emptied_ring_file_is_damaged_and_not_removed(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct bytes b = {0}, shard = {0};

	begin_shard(&shard);
	put_drained(&shard, 1, 0, 10, 10 * RECORD);
	save(&shard, shard.size, stem(".pst"));
	for (size_t size = 0; size <= PASTA_RINGFILE_HEAD; size += PASTA_RINGFILE_HEAD) {
		struct pasta_recovered out = {0};
		struct pasta_error err = {0};

		ring_begin(&b);
		memset(b.data, 0, b.size);
		save(&b, size, stem(".ring"));
		utimensat(AT_FDCWD, stem(".ring"), old, 0);
		check_stream(read_whole(true, &out, &err), 10, 0);
		assert_int_equal(out.damaged, 1);
		assert_true(ring_is_there());
	}
	free(b.data);
	free(shard.data);
}

static void a_folder_that_is_not_there_is_an_error_that_names_it(void **state)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};

	assert_int_equal(pasta_recover_sweep("/nonexistent/shards", &out, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/shards"));
}

/* -- Damaged rings
 * ---------------------------------------------------------------------------------------- */

typedef void (*damage_fn)(struct bytes *b, struct pasta_ring *r);

/* 100 events in ring 1, which is then damaged; 20 in ring 2, which must not be affected. A damaged
 * ring is reported and never removed. */
static struct pasta_loss_summary
recover_damaged(damage_fn damage, bool commit, struct pasta_recovered *out, struct pasta_error *err)
{
	struct bytes b = {0};
	struct pasta_stream *s;
	struct pasta_loss_summary a = {0};
	uint32_t ring;
	uint64_t seen = 0;
	size_t n;

	*out = (struct pasta_recovered){0};
	*err = (struct pasta_error){0};
	ring_begin(&b);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 1000, 100);
	push_numbers(&b, ring_add(&b, 2), 0, 20);
	damage(&b, ring_of(&b, ring));
	save(&b, b.size, stem(".ring"));
	s = read_whole(commit, out, err);
	if (s) {
		n = read_numbers(s, got, NUMBERS);
		for (size_t i = 0; i < n; i++)
			seen += got[i] < 20;
		assert_int_equal(seen, 20);
		a = account_of(s);
		pasta_stream_free(s);
	}
	assert_int_equal(ring_is_there() + is_there(".ring.damaged"), out->damaged || !commit);
	if (commit && is_there(".pst")) { /* the file on disk has the same */
		struct pasta_loss_summary disk;

		s = open_stream(stem(".pst"));
		assert_int_equal(read_numbers(s, got, NUMBERS), n);
		disk = account_of(s);
		assert_memory_equal(&disk, &a, sizeof(a));
		pasta_stream_free(s);
	}
	unlink(stem(".pst"));
	unlink(stem(".ring"));
	unlink(stem(".ring.damaged"));
	free(b.data);
	return a;
}

/* Checks how many events of ring 1 are found and how many are known to be missing, in memory and on
 * disk. */
static void check_damage(damage_fn damage, uint64_t found, uint64_t missing)
{
	struct pasta_recovered out;
	struct pasta_error err;

	for (int commit = 0; commit < 2; commit++) {
		struct pasta_loss_summary a = recover_damaged(damage, commit, &out, &err);

		assert_int_equal(a.captured, found + 20);
		assert_int_equal(a.damaged, missing);
		assert_int_equal(out.damaged, 1);
		assert_int_equal(out.committed, commit);
		assert_non_null(strstr(err.text, ".ring is damaged"));
	}
}

/* The damaged value is redundant: all events are found, and the ring file may be removed. */
static void check_hint(damage_fn damage)
{
	struct pasta_recovered out;
	struct pasta_error err;
	struct pasta_loss_summary a = recover_damaged(damage, true, &out, &err);

	assert_int_equal(a.captured, 120);
	assert_int_equal(a.dropped, 0);
}

static struct pasta_event *record_of(struct pasta_ring *r, size_t i)
{
	return (void *)((uint8_t *)r + PASTA_RING_DATA + i * RECORD);
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

static void break_bit(struct bytes *b, struct pasta_ring *r)
{
	record_of(r, 60)->link.to ^= 1;
}

static void break_check(struct bytes *b, struct pasta_ring *r)
{
	memset((char *)record_of(r, 60) + PASTA_RECORD_CHECK, 0, 8);
}

static void break_first(struct bytes *b, struct pasta_ring *r)
{
	record_of(r, 0)->time++;
}

static void break_last(struct bytes *b, struct pasta_ring *r)
{
	record_of(r, 99)->time++;
}

static void break_three(struct bytes *b, struct pasta_ring *r)
{
	memset(record_of(r, 50), 0xff, 3 * RECORD);
}

static void only_the_records_that_are_damaged_are_missing_and_counted(void **state)
{
	static const damage_fn damages[] = {break_size,	 break_kind,  break_length, break_bit,
					    break_check, break_first, break_last};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++)
		check_damage(damages[i], 99, 1);
	check_damage(break_three, 97, 3);
}

static void break_tail(struct bytes *b, struct pasta_ring *r)
{
	r->tail = r->head + 8;
}

static void break_drained(struct bytes *b, struct pasta_ring *r)
{
	r->drained = UINT64_MAX - 5;
}

static void break_head_low(struct bytes *b, struct pasta_ring *r)
{
	r->head = 8;
}

static void break_head_high(struct bytes *b, struct pasta_ring *r)
{
	r->head = UINT64_MAX - 7;
	r->tail = UINT64_MAX - 7 - 4000;
}

static void break_head_odd(struct bytes *b, struct pasta_ring *r)
{
	r->head = RING * 2 + 1;
	r->tail = RING * 2 - 1;
}

static void break_pushed(struct bytes *b, struct pasta_ring *r)
{
	r->pushed = UINT64_C(1) << 60;
}

static void break_segment_count(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segments = UINT32_MAX;
}

static void break_no_segments(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segments = 0;
}

static void positions_and_counts_that_are_nonsense_cost_no_event(void **state)
{
	static const damage_fn damages[] = {break_tail,	       break_drained,	   break_head_low,
					    break_head_high,   break_head_odd,	   break_pushed,
					    break_no_segments, break_segment_count};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++)
		check_hint(damages[i]);
}

static void break_source(struct bytes *b, struct pasta_ring *r)
{
	r->source = 0;
}

static void break_ring_size(struct bytes *b, struct pasta_ring *r)
{
	r->size = RING * 2;
}

static void break_ring_sum(struct bytes *b, struct pasta_ring *r)
{
	r->sum ^= 1;
}

static void a_damaged_ring_head_is_repaired(void **state)
{
	static const damage_fn damages[] = {break_source, break_ring_size, break_ring_sum};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++)
		check_damage(damages[i], 100, 0);
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

static void break_segment_shifted(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segment[0].offset += 8;
}

static void break_segment_cleared(struct bytes *b, struct pasta_ring *r)
{
	memset(&file_of(b)->segment[0], 0, sizeof(file_of(b)->segment[0]));
}

static void break_table(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->segments = 0;
	memset(file_of(b)->segment, 0, 4096);
}

/* The whole table is empty; only the rings themselves remain. */
static void a_table_that_is_empty_does_not_hide_what_is_there(void **state)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};
	struct bytes b = {0};
	uint32_t ring;

	ring_begin(&b);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 100);
	break_table(&b, ring_of(&b, ring));
	save(&b, b.size, stem(".ring"));
	pasta_stream_free(read_whole(true, &out, &err));
	assert_int_equal(out.damaged, 1);
	assert_non_null(strstr(err.text, "an unknown number of events may be missing"));
	assert_true(is_there(".ring.damaged"));
	free(b.data);
}

static void break_into_strings(struct bytes *b, struct pasta_ring *r)
{
	struct pasta_strings *s = (void *)r;

	file_of(b)->segment[0].type = PASTA_SEGMENT_STRINGS;
	s->first = UINT64_MAX;
	s->used = UINT64_MAX;
}

static void an_inconsistent_segment_is_skipped_and_reported(void **state)
{
	static const damage_fn damages[] = {break_segment_offset,  break_segment_size,
					    break_segment_type,	   break_segment_shifted,
					    break_segment_cleared, break_into_strings};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		struct pasta_recovered out;
		struct pasta_error err;

		assert_int_equal(recover_damaged(damages[i], true, &out, &err).captured, 20);
		assert_int_equal(out.damaged, 1);
		assert_non_null(strstr(err.text, "an unknown number of events may be missing"));
	}
}

static void break_alias(struct bytes *b, struct pasta_ring *r)
{
	for (uint32_t i = 2; i < PASTA_SEGMENTS_MAX; i++)
		file_of(b)->segment[i] = file_of(b)->segment[0];
	file_of(b)->segments = PASTA_SEGMENTS_MAX;
}

static void a_ring_that_is_listed_two_thousand_times_is_recovered_once(void **state)
{
	check_damage(break_alias, 100, 0);
}

static void break_dropped(struct bytes *b, struct pasta_ring *r)
{
	r->dropped[PASTA_LOSS_FULL] = pasta_seal(9, PASTA_LOSS_FULL) ^ 1;
}

static void break_file_loss(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->lost[PASTA_LOSS_CLOSED] = 3; /* without a seal */
}

static void damaged_loss_counters_are_ignored(void **state)
{
	check_damage(break_dropped, 100, 0);
	check_damage(break_file_loss, 100, 0);
}

static void break_magic(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->magic[3] ^= 1;
}

static void break_version(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->version = 2;
}

static void break_no_magic(struct bytes *b, struct pasta_ring *r)
{
	memset(file_of(b)->magic, 0, 8);
}

static void a_magic_number_or_a_version_that_is_damaged_costs_nothing(void **state)
{
	static const damage_fn damages[] = {break_magic, break_version, break_no_magic};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++)
		check_damage(damages[i], 100, 0);
}

static void break_pid(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->pid ^= 1;
}

static void break_file_sum(struct bytes *b, struct pasta_ring *r)
{
	file_of(b)->sum ^= 1;
}

/* Then it is unknown whether its process is dead. */
static void a_head_that_is_damaged_is_read_and_nothing_is_written(void **state)
{
	static const damage_fn damages[] = {break_pid, break_file_sum};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		struct pasta_recovered out;
		struct pasta_error err;

		assert_int_equal(recover_damaged(damages[i], true, &out, &err).captured, 120);
		assert_int_equal(out.damaged, 1);
		assert_int_equal(out.committed, 0);
		assert_int_equal(out.unsure, 1);
	}
}

static void a_truncated_ring_file_is_read_and_the_rest_is_counted(void **state)
{
	struct bytes b = {0};
	uint32_t first, second;

	ring_begin(&b);
	first = ring_add(&b, 1);
	push_numbers(&b, first, 0, 100);
	second = ring_add(&b, 2);
	push_numbers(&b, second, 100, 50);
	for (uint64_t left = 0; left <= 50; left += 10) {
		struct pasta_recovered out = {0};
		struct pasta_error err = {0};
		struct pasta_stream *s;

		save(&b, file_of(&b)->segment[second].offset + PASTA_RING_DATA + left * RECORD,
		     stem(".ring"));
		s = read_whole(true, &out, &err);
		assert_int_equal(read_numbers(s, got, NUMBERS), 100 + left);
		assert_int_equal(account_of(s).damaged, 50 - left);
		/* The file is as long as its used part. */
		assert_int_equal(out.damaged, 1);
		assert_true(is_there(".ring.damaged"));
		pasta_stream_free(s);
		unlink(stem(".ring.damaged"));
		unlink(stem(".pst"));
	}
	free(b.data);
}

/* The writer removed them from the ring, and the shard does not have them. */
static void events_between_the_shard_and_the_ring_are_counted_as_missing(void **state)
{
	struct bytes b = {0}, shard = {0};
	struct pasta_stream *s;
	uint32_t ring;

	ring_begin(&b);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 300);
	begin_shard(&shard);
	put_drained(&shard, 1, 0, 300, ring_of(&b, ring)->head);
	for (uint64_t n = 300; n < 700; n += 100) {
		push_numbers(&b, ring, n, 100);
		ring_drain(ring_of(&b, ring));
	}
	push_numbers(&b, ring, 700, 100);
	save(&shard, shard.size, stem(".pst"));
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().events, 100);
	assert_false(ring_is_there());
	s = open_stream(stem(".pst"));
	assert_int_equal(read_numbers(s, got, NUMBERS), 400);
	assert_int_equal(got[299], 299);
	assert_int_equal(got[300], 700);
	assert_int_equal(account_of(s).damaged, 400);
	pasta_stream_free(s);
	free(b.data);
	free(shard.data);
}

/* A damaged ring that was committed but not renamed yet is still damaged the second time. */
static void a_damaged_ring_is_renamed_even_after_an_interruption(void **state)
{
	struct bytes b = {0};
	uint32_t ring;

	ring_begin(&b);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 100);
	break_bit(&b, ring_of(&b, ring));
	save(&b, b.size, stem(".ring"));
	assert_int_equal(sweep().damaged, 1);
	assert_true(is_there(".ring.damaged"));
	assert_int_equal(rename(stem(".ring.damaged"), in_dir("copy")), 0);
	assert_int_equal(rename(in_dir("copy"), stem(".ring")), 0);
	assert_int_equal(sweep().damaged, 1);
	assert_true(is_there(".ring.damaged"));
	free(b.data);
}

static void a_second_damaged_ring_gets_a_name_of_its_own(void **state)
{
	struct bytes b = {0};
	uint32_t ring;

	ring_begin(&b);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 100);
	break_bit(&b, ring_of(&b, ring));
	for (int i = 0; i < 3; i++) {
		save(&b, b.size, stem(".ring"));
		assert_int_equal(sweep().damaged, 1);
	}
	assert_true(is_there(".ring.damaged"));
	assert_true(is_there(".ring.damaged-2"));
	assert_true(is_there(".ring.damaged-3"));
	free(b.data);
}

static void a_string_that_is_damaged_costs_itself_alone(void **state)
{
	static const char *const texts[] = {"first", "second", "third", "fourth"};
	struct pasta_event region = {.size = PASTA_EVENT_SIZE(region), .kind = PASTA_KIND_REGION};

	for (int what = 0; what < 3; what++) {
		struct pasta_recovered out = {0};
		struct pasta_error err = {0};
		struct bytes b = {0};
		struct pasta_strings *block;
		struct pasta_stream *s;
		uint32_t i, ring;

		ring_begin(&b);
		i = strings_add(&b, 1, 4, texts);
		ring = ring_add(&b, 1);
		for (uint32_t id = 1; id <= 4; id++) {
			region.region.name = id;
			region.time = id;
			ring_push(&b, ring, &region);
		}
		block = segment_of(&b, i);
		if (what == 0) /* a letter of the second string */
			block->data[16 + 8] ^= 1;
		else if (what == 1) /* its size */
			block->data[16] = 200;
		else /* its checksum */
			block->data[16 + 4] ^= 1;
		save(&b, b.size, stem(".ring"));
		s = read_whole(false, &out, &err);
		assert_int_equal(out.damaged, 1);
		assert_string_equal(pasta_str(pasta_stream_next(s)->region.name), "first");
		assert_string_equal(pasta_str(pasta_stream_next(s)->region.name), "");
		assert_string_equal(pasta_str(pasta_stream_next(s)->region.name), "third");
		assert_string_equal(pasta_str(pasta_stream_next(s)->region.name), "fourth");
		pasta_stream_free(s);
		free(b.data);
	}
}

/* A block of strings that is larger than a frame may be; the agent makes none. */
static void a_block_of_strings_that_no_frame_can_hold_is_skipped(void **state)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};
	struct bytes b = {0};

	ring_begin(&b);
	segment_add(&b, PASTA_SEGMENT_STRINGS, 16 << 20);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	check_stream(read_whole(true, &out, &err), 10, 0);
	assert_int_equal(out.damaged, 1);
	free(b.data);
}

/* Random bytes are changed: the events are either the same, or reported as damaged. */
static void any_changed_bytes_in_a_ring_file_are_reported_or_harmless(void **state)
{
	static const char *const texts[] = {"one", "two"};
	struct bytes b = {0}, changed = {0};
	uint32_t ring;

	random_begin();
	ring_begin(&b);
	strings_add(&b, 1, 2, texts);
	ring = ring_add(&b, 1);
	push_numbers(&b, ring, 0, 30);
	ring_of(&b, ring)->dropped[PASTA_LOSS_FULL] = pasta_seal(4, PASTA_LOSS_FULL);
	for (int round = 0; round < (support_slow ? 100 : 1000); round++) {
		struct pasta_recovered out = {0};
		struct pasta_error err = {0};
		const uint64_t places[] = {0,
					   offsetof(struct pasta_ringfile, lost),
					   file_of(&b)->segment[0].offset,
					   file_of(&b)->segment[1].offset,
					   file_of(&b)->segment[1].offset + 128,
					   file_of(&b)->segment[1].offset + PASTA_RING_DATA};
		struct pasta_stream *s;
		bool same = false;

		changed.size = 0;
		put(&changed, b.data, b.size);
		if (random_below(10))
			for (uint64_t k = 1 + random_below(3); k--;)
				changed.data[places[random_below(6)] + random_below(260)] =
					random_below(3) ? (uint8_t)random_u64() : 0xff;
		else
			changed.size = random_below(changed.size);
		save(&changed, changed.size, stem(".ring"));
		s = read_whole(true, &out, &err);
		if (s) {
			struct pasta_loss_summary a;

			same = read_numbers(s, got, NUMBERS) == 30;
			for (uint64_t i = 0; same && i < 30; i++)
				same = got[i] == i;
			a = account_of(s);
			same = same && a.dropped == 4 && a.captured == 30;
			pasta_stream_free(s);
		}
		assert_property(same || out.damaged || out.failed);
		assert_property(out.committed || ring_is_there());
		assert_property(!out.damaged || ring_is_there() || is_there(".ring.damaged"));
		unlink(stem(".pst"));
		unlink(stem(".ring"));
		unlink(stem(".ring.damaged"));
	}
	free(b.data);
	free(changed.data);
}

static void read_with_little_memory(void)
{
	const struct rlimit limit = {48 << 20, 48 << 20};
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};
	struct pasta_stream *s;

	if (setrlimit(RLIMIT_AS, &limit))
		_exit(77);
	s = read_whole(true, &out, &err);
	/* It may stay unread, but that is reported, and nothing is removed. */
	if (out.committed) {
		if (!s || read_numbers(s, got, NUMBERS) != 100 || account_of(s).dropped)
			_exit(1);
	} else if ((!out.failed && !out.damaged) || !ring_is_there()) {
		_exit(2);
	}
}

/* The file is larger than the memory. */
static void a_ring_file_that_memory_cannot_hold_is_read_or_not_removed(void **state)
{
	struct bytes b = {0};

	if (support_slow)
		skip(); /* sanitizers need the address space */
	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 100);
	save(&b, b.size, stem(".ring"));
	assert_int_equal(truncate(stem(".ring"), 256 << 20), 0);
	assert_int_equal(in_child(read_with_little_memory), 0);
	sweep();
	check_shard(100, 0);
	free(b.data);
}

struct cutter {
	_Atomic bool done;
	char path[600];
};

static void *cutter(void *arg)
{
	struct cutter *c = arg;

	while (!c->done)
		if (truncate(c->path, 4096))
			break;
	return NULL;
}

static void a_ring_file_truncated_while_it_is_read_causes_no_fault(void **state)
{
	struct cutter cut = {.done = false};
	struct bytes b = {0};
	pthread_t thread;

	ring_begin(&b);
	for (uint32_t source = 1; source <= 8; source++)
		push_numbers(&b, ring_add(&b, source), 0, 200);
	save(&b, b.size, stem(".ring"));
	snprintf(cut.path, sizeof(cut.path), "%s", stem(".ring"));
	pthread_create(&thread, NULL, cutter, &cut);
	for (int i = 0; i < 50; i++) {
		struct pasta_recovered out = {0};
		struct pasta_error err = {0};
		struct pasta_stream *s;

		save(&b, b.size, stem(".ring"));
		s = read_whole(false, &out, &err);
		if (s)
			account_of(s);
		pasta_stream_free(s);
	}
	cut.done = true;
	pthread_join(thread, NULL);
	free(b.data);
}

/* -- Runs of other users
 * ------------------------------------------------------------------------------------- */

static void save_ten(void)
{
	struct bytes b = {0};

	ring_begin(&b);
	push_numbers(&b, ring_add(&b, 1), 0, 10);
	save(&b, b.size, stem(".ring"));
	free(b.data);
}

/* All events are read, and nothing is written. */
static void check_read_only(void)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};
	struct bytes before = {0}, after = {0};

	load_file(&before, stem(".ring"));
	check_stream(read_whole(true, &out, &err), 10, 0);
	assert_int_equal(out.committed + out.unwritten + out.failed, 0);
	assert_true(ring_is_there());
	assert_false(is_there(".pst"));
	load_file(&after, stem(".ring"));
	assert_int_equal(after.size, before.size);
	assert_memory_equal(after.data, before.data, before.size);
	free(before.data);
	free(after.data);
}

static void a_run_that_is_not_ours_is_read_and_not_written_to(void **state)
{
	if (geteuid())
		skip(); /* only root can make a run of another user */
	save_ten();
	assert_int_equal(chown(support_dir, 65534, 65534), 0);
	check_read_only();
	assert_int_equal(chown(support_dir, 0, 0), 0);
	assert_int_equal(chown(stem(".ring"), 65534, 65534), 0);
	check_read_only();
}

static void a_folder_in_which_others_can_exchange_files_is_not_written_to(void **state)
{
	save_ten();
	assert_int_equal(chmod(support_dir, 0777), 0);
	check_read_only();
	assert_int_equal(chmod(support_dir, 01777), 0);
	assert_int_equal(sweep().committed, 1);
	check_shard(10, 0);
}

static void a_run_that_cannot_be_written_to_is_read(void **state)
{
	save_ten();
	if (!geteuid()) {
		if (mount(support_dir, support_dir, NULL, MS_BIND, NULL))
			skip();
		assert_int_equal(
			mount(NULL, support_dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
	} else {
		assert_int_equal(chmod(support_dir, 0500), 0);
	}
	{
		struct pasta_recovered out = {0};
		struct pasta_error err = {0};

		check_stream(read_whole(true, &out, &err), 10, 0);
		assert_int_equal(out.committed + out.failed, 0);
	}
	if (geteuid())
		chmod(support_dir, 0700);
	else
		umount(support_dir);
	assert_true(ring_is_there());
}

static void a_link_instead_of_a_shard_is_not_followed(void **state)
{
	static const char text[] = "precious";
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};
	struct bytes file = {0}, after = {0};

	save_ten();
	put(&file, text, sizeof(text));
	save(&file, file.size, in_dir("victim"));
	assert_int_equal(symlink("victim", stem(".pst")), 0);
	check_stream(read_whole(true, &out, &err), 10, 0);
	assert_int_equal(out.failed, 1);
	assert_non_null(strstr(err.text, "symbolic link"));
	load_file(&after, in_dir("victim"));
	assert_int_equal(after.size, sizeof(text));
	unlink(stem(".pst"));
	assert_int_equal(symlink("nowhere", stem(".pst")), 0);
	assert_int_equal(sweep().failed, 1);
	assert_int_not_equal(access(in_dir("nowhere"), F_OK), 0);
	assert_true(ring_is_there());
	free(file.data);
	free(after.data);
}

static void a_shard_with_a_second_name_is_not_written_to(void **state)
{
	struct bytes shard = {0}, after = {0};
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};

	save_ten();
	begin_shard(&shard);
	save(&shard, shard.size, in_dir("other"));
	assert_int_equal(link(in_dir("other"), stem(".pst")), 0);
	check_stream(read_whole(true, &out, &err), 10, 0);
	assert_int_equal(out.committed, 0);
	assert_true(ring_is_there());
	load_file(&after, in_dir("other"));
	assert_int_equal(after.size, shard.size);
	free(shard.data);
	free(after.data);
}

static void a_link_or_a_pipe_instead_of_a_ring_is_reported_and_not_changed(void **state)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};

	save_ten();
	assert_int_equal(rename(stem(".ring"), in_dir("victim")), 0);
	assert_int_equal(symlink("victim", stem(".ring")), 0);
	assert_null(read_whole(true, &out, &err));
	assert_non_null(strstr(err.text, "symbolic link"));
	unlink(stem(".ring"));
	assert_int_equal(mkfifo(stem(".ring"), 0600), 0);
	assert_null(read_whole(true, &out, &err));
	assert_non_null(strstr(err.text, "not a regular file"));
	assert_int_equal(out.failed, 2);
	assert_true(ring_is_there());
	assert_int_equal(access(in_dir("victim"), F_OK), 0);
}

/* -- Folders, as reports read them
 * ---------------------------------------------------------------------------------------- */

static char warned[4096];

static void hear(const char *line)
{
	strncat(warned, line, sizeof(warned) - strlen(warned) - 2);
	strcat(warned, "\n");
}

static struct pasta_input read_folder(void)
{
	struct pasta_input in = {.warn = hear};
	struct pasta_error err = {0};

	warned[0] = '\0';
	pasta_input_add(&in, support_dir, &err);
	return in;
}

/* A text file called x.ring must not be removed, nor an intact ring outside a run. */
static void a_folder_that_is_not_a_run_is_only_read(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct bytes text = {0};
	struct pasta_input in;

	put(&text, "my wedding ring", 16);
	save(&text, text.size, in_dir("wedding.ring"));
	save(&text, 0, in_dir("empty.ring"));
	utimensat(AT_FDCWD, in_dir("wedding.ring"), old, 0);
	utimensat(AT_FDCWD, in_dir("empty.ring"), old, 0);
	save_ten();
	in = read_folder();
	assert_int_equal(in.shards, 1);
	assert_non_null(strstr(warned, "wedding.ring is damaged"));
	assert_int_equal(in.refused, 1);
	check_stream(in.stream, 10, 0);
	in.stream = NULL;
	pasta_input_free(&in);
	assert_int_equal(access(in_dir("wedding.ring"), F_OK), 0);
	assert_int_equal(access(in_dir("empty.ring"), F_OK), 0);
	assert_true(ring_is_there());
	assert_false(is_there(".pst"));
	free(text.data);
}

static void make_run_of(const char *json)
{
	const struct pasta_control control = {.magic = PASTA_CONTROL_MAGIC,
					      .size = PASTA_CONTROL_SIZE,
					      .shards = pasta_seal(0, PASTA_CONTROL_SHARDS),
					      .failed = pasta_seal(0, PASTA_CONTROL_FAILED),
					      .lost = pasta_seal(0, PASTA_CONTROL_LOST)};
	struct bytes text = {0}, page = {0};

	put(&text, json, strlen(json));
	save(&text, text.size, in_dir("run.json"));
	free(text.data);
	put(&page, &control, sizeof(control));
	save(&page, page.size, in_dir("control"));
	free(page.data);
	assert_int_equal(mkdir(in_dir("shards"), 0700), 0);
}

static void in_our_run_another_users_ring_stays_and_ours_is_committed(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char ring[600], shards[600];
	struct bytes text = {0};
	struct pasta_input in;

	make_run_of("{\"schema\": \"accelprof-run/1\"}");
	save_ten();
	snprintf(ring, sizeof(ring), "%s", stem(".ring"));
	snprintf(shards, sizeof(shards), "%s/shards/%s", support_dir, strrchr(ring, '/') + 1);
	assert_int_equal(rename(ring, shards), 0);
	put(&text, "my wedding ring", 16);
	save(&text, text.size, in_dir("shards/wedding.ring"));
	utimensat(AT_FDCWD, in_dir("shards/wedding.ring"), old, 0);
	for (int i = 0; i < 2; i++) {
		in = read_folder();
		assert_int_equal(in.shards, 1);
		assert_int_equal(in.refused, 1);
		assert_non_null(strstr(warned, "wedding.ring is damaged"));
		check_stream(in.stream, 10, 0);
		in.stream = NULL;
		pasta_input_free(&in);
		assert_int_not_equal(access(shards, F_OK), 0);
		assert_int_equal(access(in_dir("shards/wedding.ring"), F_OK), 0);
	}
	free(text.data);
}

static void a_damaged_ring_is_reported_each_time(void **state)
{
	struct pasta_input in;
	struct bytes text = {0};

	make_run_of("{\"schema\": \"accelprof-run/1\"}");
	put(&text, "rubbish", 8);
	save(&text, text.size, in_dir("shards/x-1.ring.damaged"));
	in = read_folder();
	assert_int_equal(in.refused, 1);
	assert_non_null(strstr(warned, "x-1.ring.damaged"));
	pasta_input_free(&in);
	assert_int_equal(access(in_dir("shards/x-1.ring.damaged"), F_OK), 0);
	free(text.data);
}

static void a_shards_folder_that_is_a_link_is_not_followed(void **state)
{
	struct pasta_error err = {0};
	struct pasta_input in = {.warn = hear};

	make_run_of("{\"schema\": \"accelprof-run/1\"}");
	assert_int_equal(rename(in_dir("shards"), in_dir("elsewhere")), 0);
	assert_int_equal(symlink("elsewhere", in_dir("shards")), 0);
	assert_int_equal(pasta_input_add(&in, support_dir, &err), -ELOOP);
	assert_non_null(strstr(err.text, "symbolic link"));
	pasta_input_free(&in);
}

/* A shard as importers and the agent make it, with all types of frames. */
static void make_shard(const char *name, uint8_t guid)
{
	struct pasta_shard_head head = {.guid = {guid}, .boot = {1}, .raw = RAW_0, .real = REAL_0};
	struct pasta_error err = {0};
	struct pasta_shardwriter *w = pasta_shardwriter_new(in_dir(name), &head, &err);
	struct pasta_event process = {
		.size = PASTA_EVENT_SIZE(process), .kind = PASTA_KIND_PROCESS, .time = RAW_0};

	assert_non_null(w);
	process.process.host = pasta_shardwriter_str(w, "host");
	process.process.command = pasta_shardwriter_str(w, "command");
	assert_int_equal(pasta_shardwriter_state(w, &process), 0);
	for (uint64_t i = 0; i < 2 * PASTA_FRAME_EVENTS; i++) {
		struct pasta_event ev = numbered(i, RAW_0 + i);

		assert_int_equal(pasta_shardwriter_event(w, 1, &ev), 0);
	}
	assert_int_equal(pasta_shardwriter_close(w, &err), 0);
}

/* The number of warnings in a report of the folder. */
static size_t complaints(void)
{
	struct pasta_input in = read_folder();
	struct pasta_loss_summary a = {0};
	size_t refused = in.refused;

	if (in.shards)
		a = account_of(in.stream);
	pasta_input_free(&in);
	return refused + a.damaged + a.damaged_bytes;
}

static void a_shard_that_was_truncated_or_lacks_a_frame_is_reported(void **state)
{
	struct bytes whole = {0}, changed = {0};
	size_t frames = 0, size;

	make_run_of("{\"schema\": \"accelprof-run/1\"}");
	make_shard("shards/x-1.pst", 7);
	assert_int_equal(complaints(), 0);
	load_file(&whole, in_dir("shards/x-1.pst"));
	for (size_t at = sizeof(struct pasta_shard_head); at < whole.size; at += size) {
		const struct pasta_frame *f = frame_at(&whole, at);

		size = sizeof(*f) + ((f->size + 7) & ~7u);
		frames++;
		save(&whole, at, in_dir("shards/x-1.pst")); /* cut at the start of a frame */
		assert_true(complaints() > 0);
		if (f->type == PASTA_FRAME_SCHEMA)
			continue; /* the schema of this build */
		changed.size = 0;
		put(&changed, whole.data, at);
		put(&changed, whole.data + at + size, whole.size - at - size);
		save(&changed, changed.size, in_dir("shards/x-1.pst"));
		assert_true(complaints() > 0);
	}
	assert_true(frames >= 5);
	free(whole.data);
	free(changed.data);
}

static void a_frame_of_another_shard_is_ignored(void **state)
{
	struct bytes mine = {0}, other = {0};

	make_run_of("{\"schema\": \"accelprof-run/1\"}");
	make_shard("shards/x-1.pst", 7);
	make_shard("other", 8);
	load_file(&mine, in_dir("shards/x-1.pst"));
	load_file(&other, in_dir("other"));
	assert_int_equal(mine.size, other.size);
	for (size_t at = sizeof(struct pasta_shard_head); at < mine.size;) {
		const struct pasta_frame *f = frame_at(&mine, at);
		size_t size = sizeof(*f) + ((f->size + 7) & ~7u);

		memcpy(mine.data + at, other.data + at, size);
		save(&mine, mine.size, in_dir("shards/x-1.pst"));
		assert_true(complaints() > 0);
		at += size;
	}
	free(mine.data);
	free(other.data);
}

static void a_damaged_shard_head_is_reported(void **state)
{
	struct bytes b = {0};

	make_run_of("{\"schema\": \"accelprof-run/1\"}");
	make_shard("shards/x-1.pst", 7);
	load_file(&b, in_dir("shards/x-1.pst"));
	/* The constant first fields of a head are repaired. */
	for (size_t at = 16; at < sizeof(struct pasta_shard_head); at += 4) {
		b.data[at] ^= 1;
		save(&b, b.size, in_dir("shards/x-1.pst"));
		assert_true(complaints() > 0);
		b.data[at] ^= 1;
	}
	free(b.data);
}

static void missing_shards_are_counted(void **state)
{
	struct pasta_input in;

	make_run_of("{\"schema\": \"accelprof-run/1\", \"shards\": 3}");
	make_shard("shards/x-1.pst", 7);
	make_shard("shards/x-2.pst", 8);
	in = read_folder();
	assert_int_equal(in.shards, 2);
	assert_int_equal(in.refused, 1);
	assert_non_null(strstr(warned, "shards are missing: 1"));
	pasta_input_free(&in);
	make_shard("shards/x-3.pst", 9);
	assert_int_equal(complaints(), 0);
}

static void a_run_without_its_control_page_is_damaged(void **state)
{
	make_run_of("{\"schema\": \"accelprof-run/1\"}");
	make_shard("shards/x-1.pst", 7);
	assert_int_equal(complaints(), 0);
	unlink(in_dir("control"));
	assert_int_equal(complaints(), 1);
	assert_non_null(strstr(warned, "control"));
	unlink(in_dir("run.json")); /* shards alone lack nothing */
	assert_int_equal(complaints(), 0);
}

static void a_copy_of_a_shard_is_reported_and_not_read(void **state)
{
	struct pasta_input in;

	make_run_of("{\"schema\": \"accelprof-run/1\"}");
	make_shard("shards/x-1.pst", 7);
	make_shard("shards/x-2.pst", 7);
	make_shard("shards/x-3.pst", 8);
	in = read_folder();
	assert_int_equal(in.shards, 2);
	assert_int_equal(in.refused, 1);
	assert_non_null(strstr(warned, "x-2.pst is a copy of"));
	assert_int_equal(account_of(in.stream).captured, 4 * PASTA_FRAME_EVENTS);
	pasta_input_free(&in);
}

/* -- A full disk, and two reports at once
 * -------------------------------------------------------------- */

static void on_a_full_disk_all_events_are_read_and_committed_later(void **state)
{
	struct bytes b = {0}, filler = {0};
	struct pasta_recovered out;
	int tries = 0;

	if (geteuid() || mount("tmpfs", support_dir, "tmpfs", 0, "size=512k,mode=700"))
		skip(); /* only root can make a full disk */
	ring_begin(&b);
	for (uint32_t source = 1; source <= 4; source++) {
		uint32_t ring = ring_add(&b, source);

		for (uint64_t i = 0; i < 400; i++) { /* events that do not compress */
			struct pasta_event ev =
				numbered((source - 1) * 400 + i, RAW_0 + (source - 1) * 400 + i);

			ev.tid = (uint32_t)random_u64();
			ring_push(&b, ring, &ev);
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
		struct pasta_error err = {0};
		struct stat st;

		out = (struct pasta_recovered){0};
		check_stream(read_whole(true, &out, &err), 1600, 0);
		tries++;
		assert_int_equal(out.unwritten + out.committed, 1);
		assert_int_equal(out.unwritten, ring_is_there());
		assert_int_equal(out.unwritten, err.code == -ENOSPC);
		assert_int_equal(stat(in_dir("filler"), &st), 0);
		assert_true(st.st_size > 0 || out.committed);
		assert_int_equal(
			truncate(in_dir("filler"), st.st_size > 4096 ? st.st_size - 4096 : 0), 0);
	} while (out.unwritten);
	assert_true(tries > 2);
	check_shard(1600, 0);
	umount(support_dir);
	free(b.data);
	free(filler.data);
}

struct sweeper {
	pthread_t thread;
	struct pasta_recovered out;
	struct pasta_error err;
	struct pasta_stream *stream;
	const char *path;
};

static void *sweeper(void *arg)
{
	struct sweeper *w = arg;
	struct pasta_shard_parts parts;
	int folder = open(support_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	pasta_recover_shard(folder, strrchr(w->path, '/') + 1, w->path, true, &parts, &w->out,
			    &w->err);
	close(folder);
	if (pasta_stream_add_open(w->stream, &parts, &w->err))
		w->stream = NULL;
	return NULL;
}

static void two_at_once_see_everything_and_commit_it_once(void **state)
{
	enum { ROUNDS = 30, SWEEPERS = 3 };
	struct bytes b = {0};
	char path[600];

	snprintf(path, sizeof(path), "%s", stem(".pst"));
	ring_begin(&b);
	for (uint32_t source = 1; source <= 4; source++)
		push_numbers(&b, ring_add(&b, source), (source - 1) * 200, 200);
	for (int round = 0; round < ROUNDS; round++) {
		struct sweeper w[SWEEPERS] = {0};
		uint64_t committed = 0;

		unlink(stem(".pst"));
		save(&b, b.size, stem(".ring"));
		for (int i = 0; i < SWEEPERS; i++) {
			w[i].path = path;
			w[i].stream = pasta_stream_new(0);
			pthread_create(&w[i].thread, NULL, sweeper, &w[i]);
		}
		for (int i = 0; i < SWEEPERS; i++) {
			pthread_join(w[i].thread, NULL);
			committed += w[i].out.committed;
			assert_int_equal(w[i].out.failed + w[i].out.damaged + w[i].out.alive, 0);
			assert_non_null(w[i].stream);
			check_stream(w[i].stream, 800, 0);
		}
		assert_int_equal(committed, 1);
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

/* Four threads push a thousand events each, while the writer stalls: only the rings have them. */
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

static struct pasta_recovered sweep_run(void)
{
	struct pasta_recovered out = {0};
	struct pasta_error err = {0};

	if (pasta_recover_sweep(in_dir("shards"), &out, &err))
		fail_msg("%s", err.text);
	return out;
}

/* The run's shards have every number below 4001 once, and nothing was dropped. */
static void check_run(void)
{
	static bool seen[4001];
	char path[600];
	struct pasta_stream *s = pasta_stream_new(0);
	DIR *d = opendir(in_dir("shards"));
	struct dirent *e;
	struct pasta_loss_summary a;
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

static void all_that_was_emitted_before_exit_is_recovered(void **state)
{
	pid_t pid = start(die_by_exit);
	int status;

	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_int_equal(sweep_run().processes, 1);
	check_run();
	assert_int_equal(sweep_run().processes, 0);
}

static void all_that_was_emitted_before_a_kill_is_recovered(void **state)
{
	pid_t pid = start(die_by_kill);
	int status;

	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(sweep_run().processes, 1);
	check_run();
}

static void a_zombie_process_is_dead(void **state)
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

/* A program may close all descriptors that it does not know, and the lock with them. Not by
 * close(), which ThreadSanitizer would report as a race with the writer. */
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

static void a_process_that_became_another_program_is_recovered_while_it_runs(void **state)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	pid_t pid = start(become_another);
	uint64_t recovered = 0;

	for (int i = 0; !recovered && i < 500; i++) {
		nanosleep(&nap, NULL);
		recovered = sweep_run().processes;
	}
	assert_int_equal(recovered, 1);
	assert_int_equal(kill(pid, 0), 0);
	check_run();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* While the writer works: the process may die at any point of it. */
static void emit_for_ever(void)
{
	for (uint64_t i = 0;; i++) {
		emit_numbers(i, 1);
		if (i % 64 == 0 && write(live_pipe[1], &i, sizeof(i)) != sizeof(i))
			_exit(97);
	}
}

static void no_emitted_event_of_a_killed_process_is_missing(void **state)
{
	random_begin();
	for (int round = 0; round < 10; round++) {
		const struct timespec nap = {.tv_nsec = (long)random_below(60000000)};
		uint64_t drained_first = 0, next = 0;
		struct pasta_stream *s = pasta_stream_new(0);
		const struct pasta_event *ev;
		struct pasta_loss_summary a;
		char path[600] = "";
		struct dirent *e;
		pid_t pid;
		DIR *d;

		assert_int_equal(pipe(live_pipe), 0);
		fcntl(live_pipe[0], F_SETPIPE_SZ, 1 << 20);
		pid = start(emit_for_ever);
		assert_int_equal(read(live_pipe[0], &drained_first, sizeof(drained_first)),
				 sizeof(drained_first));
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(live_pipe[1]);
		while (read(live_pipe[0], &drained_first, sizeof(drained_first)) ==
		       sizeof(drained_first))
			;
		close(live_pipe[0]);
		sweep_run();
		d = opendir(in_dir("shards"));
		while ((e = readdir(d)))
			if (strstr(e->d_name, ".pst"))
				snprintf(path, sizeof(path), "%s/%s", in_dir("shards"), e->d_name);
		closedir(d);
		assert_int_equal(pasta_stream_add(s, path, NULL), 0);
		pasta_stream_set_kinds(s, PASTA_MASK(LINK));
		while ((ev = pasta_stream_next(s)))
			assert_property(ev->link.from >= next && (next = ev->link.from + 1));
		a = account_of(s);
		assert_property(a.captured + a.by_reason[PASTA_LOSS_FULL] == a.expected);
		assert_property(a.expected >= drained_first + 1);
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
		BY_HAND(a_ring_that_went_round_is_recovered_from_where_its_frames_end),
		BY_HAND(a_frame_that_its_ring_does_not_know_of_is_not_recovered_again),
		BY_HAND(a_record_that_was_not_published_yet_is_recovered),
		BY_HAND(an_interrupted_recovery_can_be_repeated),
		BY_HAND(a_shard_that_never_got_its_head_gets_one),
		BY_HAND(strings_after_a_missing_block_retain_their_ids),
		BY_HAND(a_ring_of_another_host_is_read_and_left_alone),
		BY_HAND(a_ring_of_another_host_of_the_same_name_is_read_and_left_alone),
		BY_HAND(a_ring_that_its_process_has_locked_is_left_alone_whatever_is_in_it),
		BY_HAND(a_ring_that_another_process_has_locked_is_read_and_not_changed),
		BY_HAND(where_locks_fail_dead_processes_are_dead_and_all_is_read),
		BY_HAND(a_ring_of_another_version_is_reported_and_not_removed),
		BY_HAND(a_file_that_is_not_a_shard_is_not_written_to_and_its_ring_is_read),
		BY_HAND(a_shard_of_another_process_gets_nothing),
		BY_HAND(a_ring_file_that_is_still_being_made_is_left_alone_for_a_while),
		BY_HAND(an_emptied_ring_file_is_damaged_and_not_removed),
		BY_HAND(a_folder_that_is_not_there_is_an_error_that_names_it),
		BY_HAND(only_the_records_that_are_damaged_are_missing_and_counted),
		BY_HAND(positions_and_counts_that_are_nonsense_cost_no_event),
		BY_HAND(a_damaged_ring_head_is_repaired),
		BY_HAND(a_table_that_is_empty_does_not_hide_what_is_there),
		BY_HAND(an_inconsistent_segment_is_skipped_and_reported),
		BY_HAND(a_ring_that_is_listed_two_thousand_times_is_recovered_once),
		BY_HAND(damaged_loss_counters_are_ignored),
		BY_HAND(a_magic_number_or_a_version_that_is_damaged_costs_nothing),
		BY_HAND(a_head_that_is_damaged_is_read_and_nothing_is_written),
		BY_HAND(a_truncated_ring_file_is_read_and_the_rest_is_counted),
		BY_HAND(events_between_the_shard_and_the_ring_are_counted_as_missing),
		BY_HAND(a_damaged_ring_is_renamed_even_after_an_interruption),
		BY_HAND(a_second_damaged_ring_gets_a_name_of_its_own),
		BY_HAND(a_string_that_is_damaged_costs_itself_alone),
		BY_HAND(a_block_of_strings_that_no_frame_can_hold_is_skipped),
		BY_HAND(any_changed_bytes_in_a_ring_file_are_reported_or_harmless),
		BY_HAND(a_ring_file_that_memory_cannot_hold_is_read_or_not_removed),
		BY_HAND(a_ring_file_truncated_while_it_is_read_causes_no_fault),
		BY_HAND(a_run_that_is_not_ours_is_read_and_not_written_to),
		BY_HAND(a_folder_in_which_others_can_exchange_files_is_not_written_to),
		BY_HAND(a_run_that_cannot_be_written_to_is_read),
		BY_HAND(a_link_instead_of_a_shard_is_not_followed),
		BY_HAND(a_shard_with_a_second_name_is_not_written_to),
		BY_HAND(a_link_or_a_pipe_instead_of_a_ring_is_reported_and_not_changed),
		BY_HAND(a_folder_that_is_not_a_run_is_only_read),
		BY_HAND(in_our_run_another_users_ring_stays_and_ours_is_committed),
		BY_HAND(a_damaged_ring_is_reported_each_time),
		BY_HAND(a_shards_folder_that_is_a_link_is_not_followed),
		BY_HAND(a_shard_that_was_truncated_or_lacks_a_frame_is_reported),
		BY_HAND(a_frame_of_another_shard_is_ignored),
		BY_HAND(a_damaged_shard_head_is_reported),
		BY_HAND(missing_shards_are_counted),
		BY_HAND(a_run_without_its_control_page_is_damaged),
		BY_HAND(a_copy_of_a_shard_is_reported_and_not_read),
		BY_HAND(on_a_full_disk_all_events_are_read_and_committed_later),
		BY_HAND(two_at_once_see_everything_and_commit_it_once),
		BY_AGENT(all_that_was_emitted_before_exit_is_recovered),
		BY_AGENT(all_that_was_emitted_before_a_kill_is_recovered),
		BY_AGENT(a_zombie_process_is_dead),
		BY_AGENT(a_process_that_lives_is_left_alone_until_it_dies),
		BY_AGENT(a_process_that_closed_our_descriptors_is_still_known_to_live),
		BY_AGENT(a_process_that_became_another_program_is_recovered_while_it_runs),
		BY_AGENT(no_emitted_event_of_a_killed_process_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
