/*
 * json.h - writes a JSON document to a file value by value.
 *
 * The document is always valid: invalid UTF-8 is replaced, and NaN and infinity become null. The
 * first error is stored; pasta_json_free returns it. Only one thread at a time may call these
 * functions.
 */
#ifndef PASTA_PROCESS_JSON_H
#define PASTA_PROCESS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pasta_json;

/* Starts a document. If `pretty` is true, indents it. Returns NULL when out of memory. */
struct pasta_json *pasta_json_new(FILE *file, bool pretty);
/* Ends the document with a newline and frees it. Returns 0, -ENOMEM, or -EIO if writing failed or
 * the document is incomplete. j may be NULL; the result is then -ENOMEM. */
int pasta_json_free(struct pasta_json *j);

void pasta_json_map(struct pasta_json *j);
void pasta_json_map_end(struct pasta_json *j);
void pasta_json_list(struct pasta_json *j);
void pasta_json_list_end(struct pasta_json *j);
void pasta_json_key(struct pasta_json *j, const char *key);

void pasta_json_str(struct pasta_json *j, const char *text); /* NULL becomes null */
void pasta_json_int(struct pasta_json *j, int64_t value);
void pasta_json_uint(struct pasta_json *j, uint64_t value);
/* Writes a time in ns as microseconds with three decimals: 1500 becomes 1.500. */
void pasta_json_micros(struct pasta_json *j, int64_t ns);
void pasta_json_float(struct pasta_json *j, double value);
void pasta_json_bool(struct pasta_json *j, bool value);
void pasta_json_null(struct pasta_json *j);

/* Writes the shortest text that parses as the same number. `value` must be finite, and `size` at
 * least 32. */
void pasta_json_float_text(char *text, size_t size, double value);

#endif
