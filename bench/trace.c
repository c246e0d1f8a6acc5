/* trace.c - accelprof-gen-trace: generates traces as PyTorch's profiler writes them; the same seed
 * makes the same bytes. */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/io/json.h"

#define EVENTS_MAX UINT64_C(10000000000)
#define BYTES_MAX (UINT64_C(1) << 42)
enum { RANKS_MAX = 1024, SAMPLE_STEPS = 8 };

static const char help[] =
	"usage: accelprof-gen-trace [OPTIONS] -o FILE\n"
	"\n"
	"Write a trace as PyTorch's profiler would write it for a training job: whole steps,\n"
	"operators, Python functions, CUDA calls, kernels, collectives, memory. The same options\n"
	"make the same bytes.\n"
	"\n"
	"  -o, --output FILE    output file, overwritten if it exists; - is stdout\n"
	"  -n, --events N       least number of events per file, rounded up to whole steps: 1000,\n"
	"                       1e6, 10M (default 100k)\n"
	"      --bytes SIZE     instead: approximate size, in whole steps: 500M, 1G (1 GB)\n"
	"      --ranks R        number of files: NAME-rank0.json and so on for NAME.json (default\n"
	"                       1: FILE itself, rank 0 of 8)\n"
	"      --seed S         seed of the random numbers (default 1)\n"
	"      --stacks yes|no  with Python functions (default yes)\n"
	"      --shapes yes|no  with the inputs of operators (default yes)\n"
	"      --compact        without white space\n"
	"      --truth FILE     write the sums over all files as JSON; - is stdout\n"
	"  -h, --help           show this help\n";

static int usage(const char *what, const char *arg)
{
	fprintf(stderr, "accelprof-gen-trace: %s '%s'; try 'accelprof-gen-trace --help'\n", what,
		arg);
	return 2;
}

/* Parses a whole number from 1 to max: "1000", "1e6", "2.5M". */
static bool number(const char *text, uint64_t max, uint64_t *n)
{
	static const char suffixes[] = "kKmMgG";
	char *end;
	double v = strtod(text, &end);
	const char *suffix = *end ? strchr(suffixes, *end) : NULL;

	if (end == text || (*end && (!suffix || end[1])))
		return false;
	for (long i = suffix ? (suffix - suffixes) / 2 + 1 : 0; i > 0; i--)
		v *= 1000;
	if (!(v >= 1 && v <= (double)max))
		return false;
	*n = (uint64_t)v;
	return (double)*n == v;
}

static bool yes_no(const char *text, bool *value)
{
	*value = !strcmp(text, "yes");
	return *value || !strcmp(text, "no");
}

static bool set(struct trace_options *o, int id, const char *arg)
{
	uint64_t n = 0;
	bool ok = true;

	switch (id) {
	case 'o':
		o->out = arg;
		break;
	case 'n':
		return number(arg, EVENTS_MAX, &o->events);
	case 'b':
		return number(arg, BYTES_MAX, &o->bytes);
	case 'r':
		ok = number(arg, RANKS_MAX, &n);
		o->ranks = (uint32_t)n;
		break;
	case 's':
		return number(arg, UINT64_C(1) << 53, &o->seed);
	case 'k':
		return yes_no(arg, &o->stacks);
	case 'p':
		return yes_no(arg, &o->shapes);
	case 'c':
		o->compact = true;
		break;
	case 't':
		o->truth = arg;
		break;
	}
	return ok;
}

