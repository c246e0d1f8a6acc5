/* progress.h - how far long work is: a line on a terminal, and nothing elsewhere. */
#ifndef PASTA_CLI_PROGRESS_H
#define PASTA_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct pasta_progress {
	bool terminal, shown;
	int64_t start, last; /* ms */
};

struct pasta_progress pasta_progress_begin(void);
/* "reading  42%": not before half a second has passed, and some times a second from then on. */
void pasta_progress_show(struct pasta_progress *p, const char *what, uint64_t done, uint64_t total);
/* Take the line away: something else is to be said, or it is done. */
void pasta_progress_erase(struct pasta_progress *p);

#endif
