/* test_workset_nomem.c - refuses each allocation of the workset: it reports -ENOMEM, and does not
 * crash or leak. */
/* labels: onethread */
#include "unit/support.h"

#include "core/pending.h"
#include "process/diagnosis/occupancy.h"
#include "process/diagnosis/workset.h"

static int until = -1; /* requests until one is refused; -1: none is */

static bool refused(void)
{
	return until >= 0 && until-- == 0;
}

/* The files themselves, with these. */
#define malloc(size) (refused() ? NULL : malloc(size))
#define calloc(count, size) (refused() ? NULL : calloc(count, size))
#define reallocarray(old, count, size) (refused() ? NULL : reallocarray(old, count, size))
#define pasta_map_new(size) (refused() ? NULL : pasta_map_new(size))
#define pasta_map_add(map, key) (refused() ? NULL : pasta_map_add(map, key))
#define pasta_pending_new(size, limit) (refused() ? NULL : pasta_pending_new(size, limit))
#define pasta_pending_add(p, proc, id) (refused() ? NULL : pasta_pending_add(p, proc, id))
#define pasta_pending_renew(p, proc, id) (refused() ? NULL : pasta_pending_renew(p, proc, id))
#define pasta_group_new(def, opts, state) (refused() ? NULL : pasta_group_new(def, opts, state))
#define pasta_strings_add(bytes, size) (refused() ? 0 : pasta_strings_add(bytes, size))
#include "../../src/process/diagnosis/chain.c"
#include "../../src/process/diagnosis/layer.c"
#include "../../src/process/diagnosis/workcall.c"
#include "../../src/process/diagnosis/workresult.c"
#include "../../src/process/diagnosis/workset.c"
#undef malloc
#undef calloc
#undef reallocarray
#undef pasta_map_new
#undef pasta_map_add
#undef pasta_pending_new
#undef pasta_pending_add
#undef pasta_pending_renew
#undef pasta_group_new
#undef pasta_strings_add

static uint32_t id(const char *name)
{
	return pasta_strings_add(name, strlen(name));
}

static uint64_t no_steps(void *ctx, uint32_t proc)
{
	(void)ctx;
	(void)proc;
	return PASTA_NO_STEP;
}

static void send(struct pasta_workset *w, struct pasta_event *ev, uint64_t op)
{
	const struct pasta_where where = {.size = sizeof(where),
					  .flags = PASTA_WHERE_LAUNCH,
					  .op = op,
					  .launched = op,
					  .module = ev->kind == PASTA_KIND_KERNEL ? id("h.1") : 0};

	ev->size = sizeof(*ev);
	ev->tid = 1;
	pasta_workset_event(w, ev, &where, 0);
}

/* An operator with arguments and a kernel; for number 9, the kernel comes first. */
static void run(struct pasta_workset *w, uint64_t op)
{
	struct pasta_event begin = {.kind = PASTA_KIND_OP_BEGIN, .time = op};
	struct pasta_event end = {.kind = PASTA_KIND_OP_END};
	struct pasta_event kernel = {.kind = PASTA_KIND_KERNEL, .kernel = {.name = id("k")}};
	struct pasta_event tensor = {.kind = PASTA_KIND_TENSOR,
				     .tensor = {.id = op, .storage = op}};
	struct pasta_event in = {.kind = PASTA_KIND_OP_ARG, .sub = PASTA_OP_ARG_IN};
	struct pasta_event out = {.kind = PASTA_KIND_OP_ARG, .sub = PASTA_OP_ARG_OUT};

	begin.op_begin.id = end.op_end.id = in.op_arg.op = out.op_arg.op = op;
	begin.op_begin.name = id("aten::tanh");
	begin.op_begin.inputs = id("float[8]");
	end.op_end.outputs = id("float32[8]");
	kernel.kernel.dur = 10;
	in.op_arg.tensor = op - 1;
	out.op_arg.tensor = op;
	if (op == 9)
		send(w, &kernel, op);
	send(w, &tensor, 0);
	send(w, &begin, op);
	send(w, &in, op);
	send(w, &out, op);
	send(w, &end, op);
	if (op != 9)
		send(w, &kernel, op);
}

/* Returns the first error. */
static int everything(int requests)
{
	struct pasta_workset *w, *other;
	int error = -ENOMEM;

	until = requests;
	w = pasta_workset_new();
	other = w ? pasta_workset_new() : NULL;
	for (uint64_t op = 1; other && op < 12; op++)
		run(other, op);
	if (other)
		pasta_workset_restart(other, 0);
	for (uint64_t op = 21; other && op < 30; op++)
		run(other, op);
	if (other)
		error = pasta_workset_error(other);
	if (other && !error)
		error = pasta_workset_merge(w, other);
	pasta_workset_free(other);
	if (other && !error)
		error = pasta_workset_finish(w, no_steps, NULL);
	pasta_workset_free(w);
	return error;
}

static void each_refused_allocation_is_an_error(void **state)
{
	int requests = 0;

	(void)state;
	assert_int_equal(everything(-1), 0);
	for (;; requests++) {
		int error = everything(requests);

		if (until >= 0)
			break; /* fewer allocations than that */
		if (error != -ENOMEM)
			fail_msg("allocation %d was refused, and the result is %d", requests,
				 error);
	}
	until = -1;
	assert_true(requests > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_refused_allocation_is_an_error)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
