/* test_group.c - rows by key, and the tables that they make. */
/* labels: onethread */
#include <math.h>

#include "unit/support.h"

#include "core/strings.h"
#include "process/join/directory.h"
#include "process/sdk/group.h"
#include "process/sdk/result.h"

struct row {
	struct {
		uint32_t name, device;
	} key;
	uint64_t sum, min, max;
	struct pasta_stat stat;
	struct pasta_hist *hist;
	struct pasta_list list;
	uint32_t same, pad;
};

static int64_t call(const void *row, const void *state)
{
	const struct row *r = row;

	return r->sum > 1000 ? PASTA_NO_VALUE : (int64_t)r->sum * 2;
}

static double ratio(const void *row, const void *state)
{
	const struct row *r = row;

	return r->stat.count ? (double)r->sum / (double)r->stat.count : NAN;
}

static const char *text(const void *row, const void *state, char *buffer, size_t size)
{
	const struct row *r = row;

	if (r->key.device == 9)
		return NULL;
	snprintf(buffer, size, "%u items", r->list.count);
	return buffer;
}

/* Returns as many letters as the row's sum. */
static const char *letters(const void *row, const void *state, char *buffer, size_t size)
{
	const struct row *r = row;
	size_t n = r->sum < size ? r->sum : size - 1;

	memset(buffer, 'x', n);
	buffer[n] = '\0';
	return buffer;
}

