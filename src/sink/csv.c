/* csv.c - tables as comma-separated values (RFC 4180). docs/report.md describes it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/json.h"
#include "process/utf8.h"
#include "sink/sink.h"

#define EOL "\r\n"

static void text(FILE *f, const char *s)
{
	const char *p = s, *end = s + strlen(s);
	bool quoted = strpbrk(s, ",\"\r\n") != NULL;
	char buf[PASTA_UTF8_MAX];

	if (quoted)
		fputc('"', f);
	while (p < end) {
		uint32_t c = pasta_utf8_next(&p, end);
		size_t size = pasta_utf8_put(buf, c);

		if (c == '"')
			fputc('"', f);
		fwrite(buf, 1, size, f);
	}
	if (quoted)
		fputc('"', f);
}

static void number(FILE *f, double value)
{
	char buf[40];

	if (!isfinite(value))
		return; /* an empty field: there is no value */
	pasta_json_float_text(buf, sizeof(buf), value);
	fputs(buf, f);
}

static void cell(FILE *f, enum pasta_column_type type, const union pasta_value *value)
{
	if (type == PASTA_STRING)
		text(f, value->s);
	else if (type == PASTA_INT)
		fprintf(f, "%" PRId64, value->i);
	else
		number(f, value->f);
}

static void table(FILE *f, const struct pasta_table *t)
{
	size_t row, i;

	for (i = 0; i < t->count; i++) {
		fputs(i ? "," : "", f);
		text(f, t->columns[i].name);
	}
	fputs(EOL, f);
	for (row = 0; row < pasta_table_rows(t); row++) {
		for (i = 0; i < t->count; i++) {
			fputs(i ? "," : "", f);
			cell(f, t->columns[i].type, pasta_table_cell(t, row, i));
		}
		fputs(EOL, f);
	}
}

static bool wanted(const struct pasta_out *out, const struct pasta_table *t, const char *name)
{
	size_t size = strlen(out->name);

	if (!name || !strcmp(name, t->name))
		return true;
	return !strncmp(name, out->name, size) && name[size] == '.' &&
	       !strcmp(name + size + 1, t->name);
}

/* The tables to write: their number, and the first. */
static size_t select_tables(const struct pasta_result *r, const char *name,
			    const struct pasta_table **first)
{
	size_t i, k, n = 0;

	for (i = 0; i < r->count; i++)
		for (k = 0; k < r->outs[i]->table_count; k++)
			if (wanted(r->outs[i], r->outs[i]->tables[k], name) && !n++)
				*first = r->outs[i]->tables[k];
	return n;
}

static void all_tables(FILE *f, const struct pasta_result *r)
{
	size_t i, k;

	for (i = 0; i < r->count; i++)
		for (k = 0; k < r->outs[i]->table_count; k++) {
			fprintf(f, "# table %s" EOL, r->outs[i]->tables[k]->name);
			table(f, r->outs[i]->tables[k]);
			fputs(EOL, f);
		}
	fprintf(f, "# table loss" EOL "expected,captured,dropped" EOL);
	fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 EOL, r->loss.expected, r->loss.captured,
		r->loss.dropped);
}

static int csv(FILE *file, const struct pasta_result *result, const struct pasta_sink_opts *opts,
	       struct pasta_err *err)
{
	const struct pasta_table *first = NULL;
	size_t n = select_tables(result, opts->table, &first);

	if (opts->table && !n)
		return pasta_fail(err, -ENOENT,
				  "there is no table '%s': --format text shows what there is",
				  opts->table);
	if (opts->table && n > 1)
		return pasta_fail(err, -EINVAL, "there are %zu tables '%s': say TOOL.%s", n,
				  opts->table, opts->table);
	if (n == 1)
		table(file, first);
	else
		all_tables(file, result);
	return pasta_sink_flush(file, err);
}

const struct pasta_sink pasta_sink_csv = {
	.name = "csv",
	.summary = "comma-separated values, a table after the other",
	.write = csv,
};
