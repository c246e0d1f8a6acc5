/* doctor.c - accelprof doctor: checks what can be recorded on this machine. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/measure.h"
#include "handlers/handler.h"
#include "process/join/dwarf.h"
#include "process/io/files.h"
#include "process/io/json.h"

#define CHECKS_MAX 40
#define CLOCK_READS 100000
/* ns per reading; a clock that takes longer needs a system call */
#define CLOCK_SLOW 200
#define DISK_LOW (1ull << 30) /* bytes */

struct check {
	const char *name;
	bool ok;
	char text[400];
};

struct doctor {
	struct check checks[CHECKS_MAX];
	size_t count;
	bool can_annotate;
};

__attribute__((format(printf, 4, 5))) static void doctor_add(struct doctor *d, const char *name,
							     bool ok, const char *fmt, ...)
{
	struct check *check = &d->checks[d->count];
	va_list args;

	if (d->count == CHECKS_MAX)
		return;
	d->count++;
	check->name = name;
	check->ok = ok;
	va_start(args, fmt);
	vsnprintf(check->text, sizeof(check->text), fmt, args);
	va_end(args);
}

static void doctor_check_handler(struct doctor *d, const struct pasta_handler *handler)
{
	char why[300] = "";
	int error = handler->probe ? handler->probe(why, sizeof(why)) : 0;

	doctor_add(d, handler->name, !error, "%s%s%s", handler->summary, *why ? ": " : "", why);
	if (!error && !strcmp(handler->name, "annotate"))
		d->can_annotate = true;
	if (!handler->accesses)
		return;
	error = handler->accesses(why, sizeof(why));
	doctor_add(d, "accesses", !error, "%s memory accesses of %s kernels: %s",
		   error ? "cannot count" : "counts", handler->name, why);
}

static void doctor_check_stacks(struct doctor *d, const char *agent)
{
	const char *(*unwinder)(void) = NULL, *fast, *names = pasta_dwarf_version();

	*(void **)&unwinder = pasta_cli_agent_symbol(agent, "pasta_agent_unwinder", NULL);
	fast = unwinder ? unwinder() : NULL;
	doctor_add(d, "stacks", names && fast, "run --stacks native: %s%s; %s",
		   fast ? "captured by "
			: "capturing stacks is slow: install libunwind8, which captures them ten "
			  "times faster",
		   fast ? fast : "",
		   names ? names
			 : "stacks have no function names: build accelprof with libdw "
			   "(libdw-dev)");
}

/* Load the agent in the same way as a recorded program does, and check the agent's handlers. The
 * agent is never unloaded. */
static void doctor_check_agent(struct doctor *d)
{
	const struct pasta_handler *const *handler = NULL;
	struct pasta_error err = {0};
	char *path = pasta_cli_agent(&err);

	if (path)
		handler = pasta_cli_handlers(path, &err);
	doctor_add(d, "agent", handler != NULL, "%s", handler ? path : err.text);
	if (handler)
		doctor_check_stacks(d, path);
	for (; handler && *handler; handler++)
		doctor_check_handler(d, *handler);
	free(path);
}

/* Check that the current folder supports rings. Rings need files that can be preallocated and
 * mapped as shared memory. */
static void doctor_check_folder(struct doctor *d)
{
	int fd = pasta_files_temporary(".");
	void *map = MAP_FAILED;

	if (fd < 0) {
		doctor_add(d, "folder", false,
			   "cannot write in the current folder (%s): use run -o with another "
			   "folder",
			   strerror(-fd));
		return;
	}
	if (fallocate(fd, 0, 0, 4096)) {
		doctor_add(d, "folder", false,
			   "fallocate fails in the current folder (%s): use run -o with another "
			   "folder",
			   strerror(errno));
	} else {
		map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		doctor_add(d, "folder", map != MAP_FAILED, "%s",
			   map != MAP_FAILED
				   ? "the current folder is writable, and its file system supports "
				     "fallocate and shared mappings"
				   : "files in the current folder cannot be mapped as shared "
				     "memory: use run -o with another folder");
	}
	if (map != MAP_FAILED)
		munmap(map, 4096);
	close(fd);
}

static void doctor_check_disk(struct doctor *d)
{
	struct statvfs st;
	unsigned long long bytes;

	if (statvfs(".", &st)) {
		doctor_add(d, "disk", false, "cannot determine the free disk space: %s",
			   strerror(errno));
		return;
	}
	bytes = (unsigned long long)st.f_bavail * st.f_frsize;
	doctor_add(d, "disk", bytes >= DISK_LOW,
		   bytes >= DISK_LOW ? "%.1f GiB free in the current folder"
				     : "%.1f GiB free in the current folder: remove files, or use "
				       "run -o with another folder",
		   (double)bytes / 0x1p30);
}

