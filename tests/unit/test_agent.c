/* test_agent.c - runs the agent in a child process, and checks the shard that it leaves.
 * timeout: 300
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "collect/guard.h"
#include "unit/agent_run.h"

enum { THREADS = 8, EVENTS = 1000000 };

static void emit_mark(uint32_t name)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(region),
				 .kind = PASTA_KIND_REGION,
				 .sub = PASTA_REGION_MARK,
				 .time = pasta_now(),
				 .region = {.name = name}};

	pasta_emit(&ev);
}

struct tally {
	uint64_t regions, out_of_order, others;
	struct pasta_loss_summary account;
	size_t shards;
};

static struct tally read_run(struct pasta_recovered *recovered)
{
	struct pasta_stream *s = open_run(recovered);
	const struct pasta_event *ev;
	struct tally t = {0};
	uint64_t last = 0;

	while ((ev = pasta_stream_next(s))) {
		t.regions += ev->kind == PASTA_KIND_REGION;
		t.others += ev->kind != PASTA_KIND_REGION;
		t.out_of_order += ev->time < last;
		last = ev->time;
	}
	pasta_stream_loss(s, &t.account);
	t.shards = pasta_stream_shards(s);
	pasta_stream_free(s);
	return t;
}

static void *million(void *arg)
{
	uint32_t name = pasta_intern_str("work");

	(void)arg;
	for (uint32_t i = 0; i < EVENTS; i++)
		emit_mark(name);
	return NULL;
}

static void all_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, million, NULL))
			_exit(98);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void fast(void)
{
	all_threads();
	pasta_agent_close();
}

static void stalled(void)
{
	pasta_agent_stall(true);
	all_threads();
	pasta_agent_stall(false);
	pasta_agent_close();
}

static void check_adds_up(struct tally *t, uint64_t emitted)
{
	assert_int_equal(t->account.expected, emitted);
	assert_int_equal(t->account.captured, t->regions);
	assert_int_equal(t->account.captured + t->account.dropped, emitted);
	assert_int_equal(t->account.by_reason[PASTA_LOSS_FULL], t->account.dropped);
	assert_int_equal(t->account.damaged, 0);
	assert_int_equal(t->account.damaged_bytes, 0);
	assert_int_equal(t->out_of_order, 0);
}

static void pushed_read_and_dropped_add_up_with_a_fast_writer(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(fast), 0);
	t = read_run(NULL);
	check_adds_up(&t, (uint64_t)THREADS * EVENTS);
}

static void pushed_read_and_dropped_add_up_with_a_stalled_writer(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(stalled), 0);
	t = read_run(NULL);
	check_adds_up(&t, (uint64_t)THREADS * EVENTS);
	assert_true(t.account.dropped > 0);
}

enum { BATCHES = 200000, IN_BATCH = 7 };

static void emit_batch(uint32_t name, size_t room)
{
	struct pasta_batch b;

	pasta_batch_open(&b, room * PASTA_EVENT_SIZE(region));
	for (int i = 0; i < IN_BATCH; i++) {
		struct pasta_event *ev = pasta_batch_add(&b, PASTA_KIND_REGION, PASTA_REGION_MARK,
							 PASTA_EVENT_SIZE(region));

		ev->time = pasta_now();
		ev->region.name = name;
	}
	pasta_batch_close(&b);
}

static void emit_record(uint32_t name)
{
	struct pasta_event *ev =
		pasta_record_open(PASTA_KIND_REGION, PASTA_REGION_MARK, PASTA_EVENT_SIZE(region));

	if (!ev)
		return;
	ev->time = pasta_now();
	ev->region.name = name;
	pasta_record_close(ev);
}

/* Events of several sizes, so that the ring wraps around at any offset in a record. */
static void emit_batches(void)
{
	uint32_t name = pasta_intern_str("work");

	pasta_agent_stall(true);
	for (uint32_t i = 0; i < BATCHES; i++) {
		emit_batch(name, IN_BATCH + i % 3);
		emit_mark(name);
		emit_record(name);
		if (i == BATCHES / 2)
			pasta_agent_stall(false);
	}
	pasta_agent_close();
}

