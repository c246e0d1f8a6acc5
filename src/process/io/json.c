/* json.c - writes a JSON document to a file value by value, with yajl. */
#include "process/io/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_gen.h>

#include "process/io/utf8.h"

struct pasta_json {
	yajl_gen gen;
	FILE *file;
	int error;
	int depth;
	bool pretty;
};

static void json_write(struct pasta_json *j, const char *text, size_t size)
{
	/* fwrite_unlocked is faster than fwrite, and safe, because only one thread writes to a
	 * document. */
	if (fwrite_unlocked(text, 1, size, j->file) != size && !j->error)
		j->error = -EIO;
}

/* Returns the length in bytes of the control character at p, if yajl does not escape it but
 * terminals interpret it: DEL, or U+0080 to U+009F (C2 80 to C2 9F in UTF-8). Returns 0 for any
 * other character. */
static size_t json_control_at(const char *p, const char *end)
{
	if (*p == 0x7f)
		return 1;
	return end - p > 1 && p[0] == '\xc2' && (unsigned char)p[1] < 0xa0 ? 2 : 0;
}

/* Escapes the control characters that yajl does not escape. They occur only in strings, and yajl
 * never splits a character between two calls of this function. */
static void json_print(void *ctx, const char *text, size_t size)
{
	const char *end = text + size, *p;
	struct pasta_json *j = ctx;
	char escape[8];
	size_t n;

	for (p = text; p < end; p++) {
		n = json_control_at(p, end);
		if (!n)
			continue;
		json_write(j, text, (size_t)(p - text));
		snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char)p[n - 1]);
		json_write(j, escape, 6);
		text = p + n;
		p = text - 1;
	}
	json_write(j, text, (size_t)(end - text));
}

static void json_check(struct pasta_json *j, yajl_gen_status status)
{
	if (status != yajl_gen_status_ok && status != yajl_gen_generation_complete && !j->error)
		j->error = -EIO;
}

struct pasta_json *pasta_json_new(FILE *file, bool pretty)
{
	struct pasta_json *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->file = file;
	j->pretty = pretty;
	j->gen = yajl_gen_alloc(NULL);
	if (!j->gen) {
		free(j);
		return NULL;
	}
	yajl_gen_config(j->gen, yajl_gen_print_callback, json_print, j);
	yajl_gen_config(j->gen, yajl_gen_beautify, (int)pretty);
	yajl_gen_config(j->gen, yajl_gen_indent_string, "  ");
	return j;
}

int pasta_json_free(struct pasta_json *j)
{
	int error;

	if (!j)
		return -ENOMEM;
	if (!j->pretty) /* yajl already ends a pretty document with a newline */
		json_print(j, "\n", 1);
	error = j->error;
	if (!error && (j->depth || ferror(j->file)))
		error = -EIO;
	yajl_gen_free(j->gen);
	free(j);
	return error;
}

void pasta_json_map(struct pasta_json *j)
{
	j->depth++;
	json_check(j, yajl_gen_map_open(j->gen));
}

void pasta_json_map_end(struct pasta_json *j)
{
	j->depth--;
	json_check(j, yajl_gen_map_close(j->gen));
}

void pasta_json_list(struct pasta_json *j)
{
	j->depth++;
	json_check(j, yajl_gen_array_open(j->gen));
}

void pasta_json_list_end(struct pasta_json *j)
{
	j->depth--;
	json_check(j, yajl_gen_array_close(j->gen));
}

void pasta_json_key(struct pasta_json *j, const char *key)
{
	pasta_json_str(j, key);
}

void pasta_json_str(struct pasta_json *j, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	char *clean = NULL;

	if (!text) {
		pasta_json_null(j);
		return;
	}
	if (!pasta_utf8_valid(text, size)) {
		clean = pasta_utf8_clean(text, size, &size);
		if (!clean && !j->error)
			j->error = -ENOMEM;
		text = clean ? clean : "";
		size = clean ? size : 0;
	}
	json_check(j, yajl_gen_string(j->gen, (const unsigned char *)text, size));
	free(clean);
}

static void json_number(struct pasta_json *j, const char *text)
{
	json_check(j, yajl_gen_number(j->gen, text, strlen(text)));
}

void pasta_json_int(struct pasta_json *j, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	json_number(j, text);
}

void pasta_json_uint(struct pasta_json *j, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_number(j, text);
}

void pasta_json_micros(struct pasta_json *j, int64_t ns)
{
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char text[32];

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000,
		 (unsigned int)(size % 1000));
	json_number(j, text);
}

void pasta_json_float_text(char *text, size_t size, double value)
{
	int digits;

	for (digits = 15; digits <= 17; digits++) {
		snprintf(text, size, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
}

void pasta_json_float(struct pasta_json *j, double value)
{
	char text[40];

	if (!isfinite(value)) {
		pasta_json_null(j);
		return;
	}
	pasta_json_float_text(text, sizeof(text), value);
	json_number(j, text);
}

void pasta_json_bool(struct pasta_json *j, bool value)
{
	json_check(j, yajl_gen_bool(j->gen, value));
}

void pasta_json_null(struct pasta_json *j)
{
	json_check(j, yajl_gen_null(j->gen));
}
