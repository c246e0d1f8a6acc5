/* trace.c - writes the shard of an imported trace, with its names, threads and counts. */
#include "import/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/strings.h"
#include "import/collective.h"
#include "import/digits.h"

#define CLOCK 1				  /* the trace's own */
#define TRACKS_MAX (1u << 16)		  /* maximum number of threads, more than any program has */
#define STRINGS_MAX ((uint64_t)512 << 20) /* bytes of different names */
#define STATES_MAX 4096
/* Maximum number of categories in a list. Further categories are counted together. */
#define CATEGORIES_MAX 256
#define MADE_UP 0x80000000u /* first thread id that the importer assigns itself */

static int no_memory(struct pasta_trace *t)
{
	return pasta_fail(t->err, -ENOMEM, "out of memory");
}

/* Stores the writer's error code. Closing the writer returns the error's message. */
static void trace_check(struct pasta_trace *t, int error)
{
	if (error && !t->err->code)
		pasta_fail(t->err, error, "cannot write the run: %s", strerror(-error));
}

static struct pasta_shardwriter *writer_new(int fd, const char *path, struct pasta_error *err)
{
	struct pasta_shard_head head = {.raw = 1,
					.real = 1}; /* one clock: pasta_trace_close relates it */
	struct timespec now;

	/* Make a boot id for each trace, because the relation between its clock and the clocks
	 * of other files is unknown. */
	if (getrandom(head.guid, sizeof(head.guid), 0) != sizeof(head.guid)) {
		clock_gettime(CLOCK_REALTIME, &now);
		memcpy(head.guid, &now, sizeof(head.guid));
	}
	memcpy(head.boot, head.guid, sizeof(head.boot));
	return pasta_shardwriter_adopt(fd, path, &head, err);
}

/* Completes a mask of kinds: adds each kind that is paired with a kind of the mask. For example,
 * operator begins are imported only together with operator ends. */
static uint64_t whole_kinds(uint64_t kinds)
{
	static const uint64_t pairs[] = {PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END),
					 PASTA_MASK(ALLOC) | PASTA_MASK(FREE)};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		kinds |= kinds & pairs[i] ? pairs[i] : 0;
	return kinds;
}

int pasta_trace_open(struct pasta_trace *t, int fd, const char *shard, const char *folder,
		     const struct pasta_import_options *options, struct pasta_import_info *info,
		     struct pasta_error *err)
{
	bool ok;

	t->options = options;
	t->info = info;
	t->err = err;
	t->kinds = options->kinds ? whole_kinds(options->kinds) : UINT64_MAX;
	t->first = UINT64_MAX;
	t->w = writer_new(fd, shard, err);
	if (!t->w)
		return err->code;
	t->folder = folder;
	t->spans = pasta_spansort_new(0, folder);
	t->tracks = pasta_map_new(sizeof(struct pasta_track));
	t->tids = pasta_map_new(1);
	ok = t->spans && t->tracks && t->tids;
	for (int i = 0; i < PASTA_IMPORT_LISTS; i++)
		ok = (t->lists[i] = pasta_map_new(sizeof(uint64_t))) && ok;
	if (!ok)
		return no_memory(t);
	for (uint32_t i = PASTA_TRACE_EARLIER; i <= PASTA_TRACE_COLLECTIVE; i++)
		trace_check(t, pasta_shardwriter_clock(t->w, i, CLOCK));
	return t->err->code;
}

void pasta_trace_free(struct pasta_trace *t)
{
	const struct pasta_track *track;
	size_t at = 0;

	while (t->tracks && (track = pasta_map_next(t->tracks, &at, NULL)))
		pasta_threads_free(track->nest);
	pasta_shardwriter_close(t->w, NULL);
	pasta_spansort_free(t->spans);
	pasta_collective_free(t);
	pasta_map_free(t->tracks);
	pasta_map_free(t->tids);
	for (int i = 0; i < PASTA_IMPORT_LISTS; i++)
		pasta_map_free(t->lists[i]);
	free(t->by_number);
	free(t->states);
	free(t->scratch);
	memset(t, 0, sizeof(*t));
}

/* -- Text -- */

uint32_t pasta_trace_str(struct pasta_trace *t, const char *text, size_t size)
{
	uint32_t id;

	if (t->err->code || !size)
		return 0;
	id = pasta_shardwriter_intern(t->w, text, size);
	if (!id)
		no_memory(t);
	if (id > t->strings) {
		t->strings = id;
		t->string_bytes += size;
		if (t->string_bytes > STRINGS_MAX)
			pasta_fail(t->err, -EFBIG,
				   "the trace is not valid: it has more than %u MiB of different "
				   "names",
				   (unsigned int)(STRINGS_MAX >> 20));
	}
	return id;
}

