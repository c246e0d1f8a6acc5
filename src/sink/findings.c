/* findings.c - writes findings as text: a repeated finding once, with a count. */
#include "sink/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/cell.h"
#include "sink/plot.h"

#define RED "\033[31m"
#define YELLOW "\033[33m"

enum { KINDS = 3 }; /* number of findings of one kind that are written */

/* A finding of the report. `order` is its position in the report. */
struct entry {
	const struct pasta_finding *finding;
	const struct pasta_out *out;
	const uint64_t *disjoint;
	size_t order;
	size_t tools; /* number of tools that report the finding */
	size_t times; /* how many times the tool reports it, with other numbers */
	size_t more;  /* number of findings of the same kind that are not written */
	bool hidden;  /* an earlier entry counts this one */
};

struct pasta_findings {
	struct entry *entries; /* in the order of the report */
	size_t count;
};

/* -- Repeated findings -- */

static int entry_compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Advance over a character, or over a number. Returns the character, or '0' for a number. */
static unsigned char entry_character(const char **p)
{
	unsigned char c = (unsigned char)**p;

	if (!c)
		return c;
	if (c < '0' || c > '9') {
		++*p;
		return c;
	}
	*p += strspn(*p, "0123456789.,");
	return '0';
}

/* Compare texts as if all numbers were equal. */
static int entry_compare_kind(const char *a, const char *b)
{
	unsigned char x, y;

	a = a ? a : "";
	b = b ? b : "";
	do {
		x = entry_character(&a);
		y = entry_character(&b);
	} while (x && x == y);
	return x < y ? -1 : x > y;
}

static int entry_compare_order(const struct entry *a, const struct entry *b)
{
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Returns 0 if two findings have the same text and the same evidence, and no saving. */
static int entry_compare_same(const struct entry *a, const struct entry *b)
{
	const struct pasta_finding *x = a->finding, *y = b->finding;
	int order = x->severity < y->severity ? -1 : x->severity > y->severity;

	order = order ? order : entry_compare_text(x->what, y->what);
	order = order ? order : entry_compare_text(x->where, y->where);
	order = order ? order : entry_compare_text(x->evidence, y->evidence);
	order = order ? order : entry_compare_text(x->action, y->action);
	order = order ? order : entry_compare_text(x->ref.table, y->ref.table);
	order = order ? order : entry_compare_text(x->ref.chart, y->ref.chart);
	return order || (!x->saving && !y->saving) ? order : entry_compare_order(a, b);
}

/* Returns 0 if two findings of a tool differ only in numbers, in where they are, and in their
 * evidence. */
static int entry_compare_alike(const struct entry *a, const struct entry *b)
{
	const struct pasta_finding *x = a->finding, *y = b->finding;
	int order = x->severity < y->severity ? -1 : x->severity > y->severity;

	order = order ? order : strcmp(a->out->name, b->out->name);
	order = order ? order : entry_compare_kind(x->what, y->what);
	order = order ? order : entry_compare_text(x->action, y->action);
	order = order ? order : entry_compare_text(x->ref.table, y->ref.table);
	order = order ? order : entry_compare_text(x->ref.chart, y->ref.chart);
	return order || (!x->saving && !y->saving) ? order : entry_compare_order(a, b);
}

static int entry_by_same(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	int order = entry_compare_same(x, y);

	return order ? order : entry_compare_order(x, y);
}

static int entry_by_alike(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	int order = entry_compare_alike(x, y);

	order = order ? order : entry_compare_text(x->finding->where, y->finding->where);
	return order ? order : entry_compare_order(x, y);
}

static int entry_by_alike_order(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	int order = entry_compare_alike(x, y);

	return order ? order : entry_compare_order(x, y);
}

/* Hide findings that repeat another tool's finding. */
static void findings_fold_same(struct entry **sorted, size_t count)
{
	struct entry *first = NULL;

	qsort(sorted, count, sizeof(*sorted), entry_by_same);
	for (size_t i = 0; i < count; i++) {
		if (!first || entry_compare_same(first, sorted[i])) {
			first = sorted[i];
			continue;
		}
		sorted[i]->hidden = true;
		if (sorted[i]->out == sorted[i - 1]->out)
			first->times += sorted[i]->out == first->out;
		else
			first->tools++;
	}
}

/* Remove the hidden entries from the list. Returns the number of the other entries. */
static size_t findings_visible(struct entry **sorted, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!sorted[i]->hidden)
			sorted[n++] = sorted[i];
	return n;
}

