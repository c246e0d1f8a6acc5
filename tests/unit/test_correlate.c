/* test_correlate.c - correlation, compared with a reference that searches linearly. */
/* labels: onethread */
#include "unit/reference.h"

#include <malloc.h>

#include "unit/randomrun.h"

#define LAUNCH_FLAGS (PASTA_WHERE_LAUNCH | PASTA_WHERE_REPEATED)

static uint32_t ids[RUN_NAMES + 1];

static void make_names(void)
{
	char text[16];

	for (uint32_t i = 1; i <= RUN_NAMES; i++) {
		snprintf(text, sizeof(text), "n%u", i);
		ids[i] = pasta_strings_add(text, strlen(text));
	}
}

/* -- Output ------------------------------------------------------------------------------------ */

/* A path is one object, with the right outer scope and innermost region and operator. */
static bool is_scope(struct ref *r, int expected, const struct pasta_scope *got)
{
	const struct pasta_scope *up = got ? got->up : NULL;
	struct ref_scope *s = expected == NO_SCOPE ? NULL : &r->scopes[expected];

	if (!s || !got)
		return !s && !got;
	if (s->real)
		return s->real == got;
	s->real = got;
	for (size_t i = 0; i < r->scopes_count; i++)
		if (r->scopes[i].real && &r->scopes[i] != s && r->scopes[i].real->id == got->id)
			return false;
	if (s->kind == PASTA_KIND_REGION && (got->region != got || got->op != (up ? up->op : NULL)))
		return false;
	if (s->kind != PASTA_KIND_REGION &&
	    (got->op != got || got->region != (up ? up->region : NULL)))
		return false;
	return got->kind == s->kind && got->name == s->name && got->id &&
	       got->depth == (up ? up->depth + 1 : 1) && is_scope(r, s->up, up);
}

/* Returns "" or the difference. test_python.c tests the Python part of operators. */
static const char *check_where(struct ref *r, const struct ref_where *expected,
			       const struct pasta_where *got)
{
	return !is_scope(r, expected->scope, got->scope)	? "scope"
	       : !is_scope(r, expected->capture, got->capture)	? "capture"
	       : got->iteration != expected->iteration		? "iteration"
	       : got->op != expected->op			? "op"
	       : got->launched != expected->launched		? "launched"
	       : got->launch != expected->launch		? "launch"
	       : got->tid != expected->tid			? "tid"
	       : got->name != expected->name			? "name"
	       : got->stack != expected->stack			? "stack"
	       : (got->flags & LAUNCH_FLAGS) != expected->flags ? "flags"
								: "";
}

struct got {
	struct pasta_event ev;
	struct pasta_where where;
	uint64_t pair;
};

static const char *describe(const struct pasta_event *ev)
{
	static char texts[4][200];
	static int next;
	char *text = texts[next++ % 4];
	int n = snprintf(text, 200, "%s.%u proc %u tid %u time %llu",
			 pasta_kind_name(ev->kind) ? pasta_kind_name(ev->kind) : "?", ev->sub,
			 ev->proc, ev->tid, (unsigned long long)ev->time);

	if (ev->kind == PASTA_KIND_REGION)
		snprintf(text + n, 200 - (size_t)n, " name %u depth %u flags %x", ev->region.name,
			 ev->region.depth, ev->region.flags);
	else if (ev->kind == PASTA_KIND_OP_END || ev->kind == PASTA_KIND_OP_BEGIN)
		snprintf(text + n, 200 - (size_t)n, " id %llu", (unsigned long long)ev->op_end.id);
	else if (ev->kind >= PASTA_KIND_LAUNCH && ev->kind <= PASTA_KIND_SET)
		snprintf(text + n, 200 - (size_t)n, " corr %llu",
			 (unsigned long long)(ev->kind == PASTA_KIND_LAUNCH ? ev->launch.corr
									    : ev->kernel.corr));
	return text;
}

static void check_out(struct ref *r, const struct ref_out *expected, const struct got *got,
		      size_t i)
{
	const char *wrong;

	if (got->ev.size != expected->ev.size || memcmp(&got->ev, &expected->ev, expected->ev.size))
		fail_msg("event %zu is\n  %s, not\n  %s, with SEED=%llu", i, describe(&got->ev),
			 describe(&expected->ev), (unsigned long long)support_seed_);
	wrong = check_where(r, &expected->where, &got->where);
	if (*wrong)
		fail_msg("event %zu, %s: %s is wrong, with SEED=%llu", i, describe(&got->ev), wrong,
			 (unsigned long long)support_seed_);
}

