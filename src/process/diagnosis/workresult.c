/* workresult.c - the rows and layers that tools see: the work of the window, with its bounds. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "process/diagnosis/kernelkind.h"
#include "process/diagnosis/workset.h"

/* The share of a peak from which on the peak limits a layer. */
#define BOUND_SHARE 0.6

/* A row of the result, with the parts of the window and the fallbacks for layers merged. */
struct resultrow {
	struct {
		uint32_t proc, device, kernel, op, inputs, scalars, layer, phase;
	} key;
	const struct pasta_workop *op;
	struct pasta_work work;
	uint64_t wait;
};

struct resultlayer {
	struct {
		uint32_t proc, device, layer, phase;
	} key;
	struct pasta_layer layer;
	uint64_t known, collective; /* ns with a roof, and of collectives */
};

static const struct pasta_member result_row_members[] = {PASTA_KEY(struct resultrow), {0}};
static const struct pasta_member result_layer_members[] = {PASTA_KEY(struct resultlayer), {0}};
static const struct pasta_group_def result_rows = {
	.size = sizeof(struct pasta_group_def),
	.row_size = sizeof(struct resultrow),
	.key_size = sizeof(((struct resultrow *)0)->key),
	.member_size = sizeof(struct pasta_member),
	.members = result_row_members,
};
static const struct pasta_group_def result_layers = {
	.size = sizeof(struct pasta_group_def),
	.row_size = sizeof(struct resultlayer),
	.key_size = sizeof(((struct resultlayer *)0)->key),
	.member_size = sizeof(struct pasta_member),
	.members = result_layer_members,
};

struct workresult_fill {
	struct pasta_workset *w;
	struct pasta_workview view;
	struct pasta_group *rows, *layers;
};

/* Returns the mask of the parts of a process that are in the window. */
static uint32_t result_parts(const struct pasta_workview *view, uint32_t proc)
{
	uint64_t first = view->first_step(view->ctx, proc);

	if (first == PASTA_NO_STEP)
		return UINT32_MAX;
	return 1u << PASTA_WORK_STEPS | (first <= 1 ? 1u << PASTA_WORK_STEP_1 : 0) |
	       (first == 0 ? 1u << PASTA_WORK_STEP_0 : 0);
}

bool pasta_workview_has(const struct pasta_workview *view, uint32_t proc, uint32_t part)
{
	return result_parts(view, proc) >> part & 1;
}

bool pasta_workview_steps(const struct pasta_workview *view, uint32_t proc)
{
	return view->first_step(view->ctx, proc) != PASTA_NO_STEP;
}

uint32_t pasta_workview_layer(const struct pasta_workview *view, uint32_t proc, uint32_t layer,
			      uint32_t fallback)
{
	return layer || pasta_map_find(view->modular, proc) ? layer : fallback;
}

/* -- Rows -- */

static uint32_t result_flags(const struct resultrow *row)
{
	uint32_t named = row->key.kernel ? pasta_kernelkind_flags(pasta_str(row->key.kernel)) : 0;
	uint32_t rank = row->op ? row->op->f.rank : PASTA_FORMULA_NONE;

	if (!row->key.kernel || rank == PASTA_FORMULA_NONE)
		return named;
	/* The operator is more reliable than the kernel's name. */
	named &= ~(uint32_t)(PASTA_WORK_MATRIX | PASTA_WORK_ELEMENTWISE);
	return named | (rank == PASTA_FORMULA_MATRIX ? PASTA_WORK_MATRIX : 0) |
	       (row->op->f.elementwise ? PASTA_WORK_ELEMENTWISE : 0);
}

static void result_add_row(struct workresult_fill *r, const struct pasta_workrow *from)
{
	const struct pasta_workkey *k = &from->key;
	uint32_t layer = pasta_workview_layer(&r->view, k->proc, k->layer, k->fallback);
	struct resultrow *row = PASTA_ROW(r->rows, struct resultrow, k->proc, k->device, k->kernel,
					  k->op, k->inputs, k->scalars, layer, k->phase);
	struct pasta_work *work = &row->work;

	if (!work->launches) {
		memcpy(work->grid, from->grid, sizeof(work->grid));
		memcpy(work->block, from->block, sizeof(work->block));
	}
	row->op = row->op ? row->op : from->op;
	row->wait += from->wait;
	work->calls += from->calls;
	work->launches += from->launches;
	work->ns += from->ns;
	if (pasta_workview_steps(&r->view, k->proc))
		work->steps += from->steps;
	work->flops += from->flops;
	work->bytes += from->bytes;
	work->tail += from->tail;
}

