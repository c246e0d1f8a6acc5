/* test_tooladopt.c - a tool of an older minor version runs as if its structs had today's sizes. */
#include "unit/support.h"

#include <pasta/tool.h>

#include "process/run/tooladopt.h"

struct row {
	struct {
		uint32_t name;
	} key;
	uint64_t count;
};

struct state {
	struct pasta_group *rows;
};

/* Lists as an older compiler laid them out: structs that end earlier, one right behind the other.
 */
enum { SHORT_OPTION = offsetof(struct pasta_option, type) };
enum { SHORT_MEMBER = offsetof(struct pasta_member, text) };
enum { SHORT_GROUP = offsetof(struct pasta_group_def, keep) };
enum { SHORT_TOOL = offsetof(struct pasta_tool, reducer) };

static void pack(char *to, const void *list, size_t count, size_t full, size_t stride)
{
	for (size_t i = 0; i < count; i++)
		memcpy(to + i * stride, (const char *)list + i * full, stride);
}

static const struct pasta_member members[] = {
	PASTA_MEMBER(NAME, struct row, key.name, .column = "name"),
	PASTA_MEMBER(SUM, struct row, count, .column = "count"),
	{0},
};
static const struct pasta_option options[] = {{"rows", "3", "how many", PASTA_OPTION_TEXT},
					      {"of", "all", "which", PASTA_OPTION_TEXT},
					      {0}};
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, rows, struct row, members, .table = "rows", .order = "name"),
	{0},
};

static _Alignas(16) char old_options[3 * SHORT_OPTION], old_members[3 * SHORT_MEMBER],
	old_groups[2 * SHORT_GROUP], old_tool[SHORT_TOOL];

static struct pasta_tool *make_old(void)
{
	struct pasta_group_def group = groups[0];
	struct pasta_tool tool = {PASTA_TOOL_HEAD, .name = "old", .summary = "from before"};

	pack(old_options, options, 3, sizeof(*options), SHORT_OPTION);
	pack(old_members, members, 3, sizeof(*members), SHORT_MEMBER);
	group.size = SHORT_GROUP;
	group.members = (const struct pasta_member *)old_members;
	group.member_size = SHORT_MEMBER;
	memset(old_groups, 0, sizeof(old_groups));
	memcpy(old_groups, &group, SHORT_GROUP);
	tool.size = SHORT_TOOL;
	tool.option_size = SHORT_OPTION;
	tool.options = (const struct pasta_option *)old_options;
	tool.groups = (const struct pasta_group_def *)old_groups;
	memcpy(old_tool, &tool, SHORT_TOOL);
	return (struct pasta_tool *)old_tool;
}

static void a_current_descriptor_is_used_as_it_is(void **state)
{
	static const struct pasta_tool tool = {PASTA_TOOL_HEAD, .name = "new", .groups = groups,
					       .options = options};

	assert_ptr_equal(pasta_tool_adopt(&tool, NULL), &tool);
}

static void shorter_structs_are_extended_with_zeros(void **state)
{
	const struct pasta_tool *tool = pasta_tool_adopt(make_old(), NULL);

	assert_non_null(tool);
	assert_int_equal(tool->size, sizeof(*tool));
	assert_string_equal(tool->name, "old");
	assert_null(tool->reducer);
	assert_string_equal(tool->options[1].name, "of");
	assert_int_equal(tool->options[1].type, 0);
	assert_null(tool->options[2].name);
	assert_int_equal(tool->groups[0].size, sizeof(*tool->groups));
	assert_string_equal(tool->groups[0].table, "rows");
	assert_null(tool->groups[0].keep);
	assert_int_equal(tool->groups[1].size, 0);
	assert_int_equal(tool->groups[0].member_size, sizeof(struct pasta_member));
	assert_string_equal(tool->groups[0].members[1].column, "count");
	assert_null(tool->groups[0].members[1].text);
	assert_int_equal(tool->groups[0].members[2].type, 0);
}

static void larger_structs_are_refused_by_name(void **state)
{
	struct pasta_error err = {0};
	struct pasta_tool *tool = make_old();

	((struct pasta_group_def *)old_groups)->member_size = sizeof(struct pasta_member) + 8;
	assert_null(pasta_tool_adopt(tool, &err));
	assert_int_equal(err.code, -EINVAL);
	assert_non_null(strstr(err.text, "struct pasta_member has"));
	tool = make_old();
	tool->size = sizeof(*tool) + 8;
	assert_null(pasta_tool_adopt(tool, &err));
	assert_non_null(strstr(err.text, "struct pasta_tool has"));
}

static void a_list_without_an_end_is_refused(void **state)
{
	static struct pasta_option endless[300];
	struct pasta_error err = {0};
	struct pasta_tool *tool = make_old();

	for (size_t i = 0; i < 300; i++)
		endless[i].name = "x";
	tool->options = endless;
	tool->option_size = sizeof(*endless);
	assert_null(pasta_tool_adopt(tool, &err));
	assert_non_null(strstr(err.text, "has no end"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_current_descriptor_is_used_as_it_is),
		cmocka_unit_test(shorter_structs_are_extended_with_zeros),
		cmocka_unit_test(larger_structs_are_refused_by_name),
		cmocka_unit_test(a_list_without_an_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
