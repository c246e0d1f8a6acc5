/*
 * nesting.h - tracks the open regions and operators of each thread, and delivers a start and an end
 * for each.
 *
 * Only one thread at a time may call these functions.
 */
#ifndef PASTA_PROCESS_NESTING_H
#define PASTA_PROCESS_NESTING_H

#include <stdbool.h>
#include <stddef.h>

#include <pasta/pasta.h>

#include "process/join/fwdops.h"
#include "process/join/outqueue.h"

/* Maximum depth of regions whose missing starts the correlator supplies. */
#define PASTA_NEST_DEPTH 1024
/* Maximum depth of regions and operators that have their own scope. Deeper regions and operators
 * have the scope at this depth. */
#define PASTA_NEST_SCOPES 16384

/* The current iteration of a process, and the number of its latest launch. */
struct pasta_progress {
	uint64_t iteration, launch;
};

/* Data that all threads share. Zero the struct before use. */
struct pasta_nesting {
	struct pasta_outqueue *out; /* receives the events */
	struct pasta_map *scopes;   /* const struct pasta_scope *, by pasta_scope_key */
	uint64_t pairs;		    /* number of start and end pairs so far */
	size_t forwards; /* number of slots for forward operators of all processes, see fwdops.h */
	uint32_t dropped_name; /* name of regions whose start was dropped */
	bool failed;	       /* out of memory */
};

int pasta_nesting_open(struct pasta_nesting *n, struct pasta_outqueue *out); /* 0 or -ENOMEM */
void pasta_nesting_close(struct pasta_nesting *n);

/* An open region or operator. */
struct pasta_nest_frame {
	const struct pasta_scope *scope;
	/* Id of the operator; for a region, the id of the innermost operator around it. */
	uint64_t op;
	/* Attribution of the start event and the end event of the region or operator. */
	struct pasta_where began;
	uint64_t pair;
	uint32_t name, domain;
	uint32_t depth; /* depth of an operator, according to its start event; 0 if unknown */
	/* Values of struct pasta_where for events inside this region or operator. */
	uint32_t python, module, flags;
	bool is_op,
		joined; /* `joined`: whether the operator is attributed to its forward operator */
	bool inside_op; /* an operator is open around this region or operator */
	/* ns in which this region or operator was innermost, and ns of regions that have ended
	 * inside this one and inside an operator */
	uint64_t self;
};

/* The open regions and operators of a thread. Zero the struct before use, and set tid. */
struct pasta_nest {
	struct pasta_nest_frame *frames;
	size_t depth, room;
	size_t regions; /* number of open regions */
	/* Number of regions that were ended early, together with an outer region, and whose own end
	 * events have not been read yet. */
	uint64_t owed;
	uint32_t tid;
	uint32_t stack; /* call path of the thread's last operator */
	bool forward;	/* whether the thread has had an operator with a call path or a module */
	bool timed;	/* whether the thread has had a region or an operator */
	/* the time up to which the thread's time is assigned to regions and operators */
	uint64_t assigned;
	uint64_t outside; /* ns since the last region or operator ended, while none is open */
};

/* Frees everything that `nest` points to, but not `nest` itself. */
void pasta_nest_free(struct pasta_nest *nest);

/* Writes the current attribution of a thread to *where. This is faster than returning a struct by
 * value: copying the struct would load fields that were just stored by narrower stores, which
 * stalls the CPU. */
static inline void pasta_nest_here(const struct pasta_nest *nest, const struct pasta_progress *now,
				   struct pasta_where *where)
{
	const struct pasta_nest_frame *f = nest->depth ? &nest->frames[nest->depth - 1] : NULL;

	*where = (struct pasta_where){.size = sizeof(*where),
				      .scope = f ? f->scope : NULL,
				      .scope_id = f && f->scope ? f->scope->id : 0,
				      .op = f ? f->op : 0,
				      .iteration = now->iteration,
				      .launch = now->launch,
				      .tid = nest->tid,
				      .flags = f ? f->flags : 0,
				      .python = f ? f->python : 0,
				      .module = f ? f->module : 0};
}

/* Handle an event of a region or an operator, and queue the resulting events. */
void pasta_nest_region(struct pasta_nesting *n, struct pasta_nest *nest,
		       const struct pasta_progress *now, const struct pasta_event *ev);
void pasta_nest_op_begin(struct pasta_nesting *n, struct pasta_nest *nest,
			 struct pasta_forward_ops *forwards, const struct pasta_progress *now,
			 const struct pasta_event *ev);
void pasta_nest_op_end(struct pasta_nesting *n, struct pasta_nest *nest,
		       const struct pasta_event *ev);
/* Ends all open regions and operators of a thread at the end of the input. ev->proc is the number
 * of the process. Regions end at time `last`, operators at time last_op. */
void pasta_nest_end(struct pasta_nesting *n, struct pasta_nest *nest, struct pasta_event ev,
		    uint64_t last, uint64_t last_op);

#endif
