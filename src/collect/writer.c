/* writer.c - the thread that turns rings into frames of the shard. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/state.h"
#include "core/lock.h"

#define TICK_NS 100000000L	      /* how old an event in a ring gets at most */
#define CLOCK_NS UINT64_C(1000000000) /* between clock events */
enum {
	RETIRE_WAIT_S = 1,
	GONE_MS = 100,
	APART_MS = 1000,
	NAMES = 64,
	STEM = NAME_MAX - 16,
	STACK = 256 << 10
};

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool written(int r)
{
	if (r)
		pasta_agent_fail(-r, "cannot write", pasta_shard_file.path);
	return !r;
}

static bool append(const void *frame, size_t size)
{
	struct pasta_shardfile *f = &pasta_state->shard;

	f->fd = pasta_file_fd(&pasta_shard_file);
	return written(f->fd < 0 ? -errno : pasta_shardfile_append(f, frame, size));
}

static bool put_strings(size_t size, uint64_t first, uint32_t count)
{
	size_t n;
	const void *frame;

	if (!count)
		return true;
	frame = pasta_encode_plain(pasta_state->encoder, PASTA_FRAME_STRINGS, pasta_state->text,
				   size, first, count, &n);
	return append(frame, n);
}

/* A block is one frame at most: it is smaller than a frame may be. */
static bool drain_block(const struct pasta_strings *b, uint64_t used)
{
	struct pasta_state *s = pasta_state;
	uint64_t at = s->strings_used;
	uint32_t count = 0;
	size_t size = 0;

	while (at < used) {
		const struct pasta_string *entry = (const void *)(b->data + at);

		size += pasta_encode_string(s->text + size, entry->bytes, entry->size);
		at += pasta_string_room(entry->size);
		count++;
	}
	if (!put_strings(size, s->strings_id + 1, count))
		return false;
	s->strings_id += count;
	s->strings_used = used;
	return true;
}

static bool drain_strings(void)
{
	struct pasta_state *s = pasta_state;
	uint32_t n = atomic_load_explicit(&s->file->segments, memory_order_acquire);

	for (uint32_t i = s->strings_segment; i < n; i++) {
		struct pasta_strings *b = s->segment[i];

		if (s->file->segment[i].type != PASTA_SEGMENT_STRINGS)
			continue;
		if (i != s->strings_segment) {
			s->strings_segment = i;
			s->strings_used = 0;
		}
		if (!drain_block(b, atomic_load_explicit(&b->used, memory_order_acquire)))
			return false;
	}
	return true;
}

static bool drain_ring(struct pasta_ring *r, uint64_t head)
{
	uint64_t at = atomic_load_explicit(&r->tail, memory_order_relaxed), damaged = 0;
	uint64_t seed = pasta_ring_seed(pasta_state->file, r->source);

	while (at < head) {
		/* What somebody wrote over is passed over, and missing from the ring's account. */
		size_t size, n = pasta_ring_collect(r, seed, &at, head, pasta_state->events,
						    PASTA_FRAME_EVENTS, &damaged);
		struct pasta_frame_meta meta = {
			.source = r->source,
			.clock = r->clock,
			.seq = r->drained,
			.pos = at,
		};
		const void *frame;

		if (n) {
			meta.watermark = r->port ? atomic_load(&r->watermark)
						 : pasta_state->events[n - 1]->time;
			frame = pasta_encode_events(pasta_state->encoder, pasta_state->events, n,
						    &meta, &size);
			if (!append(frame, size))
				return false;
		}
		r->drained += n;
		atomic_store_explicit(&r->tail, at, memory_order_release);
	}
	return true;
}

static bool flush_own(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_frame_meta meta = {.seq = s->state_seq, .flags = PASTA_FRAME_STATE};
	size_t size;
	const void *frame;

	if (!s->own_count)
		return true;
	if (!drain_strings())
		return false;
	for (uint32_t i = 0; i < s->own_count; i++) {
		s->events[i] = &s->own[i];
		if (s->own[i].kind == PASTA_KIND_CLOCK)
			meta.flags |= PASTA_FRAME_CLOCK;
	}
	meta.watermark = s->own[s->own_count - 1].time;
	frame = pasta_encode_events(s->encoder, s->events, s->own_count, &meta, &size);
	if (!append(frame, size))
		return false;
	s->state_seq += s->own_count;
	s->own_count = 0;
	atomic_store(&s->file->own, pasta_seal(s->state_seq, PASTA_OWN_SALT));
	return true;
}

