/* parse.h - values that people write, for options of verbs and of tools. Any thread. */
#ifndef PASTA_PROCESS_PARSE_H
#define PASTA_PROCESS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* "20"; "64M", "1GiB", "4096"; "10ms", "1.5s", "0", in ns; "yes", "no". -EINVAL, or -ERANGE for
 * what does not fit: then *value is as before. */
int pasta_parse_number(const char *text, uint64_t *value);
int pasta_parse_size(const char *text, uint64_t *bytes);
int pasta_parse_time(const char *text, uint64_t *ns);
int pasta_parse_yes_no(const char *text, bool *yes);

/* The same for an option's type; text is 0, yes 1, no 0. -EINVAL also for what is no type. */
int pasta_parse_option(enum pasta_option_type type, const char *text, uint64_t *value);
/* "number", "yes|no", ...; and "a number like 20", "yes or no", ... NULL for what is no type. */
const char *pasta_option_type_name(enum pasta_option_type type);
const char *pasta_option_type_needs(enum pasta_option_type type);

#endif
