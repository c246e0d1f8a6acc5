/* test_host_time.c - the host time of operators and regions (`self` of struct pasta_where) is what
 * a search through all open operators and regions finds, for each interval between two events. */
/* labels: onethread */
#include "unit/support.h"

#include "process/join/reader.h"
#include "unit/shardrun.h"

#define KINDS (PASTA_MASK(REGION) | PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END))

/* A region or operator that has begun. */
struct item {
	uint32_t proc, tid;
	uint64_t op; /* 0: a region */
	uint64_t self;
	bool open;
};

struct timeline {
	uint32_t proc, tid;
	bool begun;
	uint64_t last, outside;
};

static struct item *items;
static size_t item_count, item_room;
static struct timeline timelines[4096];
static size_t timeline_count;

static struct timeline *timeline_of(const struct pasta_event *ev)
{
	struct timeline *t = timelines;

	while (t < timelines + timeline_count && (t->proc != ev->proc || t->tid != ev->tid))
		t++;
	if (t == timelines + timeline_count) {
		assert_true(timeline_count++ < sizeof(timelines) / sizeof(*timelines));
		*t = (struct timeline){.proc = ev->proc, .tid = ev->tid};
	}
	return t;
}

/* Returns the latest open item of the event's thread: an operator with this id, any operator if the
 * id is UINT64_MAX, or a region if the id is 0. */
static struct item *item_open(const struct pasta_event *ev, uint64_t op)
{
	for (size_t i = item_count; i-- > 0;) {
		struct item *it = &items[i];

		if (it->open && it->proc == ev->proc && it->tid == ev->tid &&
		    (op == UINT64_MAX ? it->op != 0 : it->op == op))
			return it;
	}
	return NULL;
}

/* Assigns the time since the thread's previous event. */
static void pass_time(struct timeline *t, const struct pasta_event *ev)
{
	uint64_t ns = t->begun && ev->time > t->last ? ev->time - t->last : 0;
	struct item *owner = item_open(ev, UINT64_MAX);

	owner = owner ? owner : item_open(ev, 0);
	*(owner ? &owner->self : &t->outside) += ns;
	t->last = !t->begun || ev->time > t->last ? ev->time : t->last;
	t->begun = true;
}

static void check_begin(const struct pasta_event *ev, const struct pasta_where *where, uint64_t op)
{
	struct timeline *t = timeline_of(ev);
	struct item *more;

	pass_time(t, ev);
	assert_int_equal(where->self, t->outside);
	t->outside = 0;
	if (item_count == item_room) {
		item_room = item_room ? 2 * item_room : 1024;
		more = realloc(items, item_room * sizeof(*items));
		assert_non_null(more);
		items = more;
	}
	items[item_count++] = (struct item){ev->proc, ev->tid, op, 0, true};
}

static void check_end(const struct pasta_event *ev, const struct pasta_where *where, uint64_t op)
{
	struct item *it;

	pass_time(timeline_of(ev), ev);
	it = item_open(ev, op);
	assert_non_null(it);
	assert_int_equal(where->self, it->self);
	it->open = false;
}

static void check(const struct pasta_event *ev, const struct pasta_where *where)
{
	if (ev->kind == PASTA_KIND_OP_BEGIN)
		check_begin(ev, where, ev->op_begin.id);
	else if (ev->kind == PASTA_KIND_OP_END)
		check_end(ev, where, ev->op_end.id);
	else if (ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_BEGIN)
		check_begin(ev, where, 0);
	else if (ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_END)
		check_end(ev, where, 0);
	else
		assert_int_equal(where->self, 0);
}

static void each_ns_of_a_thread_belongs_to_one_region_or_operator(void **state)
{
	uint64_t overlapping = 0, in_ops = 0;

	(void)state;
	for (int i = 0; i < (support_slow ? 4 : 20); i++) {
		struct run_opts opts = {.procs = 1 + (uint32_t)random_below(3),
					.events = 500 + random_below(2500),
					.depth = (unsigned int)random_below(6)};
		const struct pasta_where *where;
		const struct pasta_event *ev;
		struct pasta_stream *s;
		struct pasta_reader *r;
		struct random_run run;

		item_count = timeline_count = 0;
		random_run(&run, &opts);
		for (uint32_t p = 0; p < opts.procs; p++)
			shardrun_write(&run, p, ~UINT64_C(0));
		s = shardrun_open(opts.procs);
		r = pasta_reader_new(s, ~UINT64_C(0), PASTA_NEED_SCOPES | PASTA_NEED_OPS, NULL);
		assert_non_null(r);
		while ((ev = pasta_reader_next(r, &where)))
			check(ev, where);
		assert_int_equal(pasta_reader_error(r), 0);
		for (size_t k = 0; k < item_count; k++) {
			overlapping += !items[k].op && items[k].self;
			in_ops += items[k].op && items[k].self;
		}
		pasta_reader_free(r);
		pasta_stream_free(s);
		random_run_free(&run);
	}
	assert_true(overlapping > 100 && in_ops > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_ns_of_a_thread_belongs_to_one_region_or_operator),
	};
	int failed;

	random_begin();
	failed = cmocka_run_group_tests(tests, make_dir, remove_dir);
	free(items);
	return failed;
}
