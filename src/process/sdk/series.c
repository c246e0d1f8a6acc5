/* series.c - stores time series by key. All series of a set have bins of the same width, which
 * doubles as the run gets longer. */
#include "process/sdk/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/group.h"
#include "process/sdk/owned.h"

enum { SERIES_BINS_MAX = 1 << 20, SERIES_KEY_MAX = 1 << 16 };

/* A bin of a series. A SUM stores its sum; a LEVEL stores its maximum, and its level at the end of
 * the bin. */
struct series_bin {
	uint64_t most_or_sum, last;
};

/* A series, stored after the key in a row of the group. */
struct series {
	/* An array with the declared number of bins; NULL until a value is added to the series. */
	struct series_bin *bins;
	/* number of bins that are set; the bins after them have the last level, or 0 for a SUM */
	uint64_t filled;
	uint64_t level;
};

/* The width of a set's bins, and the numbers of the first and the last bin. */
struct series_scale {
	uint64_t width, first, last;
};

struct pasta_series_set {
	const struct pasta_series_def *def;
	struct pasta_group_def rows_def;
	struct pasta_group *rows;
	struct series_bin *scratch; /* array with the declared number of bins */
	struct series_scale scale;
	uint64_t latest;
	bool begun; /* whether a value was added */
	int error;
};

static const struct pasta_member series_members[] = {{0}};

int pasta_series_check(const struct pasta_tool *tool, const struct pasta_series_def *def,
		       struct pasta_error *err)
{
	size_t number = (size_t)(def - tool->series) + 1;

	if (def->size != sizeof(*def))
		return pasta_fail(err, -EINVAL, "series %zu: declare the series with PASTA_SERIES",
				  number);
	if (!pasta_owned_fits(tool, def->state_offset))
		return pasta_fail(err, -EINVAL,
				  "series %zu: the pointer to the series is outside of the tool's "
				  "state",
				  number);
	if (def->type != PASTA_SERIES_SUM && def->type != PASTA_SERIES_LEVEL)
		return pasta_fail(err, -EINVAL, "series %zu of the tool has the unknown type %u",
				  number, def->type);
	if (!def->key_size || def->key_size % 4 || def->key_size > SERIES_KEY_MAX)
		return pasta_fail(err, -EINVAL,
				  "series %zu: the key size must be a multiple of 4 bytes, at "
				  "most %d, but is %u",
				  number, SERIES_KEY_MAX, def->key_size);
	if (def->bins < 2 || def->bins > SERIES_BINS_MAX)
		return pasta_fail(err, -EINVAL,
				  "series %zu: the number of bins must be 2 to %d, "
				  "but is %u",
				  number, SERIES_BINS_MAX, def->bins);
	return 0;
}

static uint32_t series_offset(const struct pasta_series_set *s)
{
	return (s->def->key_size + 7) & ~7u;
}

static struct series *series_in(const struct pasta_series_set *s, void *row)
{
	return (struct series *)((char *)row + series_offset(s));
}

static struct series *series_next(const struct pasta_series_set *s, size_t *at)
{
	void *row = pasta_group_next(s->rows, at);

	return row ? series_in(s, row) : NULL;
}

struct pasta_series_set *pasta_series_new(const struct pasta_series_def *def)
{
	struct pasta_series_set *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->def = def;
	s->scale.width = def->width ? def->width : 1;
	s->rows_def = (struct pasta_group_def){
		.size = sizeof(s->rows_def), .key_size = def->key_size, .members = series_members};
	s->rows_def.row_size = series_offset(s) + (uint32_t)sizeof(struct series);
	s->rows = pasta_group_new(&s->rows_def, NULL, NULL);
	s->scratch = calloc(def->bins, sizeof(*s->scratch));
	if (s->rows && s->scratch)
		return s;
	pasta_series_free(s);
	return NULL;
}

void pasta_series_free(struct pasta_series_set *s)
{
	struct series *series;
	size_t at = 0;

	if (!s)
		return;
	while (s->rows && (series = series_next(s, &at)))
		free(series->bins);
	pasta_group_free(s->rows);
	free(s->scratch);
	free(s);
}

int pasta_series_error(const struct pasta_series_set *s)
{
	return s->error ? s->error : pasta_group_error(s->rows);
}

/* -- Bins -- */

