/* gen.c - accelprof-gen: generates a run of any size; the same seed makes the same run. */
#include "gen.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/io/json.h"
#include "process/read/run.h"
#include "process/read/runinfo.h"

#define EVENTS_MAX UINT64_C(10000000000)
enum { RANKS_MAX = 100000, THREADS_MAX = 900 };

#define TRAINING                                                                                   \
	(PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) |            \
	 PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(SYNC) | PASTA_MASK(OP_BEGIN) |          \
	 PASTA_MASK(OP_END) | PASTA_MASK(REGION) | PASTA_MASK(ITERATION) | PASTA_MASK(COUNTER) |   \
	 PASTA_MASK(COLLECTIVE))

static const struct profile {
	const char *name;
	uint64_t kinds;
	bool drops, torch;
} profiles[] = {{"kernels", PASTA_MASK(KERNEL), false, false},
		{"training", TRAINING, false, false},
		{"torch", TRAINING | PASTA_MASK(TENSOR) | PASTA_MASK(OP_ARG), false, true},
		{"all", UINT64_MAX, true, false},
		{NULL, 0, false, false}};

static const char help[] =
	"usage: accelprof-gen [OPTIONS] -o RUN\n"
	"\n"
	"Make a run, as if a training job had been recorded. The same options make the same\n"
	"shards. A line of JSON on stdout describes the content.\n"
	"\n"
	"  -o, --output RUN     the folder, which must not exist or must be empty\n"
	"  -n, --events N       least number of events of all ranks, rounded up to whole training\n"
	"                       steps: 1000, 1e6, 10M (default 1M)\n"
	"      --ranks R        number of processes, one shard each, 8 per host (default 1)\n"
	"      --threads T      threads per process: one trains, the others load data (default 2)\n"
	"      --seed S         seed of the random numbers (default 1)\n"
	"      --profile P      kernels: only kernels; training: a typical recording (default);\n"
	"                       torch: with Python, modules and tensors; all: every kind, and\n"
	"                       some loss\n"
	"      --kinds K,...    only these kinds of the profile all\n"
	"      --damage D       none (default); torn: shards end within their last frame of events;\n"
	"                       truncate: the last third is missing; flip: one bit per MiB is\n"
	"                       wrong; holes: 4 KiB per MiB are zero\n"
	"  -h, --help           show this help\n";

static uint64_t progress_total;

void gen_progress(uint64_t events)
{
	static uint64_t shown;

	if (progress_total && events - shown >= progress_total / 200 + 100000) {
		shown = events;
		fprintf(stderr, "\r%3d%%", (int)(100.0 * (double)events / (double)progress_total));
	}
}

static int usage(const char *what, const char *arg)
{
	fprintf(stderr, "accelprof-gen: %s '%s'; try 'accelprof-gen --help'\n", what, arg);
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

static bool parse_kinds(const char *text, uint64_t *kinds)
{
	for (*kinds = 0; *text; text += *text == ',') {
		size_t n = strcspn(text, ",");
		unsigned int k = 1;

		while (k < PASTA_KIND_MAX &&
		       !(pasta_kind_name(k) && strlen(pasta_kind_name(k)) == n &&
			 !memcmp(pasta_kind_name(k), text, n)))
			k++;
		if (k == PASTA_KIND_MAX)
			return false;
		*kinds |= UINT64_C(1) << k;
		text += n;
	}
	return *kinds != 0;
}

static bool set_profile(struct gen_options *o, const char *name)
{
	const struct profile *p = profiles;

	while (p->name && strcmp(p->name, name))
		p++;
	if (!p->name)
		return false;
	o->profile = p->name;
	o->kinds = p->kinds;
	o->drops = p->drops;
	o->torch = p->torch;
	return true;
}

static bool set_damage(struct gen_options *o, const char *name)
{
	for (const char *const *d = gen_damages; *d; d++)
		if (!strcmp(*d, name)) {
			o->damage = *d;
			return true;
		}
	return false;
}

/* Returns the exit status, or -1 to continue. */
static int parse(int argc, char **argv, struct gen_options *o)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'}, {"events", required_argument, NULL, 'n'},
		{"ranks", required_argument, NULL, 'r'},  {"threads", required_argument, NULL, 't'},
		{"seed", required_argument, NULL, 's'},	  {"profile", required_argument, NULL, 'p'},
		{"kinds", required_argument, NULL, 'k'},  {"damage", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0}};
	const char *kinds = NULL;
	uint64_t n = 0;
	bool ok = true;
	int id;

	while (ok && (id = getopt_long(argc, argv, "o:n:h", options, NULL)) != -1) {
		switch (id) {
		case 'o':
			o->out = optarg;
			break;
		case 'n':
			ok = number(optarg, EVENTS_MAX, &o->events);
			break;
		case 'r':
			ok = number(optarg, RANKS_MAX, &n);
			o->ranks = (uint32_t)n;
			break;
		case 't':
			ok = number(optarg, THREADS_MAX, &n);
			o->threads = (uint32_t)n;
			break;
		case 's':
			ok = number(optarg, UINT64_C(1) << 53, &o->seed);
			break;
		case 'p':
			ok = set_profile(o, optarg);
			break;
		case 'k':
			kinds = optarg;
			break;
		case 'd':
			ok = set_damage(o, optarg);
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fprintf(stderr, "Try 'accelprof-gen --help'.\n");
			return 2;
		}
	}
	if (!ok)
		return usage("invalid value", optarg);
	if (kinds && !parse_kinds(kinds, &o->kinds))
		return usage("unknown kind in", kinds);
	if (optind < argc)
		return usage("what is", argv[optind]);
	if (!o->out)
		return usage("no output folder given: use", "-o RUN");
	return -1;
}

