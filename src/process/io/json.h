/*
 * json.h - a JSON document, written to a file as it is made.
 *
 * Always valid: text that is not UTF-8 is mended, numbers that JSON has not are null. The first
 * error is kept and told at the end. One thread at a time.
 */
#ifndef PASTA_PROCESS_JSON_H
#define PASTA_PROCESS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pasta_json;

/* pretty: indented, for people. NULL when out of memory. */
struct pasta_json *pasta_json_new(FILE *file, bool pretty);
/* End the document with a new line, and free it. 0, -ENOMEM, or -EIO: the file has an error, or
 * what was written is no whole document. Accepts NULL (-ENOMEM). */
int pasta_json_free(struct pasta_json *j);

void pasta_json_map(struct pasta_json *j);
void pasta_json_map_end(struct pasta_json *j);
void pasta_json_list(struct pasta_json *j);
void pasta_json_list_end(struct pasta_json *j);
void pasta_json_key(struct pasta_json *j, const char *key);

void pasta_json_str(struct pasta_json *j, const char *text); /* NULL: null */
void pasta_json_int(struct pasta_json *j, int64_t value);
void pasta_json_uint(struct pasta_json *j, uint64_t value);
/* ns in µs, exact: 1500 is 1.500. */
void pasta_json_micros(struct pasta_json *j, int64_t ns);
void pasta_json_float(struct pasta_json *j, double value);
void pasta_json_bool(struct pasta_json *j, bool value);
void pasta_json_null(struct pasta_json *j);

/* The shortest text that reads back as the same number; at least 32 bytes. Not for NaN, inf. */
void pasta_json_float_text(char *text, size_t size, double value);

#endif