/* Hide findings of a tool that are of the same kind and about the same thing as another one. */
static void findings_fold_places(struct entry **sorted, size_t count)
{
	struct entry *first = NULL;

	qsort(sorted, count, sizeof(*sorted), entry_by_alike);
	for (size_t i = 0; i < count; i++) {
		if (!first || !sorted[i]->finding->where || entry_compare_alike(first, sorted[i]) ||
		    entry_compare_text(first->finding->where, sorted[i]->finding->where)) {
			first = sorted[i];
			continue;
		}
		sorted[i]->hidden = true;
		first->times += sorted[i]->times;
	}
}

/* Hide findings of a kind that a tool has reported several times. */
static void findings_fold_kinds(struct entry **sorted, size_t count)
{
	struct entry *first = NULL, *last = NULL;
	size_t n = 0;

	qsort(sorted, count, sizeof(*sorted), entry_by_alike_order);
	for (size_t i = 0; i < count; i++) {
		n = first && !entry_compare_alike(first, sorted[i]) ? n + 1 : 1;
		first = n == 1 ? sorted[i] : first;
		if (n <= KINDS) {
			last = sorted[i];
			continue;
		}
		sorted[i]->hidden = true;
		last->more += sorted[i]->times;
	}
}

struct pasta_findings *pasta_findings_new(const struct pasta_result *result,
					  const struct pasta_sink_opts *opts)
{
	struct pasta_findings *s = calloc(1, sizeof(*s));
	struct entry **sorted = NULL;
	size_t i, k, count = 0, n = 0;

	for (i = 0; i < result->count; i++)
		count += result->outs[i]->finding_count;
	if (s)
		s->entries = calloc(count + 1, sizeof(*s->entries));
	if (s && s->entries)
		sorted = calloc(count + 1, sizeof(struct entry *));
	if (!sorted) {
		pasta_findings_free(s);
		return NULL;
	}
	for (i = 0; i < result->count; i++)
		for (k = 0; k < result->outs[i]->finding_count; k++, n++) {
			const struct pasta_out *out = result->outs[i];

			s->entries[n] =
				(struct entry){.finding = &out->findings[k],
					       .out = out,
					       .disjoint = out->disjoint ? &out->disjoint[k] : NULL,
					       .order = n,
					       .tools = 1,
					       .times = 1};
			sorted[n] = &s->entries[n];
		}
	s->count = count;
	findings_fold_same(sorted, count);
	count = findings_visible(sorted, count);
	if (opts->rows) {
		findings_fold_places(sorted, count);
		count = findings_visible(sorted, count);
		findings_fold_kinds(sorted, count);
	}
	free(sorted);
	return s;
}

void pasta_findings_free(struct pasta_findings *s)
{
	if (s)
		free(s->entries);
	free(s);
}

/* -- Writing -- */

static int finding_text(FILE *f, const char *before, const char *text)
{
	char *safe = text ? pasta_cell_safe(text) : NULL;

	if (text && !safe)
		return -ENOMEM;
	if (safe)
		fprintf(f, "%s%s", before, safe);
	free(safe);
	return 0;
}

static int finding_time(FILE *f, const char *before, uint64_t ns)
{
	static const struct pasta_column time = {.type = PASTA_COLUMN_FLOAT, .unit = "ns"};
	char *text = pasta_cell_text(&time, &(union pasta_value){.f = (double)ns});

	if (text)
		fprintf(f, "%s%s", before, text);
	free(text);
	return text ? 0 : -ENOMEM;
}

