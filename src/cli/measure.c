/* measure.c - accelprof doctor --measure: measures the peaks of devices and stores them. */
#include "cli/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "process/diagnosis/peaks.h"

enum { DEVICES = 64, PRODUCT = 256 };

struct measured {
	char product[PRODUCT];
	struct pasta_peaks peaks;
};

struct measure {
	struct measured devices[DEVICES];
	size_t count, failed;
};

static void measure_print(const char *product, const struct pasta_peaks *p)
{
	const struct {
		const char *name, *unit;
		double value, scale;
	} rates[] = {
		{"memory", "GB/s", p->memory, 1e9},    {"float32", "TFLOP/s", p->fp32, 1e12},
		{"tf32", "TFLOP/s", p->tf32, 1e12},    {"half", "TFLOP/s", p->half, 1e12},
		{"float64", "TFLOP/s", p->fp64, 1e12}, {"to the device", "GB/s", p->h2d, 1e9},
		{"to the host", "GB/s", p->d2h, 1e9},
	};
	const char *separator = ": ";

	printf("ok  %s", product);
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		if (rates[i].value <= 0)
			continue;
		printf("%s%s %.4g %s", separator, rates[i].name, rates[i].value / rates[i].scale,
		       rates[i].unit);
		separator = ", ";
	}
	putchar('\n');
	fflush(stdout);
}

/* Devices with the same name share one entry, which has the greatest rates. */
static void measure_merge(struct pasta_peaks *to, const struct pasta_peaks *from)
{
	double *const a[] = {&to->memory, &to->fp32, &to->tf32, &to->half,
			     &to->fp64,	  &to->h2d,  &to->d2h};
	const double b[] = {from->memory, from->fp32, from->tf32, from->half,
			    from->fp64,	  from->h2d,  from->d2h};

	for (size_t i = 0; i < sizeof(a) / sizeof(*a); i++)
		*a[i] = b[i] > *a[i] ? b[i] : *a[i];
}

static void measure_result(void *ctx, const char *product, const struct pasta_peaks *peaks,
			   const char *error)
{
	struct measure *m = ctx;
	char name[PRODUCT];
	size_t i = 0;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(product, "\r\n"), product);
	if (error) {
		printf("no  %s: %s\n", name, error);
		m->failed++;
	}
	if (!peaks || peaks->memory <= 0 || !name[0])
		return;
	measure_print(name, peaks);
	while (i < m->count && strcmp(m->devices[i].product, name) != 0)
		i++;
	if (i == DEVICES)
		return;
	if (i == m->count) {
		strcpy(m->devices[i].product, name);
		m->devices[i].peaks = *peaks;
		m->count++;
	} else {
		measure_merge(&m->devices[i].peaks, peaks);
	}
}

/* -- File -- */

/* Creates the folders of a path. */
static int measure_make_folders(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		int failed;

		*p = '\0';
		failed = mkdir(path, 0777) && errno != EEXIST;
		*p = '/';
		if (failed)
			return -errno;
	}
	return 0;
}

/* Copies what the file has about one device after the other, without those that were measured. */
static int measure_write(const struct measure *m, FILE *old, FILE *to)
{
	int error = 0;

	if (!old)
		fputs("# Peaks of devices, measured by accelprof doctor --measure, in bytes/s and "
		      "FLOP/s.\n",
		      to);
	for (size_t i = 0; old && i < m->count && !error; i++) {
		FILE *next = tmpfile();

		if (!next)
			return -errno;
		error = pasta_peaks_copy(old, next, m->devices[i].product);
		fclose(old);
		rewind(next);
		old = next;
	}
	if (old && !error)
		error = pasta_peaks_copy(old, to, "");
	if (old)
		fclose(old);
	for (size_t i = 0; i < m->count && !error; i++)
		error = pasta_peaks_write(to, m->devices[i].product, &m->devices[i].peaks);
	return error;
}

static int measure_store(const struct measure *m)
{
	char path[4096], fresh[4112];
	int error = pasta_peaks_path(path, sizeof(path));
	FILE *to;

	if (!error)
		error = measure_make_folders(path);
	if (error) {
		fprintf(stderr,
			"accelprof: cannot store the peaks: %s; set HOME or "
			"XDG_CONFIG_HOME to a folder that accelprof can write\n",
			strerror(-error));
		return error;
	}
	snprintf(fresh, sizeof(fresh), "%s.%ld", path, (long)getpid());
	to = fopen(fresh, "wxe");
	error = to ? measure_write(m, fopen(path, "re"), to) : -errno;
	if (to && fclose(to) && !error)
		error = -errno;
	if (!error && rename(fresh, path))
		error = -errno;
	if (error) {
		fprintf(stderr, "accelprof: cannot write %s: %s\n", path, strerror(-error));
		if (to)
			unlink(fresh);
		return error;
	}
	printf("stored in %s\n", path);
	return 0;
}

int pasta_measure(void)
{
	struct measure *m = calloc(1, sizeof(*m));
	char why[300] = "";
	int status = PASTA_CLI_FAILED;

	if (!m) {
		fputs("accelprof: out of memory\n", stderr);
		return status;
	}
	if (!pasta_measure_cuda(measure_result, m, why, sizeof(why)))
		printf("no  cuda: %s\n", why);
	if (!pasta_measure_opencl(measure_result, m, why, sizeof(why)))
		printf("no  opencl: %s\n", why);
	if (m->count && !measure_store(m))
		status = PASTA_CLI_OK;
	free(m);
	return status;
}
