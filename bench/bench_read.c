/* bench_read.c - how fast shards are read: decoded, converted to one clock, in order. */
#include "bench.h"

#include <zstd.h>

#include "core/frame.h"
#include "process/read/run.h"
#include "process/read/stream.h"

enum { RUNS = 5, CHUNK = 1 << 20 };

struct run {
	char **shards;
	size_t count;
	uint64_t events, bytes, raw_bytes;
};

static uint64_t sink; /* prevents the compiler from removing the loops */

static void open_run(struct run *run, const char *path)
{
	struct pasta_error err = {0};
	char *folder = pasta_run_file(path, PASTA_RUN_SHARDS);

	if (pasta_run_shards(folder, &run->shards, &run->count, &err))
		bench_die("%s", err.text);
	free(folder);
}

static struct pasta_stream *open_stream(const struct run *run)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_error err = {0};

	for (size_t i = 0; i < run->count; i++)
		if (pasta_stream_add(s, run->shards[i], &err))
			bench_die("%s", err.text);
	return s;
}

/* Returns the seconds to read all events, which must be in order. */
static double read_stream(struct run *run)
{
	double begin = bench_now();
	struct pasta_stream *s = open_stream(run);
	const struct pasta_event *ev;
	struct pasta_loss_summary loss;
	uint64_t n = 0, sum = 0, last = 0;

	while ((ev = pasta_stream_next(s))) {
		if (ev->time < last)
			bench_die("events are not in order");
		last = ev->time;
		sum += ev->tid + ev->size;
		n++;
	}
	pasta_stream_loss(s, &loss);
	if (loss.dropped)
		bench_die("%llu events are missing", (unsigned long long)loss.dropped);
	pasta_stream_free(s);
	run->events = n;
	sink += sum;
	return bench_now() - begin;
}

/* Writes all records in order, one behind the other, as the simplest possible format. */
static void write_raw(struct run *run, const char *path)
{
	struct pasta_stream *s = open_stream(run);
	const struct pasta_event *ev;
	FILE *f = fopen(path, "we");

	if (!f)
		bench_die("cannot make %s", path);
	while ((ev = pasta_stream_next(s)))
		run->raw_bytes += fwrite(ev, 1, ev->size, f);
	if (fclose(f))
		bench_die("cannot write %s", path);
	pasta_stream_free(s);
}

/* Counts complete records from the start. Returns their size in bytes. */
static size_t walk(const uint8_t *p, size_t size, uint64_t *n)
{
	size_t at = 0;

	while (size - at >= 8) {
		const struct pasta_event *ev = (const void *)(p + at);

		if (ev->size > size - at)
			break;
		sink += ev->tid + ev->size;
		at += ev->size;
		(*n)++;
	}
	return at;
}

static double read_raw(const struct run *run, const char *path)
{
	static _Alignas(8) uint8_t buffer[CHUNK];
	double begin = bench_now();
	FILE *f = fopen(path, "re");
	size_t left = 0, n;
	uint64_t events = 0;

	if (!f)
		bench_die("cannot open %s", path);
	while ((n = fread(buffer + left, 1, sizeof(buffer) - left, f)) > 0) {
		size_t used = walk(buffer, left + n, &events);

		left = left + n - used;
		memmove(buffer, buffer + used, left);
	}
	fclose(f);
	if (events != run->events)
		bench_die("%s has other events", path);
	return bench_now() - begin;
}

static void compress_file(const char *from, const char *to)
{
	static uint8_t in[CHUNK], out[CHUNK * 2];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	FILE *f = fopen(from, "re"), *t = fopen(to, "we");
	ZSTD_inBuffer i = {in, 0, 0};
	size_t left = 1;

	if (!c || !f || !t)
		bench_die("cannot make %s", to);
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
	while (left) {
		ZSTD_outBuffer o = {out, sizeof(out), 0};

		if (i.pos == i.size)
			i = (ZSTD_inBuffer){in, fread(in, 1, sizeof(in), f), 0};
		left = ZSTD_compressStream2(c, &o, &i, i.size ? ZSTD_e_continue : ZSTD_e_end);
		left = i.size ? 1 : left;
		if (fwrite(out, 1, o.pos, t) != o.pos)
			bench_die("cannot write %s", to);
	}
	ZSTD_freeCCtx(c);
	fclose(f);
	fclose(t);
}

static double read_zstd(const struct run *run, const char *path)
{
	static uint8_t in[CHUNK];
	static _Alignas(8) uint8_t buffer[CHUNK];
	double begin = bench_now();
	ZSTD_DCtx *d = ZSTD_createDCtx();
	FILE *f = fopen(path, "re");
	size_t left = 0;
	uint64_t events = 0;
	ZSTD_inBuffer i = {in, 0, 0};

	if (!d || !f)
		bench_die("cannot open %s", path);
	while ((i.size = fread(in, 1, sizeof(in), f)) > 0) {
		for (i.pos = 0; i.pos < i.size;) {
			ZSTD_outBuffer o = {buffer, sizeof(buffer), left};
			size_t used;

			if (ZSTD_isError(ZSTD_decompressStream(d, &o, &i)))
				bench_die("%s is damaged", path);
			used = walk(buffer, o.pos, &events);
			left = o.pos - used;
			memmove(buffer, buffer + used, left);
		}
	}
	ZSTD_freeDCtx(d);
	fclose(f);
	sink += events != run->events;
	return bench_now() - begin;
}

static void measure(const char *name, const char *path, bool baselines)
{
	struct bench ours = {0}, raw = {0}, zstd = {0};
	char raw_path[5000], zstd_path[5000], what[128];
	struct run run = {0};

	open_run(&run, path);
	snprintf(raw_path, sizeof(raw_path), "%s.raw", path);
	snprintf(zstd_path, sizeof(zstd_path), "%s.zst", path);
	read_stream(&run); /* loads the files into the page cache */
	if (baselines) {
		write_raw(&run, raw_path);
		compress_file(raw_path, zstd_path);
		read_raw(&run, raw_path);
	}
	for (int i = 0; i < RUNS; i++) {
		bench_add(&ours, (double)run.events / 1e6 / read_stream(&run));
		if (!baselines)
			continue;
		bench_add(&raw, (double)run.events / 1e6 / read_raw(&run, raw_path));
		bench_add(&zstd, (double)run.events / 1e6 / read_zstd(&run, zstd_path));
	}
	snprintf(what, sizeof(what), "%s: %zu shards, %.1f M events, in order", name, run.count,
		 (double)run.events / 1e6);
	bench_report(&ours, what, "M events/s");
	if (baselines) {
		bench_report(&raw, "  for comparison: fread of plain records, one file",
			     "M events/s");
		bench_report(&zstd, "  for comparison: plain records with zstd -1, one file",
			     "M events/s");
	}
	pasta_run_shards_free(run.shards);
	remove(raw_path);
	remove(zstd_path);
	bench_remove(path);
}

int main(void)
{
	measure("kernels", bench_generate("kernels-1", "4M", "1", "--profile", "kernels"), true);
	measure("kernels", bench_generate("kernels-8", "4M", "8", "--profile", "kernels"), false);
	measure("training", bench_generate("training-1", "8M", "1", "--profile", "training"), true);
	measure("training", bench_generate("training-8", "8M", "8", "--profile", "training"),
		false);
	measure("training", bench_generate("training-256", "8M", "256", "--profile", "training"),
		false);
	return sink == 1; /* never true, but the compiler does not know */
}