char *pasta_trace_scratch(struct pasta_trace *t, size_t size)
{
	char *p;

	if (size <= t->scratch_size)
		return t->scratch;
	size += size / 2 + 256;
	p = realloc(t->scratch, size);
	if (!p) {
		no_memory(t);
		return NULL;
	}
	t->scratch = p;
	t->scratch_size = size;
	return p;
}

uint32_t pasta_trace_token(struct pasta_trace *t, const struct pasta_jsontape *tape, uint32_t token)
{
	const struct pasta_json_token *k = &tape->tokens[token];
	struct pasta_slice text = pasta_jsontape_text(tape, token);
	char *p;

	if (!token || k->type != PASTA_JSON_STRING)
		return 0;
	if (!(k->flags & PASTA_JSON_ESCAPED))
		return pasta_trace_str(t, text.at, text.size);
	p = pasta_trace_scratch(t, text.size);
	return p ? pasta_trace_str(t, p, pasta_jsontape_unescape(text, p)) : 0;
}

uint32_t pasta_trace_copy(struct pasta_trace *t, const struct pasta_jsontape *tape, uint32_t token)
{
	struct pasta_slice text = pasta_jsontape_text(tape, token);
	char *p;

	if (!token || tape->tokens[token].type != PASTA_JSON_STRING || !text.size)
		return 0;
	p = pasta_trace_scratch(t, text.size);
	return p ? pasta_strings_add(p, pasta_jsontape_unescape(text, p)) : 0;
}

/* -- Threads -- */

static bool is_number(struct pasta_slice s)
{
	size_t i = 0;

	while (i < s.size && s.at[i] >= '0' && s.at[i] <= '9')
		i++;
	return s.size && i == s.size;
}

static uint32_t tid_of(struct pasta_trace *t, struct pasta_slice name, uint32_t number)
{
	uint64_t tid = UINT64_MAX;
	if (!is_number(name) || pasta_digits(name.at, name.size, 0, &tid) || tid >= MADE_UP ||
	    pasta_map_find(t->tids, tid))
		tid = MADE_UP + number;
	if (!pasta_map_add(t->tids, tid))
		no_memory(t);
	return (uint32_t)tid;
}

static struct pasta_track *track_new(struct pasta_trace *t, uint64_t key, struct pasta_slice group,
				     struct pasta_slice name)
{
	uint32_t number = (uint32_t)pasta_map_count(t->tracks);
	struct pasta_track *track;

	if (number == TRACKS_MAX) {
		pasta_fail(t->err, -EFBIG, "the trace is not valid: it has more than %u threads",
			   TRACKS_MAX);
		return NULL;
	}
	if (!(number & (number - 1))) { /* the array is full if the count is 0 or a power of two */
		void *more = reallocarray(t->by_number, number ? 2 * (size_t)number : 1,
					  sizeof(*t->by_number));

		if (!more) {
			no_memory(t);
			return NULL;
		}
		t->by_number = more;
	}
	track = pasta_map_add(t->tracks, key);
	if (!track) {
		no_memory(t);
		return NULL;
	}
	t->by_number[number] = track;
	track->number = number;
	track->tid = tid_of(t, name, number);
	track->group = pasta_strings_add(group.at, group.size);
	if (!is_number(name))
		track->name = pasta_strings_add(name.at, name.size);
	trace_check(t, pasta_shardwriter_clock(t->w, PASTA_TRACE_TRACKS + number, CLOCK));
	return track;
}

struct pasta_track *pasta_trace_track(struct pasta_trace *t, struct pasta_slice group,
				      struct pasta_slice name)
{
	uint64_t key = XXH3_64bits_withSeed(name.at, name.size, XXH3_64bits(group.at, group.size));
	struct pasta_track *track;

	if (t->err->code)
		return NULL;
	track = pasta_map_find(t->tracks, key);
	return track ? track : track_new(t, key, group, name);
}

static void trace_extend(struct pasta_trace *t, uint64_t begin, uint64_t end)
{
	if (begin < t->first)
		t->first = begin;
	if (end > t->last)
		t->last = end;
}

void pasta_trace_span(struct pasta_trace *t, const struct pasta_track *track,
		      struct pasta_span *span)
{
	if (t->err->code || !track)
		return;
	trace_extend(t, span->begin, span->end);
	span->track = track->number;
	/* If a call and an operator begin at the same time, the call is the inner span, whatever
	 * their lengths, because operators do not begin inside calls. */
	span->rank = span->what == PASTA_SPAN_CALL || span->what == PASTA_SPAN_FLOW;
	pasta_spansort_add(t->spans, span, t->err);
}

