/* filter.c - parses the filters of a report, and reports filters that match nothing. */
#include "process/join/filter.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/io/parse.h"
#include "process/join/filter_internal.h"

static const char *const names[PASTA_FILTER_TYPES] = {
	[PASTA_FILTER_KERNEL] = "kernel",	[PASTA_FILTER_EXCLUDE] = "exclude",
	[PASTA_FILTER_DEVICE] = "device",	[PASTA_FILTER_STREAM] = "stream",
	[PASTA_FILTER_RANK] = "rank",		[PASTA_FILTER_REGION] = "region",
	[PASTA_FILTER_ITERATION] = "iteration", [PASTA_FILTER_TIME] = "time",
};

/* -- Values that matched -- */

void pasta_filter_found_free(struct filter_found *found)
{
	size_t type, i;

	for (type = 0; found && type < PASTA_FILTER_TYPES; type++)
		for (i = 0; i < found->others[type].count; i++)
			free(found->others[type].texts[i]);
}

static int filter_compare_others(const char *a, const char *b)
{
	size_t x = strlen(a), y = strlen(b);
	bool numbers = strspn(a, "0123456789") == x && strspn(b, "0123456789") == y;

	return numbers && x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

/* Adds a value that no term matched. Stores only the first FILTER_OTHERS values in alphabetical or
 * numeric order, so that the result does not depend on the order of events. */
void pasta_filter_others_add(struct filter_others *o, const char *text)
{
	size_t at = 0;
	char *copy;
	int order = 1;

	while (at < o->count && (order = filter_compare_others(text, o->texts[at])) > 0)
		at++;
	o->more |= at == FILTER_OTHERS || (o->count == FILTER_OTHERS && order);
	if (at == FILTER_OTHERS || (at < o->count && !order))
		return;
	/* Copy one byte more than FILTER_OTHER_TEXT. If the copy has this extra byte, the message
	 * shows that the text is truncated. */
	copy = strndup(text, FILTER_OTHER_TEXT + 1);
	if (!copy)
		return;
	if (o->count == FILTER_OTHERS)
		free(o->texts[--o->count]);
	memmove(&o->texts[at + 1], &o->texts[at], (o->count - at) * sizeof(*o->texts));
	o->texts[at] = copy;
	o->count++;
}

void pasta_filter_found_add(struct filter_found *into, const struct filter_found *from)
{
	size_t type, i;

	into->looked |= from->looked;
	into->matched |= from->matched;
	for (type = 0; type < PASTA_FILTER_TYPES; type++)
		for (i = 0; i < from->others[type].count; i++)
			pasta_filter_others_add(&into->others[type], from->others[type].texts[i]);
	for (type = 0; type < PASTA_FILTER_TYPES; type++)
		into->others[type].more |= from->others[type].more;
}

struct pasta_filter *pasta_filter_new(void)
{
	struct pasta_filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->found = calloc(1, sizeof(*f->found));
	f->lock = malloc(sizeof(*f->lock));
	if (f->found && f->lock && !pthread_mutex_init(f->lock, NULL))
		return f;
	free(f->found);
	free(f->lock);
	free(f);
	return NULL;
}

static void filter_term_free(struct filter_term *t)
{
	if (t->is_regex)
		regfree(&t->regex);
	free(t->ranges);
	free(t->text);
}

void pasta_filter_free(struct pasta_filter *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->count; i++)
		filter_term_free(&f->terms[i]);
	pasta_filter_found_free(f->found);
	pthread_mutex_destroy(f->lock);
	free(f->found);
	free(f->lock);
	free(f->terms);
	free(f);
}

/* -- Parsing -- */

static bool filter_is_pattern(enum pasta_filter_type type)
{
	return type == PASTA_FILTER_KERNEL || type == PASTA_FILTER_EXCLUDE ||
	       type == PASTA_FILTER_REGION;
}