static const struct pasta_member all[] = {
	PASTA_MEMBER(NAME, struct row, key.name, .column = "name"),
	PASTA_MEMBER(DEVICE, struct row, key.device, .column = "device"),
	PASTA_MEMBER(SUM, struct row, sum, .column = "sum", .unit = "bytes"),
	PASTA_MEMBER(MIN, struct row, min, .column = "min", .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(MAX, struct row, max, .column = "max"),
	PASTA_MEMBER(STAT, struct row, stat, .column = "count=times,mean"),
	PASTA_MEMBER(HIST, struct row, hist, .column = "p50,total=all", .unit = "ns"),
	PASTA_MEMBER(HIST, struct row, hist, .column = "share", .flags = PASTA_MEMBER_MORE),
	PASTA_MEMBER(LIST, struct row, list, .item_size = 8),
	PASTA_MEMBER(U32, struct row, same, .column = "same"),
	PASTA_MEMBER_BY(CALL, .call = call, .column = "call"),
	PASTA_MEMBER_BY(RATIO, .ratio = ratio, .column = "ratio"),
	PASTA_MEMBER_BY(TEXT, .text = text, .column = "text"),
	{0},
};

/* Two measures and a name are enough for most tests. */
static const struct pasta_member few[] = {
	PASTA_MEMBER(NAME, struct row, key.name, .column = "name"),
	PASTA_MEMBER(U32, struct row, key.device),
	PASTA_MEMBER(SUM, struct row, sum, .column = "sum"),
	PASTA_MEMBER(SHARE, struct row, sum, .column = "share"),
	PASTA_MEMBER(MAX, struct row, max, .column = "max", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

struct state {
	struct pasta_group *group;
};

static const struct pasta_option options[] = {{"rows", "2", "a limit", PASTA_OPTION_NUMBER}, {0}};
static const struct pasta_tool tool = {
	.name = "test", .options = options, .state_size = sizeof(struct state)};
static const struct pasta_opts opts = {.tool = &tool};

#define DEF(members_, ...)                                                                         \
	(const struct pasta_group_def)                                                             \
		PASTA_GROUP(struct state, group, struct row, members_, .table = "t", __VA_ARGS__)

static uint32_t name(const char *text_)
{
	return text_ ? pasta_strings_add(text_, strlen(text_)) : 0;
}

static struct row *row(struct pasta_group *g, const char *text_, uint32_t device)
{
	return PASTA_ROW(g, struct row, name(text_), device);
}

/* Returns the table as text, with spaces between cells. */
static const char *shown(const struct pasta_group *g)
{
	static char out_text[1 << 16];
	struct pasta_result result = {0};
	struct pasta_out *out = pasta_result_out(&result, "test");
	size_t at = 0;

	out_text[0] = '\0';
	assert_int_equal(pasta_out_group(out, g), 0);
	assert_int_equal(pasta_out_end(out), 0);
	for (size_t i = 0; out->table_count && i < pasta_table_rows(out->tables[0]); i++)
		for (size_t c = 0; c < out->tables[0]->count; c++) {
			const union pasta_value *v = pasta_table_cell(out->tables[0], i, c);
			const char *gap = c + 1 == out->tables[0]->count ? "\n" : " ";
			enum pasta_column_type type = out->tables[0]->columns[c].type;

			if (!v)
				at += (size_t)sprintf(out_text + at, "-%s", gap);
			else if (type == PASTA_COLUMN_STRING)
				at += (size_t)sprintf(out_text + at, "%s%s", v->s, gap);
			else if (type == PASTA_COLUMN_INT)
				at += (size_t)sprintf(out_text + at, "%lld%s", (long long)v->i,
						      gap);
			else
				at += (size_t)sprintf(out_text + at, "%.1f%s", v->f, gap);
		}
	pasta_result_free(&result);
	return out_text;
}

static void refused(const struct pasta_group_def *def, const char *why)
{
	struct pasta_error err = {0};

	assert_int_equal(pasta_group_check(&tool, def, &err), -EINVAL);
	if (!strstr(err.text, why))
		fail_msg("'%s' is not in '%s'", why, err.text);
}

static void a_row_is_zeroed_found_again_and_stays_where_it_is(void **state)
{
	const struct pasta_group_def def = DEF(all, .limit = 0);
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);
	struct row *first = PASTA_ROW(g, struct row, 7, 8), *r;
	size_t at = 0;

	assert_int_equal(first->key.name, 7);
	assert_int_equal(first->key.device, 8);
	assert_int_equal(first->sum | first->stat.count | first->list.count, 0);
	for (uint32_t i = 0; i < 100000; i++)
		PASTA_ROW(g, struct row, i, i % 3)->sum = i;
	assert_ptr_equal(PASTA_ROW(g, struct row, 7, 8), first);
	assert_int_equal(pasta_group_count(g), 100001);
	for (uint32_t i = 0; i < 100000; i++) {
		r = pasta_group_find(g, &(const uint32_t[2]){i, i % 3});
		assert_non_null(r);
		assert_int_equal(r->sum, i);
		assert_null(pasta_group_find(g, &(const uint32_t[2]){i, 3}));
	}
	assert_ptr_equal(pasta_group_next(g, &at), first);
	assert_int_equal(PASTA_SUM(g, struct row, sum), UINT64_C(99999) * 100000 / 2);
	assert_int_equal(pasta_group_error(g), 0);
	pasta_group_free(g);
}

enum { WORDS = 10, KEYS = 4096 };

/* Small numbers: a different key of this many words each. */
static void small_key(uint32_t *key, uint32_t words, uint32_t number)
{
	for (uint32_t i = 0; i < words; i++, number /= 8)
		key[i] = i + 1 < words ? number % 8 : number;
}

/* Rows with only a key. */
static struct pasta_group *small_keys(const struct pasta_group_def *def, uint32_t words)
{
	struct pasta_group *g = pasta_group_new(def, NULL, NULL);
	uint32_t key[WORDS];

	assert_non_null(g);
	for (uint32_t i = 0; i < KEYS; i++) {
		small_key(key, words, i);
		assert_memory_equal(pasta_group_row(g, key), key, 4 * words);
	}
	assert_int_equal(pasta_group_count(g), KEYS);
	return g;
}

static void keys_of_any_size_have_one_row_each(void **state)
{
	static const struct pasta_member none[] = {{0}};

	for (uint32_t words = 1; words <= WORDS; words++) {
		const struct pasta_group_def def = {
			.row_size = 4 * words, .key_size = 4 * words, .members = none};
		struct pasta_group *g = small_keys(&def, words);
		uint32_t key[WORDS];
		size_t at = 0;

		for (uint32_t i = 0; i < KEYS; i++) {
			const void *next = pasta_group_next(g, &at);

			small_key(key, words, i);
			assert_ptr_equal(pasta_group_row(g, key), next);
			assert_ptr_equal(pasta_group_find(g, key), next);
		}
		small_key(key, words, KEYS);
		assert_null(pasta_group_find(g, key));
		pasta_group_free(g);
	}
}

static int by_hash(const void *a, const void *b)
{
	const struct pasta_group_slot *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static void keys_of_small_numbers_have_different_hashes(void **state)
{
	static const struct pasta_member none[] = {{0}};

	for (uint32_t words = 1; words <= WORDS; words++) {
		const struct pasta_group_def def = {
			.row_size = 4 * words, .key_size = 4 * words, .members = none};
		struct pasta_group *g = small_keys(&def, words);
		size_t equal = 0;

		/* Sorting destroys the index: no lookups after this. */
		qsort(g->index, g->mask + 1, sizeof(*g->index), by_hash);
		for (size_t i = 1; i <= g->mask; i++)
			equal += g->index[i].number && g->index[i - 1].number &&
				 g->index[i].hash == g->index[i - 1].hash;
		assert_in_range(equal, 0, KEYS / 100);
		pasta_group_free(g);
	}
}

static void every_member_has_its_cells_and_what_has_no_value_is_blank(void **state)
{
	const struct pasta_group_def def = DEF(all, .order = "-sum name");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);
	struct row *r = row(g, "a", 0);

	r->sum = 100;
	r->min = 3;
	r->max = UINT64_MAX;
	r->same = 5;
	for (uint64_t i = 1; i <= 3; i++) {
		pasta_stat_add(&r->stat, 10 * i);
		pasta_group_hist(g, &r->hist, i);
		*(uint64_t *)pasta_group_append(g, &r->list, 8) = i;
	}
	row(g, NULL, 9)->sum = 2000;
	assert_string_equal(shown(g), "(unnamed) device 9 2000 - 0 0 - - - - 0 - - -\n"
				      "a device 0 100 3 9223372036854775807 3 20 2 6 100.0 5 200 "
				      "33.3 3 items\n");
	pasta_group_free(g);
}

static void a_percentage_is_of_its_own_row_and_a_name_of_0_reads_as_it_should(void **state)
{
	static const struct pasta_member members[] = {
		PASTA_MEMBER(NAME, struct row, key.name, .column = "name", .none = "(unknown)"),
		PASTA_MEMBER(NAME, struct row, key.device, .column = "other",
			     .flags = PASTA_MEMBER_BLANK_ZERO),
		PASTA_MEMBER(SUM, struct row, sum, .column = "sum"),
		PASTA_MEMBER(SUM, struct row, max),
		PASTA_MEMBER_OF(PERCENT, struct row, sum, max, .column = "part",
				.flags = PASTA_MEMBER_REST),
		PASTA_MEMBER_OF(PERCENT, struct row, sum, max, .column = "again",
				.flags = PASTA_MEMBER_BLANK_ZERO),
		{0},
	};
	const struct pasta_group_def def =
		DEF(members, .order = "name", .limit = 3, .flags = PASTA_GROUP_REST);
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);
	struct pasta_error err = {0};

	assert_int_equal(pasta_group_check(&tool, &def, &err), 0);
	row(g, NULL, name("x"))->sum = 1;
	for (const char *text_ = "abcd"; *text_; text_++) {
		struct row *r = row(g, (char[]){*text_, 0}, 0);

		r->sum = (uint64_t)(*text_ - 'a');
		r->max = 4;
	}
	assert_string_equal(shown(g), "(unknown) x 1 0.0 -\na - 0 0.0 0.0\nb - 1 25.0 25.0\n"
				      "(2 others) - 5 62.5 -\n");
	pasta_group_free(g);
}

static void ties_go_by_all_columns_and_hidden_ones_order(void **state)
{
	const struct pasta_group_def def = DEF(few, .order = "-max");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	row(g, "c", 0)->sum = 1;
	row(g, "b", 0)->sum = 2;
	row(g, "a", 0)->max = 1;
	row(g, "b", 1)->sum = 1;
	assert_string_equal(shown(g), "a 0 0.0\nb 1 25.0\nb 2 50.0\nc 1 25.0\n");
	pasta_group_free(g);
}

static void processes_and_devices_are_in_order_of_their_numbers(void **state)
{
	static const struct pasta_member members[] = {
		PASTA_MEMBER(PROCESS, struct row, key.name, .column = "process"),
		PASTA_MEMBER(DEVICE, struct row, key.device, .column = "device"),
		PASTA_MEMBER(SUM, struct row, sum, .column = "sum"),
		{0},
	};
	const struct pasta_group_def def = DEF(members, .order = "process device");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	for (uint32_t proc = 0; proc < 3; proc++)
		assert_int_equal(
			pasta_directory_add(&(struct pasta_process_info){
				.proc = proc, .rank = 10 - 4 * proc, .host = "", .command = ""}),
			0);
	for (uint32_t i = 0; i < 3; i++)
		PASTA_ROW(g, struct row, i, 10)->sum = i;
	PASTA_ROW(g, struct row, 2, PASTA_HOST)->sum = 7;
	PASTA_ROW(g, struct row, 2, 9)->sum = 8;
	assert_string_equal(shown(g), "rank 2 device 9 8\nrank 2 device 10 2\nrank 2 host 7\n"
				      "rank 6 device 10 1\nrank 10 device 10 0\n");
	pasta_group_free(g);
	pasta_directory_fill(NULL);
}

static void an_enum_reads_as_its_name_in_order_of_its_numbers(void **state)
{
	static const char *const names[] = {"small", "large", NULL};
	static const struct pasta_member members[] = {
		PASTA_MEMBER(NAME, struct row, key.name),
		PASTA_MEMBER(ENUM, struct row, key.device, .column = "size", .names = names),
		PASTA_MEMBER(SUM, struct row, sum, .column = "sum"),
		{0},
	};
	const struct pasta_group_def def = DEF(members, .order = "size");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	for (uint32_t i = 4; i--;)
		PASTA_ROW(g, struct row, 0, i)->sum = i;
	assert_string_equal(shown(g), "small 0\nlarge 1\n(unknown) 2\n(unknown) 3\n");
	pasta_group_free(g);
}

static void rows_that_read_alike_are_folded(void **state)
{
	const struct pasta_group_def def = DEF(few, .order = "-sum", .flags = PASTA_GROUP_FOLD);
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	for (uint32_t i = 0; i < 5; i++)
		row(g, i % 2 ? "odd" : "even", i)->sum = i + 1;
	assert_string_equal(shown(g), "even 9 60.0\nodd 6 40.0\n");
	assert_int_equal(row(g, "even", 0)->sum, 1);
	pasta_group_free(g);
}

static void a_limit_leaves_a_row_for_the_rest_of_each_part(void **state)
{
	const struct pasta_group_def def =
		DEF(all, .order = "device -sum", .limit_option = "rows", .limit_per = 1,
		    .rest = "smaller ones", .flags = PASTA_GROUP_REST);
	static const struct pasta_member members[] = {
		PASTA_MEMBER(NAME, struct row, key.name, .column = "name"),
		PASTA_MEMBER(SUM, struct row, sum, .column = "sum"),
		PASTA_MEMBER(DEVICE, struct row, key.device, .column = "device"),
		PASTA_MEMBER_BY(CALL, .call = call, .column = "call"),
		{0},
	};
	struct pasta_group_def own = def;
	struct pasta_group *g;

	own.members = members;
	g = pasta_group_new(&own, &opts, NULL);
	for (uint32_t i = 1; i <= 4; i++)
		row(g, "a", 0)->sum = row(g, "b", 0)->sum = 0;
	row(g, "a", 0)->sum = 10;
	row(g, "b", 0)->sum = 20;
	row(g, "c", 0)->sum = 30;
	row(g, "d", 0)->sum = 40;
	row(g, "e", PASTA_HOST)->sum = 5;
	assert_string_equal(shown(g), "d 40 device 0 80\nc 30 device 0 60\n"
				      "(2 smaller ones) 30 device 0 -\ne 5 host 10\n");
	pasta_group_free(g);
}

static void the_rest_is_computed_from_its_sums_on_request(void **state)
{
	static const struct pasta_member members[] = {
		PASTA_MEMBER(NAME, struct row, key.name, .column = "name"),
		PASTA_MEMBER(DEVICE, struct row, key.device, .column = "device"),
		PASTA_MEMBER(SUM, struct row, sum),
		PASTA_MEMBER_BY(CALL, .call = call, .column = "call", .flags = PASTA_MEMBER_REST),
		PASTA_MEMBER_BY(CALL, .call = call, .column = "own"),
		{0},
	};
	const struct pasta_group_def def =
		DEF(members, .order = "-call", .limit = 1, .flags = PASTA_GROUP_REST);
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	row(g, "a", 0)->sum = 10;
	row(g, "b", 0)->sum = 20;
	row(g, "c", 0)->sum = 30;
	assert_string_equal(shown(g), "c device 0 60 60\n(2 others) - 60 -\n");
	pasta_group_free(g);
}

static bool is_large(const void *row_, const void *state)
{
	return ((const struct row *)row_)->sum > 10;
}

static double sum_by_max(const void *row_, const void *state)
{
	const struct row *r = row_;

	return pasta_ratio(r->sum, r->max);
}

static void a_number_can_have_no_value(void **state)
{
	static const struct pasta_member members[] = {
		PASTA_MEMBER(NAME, struct row, key.name, .column = "name"),
		PASTA_MEMBER(U32, struct row, key.device),
		PASTA_MEMBER(SUM, struct row, sum, .column = "sum", .has = is_large),
		PASTA_MEMBER_BY(RATIO, .ratio = sum_by_max, .column = "ratio"),
		PASTA_MEMBER_OF(PERCENT, struct row, sum, max, .column = "share",
				.flags = PASTA_MEMBER_BLANK_ZERO, .has = is_large),
		{0},
	};
	const struct pasta_group_def def = DEF(members, .order = "name");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	*row(g, "a", 0) = (struct row){.key = row(g, "a", 0)->key, .sum = 12, .max = 8};
	*row(g, "b", 0) = (struct row){.key = row(g, "b", 0)->key, .sum = 4, .max = 8};
	row(g, "c", 0)->sum = 20;
	assert_string_equal(shown(g), "a 12 1.5 150.0\nb - 0.5 -\nc 20 - -\n");
	pasta_group_free(g);
}

static void a_column_without_values_can_be_left_out(void **state)
{
	static const struct pasta_member members[] = {
		PASTA_MEMBER(NAME, struct row, key.name, .column = "name"),
		PASTA_MEMBER(U32, struct row, key.device),
		PASTA_MEMBER(MAX, struct row, max, .column = "max", .flags = PASTA_MEMBER_OPTIONAL),
		PASTA_MEMBER(SUM, struct row, sum, .column = "sum"),
		{0},
	};
	const struct pasta_group_def def = DEF(members, .order = "-max name");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	row(g, "b", 0)->sum = 10;
	row(g, "a", 0);
	assert_string_equal(shown(g), "a 0\nb 10\n");
	row(g, "b", 0)->max = 3;
	assert_string_equal(shown(g), "b 3 10\na 0 0\n");
	pasta_group_free(g);
}

static bool is_above_one(const void *row_, const void *state)
{
	return ((const struct row *)row_)->sum > 1;
}

static void rows_can_be_left_out_and_tables_can_be_optional(void **state)
{
	const struct pasta_group_def def =
		DEF(few, .keep = is_above_one, .flags = PASTA_GROUP_OPTIONAL, .order = "name");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	row(g, "a", 0)->sum = 1;
	assert_string_equal(shown(g), "");
	row(g, "b", 0)->sum = 2;
	assert_string_equal(shown(g), "b 2 100.0\n");
	pasta_group_free(g);
}

static void rows_can_be_listed_in_any_order_of_columns(void **state)
{
	const struct pasta_group_def def = DEF(few, .order = "name", .keep = is_above_one,
					       .limit = 1, .flags = PASTA_GROUP_FOLD);
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);
	struct row **rows;
	size_t count;

	rows = pasta_group_sorted(g, NULL, &count);
	assert_int_equal(count, 0);
	assert_null(rows[0]);
	free(rows);
	for (uint32_t i = 0; i < 5; i++)
		row(g, "a", i)->sum = i * 3 % 5;
	rows = pasta_group_sorted(g, "-sum", &count);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < count; i++)
		assert_ptr_equal(rows[i], row(g, "a", (uint32_t[]){3, 1, 4, 2, 0}[i]));
	assert_null(rows[5]);
	free(rows);
	row(g, "0", 9);
	rows = pasta_group_sorted(g, NULL, &count);
	assert_int_equal(count, 6);
	assert_ptr_equal(rows[0], row(g, "0", 9));
	free(rows);
	assert_int_equal(pasta_group_error(g), 0);
	assert_null(pasta_group_sorted(g, "nothing", &count));
	assert_int_equal(pasta_group_error(g), -EINVAL);
	pasta_group_free(g);
}

