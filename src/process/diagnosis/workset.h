/* workset.h - the parts of the workset: the work of a run by operator, kernel and layer. */
#ifndef PASTA_PROCESS_DIAGNOSIS_WORKSET_H
#define PASTA_PROCESS_DIAGNOSIS_WORKSET_H

#include "process/diagnosis/diagnosis.h"
#include "process/diagnosis/formula.h"
#include "process/sdk/group.h"

/* The part of the run to which work belongs. The window begins with step 0 or step 2. */
enum pasta_work_part {
	PASTA_WORK_STEP_0,
	PASTA_WORK_STEP_1,
	PASTA_WORK_STEPS, /* step 2 and all later steps */
	PASTA_WORK_OUTSIDE,
};

/* -- Formulas of calls (workcall.c) -- */

/* The texts of an operator's begin and end, and its work. */
struct pasta_workop {
	struct {
		uint32_t name, inputs, scalars, strides, outputs;
	} key;
	uint32_t dtype; /* interned */
	struct pasta_formula f;
};

/* -- Rows (workset.c) -- */

/* The work of one kernel for the operators with the same texts. Identifies rows of pasta_work, but
 * with two more members: `fallback` is the layer if the process has no modules, and `part` is enum
 * pasta_work_part. */
struct pasta_workkey {
	uint32_t proc, device, kernel, op, inputs, scalars, layer, fallback, phase, part;
};

struct pasta_workrow {
	struct pasta_workkey key;
	const struct pasta_workop *op; /* NULL: there is no operator */
	uint32_t grid[3], block[3];    /* of the first launch */
	uint64_t calls, launches, ns;
	uint64_t steps, last_step; /* steps with launches; the number of the last one */
	uint64_t wait; /* ns for which the device was idle until the work was launched */
	double flops, bytes, tail;
};

/* The modules of a layer. */
struct pasta_workmodule {
	struct {
		uint32_t proc, device, layer, phase, module;
	} key;
	uint32_t parts; /* mask of 1 << enum pasta_work_part */
};

/* Work on a device. */
struct pasta_workitem {
	struct pasta_workkey key; /* without op, inputs and scalars */
	uint32_t scope_op;	  /* name of the innermost operator, if its call is not known */
	uint32_t module;
	uint32_t grid[3], block[3];
	uint64_t op; /* id of the innermost operator, or 0 */
	uint64_t launched, step, ns, wait;
	double tail;
};

/* -- Calls of operators (workcall.c) -- */

struct pasta_workcalls;
struct pasta_workcalls *pasta_workcalls_new(struct pasta_workset *w);
void pasta_workcalls_free(struct pasta_workcalls *c);
/* Adds an operator that has begun. */
void pasta_workcalls_begin(struct pasta_workcalls *c, const struct pasta_event *ev);
void pasta_workcalls_end(struct pasta_workcalls *c, const struct pasta_event *ev);
/* Adds work to the row of its operator. If the operator has not begun, because the clocks of host
 * and device differ, the work waits for the operator. */
void pasta_workcalls_work(struct pasta_workcalls *c, const struct pasta_workitem *item);
/* Divides the work of all calls so far among their kernels. */
void pasta_workcalls_flush(struct pasta_workcalls *c);
/* Returns the operator with these texts. NULL when out of memory. */
const struct pasta_workop *pasta_workcalls_op(struct pasta_workcalls *c, uint32_t name,
					      uint32_t inputs, uint32_t scalars, uint32_t strides,
					      uint32_t outputs);
/* Returns the operator of a call that is stored, or NULL. */
const struct pasta_workop *pasta_workcalls_find(struct pasta_workcalls *c, uint32_t proc,
						uint64_t id);

/* -- Layers (layer.c) -- */

/* The position of work in the model. */
struct pasta_layerplace {
	uint32_t module;   /* path of the module; 0: none */
	uint32_t layer;	   /* the same, with "*" in place of numbers */
	uint32_t fallback; /* line or operator, if there is no module */
};
struct pasta_layers;
struct pasta_layers *pasta_layers_new(void);
void pasta_layers_free(struct pasta_layers *l);
struct pasta_layerplace pasta_layers_find(struct pasta_layers *l, const struct pasta_event *ev,
					  const struct pasta_where *where);
/* Returns enum pasta_phase_of_training. */
uint32_t pasta_layers_phase(struct pasta_layers *l, const struct pasta_where *where);
int pasta_layers_error(const struct pasta_layers *l);

/* -- Results (workresult.c) -- */

struct pasta_workresult {
	struct pasta_work *works;
	struct pasta_layer *layers;
	struct pasta_chain *chains;
	size_t work_count, layer_count, chain_count;
};

/* Which parts of the run are in the window, and which processes have modules. */
struct pasta_workview {
	uint64_t (*first_step)(void *ctx, uint32_t proc);
	void *ctx;
	struct pasta_map *modular;
};
bool pasta_workview_has(const struct pasta_workview *view, uint32_t proc, uint32_t part);
/* Returns whether the process has steps. */
bool pasta_workview_steps(const struct pasta_workview *view, uint32_t proc);
uint32_t pasta_workview_layer(const struct pasta_workview *view, uint32_t proc, uint32_t layer,
			      uint32_t fallback);

/* -- Chains (chain.c) -- */

struct pasta_chains;
struct pasta_chains *pasta_chains_new(void);
void pasta_chains_free(struct pasta_chains *c);
int pasta_chains_error(const struct pasta_chains *c);
/* Adds an operator that has begun. `op` has its texts; NULL: not known. */
void pasta_chains_begin(struct pasta_chains *c, const struct pasta_event *ev,
			const struct pasta_workop *op);
void pasta_chains_argument(struct pasta_chains *c, const struct pasta_event *ev);
void pasta_chains_tensor(struct pasta_chains *c, const struct pasta_event *ev);
void pasta_chains_end(struct pasta_chains *c, const struct pasta_event *ev);
void pasta_chains_work(struct pasta_chains *c, const struct pasta_workitem *item);
void pasta_chains_restart(struct pasta_chains *c, uint32_t proc);
int pasta_chains_merge(struct pasta_chains *c, struct pasta_chains *from);
/* Sets the chains of the result. Returns 0 or -ENOMEM. */
int pasta_chains_fill(struct pasta_chains *c, struct pasta_workresult *to,
		      const struct pasta_workview *view);

/* -- Results (workresult.c) -- */

struct pasta_workset {
	struct pasta_group *rows, *modules;
	struct pasta_workcalls *calls;
	struct pasta_layers *layers;
	struct pasta_chains *chains;
	struct pasta_map *busy; /* by process and device: end of the latest work, uint64_t */
	struct pasta_workresult result;
	int error;
};

void pasta_workset_fail(struct pasta_workset *w);
/* Adds work to the row of a key. Returns the row, or NULL when out of memory. */
struct pasta_workrow *pasta_workset_add(struct pasta_workset *w, const struct pasta_workitem *item,
					const struct pasta_workop *op);
void pasta_workresult_free(struct pasta_workresult *r);
int pasta_workresult_fill(struct pasta_workset *w, uint64_t (*first_step)(void *ctx, uint32_t proc),
			  void *ctx);

#endif