/* Returns the exit status, or -1 to continue. */
static int parse(int argc, char **argv, struct trace_options *o)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"events", required_argument, NULL, 'n'},
						{"bytes", required_argument, NULL, 'b'},
						{"ranks", required_argument, NULL, 'r'},
						{"seed", required_argument, NULL, 's'},
						{"stacks", required_argument, NULL, 'k'},
						{"shapes", required_argument, NULL, 'p'},
						{"compact", no_argument, NULL, 'c'},
						{"truth", required_argument, NULL, 't'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	int id;

	while ((id = getopt_long(argc, argv, "o:n:h", options, NULL)) != -1) {
		if (id == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (id == '?') {
			fprintf(stderr, "Try 'accelprof-gen-trace --help'.\n");
			return 2;
		}
		if (!set(o, id, optarg))
			return usage("invalid value", optarg);
	}
	if (optind < argc)
		return usage("what is", argv[optind]);
	if (!o->out)
		return usage("no output file given: use", "-o FILE");
	if (!strcmp(o->out, "-") && o->ranks > 1)
		return usage("several ranks need several files, not stdout: use", "-o FILE");
	if (!strcmp(o->out, "-") && o->truth && !strcmp(o->truth, "-"))
		return usage("stdout has the trace: use another file than", "--truth -");
	return -1;
}

/* -- A file -- */

/* The file of a rank: NAME-rankR.json for NAME.json, or FILE itself if it is the only one. */
static char *file_of(const struct trace_options *o, uint32_t rank)
{
	size_t n = strlen(o->out), end = n > 5 && !strcmp(o->out + n - 5, ".json") ? 5 : 0;
	char *path = malloc(n + 32);

	if (path && o->ranks == 1)
		snprintf(path, n + 32, "%s", o->out);
	else if (path)
		snprintf(path, n + 32, "%.*s-rank%u.json", (int)(n - end), o->out, rank);
	return path;
}

/* The size of a step, measured on the first few. 0 when out of memory. */
static uint64_t step_bytes(const struct trace_options *o, uint32_t rank)
{
	struct trace_writer *w = trace_writer_new(o, rank, -1);
	struct trace_sim *s = trace_sim_new(o, rank);
	uint64_t bytes = 0;
	size_t count;

	for (unsigned int i = 0; w && s && i < SAMPLE_STEPS; i++) {
		const struct trace_event *events = trace_sim_step(s, &count, NULL);

		for (unsigned int k = 0; k < TRACE_SECTIONS; k++)
			trace_writer_step(w, k, events, count);
	}
	if (w && s)
		bytes = trace_writer_bytes(w) / SAMPLE_STEPS;
	trace_sim_free(s);
	trace_writer_free(w);
	return bytes;
}

static uint64_t events_of(const struct trace_truth *t)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < TRACE_CATS; i++)
		n += t->categories[i];
	return n;
}

static void count_rest(const struct trace_options *o, struct trace_truth *t)
{
	t->categories[TRACE_CAT_SPAN]++;
	t->categories[TRACE_CAT_NONE] += trace_tail_events() - 1;
	for (unsigned int i = 0; o->stacks && trace_roots[i]; i++)
		t->categories[TRACE_CAT_PYTHON]++;
}

/* Determines the number of steps and their content, before anything is written. */
static int plan(const struct trace_options *o, uint32_t rank, struct trace_truth *t,
		uint64_t *steps)
{
	uint64_t before = events_of(t), each = o->bytes ? step_bytes(o, rank) : 0;
	struct trace_sim *s = trace_sim_new(o, rank);
	size_t count;

	if (!s || (o->bytes && !each)) {
		trace_sim_free(s);
		return -ENOMEM;
	}
	t->first = 0;
	count_rest(o, t);
	*steps = 0;
	do {
		trace_sim_step(s, &count, t);
		++*steps;
	} while (o->bytes ? *steps * each < o->bytes : events_of(t) - before < o->events);
	trace_sim_free(s);
	return 0;
}

/* Each section is a pass over all steps: unlike Kineto, which holds the sections in memory. */
static int write_section(const struct trace_options *o, uint32_t rank, struct trace_writer *w,
			 enum trace_section section, uint64_t steps)
{
	struct trace_sim *s = trace_sim_new(o, rank);
	size_t count;

	if (!s)
		return -ENOMEM;
	for (uint64_t i = 0; i < steps; i++) {
		const struct trace_event *events = trace_sim_step(s, &count, NULL);

		trace_writer_step(w, section, events, count);
	}
	trace_sim_free(s);
	return 0;
}

