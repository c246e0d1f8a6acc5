/* bench_size.c - bytes of an event on disk, by kind, compared with plain records and with zstd
 * alone. */
#include "bench.h"

#include <zstd.h>

#include "core/frame.h"
#include "core/shardwriter.h"
#include "process/read/run.h"
#include "process/read/stream.h"

struct sample {
	struct pasta_event *events; /* of one kind, in order */
	size_t count, room;
};

static struct sample samples[PASTA_KIND_MAX];
static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return random_state >> 33;
}

/* Opens the run's shards, and sums up their sizes. */
static struct pasta_stream *open_run(const char *path, uint64_t *bytes)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_error err = {0};
	char *folder = pasta_run_file(path, PASTA_RUN_SHARDS), **shards;
	size_t count;

	if (pasta_run_shards(folder, &shards, &count, &err))
		bench_die("%s", err.text);
	*bytes = 0;
	for (size_t i = 0; i < count; i++) {
		if (pasta_stream_add(s, shards[i], &err))
			bench_die("%s", err.text);
		*bytes += pasta_stream_shard(s, i)->bytes;
	}
	pasta_run_shards_free(shards);
	free(folder);
	return s;
}

static void add_sample(const struct pasta_event *ev)
{
	struct sample *k = &samples[ev->kind];

	if (k->count == k->room) {
		k->room = k->room ? k->room * 2 : 1024;
		k->events = realloc(k->events, k->room * sizeof(*k->events));
		if (!k->events)
			bench_die("out of memory");
	}
	memset(&k->events[k->count], 0, sizeof(*k->events));
	memcpy(&k->events[k->count++], ev, ev->size);
}

/* The size of a shard with only these events, minus that of an empty shard. */
static uint64_t size_alone(const struct sample *k)
{
	struct pasta_shard_head head = {.raw = 1, .real = 1};
	struct pasta_error err = {0};
	struct pasta_shardwriter *w;
	uint64_t sizes[2];
	char path[5000];

	snprintf(path, sizeof(path), "%s/alone.pst", bench_temp());
	for (int with = 0; with < 2; with++) {
		struct pasta_stream *s = pasta_stream_new(0);

		w = pasta_shardwriter_new(path, &head, &err);
		for (size_t i = 0; w && with && i < k->count; i++)
			pasta_shardwriter_event(w, 1, &k->events[i]);
		if (!w || pasta_shardwriter_close(w, &err) || pasta_stream_add(s, path, &err))
			bench_die("%s", err.text);
		sizes[with] = pasta_stream_shard(s, 0)->bytes;
		pasta_stream_free(s);
		unlink(path);
	}
	return sizes[1] - sizes[0];
}

static double zstd_alone(const struct sample *k)
{
	size_t size = pasta_kinds[k->events[0].kind].size, raw = size * k->count;
	uint8_t *from = malloc(raw), *to = malloc(ZSTD_compressBound(raw));
	size_t n;

	if (!from || !to)
		bench_die("out of memory");
	for (size_t i = 0; i < k->count; i++)
		memcpy(from + i * size, &k->events[i], size);
	n = ZSTD_compress(to, ZSTD_compressBound(raw), from, raw, 1);
	free(from);
	free(to);
	return (double)n / (double)k->count;
}

/* The same kernels and times, but in random order. */
static void shuffle(struct sample *k)
{
	for (size_t i = k->count - 1; i > 0; i--) {
		size_t j = next_random() % (i + 1);
		struct pasta_kernel_record a = k->events[i].kernel, b = k->events[j].kernel;

		k->events[i].kernel = b;
		k->events[j].kernel = a;
		k->events[i].kernel.corr = a.corr;
		k->events[j].kernel.corr = b.corr;
	}
}

static void report(const char *what, const struct sample *k)
{
	double n = (double)k->count;

	printf("%-28s %8.2f bytes an event; as a record %3u, with zstd -1 %6.2f (%zu events)\n",
	       what, (double)size_alone(k) / n, pasta_kinds[k->events[0].kind].size, zstd_alone(k),
	       k->count);
	fflush(stdout);
}

static void whole(const char *profile, const char *events, const char *ranks)
{
	uint64_t bytes, n = 0;
	struct pasta_stream *s =
		open_run(bench_generate(profile, events, ranks, "--profile", profile), &bytes);
	const struct pasta_event *ev;
	char path[5000];

	while ((ev = pasta_stream_next(s)))
		n += ev->source != 0;
	pasta_stream_free(s);
	printf("%-28s %8.2f bytes an event, with names, clocks and heads (%s shards, %llu events)\n",
	       profile, (double)bytes / (double)n, ranks, (unsigned long long)n);
	fflush(stdout);
	snprintf(path, sizeof(path), "%s/%s", bench_temp(), profile);
	bench_remove(path);
}

int main(void)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t bytes;

	whole("kernels", "2M", "1");
	whole("training", "4M", "1");
	s = open_run(bench_generate("kinds", "2M", "1", "--profile", "all"), &bytes);
	while ((ev = pasta_stream_next(s)))
		if (ev->source)
			add_sample(ev);
	for (unsigned int kind = 1; kind < PASTA_KIND_MAX; kind++)
		if (samples[kind].count > 100)
			report(pasta_kind_name(kind), &samples[kind]);
	shuffle(&samples[PASTA_KIND_KERNEL]);
	report("kernel, in random order", &samples[PASTA_KIND_KERNEL]);
	pasta_stream_free(s);
	for (unsigned int kind = 0; kind < PASTA_KIND_MAX; kind++)
		free(samples[kind].events);
	return 0;
}
