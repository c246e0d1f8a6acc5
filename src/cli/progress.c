/* progress.c - shows a progress line on stderr if stderr is a terminal. */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AFTER 500 /* ms */
#define EVERY 100 /* ms */

static int64_t progress_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The progress line needs escape sequences, which a dumb terminal lacks. */
static bool progress_has_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb") != 0);
}

struct pasta_progress pasta_progress_begin(void)
{
	return (struct pasta_progress){.terminal = progress_has_terminal(),
				       .start = progress_now()};
}

void pasta_progress_show(struct pasta_progress *p, const char *what, uint64_t done, uint64_t total)
{
	int64_t now;

	if (!p->terminal)
		return;
	now = progress_now();
	if (now - p->start < AFTER || now - p->last < EVERY)
		return;
	p->last = now;
	p->shown = true;
	dprintf(STDERR_FILENO, "\raccelprof: %s %3.0f%%\033[K", what,
		total ? 100.0 * (double)done / (double)total : 0);
}

void pasta_progress_erase(struct pasta_progress *p)
{
	if (p->shown)
		dprintf(STDERR_FILENO, "\r\033[K");
	p->shown = false;
}
