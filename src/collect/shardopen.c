/* shardopen.c - creates a process's shard and ring file, and the shard's first frames. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/drain.h"
#include "collect/guard.h"
#include "collect/state.h"

enum { NAMES = 64, STEM = NAME_MAX - 16 };

/* Finds the first of the given environment variables whose value is a number, and returns the sum
 * of `offset` and this number. Returns `none` if no variable is a number. */
static uint32_t shard_env_number(const char *const *names, uint32_t offset, uint32_t none)
{
	for (; *names; names++) {
		const char *text = getenv(*names);

		if (text && *text >= '0' && *text <= '9')
			return (uint32_t)strtoul(text, NULL, 10) + offset;
	}
	return none;
}

static void shard_process_event(const char *host)
{
	static const char *const ranks[] = {"RANK",	"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
					    "PMI_RANK", "SLURM_PROCID",		NULL};
	static const char *const worlds[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					     "SLURM_NTASKS", NULL};
	struct pasta_event *ev = pasta_drain_event(PASTA_KIND_PROCESS, 0);
	char command[4096];

	if (!ev)
		return;
	pasta_file_read_text("/proc/self/cmdline", command, sizeof(command));
	ev->process.kinds = pasta_config.kinds;
	ev->process.command = pasta_drain_intern(command);
	ev->process.host = pasta_drain_intern(host);
	ev->process.version = pasta_drain_intern(PASTA_VERSION_STRING);
	ev->process.pid = (uint32_t)getpid();
	ev->process.parent = (uint32_t)getppid();
	ev->process.rank = shard_env_number(ranks, 1, 0);
	ev->process.world = shard_env_number(worlds, 0, 0);
}

static void shard_identify(struct pasta_ringfile *f)
{
	char text[1024], *p;
	size_t n;
	const char *schema = pasta_schema_text(&n);
	size_t digits = 0;

	f->version = PASTA_RINGFILE_VERSION;
	f->pid = (uint32_t)getpid();
	f->raw = pasta_drain_clock_ns(CLOCK_MONOTONIC_RAW);
	f->real = pasta_drain_clock_ns(CLOCK_REALTIME);
	if (getrandom(f->guid, sizeof(f->guid), GRND_NONBLOCK) != sizeof(f->guid)) {
		memcpy(f->guid, &f->real, 8);
		memcpy(f->guid + 8, &f->pid, 4);
	}
	pasta_file_read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (p = text; *p && digits < sizeof(f->boot); p += *p == '-' ? 1 : 2)
		if (*p != '-' && sscanf(p, "%2hhx", &f->boot[digits]) == 1)
			digits++;
	pasta_file_read_text("/proc/self/stat", text, sizeof(text));
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
	/* The magic is set last, when the header is complete. */
	memcpy(f->magic, PASTA_RINGFILE_MAGIC, sizeof(f->magic));
}

/* Creates the shard and the ring file. Their name is HOST-PID. After an exec the process id stays
 * the same, so the name is HOST-PID-2, and so on. After NAMES attempts, the suffix is the current
 * time, so that the search stays short. */
static int shard_create_files(const char *host)
{
	char path[4096];
	int r = -EEXIST;

	for (int i = 1; r == -EEXIST && i < 2 * NAMES; i++) {
		char suffix[32] = "";

		if (i > NAMES)
			snprintf(suffix, sizeof(suffix), "-%" PRIu64,
				 pasta_drain_clock_ns(CLOCK_REALTIME));
		else if (i > 1)
			snprintf(suffix, sizeof(suffix), "-%d", i);
		snprintf(path, sizeof(path), "%s/shards/%.*s-%d%s.pst", pasta_config.run, STEM - 32,
			 host, (int)getpid(), suffix);
		r = pasta_file_create(&pasta_shard_file, path);
	}
	if (r < 0) {
		pasta_agent_fail(-r, "cannot create", path);
		return r;
	}
	memcpy(strrchr(path, '.'), ".ring", sizeof(".ring"));
	r = pasta_ringfile_create(path);
	if (r < 0) {
		pasta_agent_fail(-r, "cannot create", path);
		unlink(path);
		unlink(pasta_shard_file.path);
	}
	return r;
}

static bool shard_first_frames(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_shard_head head = {
		.raw = s->file->raw, .real = s->file->real, .pid = s->file->pid};

	memcpy(head.guid, s->file->guid, sizeof(head.guid));
	memcpy(head.boot, s->file->boot, sizeof(head.boot));
	s->shard.fd = pasta_file_fd(&pasta_shard_file);
	return pasta_drain_check(pasta_shardfile_begin(&s->shard, &head, s->encoder));
}

static int shard_make(struct pasta_state *s)
{
	char host[HOST_NAME_MAX + 1] = "localhost";
	int r;

	gethostname(host, sizeof(host) - 1);
	r = shard_create_files(host);
	if (r < 0)
		return r;
	shard_identify(s->file);
	if (!shard_first_frames())
		return -EIO;
	/* The string with the id 1 replaces names past the memory limit. */
	pasta_drain_intern("(too many names)");
	shard_process_event(host);
	pasta_drain_clock(s->file->raw, s->file->real);
	r = pasta_drain_flush() ? 0 : -EIO;
	pasta_file_close(&pasta_shard_file);
	return r;
}

/* Opens the shard. Called through pasta_aside, because this function creates files. On failure, the
 * function frees the memory that it has allocated. */
static int shard_open(void *arg)
{
	struct pasta_state *s = arg;
	void *memory = pasta_memory_new(pasta_encoder_size());
	int r = -ENOMEM;

	s->events = pasta_memory_new(PASTA_FRAME_EVENTS * sizeof(*s->events));
	s->text = pasta_memory_new(PASTA_FRAME_BYTES);
	if (memory && s->events && s->text) {
		s->encoder = pasta_encoder_init(memory);
		r = shard_make(s);
	} else {
		pasta_agent_fail(ENOMEM, "cannot record into", pasta_config.run);
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
	return pasta_aside(shard_open, pasta_state);
}