static uint64_t series_plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Merges a bin, or a part of a bin, into an earlier bin. */
static void series_combine(const struct pasta_series_set *s, struct series_bin *into,
			   struct series_bin bin)
{
	if (s->def->type == PASTA_SERIES_SUM) {
		into->most_or_sum = series_plus(into->most_or_sum, bin.most_or_sum);
		return;
	}
	into->last = bin.last;
	if (bin.most_or_sum > into->most_or_sum)
		into->most_or_sum = bin.most_or_sum;
}

/* Converts a series to bins that are `times` as wide, starting with bin number `first`. A `times`
 * of 0 means 2^64. Returns the number of bins up to the last value of the series. All later bins
 * have the last level of the series. */
static uint64_t series_read(const struct pasta_series_set *s, const struct series *series,
			    uint64_t times, uint64_t first, uint64_t count, struct series_bin *bins)
{
	uint64_t next = 0;

	memset(bins, 0, count * sizeof(*bins));
	for (uint64_t i = 0; i < series->filled; i++) {
		uint64_t at = times ? (s->scale.first + i) / times - first : 0;

		series_combine(s, &bins[at], series->bins[i]);
		next = at + 1;
	}
	for (uint64_t i = next; s->def->type == PASTA_SERIES_LEVEL && i < count; i++)
		bins[i] = (struct series_bin){series->level, series->level};
	return next;
}

/* Converts all series to bins of another width or range. There are at most as many bins as the tool
 * declares. */
static void series_rescale(struct pasta_series_set *s, const struct series_scale *to)
{
	uint64_t count = to->last - to->first + 1;
	struct series *series;
	size_t at = 0;

	while ((series = series_next(s, &at))) {
		if (!series->bins || !series->filled)
			continue;
		series->filled = series_read(s, series, to->width / s->scale.width, to->first,
					     count, s->scratch);
		memcpy(series->bins, s->scratch, count * sizeof(*s->scratch));
		memset(series->bins + count, 0, (s->def->bins - count) * sizeof(*series->bins));
	}
	s->scale = *to;
}

/* Extends a range of bins to include another bin. Returns false if the range would then have more
 * bins than the tool declares. */
static bool series_extend(struct series_scale *scale, uint64_t bin, uint32_t bins)
{
	uint64_t first = bin < scale->first ? bin : scale->first;
	uint64_t last = bin > scale->last ? bin : scale->last;

	if (last - first >= bins)
		return false;
	scale->first = first;
	scale->last = last;
	return true;
}

/* Extends the range of bins to include a time. If the bins are narrower than `width`, widens
 * them. */
static void series_reach(struct pasta_series_set *s, uint64_t time, uint64_t width)
{
	struct series_scale to = s->scale;

	if (!s->begun)
		to.first = to.last = time / to.width;
	s->begun = true;
	s->latest = time > s->latest ? time : s->latest;
	while (to.width < width || !series_extend(&to, time / to.width, s->def->bins)) {
		to.width *= 2;
		to.first /= 2;
		to.last /= 2;
	}
	if (to.width != s->scale.width || to.first != s->scale.first)
		series_rescale(s, &to);
	s->scale = to;
}

void pasta_series_reach(struct pasta_series_set *s, uint64_t time)
{
	series_reach(s, time, 0);
}

/* Returns the series of a key. Adds it if it is new. Returns NULL when out of memory. */
static struct series *series_of(struct pasta_series_set *s, const void *key)
{
	struct series *series = series_in(s, pasta_group_row(s->rows, key));

	/* when memory has run out, the series may be in the group's spare row */
	if (pasta_series_error(s))
		return NULL;
	if (!series->bins)
		series->bins = calloc(s->def->bins, sizeof(*series->bins));
	if (!series->bins)
		s->error = -ENOMEM;
	return series->bins ? series : NULL;
}

static void series_fill(const struct pasta_series_set *s, struct series *series, uint64_t count)
{
	for (; series->filled < count; series->filled++)
		if (s->def->type == PASTA_SERIES_LEVEL)
			series->bins[series->filled] =
				(struct series_bin){series->level, series->level};
}

