/*
 * bench_agent_torch.c - the agent's cost for an operator of PyTorch, without PyTorch.
 *
 * A fake shim reports what the real one would for an addition: two input tensors, an allocation, an
 * output tensor, and the free of the previous output. Bursts are paced so that the writer can
 * follow. Each run is a separate process; the result is the fastest tenth of its bursts.
 */
#include "bench.h"

#include <pasta/pasta.h>
#include <sys/mman.h>

#include "collect/control.h"
#include "handlers/torch/torch.h"
#include "process/read/run.h"

enum { RUNS = 5, BURST = 300, BURSTS = 1000, SLOTS = 3 };

static const struct pasta_torch_agent *agent;
static double *result;

/* -- A fake shim -- */

static int start(char *why, size_t size)
{
	(void)why;
	(void)size;
	return 0;
}

static void yield(void)
{
}

static int base(const struct pasta_torch_tensor *tensor, struct pasta_torch_tensor *to)
{
	(void)tensor;
	(void)to;
	return 0;
}

static const char *dtype(uint8_t number)
{
	(void)number;
	return "Float";
}

static const struct pasta_torch_shim *entry(const struct pasta_torch_agent *with, char *why,
					    size_t size)
{
	static const struct pasta_torch_shim shim = {PASTA_TORCH_ABI, sizeof(shim), start,
						     yield,	      base,	    dtype};

	(void)why;
	(void)size;
	agent = with;
	return &shim;
}

/* -- The additions -- */

static const int64_t shape[] = {8}, strides[] = {1};
static char impls[SLOTS + 2][192], storages[SLOTS + 2][64], data[SLOTS + 2][64];

static struct pasta_torch_tensor tensor(int slot, uint32_t index)
{
	return (struct pasta_torch_tensor){
		.impl = impls[slot],
		.storage = storages[slot],
		.data = data[slot],
		.addr = data[slot],
		.shape = shape,
		.strides = strides,
		.bytes = sizeof(float) * 8,
		.dims = 1,
		.index = index,
		.dtype = 6,
	};
}

static void memory(int slot, int64_t bytes)
{
	const struct pasta_torch_memory m = {.addr = data[slot], .bytes = bytes};

	agent->memory(&m);
}

static void add(int slot)
{
	struct pasta_torch_tensor in[] = {tensor(SLOTS, 0), tensor(SLOTS + 1, 1)}, out;
	struct pasta_torch_op op = {
		.key = &op, .name = "aten::add", .seq = -1, .thread = 1, .tensors = in, .count = 2};

	agent->begin(&op);
	memory(slot, sizeof(float) * 8);
	out = tensor(slot, 0);
	op = (struct pasta_torch_op){.key = &op, .tensors = &out, .count = 1};
	agent->end(&op);
	memory((slot + SLOTS - 1) % SLOTS, -(int64_t)sizeof(float) * 8);
}

static void measure(void)
{
	static double times[BURSTS];
	char why[256];

	if (!pasta_agent_attach() || torch_start(entry, why, sizeof(why)))
		bench_die("cannot attach the agent");
	memory(SLOTS - 1, sizeof(float) * 8);
	for (int i = 0; i < BURSTS; i++) {
		const struct timespec gap = {.tv_nsec = 200000};
		double at = bench_now();

		for (int k = 0; k < BURST; k++)
			add(k % SLOTS);
		times[i] = (bench_now() - at) * 1e9 / BURST;
		nanosleep(&gap, NULL);
	}
	qsort(times, BURSTS, sizeof(times[0]), bench_compare);
	*result = times[BURSTS / 10];
}

/* -- In the parent -- */

static void run_child(uint64_t kinds)
{
	struct pasta_run run = {0};
	struct pasta_error err = {0};
	char path[5000], mask[32];
	int status = -1;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/run", bench_temp());
	if (pasta_run_create(&run, path, &err))
		bench_die("%s", err.text);
	pid = fork();
	if (!pid) {
		bench_folder[0] = '\0'; /* the parent removes it */
		snprintf(mask, sizeof(mask), "%llx", (unsigned long long)kinds);
		setenv(PASTA_ENV_RUN, run.path, 1);
		setenv(PASTA_ENV_KINDS, mask, 1);
		measure();
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		bench_die("a measurement failed (%d)", status);
	pasta_run_free(&run);
	bench_remove(path);
}

static void figure(const char *what, uint64_t kinds)
{
	struct bench b = {0};

	for (int i = 0; i < RUNS; i++) {
		run_child(kinds);
		bench_add(&b, *result);
	}
	bench_report(&b, what, "ns");
}

int main(void)
{
	uint64_t ops = PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END);
	uint64_t memory_ = PASTA_MASK(ALLOC) | PASTA_MASK(FREE);
	uint64_t tensors = PASTA_MASK(TENSOR) | PASTA_MASK(OP_ARG);

	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (result == MAP_FAILED)
		bench_die("out of memory");
	figure("an operator, two records", ops);
	figure("with memory, four", ops | memory_);
	figure("with tensors, eight", ops | memory_ | tensors);
	return 0;
}
