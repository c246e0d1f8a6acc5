/* folded.c - writes a flame chart as folded stacks: lines "a;b;c VALUE". docs/report.md describes
 * the format. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "process/run/tool.h"
#include "process/io/utf8.h"
#include "sink/sink.h"

/* Returns the character, or its replacement if names of frames must not contain it. */
static uint32_t folded_char(uint32_t c)
{
	if (c == ';')
		return ':';
	return c < 0x20 || (c >= 0x7f && c < 0xa0) ? ' ' : c;
}

static char *folded_put_frame(char *out, const char *frame)
{
	const char *p = *frame ? frame : PASTA_UNNAMED, *end = p + strlen(p);

	while (p < end)
		out += pasta_utf8_put(out, folded_char(pasta_utf8_next(&p, end)));
	return out;
}

char *pasta_folded_text(const union pasta_item *stack)
{
	size_t i, size = 1;
	char *text, *p;

	/* The buffer is large enough: a byte that is not valid UTF-8 becomes three bytes, and
	 * sizeof counts one more byte, for the semicolon. */
	for (i = 0; i < stack->stack.count; i++)
		size += 3 * strlen(stack->stack.frames[i]) + sizeof(PASTA_UNNAMED);
	text = p = malloc(size);
	for (i = 0; text && i < stack->stack.count; i++) {
		if (i)
			*p++ = ';';
		p = folded_put_frame(p, stack->stack.frames[i]);
	}
	if (text)
		*p = '\0';
	return text;
}

/* Append a comma and "TOOL" or "TOOL.NAME" to a list. Truncates a text that does not fit. */
static void folded_list_add(char *list, size_t size, const char *tool, const char *name)
{
	size_t at = strlen(list);

	snprintf(list + at, size - at, "%s%s%s%s", at ? ", " : "", tool, name ? "." : "",
		 name ? name : "");
}

static int folded_none(struct pasta_error *err)
{
	const struct pasta_tool *tool;
	char tools[300] = "";
	size_t i;

	for (i = 0; (tool = pasta_tool_at(i)); i++)
		if (tool->charts & PASTA_CHART_MASK(FLAME))
			folded_list_add(tools, sizeof(tools), tool->name, NULL);
	if (!*tools)
		return pasta_fail(err, -ENOENT,
				  "the report has no flame chart, and no tool makes one: use "
				  "another --format");
	return pasta_fail(err, -ENOENT,
			  "the report has no flame chart: choose a tool that makes one with -t "
			  "(%s)",
			  tools);
}

/* Returns the chart to write. If there is no flame chart, or more than one, returns NULL with
 * *err. */
static const struct pasta_chart *folded_select(const struct pasta_result *r, const char *selected,
					       struct pasta_error *err)
{
	const struct pasta_chart *found = NULL;
	size_t i, k, count = 0, all = 0;
	char names[300] = "";

	for (i = 0; i < r->count; i++)
		for (k = 0; k < r->outs[i]->chart_count; k++) {
			const struct pasta_chart *c = r->outs[i]->charts[k];

			if (c->type != PASTA_CHART_FLAME)
				continue;
			folded_list_add(names, sizeof(names), r->outs[i]->name, c->name);
			all++;
			if (!pasta_sink_select(r->outs[i], c->name, selected))
				continue;
			found = c;
			count++;
		}
	if (count == 1)
		return found;
	if (!all)
		folded_none(err);
	else if (!count)
		pasta_fail(err, -ENOENT, "the report has no flame chart '%s', only %s", selected,
			   names);
	else
		pasta_fail(err, -EINVAL,
			   "the report has %zu flame charts: choose one with --table (%s)", count,
			   names);
	return NULL;
}

static int folded_write(FILE *file, const struct pasta_result *result,
			const struct pasta_sink_opts *opts, struct pasta_error *err)
{
	struct pasta_error own = {0};
	const struct pasta_chart *c = folded_select(result, opts->table, &own);
	size_t i;

	if (!c)
		return pasta_fail(err, own.code, "%s", own.text);
	for (i = 0; i < c->used; i++) {
		char *stack = pasta_folded_text(&c->items[i]);

		if (!stack)
			return pasta_fail(err, -ENOMEM, "cannot write the report: out of memory");
		fprintf(file, "%s %" PRId64 "\n", stack, c->items[i].stack.value);
		free(stack);
	}
	return pasta_sink_flush(file, err);
}

const struct pasta_sink pasta_sink_folded = {
	.name = "folded",
	.summary = "folded stacks, as input for flame graph tools",
	.one = true,
	.write = folded_write,
};