static int write_trace(const struct trace_options *o, uint32_t rank, int fd, const char *name,
		       struct trace_truth *t)
{
	struct trace_writer *w = trace_writer_new(o, rank, fd);
	uint64_t steps, before = events_of(t);
	int r = w ? plan(o, rank, t, &steps) : -ENOMEM, e;

	if (!r)
		trace_writer_head(w);
	for (unsigned int k = 0; !r && k < TRACE_SECTIONS; k++) {
		if (k == TRACE_SECTION_PYTHON)
			trace_writer_roots(w, t->first, t->last);
		r = write_section(o, rank, w, k, steps);
	}
	if (!r) {
		trace_writer_tail(w, t->first, t->last, name);
		t->bytes += trace_writer_bytes(w);
		/* The writer counts independently: both numbers must agree. */
		if (trace_writer_events(w) != events_of(t) - before)
			r = -EPROTO;
	}
	e = trace_writer_free(w);
	return r ? r : e;
}

static int make_rank(const struct trace_options *o, uint32_t rank, struct trace_truth *t)
{
	char *path = file_of(o, rank);
	bool to_stdout = !strcmp(o->out, "-");
	int fd, r;

	if (!path)
		return -ENOMEM;
	fd = to_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	r = fd < 0 ? -errno : write_trace(o, rank, fd, path, t);
	if (fd >= 0 && !to_stdout && close(fd) && !r)
		r = -errno;
	if (r)
		fprintf(stderr, "accelprof-gen-trace: cannot write %s: %s\n",
			to_stdout ? "to stdout" : path, strerror(-r));
	free(path);
	return r;
}

/* -- The truth -- */

static void put(struct pasta_json *j, const char *key, uint64_t value)
{
	pasta_json_key(j, key);
	pasta_json_uint(j, value);
}

static void open_map(struct pasta_json *j, const char *key)
{
	pasta_json_key(j, key);
	pasta_json_map(j);
}

static void put_sum(struct pasta_json *j, const char *key, const struct gen_sum *sum, bool bytes)
{
	if (!sum->count)
		return;
	open_map(j, key);
	put(j, "count", sum->count);
	put(j, "ns", sum->ns);
	if (bytes)
		put(j, "bytes", sum->bytes);
	pasta_json_map_end(j);
}

static void put_counts(struct pasta_json *j, const struct trace_truth *t)
{
	open_map(j, "categories");
	for (unsigned int i = 0; i < TRACE_CATS; i++)
		if (t->categories[i])
			put(j, trace_categories[i], t->categories[i]);
	pasta_json_map_end(j);
	open_map(j, "calls");
	for (unsigned int i = 0; i < TRACE_CALLS; i++)
		if (t->calls[i])
			put(j, trace_calls[i].name, t->calls[i]);
	pasta_json_map_end(j);
}

static void put_device(struct pasta_json *j, const struct trace_truth *t)
{
	open_map(j, "kernels");
	for (unsigned int i = 0; i < TRACE_KERNELS; i++)
		if (t->kernels[i].count)
			put_sum(j, trace_kernel(i)->name, &t->kernels[i], false);
	pasta_json_map_end(j);
	open_map(j, "copies");
	for (unsigned int i = 0; i < TRACE_COPIES; i++)
		put_sum(j, trace_copies[i], &t->copies[i], true);
	pasta_json_map_end(j);
	put_sum(j, "sets", &t->sets, true);
	open_map(j, "collectives");
	for (unsigned int i = 0; i < TRACE_COLLECTIVES; i++) {
		open_map(j, trace_collectives[i].name);
		put(j, "count", t->collectives[i].count);
		put(j, "ns", t->collectives[i].ns);
		put(j, "bytes_in", t->collectives[i].in);
		put(j, "bytes_out", t->collectives[i].out);
		pasta_json_map_end(j);
	}
	pasta_json_map_end(j);
}

