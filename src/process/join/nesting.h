/*
 * nesting.h - the regions and operators that are open on a thread, and their events in pairs.
 *
 * One thread at a time.
 */
#ifndef PASTA_PROCESS_NESTING_H
#define PASTA_PROCESS_NESTING_H

#include <stdbool.h>
#include <stddef.h>

#include <pasta/pasta.h>

#include "process/join/fwdops.h"
#include "process/join/outqueue.h"

#define PASTA_NEST_DEPTH 1024	/* for deeper regions no begins are supplied */
#define PASTA_NEST_SCOPES 16384 /* what is deeper is where that is */

/* Where a process is: its iteration, and the number of its latest launch. */
struct pasta_progress {
	uint64_t iteration, launch;
};

/* What all threads share. Zero it before use. */
struct pasta_nesting {
	struct pasta_outqueue *out; /* where events go */
	struct pasta_map *scopes;   /* const struct pasta_scope *, by pasta_scope_key */
	uint64_t pairs;		    /* that there were */
	size_t forwards;	    /* slots of all processes: see forward.h */
	uint32_t dropped_name;	    /* the name of regions whose begin was dropped */
	bool failed;		    /* memory has run out */
};

int pasta_nesting_open(struct pasta_nesting *n, struct pasta_outqueue *out); /* 0 or -ENOMEM */
void pasta_nesting_close(struct pasta_nesting *n);

/* A region or operator that has begun and not ended. */
struct pasta_nest_frame {
	const struct pasta_scope *scope;
	uint64_t op; /* id of the operator, or of the innermost one around the region */
	struct pasta_where began; /* where its begin and its end belong */
	uint64_t pair;
	uint32_t name, domain;
	uint32_t depth;			/* of an operator, as its begin says; 0: not known */
	uint32_t python, module, flags; /* as in struct pasta_where, of what is in it */
	bool is_op, joined;		/* joined: an operator whose forward operator is known */
};

/* A thread's. Zero it before use, but for tid. */
struct pasta_nest {
	struct pasta_nest_frame *frames;
	size_t depth, room;
	size_t regions; /* how many of the frames are */
	uint64_t owed;	/* ends to come, of regions that an outer one's end has ended */
	uint32_t tid;
	uint32_t stack; /* of its last operator */
	bool forward;	/* it has had an operator with a call path, or a module */
};

void pasta_nest_free(struct pasta_nest *nest); /* what is in it */

/* Where the thread is now. Filled in where it is to be: a copy of what has just been written, with
 * wider loads than the stores were, would wait for them. */
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

/* Events of regions and operators: what comes of them is given. */
void pasta_nest_region(struct pasta_nesting *n, struct pasta_nest *nest,
		       const struct pasta_progress *now, const struct pasta_event *ev);
void pasta_nest_op_begin(struct pasta_nesting *n, struct pasta_nest *nest,
			 struct pasta_forward_ops *forwards, const struct pasta_progress *now,
			 const struct pasta_event *ev);
void pasta_nest_op_end(struct pasta_nesting *n, struct pasta_nest *nest,
		       const struct pasta_event *ev);
/* No more events: ends for all that is open. ev has the process; regions end at last, operators at
 * last_op. */
void pasta_nest_end(struct pasta_nesting *n, struct pasta_nest *nest, struct pasta_event ev,
		    uint64_t last, uint64_t last_op);

#endif
