/* reader.c - correlates and filters events, and delivers them to tools. */
#include "process/join/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "process/join/correlate.h"
#include "process/join/directory.h"
#include "process/join/symbols.h"

#define CHECK_EVERY 4096 /* number of events between two calls of go_on */
#define NAMES (PASTA_MASK(DEVICE) | PASTA_MASK(THREAD))

struct pasta_reader {
	struct pasta_stream *stream;	   /* NULL: stopped */
	struct pasta_correlate *correlate; /* NULL if no tool needs a correlator */
	struct pasta_sieve *sieve;	   /* NULL if there is no filter */
	struct pasta_map *hidden; /* regions and operators whose start did not pass the filter, by
				     pair number */
	bool queued;		  /* whether the correlator may have further events */
	bool ended, failed, stopped;
	bool (*go_on)(void *ctx);
	void *ctx;
	size_t read; /* events read so far */
};

const struct pasta_where pasta_nowhere = {
	.size = sizeof(pasta_nowhere), .iteration = PASTA_NO_ITERATION, .launch = PASTA_NO_LAUNCH};

static bool reader_open_correlate(struct pasta_reader *r, uint64_t kinds, uint64_t needs)
{
	const uint64_t pairs = PASTA_MASK(REGION) | PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END);
	const uint64_t work = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET);
	const uint64_t measured =
		PASTA_MASK(ACCESS_SUM) | PASTA_MASK(ACCESS_BATCH) | PASTA_MASK(PC_SAMPLE);
	const uint64_t unmatched = PASTA_MASK(UNMATCHED);
	bool ops = needs & PASTA_NEED_OPS || kinds & (PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END));
	size_t i;

	if (!(needs & (PASTA_NEED_SCOPES | PASTA_NEED_OPS)) && !(kinds & (pairs | unmatched))) {
		pasta_stream_set_kinds(r->stream, kinds | PASTA_MASK(MODULE) | NAMES);
		return true;
	}
	/* Read all kinds of work even if a tool subscribes to only one of them, so that the
	 * matching of launches does not depend on the tool. */
	kinds |= kinds & (work | measured | unmatched) ? work : 0;
	r->correlate = pasta_correlate_new(ops);
	if (r->correlate && kinds & unmatched && pasta_correlate_unmatched(r->correlate))
		return false;
	for (i = 0; r->correlate && i < pasta_stream_shards(r->stream); i++)
		pasta_correlate_recorded(r->correlate, (uint32_t)i,
					 pasta_stream_kinds(r->stream, i));
	pasta_stream_set_kinds(r->stream,
			       kinds | PASTA_MASK(MODULE) | NAMES | pasta_correlate_kinds(ops));
	return r->correlate;
}

struct pasta_reader *pasta_reader_new(struct pasta_stream *s, uint64_t kinds, uint64_t needs,
				      const struct pasta_filter *filter)
{
	struct pasta_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->stream = s;
	if (pasta_filter_any(filter)) {
		r->sieve = pasta_sieve_new(filter);
		r->hidden = pasta_map_new(0);
		needs |= pasta_filter_needs(filter);
		kinds |= pasta_filter_kinds(filter);
		if (!r->sieve || !r->hidden)
			goto fail;
	}
	if (reader_open_correlate(r, kinds, needs))
		return r;
fail:
	pasta_reader_free(r);
	return NULL;
}

void pasta_reader_free(struct pasta_reader *r)
{
	if (!r)
		return;
	pasta_correlate_free(r->correlate);
	pasta_sieve_free(r->sieve);
	pasta_map_free(r->hidden);
	free(r);
}

int pasta_reader_error(const struct pasta_reader *r)
{
	return r->failed || (r->correlate && pasta_correlate_failed(r->correlate)) ? -ENOMEM : 0;
}

/* Stores the data of a MODULE, DEVICE or THREAD record for all tools. MODULE records are
 * needed to resolve call paths, and DEVICE and THREAD records contain names. */
__attribute__((noinline)) static void reader_add_names(struct pasta_reader *r,
						       const struct pasta_event *ev)
{
	if (ev->kind == PASTA_KIND_MODULE)
		pasta_symbols_module(ev);
	else if (pasta_directory_event(ev))
		r->failed = true;
}

/* Inline, because the reader calls this function for each event. */
__attribute__((always_inline)) static inline const struct pasta_event *
reader_read(struct pasta_reader *r)
{
	const struct pasta_event *ev;

	/* Count even the events that the filter rejects, because it may reject all events for a
	 * long time. */
	if (++r->read % CHECK_EVERY == 0 && r->go_on && !r->stopped && !r->go_on(r->ctx))
		r->stopped = true;
	ev = r->stopped ? NULL : pasta_stream_next(r->stream);
	if (ev && (NAMES | PASTA_MASK(MODULE)) >> ev->kind & 1)
		reader_add_names(r, ev);
	return ev;
}

void pasta_reader_set_cancel(struct pasta_reader *r, bool (*go_on)(void *ctx), void *ctx)
{
	r->go_on = go_on;
	r->ctx = ctx;
}

bool pasta_reader_stopped(const struct pasta_reader *r)
{
	return r->stopped;
}

__attribute__((always_inline)) static inline const struct pasta_event *
reader_correlated(struct pasta_reader *r, const struct pasta_where **where)
{
	const struct pasta_event *ev;

	for (;;) {
		ev = r->queued ? pasta_correlate_next(r->correlate, where) : NULL;
		if (ev || r->ended)
			return ev;
		ev = reader_read(r);
		if (ev && pasta_correlate_push(r->correlate, ev, where)) {
			r->queued = false;
			return ev;
		}
		r->queued = true;
		r->ended = !ev;
		if (!ev)
			pasta_correlate_end(r->correlate);
	}
}

static bool reader_is_end(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_OP_END ||
	       (ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_END);
}

/* Returns whether an event passes the filter. The end of a region or an operator passes if its
 * start passed, even if the end is attributed differently. */
static bool reader_passes(struct pasta_reader *r, const struct pasta_event *ev,
			  const struct pasta_where *where)
{
	uint64_t pair = r->correlate ? pasta_correlate_pair(r->correlate) : 0;
	bool pass;

	if (pair && reader_is_end(ev)) {
		pass = !pasta_map_find(r->hidden, pair);
		pasta_map_remove(r->hidden, pair);
		return pass;
	}
	pass = pasta_sieve_pass(r->sieve, ev, where);
	if (!pass && pair && !pasta_map_add(r->hidden, pair))
		r->failed = true;
	return pass;
}

/* Not inline: otherwise the caller would save registers for each event, even without a filter. */
__attribute__((noinline)) static const struct pasta_event *
reader_filtered(struct pasta_reader *r, const struct pasta_where **where)
{
	const struct pasta_event *ev;

	*where = &pasta_nowhere;
	do {
		ev = r->correlate ? reader_correlated(r, where) : reader_read(r);
	} while (ev && r->sieve && !reader_passes(r, ev, *where));
	return ev;
}

const struct pasta_event *pasta_reader_next(struct pasta_reader *r,
					    const struct pasta_where **where)
{
	return r->correlate && !r->sieve ? reader_correlated(r, where) : reader_filtered(r, where);
}