static void batches_read_and_dropped_add_up(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(emit_batches), 0);
	t = read_run(NULL);
	check_adds_up(&t, (uint64_t)BATCHES * (IN_BATCH + 2));
	assert_true(t.account.dropped > 0);
}

static void emit_too_much(void)
{
	uint32_t name = pasta_intern_str("work");

	emit_batch(name, IN_BATCH - 2);
	emit_batch(name, PASTA_BATCH_MAX);
	pasta_agent_close();
}

static void records_without_room_in_a_batch_are_dropped_and_counted(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(emit_too_much), 0);
	t = read_run(NULL);
	check_adds_up(&t, 2 * IN_BATCH);
	assert_int_equal(t.regions, IN_BATCH - 2);
}

static void record_in_handler(int sig)
{
	(void)sig;
	emit_record(0);
}

static void emit_inside(void)
{
	uint32_t name = pasta_intern_str("work");
	struct pasta_event *ev =
		pasta_record_open(PASTA_KIND_REGION, PASTA_REGION_MARK, PASTA_EVENT_SIZE(region));

	signal(SIGUSR1, record_in_handler);
	raise(SIGUSR1);
	ev->time = pasta_now();
	ev->region.name = name;
	pasta_record_close(ev);
	emit_record(name);
	pasta_agent_close();
}

static void a_record_inside_another_is_dropped_and_counted(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(emit_inside), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.expected, 3);
	assert_int_equal(t.account.captured, 2);
	assert_int_equal(t.account.by_reason[PASTA_LOSS_NESTED], 1);
	assert_int_equal(t.account.dropped, 1);
	assert_int_equal(t.regions, 2);
}

static sigjmp_buf loop;

static void leave_handler(int sig)
{
	(void)sig;
	siglongjmp(loop, 1);
}

/* Deeper in the stack than the call that was abandoned. */
__attribute__((noinline)) static void emit_deeper(uint32_t name, int depth)
{
	volatile char room[1024];

	room[0] = (char)depth;
	if (depth)
		emit_deeper(name, depth - 1);
	else
		emit_record(name);
	room[1] = room[0]; /* the frame is needed until here */
}

enum { LEFT = 50 };

/* Leaves a record open, like a signal handler that interrupts pasta_emit and never returns. */
static void leave_and_go_on(void)
{
	uint32_t name = pasta_intern_str("work");
	volatile int left = 0;

	signal(SIGUSR1, leave_handler);
	if (sigsetjmp(loop, 1) == 0 || left < LEFT) {
		left++;
		emit_record(name);
		pasta_record_open(PASTA_KIND_REGION, PASTA_REGION_MARK, PASTA_EVENT_SIZE(region));
		raise(SIGUSR1);
	}
	emit_record(name);
	pasta_record_open(PASTA_KIND_REGION, PASTA_REGION_MARK, PASTA_EVENT_SIZE(region));
	emit_deeper(name, 8);
	emit_deeper(name, 8);
	pasta_agent_close();
}

static void a_thread_that_jumped_out_of_an_emit_can_emit_again(void **state)
{
	struct tally t;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* ThreadSanitizer calls handlers later, when there is nothing to jump out of */
#endif
	assert_int_equal(in_child(leave_and_go_on), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.captured, LEFT + 1 + 2);
	assert_int_equal(t.account.expected, LEFT + 1 + 2);
}

static atomic_int canceled_ready;

/* The thread's first cancellation point must be its own, whatever the agent calls. */
static void *emit_until_canceled(void *arg)
{
	uint32_t name;
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
	if (arg)
		pthread_cancel(pthread_self()); /* pending since before the first event */
	name = pasta_intern_str("work");
	for (int i = 0; i < 1000; i++)
		emit_mark(name);
	atomic_store(&canceled_ready, 1);
	for (;;)
		pthread_testcancel();
	return NULL;
}

