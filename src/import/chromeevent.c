/* chromeevent.c - reads events in Chrome's trace format. */
#include "import/chromeevent.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/strings.h"
#include "import/digits.h"

enum { ASK = 1 << 12 }; /* number of events that are read between two calls of go_on */

void pasta_chromeread_free(struct pasta_chromeread *r)
{
	pasta_map_free(r->processes);
}

int pasta_chromeread_bad(struct pasta_chromeread *r, uint32_t token, const char *what)
{
	if (!r->c->recover)
		return pasta_cursor_wrong(r->c, token, what);
	r->t->info->invalid++;
	return 1;
}

int pasta_chromeevent_uint(const struct pasta_jsontape *tape, uint32_t token, uint64_t *value)
{
	const struct pasta_json_token *k = &tape->tokens[token];
	uint64_t n;
	int r;

	if (!token || k->type != PASTA_JSON_NUMBER)
		return -EINVAL;
	r = pasta_digits(tape->text + k->at, k->size, 0, &n);
	if (!r)
		*value = n;
	return r;
}

uint32_t pasta_chromeevent_arg(const struct pasta_chromeevent *e, const char *name)
{
	return e->args ? pasta_jsontape_get(e->tape, e->args, name) : 0;
}

bool pasta_chromeevent_is(const struct pasta_jsontape *tape)
{
	return pasta_jsontape_get(tape, 0, "ph") && pasta_jsontape_get(tape, 0, "pid");
}

/* -- One event -- */

static const char *time_error(int r, bool duration)
{
	if (r == -EDOM)
		return duration ? "an event has a negative duration"
				: "an event has a negative time";
	return duration ? "an event has an invalid duration" : "an event has an invalid time";
}

/* The file has µs. */
static int read_event_time(struct pasta_chromeread *r, struct pasta_chromeevent *e, uint32_t token,
			   bool duration)
{
	const struct pasta_json_token *k = &e->tape->tokens[token];
	uint64_t *to = duration ? &e->dur : &e->ts;
	int error = -EINVAL;

	if (k->type == PASTA_JSON_NUMBER)
		error = pasta_digits(e->tape->text + k->at, k->size, 3, to);
	/* Reject times past the year 2262, which would overflow in sums. */
	if (!error && *to > INT64_MAX)
		error = -ERANGE;
	if (error)
		return pasta_chromeread_bad(r, token, time_error(error, duration));
	return 0;
}

static int read_event_member(struct pasta_chromeevent *e, uint32_t key, uint32_t value,
			     uint32_t *ts, uint32_t *dur)
{
	struct pasta_slice name = pasta_jsontape_text(e->tape, key);
	const struct pasta_json_token *k = &e->tape->tokens[value];

	switch (name.size) {
	case 2:
		if (!memcmp(name.at, "ph", 2) && k->type == PASTA_JSON_STRING && k->size == 1)
			e->ph = e->tape->text[k->at];
		else if (!memcmp(name.at, "ts", 2))
			*ts = value;
		else if (!memcmp(name.at, "id", 2))
			e->id = value;
		break;
	case 3:
		if (!memcmp(name.at, "cat", 3))
			e->cat = value;
		else if (!memcmp(name.at, "pid", 3))
			e->pid = value;
		else if (!memcmp(name.at, "tid", 3))
			e->tid = value;
		else if (!memcmp(name.at, "dur", 3))
			*dur = value;
		else if (!memcmp(name.at, "id2", 3))
			e->id = value;
		break;
	case 4:
		if (!memcmp(name.at, "name", 4))
			e->name = value;
		else if (!memcmp(name.at, "args", 4))
			e->args = value;
		break;
	case 5:
		if (!memcmp(name.at, "scope", 5))
			e->scope = value;
		break;
	default:
		break;
	}
	return 0;
}

