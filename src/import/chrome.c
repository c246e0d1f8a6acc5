/* chrome.c - imports generic traces in Chrome's format: regions, marks and counters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/strings.h"
#include "import/chromeevent.h"
#include "import/digits.h"

enum { OPEN_MAX = 1 << 14, LANES_MAX = 1 << 10 };

/* A begin event ("B", "b") whose end event has not been read yet. */
struct begun {
	uint64_t begin;
	uint32_t name, domain;
	struct begun *up;
};

/* The open regions of a thread or of an asynchronous id. */
struct opened {
	struct begun *top;
	struct pasta_track *track;
	uint32_t lane; /* index plus 1; 0: none */
};

struct chrome {
	struct pasta_trace *t;
	struct pasta_cursor *c;
	struct pasta_chromeread read;
	/* Map from a track or an asynchronous id to its open regions (struct opened). */
	struct pasta_map *opened;
	struct {
		uint64_t free_at; /* UINT64_MAX: in use */
		struct pasta_track *track;
		/* tracks of asynchronous regions; overlapping regions are on different tracks */
	} lanes[LANES_MAX];
	uint32_t lane_count;
	uint64_t begun; /* begin events that wait for their end events */
	/* number of end events without a begin event, and of begin events without an end event */
	uint64_t unmatched;
	uint64_t phases[128];
};

static struct opened *opened_at(struct chrome *ch, uint64_t key)
{
	struct opened *o = pasta_map_add(ch->opened, key);

	if (!o)
		pasta_fail(ch->t->err, -ENOMEM, "out of memory");
	return o;
}

static int chrome_begin(struct chrome *ch, const struct pasta_chromeevent *e, struct opened *o)
{
	struct begun *b;

	if (ch->begun == OPEN_MAX)
		return pasta_chromeread_bad(&ch->read, 0,
					    "more than 16384 begin events have no end event");
	b = malloc(sizeof(*b));
	if (!b)
		return pasta_fail(ch->t->err, -ENOMEM, "out of memory");
	*b = (struct begun){.begin = e->ts,
			    .name = pasta_trace_token(ch->t, e->tape, e->name),
			    .domain = pasta_trace_token(ch->t, e->tape, e->cat),
			    .up = o->top};
	o->top = b;
	ch->begun++;
	return 0;
}

static int chrome_end(struct chrome *ch, const struct pasta_chromeevent *e, struct opened *o)
{
	struct begun *b = o->top;
	struct pasta_span span = {.what = PASTA_SPAN_REGION, .end = e->ts};

	if (!b) {
		ch->unmatched++;
		return 0;
	}
	if (b->begin > e->ts)
		return pasta_chromeread_bad(&ch->read, 0, "an event ends before it begins");
	span.begin = b->begin;
	span.name = b->name;
	span.extra = b->domain;
	pasta_trace_span(ch->t, o->track, &span);
	o->top = b->up;
	free(b);
	ch->begun--;
	return 0;
}

static int chrome_on_thread(struct chrome *ch, const struct pasta_chromeevent *e)
{
	struct pasta_track *track = pasta_chromeevent_track(&ch->read, e);
	struct opened *o = track ? opened_at(ch, track->number) : NULL;

	if (!o)
		return ch->t->err->code;
	o->track = track;
	return e->ph == 'B' ? chrome_begin(ch, e, o) : chrome_end(ch, e, o);
}

/* Asynchronous regions: each is a pair of begin and end events with the same id, on its own
 * track */

static uint32_t lane_for(struct chrome *ch, const struct pasta_chromeevent *e)
{
	char name[32];
	uint32_t i;

	for (i = 0; i < ch->lane_count; i++)
		if (ch->lanes[i].free_at <= e->ts)
			break;
	if (i == LANES_MAX)
		i = 0; /* regions overlap on this track, so the trace writer shortens them */
	if (i == ch->lane_count) {
		int n = snprintf(name, sizeof(name), "async %u", i);

		ch->lanes[i].track = pasta_trace_track(ch->t, (struct pasta_slice){"", 0},
						       (struct pasta_slice){name, (size_t)n});
		if (!ch->lanes[i].track)
			return 0;
		ch->lanes[i].track->name = pasta_strings_add(name, (size_t)n);
		ch->lane_count++;
	}
	ch->lanes[i].free_at = UINT64_MAX;
	return i + 1;
}