/* A tree of rows: the device of a row names its parent. */
static char walked[200];

static void *above(const void *row_, const void *ctx)
{
	uint32_t device = ((const struct row *)row_)->key.device;
	size_t at = 0;
	struct row *r;

	while ((r = pasta_group_next(ctx, &at)))
		if (device && r->key.name == device)
			return r;
	return NULL;
}

static void enter(void *row_, void *up, void *ctx)
{
	strcat(strcat(walked, "("), pasta_str(((const struct row *)row_)->key.name));
}

static void leave(void *row_, void *up, void *ctx)
{
	struct row *r = row_;

	strcat(walked, ")");
	if (up)
		((struct row *)up)->sum += r->sum;
}

static void rows_are_walked_as_a_tree_from_the_outermost_on(void **state)
{
	const struct pasta_group_def def = DEF(few, .order = "name");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);
	struct pasta_walk walk = {.up = above, .enter = enter, .leave = leave, .ctx = g};

	walked[0] = '\0';
	assert_int_equal(pasta_group_walk(g, &walk), 0);
	assert_string_equal(walked, "");
	row(g, "d", name("c"))->sum = 1; /* before its parent */
	row(g, "b", name("a"))->sum = 2;
	row(g, "a", 0);
	row(g, "c", name("a"))->sum = 4;
	row(g, "e", 0)->sum = 8;
	assert_int_equal(pasta_group_walk(g, &walk), 0);
	assert_string_equal(walked, "(a(b)(c(d)))(e)");
	assert_int_equal(row(g, "a", 0)->sum, 7);
	walk.order = "-name";
	walked[0] = '\0';
	walk.leave = NULL;
	assert_int_equal(pasta_group_walk(g, &walk), 0);
	assert_string_equal(walked, "(e(a(c(d(b");
	row(g, "f", name("f"));
	assert_int_equal(pasta_group_walk(g, &walk), -ELOOP);
	assert_int_equal(pasta_group_error(g), -ELOOP);
	pasta_group_free(g);
}

