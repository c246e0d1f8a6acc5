/* openrun.h - opens runs and handles interrupts, for the verbs report, export and import. */
#ifndef PASTA_CLI_OPENRUN_H
#define PASTA_CLI_OPENRUN_H

#include <stdbool.h>

#include "process/read/input.h"

/* From now on the first SIGINT makes pasta_openrun_stop return true; the second one ends accelprof.
 */
void pasta_openrun_catch_interrupt(void);
/* Returns whether a signal asked accelprof to stop. ctx is not used. */
bool pasta_openrun_stop(void *ctx);

/* While temporary files exist, handle SIGTERM and SIGHUP as SIGINT. After the files have been
 * removed, let_end ends accelprof if one of these signals came. */
void pasta_openrun_hold_end(void);
void pasta_openrun_let_end(void);

/* Open all paths, a list that ends with NULL, as one input. Prints errors. Returns the number of
 * paths that failed. */
int pasta_openrun_open(struct pasta_input *in, char **paths);
/* Print warnings about the input: processes that still run, damage, missing events. what is the
 * output's name in these messages ("report"). Returns whether something could not be read. */
bool pasta_openrun_remarks(const struct pasta_input *in, const struct pasta_loss_summary *loss,
			   const char *what);

#endif
