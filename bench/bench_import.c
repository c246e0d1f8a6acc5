/* bench_import.c - imports traces of PyTorch's profiler on one core: speed and memory, compared
 * with a Python process that only loads them; then a report of the result. */
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <zstd.h>

enum { RUNS_LARGE = 3, BLOCK = 1 << 17, DEVNULL_FAILED = 126 };
#define EVENT_BYTES 360.0 /* typical size of an event in a generated trace */
#define LOAD "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"

static const char gzip_program[] =
	"import gzip, shutil, sys\n"
	"with open(sys.argv[1], 'rb') as a, gzip.open(sys.argv[2], 'wb', 6) as b:\n"
	"    shutil.copyfileobj(a, b, 1 << 20)\n";

static const char help[] =
	"usage: bench_import [--size SIZE] [--events N] [--rounds R] [--core C] [-t TOOL,...]\n"
	"\n"
	"  --size SIZE   bytes of the trace to compare with Python (default 1G)\n"
	"  --events N    events of the large trace (default 10M)\n"
	"  --rounds R    repetitions (default 5)\n"
	"  --core C      CPU core to run on (default: the last one allowed)\n"
	"  -t TOOL,...   tools of the report (default summary,kernel_freq,ops)\n"
	"\n"
	"Traces and runs are stored in $TMPDIR (/tmp) and removed at the end.\n";

static struct {
	const char *size, *events, *tools;
	double bytes, count;
	int rounds, core;
} options = {"1G", "10M", "summary,kernel_freq,ops", 1e9, 1e7, 5, -1};

static char accelprof[4096], generator[4096], trace[4200], run_path[4200], truth[4200];

/* What a program used: seconds, and its peak memory in MiB. */
struct used {
	double seconds, memory;
};

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)options.core, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Returns the exit status, or 128 plus the signal that ended the program. */
static int try_run(const char *const argv[], struct used *used)
{
	double begin = bench_now();
	struct rusage usage = {0};
	int status = -1, null;
	pid_t pid = fork();

	if (!pid) {
		pin();
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
			_exit(DEVNULL_FAILED);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
		bench_die("cannot run %s: %s", argv[0], strerror(errno));
	*used = (struct used){bench_now() - begin, (double)usage.ru_maxrss / 1024};
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static struct used run(const char *const argv[])
{
	struct used used;
	int status = try_run(argv, &used);

	if (status)
		bench_die("%s %s failed with status %d", argv[0], argv[1], status);
	return used;
}

static struct used import(const char *file, const char *kinds)
{
	const char *all[] = {accelprof, "import", file, "-o", run_path, NULL};
	const char *some[] = {accelprof, "import", "--kinds", kinds, file, "-o", run_path, NULL};

	bench_remove(run_path);
	return run(kinds ? some : all);
}

static double size_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		bench_die("%s: %s", path, strerror(errno));
	return (double)st.st_size;
}

static double folder_bytes;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	folder_bytes += type == FTW_F ? (double)st->st_size : 0;
	return 0;
}

/* -- A trace -- */

static void generate(const char *option, const char *value)
{
	const char *argv[] = {generator, option, value, "-o", trace, "--truth", truth, NULL};

	run(argv);
}

/* A number from the generator's output. */
static double truth_number(const char *key)
{
	char line[4096], quoted[64];
	FILE *f = fopen(truth, "re");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
	const char *at;

	line[n] = '\0';
	if (f)
		fclose(f);
	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(line, quoted);
	if (!at)
		bench_die("%s has no member %s", truth, key);
	return strtod(at + strlen(quoted), NULL);
}

static void compress_block(ZSTD_CCtx *c, FILE *to, ZSTD_inBuffer *in, ZSTD_EndDirective how)
{
	static char text[BLOCK];
	size_t left;

	do {
		ZSTD_outBuffer out = {text, sizeof(text), 0};

		left = ZSTD_compressStream2(c, &out, in, how);
		if (ZSTD_isError(left) || fwrite(text, 1, out.pos, to) != out.pos)
			bench_die("cannot compress %s", trace);
	} while (how == ZSTD_e_end ? left > 0 : in->pos < in->size);
}