static void cancel_threads(void)
{
	for (int i = 0; i < 200; i++) {
		pthread_t thread;
		void *result;

		atomic_store(&canceled_ready, 0);
		if (pthread_create(&thread, NULL, emit_until_canceled, i % 2 ? &thread : NULL))
			_exit(98);
		if (i % 4 == 0)
			usleep((useconds_t)(i % 40) * 10);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED || !atomic_load(&canceled_ready))
			_exit(97);
	}
	emit_mark(pasta_intern_str("after"));
	pasta_agent_close();
}

static void cancelled_threads_hold_no_lock_and_end_where_they_would_natively(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(cancel_threads), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.expected, 200 * 1000 + 1);
	assert_int_equal(t.account.damaged, 0);
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void no_descriptors(void)
{
	int before = count_descriptors(), next = dup(0);

	close(next);
	emit_mark(pasta_intern_str("work"));
	usleep(200000); /* the writer is at work */
	if (count_descriptors() != before || dup(0) != next)
		_exit(97);
	pasta_agent_close();
}

static void the_agent_has_no_descriptor_in_the_programs_table(void **state)
{
	struct tally t;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* ThreadSanitizer does not support separate descriptor tables */
#endif
	assert_int_equal(in_child(no_descriptors), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.captured, 1);
}

/* ThreadSanitizer has a thread of its own. */
static bool has_one_thread(void)
{
#ifdef __SANITIZE_THREAD__
	return true;
#else
	struct stat st;

	return !stat("/proc/self/task", &st) && st.st_nlink == 3;
#endif
}

static volatile sig_atomic_t may_allocate;

static void ask_in_handler(int sig)
{
	(void)sig;
	may_allocate = pasta_may_allocate();
}

static void a_signal_handler_may_not_allocate(void **state)
{
	(void)state;
	assert_true(pasta_may_allocate());
	may_allocate = 1;
	signal(SIGUSR1, ask_in_handler);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	assert_false(may_allocate);
}

static void emit_first(int sig)
{
	(void)sig;
	emit_mark(0);
}

/* The first event comes from a signal handler, which must not start a thread. */
static void begin_in_handler(void)
{
	uint32_t name;

	signal(SIGUSR1, emit_first);
	raise(SIGUSR1);
	if (!has_one_thread())
		_exit(96);
	name = pasta_intern_str("work");
	for (int i = 0; i < EVENTS; i++)
		emit_mark(name);
	pasta_agent_close();
}

static void a_process_may_begin_in_a_signal_handler(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(begin_in_handler), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.expected, EVENTS + 1);
	assert_int_equal(t.account.damaged, 0);
}

static void pause_and_go_on(void)
{
	emit_mark(pasta_intern_str("work"));
	pasta_agent_pause();
	if (!has_one_thread())
		_exit(96);
	million(NULL);
	pasta_agent_close();
}

static void a_paused_writer_starts_again(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(pause_and_go_on), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.expected, EVENTS + 1);
}

static void emit_some_and_die(void)
{
	uint32_t name = pasta_intern_str("last words");

	for (uint32_t i = 0; i < 12345; i++)
		emit_mark(name);
	raise(SIGKILL);
}

static void what_was_emitted_before_sigkill_is_recovered_with_its_names(void **state)
{
	struct pasta_recovered recovered = {0};
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint32_t n = 0;

	(void)state;
	assert_true(WIFSIGNALED(in_child(emit_some_and_die)));
	s = open_run(&recovered);
	assert_int_equal(recovered.processes, 1);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_REGION)
			continue;
		assert_string_equal(pasta_str(ev->region.name), "last words");
		n++;
	}
	assert_int_equal(n, 12345);
	pasta_stream_free(s);
}

static void nothing(void)
{
	pasta_agent_close();
}

static void without_an_event_there_is_no_file(void **state)
{
	(void)state;
	assert_int_equal(in_child(nothing), 0);
	assert_int_equal(read_run(NULL).shards, 0);
}

