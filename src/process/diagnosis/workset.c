/* workset.c - adds up the work of a run by kernel, operator, layer and phase. */
#include <errno.h>
#include <stdlib.h>

#include "process/diagnosis/occupancy.h"
#include "process/diagnosis/workset.h"

#define DEFINE_WORKSET_GROUP(name, row)                                                            \
	static const struct pasta_member name##_members[] = {PASTA_KEY(row), {0}};                 \
	static const struct pasta_group_def name = {                                               \
		.size = sizeof(struct pasta_group_def),                                            \
		.row_size = sizeof(row),                                                           \
		.key_size = sizeof(((row *)0)->key),                                               \
		.member_size = sizeof(struct pasta_member),                                        \
		.members = name##_members,                                                         \
	}
DEFINE_WORKSET_GROUP(workset_rows, struct pasta_workrow);
DEFINE_WORKSET_GROUP(workset_modules, struct pasta_workmodule);

struct pasta_workset *pasta_workset_new(void)
{
	struct pasta_workset *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->rows = pasta_group_new(&workset_rows, NULL, NULL);
	w->modules = pasta_group_new(&workset_modules, NULL, NULL);
	w->calls = pasta_workcalls_new(w);
	w->layers = pasta_layers_new();
	w->chains = pasta_chains_new();
	w->busy = pasta_map_new(sizeof(uint64_t));
	if (w->rows && w->modules && w->calls && w->layers && w->chains && w->busy)
		return w;
	pasta_workset_free(w);
	return NULL;
}

void pasta_workset_free(struct pasta_workset *w)
{
	if (!w)
		return;
	pasta_workresult_free(&w->result);
	pasta_map_free(w->busy);
	pasta_chains_free(w->chains);
	pasta_layers_free(w->layers);
	pasta_workcalls_free(w->calls);
	pasta_group_free(w->modules);
	pasta_group_free(w->rows);
	free(w);
}

void pasta_workset_fail(struct pasta_workset *w)
{
	w->error = -ENOMEM;
}

int pasta_workset_error(const struct pasta_workset *w)
{
	int error = w->error ? w->error : pasta_group_error(w->rows);

	if (!error)
		error = pasta_group_error(w->modules);
	if (!error)
		error = pasta_layers_error(w->layers);
	return error ? error : pasta_chains_error(w->chains);
}

/* -- Rows -- */

struct pasta_workrow *pasta_workset_add(struct pasta_workset *w, const struct pasta_workitem *item,
					const struct pasta_workop *op)
{
	struct pasta_workkey key = item->key;
	struct pasta_workrow *row;

	if (op) {
		key.op = op->key.name;
		key.inputs = op->key.inputs;
		key.scalars = op->key.scalars;
	}
	row = pasta_group_row(w->rows, &key);
	if (pasta_group_error(w->rows))
		return NULL;
	if (!row->launches) {
		memcpy(row->grid, item->grid, sizeof(row->grid));
		memcpy(row->block, item->block, sizeof(row->block));
	}
	if (!row->op || row->op->f.rank == PASTA_FORMULA_NONE)
		row->op = op;
	if (!row->launches || row->last_step != item->step)
		row->steps++;
	row->last_step = item->step;
	row->launches++;
	row->ns += item->ns;
	row->wait += item->wait;
	row->tail += item->tail;
	return row;
}

static void workset_add_row(struct pasta_workrow *to, const struct pasta_workrow *from)
{
	if (!to->launches) {
		memcpy(to->grid, from->grid, sizeof(to->grid));
		memcpy(to->block, from->block, sizeof(to->block));
	}
	if (!to->op || to->op->f.rank == PASTA_FORMULA_NONE)
		to->op = from->op;
	to->calls += from->calls;
	to->launches += from->launches;
	to->ns += from->ns;
	to->steps += from->steps;
	to->wait += from->wait;
	to->flops += from->flops;
	to->bytes += from->bytes;
	to->tail += from->tail;
}

/* -- Events -- */

static enum pasta_work_part workset_part(uint64_t step)
{
	return step == PASTA_NO_STEP ? PASTA_WORK_OUTSIDE
	       : step < 2	     ? (enum pasta_work_part)step
				     : PASTA_WORK_STEPS;
}

static uint32_t workset_device(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_KERNEL ? ev->kernel.device
	       : ev->kind == PASTA_KIND_COPY ? ev->copy.device
					     : ev->set.device;
}

/* Returns the time for which the device was idle before this work, if the work was launched after
 * the device had become idle. */
static uint64_t workset_wait(struct pasta_workset *w, const struct pasta_event *ev,
			     const struct pasta_where *where)
{
	uint64_t *busy = pasta_map_add(w->busy, (uint64_t)ev->proc << 32 | workset_device(ev));
	uint64_t end, wait = 0;

	if (!busy) {
		pasta_workset_fail(w);
		return 0;
	}
	if (*busy && where->flags & PASTA_WHERE_LAUNCH && where->launched > *busy &&
	    ev->time > *busy)
		wait = ev->time - *busy;
	if (__builtin_add_overflow(ev->time, pasta_work_ns(ev), &end))
		end = UINT64_MAX;
	*busy = end > *busy ? end : *busy;
	return wait;
}