void pasta_trace_wait(struct pasta_trace *t, struct pasta_span *span)
{
	if (t->err->code)
		return;
	trace_extend(t, span->begin, span->end);
	span->rank = 2; /* after the call, if both begin at the same time */
	pasta_spansort_add(t->spans, span, t->err);
}

struct pasta_spansort *pasta_trace_sort(struct pasta_trace *t)
{
	struct pasta_spansort *s = pasta_spansort_new(0, t->folder);

	if (!s)
		no_memory(t);
	return s;
}

/* -- Events -- */

void pasta_trace_event(struct pasta_trace *t, uint32_t source, struct pasta_event *ev, uint64_t dur)
{
	uint64_t bit = UINT64_C(1) << ev->kind;

	if (t->err->code || !(t->kinds & bit))
		return;
	t->seen |= bit;
	t->info->events++;
	trace_extend(t, ev->time, ev->time + dur);
	trace_check(t, pasta_shardwriter_event(t->w, source, ev));
}

void pasta_trace_state(struct pasta_trace *t, struct pasta_event *ev)
{
	if (t->err->code || t->state_count == STATES_MAX)
		return;
	if (!t->states)
		t->states = calloc(STATES_MAX, sizeof(*t->states));
	if (t->states)
		t->states[t->state_count++] = *ev;
	else
		no_memory(t);
}

/* -- Counts -- */

/* Returns the string id of a category. Ids are never freed; a trace has few categories. */
static uint32_t category_id(const struct pasta_map *list, const char *name, size_t size)
{
	size_t at = 0, n;
	uint64_t id;

	if (pasta_map_count(list) < CATEGORIES_MAX)
		return pasta_strings_add(name, size);
	while (pasta_map_next(list, &at, &id)) {
		const char *known = pasta_bytes((uint32_t)id, &n);

		if (n == size && !memcmp(known, name, size))
			return (uint32_t)id;
	}
	return pasta_strings_add("(others)", strlen("(others)"));
}

void pasta_trace_count(struct pasta_trace *t, enum pasta_import_list list, const char *name,
		       size_t size, uint64_t count)
{
	uint32_t id = count ? category_id(t->lists[list], name, size) : 0;
	uint64_t *n = id ? pasta_map_add(t->lists[list], id) : NULL;

	if (n)
		*n += count;
	else if (count)
		no_memory(t);
}

void pasta_trace_lacks(struct pasta_trace *t, const char *text)
{
	size_t i;

	for (i = 0; i < PASTA_IMPORT_LACKS - 1 && t->info->lacks[i]; i++)
		;
	if (i < PASTA_IMPORT_LACKS - 1)
		t->info->lacks[i] = text;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pasta_import_count *)a)->name,
		      ((const struct pasta_import_count *)b)->name);
}

static void report_list(struct pasta_trace *t, int list)
{
	size_t n = pasta_map_count(t->lists[list]), at = 0, i = 0;
	struct pasta_import_count *out = calloc(n + 1, sizeof(*out));
	uint64_t key, *count;

	if (!out) {
		no_memory(t);
		return;
	}
	while ((count = pasta_map_next(t->lists[list], &at, &key)))
		out[i++] = (struct pasta_import_count){pasta_str((uint32_t)key), *count};
	qsort(out, n, sizeof(*out), by_name);
	t->info->lists[list] = out;
	t->info->counts[list] = n;
}

/* -- The end -- */

static void put_state(struct pasta_trace *t, const struct pasta_event *ev)
{
	if (!t->err->code)
		trace_check(t, pasta_shardwriter_state(t->w, ev));
}

static uint32_t trace_own_str(struct pasta_trace *t, const char *text)
{
	return text ? pasta_trace_str(t, text, strlen(text)) : 0;
}

static void put_threads(struct pasta_trace *t, uint64_t time)
{
	const struct pasta_track *track;
	size_t at = 0;

	while ((track = pasta_map_next(t->tracks, &at, NULL))) {
		struct pasta_event ev = PASTA_TRACE_EVENT(thread, THREAD, 0, time);

		if (!track->nest || !track->name)
			continue;
		ev.tid = track->tid;
		ev.thread.name = trace_own_str(t, pasta_str(track->name));
		put_state(t, &ev);
	}
}

/* Writes one clock sample close to the times of the events, so that converting times through
 * doubles is as exact as possible. */