/* -- A stream through the correlator ----------------------------------------------------------- */

struct stream {
	struct got *got;
	size_t count, room;
	struct pasta_correlate *c;
};

static void store(struct stream *s, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct got *got;

	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->got = realloc(s->got, s->room * sizeof(*s->got));
		assert_non_null(s->got);
	}
	got = &s->got[s->count++];
	memset(got, 0, sizeof(*got));
	memcpy(&got->ev, ev, ev->size);
	got->where = *where;
	got->pair = pasta_correlate_pair(s->c);
}

static void drain(struct stream *s)
{
	const struct pasta_where *where;
	const struct pasta_event *ev;

	while ((ev = pasta_correlate_next(s->c, &where)))
		store(s, ev, where);
}

/* Each event is valid only as long as it must be. */
static void push(struct stream *s, const struct pasta_event *ev)
{
	struct pasta_event *copy = malloc(ev->size);
	const struct pasta_where *where;

	assert_non_null(copy);
	memcpy(copy, ev, ev->size);
	if (pasta_correlate_push(s->c, copy, &where))
		store(s, copy, where);
	drain(s);
	memset(copy, 0xaa, ev->size);
	free(copy);
}

static void compare(struct ref *r, const struct stream *s)
{
	for (size_t i = 0; i < s->count && i < r->outs_count; i++)
		check_out(r, &r->outs[i], &s->got[i], i);
	assert_int_equal(s->count, r->outs_count);
}

/* -- Properties of any stream ------------------------------------------------------------------ */

struct open_pair {
	uint32_t proc, tid, kind;
	uint64_t pair;
	struct pasta_where where;
};

static bool is_begin(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_OP_BEGIN ||
	       (ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_BEGIN);
}

static bool is_end(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_OP_END ||
	       (ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_END);
}

static bool same_where(const struct pasta_where *a, const struct pasta_where *b)
{
	return a->scope == b->scope && a->op == b->op && a->iteration == b->iteration &&
	       a->tid == b->tid;
}

/* Each begin has one end: the innermost of its type ends first, in the scope where it began. */
static void check_pairs(const struct stream *s)
{
	struct open_pair *open = calloc(s->count + 1, sizeof(*open));
	size_t count = 0, at;
	uint64_t last = 0;

	assert_non_null(open);
	for (size_t i = 0; i < s->count; i++) {
		const struct got *g = &s->got[i];
		uint32_t kind =
			g->ev.kind == PASTA_KIND_REGION ? PASTA_KIND_REGION : PASTA_KIND_OP_BEGIN;

		if (!is_begin(&g->ev) && !is_end(&g->ev)) {
			assert_property(!g->pair);
			continue;
		}
		if (is_begin(&g->ev)) {
			assert_property(g->pair > last);
			last = g->pair;
			open[count++] =
				(struct open_pair){g->ev.proc, g->ev.tid, kind, g->pair, g->where};
			continue;
		}
		for (at = count; at; at--)
			if (open[at - 1].proc == g->ev.proc && open[at - 1].tid == g->ev.tid &&
			    open[at - 1].kind == kind)
				break;
		assert_property(at && open[at - 1].pair == g->pair);
		assert_property(same_where(&open[at - 1].where, &g->where));
		memmove(&open[at - 1], &open[at], (count - at) * sizeof(*open));
		count--;
	}
	assert_property(count == 0);
	free(open);
}

/* How often each case occurred, so that none is missed by chance. */
static struct {
	size_t launched, again, captured, strays, loss, outer, open, supplied, dropped, unmatched;
} seen;

static void count_seen(const struct stream *s, const struct ref *r, size_t in)
{
	size_t own = 0;

	for (size_t i = 0; i < r->outs_count; i++)
		own += r->outs[i].in != SUPPLIED;
	seen.dropped += in - own;
	for (size_t i = 0; i < s->count; i++) {
		const struct got *g = &s->got[i];
		uint32_t flags = g->ev.kind == PASTA_KIND_REGION ? g->ev.region.flags : 0;

		seen.launched += g->where.flags & PASTA_WHERE_LAUNCH ? 1 : 0;
		seen.again += g->where.flags & PASTA_WHERE_REPEATED ? 1 : 0;
		seen.unmatched += g->ev.kind == PASTA_KIND_UNMATCHED;
		seen.captured += g->where.capture != NULL;
		seen.strays +=
			g->ev.kind == PASTA_KIND_REGION && g->ev.sub == PASTA_REGION_UNMATCHED_END;
		seen.loss += flags & PASTA_REGION_SUPPLIED_LOSS ? 1 : 0;
		seen.outer += flags & PASTA_REGION_SUPPLIED_OUTER ? 1 : 0;
		seen.open += flags & PASTA_REGION_SUPPLIED_OPEN ? 1 : 0;
		seen.supplied +=
			g->ev.kind == PASTA_KIND_OP_END && g->ev.sub == PASTA_OP_END_SUPPLIED;
	}
}

