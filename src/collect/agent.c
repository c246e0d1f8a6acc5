/* agent.c - attaches the agent to a process, and starts and ends the recording. */
#include "collect/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/channel.h"
#include "collect/guard.h"
#include "collect/stack.h"
#include "collect/state.h"

#define MEMORY_DEFAULT (UINT64_C(256) << 20)
#define EXIT_WAIT_S 5
#define PAUSE_WAIT_S 1
#define NOTES_MAX 2 /* maximum number of messages of one handler */

struct pasta_config pasta_config;
struct pasta_state *pasta_state;
static bool fork_wipes;
/* The generation of the last recording. A forked child continues from its parent's number. */
static uint32_t last_gen;

void pasta_agent_fail(int error, const char *what, const char *path)
{
	struct pasta_control *c = pasta_config.control;
	char text[sizeof(c->message)];
	int32_t none = 0;

	snprintf(text, sizeof(text), "%s %s: %s", what, path, strerror(error));
	if (!c)
		pasta_channel_fail(error, text);
	else if (atomic_compare_exchange_strong(&c->error, &none, error))
		memcpy(c->message, text, sizeof(text));
}

/* Stores each message only once, and at most two messages of each handler, so that room remains for
 * other handlers' messages. */
static void agent_put_note(const char *mark, const char *handler, const char *what)
{
	struct pasta_control *c = pasta_config.control;
	uint64_t name = XXH3_64bits_withSeed(handler, strlen(handler), (uint64_t)*mark) | 1;
	uint64_t who = name << 32 | (uint32_t)XXH3_64bits(what, strlen(what));
	size_t i, notes = 0;

	for (i = 0; c && i < PASTA_CONTROL_NOTES && notes < NOTES_MAX; i++) {
		uint64_t other = 0;

		if (atomic_compare_exchange_strong(&c->notes[i].who, &other, who)) {
			snprintf(c->notes[i].text, sizeof(c->notes[i].text), "%s%s: %s", mark,
				 handler, what);
			return;
		}
		if (other == who)
			return;
		notes += other >> 32 == who >> 32;
	}
}

void pasta_agent_log(const char *handler, const char *what)
{
	agent_put_note("", handler, what);
}

void pasta_agent_announce(const char *handler, const char *what)
{
	static const char news[] = {PASTA_CONTROL_NEWS, 0};

	agent_put_note(news, handler, what);
}

void pasta_count_loss(enum pasta_loss_sub reason, uint64_t n)
{
	struct pasta_state *s = pasta_state;

	if (atomic_load(&s->gen) && !atomic_load(&s->failed))
		pasta_sealed_add(&s->file->lost[reason], reason, n);
	else if (pasta_config.control)
		pasta_sealed_add(&pasta_config.control->lost, PASTA_CONTROL_LOST, n);
	else
		pasta_channel_loss(n);
}

/* Starts the recording. On failure, marks the process as failed. */
static void agent_begin(void)
{
	struct pasta_state *s = pasta_state;
	bool ok = !pasta_writer_open();

	atomic_store(&s->failed, !ok);
	last_gen = last_gen + 1 ? last_gen + 1 : 1;
	atomic_store_explicit(&s->gen, last_gen, memory_order_release);
	if (pasta_config.control)
		pasta_sealed_add(ok ? &pasta_config.control->shards : &pasta_config.control->failed,
				 ok ? PASTA_CONTROL_SHARDS : PASTA_CONTROL_FAILED, 1);
}

bool pasta_agent_begin(void)
{
	struct pasta_state *s = pasta_state;

	pthread_mutex_lock(&s->begin_lock);
	if (!atomic_load(&s->gen))
		agent_begin();
	/* A signal handler cannot start the writer. The next thread that needs a ring starts the
	 * writer instead. */
	if (!atomic_load(&s->failed) && !atomic_load(&s->closed) && !atomic_load(&s->lone) &&
	    !pasta_writer_running() && pasta_may_allocate())
		pasta_writer_start();
	pthread_mutex_unlock(&s->begin_lock);
	return !atomic_load(&s->failed);
}

/* Ignores the reading of the clock if the array is full, because later readings are equally
 * useful. */