static void workset_set_kernel(struct pasta_workitem *item, const struct pasta_event *ev)
{
	const struct pasta_kernel_record *k = &ev->kernel;

	item->key.kernel = k->name;
	item->grid[0] = k->grid_x;
	item->grid[1] = k->grid_y;
	item->grid[2] = k->grid_z;
	item->block[0] = k->block_x;
	item->block[1] = k->block_y;
	item->block[2] = k->block_z;
	item->tail = pasta_occupancy_tail(ev->proc, k);
}

static void workset_work(struct pasta_workset *w, const struct pasta_event *ev,
			 const struct pasta_where *where, uint64_t step)
{
	struct pasta_layerplace place = pasta_layers_find(w->layers, ev, where);
	struct pasta_workitem item = {
		.key = {.proc = ev->proc,
			.device = workset_device(ev),
			.layer = place.layer,
			.fallback = place.fallback,
			.phase = pasta_layers_phase(w->layers, where),
			.part = workset_part(step)},
		.scope_op = where->scope && where->scope->op ? where->scope->op->name : 0,
		.op = where->flags & PASTA_WHERE_LAUNCH ? where->op : 0,
		.launched = where->launched,
		.step = step,
		.ns = pasta_work_ns(ev),
		.wait = workset_wait(w, ev, where),
	};

	if (ev->kind == PASTA_KIND_KERNEL)
		workset_set_kernel(&item, ev);
	if (place.module) {
		struct pasta_workmodule *m =
			PASTA_ROW(w->modules, struct pasta_workmodule, ev->proc, item.key.device,
				  place.layer, item.key.phase, place.module);

		m->parts |= 1u << item.key.part;
	}
	pasta_workcalls_work(w->calls, &item);
	pasta_chains_work(w->chains, &item);
}

void pasta_workset_event(struct pasta_workset *w, const struct pasta_event *ev,
			 const struct pasta_where *where, uint64_t step)
{
	switch (ev->kind) {
	case PASTA_KIND_OP_BEGIN:
		pasta_workcalls_begin(w->calls, ev);
		pasta_chains_begin(w->chains, ev,
				   pasta_workcalls_find(w->calls, ev->proc, ev->op_begin.id));
		break;
	case PASTA_KIND_OP_END:
		pasta_chains_end(w->chains, ev);
		pasta_workcalls_end(w->calls, ev);
		break;
	case PASTA_KIND_OP_ARG:
		pasta_chains_argument(w->chains, ev);
		break;
	case PASTA_KIND_TENSOR:
		pasta_chains_tensor(w->chains, ev);
		break;
	case PASTA_KIND_KERNEL:
	case PASTA_KIND_COPY:
	case PASTA_KIND_SET:
		workset_work(w, ev, where, step);
		break;
	}
}

void pasta_workset_restart(struct pasta_workset *w, uint32_t proc)
{
	struct pasta_workmodule *m;
	struct pasta_workrow *row;

	pasta_workcalls_flush(w->calls);
	for (size_t at = 0, end = pasta_group_count(w->rows); end--;) {
		struct pasta_workrow *to;
		struct pasta_workkey key;

		row = pasta_group_next(w->rows, &at);
		key = row->key;
		if (key.proc != proc || key.part == PASTA_WORK_OUTSIDE)
			continue;
		key.part = PASTA_WORK_OUTSIDE;
		to = pasta_group_row(w->rows, &key);
		if (pasta_group_error(w->rows))
			return;
		workset_add_row(to, row);
		memset((char *)row + sizeof(row->key), 0, sizeof(*row) - sizeof(row->key));
	}
	for (size_t at = 0; (m = pasta_group_next(w->modules, &at));)
		if (m->key.proc == proc && m->parts)
			m->parts = 1u << PASTA_WORK_OUTSIDE;
	pasta_chains_restart(w->chains, proc);
}

/* -- Merging -- */

int pasta_workset_merge(struct pasta_workset *w, struct pasta_workset *from)
{
	const struct pasta_workmodule *m;
	const struct pasta_workrow *row;

	pasta_workcalls_flush(from->calls);
	for (size_t at = 0; (row = pasta_group_next(from->rows, &at));) {
		struct pasta_workrow *to = pasta_group_row(w->rows, &row->key);
		const struct pasta_workop *op = row->op;

		if (pasta_group_error(w->rows))
			break;
		workset_add_row(to, row);
		to->last_step = row->last_step;
		to->op =
			!op ? NULL
			    : pasta_workcalls_op(w->calls, op->key.name, op->key.inputs,
						 op->key.scalars, op->key.strides, op->key.outputs);
	}
	for (size_t at = 0; (m = pasta_group_next(from->modules, &at));) {
		struct pasta_workmodule *to = pasta_group_row(w->modules, &m->key);

		to->parts |= m->parts;
	}
	pasta_chains_merge(w->chains, from->chains);
	if (pasta_workset_error(from))
		pasta_workset_fail(w);
	return pasta_workset_error(w);
}

int pasta_workset_finish(struct pasta_workset *w, uint64_t (*first_step)(void *ctx, uint32_t proc),
			 void *ctx)
{
	int error;

	pasta_workcalls_flush(w->calls);
	error = pasta_workset_error(w);
	if (!error)
		error = pasta_workresult_fill(w, first_step, ctx);
	return error;
}
