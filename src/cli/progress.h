/* progress.h - shows a progress line on stderr if stderr is a terminal. */
#ifndef PASTA_CLI_PROGRESS_H
#define PASTA_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct pasta_progress {
	bool terminal, shown;
	int64_t start, last; /* ms */
};

struct pasta_progress pasta_progress_begin(void);
/* Print a line such as "reading 42%". The first line appears after half a second, and later lines
 * at most ten times a second. */
void pasta_progress_show(struct pasta_progress *p, const char *what, uint64_t done, uint64_t total);
/* Erase the progress line. Call this before printing a message, and at the end. */
void pasta_progress_erase(struct pasta_progress *p);

#endif