/* -- Random runs ------------------------------------------------------------------------------- */

static void stream_new(struct stream *s, bool ops)
{
	*s = (struct stream){.c = pasta_correlate_new(ops)};
	assert_non_null(s->c);
}

/* How a run is read. */
struct how {
	bool ops, unmatched;
	uint64_t recorded; /* kinds of the first process; 0: unknown */
};

static void stream_new_as(struct stream *s, const struct how *how)
{
	stream_new(s, how->ops);
	if (how->unmatched)
		assert_int_equal(pasta_correlate_unmatched(s->c), 0);
}

static void stream_end(struct stream *s)
{
	pasta_correlate_end(s->c);
	drain(s);
	assert_false(pasta_correlate_failed(s->c));
}

static void stream_free(struct stream *s)
{
	pasta_correlate_free(s->c);
	free(s->got);
}

/* The events of a process become the same without the other processes. */
static void check_alone(const struct random_run *run, const struct stream *all, uint32_t proc,
			const struct how *how)
{
	struct stream s;
	size_t n = 0;

	stream_new_as(&s, how);
	pasta_correlate_recorded(s.c, 0, how->recorded);
	for (size_t i = 0; i < run->count; i++)
		if (run->events[i].proc == proc)
			push(&s, &run->events[i]);
	stream_end(&s);
	for (size_t i = 0; i < all->count; i++) {
		const struct got *g = &all->got[i];

		if (g->ev.proc != proc)
			continue;
		assert_property(n < s.count);
		assert_property(!memcmp(&g->ev, &s.got[n].ev, g->ev.size));
		assert_property(!memcmp(&g->where, &s.got[n].where, sizeof(g->where)));
		n++;
	}
	assert_property(n == s.count);
	stream_free(&s);
}

static void compare_run(const struct run_opts *opts, const struct how *how)
{
	struct random_run run;
	struct stream s;
	struct ref r = {.ops = how->ops, .unmatched = how->unmatched};

	random_run(&run, opts);
	stream_new_as(&s, how);
	pasta_correlate_recorded(s.c, 0, how->recorded);
	ref_proc(&r, 0)->recorded = how->recorded;
	for (size_t i = 0; i < run.count; i++)
		run_strings(&run.events[i], ids);
	r.in = run.events;
	for (size_t i = 0; i < run.count; i++) {
		push(&s, &run.events[i]);
		ref_input(&r, (int)i);
	}
	stream_end(&s);
	ref_end(&r);
	compare(&r, &s);
	if (how->ops)
		check_pairs(&s);
	check_alone(&run, &s, (uint32_t)random_below(opts->procs), how);
	count_seen(&s, &r, run.count);
	stream_free(&s);
	ref_free(&r);
	random_run_free(&run);
}

static void every_event_and_its_attribution_equal_a_linear_search(void **state)
{
	(void)state;
	for (int i = 0; i < (support_slow ? 30 : 150); i++) {
		struct run_opts opts = {.procs = 1 + (uint32_t)random_below(3),
					.events = 200 + random_below(8000),
					.depth = (unsigned int)random_below(5)};

		struct how how = {.ops = !one_in(4), .unmatched = !one_in(3)};

		how.recorded = one_in(3) ? 0 : ~(one_in(4) ? PASTA_MASK(LAUNCH) : 0);
		how.recorded &= one_in(3) ? ~PASTA_MASK(KERNEL) : ~UINT64_C(0);
		how.recorded &= one_in(3) ? ~PASTA_MASK(COPY) : ~UINT64_C(0);
		compare_run(&opts, &how);
	}
	assert_true(seen.unmatched > 1000);
	assert_true(seen.launched > 1000 && seen.again > 100 && seen.captured > 100);
	assert_true(seen.strays > 100 && seen.loss > 100 && seen.outer > 100 && seen.open > 10);
	assert_true(seen.supplied > 100 && seen.dropped > 100);
}