/* A new event of the writer's own, or NULL where it cannot be kept: then it is told later. */
static struct pasta_event *own_event(enum pasta_kind kind, unsigned int sub)
{
	struct pasta_state *s = pasta_state;
	struct pasta_event *ev;

	if (s->own_count == sizeof(s->own) / sizeof(s->own[0]) && !flush_own())
		return NULL;
	ev = &s->own[s->own_count++];
	memset(ev, 0, sizeof(*ev));
	ev->size = pasta_kinds[kind].size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)sub;
	ev->time = pasta_now();
	return ev;
}

/* It says, too, that all older events are in the shard: the moment is that before the heads of the
 * rings were read. */
static void clock_event(uint64_t raw, uint64_t real)
{
	struct pasta_event *ev = own_event(PASTA_KIND_CLOCK, 0);

	if (!ev)
		return;
	ev->clock.value = ev->clock.raw = raw;
	ev->clock.real = real;
	ev->clock.id = PASTA_CLOCK_RAW;
	pasta_state->next_clock = raw + CLOCK_NS;
}

/* What handlers said of their clocks. */
static void clock_pairs(void)
{
	struct pasta_state *s = pasta_state;

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->pair_count; i++) {
		struct pasta_event *ev = own_event(PASTA_KIND_CLOCK, 0);

		if (ev)
			ev->clock = s->pairs[i];
	}
	s->pair_count = 0;
	pthread_mutex_unlock(&s->lock);
}

static bool loss_event(uint32_t source, unsigned int reason, uint64_t pushed, uint64_t dropped)
{
	struct pasta_event *ev = own_event(PASTA_KIND_LOSS, reason);

	if (!ev)
		return false;
	ev->loss.source = source;
	ev->loss.pushed = pushed;
	ev->loss.dropped = dropped;
	return true;
}

static void report_losses(uint32_t source, uint64_t pushed, _Atomic uint64_t *dropped,
			  uint64_t *reported)
{
	for (unsigned int i = 1; i < PASTA_LOSS_COUNT; i++) {
		uint64_t n;

		pasta_unseal(atomic_load_explicit(&dropped[i], memory_order_relaxed), i, &n);
		if (n != reported[i] && loss_event(source, i, pushed, n))
			reported[i] = n;
	}
}

static uint32_t intern(const char *text)
{
	const struct pasta_string *entry;
	uint32_t id;

	pthread_mutex_lock(&pasta_state->lock);
	id = pasta_intern_locked(text, strlen(text), &entry);
	pthread_mutex_unlock(&pasta_state->lock);
	return id;
}

/* A thread that ends before it is seen here stays without a name. */
static void announce(struct pasta_ring *r)
{
	uint32_t tid = atomic_load_explicit(&r->tid, memory_order_acquire);
	struct pasta_event *ev;
	char name[sizeof(r->name)];

	if (!tid || r->announced == tid)
		return;
	pthread_mutex_lock(&pasta_state->lock); /* a name is written under it, too */
	memcpy(name, r->name, sizeof(name));
	tid = atomic_load_explicit(&r->tid, memory_order_relaxed);
	pthread_mutex_unlock(&pasta_state->lock);
	if (!name[0]) {
		r->announced = tid;
		return;
	}
	ev = own_event(PASTA_KIND_THREAD, 0);
	if (!ev)
		return;
	ev->tid = r->announced = tid;
	ev->thread.name = intern(name);
}

/* The head is read before the strings are written: what its events name is then in the shard
 * before them. */
static bool tick_ring(struct pasta_ring *r, bool last)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);

	announce(r);
	if (!drain_strings() || !drain_ring(r, head))
		return false;
	report_losses(r->source, r->drained, r->dropped, r->reported);
	return !last || loss_event(r->source, PASTA_LOSS_ACCOUNT, atomic_load(&r->pushed), 0);
}

/* PASTA_SHARD_ENDS: the last event of all. */
static void end_event(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_event *ev = own_event(PASTA_KIND_LOSS, PASTA_LOSS_ACCOUNT);

	if (!ev)
		return;
	ev->loss.pushed = s->state_seq + s->own_count;
	ev->loss.dropped = s->strings_id;
}

static bool writer_tick(bool last)
{
	struct pasta_state *s = pasta_state;
	uint64_t raw = clock_ns(CLOCK_MONOTONIC_RAW), real = clock_ns(CLOCK_REALTIME);
	uint32_t n = atomic_load_explicit(&s->file->segments, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		if (s->file->segment[i].type == PASTA_SEGMENT_RING &&
		    !tick_ring(s->segment[i], last))
			return false;
	report_losses(0, 0, s->file->lost, s->lost_reported);
	clock_pairs();
	if (last || raw >= s->next_clock)
		clock_event(raw, real);
	if (last && (!drain_strings() || !flush_own()))
		return false;
	if (last)
		end_event();
	return flush_own();
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *wait)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, wait, NULL, 0);
}

