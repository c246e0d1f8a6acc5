/* accesses_rows.c - adds the rows that a device counted to a launch, and emits the launch's
 * rows. */
#include "collect/accesses_internal.h"
#include "collect/agent.h"
#include "core/frame.h"
#include "core/lock.h"

enum { ROWS = 64 };

void pasta_accesses_add(struct pasta_accesses_launch *launch, enum pasta_reducer reducer,
			const struct pasta_row *row)
{
	struct pasta_row *to;
	bool added = false;

	if (!pasta_accesses_is_live(launch) || !(pasta_accesses_config.reducers >> reducer & 1))
		return;
	pasta_lock(&launch->lock);
	if (!launch->sums)
		launch->sums = pasta_sumpool_acquire(&launch->counter->pool);
	if (launch->sums) {
		to = row->key0 == PASTA_KEY_OTHER
			     ? pasta_rows_other(&launch->sums->tables[reducer])
			     : pasta_rows_at(&launch->sums->tables[reducer], row->key0, row->key1);
		pasta_row_add(to, row);
		added = true;
	}
	pasta_unlock(&launch->lock);
	if (added)
		return;
	pasta_accesses_partial(launch);
	pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
}

struct rows {
	struct pasta_port *port;
	const struct pasta_accesses_launch *launch;
	uint64_t time;
	size_t count, unsent;
	char records[ROWS * PASTA_EVENT_SIZE(access_sum)];
};

static _Atomic uint64_t sent; /* number of rows that all launches have emitted */

uint64_t pasta_accesses_sent(void)
{
	return atomic_load_explicit(&sent, memory_order_relaxed);
}

static void rows_send(struct rows *r)
{
	atomic_fetch_add_explicit(&sent, r->count, memory_order_relaxed);
	if (r->port)
		pasta_port_push(r->port, r->records, r->count * PASTA_EVENT_SIZE(access_sum));
	else
		r->unsent += r->count;
	r->count = 0;
}

static int rows_add(void *arg, enum pasta_reducer reducer, const struct pasta_row *row)
{
	struct rows *r = arg;
	struct pasta_event *ev = (void *)(r->records + r->count++ * PASTA_EVENT_SIZE(access_sum));

	pasta_sums_event(ev, reducer, row, r->launch->corr);
	ev->access_sum.name = r->launch->name;
	ev->tid = r->launch->tid;
	ev->time = r->time;
	if (r->count == ROWS)
		rows_send(r);
	return 0;
}

/* Emits another ACCESS_LAUNCH event for the launch, because the numbers of counted and dropped
 * accesses are known only when the launch ends. */
static void rows_emit_launch(const struct rows *r, enum pasta_access_launch_sub what,
			     struct pasta_access_launch_record how)
{
	struct pasta_event ev;

	if (!r->port || !pasta_agent_records(PASTA_KIND_ACCESS_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_KIND_ACCESS_LAUNCH, what, PASTA_EVENT_SIZE(access_launch));
	ev.access_launch = how;
	ev.access_launch.corr = r->launch->corr;
	ev.access_launch.name = r->launch->name;
	ev.tid = r->launch->tid;
	ev.time = r->time;
	pasta_port_push(r->port, &ev, ev.size);
}

/* Emits the rows of a launch. The lock `emitting` is held for the whole launch: rows of two
 * launches must not be mixed, because the times of records in the port must not decrease. */
void pasta_accesses_emit(struct counter *c, const struct pasta_accesses_launch *l, bool ran,
			 pasta_accesses_rest each, void *arg)
{
	bool enabled = ran && (l->sums || each) && pasta_agent_records(PASTA_KIND_ACCESS_SUM);
	uint64_t dropped = atomic_load(&l->dropped), raw_dropped = atomic_load(&l->raw_dropped);
	uint64_t raw =
		pasta_accesses_config.raw ? atomic_load(&l->stored) + dropped + raw_dropped : 0;
	struct rows r = {.launch = l};
	int error = 0;

	if (!enabled && !dropped && !raw_dropped && !pasta_agent_records(PASTA_KIND_ACCESS_LAUNCH))
		return;
	pasta_lock(&c->emitting);
	if (!c->port)
		c->port = pasta_port_open(PASTA_CLOCK_RAW);
	r.port = c->port;
	r.time = pasta_now();
	if (enabled && l->sums)
		error = pasta_sums_each(l->sums, rows_add, &r);
	if (enabled && each && !error)
		error = each(arg, rows_add, &r);
	if (r.count)
		rows_send(&r);
	if (dropped)
		rows_emit_launch(&r, PASTA_ACCESS_LAUNCH_LOST,
				 (struct pasta_access_launch_record){.lost = dropped});
	if (raw_dropped)
		rows_emit_launch(&r, PASTA_ACCESS_LAUNCH_LOST,
				 (struct pasta_access_launch_record){
					 .lost = raw_dropped,
					 .flags = PASTA_ACCESS_LAUNCH_RAW_DROPPED});
	rows_emit_launch(&r, PASTA_ACCESS_LAUNCH_ENDED,
			 (struct pasta_access_launch_record){.accesses = raw});
	pasta_unlock(&c->emitting);
	if (dropped)
		pasta_emit_loss(PASTA_LOSS_SOURCE, dropped);
	if (raw_dropped)
		pasta_emit_loss(PASTA_LOSS_RAW, raw_dropped);
	if (error || r.unsent)
		pasta_emit_loss(PASTA_LOSS_MEMORY, r.unsent + (error != 0));
}