static void make_zstd(const char *path)
{
	static char text[BLOCK];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	FILE *from = fopen(trace, "re"), *to = fopen(path, "we");
	ZSTD_inBuffer in = {text, 0, 0};

	if (!c || !from || !to)
		bench_die("cannot write %s: %s", path, strerror(errno));
	while ((in.size = fread(text, 1, sizeof(text), from)) > 0) {
		in.pos = 0;
		compress_block(c, to, &in, ZSTD_e_continue);
	}
	in.pos = 0;
	compress_block(c, to, &in, ZSTD_e_end);
	if (ferror(from) || fclose(to))
		bench_die("cannot write %s: %s", path, strerror(errno));
	fclose(from);
	ZSTD_freeCCtx(c);
}

/* -- Measurements -- */

/* Alternates between the two, so that other load affects both alike. */
static void measure_with_python(double megabytes)
{
	struct bench rate = {0}, memory = {0}, python = {0}, python_memory = {0}, ratio = {0};
	const char *load[] = {"python3", "-c", LOAD, trace, NULL};

	for (int i = 0; i < options.rounds; i++) {
		struct used ours = import(trace, NULL), theirs = run(load);

		bench_add(&rate, megabytes / ours.seconds);
		bench_add(&memory, ours.memory);
		bench_add(&python, megabytes / theirs.seconds);
		bench_add(&python_memory, theirs.memory);
		bench_add(&ratio, theirs.seconds / ours.seconds);
	}
	bench_report(&rate, "accelprof import", "MB/s");
	bench_report(&memory, "  memory", "MiB");
	bench_report(&python, "python3, json.load", "MB/s");
	bench_report(&python_memory, "  memory", "MiB");
	bench_report(&ratio, "import, of the speed of json.load", "x");
}

static void measure_packed(const char *what, const char *path, double megabytes)
{
	struct bench rate = {0}, memory = {0};
	char line[100];

	for (int i = 0; i < options.rounds; i++) {
		struct used t = import(path, NULL);

		bench_add(&rate, megabytes / t.seconds);
		bench_add(&memory, t.memory);
	}
	snprintf(line, sizeof(line), "accelprof import, %s, %.0f MB of it", what,
		 size_of(path) / 1e6);
	bench_report(&rate, line, "MB/s of text");
	bench_report(&memory, "  memory", "MiB");
	bench_remove(path);
}

static void measure_size(void)
{
	char packed[4300];
	const char *gzip[] = {"python3", "-c", gzip_program, trace, packed, NULL};
	double megabytes;

	generate("--bytes", options.size);
	megabytes = size_of(trace) / 1e6;
	printf("a trace of %.0f MB, %.0f events, %.0f launches\n", megabytes,
	       truth_number("events"), truth_number("launches"));
	measure_with_python(megabytes);
	snprintf(packed, sizeof(packed), "%s.gz", trace);
	run(gzip);
	measure_packed("gzip -6", packed, megabytes);
	snprintf(packed, sizeof(packed), "%s.zst", trace);
	make_zstd(packed);
	measure_packed("zstd -3", packed, megabytes);
	bench_remove(trace);
}

static void measure_events(void)
{
	const char *report[] = {accelprof, "report", run_path, "-t", options.tools, NULL};
	struct bench imported = {0}, memory = {0}, reported = {0}, report_memory = {0};
	char line[256];

	generate("-n", options.events);
	printf("a trace of %.0f MB, %.0f events, %.0f launches\n", size_of(trace) / 1e6,
	       truth_number("events"), truth_number("launches"));
	for (int i = 0; i < RUNS_LARGE; i++) {
		struct used t = import(trace, NULL);

		bench_add(&imported, t.seconds);
		bench_add(&memory, t.memory);
		t = run(report);
		bench_add(&reported, t.seconds);
		bench_add(&report_memory, t.memory);
	}
	bench_report(&imported, "accelprof import", "s");
	bench_report(&memory, "  memory", "MiB");
	snprintf(line, sizeof(line), "accelprof report -t %s", options.tools);
	bench_report(&reported, line, "s");
	bench_report(&report_memory, "  memory", "MiB");
	import(trace, "launch,kernel");
	folder_bytes = 0;
	nftw(run_path, add_size, 16, FTW_PHYS);
	printf("%-52s %9.2f bytes a launch\n", "the run of --kinds launch,kernel",
	       folder_bytes / truth_number("launches"));
}