static int filter_compile(struct filter_term *t, struct pasta_error *err)
{
	char why[200];
	int error = regcomp(&t->regex, t->text, REG_EXTENDED | REG_NOSUB);

	if (error) {
		regerror(error, &t->regex, why, sizeof(why));
		return pasta_fail(err, -EINVAL, "--%s '%s' is not a regular expression: %s",
				  names[t->type], t->text, why);
	}
	t->is_regex = true;
	return 0;
}

/* Parses a number or a time that ends at a '-', a ',' or the end of the text. Returns a pointer to
 * the character after it, or NULL on error. */
static const char *filter_read_one(const char *text, bool time, uint64_t *value)
{
	size_t size = strcspn(text, "-,");
	char one[64];
	int error;

	if (size >= sizeof(one))
		return NULL;
	memcpy(one, text, size);
	one[size] = '\0';
	error = time ? pasta_parse_time(one, value) : pasta_parse_number(one, value);
	return error ? NULL : text + size;
}

/* Parses a range, such as "3", "3-7", "3-" or "-7". A range of times must contain a "-". */
static const char *filter_read_range(const char *p, bool time, struct filter_range *r)
{
	bool from = *p != '-';

	*r = (struct filter_range){0, UINT64_MAX};
	if (from)
		p = filter_read_one(p, time, &r->low);
	if (!p || (*p != '-' && time))
		return NULL;
	if (*p != '-') {
		r->high = r->low;
		return p;
	}
	p++;
	if (!*p || *p == ',')
		return from ? p : NULL;
	p = filter_read_one(p, time, &r->high);
	return p && r->low <= r->high ? p : NULL;
}

static int filter_read_ranges(struct filter_term *t, struct pasta_error *err)
{
	bool time = t->type == PASTA_FILTER_TIME;
	const char *p = t->text;
	struct filter_range *more;

	for (;; p++) {
		more = reallocarray(t->ranges, t->range_count + 1, sizeof(*more));
		if (!more)
			return pasta_fail(err, -ENOMEM, "out of memory");
		t->ranges = more;
		p = filter_read_range(p, time, &more[t->range_count++]);
		if (!p || (*p && *p != ','))
			break;
		if (!*p)
			return 0;
	}
	return pasta_fail(err, -EINVAL,
			  time ? "--%s '%s' is not a time span: use a form such as 1.5s-2s, "
				 "200ms- or -3s"
			       : "--%s '%s' is not a list of numbers: use a form such as 0, 0-3, "
				 "5- or 1,4-6",
			  names[t->type], t->text);
}

int pasta_filter_add(struct pasta_filter *f, enum pasta_filter_type type, const char *text,
		     struct pasta_error *err)
{
	struct filter_term *more = reallocarray(f->terms, f->count + 1, sizeof(*more)), *t;
	int error;

	if (!more)
		return pasta_fail(err, -ENOMEM, "out of memory");
	f->terms = more;
	t = &f->terms[f->count];
	*t = (struct filter_term){.type = type, .text = strdup(text)};
	if (!t->text)
		return pasta_fail(err, -ENOMEM, "out of memory");
	error = filter_is_pattern(type) ? filter_compile(t, err) : filter_read_ranges(t, err);
	if (error) {
		filter_term_free(t);
		return error;
	}
	f->count++;
	f->types |= 1u << type;
	return 0;
}

void pasta_filter_start(struct pasta_filter *f, uint64_t start)
{
	f->start = start;
}

const char *pasta_filter_term(const struct pasta_filter *f, size_t i, enum pasta_filter_type *type)
{
	if (!f || i >= f->count)
		return NULL;
	*type = f->terms[i].type;
	return f->terms[i].text;
}

uint64_t pasta_filter_started(const struct pasta_filter *f)
{
	return f ? f->start : 0;
}

/* -- Queries -- */

bool pasta_filter_any(const struct pasta_filter *f)
{
	return f && f->types;
}