/* Returns the rate at which a device computes the row's FLOPs at most, or 0. */
static double result_peak(const struct pasta_work *work, const struct pasta_peaks *peaks)
{
	const char *type = pasta_str(work->dtype);

	if (!strcmp(type, "float64") || !strcmp(type, "complex128"))
		return peaks->fp64;
	if (!(work->flags & PASTA_WORK_MATRIX))
		return peaks->fp32;
	if (!strcmp(type, "float32") || !strcmp(type, "complex64"))
		return work->flags & PASTA_WORK_TENSOR_CORE && peaks->tf32 > 0 ? peaks->tf32
									       : peaks->fp32;
	return !strcmp(type, "float16") || !strcmp(type, "bfloat16") ? peaks->half : 0;
}

/* Completes a row, and sets the least ns for its bytes and for its FLOPs alone. */
static void result_complete(struct resultrow *row, double *memory, double *compute)
{
	const struct pasta_peaks *peaks = pasta_device_peaks(row->key.proc, row->key.device);
	struct pasta_work *work = &row->work;
	double peak;

	work->size = sizeof(*work);
	work->proc = row->key.proc;
	work->device = row->key.device;
	work->kernel = row->key.kernel;
	work->op = row->key.op;
	work->inputs = row->key.inputs;
	work->scalars = row->key.scalars;
	work->layer = row->key.layer;
	work->phase = row->key.phase;
	work->dtype = row->op ? row->op->dtype : 0;
	work->flags = result_flags(row);
	peak = result_peak(work, peaks);
	*memory = peaks->memory > 0 ? work->bytes / peaks->memory * 1e9 : 0;
	*compute = peak > 0 ? work->flops / peak * 1e9 : 0;
	/* Without one of the two peaks, or without the bytes, the roof may be far too low. */
	if (work->bytes <= 0 || peaks->memory <= 0 || (work->flops > 0 && peak <= 0))
		return;
	work->roof = fmax(*memory, *compute);
}

/* -- Layers -- */

static void result_add_layer(struct workresult_fill *r, const struct resultrow *row, double memory,
			     double compute)
{
	struct resultlayer *layer = PASTA_ROW(r->layers, struct resultlayer, row->key.proc,
					      row->key.device, row->key.layer, row->key.phase);
	double set = row->op ? row->op->f.working_set : 0;
	struct pasta_layer *l = &layer->layer;

	l->ns += row->work.ns;
	l->launches += row->work.launches;
	l->flops += row->work.flops;
	l->bytes += row->work.bytes;
	l->roof += row->work.roof;
	l->memory += memory;
	l->compute += compute;
	l->wait += row->wait;
	if (set > (double)l->working_set && set < 0x1p63)
		l->working_set = (uint64_t)set;
	if (row->work.roof > 0)
		layer->known += row->work.ns;
	if (row->work.flags & PASTA_WORK_COLLECTIVE)
		layer->collective += row->work.ns;
}

/* Half of the layer's time must have a formula before the layer counts as limited by latency. */
static uint32_t result_bound(const struct resultlayer *layer)
{
	const struct pasta_layer *l = &layer->layer;
	double ns = (double)l->ns;

	if (l->wait > l->ns)
		return PASTA_BOUND_LAUNCH;
	if ((double)layer->collective >= BOUND_SHARE * ns && layer->collective)
		return PASTA_BOUND_COMMUNICATION;
	if (fmax(l->memory, l->compute) >= BOUND_SHARE * ns && layer->known)
		return l->memory >= l->compute ? PASTA_BOUND_MEMORY : PASTA_BOUND_COMPUTE;
	return layer->known && (double)layer->known >= ns / 2 ? PASTA_BOUND_LATENCY
							      : PASTA_BOUND_UNKNOWN;
}

static void result_count_modules(struct workresult_fill *r)
{
	const struct pasta_workmodule *m;

	for (size_t at = 0; (m = pasta_group_next(r->w->modules, &at));) {
		uint32_t key[4] = {m->key.proc, m->key.device, m->key.layer, m->key.phase};
		struct resultlayer *layer;

		if (!(m->parts & result_parts(&r->view, m->key.proc)))
			continue;
		layer = pasta_group_find(r->layers, key);
		if (layer)
			layer->layer.count++;
	}
}

/* -- Order -- */

static int result_compare_text(uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(pasta_str(a), pasta_str(b));
}