static void *one(void *arg)
{
	(void)arg;
	emit_mark(pasta_intern_str("short"));
	return NULL;
}

static void come_and_go(void)
{
	pthread_t t;

	for (int i = 0; i < 3000; i++) {
		if (pthread_create(&t, NULL, one, NULL))
			_exit(98);
		pthread_join(t, NULL);
	}
	pasta_agent_close();
}

static void threads_reuse_the_rings_of_ended_threads_and_no_event_is_dropped(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(come_and_go), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.expected, 3000);
	assert_int_equal(t.account.dropped, 0);
	assert_int_equal(t.regions, 3000);
}

static pthread_barrier_t barrier;

static void *one_of_many(void *arg)
{
	emit_mark(pasta_intern_str("many"));
	pthread_barrier_wait(&barrier);
	return arg;
}

static void many_threads(void)
{
	enum { MANY = 400 };
	static pthread_t threads[MANY];

	pthread_barrier_init(&barrier, NULL, MANY);
	for (int i = 0; i < MANY; i++)
		if (pthread_create(&threads[i], NULL, one_of_many, NULL))
			_exit(98);
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	pasta_agent_close();
}

static void threads_past_the_memory_limit_are_counted(void **state)
{
	struct tally t;

	(void)state;
	setenv(PASTA_ENV_MEMORY, "4194304", 1);
	assert_int_equal(in_child(many_threads), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.expected, 400);
	assert_true(t.account.by_reason[PASTA_LOSS_MEMORY] > 0);
	assert_int_equal(t.account.by_reason[PASTA_LOSS_MEMORY], t.account.dropped);
	assert_int_equal(t.regions + t.account.dropped, 400);
}

static void many_names(void)
{
	char name[64];

	for (int i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "a name that is not short, number %d", i);
		emit_mark(pasta_intern_str(name));
	}
	pasta_agent_close();
}

static void names_past_the_memory_limit_become_one_name_and_no_event_is_dropped(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t named = 0, too_many = 0;

	(void)state;
	setenv(PASTA_ENV_MEMORY, "4194304", 1);
	assert_int_equal(in_child(many_names), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_REGION)
			continue;
		if (!strcmp(pasta_str(ev->region.name), "(too many names)"))
			too_many++;
		else
			named += !strncmp(pasta_str(ev->region.name), "a name that is", 14);
	}
	assert_true(named > 1000 && too_many > 1000);
	struct pasta_loss_summary a;

	pasta_stream_loss(s, &a);
	assert_int_equal(a.captured, named + too_many);
	assert_int_equal(a.expected, 200000);
	pasta_stream_free(s);
}

static size_t deliver_to(struct pasta_port *port)
{
	struct pasta_event batch[64];
	uint64_t left = 500000, time = 1000000;
	size_t dropped = 0;

	while (left) {
		size_t n = left < 64 ? left : 64, size = PASTA_EVENT_SIZE(counter);
		char records[64 * sizeof(struct pasta_event)];

		for (size_t i = 0; i < n; i++) {
			batch[i] = (struct pasta_event){.size = (uint16_t)size,
							.kind = PASTA_KIND_COUNTER,
							.tid = 7,
							.time = time + (i ^ 5)};
			memcpy(records + i * size, &batch[i], size);
		}
		dropped += pasta_port_push(port, records, n * size);
		time += 64;
		left -= n;
	}
	return dropped;
}

static void deliver(void)
{
	struct pasta_port *port = pasta_port_open(PASTA_KIND_MAX);

	if (!port || deliver_to(port))
		_exit(97);
	pasta_agent_close();
}

/* A second in all, not 100 ms for each of 7,800 pushes. */
static void deliver_in_vain(void)
{
	struct pasta_port *port = pasta_port_open(PASTA_KIND_MAX);
	size_t dropped;

	alarm(100);
	pasta_agent_stall(true);
	dropped = port ? deliver_to(port) : 0;
	pasta_agent_stall(false);
	if (!dropped)
		_exit(97);
	pasta_agent_close();
}

