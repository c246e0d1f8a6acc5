/*
 * roctables.h - the tables of a rocprofv3 trace, to which its records refer by number. A name is
 * stored as text until a record uses it, and only then added to the shard, because most names
 * belong to kernels and calls that never ran. Only one thread at a time may use the tables.
 */
#ifndef PASTA_IMPORT_ROCTABLES_H
#define PASTA_IMPORT_ROCTABLES_H

#include "import/trace.h"

/* A text of the tables, and its string id in the shard. The id is 0 until a record uses the text.
 */
struct pasta_roctext {
	size_t at;
	uint32_t size, id;
};

struct pasta_rocagent {
	struct pasta_roctext name, product;
	uint64_t memory, uuid_hi, uuid_lo;
	uint32_t device; /* number of a GPU */
	uint32_t gfx, units, clock_mhz;
	bool gpu, described;
};

struct pasta_rocobject {
	struct pasta_roctext uri;
	uint64_t base, size, agent;
	/* checksum of the module's description, because the file does not contain the module's
	 * code */
	uint64_t hash;
};

struct pasta_rocsymbol {
	struct pasta_roctext name;
	uint64_t object, address; /* address 0: unknown */
	uint32_t registers;
};

struct pasta_roctables {
	struct pasta_map *agents;     /* struct pasta_rocagent by handle */
	struct pasta_map *objects;    /* struct pasta_rocobject by id */
	struct pasta_map *symbols;    /* struct pasta_rocsymbol by kernel id */
	struct pasta_map *messages;   /* struct pasta_roctext by correlation id */
	struct pasta_map *kinds;      /* struct pasta_roctext by number */
	struct pasta_map *operations; /* struct pasta_roctext by kind << 32 | number */
	struct pasta_roctext command, host;
	uint64_t pid;

	/* private to roctables.c */
	struct pasta_trace *t;
	uint32_t gpus; /* the next unused number */
	char *text;
	size_t text_size, text_capacity;
	/* symbols of kernels, sorted by code object, then by address */
	struct pasta_rocsymbol **by_address;
	size_t by_address_count;
};

int pasta_roctables_open(struct pasta_roctables *x, struct pasta_trace *t);
void pasta_roctables_close(struct pasta_roctables *x);

/*
 * Each of these functions reads a row of a table from the tape. Returns NULL or a description of
 * the error. When out of memory, sets the trace's error and returns NULL.
 */
const char *pasta_roctables_agent(struct pasta_roctables *x, const struct pasta_jsontape *tape);
const char *pasta_roctables_object(struct pasta_roctables *x, const struct pasta_jsontape *tape);
const char *pasta_roctables_symbol(struct pasta_roctables *x, const struct pasta_jsontape *tape);
const char *pasta_roctables_message(struct pasta_roctables *x, const struct pasta_jsontape *tape);
/* Reads the name of a kind. Kinds are numbered in the order in which the file lists them. */
const char *pasta_roctables_kind(struct pasta_roctables *x, const struct pasta_jsontape *tape);
/* Reads the metadata, which is a single JSON object rather than an array of rows. */
const char *pasta_roctables_metadata(struct pasta_roctables *x, const struct pasta_jsontape *tape);

/* Returns the shard's string id of a text; 0 for NULL and an empty text. */
uint32_t pasta_roctables_str(struct pasta_roctables *x, struct pasta_roctext *text);
static inline struct pasta_slice pasta_roctables_slice(const struct pasta_roctables *x,
						       const struct pasta_roctext *text)
{
	return text && text->size ? (struct pasta_slice){x->text + text->at, text->size}
				  : (struct pasta_slice){"", 0};
}

/* Returns the agent with this handle. If the table has no such agent, adds a GPU. Returns NULL when
 * out of memory. */
const struct pasta_rocagent *pasta_roctables_gpu(struct pasta_roctables *x, uint64_t handle);
/* Returns the kernel at an offset in a code object: the last one whose symbol's address is not
 * greater than the offset. Returns NULL if there is none. */
struct pasta_rocsymbol *pasta_roctables_symbol_at(struct pasta_roctables *x, uint64_t object,
						  uint64_t offset);
/* Emits devices and modules, and sets the process's identity in *world. Call when the tables are
 * complete. */
void pasta_roctables_state(struct pasta_roctables *x, struct pasta_trace_world *world);

/* -- Values in rocprofv3's JSON -- */

/* Reads an integer member. Returns false if it is missing or not an integer. */
bool pasta_roc_number(const struct pasta_jsontape *tape, uint32_t object, const char *name,
		      uint64_t *value);
/* Reads an integer member as 32 bits: 0 if missing, UINT32_MAX if larger. */
uint32_t pasta_roc_u32(const struct pasta_jsontape *tape, uint32_t object, const char *name);
/* Reads an id, which may be written as {"handle": 5}, 5 or "0x5". */
bool pasta_roc_handle(const struct pasta_jsontape *tape, uint32_t object, const char *name,
		      uint64_t *value);

#endif
