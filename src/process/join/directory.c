/* directory.c - stores the names of a run's processes, devices and threads. */
#include "process/join/directory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 300, UNKNOWN = 8 };

struct entry {
	struct pasta_process_info info;
	char *host, *command, *source;
	char text[TEXT];
	bool known;
};

static struct entry **entries; /* processes by number; NULL if unknown */
static size_t entry_count;
static const struct pasta_process_info **shown; /* the known processes in display order */
static size_t shown_count;

/* A device or a thread. Tools may hold a pointer to this struct, so the struct never changes; newer
 * information is stored in a new struct. */
struct named {
	union {
		struct pasta_device_info device;
		struct pasta_thread_info thread;
	};
	/* The `struct named` that was allocated before this one. All of them form a list. */
	struct named *before;
	uint64_t time; /* time of the record of the device or thread */
	/* `known`: the device or thread has a record. `listed`: this record is in the shard's
	 * complete list of names. */
	bool known, listed;
	char text[TEXT + 64];
};

static pthread_mutex_t named_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
/* Maps from a process and the number of a device or thread to a `struct named *`. NULL until the
 * first entry is added. */
static struct pasta_map *devices, *threads;
static struct named *last_named;

static void directory_clear_names(void)
{
	struct named *before;

	for (; last_named; last_named = before) {
		before = last_named->before;
		free(last_named);
	}
	pasta_map_free(devices);
	pasta_map_free(threads);
	devices = threads = NULL;
}

static void directory_clear(void)
{
	directory_clear_names();
	for (size_t i = 0; i < entry_count; i++) {
		if (!entries[i])
			continue;
		free(entries[i]->host);
		free(entries[i]->command);
		free(entries[i]->source);
		free(entries[i]);
	}
	free(entries);
	free(shown);
	entries = NULL;
	shown = NULL;
	entry_count = shown_count = 0;
}

/* -- Processes -- */