/* -- Options -- */

/* Parses "1G", "2.5M" or "1e6". Returns 0 if text is not a number. */
static double number(const char *text)
{
	static const char suffixes[] = "kmg";
	char *end;
	double v = strtod(text, &end);
	const char *suffix = *end ? strchr(suffixes, *end | 32) : NULL;

	for (long i = suffix ? suffix - suffixes + 1 : 0; i > 0; i--)
		v *= 1000;
	return end != text && (!*end || (suffix && !end[1])) && v >= 1 ? v : 0;
}

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{"size", required_argument, NULL, 's'},	  {"events", required_argument, NULL, 'n'},
		{"rounds", required_argument, NULL, 'r'}, {"core", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0}};
	int id;

	while ((id = getopt_long(argc, argv, "t:h", names, NULL)) != -1) {
		if (id == 's')
			options.bytes = number(options.size = optarg);
		else if (id == 'n')
			options.count = number(options.events = optarg);
		else if (id == 'r')
			options.rounds = (int)number(optarg);
		else if (id == 'c')
			options.core = atoi(optarg);
		else if (id == 't')
			options.tools = optarg;
		else
			break;
	}
	if (id == 'h') {
		fputs(help, stdout);
		exit(0);
	}
	if (id != -1 || optind < argc || options.bytes <= 0 || options.count <= 0 ||
	    options.rounds < 1 || options.rounds > BENCH_RUNS_MAX)
		bench_die("%s", help);
}

static void choose_core(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		bench_die("cannot determine the CPU cores: %s", strerror(errno));
	for (int i = 0; options.core < 0 && i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)(CPU_SETSIZE - 1 - i), &set))
			options.core = CPU_SETSIZE - 1 - i;
	if (options.core < 0 || options.core >= CPU_SETSIZE ||
	    !CPU_ISSET((size_t)options.core, &set))
		bench_die("core %d is not in the affinity mask: choose another with --core",
			  options.core);
}

static void check_room(void)
{
	/* The trace; compressed traces and the run are far smaller. */
	double large = options.count * EVENT_BYTES;
	double needed = 1.5 * (options.bytes > large ? options.bytes : large);
	struct statvfs fs;
	double left;

	if (statvfs(bench_temp(), &fs))
		bench_die("%s: %s", bench_temp(), strerror(errno));
	left = (double)fs.f_bavail * (double)fs.f_frsize;
	printf("needs %.1f GB in %s, which has %.1f\n", needed / 1e9, bench_temp(), left / 1e9);
	if (left < needed)
		bench_die(
			"not enough disk space: set TMPDIR to another folder, or reduce --size and --events");
}

static void check_programs(void)
{
	const char *import_help[] = {accelprof, "import", "--help", NULL};
	const char *python[] = {"python3", "-c", "import json, gzip", NULL};
	struct used t;

	if (try_run(import_help, &t))
		bench_die("%s was built without import: nothing to measure", accelprof);
	if (try_run(python, &t))
		bench_die("python3 is not installed: nothing to compare with");
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	choose_core();
	snprintf(accelprof, sizeof(accelprof), "%s", bench_built("accelprof"));
	snprintf(generator, sizeof(generator), "%s", bench_built("bench/accelprof-gen-trace"));
	check_programs();
	check_room();
	snprintf(trace, sizeof(trace), "%s/trace.json", bench_temp());
	snprintf(truth, sizeof(truth), "%s/truth.json", bench_temp());
	snprintf(run_path, sizeof(run_path), "%s/run", bench_temp());
	measure_size();
	measure_events();
	return 0;
}
