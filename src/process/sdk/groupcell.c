/* groupcell.c - computes the cells of a group's table, which are the text or the number of each
 * member. */
#include "process/sdk/groupcell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/join/sourceline.h"
#include "process/join/scope.h"

enum { TEXT = 4096, TEXT_MAX = 1 << 24, TEXT_STEP = 16, CHARACTER_MAX = 4 };

static uint64_t cell_u64(const struct pasta_member *m, const void *row)
{
	return *(const uint64_t *)pasta_group_member(m, row);
}

static const char *cell_dim3(const uint32_t *d, char *text)
{
	if (!d[0])
		return "auto";
	snprintf(text, TEXT, "%u,%u,%u", d[0], d[1], d[2]);
	return text;
}

static const char *cell_enum(const char *const *names, uint32_t index)
{
	for (uint32_t i = 0; names[i]; i++)
		if (i == index)
			return names[i];
	return "(unknown)";
}

static const char *cell_address(uint64_t address, char *text)
{
	snprintf(text, TEXT, "0x%llx", (unsigned long long)address);
	return text;
}

/* Returns the text for a member of type NAME or LINE that is 0, or NULL for an empty cell. */
static const char *cell_none(const struct pasta_member *m)
{
	return m->flags & PASTA_MEMBER_BLANK_ZERO ? NULL : m->none ? m->none : "(unnamed)";
}

static const char *cell_name(const struct pasta_member *m, const void *row, char *text)
{
	if (pasta_group_u32(m, row))
		return pasta_str(pasta_group_u32(m, row));
	if (m->of)
		return cell_address(*(const uint64_t *)((const char *)row + m->of), text);
	return cell_none(m);
}

static const char *cell_stack(const struct pasta_member *m, const void *row, char *text)
{
	const struct pasta_stack_ref *ref = pasta_group_member(m, row);
	uint32_t name = m->of ? *(const uint32_t *)((const char *)row + m->of) : 0;

	if (*pasta_stack_line(ref->proc, ref->stack, text, TEXT))
		return text;
	return name ? pasta_str(name) : m->none ? m->none : "";
}

/* Returns a member's text, which is in the buffer or in memory of the framework. Returns NULL if
 * the member has no value. */
static const char *cell_text(const struct pasta_group *group, const struct pasta_member *m,
			     const void *row, char *text)
{
	const char *name;

	switch (m->type) {
	case PASTA_MEMBER_NAME:
		return cell_name(m, row, text);
	case PASTA_MEMBER_LINE:
		return pasta_group_u32(m, row)
			       ? pasta_sourceline_text(pasta_group_u32(m, row), false, text, TEXT)
			       : cell_none(m);
	case PASTA_MEMBER_DIM3:
		return cell_dim3(pasta_group_member(m, row), text);
	case PASTA_MEMBER_SCOPE:
		return pasta_scope_regions(pasta_scope_find(pasta_group_u32(m, row)), text, TEXT);
	case PASTA_MEMBER_STACK:
		return cell_stack(m, row, text);
	case PASTA_MEMBER_PROCESS:
		return pasta_process(pasta_group_u32(m, row))->text;
	case PASTA_MEMBER_DEVICE:
		return pasta_device_text(pasta_group_u32(m, row), text, TEXT);
	case PASTA_MEMBER_ENUM:
		return cell_enum(m->names, pasta_group_u32(m, row));
	case PASTA_MEMBER_LEVEL:
		return pasta_level_text(pasta_group_u32(m, row));
	case PASTA_MEMBER_SUBTYPE:
		name = pasta_subtype_name(m->of, pasta_group_u32(m, row));
		return name ? name : pasta_subtype_name(m->of, 0);
	case PASTA_MEMBER_ADDRESS:
		return cell_address(cell_u64(m, row), text);
	default:
		return m->text(row, group->state, text, TEXT);
	}
}

/* Reads one figure, such as the mean, of a member of type STAT or HIST. Returns false if no value
 * was added to the member. */
