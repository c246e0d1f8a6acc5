/* openrun.h - opens runs and handles interrupts, for the commands report, export and import. */
#ifndef PASTA_CLI_OPENRUN_H
#define PASTA_CLI_OPENRUN_H

#include <stdbool.h>

#include "process/read/input.h"

/* From now on, handle SIGINT: the first SIGINT makes pasta_openrun_stop return true, and the second
 * kills accelprof. */
void pasta_openrun_catch_interrupt(void);
/* Returns whether a signal has requested accelprof to stop. ctx is not used. */
bool pasta_openrun_stop(void *ctx);

/* While temporary files exist, handle SIGTERM and SIGHUP like SIGINT. After the files have been
 * removed, call pasta_openrun_let_end, which kills accelprof if it has received one of these
 * signals. */
void pasta_openrun_hold_end(void);
void pasta_openrun_let_end(void);

/* Open all paths as one input, and print the errors. The list of paths ends with NULL. Returns the
 * number of paths that could not be opened. */
int pasta_openrun_open(struct pasta_input *in, char **paths);
/* Print warnings about the input: that processes are still running, that files are damaged, or that
 * events are missing. `what` names the output in these messages, such as "report". Returns whether
 * something could not be read. */
bool pasta_openrun_remarks(const struct pasta_input *in, const struct pasta_loss_summary *loss,
			   const char *what);

#endif