/* In one system call: a handler that jumped out between two would leave the writer asleep, and
 * others in the belief that it is awake. */
void pasta_writer_wake(void)
{
	_Atomic uint32_t *word = &pasta_state->wake;

	if (!atomic_load(word))
		syscall(SYS_futex, word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 1, NULL, word,
			FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0));
}

/* The rings are emptied by one thread at a time. */
static bool writer_drain_once(bool last)
{
	bool written;

	pthread_mutex_lock(&pasta_state->drain_lock);
	written = writer_tick(last);
	pthread_mutex_unlock(&pasta_state->drain_lock);
	return written;
}

/* A file of /proc as text: NULs become spaces, a newline at the end goes. */
static void slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	n = n < 0 ? 0 : n;
	while (n > 0 && (text[n - 1] == '\0' || text[n - 1] == '\n'))
		n--;
	for (ssize_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[n] = '\0';
}

/* A process whose main thread has ended ends with the last of its threads. status: the main
 * thread's, which is the last field. The kernel forgets a thread's list of robust locks when it
 * ends: that can be asked where there is no /proc, too. */
static bool writer_main_ended(int *status)
{
	char text[1024];
	const char *state, *last;
	void *list = NULL;
	size_t size;
	bool asked = !syscall(SYS_get_robust_list, getpid(), &list, &size);

	*status = 0;
	if (asked && list)
		return false;
	slurp("/proc/self/stat", text, sizeof(text));
	if (!*text)
		return asked;
	state = strrchr(text, ')');
	last = strrchr(text, ' ');
	*status = last ? WEXITSTATUS(atoi(last)) : 0;
	return state && state[1] == ' ' && state[2] == 'Z';
}

/* ".", "..", the main thread, which stays there when it has ended, and this one. */
static bool writer_is_last(void)
{
	struct stat st;

	return !stat("/proc/self/task", &st) && st.st_nlink == 4;
}

/* The program's threads go on without it. Where there are none any more, the process ends with this
 * thread alone, and with the main thread's status. */
static void writer_leave(struct pasta_state *s, int status)
{
	bool last;

	atomic_store(&s->lone, 1);
	last = writer_is_last();
	writer_drain_once(last);
	pasta_file_close(&pasta_shard_file);
	pasta_file_close(&pasta_ring_file);
	if (last)
		syscall(SYS_exit, status);
}

/* Its descriptors are its own, and its signals blocked: the program notices neither. */
static void *writer_main(void *arg)
{
	struct pasta_state *s = arg;
	int status;

	pthread_setname_np(pthread_self(), "pasta-writer");
	atomic_store(&s->writer_tid, (uint32_t)syscall(SYS_gettid));
	unshare(CLONE_FS); /* setns refuses a mount namespace to those that share root and folder */
	pasta_files_own();
	atomic_store(&s->apart, 1);
	futex(&s->apart, FUTEX_WAKE, INT_MAX, NULL);
	pasta_file_lock(&pasta_ring_file);
	while (!atomic_load(&s->stop)) {
		uint64_t next = pasta_window_tick();
		const struct timespec tick = {.tv_nsec = next < TICK_NS ? (long)next : TICK_NS};

		if (!atomic_load(&s->stall))
			writer_drain_once(false);
		futex(&s->wake, FUTEX_WAIT, 0, &tick);
		atomic_store(&s->wake, 0);
		if (writer_main_ended(&status) && !atomic_load(&s->stop)) {
			writer_leave(s, status);
			atomic_store(&s->running, 0);
			return NULL;
		}
	}
	s->last_written = writer_drain_once(atomic_load(&s->closed));
	pasta_file_close(&pasta_shard_file);
	pasta_file_close(&pasta_ring_file);
	atomic_store(&s->running, 0); /* also if nobody waits for it any more */
	return NULL;
}

/* On its way to a table of its own the writer may hold the program's files for a moment: one that
 * the program closes meanwhile would stay open, and locked. */
static void writer_wait_apart(struct pasta_state *s)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	for (int i = 0; i < APART_MS && !atomic_load(&s->apart); i++)
		futex(&s->apart, FUTEX_WAIT, 0, &ms);
}