static uint64_t async_key(const struct pasta_chromeevent *e)
{
	bool local = !e->id || pasta_jsontape_get(e->tape, e->id, "local");
	const uint32_t tokens[] = {e->cat, e->id, e->scope, local ? e->pid : 0};
	uint64_t key = 1;

	for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++) {
		struct pasta_slice s = {"", 0};

		if (tokens[i])
			s = pasta_jsontape_text(e->tape, tokens[i]);
		key = XXH3_64bits_withSeed(s.at, s.size, key + s.size);
	}
	/* the top bit is set because keys without this bit are the numbers of tracks */
	return key | UINT64_C(1) << 63;
}

static int chrome_async(struct chrome *ch, const struct pasta_chromeevent *e)
{
	bool begins = e->ph == 'b' || e->ph == 'S';
	struct opened *o = opened_at(ch, async_key(e));
	int r;

	if (!o)
		return ch->t->err->code;
	if (begins && !o->top) {
		o->lane = lane_for(ch, e);
		if (!o->lane)
			return ch->t->err->code;
		o->track = ch->lanes[o->lane - 1].track;
	}
	r = begins ? chrome_begin(ch, e, o) : chrome_end(ch, e, o);
	if (!o->top && o->lane) {
		ch->lanes[o->lane - 1].free_at = e->ts;
		pasta_map_remove(ch->opened, async_key(e));
	}
	return r;
}

/* -- Counters: one value for each numeric argument -- */

static int chrome_counter(struct chrome *ch, const struct pasta_chromeevent *e)
{
	struct pasta_slice name = {"", 0}, series, value;
	char number[64], *p;

	if (e->name)
		name = pasta_jsontape_text(e->tape, e->name);
	PASTA_JSON_EACH(e->tape, e->args, k, v)
	{
		struct pasta_event ev = {.size = PASTA_EVENT_SIZE(counter),
					 .kind = PASTA_KIND_COUNTER,
					 .time = e->ts};

		series = pasta_jsontape_text(e->tape, k);
		value = pasta_jsontape_text(e->tape, v);
		if (e->tape->tokens[v].type != PASTA_JSON_NUMBER || value.size >= sizeof(number))
			continue;
		memcpy(number, value.at, value.size);
		number[value.size] = '\0';
		ev.counter.value = strtod(number, NULL);
		if (!isfinite(ev.counter.value))
			continue;
		p = pasta_trace_scratch(ch->t, name.size + series.size + 1);
		if (!p)
			return ch->t->err->code;
		memcpy(p, name.at, name.size);
		p[name.size] = '.';
		memcpy(p + name.size + 1, series.at, series.size);
		ev.counter.name = pasta_trace_str(ch->t, p, name.size + series.size + 1);
		pasta_trace_event(ch->t, PASTA_TRACE_OTHER, &ev, 0);
	}
	return 0;
}

/* -- Events -- */

static int chrome_event(void *ctx, const struct pasta_chromeevent *e)
{
	struct chrome *ch = ctx;
	const char phase[] = {'p', 'h', '=', e->ph};

	ch->phases[(unsigned char)e->ph & 127]++;
	switch (e->ph) {
	case 'X':
		return pasta_chromeevent_region(&ch->read, e);
	case 'B':
	case 'E':
		return chrome_on_thread(ch, e);
	case 'b':
	case 'e':
	case 'S':
	case 'F':
		return chrome_async(ch, e);
	case 'i':
	case 'I':
	case 'R':
		return pasta_chromeevent_mark(&ch->read, e);
	case 'C':
		return chrome_counter(ch, e);
	case 'M':
		return pasta_chromeevent_meta(&ch->read, e);
	case 's':
	case 't':
	case 'f':
	case 'n':
	case 'T':
	case 'p':
		pasta_trace_count(ch->t, PASTA_IMPORT_LEFT_OUT, phase, sizeof(phase), 1);
		return 0;
	default:
		pasta_trace_count(ch->t, PASTA_IMPORT_UNKNOWN, phase, sizeof(phase), 1);
		return 0;
	}
}

static int chrome_member(void *ctx, struct pasta_slice name)
{
	(void)name;
	return pasta_cursor_skip(((struct chrome *)ctx)->c);
}

