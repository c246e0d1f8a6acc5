/* groupdef.c - reads and checks the declaration of a group. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/group.h"
#include "process/sdk/owned.h"
#include "process/sdk/result.h"

enum { ROW_MAX = 1 << 20, MEMBERS_MAX = 64 };

static const struct {
	const char *word;
	enum pasta_figure figure;
} figures[] = {
	{"count", PASTA_FIGURE_COUNT}, {"total", PASTA_FIGURE_TOTAL}, {"mean", PASTA_FIGURE_MEAN},
	{"min", PASTA_FIGURE_MIN},     {"max", PASTA_FIGURE_MAX},     {"p50", PASTA_FIGURE_P50},
	{"p95", PASTA_FIGURE_P95},     {"p99", PASTA_FIGURE_P99},     {"share", PASTA_FIGURE_SHARE},
};

static const char *def_table(const struct pasta_group_def *def)
{
	return def->table ? def->table : "(not shown)";
}

/* -- Columns -- */

static enum pasta_column_type def_type(const struct pasta_member *m, enum pasta_figure figure)
{
	if (figure == PASTA_FIGURE_SHARE || m->type == PASTA_MEMBER_SHARE ||
	    m->type == PASTA_MEMBER_PERCENT || m->type == PASTA_MEMBER_RATIO)
		return PASTA_COLUMN_FLOAT;
	switch (m->type) {
	case PASTA_MEMBER_NAME:
	case PASTA_MEMBER_DIM3:
	case PASTA_MEMBER_SCOPE:
	case PASTA_MEMBER_STACK:
	case PASTA_MEMBER_LINE:
	case PASTA_MEMBER_PROCESS:
	case PASTA_MEMBER_DEVICE:
	case PASTA_MEMBER_ENUM:
	case PASTA_MEMBER_LEVEL:
	case PASTA_MEMBER_SUBTYPE:
	case PASTA_MEMBER_ADDRESS:
	case PASTA_MEMBER_TEXT:
		return PASTA_COLUMN_STRING;
	default:
		return PASTA_COLUMN_INT;
	}
}

/* Returns the role of a column, or PASTA_ROLE_NONE. In that case, pasta_out_table derives the role
 * from the unit. A count or a share does not have the role of its member. */
static uint32_t def_role(const struct pasta_member *m, enum pasta_figure figure)
{
	if (figure == PASTA_FIGURE_COUNT || figure == PASTA_FIGURE_SHARE)
		return PASTA_ROLE_NONE;
	if (m->role)
		return m->role;
	return m->type == PASTA_MEMBER_ADDRESS ? PASTA_ROLE_ADDRESS
	       : m->type == PASTA_MEMBER_STACK ? PASTA_ROLE_LINE
					       : PASTA_ROLE_NONE;
}

static int def_add(struct pasta_group_plan *plan, const struct pasta_member *m,
		   enum pasta_figure figure, const char *name, size_t size)
{
	struct pasta_group_column *c = &plan->columns[plan->count];
	bool share = figure == PASTA_FIGURE_SHARE || m->type == PASTA_MEMBER_SHARE ||
		     m->type == PASTA_MEMBER_PERCENT;

	if (plan->count == PASTA_GROUP_COLUMNS || !size || size >= sizeof(c->name))
		return -EINVAL;
	*c = (struct pasta_group_column){.member = m, .figure = figure};
	c->type = def_type(m, figure);
	c->role = def_role(m, figure);
	c->unit = share ? "%" : figure == PASTA_FIGURE_COUNT ? NULL : m->unit;
	memcpy(c->name, name, size);
	plan->count++;
	return 0;
}

/* Adds a column for one figure of a member of type STAT or HIST. The figure is a text such as
 * "count" or "count=launches". */
static int def_figure(struct pasta_group_plan *plan, const struct pasta_member *m, const char *text,
		      size_t size)
{
	const char *equal = memchr(text, '=', size);
	size_t word = equal ? (size_t)(equal - text) : size;
	const char *name = equal ? equal + 1 : text;

	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		enum pasta_figure figure = figures[i].figure;
		bool quantile = figure >= PASTA_FIGURE_P50 && figure <= PASTA_FIGURE_P99;

		if (strlen(figures[i].word) == word && !memcmp(figures[i].word, text, word) &&
		    (!quantile || m->type == PASTA_MEMBER_HIST))
			return def_add(plan, m, figure, name, size - (size_t)(name - text));
	}
	return -EINVAL;
}