static uint32_t line_of(const char *function, const char *file, uint32_t number)
{
	return pasta_stack_frame_line(&(struct pasta_stack_frame){
		.function = function, .file = file, .module = "", .line = number});
}

static void lines_with_equal_texts_are_shown_with_their_paths(void **state)
{
	static const struct pasta_member members[] = {
		PASTA_MEMBER(LINE, struct row, key.name, .column = "line", .none = "none"),
		PASTA_MEMBER(U32, struct row, key.device, .column = "device"),
		{0},
	};
	const struct pasta_group_def def = DEF(members, .order = "line");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

	assert_int_equal(line_of("<built-in len>", "a.py", 1), 0);
	assert_int_equal(line_of("f", "<string>", 1), 0);
	assert_int_equal(line_of("f", "", 1), 0);
	assert_int_equal(line_of("f", "/a/m.py", 3), line_of("f", "/a/m.py", 3));
	PASTA_ROW(g, struct row, line_of("f", "/a/m.py", 3), 1);
	PASTA_ROW(g, struct row, line_of("f", "/a/m.py", 3), 2);
	PASTA_ROW(g, struct row, line_of("f", "/a/m.py", 4), 3);
	PASTA_ROW(g, struct row, name("(other)"), 4);
	PASTA_ROW(g, struct row, 0, 5);
	assert_string_equal(shown(g), "(other) 4\nf (m.py:3) 1\nf (m.py:3) 2\nf (m.py:4) 3\n"
				      "none 5\n");
	PASTA_ROW(g, struct row, line_of("f", "/b/m.py", 3), 6);
	assert_string_equal(shown(g), "(other) 4\nf (/a/m.py:3) 1\nf (/a/m.py:3) 2\n"
				      "f (/b/m.py:3) 6\nf (m.py:4) 3\nnone 5\n");
	pasta_group_free(g);
}

