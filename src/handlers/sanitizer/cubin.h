/* cubin.h - reads a CUDA binary: its functions, their instructions, parameters and lines. */
#ifndef PASTA_HANDLERS_CUBIN_H
#define PASTA_HANDLERS_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct pasta_cubin;

/* Counts the instructions in the code by their effect on memory, regardless of how often they
 * run. */
struct pasta_cubin_mix {
	uint32_t all;		/* all instructions, including the padding at the function's end */
	uint32_t global_loads;	/* LDG, LDGMC */
	uint32_t global_stores; /* STG */
	/* LD: generic loads, whose address determines the memory space; includes loads of other
	 * blocks' shared memory */
	uint32_t generic_loads;
	uint32_t generic_stores; /* ST */
	uint32_t atomics;	 /* global and generic atomics and reductions: ATOM, ATOMG, RED */
	uint32_t shared;	 /* LDS, STS, ATOMS */
	uint32_t local;		 /* LDL, STL */
	uint32_t async_copies;	 /* LDGSTS */
	uint32_t bulk_copies;	 /* bulk copies and reductions: UBLKCP, UBLKRED */
	uint32_t tensor_copies;	 /* tensor copies and reductions: UTMALDG, UTMASTG, UTMAREDG */
	uint32_t prefetches;	 /* bulk and tensor prefetches into L2: UBLKPF, UTMAPF */
	/* asynchronous stores to shared memory of other blocks: STAS, REDAS */
	uint32_t remote;
	uint32_t matrix;    /* LDSM, STSM */
	uint32_t textures;  /* textures and surfaces: TEX, TLD, TLD4, TXD, SULD, SUST, SURED */
	uint32_t barriers;  /* barriers of a block or a cluster: BAR, UCGABAR */
	uint32_t mbarriers; /* barriers in shared memory: SYNCS, ARRIVES; ATOMS before sm_90 */
	/* tensor core operations that read shared memory: wgmma, tcgen05.mma, tcgen05.cp */
	uint32_t tensor_cores;
	uint32_t bulk_sets; /* bulk stores to shared memory: st.bulk */
};

/* A parameter of a kernel. The offset is relative to the first parameter in the constant bank. With
 * parameters that are aligned to 128 bytes, the offsets may differ from those of a C struct. */
struct pasta_cubin_param {
	uint16_t offset, size;
};

struct pasta_cubin_function {
	const char *name; /* mangled name; functions that a kernel calls may be $kernel$function */
	uint64_t code;	  /* offset of the first instruction in the cubin */
	/* size of the code; that of a kernel includes functions that only this kernel calls */
	uint64_t size;
	uint64_t start; /* offset of the first instruction in its section */
	uint32_t section;
	bool kernel;
	bool mix_known;	   /* false if the architecture's instruction encoding is unknown */
	bool params_known; /* false if the cubin has no list of parameters */
	uint16_t params_size;
	uint16_t params_count;
	const struct pasta_cubin_param *params; /* in order */
	struct pasta_cubin_mix mix;
};

struct pasta_cubin_line {
	const char *file; /* path of the source file; valid until pasta_cubin_free */
	uint32_t line;
};

/*
 * Reads a cubin; the bytes are not needed afterwards. Returns NULL and sets err if the bytes are
 * not a valid 64-bit cubin, or if out of memory. Decodes everything except the line table, which
 * the first call of pasta_cubin_line decodes. For a cubin of 23 MB with 4,000 kernels and names of
 * 400 bytes, this function took 10 ms and 2.4 MB. The bytes may be arbitrary: time and memory are
 * proportional to their number.
 */
struct pasta_cubin *pasta_cubin_new(const void *bytes, size_t size, struct pasta_error *err);
void pasta_cubin_free(struct pasta_cubin *c);

/* Returns the architecture that the cubin was compiled for, such as 90 for sm_90. */
unsigned int pasta_cubin_sm(const struct pasta_cubin *c);

/* The functions, in the order of the cubin's symbols. If several functions have the same name, only
 * the first one is listed. */
size_t pasta_cubin_count(const struct pasta_cubin *c);
const struct pasta_cubin_function *pasta_cubin_at(const struct pasta_cubin *c, size_t i);
const struct pasta_cubin_function *pasta_cubin_find(const struct pasta_cubin *c, const char *name);

/* Returns the instruction counts of functions that are not part of a single kernel, and that
 * kernels may call (nvcc -rdc). */
const struct pasta_cubin_mix *pasta_cubin_called(const struct pasta_cubin *c);

/*
 * Finds the source line of the instruction at an offset in a function. For inlined code, finds the
 * innermost line. Returns false if the line is unknown, for example because the code was compiled
 * without -lineinfo or -G. The first call decodes the line table. Only one thread at a time may
 * call this function.
 */
bool pasta_cubin_line(struct pasta_cubin *c, const struct pasta_cubin_function *f, uint64_t offset,
		      struct pasta_cubin_line *line);

/* -- For cubin.c ------------------------------------------------------------------------------ */

/* Counts instructions for architecture sm. Returns false, and leaves mix unchanged, if the
 * instruction encoding of sm is unknown. */
bool pasta_cubin_classify(unsigned int sm, const uint8_t *code, size_t size,
			  struct pasta_cubin_mix *mix);

#endif