void pasta_agent_clock(uint32_t clock, uint64_t value, uint64_t raw, uint64_t error)
{
	struct pasta_state *s = pasta_state;
	struct pasta_guard guard;

	pasta_guard_enter(&guard);
	if (pasta_agent_begin()) {
		pthread_mutex_lock(&s->lock);
		if (s->pair_count < sizeof(s->pairs) / sizeof(s->pairs[0]))
			s->pairs[s->pair_count++] = (struct pasta_clock_record){
				.value = value, .raw = raw, .error = error, .id = clock};
		pthread_mutex_unlock(&s->lock);
	}
	pasta_guard_leave(&guard);
}

uint32_t pasta_agent_gen(void)
{
	return atomic_load_explicit(&pasta_state->gen, memory_order_relaxed);
}

bool pasta_agent_records(enum pasta_kind kind)
{
	return pasta_config.kinds >> kind & 1;
}

bool pasta_agent_requested(enum pasta_kind kind)
{
	return (pasta_config.kinds & pasta_config.requested) >> kind & 1;
}

void pasta_agent_stall(bool stall)
{
	atomic_store(&pasta_state->stall, stall);
}

static bool agent_is_alone(void)
{
	struct stat st;

	/* the links of the folder /proc/self/task are ".", ".." and one thread */
	return !stat("/proc/self/task", &st) && st.st_nlink == 3;
}

/* Counts as loss the events that are left in rings in ordinary memory, because ordinary memory does
 * not outlive the process. */
static void agent_count_left(void)
{
	struct pasta_state *s = pasta_state;
	uint32_t n = atomic_load(&s->file->segments);

	for (uint32_t i = 0; i < n; i++) {
		const struct pasta_segment *seg = &s->file->segment[i];
		const struct pasta_ring *r = s->segment[i];
		uint64_t left = 0;

		if (seg->type != PASTA_SEGMENT_RING || seg->in_file)
			continue;
		left = atomic_load(&r->pushed) - r->drained;
		for (uint32_t k = 1; k < PASTA_LOSS_COUNT; k++) {
			uint64_t dropped;

			pasta_unseal(atomic_load(&r->dropped[k]), k, &dropped);
			left += dropped - r->reported[k];
		}
		if (pasta_config.control)
			pasta_sealed_add(&pasta_config.control->lost, PASTA_CONTROL_LOST, left);
		else if (left)
			pasta_channel_loss(left);
	}
}

void pasta_agent_close(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_guard guard;
	bool written = false, stopped = true;

	if (!s || !atomic_load(&s->gen) || atomic_load(&s->failed) || atomic_load(&s->closed))
		return;
	pasta_guard_enter(&guard);
	pasta_accesses_close();
	pthread_mutex_lock(&s->begin_lock);
	atomic_store(&s->closed, 1);
	if (pasta_writer_running()) {
		stopped = pasta_writer_stop(EXIT_WAIT_S);
		written = stopped && s->last_written;
	} else {
		written = pasta_writer_finish();
	}
	pthread_mutex_unlock(&s->begin_lock);
	if (stopped && !written)
		agent_count_left();
	/* The ring file is deleted only if the rings are empty. If other threads may still emit, or
	 * if the disk hangs, events are left in the rings, and accelprof recovers them. */
	if (written && agent_is_alone()) {
		atomic_store(&s->sync, 1);
		pasta_emit_check_soon();
		unlink(pasta_ring_file.path);
	}
	pasta_guard_leave(&guard);
}

void pasta_agent_pause(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_guard guard;

	if (!s || !atomic_load(&s->gen) || atomic_load(&s->failed))
		return;
	pasta_guard_enter(&guard);
	pthread_mutex_lock(&s->begin_lock);
	if (pasta_writer_running())
		pasta_writer_stop(PAUSE_WAIT_S);
	pasta_emit_check_soon(); /* the next event starts the writer again */
	pthread_mutex_unlock(&s->begin_lock);
	pasta_guard_leave(&guard);
}

__attribute__((destructor)) static void at_exit(void)
{
	pasta_agent_close();
	if (pasta_state)
		pasta_channel_end();
}

static void after_fork_in_child(void)
{
	/* In most cases these descriptors belong to the separate descriptor table of the parent
	 * process's writer, and are not open in this process. */
	pasta_file_close(&pasta_shard_file);
	pasta_file_close(&pasta_ring_file);
	if (!fork_wipes)
		memset(pasta_state, 0, sizeof(*pasta_state));
	/* ThreadSanitizer aborts a forked child that starts a thread, if the parent process had
	 * several threads. */
	atomic_store(&pasta_state->lone, pasta_guard_tsan);
	pasta_window_forked();
	pasta_channel_forked();
	pasta_emit_watch_main();
}