static void put_ops(struct pasta_json *j, const struct trace_truth *t)
{
	open_map(j, "ops");
	for (uint16_t i = 0; i < trace_node_count; i++) {
		unsigned int kind = trace_nodes[i].kind;

		if (!t->nodes[i].calls || (kind != TRACE_OP && kind != TRACE_GRAD_OP))
			continue;
		open_map(j, trace_nodes[i].name);
		put(j, "calls", t->nodes[i].calls);
		put(j, "host_ns", t->nodes[i].ns);
		put(j, "host_self_ns", t->nodes[i].self_ns);
		put(j, "device_self_ns", t->nodes[i].device_self_ns);
		put(j, "device_total_ns", t->nodes[i].device_ns);
		pasta_json_map_end(j);
	}
	pasta_json_map_end(j);
}

/* Names that end with a number are summed up without it. */
static void put_named(struct pasta_json *j, const struct trace_options *o, const char *key,
		      const struct trace_truth *t, unsigned int kind, unsigned int or_kind)
{
	open_map(j, key);
	for (uint16_t i = 0; i < trace_node_count; i++) {
		if (!t->nodes[i].calls ||
		    (trace_nodes[i].kind != kind && trace_nodes[i].kind != or_kind))
			continue;
		open_map(j, trace_nodes[i].name);
		put(j, "calls", t->nodes[i].calls);
		put(j, "ns", t->nodes[i].ns);
		pasta_json_map_end(j);
	}
	for (unsigned int i = 0; kind == TRACE_PYTHON && trace_roots[i]; i++) {
		open_map(j, trace_roots[i]);
		put(j, "calls", o->ranks);
		pasta_json_map_end(j);
	}
	pasta_json_map_end(j);
}

static void put_memory(struct pasta_json *j, const struct trace_truth *t)
{
	open_map(j, "memory");
	put(j, "allocs", t->allocs);
	put(j, "alloc_bytes", t->alloc_bytes);
	put(j, "frees", t->frees);
	put(j, "free_bytes", t->free_bytes);
	pasta_json_map_end(j);
}

static int print_truth(FILE *f, const struct trace_options *o, const struct trace_truth *t)
{
	struct pasta_json *j = pasta_json_new(f, false);

	if (!j)
		return -ENOMEM;
	pasta_json_map(j);
	put(j, "files", o->ranks);
	put(j, "world", trace_world(o));
	put(j, "bytes", t->bytes);
	put(j, "events", events_of(t));
	put(j, "steps", t->steps);
	put(j, "launches", t->launches);
	put(j, "kernel_ns", t->kernel_ns);
	put_counts(j, t);
	put_device(j, t);
	put_memory(j, t);
	put_ops(j, t);
	put_named(j, o, "annotations", t, TRACE_REGION, TRACE_REGION);
	if (o->stacks)
		put_named(j, o, "python", t, TRACE_PYTHON, TRACE_MODULE);
	pasta_json_map_end(j);
	return pasta_json_free(j);
}

static int save_truth(const struct trace_options *o, const struct trace_truth *t)
{
	bool to_stdout = !strcmp(o->truth, "-");
	FILE *f = to_stdout ? stdout : fopen(o->truth, "we");
	int r = f ? print_truth(f, o, t) : -errno;

	if (f && (to_stdout ? fflush(f) : fclose(f)) && !r)
		r = -errno;
	if (r)
		fprintf(stderr, "accelprof-gen-trace: cannot write %s: %s\n", o->truth,
			strerror(-r));
	return r;
}

int main(int argc, char **argv)
{
	static struct trace_truth truth;
	struct trace_options o = {
		.events = 100000, .seed = 1, .ranks = 1, .stacks = true, .shapes = true};
	int status = parse(argc, argv, &o);
	int r = 0;

	if (status >= 0)
		return status;
	for (uint32_t rank = 0; !r && rank < o.ranks; rank++)
		r = make_rank(&o, rank, &truth);
	if (!r && o.truth)
		r = save_truth(&o, &truth);
	return r != 0;
}
