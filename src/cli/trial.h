/* trial.h - run: the chosen tools, opened before the program starts, to hear what they refuse. */
#ifndef PASTA_CLI_TRIAL_H
#define PASTA_CLI_TRIAL_H

#include "process/tool.h"

/* 0, or the error of the first tool that cannot be opened, with *err. They are opened and closed in
 * a process of their own: one that crashes there, or does not return for seconds, refuses nothing.
 */
int pasta_cli_trial(const struct pasta_choice *choice, struct pasta_err *err);

#endif