static int def_columns(struct pasta_group_plan *plan, const struct pasta_member *m)
{
	const char *text = m->column;
	int error = 0;

	if (!text)
		return 0;
	if (m->type != PASTA_MEMBER_STAT && m->type != PASTA_MEMBER_HIST)
		return def_add(plan, m, PASTA_FIGURE_ITSELF, text, strlen(text));
	for (; !error && *text; text += text[0] == ',') {
		size_t n = strcspn(text, ",");

		error = def_figure(plan, m, text, n);
		text += n;
	}
	return error;
}

static int def_order(const struct pasta_group_def *def, struct pasta_group_plan *plan,
		     struct pasta_error *err)
{
	const char *text = def->order ? def->order : "";

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		bool down = *text == '-';
		size_t n = strcspn(text += down, " "), i = 0;

		while (i < plan->count && (strlen(plan->columns[i].name) != n ||
					   memcmp(plan->columns[i].name, text, n)))
			i++;
		if (i == plan->count || plan->order_count == PASTA_GROUP_COLUMNS)
			return pasta_fail(
				err, -EINVAL,
				"table %s is ordered by '%.*s', which is not one of its columns",
				def_table(def), (int)n, text);
		plan->order[plan->order_count].column = i;
		plan->order[plan->order_count++].down = down;
		text += n;
	}
	return 0;
}

int pasta_group_plan(const struct pasta_group_def *def, struct pasta_group_plan *plan,
		     struct pasta_error *err)
{
	const struct pasta_member *m;

	*plan = (struct pasta_group_plan){0};
	for (m = def->members; m->type; m++)
		if (def_columns(plan, m))
			return pasta_fail(
				err, -EINVAL,
				"table %s, member %zu: the column '%s' is not a known statistic, or "
				"its name is too long, or the table has more than %d columns",
				def_table(def), (size_t)(m - def->members) + 1, m->column,
				PASTA_GROUP_COLUMNS);
	return def_order(def, plan, err);
}

/* -- Checks -- */

static int def_bad(const struct pasta_group_def *def, size_t number, const char *what,
		   struct pasta_error *err)
{
	return pasta_fail(err, -EINVAL, "table %s, member %zu: %s", def_table(def), number + 1,
			  what);
}

static bool def_is_before(const struct pasta_group_def *def, const struct pasta_member *m)
{
	const struct pasta_member *first = def->members;

	while (first->type != m->type || first->offset != m->offset)
		first++;
	return first < m;
}

/* Returns the size of the value at the offset .of in the row, or 0 if .of is not an offset. */
static size_t def_size_of(const struct pasta_member *m)
{
	bool name = m->type == PASTA_MEMBER_STACK && m->of;
	bool number = m->type == PASTA_MEMBER_PERCENT || (m->type == PASTA_MEMBER_NAME && m->of);

	return name ? sizeof(uint32_t) : number ? sizeof(uint64_t) : 0;
}