struct line {
	struct {
		uint32_t number;
	} key;
	struct pasta_cover cover;
};

static void covers_of_different_lines_add_up(void **state)
{
	static const struct pasta_member members[] = {PASTA_MEMBER(U32, struct line, key.number),
						      PASTA_MEMBER(COVER, struct line, cover),
						      {0}};
	const struct pasta_group_def def =
		PASTA_GROUP(struct state, group, struct line, members, .table = "t");
	struct pasta_group *a = pasta_group_new(&def, NULL, NULL),
			   *b = pasta_group_new(&def, NULL, NULL);
	struct pasta_error err = {0};
	struct line *both;

	assert_int_equal(pasta_group_check(&tool, &def, &err), 0);
	pasta_cover_add(&PASTA_ROW(a, struct line, 1)->cover, 0, 100, 10);
	pasta_cover_add(&PASTA_ROW(b, struct line, 1)->cover, 0, 50, 20);
	pasta_cover_add(&PASTA_ROW(b, struct line, 1)->cover, 1, 60, 20);
	pasta_cover_add(&PASTA_ROW(b, struct line, 2)->cover, 1, 5, 5);
	assert_int_equal(pasta_group_merge(a, b), 0);
	both = PASTA_ROW(a, struct line, 1);
	assert_int_equal(both->cover.count, 3);
	assert_int_equal(both->cover.time[1], 10 + 10);
	assert_int_equal(both->cover.time[2], 10);
	assert_int_equal(both->cover.time[3], 10);
	/* The cover of a row that only the other group has continues where it was. */
	both = PASTA_ROW(a, struct line, 2);
	pasta_cover_add(&both->cover, 0, 8, 4);
	pasta_cover_finish(&both->cover);
	assert_int_equal(both->cover.time[1], 2);
	assert_int_equal(both->cover.time[2], 3);
	assert_int_equal(both->cover.time[3], 2);
	pasta_group_free(a);
	pasta_group_free(b);
}

