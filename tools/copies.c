/* copies - reports copies and fills by direction and by size: count, bytes and bandwidth. */
#include <math.h>
#include <stdio.h>

#include <pasta/tool.h>

/* The directions are the subtypes of copies. SET stands for fills, and UNSPECIFIED for unknown
 * subtypes. */
enum { UNSPECIFIED, SET = PASTA_COPY_UNMAP + 1, DIRECTIONS };

/* number of the size class that starts at 64 KiB; copies in the classes below it are small */
#define SMALL_BITS 17
#define MANY 1000 /* report small copies if there are at least this many */

static const char *name_of(uint32_t direction)
{
	return direction == SET ? "set" : pasta_subtype_name(PASTA_KIND_COPY, direction);
}

/* Copies of one direction and size class. A row of the group "all" has the copies of one direction
 * and of any size. */
struct sum {
	struct {
		uint32_t direction;
		/* number n of the size class, which has copies of 2^(n-1) to 2^n - 1 bytes, or of 0
		 * bytes if n is 0 */
		uint32_t bits;
	} key;
	struct pasta_stat bytes;
	uint64_t total, untimed;
	uint64_t timed; /* bytes of the copies whose time is known */
	uint64_t small, small_bytes, small_total;
};

struct copies {
	struct pasta_group *all, *sizes;
};

static const char *direction(const void *row, const void *state, char *text, size_t size)
{
	return name_of(((const struct sum *)row)->key.direction);
}

/* Returns the lower bound of a size class. INT64_MAX stands for 2^63. */
static int64_t size(const void *row, const void *state)
{
	uint32_t bits = ((const struct sum *)row)->key.bits;

	return !bits ? 0 : bits < 64 ? INT64_C(1) << (bits - 1) : INT64_MAX;
}

/* Returns bytes per second, or NAN if no time is known. Map and unmap operations have no bandwidth,
 * because they transfer nothing if the device shares its memory with the host. */
static double bandwidth(const void *row, const void *state)
{
	const struct sum *s = row;
	bool moves = s->key.direction != PASTA_COPY_MAP && s->key.direction != PASTA_COPY_UNMAP;

	return moves && s->total && s->timed ? (double)s->timed * 1e9 / (double)s->total : NAN;
}

static const struct pasta_member members[] = {
	PASTA_MEMBER_BY(TEXT, .text = direction, .column = "direction"),
	PASTA_MEMBER(STAT, struct sum, bytes, .unit = "bytes", .column = "count,total=bytes"),
	PASTA_MEMBER(SUM, struct sum, total, .unit = "ns", .column = "total"),
	PASTA_MEMBER_BY(RATIO, .ratio = bandwidth, .unit = "bytes/s", .column = "bandwidth"),
	PASTA_MEMBER(STAT, struct sum, bytes, .unit = "bytes", .column = "mean",
		     .flags = PASTA_MEMBER_MORE),
	PASTA_MEMBER(U32, struct sum, key.direction, .column = "number",
		     .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct sum, key.bits),
	PASTA_MEMBER(SUM, struct sum, untimed),
	PASTA_MEMBER(SUM, struct sum, timed),
	PASTA_MEMBER(SUM, struct sum, small),
	PASTA_MEMBER(SUM, struct sum, small_bytes),
	PASTA_MEMBER(SUM, struct sum, small_total),
	{0},
};

static const struct pasta_member size_members[] = {
	PASTA_MEMBER_BY(TEXT, .text = direction, .column = "direction"),
	PASTA_MEMBER_BY(CALL, .call = size, .unit = "bytes", .column = "size"),
	PASTA_MEMBER(STAT, struct sum, bytes, .unit = "bytes", .column = "count,total=bytes"),
	PASTA_MEMBER(SUM, struct sum, total, .unit = "ns", .column = "total"),
	PASTA_MEMBER_BY(RATIO, .ratio = bandwidth, .unit = "bytes/s", .column = "bandwidth"),
	PASTA_MEMBER(U32, struct sum, key.direction, .column = "number",
		     .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct sum, key.bits),
	PASTA_MEMBER(SUM, struct sum, timed),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct copies, all, struct sum, members, .table = "copies", .order = "number"),
	PASTA_GROUP(struct copies, sizes, struct sum, size_members, .table = "copy_sizes",
		    .order = "number size"),
	{0},
};

static void add(struct sum *s, uint64_t bytes, uint64_t dur)
{
	pasta_stat_add(&s->bytes, bytes);
	s->total += dur;
	s->untimed += !dur;
	s->timed += dur ? bytes : 0;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	bool set = ev->kind == PASTA_KIND_SET;
	uint64_t bytes = set ? ev->set.bytes : ev->copy.bytes;
	uint64_t dur = set ? ev->set.dur : ev->copy.dur;
	uint32_t to = set ? SET : ev->sub <= PASTA_COPY_UNMAP ? ev->sub : UNSPECIFIED;
	uint32_t bits = bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0;
	struct copies *c = state;
	struct sum *all = PASTA_ROW(c->all, struct sum, to, 0);

	add(all, bytes, dur);
	add(PASTA_ROW(c->sizes, struct sum, to, bits), bytes, dur);
	if (bits < SMALL_BITS) {
		all->small++;
		all->small_bytes += bytes;
		all->small_total += dur;
	}
}

/* Reports a direction in which many small copies take most of the time. */
static void find_small(const struct sum *s, struct pasta_out *out)
{
	char evidence[160];

	if (s->key.direction == SET || s->small < MANY || s->small_total <= s->total / 2)
		return;
	snprintf(evidence, sizeof(evidence),
		 "copies below 64 KiB take %.0f%% of the time, but move %.1f%% of the bytes",
		 100.0 * (double)s->small_total / (double)s->total,
		 s->bytes.sum ? 100.0 * (double)s->small_bytes / (double)s->bytes.sum : 0.0);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "small copies take most of the copy time in one direction",
			 .where = name_of(s->key.direction), .evidence = evidence,
			 .action = "combine small copies into larger ones");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct copies *c = state;
	const struct sum *s;

	for (uint32_t i = 0; i < DIRECTIONS; i++)
		if ((s = pasta_group_find(c->all, &(const uint32_t[]){i, 0})))
			find_small(s, out);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_NOTE,
		PASTA_COUNT(PASTA_SUM(c->all, struct sum, untimed)),
		.what = "copies without a time",
		.evidence = "column 'bytes' includes copies without a time, but column 'bandwidth' "
			    "does not");
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "copies", .summary = "copies and fills by direction and size, with bandwidth",
	   .events = PASTA_MASK(COPY) | PASTA_MASK(SET), .state_size = sizeof(struct copies),
	   .event = on_event, .report = report, .flags = PASTA_TOOL_SHARDED, .groups = groups);