static void a_delivery_thread_waits_for_room_and_drops_nothing(void **state)
{
	struct tally t;

	(void)state;
	setenv(PASTA_ENV_MEMORY, "4194304", 1);
	assert_int_equal(in_child(deliver), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.expected, 500000);
	assert_int_equal(t.account.captured, 500000);
	assert_int_equal(t.out_of_order, 0);
}

static void a_delivery_thread_does_not_wait_for_a_writer_that_hangs(void **state)
{
	struct tally t;

	(void)state;
	setenv(PASTA_ENV_MEMORY, "4194304", 1);
	assert_int_equal(in_child(deliver_in_vain), 0);
	t = read_run(NULL);
	assert_int_equal(t.account.expected, 500000);
	assert_true(t.account.by_reason[PASTA_LOSS_FULL] > 0);
	assert_int_equal(t.account.captured + t.account.by_reason[PASTA_LOSS_FULL], 500000);
}

static void *child_of_a_thread(void *arg)
{
	int status;
	pid_t pid;

	emit_mark(pasta_intern_str("parent"));
	pid = fork();
	if (!pid) {
		emit_mark(pasta_intern_str("child"));
		emit_mark(pasta_intern_str("child"));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	emit_mark(pasta_intern_str("parent"));
	return arg;
}

static void fork_in_a_thread(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, child_of_a_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	pasta_agent_close();
}

static void a_forked_child_has_a_shard_of_its_own(void **state)
{
	struct tally t;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* after a fork, its allocator's locks may stay held */
#endif
	assert_int_equal(in_child(fork_in_a_thread), 0);
	t = read_run(NULL);
	assert_int_equal(t.shards, 5);
	assert_int_equal(t.regions, 4 * 2 + 4 * 2);
	assert_int_equal(t.account.dropped, 0);
}

static volatile sig_atomic_t handled;

static void emit_in_handler(int sig)
{
	(void)sig;
	emit_mark(0);
	handled++;
}

static void emit_under_signals(void)
{
	struct sigaction act = {.sa_handler = emit_in_handler};
	struct pasta_event last = {.size = PASTA_EVENT_SIZE(iteration),
				   .kind = PASTA_KIND_ITERATION};
	uint32_t name = pasta_intern_str("main line");
	timer_t timer;
	struct itimerspec every = {.it_interval = {.tv_nsec = 50000},
				   .it_value = {.tv_nsec = 50000}};

	sigaction(SIGALRM, &act, NULL);
	emit_mark(name);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer) || timer_settime(timer, 0, &every, NULL))
		_exit(95);
	for (int i = 0; i < 999999; i++)
		emit_mark(name);
	timer_delete(timer);
	pasta_agent_close();
	last.time = pasta_now();
	last.iteration.index = (uint64_t)handled;
	pasta_emit(&last);
}

static void a_signal_handler_may_emit_and_its_drops_are_counted(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	struct pasta_loss_summary a;
	uint64_t in_handler = 0;

	(void)state;
	assert_int_equal(in_child(emit_under_signals), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s)))
		if (ev->kind == PASTA_KIND_ITERATION)
			in_handler = ev->iteration.index;
	pasta_stream_loss(s, &a);
	assert_true(in_handler > 0);
	assert_int_equal(a.expected, 1000000 + in_handler + 1);
	assert_int_equal(a.damaged, 0);
	pasta_stream_free(s);
}

static void after_close(void)
{
	emit_mark(pasta_intern_str("before"));
	pasta_agent_close();
	emit_mark(pasta_intern_str("after"));
	emit_mark(pasta_intern_str("after"));
}

static void events_after_the_close_are_written_at_once(void **state)
{
	struct pasta_recovered recovered = {0};
	struct tally t;

	(void)state;
	assert_int_equal(in_child(after_close), 0);
	t = read_run(&recovered);
#ifndef __SANITIZE_THREAD__ /* which has a thread of its own: the process always has two */
	assert_int_equal(recovered.processes, 0);
#endif
	assert_int_equal(t.regions, 3);
	assert_int_equal(t.account.dropped, 0);
}