bool pasta_filter_by_device(const struct pasta_filter *f)
{
	return f && (filter_has(f, PASTA_FILTER_DEVICE) || filter_has(f, PASTA_FILTER_STREAM));
}

uint64_t pasta_filter_needs(const struct pasta_filter *f)
{
	if (!f)
		return 0;
	/* The end of a region or an operator passes the filter if its start passed, so the reader
	 * must read both. */
	return (filter_has(f, PASTA_FILTER_REGION) || filter_has(f, PASTA_FILTER_ITERATION) ||
		filter_has(f, PASTA_FILTER_TIME))
		       ? PASTA_NEED_SCOPES | PASTA_NEED_OPS
		       : 0;
}

bool pasta_filter_rank(const struct pasta_filter *f, uint32_t rank)
{
	return !f || !filter_has(f, PASTA_FILTER_RANK) ||
	       (rank && filter_in_ranges(f, PASTA_FILTER_RANK, rank - 1));
}

int pasta_filter_patterns(const struct pasta_filter *f, enum pasta_filter_type type, char **lines)
{
	char *more;

	*lines = NULL;
	for (size_t i = 0; f && i < f->count; i++) {
		if (f->terms[i].type != type)
			continue;
		if (asprintf(&more, "%s%s%s", *lines ? *lines : "", *lines ? "\n" : "",
			     f->terms[i].text) < 0) {
			free(*lines);
			*lines = NULL;
			return -ENOMEM;
		}
		free(*lines);
		*lines = more;
	}
	return 0;
}

const char *pasta_filter_text(const struct pasta_filter *f, char *text, size_t size)
{
	size_t i, at = 0;

	text[0] = '\0';
	for (i = 0; f && i < f->count && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s--%s %s", i ? " " : "",
				       names[f->terms[i].type], f->terms[i].text);
	return text;
}

uint64_t pasta_filter_kinds(const struct pasta_filter *f)
{
	uint64_t kinds = 0;

	if (f && filter_has(f, PASTA_FILTER_KERNEL))
		kinds |= PASTA_MASK(KERNEL) | PASTA_MASK(LAUNCH);
	if (f && filter_has(f, PASTA_FILTER_DEVICE))
		kinds |= PASTA_FILTER_ON_DEVICE;
	return kinds;
}

/* Reports "--kernel 'a' or 'b' matches nothing: the run has 'c', 'd', ...". */
static int filter_report_missed(const struct pasta_filter *f, enum pasta_filter_type type,
				struct pasta_error *err)
{
	const struct filter_others *o = &f->found->others[type];
	char terms[120] = "", there[FILTER_OTHERS * (FILTER_OTHER_TEXT + 8)] = "";
	size_t i, at = 0;

	for (i = 0; i < f->count && at < sizeof(terms); i++)
		if (f->terms[i].type == type)
			at += (size_t)snprintf(terms + at, sizeof(terms) - at, "%s'%s'",
					       at ? " or " : "", f->terms[i].text);
	for (i = at = 0; i < o->count && at < sizeof(there); i++)
		at += (size_t)snprintf(there + at, sizeof(there) - at, "%s'%.*s%s'", i ? ", " : "",
				       FILTER_OTHER_TEXT, o->texts[i],
				       strlen(o->texts[i]) > FILTER_OTHER_TEXT ? "..." : "");
	if (!o->count)
		return pasta_fail(err, -ENOENT, "--%s %s matches nothing: the run has no %s",
				  names[type], terms, names[type]);
	return pasta_fail(err, -ENOENT, "--%s %s matches nothing: the run has %s%s", names[type],
			  terms, there, o->more ? ", ..." : "");
}

int pasta_filter_missed(const struct pasta_filter *f, struct pasta_error *err)
{
	uint32_t missing =
		f && f->found->looked ? f->types & PASTA_FILTER_CHECKED & ~f->found->matched : 0;

	return missing ? filter_report_missed(f, (enum pasta_filter_type)__builtin_ctz(missing),
					      err)
		       : 0;
}