static int directory_by_rank(const void *a, const void *b)
{
	const struct pasta_process_info *x = *(const struct pasta_process_info *const *)a,
					*y = *(const struct pasta_process_info *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->proc < y->proc ? -1 : x->proc > y->proc;
}

/* Returns whether all ranks are known and all are different. Ranks that are equal are adjacent in
 * `shown`, because it is sorted. */
static bool directory_has_ranks(void)
{
	for (size_t i = 0; i < shown_count; i++)
		if (shown[i]->rank == PASTA_NO_RANK || (i && shown[i]->rank == shown[i - 1]->rank))
			return false;
	return true;
}

/* Composes the name of a process. The name includes the PID, even if it also includes the host
 * name, because a host may have many processes. */
static void directory_name(struct entry *e, bool ranks)
{
	const struct pasta_process_info *info = &e->info;

	if (ranks)
		snprintf(e->text, sizeof(e->text), "rank %u", info->rank);
	else if (info->pid && *info->host)
		snprintf(e->text, sizeof(e->text), "%s-%u", info->host, info->pid);
	else if (info->pid)
		snprintf(e->text, sizeof(e->text), "pid %u", info->pid);
	else
		snprintf(e->text, sizeof(e->text), "#%u", info->proc);
}

static int directory_by_text(const void *a, const void *b)
{
	const struct pasta_process_info *x = *(const struct pasta_process_info *const *)a,
					*y = *(const struct pasta_process_info *const *)b;
	int order = strcmp(x->text, y->text);

	return order ? order : directory_by_rank(a, b);
}

/* Appends the process number to equal names. Names may be equal because, for example, a process has
 * the same PID after exec, but counts as a new process. */
static void directory_disambiguate(void)
{
	qsort(shown, shown_count, sizeof(*shown), directory_by_text);
	for (size_t i = shown_count; i-- > 1;) {
		struct entry *e = entries[shown[i]->proc];
		size_t n = strlen(e->text);

		if (!strcmp(shown[i]->text, shown[i - 1]->text))
			snprintf(e->text + n, sizeof(e->text) - n, " #%u", e->info.proc);
	}
}

static int directory_arrange(void)
{
	bool ranks;

	free(shown);
	shown_count = 0;
	shown = calloc(entry_count + 1, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	for (size_t i = 0; i < entry_count; i++)
		if (entries[i] && entries[i]->known)
			shown[shown_count++] = &entries[i]->info;
	qsort(shown, shown_count, sizeof(*shown), directory_by_rank);
	ranks = directory_has_ranks();
	for (size_t i = 0; i < shown_count; i++)
		directory_name(entries[shown[i]->proc], ranks);
	directory_disambiguate();
	qsort(shown, shown_count, sizeof(*shown), directory_by_rank);
	return 0;
}

/* -- Filling -- */

static struct entry *directory_entry(uint32_t proc)
{
	if (proc >= entry_count) {
		size_t more = (size_t)proc + 1;
		struct entry **bigger = reallocarray(entries, more, sizeof(*bigger));

		if (!bigger)
			return NULL;
		memset(bigger + entry_count, 0, (more - entry_count) * sizeof(*bigger));
		entries = bigger;
		entry_count = more;
	}
	if (!entries[proc])
		entries[proc] = calloc(1, sizeof(struct entry));
	return entries[proc];
}

static int directory_put(const struct pasta_process_info *info)
{
	struct entry *e = directory_entry(info->proc);
	char *host = strdup(info->host ? info->host : ""),
	     *command = strdup(info->command ? info->command : ""),
	     *source = strdup(info->source ? info->source : "");

	if (!e || !host || !command || !source) {
		free(host);
		free(command);
		free(source);
		return -ENOMEM;
	}
	free(e->host);
	free(e->command);
	free(e->source);
	e->host = host;
	e->command = command;
	e->source = source;
	e->known = true;
	e->info = *info;
	e->info.size = sizeof(e->info);
	e->info.host = host;
	e->info.command = command;
	e->info.source = source;
	e->info.text = e->text;
	return 0;
}

int pasta_directory_add(const struct pasta_process_info *info)
{
	int error = directory_put(info);

	return error ? error : directory_arrange();
}

/* -- Devices and threads -- */

/* Writes "rank 3, device 0", or "device 0" if there is only one process. */
static void directory_named_text(struct named *n, uint32_t proc, const char *text)
{
	if (shown_count > 1)
		snprintf(n->text, sizeof(n->text), "%s, %s", pasta_process(proc)->text, text);
	else
		snprintf(n->text, sizeof(n->text), "%s", text);
}

static void directory_named_device(struct named *n, uint32_t proc, uint32_t device,
				   const struct pasta_device_record *r)
{
	char text[32];

	n->device = (struct pasta_device_info){.size = sizeof(n->device),
					       .proc = proc,
					       .device = device,
					       .units = r ? r->units : 0,
					       .memory = r ? r->memory : 0,
					       .name = pasta_str(r ? r->name : 0),
					       .vendor = pasta_str(r ? r->vendor : 0),
					       .arch = pasta_str(r ? r->arch : 0),
					       .text = n->text};
	directory_named_text(n, proc, pasta_device_text(device, text, sizeof(text)));
}

static void directory_named_thread(struct named *n, uint32_t proc, uint32_t tid,
				   const struct pasta_thread_record *r)
{
	char text[TEXT / 2];

	n->thread = (struct pasta_thread_info){.size = sizeof(n->thread),
					       .proc = proc,
					       .tid = tid,
					       .name = pasta_str(r ? r->name : 0),
					       .text = n->text};
	if (*n->thread.name)
		snprintf(text, sizeof(text), "%.100s (%u)", n->thread.name, tid);
	else
		snprintf(text, sizeof(text), "thread %u", tid);
	directory_named_text(n, proc, text);
}

/* Returns the slot for a device or a thread, which may be empty, or NULL when out of memory. The
 * caller holds the lock. */
static struct named **directory_named_slot(struct pasta_map **map, uint32_t proc, uint32_t number)
{
	if (!*map)
		*map = pasta_map_new(sizeof(struct named *));
	return *map ? pasta_map_add(*map, pasta_pair(proc, number)) : NULL;
}

/* Stores a new, zeroed entry in the slot. The old entry stays valid. The caller holds the lock. */
static struct named *directory_named_new(struct named **slot)
{
	struct named *n = slot ? calloc(1, sizeof(*n)) : NULL;

	if (!n)
		return NULL;
	n->before = last_named;
	last_named = n;
	*slot = n;
	return n;
}

/* Returns whether a record replaces a known name. A thread may be renamed; its last name counts.
 * Events come in order of time, but the records in a shard's list of names don't. */
static bool directory_named_is_newer(const struct named *old, const struct pasta_event *ev,
				     bool listed)
{
	if (!old || !old->known)
		return true;
	return old->listed ? listed && ev->time >= old->time : true;
}

static int directory_named_record(const struct pasta_event *ev, bool listed)
{
	bool device = ev->kind == PASTA_KIND_DEVICE;
	uint32_t number = device ? ev->device.id : ev->tid;
	struct named **slot, *n = NULL;
	int error = 0;

	pthread_mutex_lock(&named_lock);
	slot = directory_named_slot(device ? &devices : &threads, ev->proc, number);
	if (!slot || directory_named_is_newer(*slot, ev, listed)) {
		n = directory_named_new(slot);
		error = n ? 0 : -ENOMEM;
	}
	if (n) {
		n->time = ev->time;
		n->known = true;
		n->listed = listed;
		if (device)
			directory_named_device(n, ev->proc, number, &ev->device);
		else
			directory_named_thread(n, ev->proc, number, &ev->thread);
	}
	pthread_mutex_unlock(&named_lock);
	return error;
}

int pasta_directory_event(const struct pasta_event *ev)
{
	return directory_named_record(ev, false);
}

static int directory_list(const struct pasta_shard_info *shard)
{
	int error = 0;

	for (size_t i = 0; !error && i < shard->name_count; i++)
		error = directory_named_record(&shard->names[i], shard->all_names);
	return error;
}

/* Returns an entry for a device or thread, for use when memory has run out. Each thread has UNKNOWN
 * such entries. Numbers that are equal modulo UNKNOWN share an entry, which they overwrite. */
static struct named *directory_named_spare(uint32_t number)
{
	static _Thread_local struct named spare[UNKNOWN];

	return &spare[number % UNKNOWN];
}

const struct pasta_device_info *pasta_device(uint32_t proc, uint32_t device)
{
	struct named **slot, *n;

	pthread_mutex_lock(&named_lock);
	slot = directory_named_slot(&devices, proc, device);
	n = slot ? *slot : NULL;
	if (!n) {
		n = directory_named_new(slot);
		n = n ? n : directory_named_spare(device);
		directory_named_device(n, proc, device, NULL);
	}
	pthread_mutex_unlock(&named_lock);
	return &n->device;
}

const struct pasta_thread_info *pasta_thread(uint32_t proc, uint32_t tid)
{
	struct named **slot, *n;

	pthread_mutex_lock(&named_lock);
	slot = directory_named_slot(&threads, proc, tid);
	n = slot ? *slot : NULL;
	if (!n) {
		n = directory_named_new(slot);
		n = n ? n : directory_named_spare(tid);
		directory_named_thread(n, proc, tid, NULL);
	}
	pthread_mutex_unlock(&named_lock);
	return &n->thread;
}

/* -- A run -- */

int pasta_directory_fill(const struct pasta_stream *s)
{
	size_t count = s ? pasta_stream_shards(s) : 0;
	int error = 0;

	directory_clear();
	for (size_t i = 0; !error && i < count; i++) {
		const struct pasta_shard_info *shard = pasta_stream_shard(s, i);

		error = directory_put(&(struct pasta_process_info){
			.proc = (uint32_t)i,
			.pid = shard->pid,
			.parent = shard->parent,
			.world = shard->world,
			.source = shard->source,
			.rank = shard->rank ? shard->rank - 1 : PASTA_NO_RANK,
			.kinds = shard->kinds,
			.host = shard->host,
			.command = shard->command});
	}
	error = error ? error : directory_arrange();
	for (size_t i = 0; !error && i < count; i++)
		error = directory_list(pasta_stream_shard(s, i));
	return error;
}

/* -- Queries -- */

/* Returns an entry for a process that the run does not describe. Each thread has UNKNOWN such
 * entries. Process numbers that are equal modulo UNKNOWN share an entry, which they overwrite. */
__attribute__((noinline)) static const struct pasta_process_info *directory_unknown(uint32_t proc)
{
	static _Thread_local struct entry spare[UNKNOWN];
	struct entry *e = &spare[proc % UNKNOWN];

	if (!e->info.size || e->info.proc != proc) {
		e->info = (struct pasta_process_info){.size = sizeof(e->info),
						      .proc = proc,
						      .rank = PASTA_NO_RANK,
						      .host = "",
						      .command = "",
						      .source = "",
						      .text = e->text};
		snprintf(e->text, sizeof(e->text), "#%u", proc);
	}
	return &e->info;
}

const struct pasta_process_info *pasta_process(uint32_t proc)
{
	const struct entry *e = proc < entry_count ? entries[proc] : NULL;

	return e && e->known ? &e->info : directory_unknown(proc);
}

const struct pasta_process_info *pasta_process_next(size_t *at)
{
	return *at < shown_count ? shown[(*at)++] : NULL;
}

bool pasta_process_records(uint32_t proc, uint64_t kinds)
{
	uint64_t known = pasta_process(proc)->kinds;

	return !known || (known & kinds) == kinds;
}

const char *pasta_device_text(uint32_t device, char *text, size_t size)
{
	if (device == PASTA_HOST)
		snprintf(text, size, "host");
	else
		snprintf(text, size, "device %u", device);
	return text;
}