static int result_compare_work(const void *left, const void *right)
{
	const struct pasta_work *a = left, *b = right;
	int order;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->proc != b->proc)
		return a->proc < b->proc ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	order = result_compare_text(a->kernel, b->kernel);
	order = order ? order : result_compare_text(a->op, b->op);
	order = order ? order : result_compare_text(a->layer, b->layer);
	order = order ? order : result_compare_text(a->inputs, b->inputs);
	return order ? order : result_compare_text(a->scalars, b->scalars);
}

static int result_compare_layer(const void *left, const void *right)
{
	const struct pasta_layer *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->proc != b->proc)
		return a->proc < b->proc ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	return result_compare_text(a->layer, b->layer);
}

/* -- All -- */

static int result_copy(struct workresult_fill *r)
{
	struct pasta_workresult *to = &r->w->result;
	struct resultlayer *layer;
	struct resultrow *row;

	to->works = calloc(pasta_group_count(r->rows) + 1, sizeof(*to->works));
	to->layers = calloc(pasta_group_count(r->layers) + 1, sizeof(*to->layers));
	if (!to->works || !to->layers)
		return -ENOMEM;
	for (size_t at = 0; (row = pasta_group_next(r->rows, &at));)
		to->works[to->work_count++] = row->work;
	for (size_t at = 0; (layer = pasta_group_next(r->layers, &at));) {
		layer->layer.size = sizeof(layer->layer);
		layer->layer.proc = layer->key.proc;
		layer->layer.device = layer->key.device;
		layer->layer.layer = layer->key.layer;
		layer->layer.phase = layer->key.phase;
		layer->layer.bound = result_bound(layer);
		to->layers[to->layer_count++] = layer->layer;
	}
	qsort(to->works, to->work_count, sizeof(*to->works), result_compare_work);
	qsort(to->layers, to->layer_count, sizeof(*to->layers), result_compare_layer);
	return 0;
}

static int result_compute(struct workresult_fill *r)
{
	const struct pasta_workmodule *m;
	const struct pasta_workrow *from;
	struct resultrow *row;
	double memory, compute;

	for (size_t at = 0; (m = pasta_group_next(r->w->modules, &at));)
		if (!pasta_map_add(r->view.modular, m->key.proc))
			return -ENOMEM;
	for (size_t at = 0; (from = pasta_group_next(r->w->rows, &at));)
		if (from->launches && pasta_workview_has(&r->view, from->key.proc, from->key.part))
			result_add_row(r, from);
	for (size_t at = 0; (row = pasta_group_next(r->rows, &at));) {
		result_complete(row, &memory, &compute);
		result_add_layer(r, row, memory, compute);
	}
	if (pasta_group_error(r->rows) || pasta_group_error(r->layers))
		return -ENOMEM;
	result_count_modules(r);
	return result_copy(r);
}

int pasta_workresult_fill(struct pasta_workset *w, uint64_t (*first_step)(void *ctx, uint32_t proc),
			  void *ctx)
{
	struct workresult_fill r = {.w = w, .view = {.first_step = first_step, .ctx = ctx}};
	int error = -ENOMEM;

	r.rows = pasta_group_new(&result_rows, NULL, NULL);
	r.layers = pasta_group_new(&result_layers, NULL, NULL);
	r.view.modular = pasta_map_new(sizeof(uint32_t));
	if (r.rows && r.layers && r.view.modular)
		error = result_compute(&r);
	if (!error)
		error = pasta_chains_fill(w->chains, &w->result, &r.view);
	pasta_map_free(r.view.modular);
	pasta_group_free(r.layers);
	pasta_group_free(r.rows);
	return error;
}

void pasta_workresult_free(struct pasta_workresult *r)
{
	free(r->works);
	free(r->layers);
	free(r->chains);
}

/* -- SDK -- */

const struct pasta_work *pasta_diagnosis_work(struct pasta_diagnosis *d, size_t *at)
{
	const struct pasta_workresult *r = &d->work->result;

	return *at < r->work_count ? &r->works[(*at)++] : NULL;
}

const struct pasta_layer *pasta_diagnosis_layer(struct pasta_diagnosis *d, size_t *at)
{
	const struct pasta_workresult *r = &d->work->result;

	return *at < r->layer_count ? &r->layers[(*at)++] : NULL;
}

const char *pasta_bound_name(uint32_t bound)
{
	static const char *const names[] = {"unknown", "memory",	"compute",
					    "launch",  "communication", "latency"};

	return bound < sizeof(names) / sizeof(*names) ? names[bound] : NULL;
}
