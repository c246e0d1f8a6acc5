/*
 * roctables.h - the tables of a rocprofv3 trace, which its records refer to by number.
 *
 * Names are kept as text, for most of them are of kernels and calls that never ran, and the shard
 * has only those that did. One thread at a time.
 */
#ifndef PASTA_IMPORT_ROCTABLES_H
#define PASTA_IMPORT_ROCTABLES_H

#include "import/trace.h"

/* A text of the tables, and its id of the shard: 0 until it is used. */
struct pasta_roctext {
	size_t at;
	uint32_t size, id;
};

struct pasta_rocagent {
	struct pasta_roctext name, product;
	uint64_t memory, uuid_hi, uuid_lo;
	uint32_t device; /* a GPU's number */
	uint32_t gfx, units, clock_mhz;
	bool gpu, described;
};

struct pasta_rocobject {
	struct pasta_roctext uri;
	uint64_t base, size, agent;
	uint64_t hash; /* of what is known of it, for its content is not in the file */
};

struct pasta_rocsymbol {
	struct pasta_roctext name;
	uint64_t object, address; /* address 0: not known */
	uint32_t registers;
};

struct pasta_roctables {
	struct pasta_map *agents;     /* struct pasta_rocagent, by handle */
	struct pasta_map *objects;    /* struct pasta_rocobject, by id */
	struct pasta_map *symbols;    /* struct pasta_rocsymbol, by kernel id */
	struct pasta_map *messages;   /* struct pasta_roctext, by correlation */
	struct pasta_map *kinds;      /* struct pasta_roctext, by number */
	struct pasta_map *operations; /* struct pasta_roctext, by kind << 32 | number */
	struct pasta_roctext command, host;
	uint64_t pid;

	/* roctables.c's own */
	struct pasta_trace *t;
	uint32_t gpus; /* numbers from here on are free */
	char *text;
	size_t text_size, text_capacity;
	struct pasta_rocsymbol **by_address; /* by object, then address */
	size_t by_address_count;
};

int pasta_roctables_open(struct pasta_roctables *x, struct pasta_trace *t);
void pasta_roctables_close(struct pasta_roctables *x);

/*
 * A row of a table is on the tape. NULL, or what is wrong with it. When memory runs out, that is
 * the trace's error, and not told here.
 */
const char *pasta_roctables_agent(struct pasta_roctables *x, const struct pasta_jsontape *tape);
const char *pasta_roctables_object(struct pasta_roctables *x, const struct pasta_jsontape *tape);
const char *pasta_roctables_symbol(struct pasta_roctables *x, const struct pasta_jsontape *tape);
const char *pasta_roctables_message(struct pasta_roctables *x, const struct pasta_jsontape *tape);
/* They are numbered as they come. */
const char *pasta_roctables_kind(struct pasta_roctables *x, const struct pasta_jsontape *tape);
/* It is one object. */
const char *pasta_roctables_metadata(struct pasta_roctables *x, const struct pasta_jsontape *tape);

/* The shard's id of a text; 0 for NULL and the empty one. */
uint32_t pasta_roctables_str(struct pasta_roctables *x, struct pasta_roctext *text);
static inline struct pasta_slice pasta_roctables_slice(const struct pasta_roctables *x,
						       const struct pasta_roctext *text)
{
	return text && text->size ? (struct pasta_slice){x->text + text->at, text->size}
				  : (struct pasta_slice){"", 0};
}

/* An agent, by handle; a GPU of a number of its own where the table has none. NULL: no memory. */
const struct pasta_rocagent *pasta_roctables_gpu(struct pasta_roctables *x, uint64_t handle);
/* The kernel whose code an offset in a code object is in, as far as its symbols tell: NULL if none
 * begins before it. */
struct pasta_rocsymbol *pasta_roctables_symbol_at(struct pasta_roctables *x, uint64_t object,
						  uint64_t offset);
/* Devices, modules and who the process is, once the tables are whole. */
void pasta_roctables_state(struct pasta_roctables *x, struct pasta_trace_world *world);

/* -- Values of the writer -- */

/* A member that is a whole number. False: it is not there, or none. */
bool pasta_roc_number(const struct pasta_jsontape *tape, uint32_t object, const char *name,
		      uint64_t *value);
/* The same, in 32 bits: 0 if it is not there, the most where it is more. */
uint32_t pasta_roc_u32(const struct pasta_jsontape *tape, uint32_t object, const char *name);
/* An id: {"handle": 5}, 5 or "0x5". */
bool pasta_roc_handle(const struct pasta_jsontape *tape, uint32_t object, const char *name,
		      uint64_t *value);

#endif