static void doctor_check_fork(struct doctor *d)
{
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool ok = map != MAP_FAILED && !madvise(map, 4096, MADV_WIPEONFORK);

	doctor_add(d, "fork", ok, "%s",
		   ok ? "MADV_WIPEONFORK works"
		      : "this version of Linux has no MADV_WIPEONFORK (4.14 and later have it): "
			"forked processes that do not call exec may not be recorded");
	if (map != MAP_FAILED)
		munmap(map, 4096);
}

static void doctor_check_clock(struct doctor *d)
{
	struct timespec from, to, now;
	double ns;
	int i;

	clock_gettime(CLOCK_MONOTONIC_RAW, &from);
	for (i = 0; i < CLOCK_READS; i++)
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	clock_gettime(CLOCK_MONOTONIC_RAW, &to);
	ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	     CLOCK_READS;
	doctor_add(d, "clock", ns < CLOCK_SLOW,
		   ns < CLOCK_SLOW
			   ? "reading CLOCK_MONOTONIC_RAW takes %.0f ns"
			   : "reading CLOCK_MONOTONIC_RAW takes %.0f ns, because the clock source "
			     "requires a system call, so recording each event takes longer (see "
			     "/sys/devices/system/clocksource/clocksource0/current_clocksource)",
		   ns);
}

static void doctor_print_text(const struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->count; i++)
		printf("%-3s %-12s %s\n", d->checks[i].ok ? "ok" : "no", d->checks[i].name,
		       d->checks[i].text);
}

static int doctor_print_json(const struct doctor *d)
{
	struct pasta_json *j = pasta_json_new(stdout, true);
	size_t i;

	if (!j)
		return pasta_json_free(j);
	pasta_json_map(j);
	pasta_json_key(j, "schema");
	pasta_json_str(j, "accelprof-doctor/1");
	pasta_json_key(j, "checks");
	pasta_json_list(j);
	for (i = 0; i < d->count; i++) {
		pasta_json_map(j);
		pasta_json_key(j, "name");
		pasta_json_str(j, d->checks[i].name);
		pasta_json_key(j, "ok");
		pasta_json_bool(j, d->checks[i].ok);
		pasta_json_key(j, "text");
		pasta_json_str(j, d->checks[i].text);
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
	pasta_json_map_end(j);
	return pasta_json_free(j);
}

enum { DOCTOR_FORMAT = 256, DOCTOR_MEASURE };

static int doctor_main(int argc, char **argv)
{
	struct doctor d = {0};
	bool json = false, measure = false;
	const char *arg;
	int id, first;

	while ((id = pasta_cli_next(&pasta_verb_doctor, argc, argv, &arg, &first)) > 0) {
		if (id == DOCTOR_MEASURE) {
			measure = true;
			continue;
		}
		json = !strcmp(arg, "json");
		if (!json && strcmp(arg, "text"))
			return pasta_cli_usage(&pasta_verb_doctor,
					       "unknown format '%s': formats are text and json",
					       arg);
	}
	if (id < 0)
		return first;
	if (first < argc)
		return pasta_cli_usage(&pasta_verb_doctor, "unexpected argument '%s'", argv[first]);
	if (measure && json)
		return pasta_cli_usage(&pasta_verb_doctor,
				       "--measure prints text only: omit --format json");
	if (measure)
		return pasta_measure();
	doctor_check_agent(&d);
	doctor_check_folder(&d);
	doctor_check_disk(&d);
	doctor_check_fork(&d);
	doctor_check_clock(&d);
	if (!json)
		doctor_print_text(&d);
	else if (doctor_print_json(&d)) /* main() reports errors of writing to stdout */
		return PASTA_CLI_FAILED;
	return d.can_annotate ? PASTA_CLI_OK : PASTA_CLI_FAILED;
}

static const struct pasta_cli_option options[] = {
	{DOCTOR_FORMAT, "format", "FORMAT", "text (default) or json"},
	{DOCTOR_MEASURE, "measure", NULL,
	 "measure the bandwidth and FLOP/s of the devices instead, and store them for reports"},
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_doctor = {
	.name = "doctor",
	.summary = "check what can be recorded on this machine",
	.usage = "[--format text|json] [--measure]",
	.more = "Prints one line for each check: \"ok\", or \"no\" with the reason and a remedy.\n"
		"Exit status: 0 if annotated programs can be recorded, else 1; with --measure, 0 if a "
		"device was measured, else 1.\n",
	.options = options,
	.main = doctor_main,
};
