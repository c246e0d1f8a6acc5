/* cubin.h - what a CUDA binary says of itself: its functions, and what is known of each. */
#ifndef PASTA_HANDLERS_CUBIN_H
#define PASTA_HANDLERS_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct pasta_cubin;

/* Instructions by what they do to memory, as they stand in the code, not as often as they run. */
struct pasta_cubin_mix {
	uint32_t all;		 /* those that fill the function's end as well */
	uint32_t global_loads;	 /* LDG, LDGMC */
	uint32_t global_stores;	 /* STG */
	uint32_t generic_loads;	 /* LD: the address says which memory; another block's shared too */
	uint32_t generic_stores; /* ST */
	uint32_t atomics;	/* and reductions, of global and generic memory: ATOM, ATOMG, RED */
	uint32_t shared;	/* LDS, STS, ATOMS */
	uint32_t local;		/* LDL, STL */
	uint32_t async_copies;	/* LDGSTS */
	uint32_t bulk_copies;	/* and reductions: UBLKCP, UBLKRED */
	uint32_t tensor_copies; /* and reductions: UTMALDG, UTMASTG, UTMAREDG */
	uint32_t prefetches;	/* into L2, bulks and tensors: UBLKPF, UTMAPF */
	uint32_t remote;	/* to another block's shared memory, asynchronous: STAS, REDAS */
	uint32_t matrix;	/* LDSM, STSM */
	uint32_t textures;	/* and surfaces: TEX, TLD, TLD4, TXD, SULD, SUST, SURED */
	uint32_t barriers;	/* of a block or a cluster: BAR, UCGABAR */
	uint32_t mbarriers;	/* that lie in shared memory: SYNCS, ARRIVES; ATOMS before sm_90 */
	uint32_t tensor_cores;	/* that read shared memory: wgmma, tcgen05.mma, tcgen05.cp */
	uint32_t bulk_sets;	/* of shared memory: st.bulk */
};

/* The offset is the one in the constant bank, less the bank's beginning: a parameter that has to
 * lie at a multiple of 128 there may be far from where a C struct would have it. */
struct pasta_cubin_param {
	uint16_t offset, size;
};

struct pasta_cubin_function {
	const char *name; /* mangled; one that a kernel calls may be named $kernel$function */
	uint64_t code;	  /* where the first instruction is in the cubin's bytes */
	uint64_t size;	  /* of a kernel: functions of its own that it calls are in it */
	uint64_t start;	  /* where the first instruction is in its section */
	uint32_t section;
	bool kernel;
	bool mix_known;	   /* false: the instructions are of a device that is not known here */
	bool params_known; /* false: the cubin does not tell */
	uint16_t params_size;
	uint16_t params_count;
	const struct pasta_cubin_param *params; /* in their order */
	struct pasta_cubin_mix mix;
};

struct pasta_cubin_line {
	const char *file; /* with its folder, as the compiler told; as long as the cubin is here */
	uint32_t line;
};

/*
 * NULL: the bytes are no cubin of 64 bits, or a broken one, and err says how; or out of memory.
 * The bytes may go afterwards. All but lines is read at once: a cubin of 23 MB with 4,000 kernels
 * and names of 400 bytes took 10 ms and 2.4 MB. A line table, where there is one, is copied, and
 * read at the first question. Any bytes may be given: time and memory grow with their number alone.
 */
struct pasta_cubin *pasta_cubin_new(const void *bytes, size_t size, struct pasta_error *err);
void pasta_cubin_free(struct pasta_cubin *c);

/* The device's architecture: 90 is sm_90. */
unsigned int pasta_cubin_sm(const struct pasta_cubin *c);

/* In the order of the cubin's symbols; of those with one name only the first. */
size_t pasta_cubin_count(const struct pasta_cubin *c);
const struct pasta_cubin_function *pasta_cubin_at(const struct pasta_cubin *c, size_t i);
const struct pasta_cubin_function *pasta_cubin_find(const struct pasta_cubin *c, const char *name);

/* Instructions of functions that kernels may call and that are in no kernel: of -rdc. */
const struct pasta_cubin_mix *pasta_cubin_called(const struct pasta_cubin *c);

/*
 * The source line of the instruction that many bytes after the function's first; of inlined code
 * the innermost. false: it was compiled with neither -lineinfo nor -G, or no line is known. The
 * first call reads the line table. One thread at a time.
 */
bool pasta_cubin_line(struct pasta_cubin *c, const struct pasta_cubin_function *f, uint64_t offset,
		      struct pasta_cubin_line *line);

/* -- Parts of it ------------------------------------------------------------------------------ */

/* false: the instructions of sm are not known, and mix is left. */
bool pasta_cubin_classify(unsigned int sm, const uint8_t *code, size_t size,
			  struct pasta_cubin_mix *mix);

#endif