/* -- Single cases ------------------------------------------------------------------------------ */

static void push_region(struct stream *s, uint64_t time, unsigned int sub, uint32_t name)
{
	struct pasta_event ev = run_event(PASTA_KIND_REGION, 0, 1);

	ev.time = time;
	ev.sub = (uint8_t)sub;
	ev.region.name = name;
	push(s, &ev);
}

static void push_op(struct stream *s, uint64_t time, unsigned int kind, uint64_t op)
{
	struct pasta_event ev = run_event(kind, 0, 1);

	ev.time = time;
	if (kind == PASTA_KIND_OP_BEGIN)
		ev.op_begin.id = op;
	else
		ev.op_end.id = op;
	push(s, &ev);
}

static void push_launch(struct stream *s, uint64_t time, uint64_t corr, uint64_t graph)
{
	struct pasta_event ev = run_event(PASTA_KIND_LAUNCH, 0, 1);

	ev.time = time;
	ev.launch.corr = corr;
	ev.launch.graph = graph;
	push(s, &ev);
}

static void push_kernel(struct stream *s, uint64_t time, uint64_t corr)
{
	struct pasta_event ev = run_event(PASTA_KIND_KERNEL, 0, 7);

	ev.time = time;
	ev.kernel.corr = corr;
	push(s, &ev);
}

static void an_end_has_the_scope_of_its_begin_though_the_outer_region_has_ended(void **state)
{
	struct stream s;

	(void)state;
	stream_new(&s, true);
	push_region(&s, 1, PASTA_REGION_BEGIN, ids[1]);
	push_op(&s, 2, PASTA_KIND_OP_BEGIN, 5);
	push_region(&s, 3, PASTA_REGION_END, 0);
	push_launch(&s, 4, 0, 0);
	push_op(&s, 5, PASTA_KIND_OP_END, 5);
	stream_end(&s);
	assert_int_equal(s.count, 5);
	assert_non_null(s.got[1].where.scope->region);
	assert_ptr_equal(s.got[4].where.scope, s.got[1].where.scope);
	assert_null(s.got[3].where.scope->region);
	assert_int_equal(s.got[3].where.op, 5);
	stream_free(&s);
}

static void an_end_has_the_domain_of_its_begin(void **state)
{
	struct pasta_event ev = run_event(PASTA_KIND_REGION, 0, 1);
	struct stream s;

	(void)state;
	stream_new(&s, false);
	ev.sub = PASTA_REGION_BEGIN;
	for (uint32_t i = 1; i <= 3; i++) {
		ev.region.name = ids[i];
		ev.region.domain = ids[i + 4];
		push(&s, &ev);
	}
	ev.sub = PASTA_REGION_END;
	ev.region.name = ids[2];
	ev.region.domain = 0;
	push(&s, &ev);
	stream_end(&s);
	assert_int_equal(s.count, 6);
	for (uint32_t i = 3; i < 6; i++)
		assert_int_equal(s.got[i].ev.region.domain, ids[10 - i]);
	stream_free(&s);
}

static void an_operator_that_never_ends_does_not_end_before_it_began(void **state)
{
	struct stream s;

	(void)state;
	stream_new(&s, true);
	push_region(&s, 1, PASTA_REGION_BEGIN, ids[1]);
	push_op(&s, 100, PASTA_KIND_OP_BEGIN, 5);
	stream_end(&s);
	assert_int_equal(s.count, 4);
	assert_int_equal(s.got[2].ev.kind, PASTA_KIND_OP_END);
	assert_int_equal(s.got[2].ev.time, 100);
	/* As it would be without operators. */
	assert_int_equal(s.got[3].ev.time, 1);
	stream_free(&s);
}

static void push_op_at(struct stream *s, uint64_t time, uint64_t op, uint32_t depth)
{
	struct pasta_event ev = run_event(PASTA_KIND_OP_BEGIN, 0, 1);

	ev.time = time;
	ev.op_begin.id = op;
	ev.op_begin.depth = depth;
	push(s, &ev);
}

static void expect_op(const struct stream *s, size_t i, unsigned int kind, uint64_t op,
		      unsigned int sub)
{
	const struct pasta_event *ev = &s->got[i].ev;

	assert_int_equal(ev->kind, kind);
	assert_int_equal(kind == PASTA_KIND_OP_BEGIN ? ev->op_begin.id : ev->op_end.id, op);
	assert_int_equal(ev->sub, sub);
}