static void put_world(struct pasta_trace *t, const struct pasta_trace_world *world)
{
	uint64_t first = t->first, time = first + world->offset;
	struct pasta_event clock = PASTA_TRACE_EVENT(clock, CLOCK, 0, time),
			   process = PASTA_TRACE_EVENT(process, PROCESS, 0, time);

	clock.clock.id = CLOCK;
	clock.clock.value = first;
	clock.clock.raw = clock.clock.real = time;
	put_state(t, &clock);
	process.process.kinds = (world->kinds | t->seen) & t->kinds;
	process.process.pid = world->pid;
	process.process.rank = world->rank;
	process.process.world = world->world;
	process.process.command = trace_own_str(t, world->command);
	process.process.host = trace_own_str(t, world->host);
	process.process.version = trace_own_str(t, PASTA_VERSION_STRING);
	process.process.source = trace_own_str(t, t->info->format);
	put_state(t, &process);
	for (size_t i = 0; i < t->state_count; i++) {
		t->states[i].time = time;
		put_state(t, &t->states[i]);
	}
	put_threads(t, time);
}

/* Counts skipped records as loss: invalid records, and one for each damaged part. */
static void put_loss(struct pasta_trace *t)
{
	uint64_t skipped = t->info->invalid + t->cursor->damaged + t->cursor->file->torn;

	if (skipped && !t->err->code)
		trace_check(t, pasta_shardwriter_drop(t->w, PASTA_TRACE_OTHER, PASTA_LOSS_SOURCE,
						      skipped));
}

int pasta_trace_close(struct pasta_trace *t, const struct pasta_trace_world *world)
{
	struct pasta_import_info *info = t->info;
	struct pasta_shardwriter *w = t->w;

	if (t->first == UINT64_MAX)
		t->first = t->last = 0;
	if (!t->err->code)
		pasta_threads_write(t);
	pasta_collective_write(t);
	put_world(t, world);
	put_loss(t);
	for (int i = 0; i < PASTA_IMPORT_LISTS; i++)
		report_list(t, i);
	info->kinds = (world->kinds | t->seen) & t->kinds;
	info->begin = t->first + world->offset;
	info->end = t->last + world->offset;
	info->dated = world->dated;
	info->pid = world->pid;
	info->rank = world->rank;
	info->world = world->world;
	info->command = world->command ? world->command : "";
	info->host = world->host ? world->host : "";
	t->w = NULL;
	pasta_shardwriter_close(w, t->err->code ? NULL : t->err);
	return t->err->code;
}

/* -- Names of functions -- */

static bool contains(struct pasta_slice s, const char *word)
{
	return memmem(s.at, s.size, word, strlen(word));
}

/* Exclude calls that run nothing on a device: calls such as cudaGraphAddMemcpyNode, which copies
 * nothing, and launches of host functions. */
enum pasta_launch_work pasta_trace_work(struct pasta_slice name)
{
	if (contains(name, "HostFunc"))
		return PASTA_LAUNCH_WORK_UNKNOWN;
	if (contains(name, "Graph"))
		return contains(name, "GraphLaunch") ? PASTA_LAUNCH_WORK_GRAPH
						     : PASTA_LAUNCH_WORK_UNKNOWN;
	if (contains(name, "Launch"))
		return PASTA_LAUNCH_WORK_KERNEL;
	if (contains(name, "Memcpy"))
		return PASTA_LAUNCH_WORK_COPY;
	return contains(name, "Memset") ? PASTA_LAUNCH_WORK_FILL : PASTA_LAUNCH_WORK_UNKNOWN;
}

/* Calls such as cudaEventSynchronize and hipDeviceSynchronize wait until they return. Calls such as
 * cuModuleLoadData, cudaLibraryLoadData, hipModuleLoadDataEx and cuLinkComplete load or link code.
 */
static uint32_t trace_other(struct pasta_slice name)
{
	static const struct {
		const char *word;
		uint32_t what;
	} words[] = {
		{"EventSynchronize", PASTA_SYNC_EVENT},	   {"StreamSynchronize", PASTA_SYNC_STREAM},
		{"DeviceSynchronize", PASTA_SYNC_CONTEXT}, {"CtxSynchronize", PASTA_SYNC_CONTEXT},
		{"ModuleLoad", PASTA_CALL_LOAD},	   {"LibraryLoad", PASTA_CALL_LOAD},
		{"LinkComplete", PASTA_CALL_LOAD}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (contains(name, words[i].word))
			return words[i].what;
	return 0;
}

uint64_t pasta_trace_call(struct pasta_slice name)
{
	enum pasta_launch_work work = pasta_trace_work(name);

	return pasta_pair(work ? 0 : trace_other(name), work);
}