static void fill(struct pasta_group *g, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct row *r = PASTA_ROW(g, struct row, i % 50, i % 3);

		r->sum += i;
		r->min = !r->min || i < r->min ? i : r->min;
		r->max = i > r->max ? i : r->max;
		r->same = i % 50;
		pasta_stat_add(&r->stat, i);
		pasta_group_hist(g, &r->hist, i);
		*(uint64_t *)pasta_group_append(g, &r->list, 8) = i;
	}
}

static void merged_groups_equal_a_single_group(void **state)
{
	const struct pasta_group_def def = DEF(all, .order = "name device");
	struct pasta_group *whole = pasta_group_new(&def, NULL, NULL),
			   *a = pasta_group_new(&def, NULL, NULL),
			   *b = pasta_group_new(&def, NULL, NULL);
	struct row *r;
	size_t at = 0;
	char *wanted;

	fill(whole, 1, 3000);
	fill(a, 1, 1000);
	fill(b, 1000, 3000);
	assert_int_equal(pasta_group_merge(a, b), 0);
	wanted = strdup(shown(whole));
	assert_string_equal(shown(a), wanted);
	while ((r = pasta_group_next(whole, &at))) {
		const struct row *m = pasta_group_find(a, &r->key);

		assert_int_equal(m->list.count, r->list.count);
		assert_memory_equal(m->list.items, r->list.items, 8 * r->list.count);
	}
	free(wanted);
	pasta_group_free(whole);
	pasta_group_free(a);
	pasta_group_free(b);
}

struct hidden {
	struct {
		uint32_t a, b;
	} key;
	uint64_t first, second[2], last, not_a_sum;
};

static void sums_that_are_not_shown_are_merged_with_their_neighbours(void **state)
{
	const struct pasta_group_def def = PASTA_GROUP_HIDDEN(
		struct state, group, struct hidden, PASTA_SUMS(struct hidden, first, last));
	struct pasta_group *a = pasta_group_new(&def, NULL, NULL),
			   *b = pasta_group_new(&def, NULL, NULL);
	const struct hidden numbers = {{1, 2}, 3, {4, UINT64_MAX}, 5, 6};
	struct hidden *row = PASTA_ROW(a, struct hidden, 1, 2);
	struct pasta_error err = {0};

	assert_int_equal(pasta_group_check(&tool, &def, &err), 0);
	assert_null(def.table);
	*row = numbers;
	*PASTA_ROW(b, struct hidden, 1, 2) = numbers;
	assert_int_equal(pasta_group_merge(a, b), 0);
	assert_int_equal(row->first, 6);
	assert_int_equal(row->second[0], 8);
	assert_true(row->second[1] == UINT64_MAX);
	assert_int_equal(row->last, 10);
	assert_int_equal(row->not_a_sum, 6);
	pasta_group_free(a);
	pasta_group_free(b);
}

static void rows_are_walked_in_order_any_number_of_times(void **state)
{
	const struct pasta_group_def def = DEF(few, .order = "name");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);
	size_t at = 0;

	assert_null(pasta_group_next_by(g, NULL, &at));
	for (uint32_t i = 0; i < 3; i++)
		row(g, "a", i)->sum = i * 2 % 3;
	/* A walk may stop early. */
	assert_ptr_equal(pasta_group_next_by(g, "-sum", &at), row(g, "a", 1));
	at = 0;
	for (size_t i = 0; i < 3; i++)
		assert_ptr_equal(pasta_group_next_by(g, "sum", &at),
				 row(g, "a", (uint32_t[]){0, 2, 1}[i]));
	assert_null(pasta_group_next_by(g, "sum", &at));
	assert_null(pasta_group_next_by(g, "sum", &at));
	at = 0;
	assert_non_null(pasta_group_next_by(g, NULL, &at));
	assert_int_equal(pasta_group_error(g), 0);
	at = 0;
	assert_null(pasta_group_next_by(g, "nothing", &at));
	assert_int_equal(pasta_group_error(g), -EINVAL);
	pasta_group_free(g);
}

static void the_first_error_of_a_tool_is_the_one_of_its_group(void **state)
{
	const struct pasta_group_def def = DEF(few, .order = "name");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);
	uint32_t id = pasta_group_intern(g, "abc", 3);
	size_t count;

	assert_int_equal(id, pasta_strings_add("abc", 3));
	assert_int_equal(pasta_group_error(g), 0);
	pasta_group_fail(g, 0);
	assert_int_equal(pasta_group_error(g), 0);
	pasta_group_fail(g, -ENOMEM);
	pasta_group_fail(g, -EINVAL);
	assert_int_equal(pasta_group_error(g), -ENOMEM);
	count = pasta_group_count(g);
	row(g, "a key that is new by then", 9)->sum = 1;
	assert_int_equal(pasta_group_count(g), count);
	pasta_group_free(g);
}

static void fewer_names(void *key, const void *ctx)
{
	((uint32_t *)key)[0] %= *(const uint32_t *)ctx;
}