int pasta_chromeread_event(struct pasta_chromeread *r, struct pasta_chromeevent *e)
{
	const struct pasta_jsontape *tape = &r->c->tape;
	uint32_t ts = 0, dur = 0;
	int error = 0;

	*e = (struct pasta_chromeevent){.tape = tape};
	if (tape->tokens[0].type != PASTA_JSON_OBJECT)
		return pasta_chromeread_bad(r, 0, "an event is not a JSON object");
	for (uint32_t i = 1; i < tape->tokens[0].next; i = tape->tokens[i + 1].next)
		read_event_member(e, i, i + 1, &ts, &dur);
	if (!e->ph)
		return pasta_chromeread_bad(r, 0, "an event has no phase (ph)");
	if (ts)
		error = read_event_time(r, e, ts, false);
	if (!error && dur && e->ph == 'X')
		error = read_event_time(r, e, dur, true);
	/* The end time must not overflow when the base time is added to it. */
	if (!error && e->dur > INT64_MAX - e->ts)
		error = pasta_chromeread_bad(r, dur, time_error(-ERANGE, true));
	if (error)
		return error;
	if (!ts && e->ph != 'M')
		return pasta_chromeread_bad(r, 0, "an event has no time (ts)");
	if (!dur && e->ph == 'X')
		return pasta_chromeread_bad(r, 0, "an event has no duration (dur)");
	if (!e->name && e->ph == 'X')
		return pasta_chromeread_bad(r, 0, "an event has no name");
	e->timed = ts;
	return 0;
}

/* -- Threads -- */

static struct pasta_slice text_of(const struct pasta_jsontape *tape, uint32_t token)
{
	return token ? pasta_jsontape_text(tape, token) : (struct pasta_slice){"", 0};
}

struct pasta_track *pasta_chromeevent_track(struct pasta_chromeread *r,
					    const struct pasta_chromeevent *e)
{
	struct pasta_slice pid = text_of(e->tape, e->pid), tid = text_of(e->tape, e->tid);

	if (r->track && pid.size == r->pid_size && tid.size == r->tid_size &&
	    !memcmp(pid.at, r->ids, pid.size) && !memcmp(tid.at, r->ids + pid.size, tid.size))
		return r->track;
	r->track = NULL;
	if (pid.size + tid.size > sizeof(r->ids))
		return pasta_trace_track(r->t, pid, tid);
	r->track = pasta_trace_track(r->t, pid, tid);
	r->pid_size = pid.size;
	r->tid_size = tid.size;
	memcpy(r->ids, pid.at, pid.size);
	memcpy(r->ids + pid.size, tid.at, tid.size);
	return r->track;
}

static uint64_t process_key(struct pasta_slice pid)
{
	return XXH3_64bits(pid.at, pid.size);
}

const char *pasta_chromeread_process(const struct pasta_chromeread *r, struct pasta_slice pid)
{
	const uint32_t *name = r->processes ? pasta_map_find(r->processes, process_key(pid)) : NULL;

	return name && *name ? pasta_str(*name) : NULL;
}

static void name_process(struct pasta_chromeread *r, const struct pasta_chromeevent *e,
			 uint32_t value)
{
	uint32_t *to;

	if (!r->processes)
		r->processes = pasta_map_new(sizeof(uint32_t));
	to = r->processes ? pasta_map_add(r->processes, process_key(text_of(e->tape, e->pid)))
			  : NULL;
	if (to)
		*to = pasta_trace_copy(r->t, e->tape, value);
}

int pasta_chromeevent_meta(struct pasta_chromeread *r, const struct pasta_chromeevent *e)
{
	struct pasta_slice what = text_of(e->tape, e->name);
	uint32_t value = pasta_chromeevent_arg(e, "name");
	struct pasta_track *track;

	if (pasta_slice_is(what, "thread_name")) {
		track = pasta_chromeevent_track(r, e);
		if (track)
			track->name = pasta_trace_copy(r->t, e->tape, value);
	} else if (pasta_slice_is(what, "process_name")) {
		name_process(r, e, value);
	}
	return 0;
}

/* -- Events of any format -- */

