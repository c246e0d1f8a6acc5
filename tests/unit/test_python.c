/* test_python.c - where operators come from in Python, and what they launch: by their own call
 * paths, by those around them, and by the forward operator that the backward pass belongs to. */
/* labels: onethread */
#include <pasta/tool.h>

#include "unit/tooltest.h"

#include "core/pathnode.h"
#include "process/join/fwdops.h"

/* What the tool receives for each kernel, allocation and operator, in order. */
enum { RECEIVED = 4096 };
struct received {
	uint32_t python, module, flags;
};
static struct received received[RECEIVED];
static size_t received_count;

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	(void)state;
	assert_true(received_count < RECEIVED);
	received[received_count++] =
		(struct received){pasta_python_of(ev, where), where->module,
				  where->flags & (PASTA_WHERE_BACKWARD | PASTA_WHERE_EXPIRED)};
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	(void)state;
	(void)out;
	return 0;
}

PASTA_TOOL(.name = "listener", .summary = "listens",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(ALLOC) | PASTA_MASK(OP_BEGIN),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS, .event = on_event, .report = report);

static int begin_all(void **state)
{
	received_count = 0;
	return setup(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_all, teardown)

static uint32_t call(uint32_t parent, const char *function, const char *file, uint32_t number)
{
	struct pasta_pathnode node = {parent, id(function), id(file), number};
	uint8_t bytes[PASTA_PATHNODE_SIZE];

	pasta_pathnode_encode(&node, bytes);
	return pasta_strings_add(bytes, sizeof(bytes));
}

struct op {
	uint32_t tid, proc;
	uint64_t id, seq;
	uint32_t stack, flags;
	const char *module;
};

/* Returns what the tool received for the operator's begin. */
static struct received begin(uint64_t time, const struct op *op)
{
	struct pasta_event ev = EVENT(op_begin, OP_BEGIN, op->proc, op->tid, time);

	ev.op_begin = (struct pasta_op_begin_record){.id = op->id,
						     .seq = op->seq,
						     .name = id("op"),
						     .stack = op->stack,
						     .module = id(op->module),
						     .flags = op->flags};
	send_event(&ev);
	return received[received_count - 1];
}

static void end(uint64_t time, uint32_t tid, uint64_t op)
{
	struct pasta_event ev = EVENT(op_end, OP_END, 0, tid, time);

	ev.op_end.id = op;
	send_event(&ev);
}

/* A kernel that is launched now and runs at once. */
static struct received kernel(uint64_t time, uint32_t tid, uint64_t corr, uint32_t stack)
{
	struct pasta_event ev = EVENT(launch, LAUNCH, 0, tid, time);

	ev.launch.corr = corr;
	ev.launch.stack = stack;
	send_event(&ev);
	send_kernel(0, time, corr, "k", 1);
	return received[received_count - 1];
}

static void is(struct received got, uint32_t python, const char *module, uint32_t flags)
{
	assert_int_equal(got.python, python);
	assert_string_equal(pasta_str(got.module), module);
	assert_int_equal(got.flags, flags);
}

/* -- Tests -- */

static void work_without_a_path_of_its_own_has_that_of_its_operator(void **state)
{
	uint32_t line = call(0, "f", "f.py", 3), inner = call(line, "g", "f.py", 9);
	const uint64_t native[2] = {0x1234, 0x5678};
	uint32_t addresses = pasta_strings_add(native, sizeof(native));
	struct pasta_event alloc = EVENT(alloc, ALLOC, 0, 1, 6);

	(void)state;
	is(kernel(0, 1, 1, 0), 0, "", 0);
	is(kernel(1, 1, 2, addresses), 0, "", 0);
	begin(2, &(struct op){.tid = 1, .id = 1, .stack = line, .module = "net.0"});
	is(kernel(3, 1, 3, 0), line, "net.0", 0);
	is(kernel(4, 1, 4, addresses), line, "net.0", 0);
	is(kernel(5, 1, 5, inner), inner, "net.0", 0);
	send_event(&alloc);
	is(received[received_count - 1], line, "net.0", 0);
	alloc.alloc.stack = inner;
	alloc.time = 7;
	send_event(&alloc);
	is(received[received_count - 1], inner, "net.0", 0);
	end(8, 1, 1);
	is(kernel(9, 1, 6, 0), 0, "", 0);
}

static void an_operator_inside_another_has_its_path_and_module_unless_it_has_its_own(void **state)
{
	uint32_t line = call(0, "f", "f.py", 3), other = call(0, "g", "f.py", 9);

	(void)state;
	begin(1, &(struct op){.tid = 1, .id = 1, .stack = line, .module = "net"});
	is(begin(2, &(struct op){.tid = 1, .id = 2}), line, "net", 0);
	is(begin(3, &(struct op){.tid = 1, .id = 3, .module = "net.0"}), line, "net.0", 0);
	is(begin(4, &(struct op){.tid = 1, .id = 4, .stack = other}), other, "net.0", 0);
	end(5, 1, 3);
	is(kernel(6, 1, 1, 0), line, "net", 0);
	is(begin(7, &(struct op){.tid = 2, .id = 5}), 0, "", 0);
}

static void the_same_stack_is_that_of_the_operator_before_it_on_the_thread(void **state)
{
	uint32_t line = call(0, "f", "f.py", 3), other = call(0, "g", "f.py", 9);
	const uint32_t same = PASTA_OP_STACK_SAME;

	(void)state;
	is(begin(0, &(struct op){.tid = 1, .id = 1, .flags = same}), 0, "", 0);
	end(1, 1, 1);
	begin(2, &(struct op){.tid = 1, .id = 2, .stack = line});
	end(3, 1, 2);
	begin(4, &(struct op){.tid = 2, .id = 3, .stack = other});
	is(begin(5, &(struct op){.tid = 1, .id = 4, .flags = same}), line, "", 0);
	is(begin(6, &(struct op){.tid = 1, .id = 5, .flags = same}), line, "", 0);
	end(7, 1, 4);
	is(begin(8, &(struct op){.tid = 1, .id = 6}), 0, "", 0);
	end(9, 1, 6);
	/* There was none. */
	is(begin(10, &(struct op){.tid = 1, .id = 7, .flags = same}), 0, "", 0);
}

static void what_runs_backward_belongs_to_the_forward_operator_of_its_number(void **state)
{
	uint32_t line = call(0, "forward", "net.py", 3), loss = call(0, "train", "train.py", 9);
	const uint32_t back = PASTA_WHERE_BACKWARD;

	(void)state;
	begin(0, &(struct op){.tid = 1, .id = 1, .seq = 7, .stack = loss});
	/* Of two of one number it is the last: the other one only came before it. */
	begin(1, &(struct op){.tid = 1, .id = 2, .seq = 7, .stack = line, .module = "net.0"});
	end(2, 1, 1);
	/* On a thread that has no Python. */
	is(begin(3, &(struct op){.tid = 2, .id = 3, .seq = 7}), line, "net.0", back);
	is(kernel(4, 2, 1, 0), line, "net.0", back);
	is(begin(5, &(struct op){.tid = 2, .id = 4}), line, "net.0", back);
	is(kernel(6, 2, 2, 0), line, "net.0", back);
	end(7, 2, 3);
	is(begin(8, &(struct op){.tid = 2, .id = 5, .seq = 8}), 0, "", 0);
	end(9, 2, 5);
	/* On the thread that called backward: the source reports it. */
	begin(10,
	      &(struct op){.tid = 1, .id = 6, .seq = 7, .stack = loss, .flags = PASTA_OP_BACKWARD});
	is(kernel(11, 1, 3, loss), line, "net.0", back);
	is(begin(12, &(struct op){.tid = 1, .id = 7, .seq = 8, .stack = loss}), line, "net.0",
	   back);
	end(13, 1, 6);
	is(kernel(14, 1, 4, 0), 0, "", 0);
	/* It does not take the place of the forward one. */
	is(begin(15, &(struct op){.tid = 2, .id = 8, .seq = 7}), line, "net.0", back);
	end(16, 2, 8);
	/* Without a forward one, it is where it is. */
	is(begin(17, &(struct op){.tid = 1,
				  .id = 9,
				  .seq = 99,
				  .stack = loss,
				  .module = "m",
				  .flags = PASTA_OP_BACKWARD}),
	   loss, "m", back);
}

static void numbers_of_another_process_are_others(void **state)
{
	uint32_t line = call(0, "forward", "net.py", 3);

	(void)state;
	begin(0, &(struct op){.tid = 1, .id = 1, .seq = 7, .stack = line});
	is(begin(1, &(struct op){.proc = 1, .tid = 2, .id = 1, .seq = 7}), 0, "", 0);
	is(begin(2, &(struct op){.tid = 2, .id = 2, .seq = 7}), line, "", PASTA_WHERE_BACKWARD);
}

static void modules_alone_are_found_too(void **state)
{
	(void)state;
	begin(0, &(struct op){.tid = 1, .id = 1, .seq = 7, .module = "a"});
	is(begin(1, &(struct op){.tid = 1, .id = 2, .seq = 7, .module = "a.b"}), 0, "a.b", 0);
	is(begin(2, &(struct op){.tid = 1, .id = 3, .seq = 7}), 0, "a.b", 0);
	is(begin(3, &(struct op){.tid = 2, .id = 4, .seq = 7}), 0, "a.b", PASTA_WHERE_BACKWARD);
}

static void a_region_inside_an_operator_is_where_that_is(void **state)
{
	uint32_t line = call(0, "f", "f.py", 3);
	struct pasta_event region = EVENT(region, REGION, 0, 1, 1);

	(void)state;
	region.sub = PASTA_REGION_BEGIN;
	region.region.name = id("r");
	begin(0, &(struct op){.tid = 1, .id = 1, .stack = line, .module = "m"});
	send_event(&region);
	is(kernel(2, 1, 1, 0), line, "m", 0);
	end(3, 1, 1);
	is(kernel(4, 1, 2, 0), 0, "", 0);
}

/* -- The table of forward operators -- */

static void the_last_million_numbers_are_stored_and_older_ones_expire(void **state)
{
	struct pasta_forward_ops f = {0};
	const uint64_t max = PASTA_FORWARD_OPS_MAX, first = 5, last = first + max + 99;
	size_t all = 0;
	bool expired;

	(void)state;
	assert_null(pasta_forward_ops_find(&f, 1, &expired));
	assert_false(expired);
	for (uint64_t seq = first; seq <= last; seq++) {
		const struct pasta_forward_op forward = {.seq = seq, .python = 1};

		assert_int_equal(pasta_forward_ops_add(&f, &forward, &all), 0);
	}
	for (uint64_t seq = 1; seq <= last + 10; seq++) {
		const struct pasta_forward_op *found = pasta_forward_ops_find(&f, seq, &expired);

		assert_int_equal(found != NULL, seq > last - max && seq <= last);
		assert_int_equal(expired, seq <= last - max);
		assert_true(!found || found->seq == seq);
	}
	assert_int_equal(f.mask + 1, max);
	assert_int_equal(all, max);
	pasta_forward_ops_free(&f);
}

static void distant_sequence_numbers_are_all_stored_while_memory_lasts(void **state)
{
	struct pasta_forward_ops f = {0};
	size_t all = 0;
	bool expired;

	(void)state;
	for (uint64_t seq = 3; seq < 1 << 19; seq += 1024)
		assert_int_equal(
			pasta_forward_ops_add(&f, &(struct pasta_forward_op){.seq = seq}, &all), 0);
	for (uint64_t seq = 1; seq < 1 << 19; seq++) {
		assert_int_equal(pasta_forward_ops_find(&f, seq, &expired) != NULL,
				 seq % 1024 == 3);
		assert_false(expired);
	}
	pasta_forward_ops_free(&f);
}

static void threads_that_all_count_from_one_are_not_in_each_others_way(void **state)
{
	const uint64_t threads = 16, each = 1000;
	struct pasta_forward_ops f = {0};
	size_t all = 0;
	bool expired;

	(void)state;
	for (uint64_t seq = 1; seq <= each; seq++)
		for (uint64_t thread = 0; thread < threads; thread++)
			assert_int_equal(pasta_forward_ops_add(&f,
							       &(struct pasta_forward_op){
								       .seq = thread << 40 | seq},
							       &all),
					 0);
	for (uint64_t seq = 1; seq <= each; seq++)
		for (uint64_t thread = 0; thread < threads; thread++)
			assert_non_null(pasta_forward_ops_find(&f, thread << 40 | seq, &expired));
	assert_null(pasta_forward_ops_find(&f, threads << 40 | 1, &expired));
	assert_true(f.mask < PASTA_FORWARD_OPS_MAX / 4);
	pasta_forward_ops_free(&f);
}

static void processes_at_their_share_retain_what_they_have(void **state)
{
	struct pasta_forward_ops f = {0};
	size_t all = PASTA_FORWARD_OPS_ALL - 500, count;
	bool expired;

	(void)state;
	for (uint64_t seq = 1; seq <= 5000; seq++)
		assert_int_equal(
			pasta_forward_ops_add(&f, &(struct pasta_forward_op){.seq = seq}, &all), 0);
	assert_in_range(all, PASTA_FORWARD_OPS_ALL - 500, PASTA_FORWARD_OPS_ALL);
	count = f.mask + 1;
	assert_int_equal(count, 256);
	for (uint64_t seq = 1; seq <= 5000; seq++) {
		assert_int_equal(pasta_forward_ops_find(&f, seq, &expired) != NULL,
				 seq > 5000 - count);
		assert_int_equal(expired, seq <= 5000 - count);
	}
	pasta_forward_ops_free(&f);
}

/* -- Random operators, against a search through all that began -- */

enum { THREADS = 4, DEPTH = 6, RANDOM_OPS = 400 };

struct seen {
	struct op op;
	struct seen *up;
	uint32_t stack;	     /* its own, or the one it reports for the operator before it */
	uint32_t outer;	     /* flags of what is around it, when it began */
	struct received at;  /* when it began */
	struct received now; /* the same, or what the last backward one inside of it had */
	bool forward;	     /* it can be what a backward one belongs to */
	bool is_joined;	     /* it is a backward one, whose forward one is known */
};
static struct seen seen[RANDOM_OPS];

static const struct seen *last_forward(size_t before, uint64_t seq)
{
	while (before-- > 0)
		if (seen[before].forward && seen[before].op.seq == seq)
			return &seen[before];
	return NULL;
}

/* Its thread has had a path or a module outside the backward pass, up to and with it. */
static bool on_forward_thread(size_t i)
{
	for (size_t k = 0; k <= i; k++)
		if (seen[k].op.tid == seen[i].op.tid && (seen[k].stack || seen[k].op.module) &&
		    !(seen[k].op.flags & PASTA_OP_BACKWARD) && !seen[k].outer)
			return true;
	return false;
}

static void expect(size_t i)
{
	struct seen *s = &seen[i];
	const struct received none = {0}, *up = s->up ? &s->up->now : &none;
	const struct seen *forward = s->op.seq ? last_forward(i, s->op.seq) : NULL;
	uint32_t module = id(s->op.module);

	s->outer = up->flags;
	s->at.module = module ? module : up->module;
	s->at.flags = up->flags;
	if (s->op.flags & PASTA_OP_BACKWARD)
		s->at.flags = PASTA_WHERE_BACKWARD;
	if (!s->at.flags && (!s->op.seq || on_forward_thread(i))) {
		s->at.python = s->stack ? s->stack : up->python;
		s->forward = s->op.seq && (s->at.python || s->at.module);
		return;
	}
	s->at.python = s->stack && !(up->flags && up->python) ? s->stack : up->python;
	if (!forward)
		return;
	s->is_joined = true;
	s->at.flags = PASTA_WHERE_BACKWARD;
	s->at.python = forward->at.python ? forward->at.python : up->python;
	s->at.module = forward->at.module ? forward->at.module : up->module;
}

/* What comes after a backward one, in the same operator, is for the same forward one. */
static void expect_after(struct seen *s)
{
	if (s->is_joined && s->up && !s->up->is_joined)
		s->up->now = s->at;
}

static void send_random_operators(void)
{
	static const char *const modules[] = {NULL, NULL, "a", "a.b", "a.c"};
	struct {
		struct seen *open[DEPTH], *last;
		size_t depth;
	} threads[THREADS] = {0};
	uint64_t time = 0;

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < RANDOM_OPS; time++) {
		uint32_t t = (uint32_t)random_below(THREADS);
		size_t depth = threads[t].depth;
		struct seen *s = &seen[i];
		struct received got;

		if (depth == DEPTH || (depth && random_below(3) == 0)) {
			end(time, t, threads[t].open[depth - 1]->op.id);
			expect_after(threads[t].open[depth - 1]);
			threads[t].depth--;
			continue;
		}
		s->op = (struct op){.tid = t, .id = i + 1, .seq = random_below(30)};
		if (t < THREADS - 1 || random_below(40) == 0) {
			s->op.module = modules[random_below(5)];
			s->op.flags = random_below(5) == 0 ? PASTA_OP_BACKWARD : 0;
			s->op.flags |= random_below(3) == 0 ? PASTA_OP_STACK_SAME : 0;
			if (!(s->op.flags & PASTA_OP_STACK_SAME) && random_below(3))
				s->op.stack = call(0, "f", "f.py", (uint32_t)random_below(9) + 1);
		}
		s->stack = s->op.flags & PASTA_OP_STACK_SAME
				   ? (threads[t].last ? threads[t].last->stack : 0)
				   : s->op.stack;
		s->up = depth ? threads[t].open[depth - 1] : NULL;
		expect(i++);
		s->now = s->at;
		got = begin(time, &s->op);
		is(got, s->at.python, pasta_str(s->at.module), s->at.flags);
		is(kernel(time, t, i, 0), s->at.python, pasta_str(s->at.module), s->at.flags);
		threads[t].open[threads[t].depth++] = threads[t].last = s;
	}
}

static void random_operators_are_attributed_as_by_a_linear_search(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		start_over(NULL);
		received_count = 0;
		send_random_operators();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(work_without_a_path_of_its_own_has_that_of_its_operator),
		CASE(an_operator_inside_another_has_its_path_and_module_unless_it_has_its_own),
		CASE(the_same_stack_is_that_of_the_operator_before_it_on_the_thread),
		CASE(what_runs_backward_belongs_to_the_forward_operator_of_its_number),
		CASE(numbers_of_another_process_are_others),
		CASE(modules_alone_are_found_too),
		CASE(a_region_inside_an_operator_is_where_that_is),
		cmocka_unit_test(the_last_million_numbers_are_stored_and_older_ones_expire),
		cmocka_unit_test(distant_sequence_numbers_are_all_stored_while_memory_lasts),
		cmocka_unit_test(threads_that_all_count_from_one_are_not_in_each_others_way),
		cmocka_unit_test(processes_at_their_share_retain_what_they_have),
		CASE(random_operators_are_attributed_as_by_a_linear_search),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