static void the_depth_of_an_operator_ends_those_whose_ends_were_dropped(void **state)
{
	struct stream s;

	(void)state;
	stream_new(&s, true);
	push_op_at(&s, 1, 5, 1);
	push_op_at(&s, 2, 6, 2); /* its end is dropped */
	push_op_at(&s, 3, 7, 2);
	push_op(&s, 4, PASTA_KIND_OP_END, 7); /* the end of 5 is dropped */
	push_op_at(&s, 5, 8, 1);
	push_op(&s, 6, PASTA_KIND_OP_END, 8);
	push_op_at(&s, 7, 9, 3); /* two begins are dropped */
	push_op_at(&s, 8, 10, 2);
	stream_end(&s);
	assert_int_equal(s.count, 12);
	expect_op(&s, 2, PASTA_KIND_OP_END, 6, PASTA_OP_END_SUPPLIED);
	expect_op(&s, 3, PASTA_KIND_OP_BEGIN, 7, 0);
	expect_op(&s, 4, PASTA_KIND_OP_END, 7, 0);
	expect_op(&s, 5, PASTA_KIND_OP_END, 5, PASTA_OP_END_SUPPLIED);
	expect_op(&s, 6, PASTA_KIND_OP_BEGIN, 8, 0);
	assert_null(s.got[6].where.scope->up);
	expect_op(&s, 9, PASTA_KIND_OP_END, 9, PASTA_OP_END_SUPPLIED);
	expect_op(&s, 10, PASTA_KIND_OP_BEGIN, 10, 0);
	expect_op(&s, 11, PASTA_KIND_OP_END, 10, PASTA_OP_END_SUPPLIED);
	stream_free(&s);
}

static void all_work_of_a_graphs_launch_is_its_own_though_it_names_no_node(void **state)
{
	struct stream s;

	(void)state;
	stream_new(&s, false);
	push_launch(&s, 1, 3, 77);
	for (uint64_t i = 0; i < 600; i++) {
		push_launch(&s, 2 + i, 100 + i, 0);
		push_kernel(&s, 2 + i, 100 + i);
		push_kernel(&s, 2 + i, 3);
		assert_int_equal(s.got[s.count - 1].where.flags, PASTA_WHERE_LAUNCH);
		assert_int_equal(s.got[s.count - 1].where.launched, 1);
	}
	stream_end(&s);
	stream_free(&s);
}

static void work_of_an_unknown_launch_belongs_to_the_thread_in_its_record(void **state)
{
	struct stream s;

	(void)state;
	stream_new(&s, false);
	push_kernel(&s, 1, 0);
	push_kernel(&s, 1, 5);
	stream_end(&s);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.got[0].where.tid, 7);
	assert_int_equal(s.got[1].where.tid, 7);
	stream_free(&s);
}

/* Ids with much in common, such as handles, or counters with a step. */
static void repeated_work_is_marked_whatever_the_ids_are(void **state)
{
	static const uint64_t steps[] = {1, 2, 512, 4096, UINT64_C(1) << 32};
	struct stream s;

	(void)state;
	for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
		stream_new(&s, false);
		for (uint64_t i = 1; i <= PASTA_LAUNCHTABLE_RECENT + 1; i++) {
			push_launch(&s, i, i * steps[k], 0);
			push_kernel(&s, i, i * steps[k]);
		}
		push_kernel(&s, 1000, 2 * steps[k]);
		assert_int_equal(s.got[s.count - 1].where.launched, 2);
		assert_int_equal(s.got[s.count - 1].where.flags,
				 PASTA_WHERE_LAUNCH | PASTA_WHERE_REPEATED);
		push_kernel(&s, 1000, steps[k]); /* too long ago */
		stream_end(&s);
		assert_int_equal(s.got[s.count - 1].where.flags, 0);
		stream_free(&s);
	}
}

static void a_time_past_all_others_delays_nothing(void **state)
{
	struct stream s;

	(void)state;
	stream_new(&s, false);
	push_kernel(&s, UINT64_MAX, 1);
	push_region(&s, UINT64_MAX, PASTA_REGION_BEGIN, ids[1]);
	assert_int_equal(s.count, 0);
	stream_end(&s);
	assert_int_equal(s.count, 3);
	stream_free(&s);
}

/* -- Limits ------------------------------------------------------------------------------------ */