/* Ends the regions that have no end event, at the end of the trace. */
static void chrome_end_all(struct chrome *ch)
{
	struct opened *o;
	size_t at = 0;

	while ((o = pasta_map_next(ch->opened, &at, NULL))) {
		while (o->top) {
			struct begun *b = o->top;
			struct pasta_span span = {.what = PASTA_SPAN_REGION,
						  .begin = b->begin,
						  .end = ch->t->last,
						  .name = b->name,
						  .extra = b->domain};

			if (span.end < span.begin)
				span.end = span.begin;
			pasta_trace_span(ch->t, o->track, &span);
			o->top = b->up;
			ch->unmatched++;
			free(b);
		}
	}
}

/* Sets the name of a thread's track, such as "Browser (4711): main", or the part of it that is
 * known. */
static void name_thread(struct chrome *ch, struct pasta_track *track)
{
	const char *pid = pasta_str(track->group), *name = pasta_str(track->name), *process;
	char text[512];

	process = pasta_chromeread_process(&ch->read, (struct pasta_slice){pid, strlen(pid)});
	snprintf(text, sizeof(text), process ? "%s (%s)%s%s" : "%s%s%s%s", process ? process : "",
		 pid, *name ? ": " : "", name);
	track->name = pasta_strings_add(text, strlen(text));
}

/* Prefixes the names of threads with the names of their processes if there are several processes.
 * Tracks of asynchronous regions belong to no process. */
static void name_threads(struct chrome *ch)
{
	struct pasta_track *track;
	uint32_t first = 0;
	bool several = false;
	size_t at = 0;

	while ((track = pasta_map_next(ch->t->tracks, &at, NULL))) {
		if (!*pasta_str(track->group))
			continue;
		first = first ? first : track->group;
		several = several || track->group != first;
	}
	at = 0;
	while (several && (track = pasta_map_next(ch->t->tracks, &at, NULL)))
		if (*pasta_str(track->group))
			name_thread(ch, track);
}

static void chrome_report(struct chrome *ch)
{
	for (size_t i = 0; i < 128; i++) {
		const char phase[] = {'p', 'h', '=', (char)i};

		pasta_trace_count(ch->t, PASTA_IMPORT_FOUND, phase, sizeof(phase), ch->phases[i]);
	}
	if (ch->unmatched)
		pasta_trace_count(ch->t, PASTA_IMPORT_UNKNOWN, "unmatched begins or ends", 24,
				  ch->unmatched);
	pasta_trace_lacks(ch->t, "types of events (all events with a duration become regions)");
}

static int chrome_parse(struct pasta_trace *t, struct pasta_cursor *c)
{
	struct chrome *ch = calloc(1, sizeof(*ch));
	struct pasta_chromefile file;
	struct pasta_trace_world world = {.kinds = PASTA_MASK(REGION) | PASTA_MASK(COUNTER)};
	int r;

	if (ch)
		ch->opened = pasta_map_new(sizeof(struct opened));
	if (!ch || !ch->opened) {
		free(ch);
		return pasta_fail(t->err, -ENOMEM, "out of memory");
	}
	ch->t = t;
	ch->c = c;
	ch->read = (struct pasta_chromeread){.t = t, .c = c};
	file = (struct pasta_chromefile){&ch->read, ch, chrome_event, chrome_member};
	r = pasta_chromefile_read(&file);
	chrome_end_all(ch);
	if (!r) {
		name_threads(ch);
		chrome_report(ch);
		r = pasta_trace_close(t, &world);
	}
	pasta_chromeread_free(&ch->read);
	pasta_map_free(ch->opened);
	free(ch);
	return r;
}

/* Returns whether the text is a JSON array of objects, or a JSON object with the member
 * traceEvents. The importer tries this format last, because other formats have the same
 * structure. */
static bool chrome_sniff(const char *text, size_t size)
{
	const char *end = text + size, *p = text;

	while (p < end && strchr(" \t\r\n", *p) && *p)
		p++;
	if (p < end && *p == '{')
		return memmem(text, size, "\"traceEvents\"", 13);
	return p < end && *p == '[' && memmem(text, size, "\"ph\"", 4);
}

const struct pasta_format pasta_format_chrome = {
	.name = "chrome",
	.summary = "generic JSON trace in Chrome's format: regions, marks and counters",
	.sniff = chrome_sniff,
	.parse = chrome_parse,
};