static void close_all_files(void)
{
	int fd, first = -1;
	uint32_t name = pasta_intern_str("daemon");
	char path[160];

	emit_mark(name);
	for (fd = 3; fd < 2000; fd++)
		close(fd);
	snprintf(path, sizeof(path), "%s/theirs", run_dir);
	for (fd = 3; fd < 700; fd++) {
		int mine = open(path, O_RDWR | O_CREAT, 0666);

		first = first < 0 ? mine : first;
	}
	emit_mark(name);
	pasta_agent_close();
	_exit(lseek(first, 0, SEEK_END) == 0 ? 0 : 94);
}

static void a_program_may_close_the_agents_files_and_no_event_is_dropped(void **state)
{
	struct tally t;

	(void)state;
	assert_int_equal(in_child(close_all_files), 0);
	t = read_run(NULL);
	assert_int_equal(t.regions, 2);
	assert_int_equal(t.account.dropped, 0);
}

static void log_much(void)
{
	char text[300];

	pasta_agent_log("python", "no stacks");
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "%d: %0290d", i, 0);
		pasta_agent_log("cupti", text);
		pasta_agent_log("python", "no stacks");
	}
	pasta_agent_log("python", "no modules");
	pasta_agent_log("torch", "no compiler");
	pasta_agent_announce("cupti", "all is well");
}

static void a_handlers_message_is_noted_once_and_displaces_no_other(void **state)
{
	struct pasta_run_health health;

	(void)state;
	make_control();
	assert_int_equal(in_child(log_much), 0);
	assert_int_equal(in_child(log_much), 0);
	assert_int_equal(pasta_run_health(run_dir, &health), 0);
	assert_int_equal(health.failed, 0);
	assert_string_equal(health.message, "");
	assert_string_equal(health.notes[0], "python: no stacks");
	assert_memory_equal(health.notes[1], "cupti: 0: 000", 13);
	assert_int_equal(strlen(health.notes[1]), 255);
	assert_memory_equal(health.notes[2], "cupti: 1: 000", 13);
	assert_string_equal(health.notes[3], "python: no modules");
	assert_string_equal(health.notes[4], "torch: no compiler");
	assert_string_equal(health.notes[5], "=cupti: all is well");
	assert_string_equal(health.notes[6], "");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_run, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_an_event_there_is_no_file),
		CASE(a_handlers_message_is_noted_once_and_displaces_no_other),
		CASE(what_was_emitted_before_sigkill_is_recovered_with_its_names),
		CASE(threads_reuse_the_rings_of_ended_threads_and_no_event_is_dropped),
		CASE(threads_past_the_memory_limit_are_counted),
		CASE(names_past_the_memory_limit_become_one_name_and_no_event_is_dropped),
		CASE(a_delivery_thread_waits_for_room_and_drops_nothing),
		CASE(a_delivery_thread_does_not_wait_for_a_writer_that_hangs),
		CASE(a_forked_child_has_a_shard_of_its_own),
		CASE(a_signal_handler_may_emit_and_its_drops_are_counted),
		CASE(events_after_the_close_are_written_at_once),
		CASE(a_program_may_close_the_agents_files_and_no_event_is_dropped),
		CASE(pushed_read_and_dropped_add_up_with_a_fast_writer),
		CASE(pushed_read_and_dropped_add_up_with_a_stalled_writer),
		CASE(batches_read_and_dropped_add_up),
		CASE(records_without_room_in_a_batch_are_dropped_and_counted),
		CASE(a_record_inside_another_is_dropped_and_counted),
		CASE(a_thread_that_jumped_out_of_an_emit_can_emit_again),
		CASE(cancelled_threads_hold_no_lock_and_end_where_they_would_natively),
		CASE(the_agent_has_no_descriptor_in_the_programs_table),
		CASE(a_signal_handler_may_not_allocate),
		CASE(a_process_may_begin_in_a_signal_handler),
		CASE(a_paused_writer_starts_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