static size_t in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static size_t count_left(struct pasta_correlate *c)
{
	const struct pasta_where *where;
	size_t n = 0;

	while (pasta_correlate_next(c, &where))
		n++;
	return n;
}

static size_t count_delivered(struct pasta_correlate *c, const struct pasta_event *ev)
{
	const struct pasta_where *where;
	size_t n = pasta_correlate_push(c, ev, &where);

	return n + count_left(c);
}

static void a_full_queue_makes_room_by_its_first_event_alone(void **state)
{
	struct pasta_event launch = run_event(PASTA_KIND_LAUNCH, 0, 1);
	struct pasta_event work = run_event(PASTA_KIND_KERNEL, 0, 1);
	struct pasta_event other = run_event(PASTA_KIND_API, 0, 1);
	struct pasta_correlate *c = pasta_correlate_new(false);
	const struct pasta_where *where;
	size_t n = 0;

	(void)state;
	for (work.kernel.corr = 1; work.kernel.corr <= 3; work.kernel.corr++)
		assert_int_equal(count_delivered(c, &work), 0);
	while (!n) {
		n = count_delivered(c, &other);
		assert_true(++other.time <= PASTA_CORRELATE_QUEUE);
	}
	assert_int_equal(n, 1);
	assert_true(other.time > PASTA_CORRELATE_QUEUE - 8);
	launch.launch.corr = 3;
	assert_false(pasta_correlate_push(c, &launch,
					  &where)); /* so that the second one must be delivered */
	assert_int_equal(pasta_correlate_next(c, &where)->kernel.corr, 2);
	assert_int_equal(where->flags, 0);
	assert_int_equal(pasta_correlate_next(c, &where)->kernel.corr, 3);
	assert_int_equal(where->flags, PASTA_WHERE_LAUNCH);
	assert_int_equal(count_left(c), other.time + 1);
	pasta_correlate_free(c);
}

static void a_million_unmatched_events_fit_in_little_memory(void **state)
{
	enum { MANY = 1000000 };
	struct pasta_event launch = run_event(PASTA_KIND_LAUNCH, 0, 1);
	struct pasta_event work = run_event(PASTA_KIND_KERNEL, 0, 1);
	struct pasta_correlate *c = pasta_correlate_new(false);
	size_t before = in_use(), delivered = 0;

	(void)state;
	for (uint64_t i = 0; i < 2 * MANY; i++) { /* with time: each has waited long enough */
		launch.time = work.time = i * 100;
		launch.launch.corr = i * 2 + 1;
		work.kernel.corr = i * 2 + 2;
		delivered += count_delivered(c, i % 2 ? &launch : &work);
	}
	for (uint64_t i = 0; i < MANY; i++) { /* without: too many wait */
		work.kernel.corr = UINT64_C(1) << 40 | i;
		delivered += count_delivered(c, &work);
	}
	if (!support_slow) /* a sanitizer's allocator does not report it */
		assert_in_range(in_use() - before, 1 << 20, 400 << 20);
	pasta_correlate_end(c);
	delivered += count_left(c);
	assert_int_equal(delivered, 3 * MANY);
	assert_false(pasta_correlate_failed(c));
	pasta_correlate_free(c);
}

static void the_oldest_launch_expires_past_the_limit(void **state)
{
	struct pasta_event launch = run_event(PASTA_KIND_LAUNCH, 0, 1);
	struct pasta_event work = run_event(PASTA_KIND_KERNEL, 0, 1);
	struct pasta_correlate *c = pasta_correlate_new(false);
	const struct pasta_where *where;

	(void)state;
	for (uint64_t i = 1; i <= PASTA_LAUNCHTABLE_MAX + 1; i++) {
		launch.launch.corr = i;
		assert_int_equal(count_delivered(c, &launch), 1);
	}
	work.kernel.corr = 2;
	assert_true(pasta_correlate_push(c, &work, &where));
	assert_int_equal(where->flags, PASTA_WHERE_LAUNCH);
	work.kernel.corr = 1;
	assert_int_equal(count_delivered(c, &work), 0);
	pasta_correlate_free(c);
}

/* -- Launches that expire: all of them, in arrays
 * -------------------------------------------------- */

enum { MANY_LAUNCHES = PASTA_LAUNCHTABLE_MAX + 40000 };

static struct {
	uint8_t work;
	bool known, used, unmatched; /* in the table; has its work; was delivered as unmatched */
} * many;

