/* copies - copies and fills: how many, how much and how fast, by direction and by size. */
#include <stdbool.h>
#include <stdio.h>

#include <pasta/pasta.h>

/* Directions are the subtypes of copies, then fills; what is new to us is unspecified. */
enum { UNSPECIFIED, SET = PASTA_COPY_UNMAP + 1, DIRECTIONS };
#define SIZES 65 /* 0, then a class a power of two */

#define SMALL_BITS 17 /* classes below this: less than 64 KiB */
#define MANY 1000     /* copies, before a finding says that they are small */

static const char *const names[DIRECTIONS] = {
	[UNSPECIFIED] = "unspecified", [PASTA_COPY_H2D] = "h2d",     [PASTA_COPY_D2H] = "d2h",
	[PASTA_COPY_D2D] = "d2d",      [PASTA_COPY_H2H] = "h2h",     [PASTA_COPY_P2P] = "p2p",
	[PASTA_COPY_MAP] = "map",      [PASTA_COPY_UNMAP] = "unmap", [SET] = "set",
};

/* timed: the bytes of those that have a time. */
struct sum {
	uint64_t count, bytes, total, untimed, timed;
};

struct copies {
	struct sum sums[DIRECTIONS][SIZES];
};

static void add(struct sum *into, const struct sum *from)
{
	into->count += from->count;
	into->bytes += from->bytes;
	into->total += from->total;
	into->untimed += from->untimed;
	into->timed += from->timed;
}

/* 0 is of size 0; n is from 2^(n-1) to 2^n - 1. */
static unsigned int size_class(uint64_t bytes)
{
	return bytes ? 64 - (unsigned int)__builtin_clzll(bytes) : 0;
}

static void on_event(void *state, const struct pasta_event *ev)
{
	struct copies *c = state;
	unsigned int direction = ev->sub <= PASTA_COPY_UNMAP ? ev->sub : UNSPECIFIED;
	uint64_t bytes = ev->copy.bytes, dur = ev->copy.dur;

	if (ev->kind == PASTA_SET) {
		direction = SET;
		bytes = ev->set.bytes;
		dur = ev->set.dur;
	}
	add(&c->sums[direction][size_class(bytes)], &(struct sum){.count = 1,
								  .bytes = bytes,
								  .total = dur,
								  .untimed = !dur,
								  .timed = dur ? bytes : 0});
}

static void merge(void *into, const void *from)
{
	struct copies *a = into;
	const struct copies *b = from;
	unsigned int i, k;

	for (i = 0; i < DIRECTIONS; i++)
		for (k = 0; k < SIZES; k++)
			add(&a->sums[i][k], &b->sums[i][k]);
}

/* -- Reporting. -- */

static struct sum sum_of(const struct copies *c, unsigned int direction, unsigned int end)
{
	struct sum sum = {0};
	unsigned int k;

	for (k = 0; k < end; k++)
		add(&sum, &c->sums[direction][k]);
	return sum;
}

/* Bytes a second; none where nothing has a time. Bytes of a map are those that it makes visible: a
 * device that shares its memory with the host moves none of them. */
static void put_bandwidth(struct pasta_table *t, unsigned int direction, const struct sum *sum)
{
	bool moves = direction != PASTA_COPY_MAP && direction != PASTA_COPY_UNMAP;

	if (moves && sum->total && sum->timed)
		pasta_cell_float(t, (double)sum->timed * 1e9 / (double)sum->total);
	else
		pasta_cell_none(t);
}

static void report_copies(const struct copies *c, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"direction", PASTA_STRING, NULL},     {"count", PASTA_INT, NULL},
		{"bytes", PASTA_INT, "bytes"},	       {"total", PASTA_INT, "ns"},
		{"bandwidth", PASTA_FLOAT, "bytes/s"}, {"mean", PASTA_INT, "bytes"},
	};
	struct pasta_table *t = pasta_out_table(out, "copies", columns, 6);
	unsigned int i;

	for (i = 0; i < DIRECTIONS; i++) {
		struct sum sum = sum_of(c, i, SIZES);

		if (!sum.count)
			continue;
		pasta_cell_str(t, names[i]);
		pasta_cell_int(t, (int64_t)sum.count);
		pasta_cell_int(t, (int64_t)sum.bytes);
		pasta_cell_int(t, (int64_t)sum.total);
		put_bandwidth(t, i, &sum);
		pasta_cell_int(t, (int64_t)(sum.bytes / sum.count));
	}
}

static void report_sizes(const struct copies *c, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"direction", PASTA_STRING, NULL}, {"size", PASTA_INT, "bytes"},
		{"count", PASTA_INT, NULL},	   {"bytes", PASTA_INT, "bytes"},
		{"total", PASTA_INT, "ns"},	   {"bandwidth", PASTA_FLOAT, "bytes/s"},
	};
	struct pasta_table *t = pasta_out_table(out, "copy_sizes", columns, 6);
	unsigned int i, k;

	for (i = 0; i < DIRECTIONS; i++)
		for (k = 0; k < SIZES; k++) {
			const struct sum *sum = &c->sums[i][k];

			if (!sum->count)
				continue;
			pasta_cell_str(t, names[i]);
			/* The last class's 2^63 is past what a cell holds. */
			pasta_cell_int(t, !k ? 0 : k < 64 ? INT64_C(1) << (k - 1) : INT64_MAX);
			pasta_cell_int(t, (int64_t)sum->count);
			pasta_cell_int(t, (int64_t)sum->bytes);
			pasta_cell_int(t, (int64_t)sum->total);
			put_bandwidth(t, i, sum);
		}
}

/* Most of a direction's time goes into copies that cost what a copy costs, whatever its size. */
static void find_small(const struct copies *c, unsigned int direction, struct pasta_out *out)
{
	struct sum all = sum_of(c, direction, SIZES), small = sum_of(c, direction, SMALL_BITS);
	char evidence[160];

	if (direction == SET || small.count < MANY || small.total <= all.total / 2)
		return;
	snprintf(evidence, sizeof(evidence), "%.0f%% of their time is in %.1f%% of their bytes",
		 100.0 * (double)small.total / (double)all.total,
		 all.bytes ? 100.0 * (double)small.bytes / (double)all.bytes : 0.0);
	pasta_out_finding(out, &(struct pasta_finding){
				       .severity = PASTA_NOTE,
				       .what = "most time of these copies is in those below 64 KiB",
				       .where = names[direction],
				       .evidence = evidence,
				       .action = "put small copies together into large ones"});
}

static int report(void *state, struct pasta_out *out)
{
	const struct copies *c = state;
	uint64_t untimed = 0;
	unsigned int i;

	report_copies(c, out);
	report_sizes(c, out);
	for (i = 0; i < DIRECTIONS; i++) {
		untimed += sum_of(c, i, SIZES).untimed;
		find_small(c, i, out);
	}
	pasta_out_count(out, PASTA_NOTE, untimed, "copies without a time",
			"their bytes count, but not in bandwidth", NULL);
	return 0;
}

PASTA_TOOL(.name = "copies", .summary = "copies and fills by direction and size, with bandwidth",
	   .events = PASTA_BIT(COPY) | PASTA_BIT(SET), .state_size = sizeof(struct copies),
	   .event = on_event, .merge = merge, .report = report);