static void keys_can_be_changed_and_rows_that_meet_become_one(void **state)
{
	const struct pasta_group_def def = DEF(all, .order = "name device");
	struct pasta_group *whole = pasta_group_new(&def, NULL, NULL),
			   *g = pasta_group_new(&def, NULL, NULL);
	uint32_t left = 10;
	struct row *r;
	size_t at = 0;

	fill(whole, 1, 3000);
	fill(g, 1, 3000);
	pasta_group_rekey(g, fewer_names, &left);
	assert_int_equal(pasta_group_count(g), 30);
	assert_int_equal(pasta_group_error(g), 0);
	assert_int_equal(PASTA_SUM(g, struct row, sum), PASTA_SUM(whole, struct row, sum));
	while ((r = pasta_group_next(g, &at))) {
		uint64_t count = 0;

		for (uint32_t i = r->key.name; i < 50; i += 10)
			count += PASTA_ROW(whole, struct row, i, r->key.device)->list.count;
		assert_int_equal(r->stat.count, count);
		assert_int_equal(r->list.count, count);
		assert_int_equal(pasta_hist_count(r->hist), count);
		assert_ptr_equal(pasta_group_find(g, &r->key), r);
	}
	pasta_group_free(whole);
	pasta_group_free(g);
}

static void an_invalid_declaration_is_refused_with_its_reason(void **state)
{
	static const struct pasta_member no_key[] = {
		PASTA_MEMBER(NAME, struct row, key.name, .column = "name"), {0}};
	static const struct pasta_member figure[] = {PASTA_MEMBER(U64, struct row, key),
						     PASTA_MEMBER(STAT, struct row, stat,
								  .column = "total,p50"),
						     {0}};
	static const struct pasta_member list[] = {
		PASTA_MEMBER(U64, struct row, key), PASTA_MEMBER(LIST, struct row, list), {0}};
	static const struct pasta_member measure[] = {PASTA_MEMBER(SUM, struct row, key), {0}};
	static const struct pasta_member function[] = {
		PASTA_MEMBER(U64, struct row, key), PASTA_MEMBER_BY(CALL, .column = "c"), {0}};
	static const struct pasta_member outside[] = {PASTA_MEMBER(U64, struct row, key),
						      {.type = PASTA_MEMBER_SUM,
						       .offset = sizeof(struct row) - 4},
						      {0}};
	static const struct pasta_member key[] = {PASTA_KEY(struct row), {0}};
	static const struct pasta_member shown_key[] = {
		{.type = PASTA_MEMBER_BYTES, .item_size = 8, .column = "key"}, {0}};
	static const struct pasta_member twice[] = {PASTA_MEMBER(U64, struct row, key),
						    PASTA_MEMBER(SUM, struct row, sum),
						    PASTA_MEMBER(SUM, struct row, sum),
						    {0}};
	static const struct pasta_member sums[] = {PASTA_MEMBER(U64, struct row, key),
						   PASTA_MEMBER(SUM, struct row, sum,
								.item_size = 12),
						   {0}};
	static const struct pasta_member whole[] = {PASTA_MEMBER(U64, struct row, key),
						    {.type = PASTA_MEMBER_PERCENT,
						     .of = sizeof(struct row)},
						    {0}};
	static const struct pasta_member names[] = {PASTA_MEMBER(NAME, struct row, key.name),
						    PASTA_MEMBER(ENUM, struct row, key.device),
						    {0}};
	struct pasta_group_def def = DEF(all, .order = "-sum");
	struct pasta_error err = {0};

	assert_int_equal(pasta_group_check(&tool, &def, &err), 0);
	refused(&DEF(all, .order = "-sum nothing"), "ordered by 'nothing'");
	refused(&DEF(no_key, .limit = 0), "byte 4 of the key");
	assert_int_equal(pasta_group_check(&tool, &DEF(key, .limit = 0), &err), 0);
	refused(&DEF(shown_key, .limit = 0), "cannot have a column");
	refused(&DEF(figure, .limit = 0), "member 2");
	refused(&DEF(list, .limit = 0), "item_size");
	refused(&DEF(measure, .limit = 0), "cannot be part of the key");
	refused(&DEF(function, .limit = 0), "must set its function");
	refused(&DEF(outside, .limit = 0), "past the end of the row's struct");
	refused(&DEF(whole, .limit = 0), "past the end of the row's struct");
	refused(&DEF(twice, .limit = 0), "PASTA_MEMBER_MORE");
	refused(&DEF(sums, .limit = 0), "a SUMS member must have a size");
	refused(&DEF(names, .limit = 0), "must set .names");
	refused(&DEF(all, .order = "name", .limit_per = 2), "limit_per");
	def.key_size = 7;
	refused(&def, "multiple of 4");
	def = DEF(all, .limit = 0);
	def.state_offset = sizeof(struct state);
	refused(&def, "outside of the tool's state");
}

struct levelled {
	struct {
		uint32_t level, name;
		uint64_t addr;
		struct pasta_stack_ref stack;
	} key;
	int64_t age;
	uint32_t type;
};

static const struct pasta_member levelled[] = {
	PASTA_MEMBER(LEVEL, struct levelled, key.level, .column = "level"),
	PASTA_MEMBER_OF(NAME, struct levelled, key.name, key.addr, .column = "name"),
	PASTA_MEMBER_OF(STACK, struct levelled, key.stack, key.name, .column = "site",
			.none = "(unknown)"),
	PASTA_MEMBER(ADDRESS, struct levelled, key.addr),
	PASTA_MEMBER(I64, struct levelled, age, .column = "age"),
	PASTA_MEMBER(SUBTYPE, struct levelled, type, .column = "type", .of = PASTA_KIND_ALLOC),
	{0},
};