static struct {
	size_t oldest, known, uses;
	uint32_t *used; /* correlation ids in the order of their work */
	size_t delivered, wrong;
} many_state;

static bool many_due(uint64_t corr)
{
	return many[corr].work != PASTA_LAUNCH_WORK_GRAPH && !many[corr].used;
}

/* Checks each event of the correlator: an unmatched launch must be due now. */
static void many_check(struct pasta_correlate *c)
{
	const struct pasta_where *where;
	const struct pasta_event *ev;

	while ((ev = pasta_correlate_next(c, &where))) {
		uint64_t corr = ev->launch.corr;

		if (ev->kind != PASTA_KIND_UNMATCHED)
			continue;
		many_state.delivered++;
		many_state.wrong += many[corr].unmatched || !many_due(corr) ||
				    where->launched != ev->time || where->flags != 0 ||
				    ev->launch.work != many[corr].work;
		many[corr].unmatched = true;
	}
}

static void many_launch(struct pasta_correlate *c, uint64_t corr)
{
	struct pasta_event ev = run_event(PASTA_KIND_LAUNCH, 0, 1);
	const struct pasta_where *where;
	size_t before = many_state.delivered, expired;

	many[corr].work = one_in(20)  ? PASTA_LAUNCH_WORK_GRAPH
			  : one_in(3) ? PASTA_LAUNCH_WORK_FILL
				      : PASTA_LAUNCH_WORK_KERNEL;
	ev.time = corr * 10;
	ev.launch.corr = corr;
	ev.launch.work = many[corr].work;
	pasta_correlate_push(c, &ev, &where);
	many_check(c);
	if (many_state.known < PASTA_LAUNCHTABLE_MAX) {
		many_state.known++;
		assert_property(many_state.delivered == before);
	} else {
		while (!many[many_state.oldest].known)
			many_state.oldest++;
		expired = many_state.oldest;
		many[expired].known = false;
		assert_property(many_state.delivered == before + many_due(expired));
		assert_property(many[expired].unmatched == many_due(expired));
	}
	many[corr].known = true;
}

/* Pushes work of a launch that is known, has had its work, or has expired. */
static void many_work(struct pasta_correlate *c, uint64_t corr, uint64_t now)
{
	struct pasta_event ev = run_event(PASTA_KIND_KERNEL, 0, 1);
	const struct pasta_where *where = NULL;
	bool at_once;

	ev.time = now;
	ev.kernel.corr = corr;
	at_once = pasta_correlate_push(c, &ev, &where);
	assert_property(at_once == many[corr].known);
	if (!at_once) { /* it waits for a launch with its id */
		struct pasta_event later = run_event(PASTA_KIND_API, 0, 1);
		uint32_t flags = many[corr].unmatched ? PASTA_WHERE_EXPIRED : 0;

		later.time = now + PASTA_CORRELATE_WAIT + 1;
		assert_false(pasta_correlate_push(c, &later, &where));
		assert_int_equal(pasta_correlate_next(c, &where)->kind, PASTA_KIND_KERNEL);
		assert_property(where->flags == flags);
		many_check(c);
		return;
	}
	assert_property(!(where->flags & PASTA_WHERE_EXPIRED));
	if (many[corr].work == PASTA_LAUNCH_WORK_GRAPH || many[corr].used)
		return;
	many[corr].used = true;
	if (many_state.uses >= PASTA_LAUNCHTABLE_RECENT) {
		uint32_t old = many_state.used[many_state.uses - PASTA_LAUNCHTABLE_RECENT];

		many_state.known -= many[old].known;
		many[old].known = false;
	}
	many_state.used[many_state.uses++] = (uint32_t)corr;
}

static void unmatched_launches_are_delivered_when_they_expire(void **state)
{
	struct pasta_correlate *c = pasta_correlate_new(false);
	size_t due = 0, before;

	(void)state;
	many = calloc(MANY_LAUNCHES + 1, sizeof(*many));
	many_state.used = calloc(MANY_LAUNCHES + 1, sizeof(uint32_t));
	many_state.oldest = 1;
	assert_non_null(many);
	assert_non_null(many_state.used);
	assert_int_equal(pasta_correlate_unmatched(c), 0);
	for (uint64_t i = 1; i <= MANY_LAUNCHES; i++) {
		many_launch(c, i);
		if (i % 100 == 0 || (i > PASTA_LAUNCHTABLE_MAX && one_in(4)))
			many_work(c, 1 + random_below(one_in(2) ? 60000 : i), i * 10);
	}
	before = many_state.delivered;
	for (uint64_t i = 1; i <= MANY_LAUNCHES; i++)
		due += many[i].known && many_due(i);
	pasta_correlate_end(c);
	many_check(c);
	assert_int_equal(many_state.wrong, 0);
	assert_true(before > 10000);
	assert_int_equal(many_state.delivered, before + due);
	assert_false(pasta_correlate_failed(c));
	pasta_correlate_free(c);
	free(many_state.used);
	free(many);
}