void pasta_series_add(struct pasta_series_set *s, const void *key, uint64_t time, uint64_t value)
{
	struct series *series = series_of(s, key);
	bool level = s->def->type == PASTA_SERIES_LEVEL;
	uint64_t at;

	if (!series)
		return;
	series_reach(s, time, 0);
	at = time / s->scale.width - s->scale.first;
	series_fill(s, series, at + 1);
	if (level)
		at = series->filled - 1;
	series->level = value;
	series_combine(s, &series->bins[at], (struct series_bin){value, value});
}

/* -- Merging -- */

static void series_merge_one(struct pasta_series_set *into, struct series *series)
{
	uint64_t count = into->scale.last - into->scale.first + 1;

	series_fill(into, series, count);
	for (uint64_t i = 0; i < count; i++) {
		struct series_bin *a = &series->bins[i], b = into->scratch[i];

		if (into->def->type == PASTA_SERIES_LEVEL)
			b.last = a->last > b.last ? a->last : b.last;
		series_combine(into, a, b);
	}
}

int pasta_series_merge(struct pasta_series_set *into, const struct pasta_series_set *from)
{
	size_t at = 0;
	void *row;

	into->error = into->error ? into->error : pasta_series_error(from);
	if (!from->begun || into->error)
		return into->error;
	series_reach(into, from->scale.first * from->scale.width, from->scale.width);
	series_reach(into, from->latest, from->scale.width);
	while ((row = pasta_group_next(from->rows, &at))) {
		const struct series *other = series_in(from, row);
		struct series *series = series_of(into, row);

		if (!series)
			break;
		series_read(from, other, into->scale.width / from->scale.width, into->scale.first,
			    into->scale.last - into->scale.first + 1, into->scratch);
		series_merge_one(into, series);
		series->level = other->level > series->level ? other->level : series->level;
	}
	return pasta_series_error(into);
}

/* -- Reading -- */

const void *pasta_series_next(const struct pasta_series_set *s, size_t *at)
{
	return pasta_group_next(s->rows, at);
}

/* A series in the form that a report shows. Its bins are in the scratch memory of the set. */
struct series_folded {
	uint64_t times; /* width of the bins divided by the width of the set's bins; 0 means 2^64 */
	uint64_t first, count;
	uint64_t level;
};

static struct series_folded series_fold(struct pasta_series_set *s, const void *key, size_t max)
{
	void *row = pasta_group_find(s->rows, key);
	const struct series *series = row ? series_in(s, row) : &(const struct series){0};
	uint64_t last = s->scale.last;
	struct series_folded f = {.times = 1, .first = s->scale.first, .level = series->level};

	if (!s->begun || !max || pasta_series_error(s))
		return f;
	for (; last - f.first >= max; f.times *= 2) {
		f.first /= 2;
		last /= 2;
	}
	f.count = last - f.first + 1;
	series_read(s, series, f.times, f.first, f.count, s->scratch);
	return f;
}

static struct pasta_series_point series_point(const struct pasta_series_set *s,
					      const struct series_folded *f, uint64_t i)
{
	const struct series_bin *bin = &s->scratch[i];
	bool level = s->def->type == PASTA_SERIES_LEVEL;
	uint64_t width = s->scale.width * f->times;

	return (struct pasta_series_point){
		.time = (f->first + i) * width,
		.width = !f->times || width / f->times != s->scale.width ? UINT64_MAX : width,
		.last = level ? bin->last : 0,
		.max = level ? bin->most_or_sum : 0,
		.sum = level ? 0 : bin->most_or_sum,
	};
}

size_t pasta_series_points(struct pasta_series_set *s, const void *key,
			   struct pasta_series_point *points, size_t max)
{
	struct series_folded f = series_fold(s, key, max);

	for (uint64_t i = 0; i < f.count; i++)
		points[i] = series_point(s, &f, i);
	return f.count;
}

void pasta_chart_add_series(struct pasta_chart *chart, const char *name, struct pasta_series_set *s,
			    const void *key, size_t max)
{
	struct series_folded f = series_fold(s, key, max);
	uint64_t begin = f.first * s->scale.width * f.times;

	pasta_chart_series(chart, name);
	for (uint64_t i = 0; i < f.count; i++) {
		struct pasta_series_point p = series_point(s, &f, i);

		pasta_chart_point(chart, (double)(p.time - begin), (double)(p.max + p.sum));
	}
	if (f.count && s->def->type == PASTA_SERIES_LEVEL)
		pasta_chart_point(chart, (double)(s->latest - begin), (double)f.level);
}
