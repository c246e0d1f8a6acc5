/* suggest.h - finds the word that the user probably meant instead of an unknown one. Any thread may
 * call these functions. */
#ifndef PASTA_PROCESS_SUGGEST_H
#define PASTA_PROCESS_SUGGEST_H

#include <stddef.h>

/* The best suggestion so far. Set `word` to the unknown word, and the other members to 0. */
struct pasta_suggest {
	const char *word;
	const char *best; /* one of the candidates; NULL if none is similar */
	size_t distance;
};

/* Consider a candidate, which may be NULL. It is similar if few letters are wrong, missing, added
 * or swapped, or if the word is the beginning of the candidate. Of equally similar candidates, the
 * first one is suggested. */
void pasta_suggest_add(struct pasta_suggest *s, const char *candidate);
/* Writes "; did you mean 'run'?" into text; "" if there is no suggestion. Returns `text`. */
const char *pasta_suggest_text(const struct pasta_suggest *s, char *text, size_t size);
#define PASTA_SUGGEST_SIZE 100 /* size of a buffer for pasta_suggest_text */

#endif