static bool cell_figure(const struct pasta_member *m, enum pasta_figure figure, const void *row,
			uint64_t *value)
{
	const struct pasta_hist *hist =
		m->type == PASTA_MEMBER_HIST
			? *(struct pasta_hist *const *)pasta_group_member(m, row)
			: NULL;
	struct pasta_stat stat = {0};

	if (m->type == PASTA_MEMBER_STAT)
		stat = *(const struct pasta_stat *)pasta_group_member(m, row);
	else if (hist)
		stat = (struct pasta_stat){pasta_hist_count(hist), pasta_hist_sum(hist),
					   pasta_hist_min(hist), pasta_hist_max(hist)};
	switch (figure) {
	case PASTA_FIGURE_COUNT:
		*value = stat.count;
		return true;
	case PASTA_FIGURE_MEAN:
		*value = stat.count ? stat.sum / stat.count : 0;
		break;
	case PASTA_FIGURE_MIN:
		*value = stat.min;
		break;
	case PASTA_FIGURE_MAX:
		*value = stat.max;
		break;
	case PASTA_FIGURE_P50:
		*value = stat.count ? pasta_hist_quantile(hist, 0.5) : 0;
		break;
	case PASTA_FIGURE_P95:
		*value = stat.count ? pasta_hist_quantile(hist, 0.95) : 0;
		break;
	case PASTA_FIGURE_P99:
		*value = stat.count ? pasta_hist_quantile(hist, 0.99) : 0;
		break;
	default:
		*value = stat.sum;
	}
	return stat.count;
}

uint64_t pasta_group_part(const struct pasta_group_column *c, const void *row)
{
	uint64_t part = 0;

	if (c->member->type == PASTA_MEMBER_SHARE)
		return cell_u64(c->member, row);
	cell_figure(c->member, PASTA_FIGURE_TOTAL, row, &part);
	return part;
}

bool pasta_group_is_share(const struct pasta_group_column *c)
{
	return c->figure == PASTA_FIGURE_SHARE || c->member->type == PASTA_MEMBER_SHARE;
}

bool pasta_group_float(const struct pasta_group *group, const struct pasta_group_column *c,
		       const void *row, uint64_t total, double *value)
{
	uint64_t ignored, whole;

	if (c->member->type == PASTA_MEMBER_PERCENT) {
		whole = *(const uint64_t *)((const char *)row + c->member->of);
		*value = whole ? 100.0 * (double)cell_u64(c->member, row) / (double)whole : 0.0;
		return whole || !(c->member->flags & PASTA_MEMBER_BLANK_ZERO);
	}
	if (!pasta_group_is_share(c)) {
		*value = c->member->ratio(row, group->state);
		return !isnan(*value);
	}
	*value = total ? 100.0 * (double)pasta_group_part(c, row) / (double)total : 0.0;
	return c->member->type == PASTA_MEMBER_SHARE ||
	       cell_figure(c->member, PASTA_FIGURE_TOTAL, row, &ignored);
}

bool pasta_group_int(const struct pasta_group *group, const struct pasta_group_column *c,
		     const void *row, int64_t *value)
{
	const struct pasta_member *m = c->member;
	uint64_t number = 0;
	bool has = true;

	if (m->type == PASTA_MEMBER_CALL) {
		*value = m->call(row, group->state);
		return *value != PASTA_NO_VALUE;
	}
	if (m->type == PASTA_MEMBER_I64) {
		*value = *(const int64_t *)pasta_group_member(m, row);
		return *value != PASTA_NO_VALUE;
	}
	if (c->figure != PASTA_FIGURE_ITSELF)
		has = cell_figure(m, c->figure, row, &number);
	else if (m->type == PASTA_MEMBER_U32)
		number = pasta_group_u32(m, row);
	else
		number = cell_u64(m, row);
	*value = number > INT64_MAX ? INT64_MAX : (int64_t)number;
	return has && (number || !(m->flags & PASTA_MEMBER_BLANK_ZERO));
}

/* Returns a member's text. A computed text that fills the buffer may be truncated, even within a
 * UTF-8 character, so it is computed again in a larger buffer. */
char *pasta_group_text(const struct pasta_group *group, const struct pasta_member *m,
		       const void *row, bool *empty)
{
	char first[TEXT], *buffer = first, *copy;
	const char *text = cell_text(group, m, row, first);
	size_t size = TEXT;

	while (m->type == PASTA_MEMBER_TEXT && text == buffer && size < TEXT_MAX &&
	       strlen(text) + CHARACTER_MAX >= size) {
		free(buffer == first ? NULL : buffer);
		buffer = malloc(size *= TEXT_STEP);
		if (!buffer)
			return NULL;
		text = m->text(row, group->state, buffer, size);
	}
	*empty = !text;
	copy = strdup(text ? text : "");
	free(buffer == first ? NULL : buffer);
	return copy;
}
