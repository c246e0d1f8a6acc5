/* bench_process.c - reads shards with three tools at once: speed, memory, and how both scale with
 * events and threads. */
#include "bench.h"

#include <fcntl.h>
#include <sys/resource.h>

#define TOOLS "regions,kernel_freq,copies"
enum { RUNS = 7, RUNS_LARGE = 3 };

/* A report of accelprof, as a user runs it: seconds, and peak memory in MiB. */
struct reported {
	double seconds, memory;
};

static struct reported report(const char *path, const char *threads, const char *option,
			      const char *value)
{
	const char *accelprof = bench_built("accelprof");
	double begin = bench_now();
	struct rusage usage;
	int status = -1, null;
	pid_t pid = fork();

	if (!pid) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, STDOUT_FILENO);
		execl(accelprof, accelprof, "report", path, "-t", TOOLS, "--threads", threads,
		      option, value, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || status)
		bench_die("%s report %s failed", accelprof, path);
	return (struct reported){bench_now() - begin, (double)usage.ru_maxrss / 1024};
}

static void measure(const char *what, const char *path, double millions, const char *option,
		    const char *value, int runs)
{
	struct bench rate = {0}, memory = {0};

	report(path, "1", option, value); /* loads the files into the page cache */
	for (int i = 0; i < runs; i++) {
		struct reported r = report(path, "1", option, value);

		bench_add(&rate, millions / r.seconds);
		bench_add(&memory, r.memory);
	}
	bench_report(&rate, what, "M events/s");
	bench_report(&memory, "  memory", "MiB");
}

/* Alternates between one thread and two. */
static void measure_threads(const char *path)
{
	struct bench ratio = {0}, whole = {0};

	for (int i = 0; i < RUNS; i++) {
		double one = report(path, "1", NULL, NULL).seconds;
		double two = report(path, "2", NULL, NULL).seconds;

		bench_add(&ratio, one / two);
		bench_add(&whole, two);
	}
	bench_report(&ratio, "8 shards: speedup with two threads", "x");
	bench_report(&whole, "  with two threads", "s");
}

int main(void)
{
	static const struct {
		const char *name, *events;
		double millions;
		int runs;
	} sizes[] = {{"10^6 events", "1M", 1, RUNS},
		     {"10^7 events", "10M", 10, RUNS},
		     {"10^8 events", "100M", 100, RUNS_LARGE}};
	const char *path;
	char what[100];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		path = bench_generate("run", sizes[i].events, "1", NULL, NULL);
		snprintf(what, sizeof(what), "training, %s, " TOOLS, sizes[i].name);
		measure(what, path, sizes[i].millions, NULL, NULL, sizes[i].runs);
		bench_remove(path);
	}
	path = bench_generate("run", "10M", "1", "--kinds",
			      "launch,kernel,copy,set,region,iteration");
	measure("the same, only kinds that the tools use", path, 10, NULL, NULL, RUNS);
	bench_remove(path);
	path = bench_generate("run", "10M", "1", NULL, NULL);
	measure("the same, with operators and --time 0s-", path, 10, "--time", "0s-", RUNS);
	bench_remove(path);
	path = bench_generate("run", "10M", "8", NULL, NULL);
	measure("training, 10^7 events, 8 shards", path, 10, NULL, NULL, RUNS);
	measure_threads(path);
	bench_remove(path);
	return 0;
}
