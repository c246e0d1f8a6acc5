/* bench.h - helpers of the benchmarks: time, results, a temporary folder, generated runs. */
#ifndef PASTA_BENCH_BENCH_H
#define PASTA_BENCH_BENCH_H

#include <errno.h>
#include <ftw.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_RUNS_MAX = 64 };

/* A value that is measured several times. */
struct bench {
	double value[BENCH_RUNS_MAX];
	int runs;
};

__attribute__((format(printf, 1, 2), noreturn)) static inline void bench_die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static inline double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void bench_add(struct bench *b, double value)
{
	if (b->runs < BENCH_RUNS_MAX)
		b->value[b->runs++] = value;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Prints one line: the median, and the smallest and the largest value. */
static inline void bench_report(struct bench *b, const char *what, const char *unit)
{
	qsort(b->value, (size_t)b->runs, sizeof(b->value[0]), bench_compare);
	printf("%-52s %9.2f %-12s (%.2f to %.2f, %d runs)\n", what, b->value[b->runs / 2], unit,
	       b->value[0], b->value[b->runs - 1], b->runs);
	fflush(stdout);
}

static char bench_folder[4096];

static inline int bench_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void bench_remove(const char *path)
{
	nftw(path, bench_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void bench_clean(void)
{
	if (bench_folder[0])
		bench_remove(bench_folder);
}

/* Returns a temporary folder, which is removed when the program ends. */
static inline const char *bench_temp(void)
{
	const char *tmp = getenv("TMPDIR");

	if (bench_folder[0])
		return bench_folder;
	snprintf(bench_folder, sizeof(bench_folder), "%s/accelprof-bench-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(bench_folder))
		bench_die("cannot make %s: %s", bench_folder, strerror(errno));
	atexit(bench_clean);
	return bench_folder;
}

/* The path of a program of the build, such as "bench/accelprof-gen". */
static inline const char *bench_built(const char *name)
{
	static char path[4096], self[2048];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	snprintf(path, sizeof(path), "%s/../%s", dirname(self), name);
	return path;
}

/* Generates a run called name in the temporary folder. The path is valid until the next call.
 * option and value, for accelprof-gen, may be NULL. */
__attribute__((unused)) static const char *bench_generate(const char *name, const char *events,
							  const char *ranks, const char *option,
							  const char *value)
{
	static char path[sizeof(bench_folder) + 64];
	const char *gen = bench_built("bench/accelprof-gen");
	int status = -1;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", bench_temp(), name);
	pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execl(gen, gen, "-o", path, "-n", events, "--ranks", ranks, option, value,
		      (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		bench_die("%s failed", gen);
	return path;
}

#endif
