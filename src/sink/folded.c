/* folded.c - a flame chart as folded stacks, "a;b;c VALUE" a line. docs/report.md describes it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "process/run/tool.h"
#include "process/io/utf8.h"
#include "sink/sink.h"

/* A code point that may be in a frame. */
static uint32_t harmless(uint32_t c)
{
	if (c == ';')
		return ':';
	return c < 0x20 || (c >= 0x7f && c < 0xa0) ? ' ' : c;
}

static char *put_frame(char *out, const char *frame)
{
	const char *p = *frame ? frame : PASTA_UNNAMED, *end = p + strlen(p);

	while (p < end)
		out += pasta_utf8_put(out, harmless(pasta_utf8_next(&p, end)));
	return out;
}

char *pasta_folded_text(const union pasta_item *stack)
{
	size_t i, size = 1;
	char *text, *p;

	/* A byte that is no UTF-8 becomes three; the ; counts as one of an empty name's. */
	for (i = 0; i < stack->stack.count; i++)
		size += 3 * strlen(stack->stack.frames[i]) + sizeof(PASTA_UNNAMED);
	text = p = malloc(size);
	for (i = 0; text && i < stack->stack.count; i++) {
		if (i)
			*p++ = ';';
		p = put_frame(p, stack->stack.frames[i]);
	}
	if (text)
		*p = '\0';
	return text;
}

/* Append "a" or ", a" to a list; what does not fit is left out. */
static void list_add(char *list, size_t size, const char *tool, const char *name)
{
	size_t at = strlen(list);

	snprintf(list + at, size - at, "%s%s%s%s", at ? ", " : "", tool, name ? "." : "",
		 name ? name : "");
}

static int none(struct pasta_error *err)
{
	const struct pasta_tool *tool;
	char tools[300] = "";
	size_t i;

	for (i = 0; (tool = pasta_tool_at(i)); i++)
		if (tool->charts & PASTA_CHART_MASK(FLAME))
			list_add(tools, sizeof(tools), tool->name, NULL);
	if (!*tools)
		return pasta_fail(err, -ENOENT,
				  "there is no flame chart in this report, and no tool that makes "
				  "one: use another --format");
	return pasta_fail(err, -ENOENT,
			  "there is no flame chart in this report: with -t choose a tool that "
			  "makes one: %s",
			  tools);
}

/* The one chart to write; NULL with *err. */
static const struct pasta_chart *choose(const struct pasta_result *r, const char *wanted,
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
			list_add(names, sizeof(names), r->outs[i]->name, c->name);
			all++;
			if (!pasta_sink_select(r->outs[i], c->name, wanted))
				continue;
			found = c;
			count++;
		}
	if (count == 1)
		return found;
	if (!all)
		none(err);
	else if (!count)
		pasta_fail(err, -ENOENT, "there is no flame chart '%s': there is %s", wanted,
			   names);
	else
		pasta_fail(err, -EINVAL,
			   "there are %zu flame charts: with --table choose one of %s", count,
			   names);
	return NULL;
}

static int folded(FILE *file, const struct pasta_result *result, const struct pasta_sink_opts *opts,
		  struct pasta_error *err)
{
	struct pasta_error own = {0};
	const struct pasta_chart *c = choose(result, opts->table, &own);
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
	.summary = "a flame chart's stacks, for flame graphs",
	.one = true,
	.write = folded,
};
