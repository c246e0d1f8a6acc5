/*
 * bench_stack.c - the cost of host call paths in the program under study, 20 frames deep.
 *
 * Each value is measured in a separate process with a run of its own. "Sampled" is what `run
 * --stacks native` does at 10^5 launches per second: the mean time of all calls, sampled or not.
 */
#include "bench.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include "collect/agent.h"
#include "collect/control.h"
#include "collect/stack.h"
#include "process/read/run.h"

enum { RUNS = 5, CALLS = 20000, LAUNCHES = 200000, DEPTH = 16, LAUNCH_NS = 10000 };

/* What a child process sends to its parent. */
struct result {
	double ns;	/* per call, on average */
	double sampled; /* % of the calls */
};
static struct result *result;

__attribute__((noinline)) static void at_depth(int depth, void (*body)(void))
{
	if (depth)
		at_depth(depth - 1, body);
	else
		body();
	__asm__ volatile("" ::: "memory"); /* prevents a tail call, which would remove the frame */
}

static void flat_out(void)
{
	uint64_t sampled = 0;
	double begin;

	pasta_stack_capture(); /* the first call finds the modules */
	begin = bench_now();
	for (int i = 0; i < CALLS; i++)
		sampled += pasta_stack_capture() != 0;
	result->ns = (bench_now() - begin) * 1e9 / CALLS;
	result->sampled = 100.0 * (double)sampled / CALLS;
}

/* The cost of reading the clock twice. */
static double clock_cost(void)
{
	uint64_t spent = 0;

	for (int i = 0; i < CALLS; i++) {
		uint64_t at = pasta_now();

		spent += pasta_now() - at;
	}
	return (double)spent / CALLS;
}

static void paced(void)
{
	uint64_t spent = 0, sampled = 0, turn = pasta_now(), at, after;

	for (int i = 0; i < LAUNCHES; i++) {
		at = pasta_now();
		sampled += pasta_stack_capture() != 0;
		after = pasta_now();
		spent += after - at;
		for (turn += LAUNCH_NS; after < turn; after = pasta_now())
			;
	}
	result->ns = (double)spent / LAUNCHES - clock_cost();
	result->sampled = 100.0 * (double)sampled / LAUNCHES;
}

/* After a dlclose, the agent uses the compiler's unwinder. */
static void unload_something(void)
{
	void *lib = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);

	if (!lib || dlclose(lib))
		bench_die("nothing to unload: %s", dlerror());
}

static void in_child(const char *stacks, void (*body)(void), bool unload)
{
	struct pasta_run run = {0};
	struct pasta_error err = {0};
	char path[5000];
	int status = -1;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/run", bench_temp());
	if (pasta_run_create(&run, path, &err))
		bench_die("%s", err.text);
	pid = fork();
	if (!pid) {
		bench_folder[0] = '\0'; /* the parent removes it */
		setenv(PASTA_ENV_RUN, run.path, 1);
		if (stacks)
			setenv(PASTA_ENV_STACKS, stacks, 1);
		if (!pasta_agent_attach())
			bench_die("cannot attach the agent");
		if (unload)
			unload_something();
		at_depth(DEPTH, body);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		bench_die("a measurement failed (%d)", status);
	pasta_run_free(&run);
	bench_remove(path);
}

static void figure(const char *what, const char *stacks, void (*body)(void), bool unload)
{
	struct bench b = {0}, share = {0};

	for (int i = 0; i < RUNS; i++) {
		in_child(stacks, body, unload);
		bench_add(&b, result->ns);
		bench_add(&share, result->sampled);
	}
	bench_report(&b, what, "ns");
	bench_report(&share, "  of the calls were sampled", "%");
}

int main(void)
{
	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (result == MAP_FAILED)
		bench_die("out of memory");
	unsetenv(PASTA_ENV_STACKS);
	figure("off", NULL, flat_out, false);
	figure("every call", "native=1", flat_out, false);
	figure("every call, after a dlclose", "native=1", flat_out, true);
	figure("sampled, 10^5 launches a second", "native", paced, false);
	figure("sampled, 10^5 launches a second, after a dlclose", "native", paced, true);
	figure("sampled, flat out", "native", flat_out, false);
	return 0;
}