static void put(struct pasta_json *j, const char *key, uint64_t value)
{
	pasta_json_key(j, key);
	pasta_json_uint(j, value);
}

static void put_kinds(struct pasta_json *j, const char *key, const uint64_t *counts)
{
	pasta_json_key(j, key);
	pasta_json_map(j);
	for (unsigned int k = 1; k < PASTA_KIND_MAX; k++)
		if (counts[k])
			put(j, pasta_kind_name(k), counts[k]);
	pasta_json_map_end(j);
}

static void put_sum(struct pasta_json *j, const char *key, const struct gen_sum *sum)
{
	if (!sum->count)
		return;
	pasta_json_key(j, key);
	pasta_json_map(j);
	put(j, "count", sum->count);
	put(j, "bytes", sum->bytes);
	put(j, "ns", sum->ns);
	pasta_json_map_end(j);
}

static void put_work(struct pasta_json *j, const struct gen_totals *t)
{
	static const char *const names[GEN_COPIES] = {
		[0] = "set", [PASTA_COPY_H2D] = "h2d", [PASTA_COPY_D2H] = "d2h"};

	pasta_json_key(j, "kernels");
	pasta_json_map(j);
	for (size_t i = 1; i < gen_kernel_count; i++)
		put_sum(j, gen_kernels[i].name, &t->kernels[i]);
	pasta_json_map_end(j);
	pasta_json_key(j, "copies");
	pasta_json_map(j);
	for (size_t i = 0; i < GEN_COPIES; i++)
		put_sum(j, names[i], &t->copies[i]);
	pasta_json_map_end(j);
}

static void put_regions(struct pasta_json *j, const struct gen_totals *t)
{
	pasta_json_key(j, "regions");
	pasta_json_map(j);
	for (size_t i = 0; i < GEN_REGIONS; i++) {
		if (!t->regions[i].calls)
			continue;
		pasta_json_key(j, gen_region_paths[i]);
		pasta_json_map(j);
		put(j, "calls", t->regions[i].calls);
		put(j, "ns", t->regions[i].ns);
		put(j, "exclusive_ns", t->regions[i].exclusive_ns);
		put(j, "device_ns", t->regions[i].device_ns);
		put(j, "device_self_ns", t->regions[i].device_self_ns);
		pasta_json_map_end(j);
	}
	pasta_json_map_end(j);
}

