/* measure.c - accelprof doctor --measure: measures the peaks of devices and stores them. */
#include "cli/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "process/diagnosis/peaks.h"
#include "process/io/files.h"

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
		snprintf(m->devices[i].product, sizeof(m->devices[i].product), "%s", name);
		m->devices[i].peaks = *peaks;
		m->count++;
	} else {
		measure_merge(&m->devices[i].peaks, peaks);
	}
}

/* -- File -- */

/* Creates the folders of a path. Returns 0 or a negative errno. */
static int measure_make_folders(char *path)
{
	int error = 0;

	for (char *p = path + 1; !error && (p = strchr(p, '/')); p++) {
		const char *name;
		int folder;

		*p = '\0';
		folder = pasta_files_folder_of(path, &name);
		error = folder < 0 ? folder : pasta_files_make_folder(folder, name, 0777);
		error = error == -EEXIST ? 0 : error;
		if (folder >= 0)
			close(folder);
		*p = '/';
	}
	return error;
}

/* Copies the sections of the file that are not about the i-th device, and what follows it. */
static int measure_copy(const struct measure *m, size_t i, FILE *from, FILE *to)
{
	char *text = NULL;
	size_t size;
	FILE *next;
	int error;

	if (i == m->count)
		return pasta_peaks_copy(from, to, "");
	next = open_memstream(&text, &size);
	error = next ? pasta_peaks_copy(from, next, m->devices[i].product) : -ENOMEM;
	if (next && fclose(next) && !error)
		error = -ENOMEM;
	next = !error && size ? fmemopen(text, size, "r") : NULL;
	if (!error && size && !next)
		error = -ENOMEM;
	if (next) {
		error = measure_copy(m, i + 1, next, to);
		fclose(next);
	}
	free(text);
	return error;
}

/* Writes the old contents of the file, without the devices that were measured, and then these. */
static int measure_write(const struct measure *m, FILE *to)
{
	FILE *old = pasta_peaks_open();
	int error = 0;

	if (old) {
		error = measure_copy(m, 0, old, to);
		fclose(old);
	} else {
		fputs("# Peaks of devices, measured by accelprof doctor --measure, in bytes/s and "
		      "FLOP/s.\n",
		      to);
	}
	for (size_t i = 0; i < m->count && !error; i++)
		error = pasta_peaks_write(to, m->devices[i].product, &m->devices[i].peaks);
	return error;
}

/* Replaces the file in its folder. */
static int measure_replace(const struct measure *m, int folder, const char *name)
{
	char *made = NULL;
	int fd = pasta_files_create_beside(folder, name, 0666, &made), error = fd < 0 ? fd : 0;
	FILE *to = error ? NULL : fdopen(fd, "w");

	if (to) {
		error = measure_write(m, to);
		if (fclose(to) && !error)
			error = -errno;
	} else if (!error) {
		error = -ENOMEM;
		close(fd);
	}
	if (!error)
		error = pasta_files_replace(folder, made, name);
	if (error && made)
		pasta_files_undo(folder, made, false);
	free(made);
	return error;
}

static int measure_store(const struct measure *m)
{
	const char *name, *advice = "";
	int error, folder = -1;
	char path[4096];

	error = pasta_peaks_path(path, sizeof(path));
	if (!error)
		error = measure_make_folders(path);
	if (!error)
		folder = pasta_files_folder_of(path, &name);
	if (error || folder < 0) {
		error = error ? error : folder;
		advice = "; set HOME or XDG_CONFIG_HOME to a folder that accelprof can write";
	} else {
		error = measure_replace(m, folder, name);
		close(folder);
	}
	if (error)
		fprintf(stderr, "accelprof: cannot store the peaks: %s%s\n", pasta_files_why(error),
			advice);
	else
		printf("stored in %s\n", path);
	return error;
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
