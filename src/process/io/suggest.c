/* suggest.c - finds the word that the user probably meant instead of an unknown one. */
#include "process/io/suggest.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 40 }; /* longer words have no suggestions */

static size_t suggest_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns how many letters must be inserted, removed, replaced or swapped with their neighbor to
 * turn one word into the other. */
static size_t suggest_distance(const char *a, const char *b)
{
	size_t rows[3][LENGTH + 1], n = strlen(a), m = strlen(b), i, k;
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (k = 0; k <= m; k++)
		last[k] = k;
	for (i = 1; i <= n; i++) {
		size_t *free_row = before;

		row[0] = i;
		for (k = 1; k <= m; k++) {
			row[k] = suggest_least(last[k], row[k - 1]) + 1;
			row[k] = suggest_least(row[k], last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = suggest_least(row[k], before[k - 2] + 1);
		}
		before = last;
		last = row;
		row = free_row;
	}
	return last[m];
}

void pasta_suggest_add(struct pasta_suggest *s, const char *candidate)
{
	size_t size = strlen(s->word), distance;

	if (!candidate || size < 2 || size > LENGTH || strlen(candidate) > LENGTH)
		return;
	distance = suggest_distance(s->word, candidate);
	if (distance > 1 && !strncmp(s->word, candidate, size))
		distance = 1;
	if (distance > (size + 2) / 3 || (s->best && distance >= s->distance))
		return;
	s->best = candidate;
	s->distance = distance;
}

const char *pasta_suggest_text(const struct pasta_suggest *s, char *text, size_t size)
{
	*text = '\0';
	if (s->best)
		snprintf(text, size, "; did you mean '%s'?", s->best);
	return text;
}
