/* parse.h - parses values of command-line options and tool options. Any thread. */
#ifndef PASTA_PROCESS_PARSE_H
#define PASTA_PROCESS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* Parse "20"; "64M", "1GiB", "4096"; "10ms", "1.5s", "0" in ns; "yes", "no". Return 0, -EINVAL, or
 * -ERANGE for a value that does not fit. On error *value is unchanged. */
int pasta_parse_number(const char *text, uint64_t *value);
int pasta_parse_size(const char *text, uint64_t *bytes);
int pasta_parse_time(const char *text, uint64_t *ns);
int pasta_parse_yes_no(const char *text, bool *yes);

/* Parses a value of an option's type. Text has the value 0, yes 1, no 0. -EINVAL for an unknown
 * type. */
int pasta_parse_option(enum pasta_option_type type, const char *text, uint64_t *value);
/* The name of a type ("number", "yes|no") and a description for messages ("a number like 20"). NULL
 * for an unknown type. */
const char *pasta_option_type_name(enum pasta_option_type type);
const char *pasta_option_type_needs(enum pasta_option_type type);

#endif