/* Signals are blocked by the caller's guard, and so for ever in the writer. */
int pasta_writer_start(void)
{
	struct pasta_state *s = pasta_state;
	pthread_attr_t attr;
	int r;

	atomic_store(&s->stop, 0);
	atomic_store(&s->apart, 0);
	atomic_store(&s->running, 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	r = pthread_create(&s->thread, &attr, writer_main, s);
	pthread_attr_destroy(&attr);
	if (r)
		atomic_store(&s->running, 0);
	else
		writer_wait_apart(s);
	return -r;
}

bool pasta_writer_stop(int seconds)
{
	struct pasta_state *s = pasta_state;
	const struct timespec ms = {.tv_nsec = 1000000};
	struct timespec until;

	atomic_store(&s->stop, 1);
	pasta_writer_wake();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	if (pthread_timedjoin_np(s->thread, NULL, &until))
		return false;
	/* The kernel counts it for a moment longer. */
	for (int i = 0; i < GONE_MS && !syscall(SYS_tgkill, getpid(), s->writer_tid, 0); i++)
		pasta_nap(&ms);
	return true;
}

/* In a table of descriptors that goes with this call. */
static int writer_aside(void *last)
{
	bool written = writer_drain_once(last != NULL);

	pasta_file_close(&pasta_shard_file);
	return written ? 0 : -EIO;
}

bool pasta_writer_finish(void)
{
	return !pasta_aside(writer_aside, pasta_state);
}

static void writer_begin_again(void)
{
	struct pasta_state *s = pasta_state;

	pthread_mutex_lock(&s->begin_lock);
	if (!atomic_load(&s->closed) && !atomic_load(&s->lone) && !pasta_writer_attended())
		pasta_writer_start();
	pthread_mutex_unlock(&s->begin_lock);
}

void pasta_writer_retire(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_guard guard;

	pasta_guard_enter(&guard);
	pthread_mutex_lock(&s->begin_lock);
	if (!atomic_exchange(&s->lone, 1) && pasta_writer_attended())
		pasta_writer_stop(RETIRE_WAIT_S);
	pthread_mutex_unlock(&s->begin_lock);
	pasta_guard_leave(&guard);
}

static int writer_ask_for_main(void *arg)
{
	int status;

	return writer_main_ended(&status);
}

void pasta_writer_look_for_main(void)
{
	struct pasta_guard guard;
	int ended;

	if (atomic_load(&pasta_state->lone))
		return;
	pasta_guard_enter(&guard);
	ended = pasta_aside(writer_ask_for_main, NULL);
	pasta_guard_leave(&guard);
	if (ended > 0)
		pasta_writer_retire();
}

bool pasta_writer_drain(bool needed)
{
	struct pasta_state *s = pasta_state;
	struct pasta_guard guard;
	bool closed = atomic_load(&s->closed), sync = atomic_load(&s->sync);

	if (closed && !sync)
		return true; /* what is emitted after the end is for recover */
	pasta_guard_enter(&guard);
	if (!closed && !atomic_load(&s->lone) && pasta_may_allocate())
		writer_begin_again();
	else if (sync || (needed && !atomic_load(&s->stall)))
		pasta_aside(writer_aside, sync ? s : NULL);
	pasta_guard_leave(&guard);
	return pasta_writer_attended();
}

static uint32_t number(const char *const *names, uint32_t plus, uint32_t none)
{
	for (; *names; names++) {
		const char *text = getenv(*names);

		if (text && *text >= '0' && *text <= '9')
			return (uint32_t)strtoul(text, NULL, 10) + plus;
	}
	return none;
}

static void process_event(const char *host)
{
	static const char *const ranks[] = {"RANK",	"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
					    "PMI_RANK", "SLURM_PROCID",		NULL};
	static const char *const worlds[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					     "SLURM_NTASKS", NULL};
	struct pasta_event *ev = own_event(PASTA_KIND_PROCESS, 0);
	char command[4096];

	if (!ev)
		return;
	slurp("/proc/self/cmdline", command, sizeof(command));
	ev->process.kinds = pasta_config.kinds;
	ev->process.command = intern(command);
	ev->process.host = intern(host);
	ev->process.version = intern(PASTA_VERSION_STRING);
	ev->process.pid = (uint32_t)getpid();
	ev->process.parent = (uint32_t)getppid();
	ev->process.rank = number(ranks, 1, 0);
	ev->process.world = number(worlds, 0, 0);
}

static void identify(struct pasta_ringfile *f)
{
	char text[1024], *p;
	size_t n;
	const char *schema = pasta_schema_text(&n);
	size_t digits = 0;

	f->version = PASTA_RINGFILE_VERSION;
	f->pid = (uint32_t)getpid();
	f->raw = clock_ns(CLOCK_MONOTONIC_RAW);
	f->real = clock_ns(CLOCK_REALTIME);
	if (getrandom(f->guid, sizeof(f->guid), GRND_NONBLOCK) != sizeof(f->guid)) {
		memcpy(f->guid, &f->real, 8);
		memcpy(f->guid + 8, &f->pid, 4);
	}
	slurp("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (p = text; *p && digits < sizeof(f->boot); p += *p == '-' ? 1 : 2)
		if (*p != '-' && sscanf(p, "%2hhx", &f->boot[digits]) == 1)
			digits++;
	slurp("/proc/self/stat", text, sizeof(text));
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	f->start = p ? strtoull(p, NULL, 10) : 0;
	f->schema = pasta_schema_hash(schema, n);
	for (uint32_t i = 0; i < PASTA_LOSS_COUNT; i++)
		atomic_init(&f->lost[i], pasta_seal(0, i));
	atomic_init(&f->own, pasta_seal(0, PASTA_OWN_SALT));
	f->sum = pasta_ringfile_sum(f);
	atomic_thread_fence(memory_order_release);
	memcpy(f->magic, PASTA_RINGFILE_MAGIC, sizeof(f->magic)); /* last: it is whole */
}

/* HOST-PID, and HOST-PID-2 and so on: a process that was replaced by exec keeps its number. After a
 * long chain of them the time makes the name, so that the way to a free one stays short. */
static int create_files(const char *host)
{
	char path[4096];
	int r = -EEXIST;

	for (int i = 1; r == -EEXIST && i < 2 * NAMES; i++) {
		char suffix[32] = "";

		if (i > NAMES)
			snprintf(suffix, sizeof(suffix), "-%" PRIu64, clock_ns(CLOCK_REALTIME));
		else if (i > 1)
			snprintf(suffix, sizeof(suffix), "-%d", i);
		snprintf(path, sizeof(path), "%s/shards/%.*s-%d%s.pst", pasta_config.run, STEM - 32,
			 host, (int)getpid(), suffix);
		r = pasta_file_create(&pasta_shard_file, path);
	}
	if (r < 0) {
		pasta_agent_fail(-r, "cannot make", path);
		return r;
	}
	memcpy(strrchr(path, '.'), ".ring", sizeof(".ring"));
	r = pasta_ringfile_create(path);
	if (r < 0) {
		pasta_agent_fail(-r, "cannot make", path);
		unlink(path);
		unlink(pasta_shard_file.path);
	}
	return r;
}

static bool first_frames(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_shard_head head = {
		.raw = s->file->raw, .real = s->file->real, .pid = s->file->pid};

	memcpy(head.guid, s->file->guid, sizeof(head.guid));
	memcpy(head.boot, s->file->boot, sizeof(head.boot));
	s->shard.fd = pasta_file_fd(&pasta_shard_file);
	return written(pasta_shardfile_begin(&s->shard, &head, s->encoder));
}

static int writer_make(struct pasta_state *s)
{
	char host[HOST_NAME_MAX + 1] = "localhost";
	int r;

	gethostname(host, sizeof(host) - 1);
	r = create_files(host);
	if (r < 0)
		return r;
	identify(s->file);
	if (!first_frames())
		return -EIO;
	intern("(too many names)"); /* the first: it stands for those that find no room */
	process_event(host);
	clock_event(s->file->raw, s->file->real);
	r = flush_own() ? 0 : -EIO;
	pasta_file_close(&pasta_shard_file);
	return r;
}

/* Aside: it makes files. Where it fails the program gets its memory back. */
static int writer_open(void *arg)
{
	struct pasta_state *s = arg;
	void *memory = pasta_memory_new(pasta_encoder_size());
	int r = -ENOMEM;

	s->events = pasta_memory_new(PASTA_FRAME_EVENTS * sizeof(*s->events));
	s->text = pasta_memory_new(PASTA_FRAME_BYTES);
	if (memory && s->events && s->text) {
		s->encoder = pasta_encoder_init(memory);
		r = writer_make(s);
	} else {
		pasta_agent_fail(ENOMEM, "no memory to record", "");
	}
	if (!r)
		return 0;
	pasta_memory_free(memory, pasta_encoder_size());
	pasta_memory_free(s->events, PASTA_FRAME_EVENTS * sizeof(*s->events));
	pasta_memory_free(s->text, PASTA_FRAME_BYTES);
	s->encoder = NULL;
	s->events = NULL;
	s->text = NULL;
	return r;
}

int pasta_writer_open(void)
{
	return pasta_aside(writer_open, pasta_state);
}
