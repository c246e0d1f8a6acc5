/* parse.h - parses values of command-line options and tool options. Any thread may call these
 * functions. */
#ifndef PASTA_PROCESS_PARSE_H
#define PASTA_PROCESS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* Parse a number ("20"), a size ("64M", "1GiB", "4096"), a time ("10ms", "1.5s", "0", as ns), and
 * "yes" or "no". Return 0, -EINVAL, or -ERANGE if the value does not fit. On error *value is
 * unchanged. */
int pasta_parse_number(const char *text, uint64_t *value);
int pasta_parse_size(const char *text, uint64_t *bytes);
int pasta_parse_time(const char *text, uint64_t *ns);
int pasta_parse_yes_no(const char *text, bool *yes);

/* Parses the value of an option that has this type. Sets *value to 0 for a text or "no", and to 1
 * for "yes". Returns -EINVAL for an unknown type. */
int pasta_parse_option(enum pasta_option_type type, const char *text, uint64_t *value);
/* Return the name of an option type ("number", "yes|no"), and a description for messages ("a number
 * like 20"). NULL for an unknown type. */
const char *pasta_option_type_name(enum pasta_option_type type);
const char *pasta_option_type_needs(enum pasta_option_type type);

#endif
