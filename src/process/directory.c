/* directory.c - what processes and devices of a run are called. */
#include "process/directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 300, FRAMES = 16, UNKNOWN = 8 };

struct entry {
	struct pasta_process_info info;
	char *host, *command;
	char text[TEXT];
	bool known;
};

static struct entry **entries; /* by number; NULL: not known */
static size_t entry_count;
static const struct pasta_process_info **shown; /* the known ones, as they are shown */
static size_t shown_count;

static void directory_clear(void)
{
	for (size_t i = 0; i < entry_count; i++) {
		if (!entries[i])
			continue;
		free(entries[i]->host);
		free(entries[i]->command);
		free(entries[i]);
	}
	free(entries);
	free(shown);
	entries = NULL;
	shown = NULL;
	entry_count = shown_count = 0;
}

/* -- Names -- */

static int directory_by_rank(const void *a, const void *b)
{
	const struct pasta_process_info *x = *(const struct pasta_process_info *const *)a,
					*y = *(const struct pasta_process_info *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->proc < y->proc ? -1 : x->proc > y->proc;
}

/* shown is in order: equal ranks are neighbours, and those without one are last. */
static bool directory_has_ranks(void)
{
	for (size_t i = 0; i < shown_count; i++)
		if (shown[i]->rank == PASTA_NO_RANK || (i && shown[i]->rank == shown[i - 1]->rank))
			return false;
	return true;
}

static void directory_name(struct entry *e, bool ranks)
{
	const struct pasta_process_info *info = &e->info;

	if (ranks)
		snprintf(e->text, sizeof(e->text), "rank %u", info->rank);
	else
		pasta_process_text(info->host, info->pid, info->proc, e->text, sizeof(e->text));
}

static int directory_by_text(const void *a, const void *b)
{
	const struct pasta_process_info *x = *(const struct pasta_process_info *const *)a,
					*y = *(const struct pasta_process_info *const *)b;
	int order = strcmp(x->text, y->text);

	return order ? order : directory_by_rank(a, b);
}

/* A process that exec replaced has the number of the one before it: later ones get their own. */
static void directory_tell_apart(void)
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
	directory_tell_apart();
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
	     *command = strdup(info->command ? info->command : "");

	if (!e || !host || !command) {
		free(host);
		free(command);
		return -ENOMEM;
	}
	free(e->host);
	free(e->command);
	e->host = host;
	e->command = command;
	e->known = true;
	e->info = *info;
	e->info.size = sizeof(e->info);
	e->info.host = host;
	e->info.command = command;
	e->info.text = e->text;
	return 0;
}

int pasta_directory_add(const struct pasta_process_info *info)
{
	int error = directory_put(info);

	return error ? error : directory_arrange();
}

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
			.rank = shard->rank ? shard->rank - 1 : PASTA_NO_RANK,
			.kinds = shard->kinds,
			.host = shard->host,
			.command = shard->command,
			.imported = shard->imported});
	}
	return error ? error : directory_arrange();
}

/* -- Asking -- */

/* A process that nobody told of: some of them have a place each, for as long as the thread does
 * not ask for many others. */
static const struct pasta_process_info *directory_unknown(uint32_t proc)
{
	static _Thread_local struct entry spare[UNKNOWN];
	struct entry *e = &spare[proc % UNKNOWN];

	if (!e->info.size || e->info.proc != proc) {
		e->info = (struct pasta_process_info){.size = sizeof(e->info),
						      .proc = proc,
						      .rank = PASTA_NO_RANK,
						      .host = "",
						      .command = "",
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

const char *pasta_copy_text(uint32_t sub)
{
	static const char *const texts[] = {
		[PASTA_COPY_H2D] = "h2d",     [PASTA_COPY_D2H] = "d2h", [PASTA_COPY_D2D] = "d2d",
		[PASTA_COPY_H2H] = "h2h",     [PASTA_COPY_P2P] = "p2p", [PASTA_COPY_MAP] = "map",
		[PASTA_COPY_UNMAP] = "unmap",
	};

	return sub && sub <= PASTA_COPY_UNMAP ? texts[sub] : "unspecified";
}

const char *pasta_stack_line(uint32_t proc, uint32_t stack, char *text, size_t size)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t i = 0, count = stack ? pasta_stack_frames(proc, stack, frames, FRAMES) : 0;

	if (!size)
		return text;
	text[0] = '\0';
	count = count < FRAMES ? count : FRAMES;
	while (i < count && !*frames[i].file)
		i++;
	return count ? pasta_stack_frame_text(&frames[i < count ? i : 0], text, size) : text;
}
