/* openrun.h - runs opened, and an interrupt while they are read: what report and export share. */
#ifndef PASTA_CLI_OPENRUN_H
#define PASTA_CLI_OPENRUN_H

#include <stdbool.h>

#include "process/read/input.h"

/* From now on an interrupt is a wish to stop; the second one ends us. */
void pasta_openrun_catch_interrupt(void);
/* Whether there was one. ctx is not used. */
bool pasta_openrun_stop(void *ctx);

/* While there is something that must not be left behind, a signal that would end us (SIGTERM,
 * SIGHUP) is such a wish as well; once it is gone, let it end us. */
void pasta_openrun_hold_end(void);
void pasta_openrun_let_end(void);

/* All arguments, ended by NULL, into one stream; what is wrong is said. Returns how many failed. */
int pasta_openrun_open(struct pasta_input *in, char **paths);
/* Say what a person should know beside the output, which is called what ("report"). Returns whether
 * something was unreadable. */
bool pasta_openrun_remarks(const struct pasta_input *in, const struct pasta_loss_summary *loss,
			   const char *what);

#endif