static void put_torch(struct pasta_json *j, const struct gen_totals *t)
{
	char text[64];

	pasta_json_key(j, "lines");
	pasta_json_map(j);
	for (size_t i = 0; i < GEN_LINES; i++) {
		snprintf(text, sizeof(text), "%s:%" PRIu32, gen_lines[i].file, gen_lines[i].line);
		pasta_json_key(j, text);
		pasta_json_map(j);
		put(j, "kernels", t->lines[i].kernels);
		put(j, "ns", t->lines[i].ns);
		put(j, "backward_ns", t->lines[i].backward_ns);
		put(j, "allocs", t->lines[i].allocs);
		put(j, "alloc_bytes", t->lines[i].alloc_bytes);
		pasta_json_map_end(j);
	}
	pasta_json_map_end(j);
	pasta_json_key(j, "modules");
	pasta_json_map(j);
	for (size_t i = 0; i < GEN_LAYERS; i++) {
		snprintf(text, sizeof(text), "layers.%zu", i);
		pasta_json_key(j, text);
		pasta_json_map(j);
		put(j, "ops", t->layer_ops[i]);
		put(j, "ns", t->layer_ns[i]);
		pasta_json_map_end(j);
	}
	pasta_json_map_end(j);
	put(j, "loss_bytes", t->loss_bytes);
}

static int print_totals(const struct gen_options *o, const struct gen_totals *t)
{
	struct pasta_json *j = pasta_json_new(stdout, false);

	if (!j)
		return -ENOMEM;
	pasta_json_map(j);
	pasta_json_key(j, "run");
	pasta_json_str(j, o->out);
	pasta_json_key(j, "damage");
	pasta_json_str(j, o->damage);
	put(j, "shards", o->ranks);
	put(j, "bytes", t->bytes);
	put(j, "events", t->events);
	put(j, "dropped", t->dropped);
	put_kinds(j, "kinds", t->kinds);
	put_kinds(j, "state", t->state);
	put(j, "kernel_ns", t->kernel_ns);
	put(j, "copy_bytes", t->copy_bytes);
	put(j, "alloc_bytes", t->alloc_bytes);
	put(j, "free_bytes", t->free_bytes);
	put(j, "peak_bytes", t->peak_bytes);
	put_regions(j, t);
	put_work(j, t);
	if (o->torch)
		put_torch(j, t);
	pasta_json_map_end(j);
	return pasta_json_free(j);
}

static int save_info(const struct gen_options *o, const struct gen_totals *t, const char *folder,
		     struct pasta_error *err)
{
	char *command[] = {(char *)"accelprof-gen", NULL}, *tools[] = {NULL};
	struct pasta_runinfo info = {.command = command,
				     .tools = tools,
				     .host = (char *)"gen0",
				     .version = (char *)PASTA_VERSION_STRING,
				     .kinds = o->kinds,
				     .start = GEN_REAL,
				     .end = t->last,
				     .exited = true,
				     .shards = o->ranks};
	char *file = pasta_run_file(folder, PASTA_RUN_INFO);
	int r = file ? pasta_runinfo_save(&info, file, err)
		     : pasta_fail(err, -ENOMEM, "out of memory");

	free(file);
	return r;
}

static int make_shards(const struct gen_options *o, const char *folder, struct gen_totals *t,
		       struct pasta_error *err)
{
	char name[64], *path;
	int r = 0;

	for (uint32_t rank = 0; !r && rank < o->ranks; rank++) {
		snprintf(name, sizeof(name), "%s/", PASTA_RUN_SHARDS);
		gen_shard_name(name + strlen(name), sizeof(name) - strlen(name), rank);
		path = pasta_run_file(folder, name);
		if (!path)
			return pasta_fail(err, -ENOMEM, "out of memory");
		r = gen_rank(o, rank, path, t, err);
		r = r ? r : gen_damage(o->damage, path, o->seed + rank, err);
		free(path);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct gen_options o = {.events = 1000000, .seed = 1, .ranks = 1, .threads = 2};
	struct gen_totals totals = {0};
	struct pasta_run run = {0};
	struct pasta_error err = {0};
	int status, r;

	set_profile(&o, "training");
	set_damage(&o, "none");
	status = parse(argc, argv, &o);
	if (status >= 0)
		return status;
	progress_total = isatty(STDERR_FILENO) ? o.events : 0;
	r = pasta_run_create(&run, o.out, &err);
	if (!r)
		r = make_shards(&o, run.path, &totals, &err);
	if (!r)
		r = save_info(&o, &totals, run.path, &err);
	pasta_run_free(&run);
	if (progress_total)
		fputs("\r      \r", stderr);
	if (r)
		fprintf(stderr, "accelprof-gen: %s\n", err.text);
	else if (print_totals(&o, &totals) || fflush(stdout))
		fprintf(stderr, "accelprof-gen: cannot write to stdout: %s\n", strerror(errno));
	else
		return 0;
	return 1;
}