int pasta_chromeevent_region(struct pasta_chromeread *r, const struct pasta_chromeevent *e)
{
	struct pasta_span span = {.what = PASTA_SPAN_REGION, .begin = e->ts, .end = e->ts + e->dur};

	if (!pasta_trace_enabled(r->t, PASTA_MASK(REGION)))
		return 0;
	span.name = pasta_trace_token(r->t, e->tape, e->name);
	span.extra = pasta_trace_token(r->t, e->tape, e->cat);
	pasta_trace_span(r->t, pasta_chromeevent_track(r, e), &span);
	return 0;
}

int pasta_chromeevent_mark(struct pasta_chromeread *r, const struct pasta_chromeevent *e)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(region),
				 .kind = PASTA_KIND_REGION,
				 .sub = PASTA_REGION_MARK,
				 .time = e->ts};
	const struct pasta_track *track = pasta_chromeevent_track(r, e);

	if (!track)
		return 0;
	ev.tid = track->tid;
	ev.region.name = pasta_trace_token(r->t, e->tape, e->name);
	ev.region.domain = pasta_trace_token(r->t, e->tape, e->cat);
	pasta_trace_event(r->t, PASTA_TRACE_OTHER, &ev, 0);
	return 0;
}

/* -- The file -- */

/* Reads the elements of the array that the cursor has entered. */
static int read_events(const struct pasta_chromefile *f)
{
	const struct pasta_import_options *o = f->read->t->options;
	struct pasta_cursor *c = f->read->c;
	struct pasta_chromeevent e;
	uint64_t n = 0;
	int r;

	while ((r = pasta_cursor_element(c)) > 0) {
		r = pasta_cursor_value(c);
		if (r < 0)
			return r;
		if (r > 0)
			continue; /* damaged, and skipped */
		r = pasta_chromeread_event(f->read, &e);
		if (!r)
			r = f->event(f->ctx, &e);
		if (r >= 0)
			r = pasta_trace_error(f->read->t);
		if (r < 0)
			return r;
		if (!(++n % ASK) && o->go_on && !o->go_on(o->ctx, c->file->done, c->file->total))
			return pasta_fail(c->err, -EINTR, "interrupted");
	}
	return r;
}

static int read_object(const struct pasta_chromefile *f, bool *events)
{
	struct pasta_cursor *c = f->read->c;
	struct pasta_slice key;
	int r;

	while ((r = pasta_cursor_key(c, &key)) > 0) {
		if (!pasta_slice_is(key, "traceEvents")) {
			r = f->member(f->ctx, key);
		} else if (pasta_cursor_peek(c) != '[') {
			r = pasta_cursor_value(c);
			if (!r)
				r = pasta_chromeread_bad(f->read, 0,
							 "the member traceEvents is not a JSON "
							 "array");
		} else {
			*events = true;
			r = pasta_cursor_enter(c);
			if (!r)
				r = read_events(f);
		}
		if (r) /* damaged: no member follows */
			return r < 0 ? r : 0;
	}
	return r;
}

int pasta_chromefile_read(const struct pasta_chromefile *f)
{
	struct pasta_cursor *c = f->read->c;
	bool events = false;
	int first = pasta_cursor_peek(c), r;

	if (first < 0)
		return first;
	c->is_element = pasta_chromeevent_is;
	c->loose = first == '[';
	r = pasta_cursor_enter(c);
	if (r)
		return r;
	r = first == '[' ? read_events(f) : read_object(f, &events);
	/* After damage outside of events, continue with the events that follow. */
	while (r >= 0 && !(r = pasta_cursor_end(c)) && (r = pasta_cursor_rescue(c)) > 0) {
		events = true;
		r = read_events(f);
		if (!r && first == '{' && pasta_cursor_peek(c) == ',')
			r = read_object(f, &events);
	}
	if (!r && first == '{' && !events && !c->damaged)
		return pasta_fail(c->err, -EMEDIUMTYPE,
				  "%s has no events: its JSON object has no member traceEvents",
				  c->file->path);
	return r;
}