static void a_hundred_thousand_regions_deep_is_fine(void **state)
{
	enum { DEPTH = 100000 };
	struct pasta_event ev = run_event(PASTA_KIND_REGION, 0, 1);
	struct pasta_correlate *c = pasta_correlate_new(true);
	const struct pasta_where *where;
	const struct pasta_event *out;

	(void)state;
	for (int depths = 0; depths < 2; depths++) {
		for (uint32_t i = 1; i <= DEPTH; i++) {
			ev.sub = PASTA_REGION_BEGIN;
			ev.region.name = ids[1];
			ev.region.depth = depths ? i : 0;
			assert_false(pasta_correlate_push(c, &ev, &where));
			out = pasta_correlate_next(c, &where);
			assert_int_equal(out->region.depth, i);
			assert_int_equal(where->scope->depth,
					 i < PASTA_NEST_SCOPES ? i : PASTA_NEST_SCOPES);
			assert_null(pasta_correlate_next(c, &where));
		}
		for (uint32_t i = DEPTH; i; i--) {
			ev.sub = PASTA_REGION_END;
			ev.region.depth = depths ? i : 0;
			assert_false(pasta_correlate_push(c, &ev, &where));
			out = pasta_correlate_next(c, &where);
			assert_int_equal(out->region.depth, i);
			assert_int_equal(out->region.flags, 0);
			assert_int_equal(where->scope->depth,
					 i < PASTA_NEST_SCOPES ? i : PASTA_NEST_SCOPES);
			assert_null(pasta_correlate_next(c, &where));
		}
	}
	pasta_correlate_end(c);
	assert_null(pasta_correlate_next(c, &where));
	pasta_correlate_free(c);
}

static void an_impossible_depth_supplies_nothing(void **state)
{
	struct pasta_event ev = run_event(PASTA_KIND_REGION, 0, 1);
	struct stream s;

	(void)state;
	stream_new(&s, false);
	ev.region.depth = UINT32_MAX;
	ev.sub = PASTA_REGION_BEGIN;
	push(&s, &ev);
	ev.sub = PASTA_REGION_MARK;
	push(&s, &ev);
	ev.sub = PASTA_REGION_END;
	push(&s, &ev);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.got[0].ev.region.depth, 1);
	assert_int_equal(s.got[2].ev.sub, PASTA_REGION_UNMATCHED_END);
	assert_int_equal(s.got[2].ev.region.flags, PASTA_REGION_SUPPLIED_LOSS);
	stream_end(&s);
	assert_int_equal(s.count, 4);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_and_its_attribution_equal_a_linear_search),
		cmocka_unit_test(
			an_end_has_the_scope_of_its_begin_though_the_outer_region_has_ended),
		cmocka_unit_test(an_end_has_the_domain_of_its_begin),
		cmocka_unit_test(an_operator_that_never_ends_does_not_end_before_it_began),
		cmocka_unit_test(the_depth_of_an_operator_ends_those_whose_ends_were_dropped),
		cmocka_unit_test(all_work_of_a_graphs_launch_is_its_own_though_it_names_no_node),
		cmocka_unit_test(work_of_an_unknown_launch_belongs_to_the_thread_in_its_record),
		cmocka_unit_test(repeated_work_is_marked_whatever_the_ids_are),
		cmocka_unit_test(a_time_past_all_others_delays_nothing),
		cmocka_unit_test(a_full_queue_makes_room_by_its_first_event_alone),
		cmocka_unit_test(a_million_unmatched_events_fit_in_little_memory),
		cmocka_unit_test(the_oldest_launch_expires_past_the_limit),
		cmocka_unit_test(unmatched_launches_are_delivered_when_they_expire),
		cmocka_unit_test(a_hundred_thousand_regions_deep_is_fine),
		cmocka_unit_test(an_impossible_depth_supplies_nothing),
	};

	random_begin();
	make_names();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
