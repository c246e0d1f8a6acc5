/* dispatch.c - one stream of events, given to the chosen tools. */
#include "process/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/symbols.h"

#define ASK_EVERY 4096 /* events */

struct seat {
	const struct pasta_tool *tool;
	void *state; /* NULL: closed */
	struct pasta_out *out;
};

struct pasta_dispatch {
	struct seat *seats;
	size_t count;
	uint64_t wanted;
	/* Who wants a kind: count places for each, of which the first few are used. */
	struct seat **wants;
	size_t want_count[PASTA_KINDS_MAX];
};

static void seat_close(struct seat *seat)
{
	if (!seat->state)
		return;
	if (seat->tool->close)
		seat->tool->close(seat->state);
	free(seat->state);
	seat->state = NULL;
}

static void seat_open(struct seat *seat, const struct pasta_opts *opts)
{
	struct pasta_err err = {0};
	int error;

	seat->state = calloc(1, seat->tool->state_size ? seat->tool->state_size : 1);
	if (!seat->state) {
		pasta_out_fail(seat->out, -ENOMEM, "out of memory");
		return;
	}
	error = seat->tool->open ? seat->tool->open(seat->state, opts, &err) : 0;
	if (!error)
		return;
	pasta_out_fail(seat->out, error, "%s", *err.text ? err.text : strerror(abs(error)));
	seat_close(seat);
}

static void want(struct pasta_dispatch *d, struct seat *seat)
{
	unsigned int kind;

	d->wanted |= seat->tool->events;
	for (kind = 0; kind < PASTA_KINDS_MAX; kind++)
		if (seat->tool->events >> kind & 1)
			d->wants[kind * d->count + d->want_count[kind]++] = seat;
}

struct pasta_dispatch *pasta_dispatch_new(const struct pasta_choice *choice,
					  struct pasta_result *result)
{
	struct pasta_dispatch *d = calloc(1, sizeof(*d));
	size_t i;

	if (!d)
		return NULL;
	pasta_symbols_reset();
	d->count = choice->count;
	d->seats = calloc(d->count + 1, sizeof(*d->seats));
	d->wants = calloc(PASTA_KINDS_MAX * d->count + 1, sizeof(struct seat *));
	if (!d->seats || !d->wants)
		goto fail;
	for (i = 0; i < d->count; i++) {
		d->seats[i].tool = choice->tools[i].tool;
		d->seats[i].out = pasta_result_out(result, d->seats[i].tool->name);
		if (!d->seats[i].out)
			goto fail;
		seat_open(&d->seats[i], &choice->tools[i]);
		if (d->seats[i].state)
			want(d, &d->seats[i]);
	}
	return d;
fail:
	pasta_dispatch_free(d);
	return NULL;
}

void pasta_dispatch_free(struct pasta_dispatch *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; d->seats && i < d->count; i++)
		seat_close(&d->seats[i]);
	free(d->seats);
	free(d->wants);
	free(d);
}

void pasta_dispatch_event(struct pasta_dispatch *d, const struct pasta_event *ev)
{
	struct seat **seats;
	size_t i;

	if (ev->kind >= PASTA_KINDS_MAX)
		return;
	if (ev->kind == PASTA_MODULE)
		pasta_symbols_module(ev);
	seats = d->wants + ev->kind * d->count;
	for (i = 0; i < d->want_count[ev->kind]; i++)
		seats[i]->tool->event(seats[i]->state, ev);
}

int pasta_dispatch_read(struct pasta_dispatch *d, struct pasta_stream *s, bool (*go_on)(void *ctx),
			void *ctx)
{
	const struct pasta_event *ev;
	size_t n = 0;

	/* Modules give call paths their names, whoever asks. */
	pasta_stream_want(s, d->wanted | PASTA_BIT(MODULE));
	while ((ev = pasta_stream_next(s))) {
		pasta_dispatch_event(d, ev);
		if (++n % ASK_EVERY == 0 && go_on && !go_on(ctx))
			return -EINTR;
	}
	return 0;
}

static void seat_report(struct seat *seat)
{
	int error;

	if (!seat->state)
		return;
	error = seat->tool->report(seat->state, seat->out);
	if (error)
		pasta_out_fail(seat->out, error, "cannot report: %s", strerror(abs(error)));
	pasta_out_end(seat->out);
	seat_close(seat);
}

size_t pasta_dispatch_report(struct pasta_dispatch *d)
{
	size_t i, failed = 0;

	memset(d->want_count, 0, sizeof(d->want_count)); /* closed tools get no events */
	for (i = 0; i < d->count; i++) {
		seat_report(&d->seats[i]);
		failed += d->seats[i].out->err.code != 0;
	}
	return failed;
}
