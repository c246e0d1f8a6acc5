/* gen.h - accelprof-gen: generates runs for tests and benchmarks. */
#ifndef PASTA_BENCH_GEN_H
#define PASTA_BENCH_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#define GEN_REAL UINT64_C(1767225600000000000) /* start of every run: 2026-01-01 00:00 UTC */
#define GEN_HOST_RANKS 8		       /* processes per host, each with a device */

/* -- gen_model.c: what repeats: a training step of a transformer. */

struct gen_kernel {
	const char *name;
	uint32_t mean;	 /* ns */
	uint16_t spread; /* of the duration, as a power of two, in 1/65536 */
	uint16_t grid[3], block[3];
	uint16_t registers, shared_static;
	uint32_t shared_dynamic;
	bool scales;	 /* the duration grows with the length of the step's sequences */
	bool alternates; /* odd layers have the next kernel instead */
};
extern const struct gen_kernel gen_kernels[];
extern const size_t gen_kernel_count;

/* An operator. It may call another one, allocates its result, and launches kernels. */
struct gen_op {
	const char *name, *inner;
	uint8_t kernel[3]; /* 0: none */
	uint32_t bytes;	   /* of its result; 0: it writes in place */
};
extern const struct gen_op gen_forward[], gen_backward[], gen_optimizer[];
extern const size_t gen_forward_count, gen_backward_count, gen_optimizer_count;

enum { GEN_LAYERS = 8, GEN_KERNEL_ALLREDUCE = 1, GEN_KERNELS_MAX = 64 };
enum { GEN_COPIES = PASTA_COPY_D2H + 1 };

enum gen_region {
	GEN_STEP,
	GEN_DATA,
	GEN_FORWARD,
	GEN_FORWARD_LAYER,
	GEN_BACKWARD,
	GEN_BACKWARD_LAYER,
	GEN_OPTIMIZER,
	GEN_LOAD,
	GEN_LOAD_DECODE,
	GEN_REGIONS,
};
extern const char *const gen_region_paths[GEN_REGIONS]; /* names, separated by "/" */

/* -- gen_torch.c: the profile torch: lines of Python that call operators. */

enum {
	GEN_FORWARD_LINES = 10, /* one for each operator of gen_forward */
	GEN_LINE_BACKWARD = GEN_FORWARD_LINES,
	GEN_LINE_OPTIMIZER,
	GEN_LINE_LOSS,
	GEN_LINES,
	GEN_PATH = 4, /* most functions in a call path */
	GEN_LOSS_BYTES = 4096,
};
struct gen_line {
	const char *function, *file;
	uint32_t line;
	const char *module; /* within its layer; NULL: the layer itself */
};
extern const struct gen_line gen_lines[GEN_LINES];
extern const int gen_backward_lines[]; /* for each operator of gen_backward, the line of its forward
					  operator */
/* Sets the functions of the call path to a line, outermost first. Returns their number. */
size_t gen_line_path(unsigned int line, struct gen_line path[GEN_PATH]);

/* Random numbers that depend only on the seed: no library functions, no floating point. */
struct gen_random {
	uint64_t state;
};
uint64_t gen_next(struct gen_random *r);
uint64_t gen_below(struct gen_random *r, uint64_t n);
/* Returns a number from a roughly log-normal distribution around mean. spread is the standard
 * deviation of the base-2 logarithm, in 1/65536. One in 256 is up to three times as large. */
uint64_t gen_around(struct gen_random *r, uint64_t mean, uint32_t spread);

/* -- gen_rank.c: the events of one rank, in one shard. */

struct gen_options {
	uint64_t events, seed;
	uint32_t ranks, threads;
	uint64_t kinds; /* mask */
	bool drops;	/* some events are dropped, and counted in loss records */
	bool torch;	/* operators have Python stacks, modules and tensors */
	const char *profile, *damage, *out;
};

/* What was generated, for tests to compare with. */
struct gen_totals {
	uint64_t events, kinds[PASTA_KIND_MAX], state[PASTA_KIND_MAX];
	uint64_t dropped, bytes;
	uint64_t kernel_ns, copy_bytes, alloc_bytes, free_bytes;
	uint64_t peak_bytes; /* sum over the ranks */
	struct {
		uint64_t calls, ns, exclusive_ns, device_ns, device_self_ns;
	} regions[GEN_REGIONS];
	struct gen_sum {
		uint64_t count, bytes, ns;
	} kernels[GEN_KERNELS_MAX], copies[GEN_COPIES]; /* copies by subtype; 0: fills */
	struct {
		uint64_t kernels, ns,
			backward_ns; /* launched from the line, or in its backward pass */
		uint64_t allocs, alloc_bytes;
	} lines[GEN_LINES]; /* of the profile torch */
	uint64_t layer_ns[GEN_LAYERS], layer_ops[GEN_LAYERS];
	uint64_t loss_bytes;  /* bytes that are never freed */
	uint64_t first, last; /* CLOCK_REALTIME, ns */
};

void gen_shard_name(char *name, size_t size, uint32_t rank);
int gen_rank(const struct gen_options *options, uint32_t rank, const char *path,
	     struct gen_totals *totals, struct pasta_error *err);

/* -- gen_damage.c */

/* The types of damage, ending with NULL. */
extern const char *const gen_damages[];
int gen_damage(const char *how, const char *path, uint64_t seed, struct pasta_error *err);

/* -- gen.c: shows progress on a terminal. */
void gen_progress(uint64_t events);

#endif