static struct pasta_control *agent_map_control(const char *run)
{
	char path[4096];
	struct pasta_control *c = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s/control", run);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (lseek(fd, 0, SEEK_END) >= PASTA_CONTROL_SIZE)
		c = mmap(NULL, PASTA_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		return NULL;
	if (c->magic == PASTA_CONTROL_MAGIC)
		return c;
	munmap(c, PASTA_CONTROL_SIZE);
	return NULL;
}

static void agent_read_stacks(const char *text)
{
	size_t n;

	for (; text && *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		if (n == 6 && !strncmp(text, "python", n))
			pasta_config.stacks |= PASTA_STACKS_PYTHON;
		else if (n == 7 && !strncmp(text, "modules", n))
			pasta_config.stacks |= PASTA_STACKS_MODULES;
		else if (n >= 6 && !strncmp(text, "native", 6) && (n == 6 || text[6] == '='))
			pasta_config.stacks |= PASTA_STACKS_NATIVE;
		if (n > 7 && !strncmp(text, "native=", 7))
			pasta_config.stack_period = (uint32_t)strtoul(text + 7, NULL, 10);
	}
}

static bool agent_read_config(void)
{
	const char *run = getenv(PASTA_ENV_RUN), *kinds = getenv(PASTA_ENV_KINDS);
	const char *memory = getenv(PASTA_ENV_MEMORY), *paused = getenv(PASTA_ENV_PAUSED);
	const char *save = getenv(PASTA_ENV_KEEP), *asked = getenv(PASTA_ENV_ASKED);

	if (!run || run[0] != '/' || strlen(run) >= sizeof(pasta_config.run))
		return false;
	memcpy(pasta_config.run, run, strlen(run) + 1);
	pasta_config.kinds = kinds && *kinds ? strtoull(kinds, NULL, 16) : ~UINT64_C(0);
	pasta_config.requested = asked && *asked ? strtoull(asked, NULL, 16) : ~UINT64_C(0);
	pasta_config.memory = memory ? strtoull(memory, NULL, 10) : 0;
	if (!pasta_config.memory)
		pasta_config.memory = MEMORY_DEFAULT;
	if (pasta_config.memory < PASTA_MEMORY_MIN)
		pasta_config.memory = PASTA_MEMORY_MIN;
	pasta_window_begin(getenv(PASTA_ENV_WINDOW), paused && *paused == '1');
	agent_read_stacks(getenv(PASTA_ENV_STACKS));
	pasta_config.save_code = save && *save == '1';
	pasta_channel_begin(getenv(PASTA_ENV_CHANNEL));
	return true;
}

/* Called through pasta_aside, because this function opens files. */
static int attach_files(void *arg)
{
	pasta_config.control = agent_map_control(pasta_config.run);
	pasta_clock_begin();
	return 0;
}

static void attach(void)
{
	struct pasta_state *s;

	/* An unprivileged user who starts a privileged program sets the program's environment, and
	 * must not control which files the program loads or writes. The agent therefore ignores the
	 * environment of a privileged program, as the dynamic loader does. */
	if (getauxval(AT_SECURE))
		return;
	if (!agent_read_config() || pasta_emit_bind() || pasta_regions_bind())
		return;
	pasta_guard_bind();
	s = pasta_memory_new(sizeof(*s));
	if (!s)
		return;
	fork_wipes = !madvise(s, sizeof(*s), MADV_WIPEONFORK);
	pasta_aside(attach_files, NULL);
	pasta_state = s;
	pthread_atfork(NULL, NULL, after_fork_in_child);
	pasta_emit_watch_main();
	if (pasta_config.stacks & PASTA_STACKS_NATIVE)
		pasta_stack_bind();
	pasta_accesses_bind();
}

bool pasta_agent_attach(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct pasta_guard guard;

	if (pasta_state)
		return true;
	pasta_guard_enter(&guard);
	pthread_once(&once, attach);
	pasta_guard_leave(&guard);
	return pasta_state != NULL;
}

bool pasta_agent_attach_vendor(void)
{
	pasta_config.vendor = true;
	return pasta_agent_attach();
}