/* Print "; saves at most 3.000 ms; saving that no other finding claims: 1.000 ms". */
static int finding_saving(FILE *f, const struct pasta_finding *finding, const uint64_t *disjoint)
{
	if (!finding->saving)
		return 0;
	if (finding_time(f, "; saves at most ", finding->saving))
		return -ENOMEM;
	if (!disjoint || *disjoint >= finding->saving)
		return 0;
	return finding_time(f, "; saving that no other finding claims: ", *disjoint);
}

/* Print "; see table kernels, row 1". */
static int finding_ref(FILE *f, const struct pasta_ref *ref)
{
	if (finding_text(f, "; see table ", ref->table) ||
	    finding_text(f, "; see chart ", ref->chart))
		return -ENOMEM;
	if (ref->table && ref->row != PASTA_NO_ROW)
		fprintf(f, ", row %llu", (unsigned long long)ref->row + 1);
	return 0;
}

/* Returns whether the row of a table to which the finding refers shows what to do. */
static bool finding_is_in_table(const struct pasta_finding *finding, const struct pasta_out *out)
{
	const struct pasta_table *t = NULL;

	for (size_t i = 0; finding->ref.table && i < out->table_count; i++)
		if (!strcmp(out->tables[i]->name, finding->ref.table))
			t = out->tables[i];
	if (!t || !finding->action || finding->ref.row >= pasta_table_rows(t))
		return false;
	for (size_t i = 0; i < t->count; i++) {
		const union pasta_value *v = pasta_table_cell(t, finding->ref.row, i);

		if (v && t->columns[i].type == PASTA_COLUMN_STRING &&
		    !strcmp(v->s, finding->action))
			return true;
	}
	return false;
}

/* Print how often a finding was reported: " (3 times) (reported by 2 tools)". */
static void entry_put_counts(FILE *f, const struct entry *e)
{
	if (e->times > 1)
		fprintf(f, " (%zu times)", e->times);
	if (e->tools > 1)
		fprintf(f, " (reported by %zu tools)", e->tools);
}

/* Print "warning: what, at where: evidence; action". */
static int entry_put(FILE *f, const struct entry *e, const struct pasta_shortnames *names,
		     const struct pasta_sink_opts *opts)
{
	static const char *const colors[] = {"", YELLOW, RED};
	const struct pasta_finding *finding = e->finding;
	const char *color =
		finding->severity <= PASTA_SEVERITY_PROBLEM ? colors[finding->severity] : "";
	const char *where =
		finding->where ? pasta_shortnames_find(names, finding->where) : finding->where;

	pasta_plot_on(f, color, opts);
	fputs(pasta_severity_name(finding->severity), f);
	if (*color)
		pasta_plot_off(f, opts);
	if (finding_text(f, ": ", finding->what) || finding_text(f, ", at ", where) ||
	    finding_text(f, ": ", finding->evidence) || finding_text(f, "; ", finding->action) ||
	    finding_saving(f, finding, e->disjoint) || finding_ref(f, &finding->ref))
		return -ENOMEM;
	entry_put_counts(f, e);
	fputc('\n', f);
	if (e->more)
		fprintf(f, "%s %zu more findings of this kind (--rows 0 for all)\n",
			opts->ascii ? "..." : "…", e->more);
	return 0;
}

int pasta_findings_put(FILE *f, const struct pasta_findings *s, const struct pasta_out *out,
		       const struct pasta_shortnames *names, const struct pasta_sink_opts *opts)
{
	int error = 0;

	for (size_t i = 0; i < s->count && !error; i++)
		if (s->entries[i].out == out && !s->entries[i].hidden &&
		    !finding_is_in_table(s->entries[i].finding, out))
			error = entry_put(f, &s->entries[i], names, opts);
	return error;
}
