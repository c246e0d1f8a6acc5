/* fit.c - cuts the texts of a column so that different texts remain different. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/io/utf8.h"
#include "sink/cell.h"

/* A text of the column. `index` is its position in the column. */
struct fit {
	const char *full;
	char *cut;
	size_t index;
};

static int fit_by_cut(const void *a, const void *b)
{
	const struct fit *x = a, *y = b;
	int order = strcmp(x->cut, y->cut);

	order = order ? order : strcmp(x->full, y->full);
	return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* Returns the end of the texts that are cut like the text at `first`. Sets *distinct to the number
 * of different texts among them. */
static size_t fit_alike(const struct fit *fits, size_t first, size_t count, size_t *distinct)
{
	size_t i = first + 1;

	*distinct = 1;
	for (; i < count && !strcmp(fits[i].cut, fits[first].cut); i++)
		*distinct += strcmp(fits[i - 1].full, fits[i].full) != 0;
	return i;
}

/* Returns the length in bytes of the longest common beginning of two texts. */
static size_t fit_common(const char *a, const char *b)
{
	const char *end = a + strlen(a), *p = a, *next = a;

	while (next < end) {
		pasta_utf8_next(&next, end);
		if (strncmp(p, b + (p - a), (size_t)(next - p)) != 0)
			break;
		p = next;
	}
	return (size_t)(p - a);
}

/* Cut a text that differs from others after `same` bytes: show its beginning, and the part that
 * begins with the difference. */
static char *fit_window(const char *text, size_t same, size_t width)
{
	size_t head = width / 4, mark = pasta_cell_mark(), from, full = pasta_cell_width(text);
	char *before = strndup(text, same), *begin = NULL, *rest = NULL, *cut = NULL;

	if (!before)
		return NULL;
	from = pasta_cell_width(before);
	free(before);
	if (from + mark < width)
		return pasta_cell_cut(text, width, width);
	if (width <= head + 2 * mark || full - from <= width - mark - head)
		return pasta_cell_cut(text, width, head);
	begin = pasta_cell_cut(text, head + mark, head);
	rest = pasta_cell_cut(text + same, width - head - mark, width);
	if (begin && rest && asprintf(&cut, "%s%s", begin, rest) < 0)
		cut = NULL;
	free(begin);
	free(rest);
	return cut;
}

static int fit_replace(struct fit *f, char *cut)
{
	free(f->cut);
	f->cut = cut;
	return cut ? 0 : -ENOMEM;
}

/* Cut texts that are alike after the first cut where they do not differ. */
static int fit_recut(struct fit *fits, size_t count, size_t width)
{
	size_t i, end, distinct, same;
	int error = 0;

	for (i = 0; i < count && !error; i = end) {
		end = fit_alike(fits, i, count, &distinct);
		same = distinct > 1 ? fit_common(fits[i].full, fits[end - 1].full) : 0;
		for (size_t k = i; distinct > 1 && k < end && !error; k++)
			error = fit_replace(&fits[k], fit_window(fits[k].full, same, width));
	}
	return error;
}

/* Number texts that are still alike. No number occurs twice, because shortening the texts to make
 * room for the numbers may make others alike. */
static int fit_number(struct fit *fits, size_t count, size_t width)
{
	size_t i, k, end, distinct, number = 1;
	int error = 0;

	for (i = 0; i < count && !error; i = end) {
		end = fit_alike(fits, i, count, &distinct);
		for (k = i + 1; distinct > 1 && k < end && !error; k++) {
			char text[32], *cut, *all = NULL;

			number += strcmp(fits[k - 1].full, fits[k].full) != 0;
			if (!strcmp(fits[i].full, fits[k].full) ||
			    (size_t)snprintf(text, sizeof(text), "~%zu", number) >= width)
				continue;
			cut = pasta_cell_cut(fits[k].full, width - strlen(text), width / 2);
			if (cut && asprintf(&all, "%s%s", cut, text) < 0)
				all = NULL;
			free(cut);
			error = fit_replace(&fits[k], all);
		}
	}
	return error;
}

int pasta_cell_fit(char **texts, size_t count, size_t step, size_t width)
{
	size_t i, n = 0, head = pasta_cell_cut_head(texts, count, step, width);
	struct fit *fits = calloc(count + 1, sizeof(*fits));
	int error = fits ? 0 : -ENOMEM;

	for (i = 0; i < count && !error; i++) {
		if (!texts[i * step])
			continue;
		fits[n] = (struct fit){.full = texts[i * step], .index = i};
		error = fit_replace(&fits[n], pasta_cell_cut(fits[n].full, width, head));
		n++;
	}
	if (!error) {
		qsort(fits, n, sizeof(*fits), fit_by_cut);
		error = fit_recut(fits, n, width);
	}
	if (!error) {
		qsort(fits, n, sizeof(*fits), fit_by_cut);
		error = fit_number(fits, n, width);
	}
	for (i = 0; fits && i < n; i++) {
		char **text = &texts[fits[i].index * step];

		if (!error) {
			free(*text);
			*text = fits[i].cut;
		} else {
			free(fits[i].cut);
		}
	}
	free(fits);
	return error;
}