static const char *def_member_wrong(const struct pasta_group_def *def, const struct pasta_member *m)
{
	size_t size = pasta_member_size(m);
	bool computed = m->type == PASTA_MEMBER_CALL || m->type == PASTA_MEMBER_RATIO ||
			m->type == PASTA_MEMBER_TEXT;

	if (m->type > PASTA_MEMBER_PERCENT)
		return "the member has an unknown type: declare it with PASTA_MEMBER";
	if (m->role >= PASTA_ROLES)
		return "the member has an unknown role: set .role to a PASTA_ROLE_...";
	if (m->type == PASTA_MEMBER_SHARE || m->type == PASTA_MEMBER_PERCENT)
		size = sizeof(uint64_t);
	if (m->offset > def->row_size || size > def->row_size - m->offset ||
	    (def_size_of(m) && m->of + def_size_of(m) > def->row_size))
		return "the member extends past the end of the row's struct";
	if (m->offset < def->key_size && pasta_member_is_measure(m))
		return "the member is a measure, and measures cannot be part of the key";
	if (pasta_member_is_measure(m) && def_is_before(def, m) != !!(m->flags & PASTA_MEMBER_MORE))
		return "PASTA_MEMBER_MORE must be set if an earlier member declares the same "
		       "measure, and must not be set for other members";
	if (m->type == PASTA_MEMBER_SUBTYPE && !pasta_kind_name(m->of))
		return "a SUBTYPE member must set .of to the kind of its events";
	if (m->type == PASTA_MEMBER_LIST && (!m->item_size || m->item_size > ROW_MAX))
		return "a LIST member must set .item_size to the size of its items";
	if ((m->type == PASTA_MEMBER_LIST || m->type == PASTA_MEMBER_COVER ||
	     m->type == PASTA_MEMBER_BYTES) &&
	    m->column)
		return "a LIST, COVER or BYTES member cannot have a column: add a TEXT or CALL "
		       "member to show it";
	if (m->type == PASTA_MEMBER_SUM && m->item_size && (m->column || m->item_size % 8))
		return "a SUMS member must have a size that is a multiple of 8 bytes, and no "
		       "column";
	if (m->type == PASTA_MEMBER_ENUM && !m->names)
		return "an ENUM member must set .names";
	if (computed && !(m->type == PASTA_MEMBER_CALL	  ? m->call != NULL
			  : m->type == PASTA_MEMBER_RATIO ? m->ratio != NULL
							  : m->text != NULL))
		return "a computed member must set its function: .call, .ratio or .text";
	return NULL;
}

/* Checks that every byte of the key belongs to a declared member. Any other byte is padding or
 * undeclared, and rows that look alike could differ in that byte. */
static int def_check_key(const struct pasta_group_def *def, struct pasta_error *err)
{
	uint8_t *covered = calloc(1, def->key_size);
	const struct pasta_member *m;
	size_t i = 0;

	if (!covered)
		return pasta_fail(err, -ENOMEM, "out of memory");
	for (m = def->members; m->type; m++)
		for (size_t k = 0; k < pasta_member_size(m) && m->offset + k < def->key_size; k++)
			covered[m->offset + k] = 1;
	while (i < def->key_size && covered[i])
		i++;
	free(covered);
	if (i == def->key_size)
		return 0;
	return pasta_fail(
		err, -EINVAL,
		"table %s: byte %zu of the key belongs to no member: declare a member for this "
		"byte, or remove the padding",
		def_table(def), i);
}

static int def_check_sizes(const struct pasta_tool *tool, const struct pasta_group_def *def,
			   struct pasta_error *err)
{
	if (def->size != sizeof(*def))
		return pasta_fail(err, -EINVAL, "table %s: declare the group with PASTA_GROUP",
				  def_table(def));
	if (!def->key_size || def->key_size % 4 || def->key_size > def->row_size ||
	    def->row_size > ROW_MAX)
		return pasta_fail(err, -EINVAL,
				  "table %s: the size of a key must be a multiple of 4 bytes, and "
				  "a row must have at most %d bytes",
				  def_table(def), ROW_MAX);
	if (!def->members)
		return pasta_fail(err, -EINVAL, "table %s has no members", def_table(def));
	if (!pasta_owned_fits(tool, def->state_offset))
		return pasta_fail(err, -EINVAL,
				  "table %s: the pointer to the group is outside of the tool's "
				  "state",
				  def_table(def));
	return 0;
}

int pasta_group_check(const struct pasta_tool *tool, const struct pasta_group_def *def,
		      struct pasta_error *err)
{
	struct pasta_group_plan plan;
	int error = def_check_sizes(tool, def, err);

	for (size_t i = 0; !error && def->members[i].type; i++) {
		const char *wrong = i == MEMBERS_MAX ? "the table has too many members, or its "
						       "list of members does not end with {0}"
						     : def_member_wrong(def, &def->members[i]);

		if (wrong)
			error = def_bad(def, i, wrong, err);
	}
	if (!error)
		error = def_check_key(def, err);
	if (!error)
		error = pasta_group_plan(def, &plan, err);
	if (!error && def->limit_per > plan.order_count)
		error = pasta_fail(err, -EINVAL,
				   "table %s: .limit_per is larger than the number of columns in "
				   ".order",
				   def_table(def));
	return error;
}