static void levels_subtypes_and_origins_have_their_texts_and_what_is_held_comes_first(void **state)
{
	static const struct pasta_group_def def = PASTA_GROUP(
		struct state, group, struct levelled, levelled, .table = "t", .order = "level");
	struct pasta_group *g = pasta_group_new(&def, NULL, NULL);
	struct pasta_member bad[sizeof(levelled) / sizeof(*levelled)];
	struct pasta_group_def wrong = def;
	struct levelled *r;

	assert_int_equal(pasta_group_check(&tool, &def, NULL), 0);
	r = PASTA_ROW(g, struct levelled, PASTA_LEVEL_BLOCK, name("b"), 1, {0, 0});
	r->type = 200; /* a type of a later version */
	r = PASTA_ROW(g, struct levelled, PASTA_LEVEL_DRIVER, 0, 0x1f, {0, 0});
	r->type = PASTA_ALLOC_MANAGED;
	r->age = PASTA_NO_VALUE;
	PASTA_ROW(g, struct levelled, PASTA_LEVEL_HELD, name("a"), 1, {0, 0})->age = -5;
	assert_string_equal(shown(g), "held a a -5 unspecified\n"
				      "driver 0x1f (unknown) - managed\n"
				      "allocated b b 0 unspecified\n");
	pasta_group_free(g);
	memcpy(bad, levelled, sizeof(bad));
	wrong.members = bad;
	bad[5].of = 63;
	refused(&wrong, "a SUBTYPE member must set .of");
	bad[2].of = sizeof(struct levelled);
	refused(&wrong, "past the end of the row's struct");
}

static void subtypes_have_names_and_0_is_unspecified(void **state)
{
	assert_string_equal(pasta_subtype_name(PASTA_KIND_COPY, PASTA_COPY_P2P), "p2p");
	assert_string_equal(pasta_subtype_name(PASTA_KIND_ALLOC, PASTA_ALLOC_SEGMENT), "segment");
	assert_string_equal(pasta_subtype_name(PASTA_KIND_FREE, PASTA_ALLOC_SEGMENT), "segment");
	assert_string_equal(pasta_subtype_name(PASTA_KIND_UVM, PASTA_UVM_REMOTE_MAP), "remote_map");
	assert_string_equal(pasta_subtype_name(PASTA_KIND_KERNEL, 0), "unspecified");
	assert_null(pasta_subtype_name(PASTA_KIND_KERNEL, 1));
	assert_null(pasta_subtype_name(PASTA_KIND_COPY, PASTA_COPY_UNMAP + 1));
	assert_null(pasta_subtype_name(PASTA_KIND_COPY, 1000));
	assert_null(pasta_subtype_name(0, 0));
	assert_null(pasta_subtype_name(PASTA_KIND_MAX, 0));
}

static void a_computed_text_is_whole_whatever_its_length(void **state)
{
	static const struct pasta_member members[] = {
		PASTA_MEMBER_BY(TEXT, .text = letters, .column = "text"),
		PASTA_MEMBER(NAME, struct row, key.name),
		PASTA_MEMBER(U32, struct row, key.device),
		PASTA_MEMBER(SUM, struct row, sum),
		{0},
	};
	const struct pasta_group_def def = DEF(members, .limit = 0);
	static const size_t lengths[] = {0, 4092, 4095, 4096, 50000};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct pasta_group *g = pasta_group_new(&def, NULL, NULL);

		row(g, "a", 0)->sum = lengths[i];
		assert_int_equal(strlen(shown(g)), lengths[i] + 1);
		pasta_group_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_zeroed_found_again_and_stays_where_it_is),
		cmocka_unit_test(keys_of_any_size_have_one_row_each),
		cmocka_unit_test(keys_of_small_numbers_have_different_hashes),
		cmocka_unit_test(every_member_has_its_cells_and_what_has_no_value_is_blank),
		cmocka_unit_test(a_percentage_is_of_its_own_row_and_a_name_of_0_reads_as_it_should),
		cmocka_unit_test(ties_go_by_all_columns_and_hidden_ones_order),
		cmocka_unit_test(processes_and_devices_are_in_order_of_their_numbers),
		cmocka_unit_test(an_enum_reads_as_its_name_in_order_of_its_numbers),
		cmocka_unit_test(rows_that_read_alike_are_folded),
		cmocka_unit_test(a_limit_leaves_a_row_for_the_rest_of_each_part),
		cmocka_unit_test(the_rest_is_computed_from_its_sums_on_request),
		cmocka_unit_test(a_number_can_have_no_value),
		cmocka_unit_test(a_computed_text_is_whole_whatever_its_length),
		cmocka_unit_test(a_column_without_values_can_be_left_out),
		cmocka_unit_test(rows_can_be_left_out_and_tables_can_be_optional),
		cmocka_unit_test(rows_can_be_listed_in_any_order_of_columns),
		cmocka_unit_test(rows_are_walked_as_a_tree_from_the_outermost_on),
		cmocka_unit_test(lines_with_equal_texts_are_shown_with_their_paths),
		cmocka_unit_test(covers_of_different_lines_add_up),
		cmocka_unit_test(keys_can_be_changed_and_rows_that_meet_become_one),
		cmocka_unit_test(merged_groups_equal_a_single_group),
		cmocka_unit_test(sums_that_are_not_shown_are_merged_with_their_neighbours),
		cmocka_unit_test(rows_are_walked_in_order_any_number_of_times),
		cmocka_unit_test(the_first_error_of_a_tool_is_the_one_of_its_group),
		cmocka_unit_test(an_invalid_declaration_is_refused_with_its_reason),
		cmocka_unit_test(
			levels_subtypes_and_origins_have_their_texts_and_what_is_held_comes_first),
		cmocka_unit_test(subtypes_have_names_and_0_is_unspecified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
