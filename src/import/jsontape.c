/* jsontape.c - parses one JSON value into a tape of tokens. */
#include "import/jsontape.h"

#include <errno.h>
#include <stdlib.h>

#include "process/io/utf8.h"

/* The parser's position and its error. */
struct parser {
	struct pasta_jsontape *tape;
	const char *p, *end;
	bool last;
	const char *what;
	int error;
};

static const char *json_fail(struct parser *s, const char *at, const char *what)
{
	s->p = at;
	s->what = what;
	s->error = -EBADMSG;
	return NULL;
}

/* Handles an invalid or incomplete value. If the text ends inside of the value, and more text can
 * follow, sets -EAGAIN; otherwise reports an error. */
static const char *json_missing(struct parser *s, const char *at, const char *what)
{
	if (at < s->end)
		return json_fail(s, at, what);
	if (s->last)
		return json_fail(s, s->end, "the text ends inside of a JSON value");
	s->error = -EAGAIN;
	return NULL;
}

static uint64_t json_load(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (uint8_t)(byte))

static const char *json_skip_space(const char *p)
{
	if ((uint8_t)*p > ' ')
		return p;
	for (;;) {
		while (json_load(p) == EACH(' '))
			p += 8;
		if (*p != ' ' && *p != '\n' && *p != '\r' && *p != '\t')
			return p;
		p++;
	}
}

/* Sets a bit for each byte of a string that must be handled specially: ", \, control characters
 * and bytes that are not ASCII. Only the lowest set bit is reliable; callers use no other. */
static uint64_t json_special(uint64_t v)
{
	uint64_t quote = v ^ EACH('"'), slash = v ^ EACH('\\');

	return ((v - EACH(0x20)) | (quote - EACH(1)) | (slash - EACH(1)) | v) & EACH(0x80);
}

static const char *json_plain(const char *p)
{
	uint64_t found;

	while (!(found = json_special(json_load(p))))
		p += 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return p + __builtin_ctzll(found) / 8;
#else
	while ((uint8_t)*p >= 0x20 && (uint8_t)*p < 0x80 && *p != '"' && *p != '\\')
		p++;
	return p;
#endif
}

static int json_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *json_escape(struct parser *s, const char *p)
{
	char c = p[1];

	if (c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' || c == 'r' ||
	    c == 't')
		return p + 2;
	if (c != 'u')
		return json_missing(s, p + 1, "unknown escape in a string");
	for (int i = 2; i < 6; i++)
		if (p + i >= s->end || json_hex(p[i]) < 0)
			return json_missing(s, p + i, "expected a hexadecimal digit after \\u");
	return p + 6;
}

static struct pasta_json_token *json_push(struct parser *s, enum pasta_json_type type,
					  const char *at)
{
	struct pasta_jsontape *t = s->tape;
	struct pasta_json_token *token;

	if (t->count == t->capacity) {
		uint32_t n = t->capacity ? 2 * t->capacity : 1024;
		void *tokens =
			n > PASTA_JSON_TOKENS ? NULL : reallocarray(t->tokens, n, sizeof(*token));

		if (!tokens) {
			json_fail(s, at, "a JSON value has too many parts");
			s->error = n > PASTA_JSON_TOKENS ? -EBADMSG : -ENOMEM;
			return NULL;
		}
		t->tokens = tokens;
		t->capacity = n;
	}
	token = &t->tokens[t->count++];
	*token = (struct pasta_json_token){
		.at = (uint32_t)(at - t->text), .next = t->count, .type = (uint8_t)type};
	return token;
}

/* Returns the position after the closing quote of a string. `at` is the position after its opening
 * quote. */
static const char *json_string(struct parser *s, const char *at)
{
	struct pasta_json_token *token = json_push(s, PASTA_JSON_STRING, at);
	const char *p = at;
	bool wide = false;

	while (token) {
		p = json_plain(p);
		if (*p == '"') {
			token->size = (uint32_t)(p - at);
			if (wide && !pasta_utf8_valid(at, token->size))
				return json_fail(s, at, "a string is not valid UTF-8");
			return p + 1;
		}
		if ((uint8_t)*p >= 0x80) {
			wide = true;
			p++;
		} else if (*p == '\\') {
			token->flags = PASTA_JSON_ESCAPED;
			p = json_escape(s, p);
			if (!p)
				return NULL;
		} else {
			return json_missing(s, p, "a control character in a string");
		}
	}
	return NULL;
}

static const char *json_digits(const char *p)
{
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

static const char *json_number(struct parser *s, const char *at)
{
	struct pasta_json_token *token = json_push(s, PASTA_JSON_NUMBER, at);
	const char *p = at + (*at == '-'), *from = p;

	if (!token)
		return NULL;
	p = json_digits(p);
	if (p == from)
		return json_missing(s, p, "expected a digit");
	if (*from == '0' && p > from + 1)
		return json_fail(s, from, "a number begins with 0");
	if (*p == '.') {
		from = p + 1;
		p = json_digits(from);
		if (p == from)
			return json_missing(s, p, "expected a digit after a decimal point");
	}
	if (*p == 'e' || *p == 'E') {
		from = p + 1 + (p[1] == '+' || p[1] == '-');
		p = json_digits(from);
		if (p == from)
			return json_missing(s, p, "expected a digit in an exponent");
	}
	if (p >= s->end && !s->last)
		return json_missing(s, s->end, "");
	token->size = (uint32_t)(p - at);
	return p;
}

static const char *json_word(struct parser *s, const char *at)
{
	static const struct {
		const char *text;
		enum pasta_json_type type;
	} words[] = {{"true", PASTA_JSON_TRUE},	     {"false", PASTA_JSON_FALSE},
		     {"null", PASTA_JSON_NULL},	     {"NaN", PASTA_JSON_NULL},
		     {"nan", PASTA_JSON_NULL},	     {"Infinity", PASTA_JSON_NULL},
		     {"-Infinity", PASTA_JSON_NULL}, {"inf", PASTA_JSON_NULL},
		     {"-inf", PASTA_JSON_NULL},	     {"-nan", PASTA_JSON_NULL}};
	size_t left = (size_t)(s->end - at);

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i].text);

		if (left >= n && !memcmp(at, words[i].text, n))
			return json_push(s, words[i].type, at) ? at + n : NULL;
		if (left < n && !memcmp(at, words[i].text, left))
			return json_missing(s, s->end, "");
	}
	return json_missing(s, at, "expected a value");
}

static const char *json_scalar(struct parser *s, const char *p)
{
	if (*p == '"')
		return json_string(s, p + 1);
	if ((*p >= '0' && *p <= '9') || (*p == '-' && p[1] >= '0' && p[1] <= '9'))
		return json_number(s, p);
	return json_word(s, p);
}

static const char *json_key(struct parser *s, const char *p)
{
	p = json_skip_space(p);
	if (*p != '"')
		return json_missing(s, p, "expected the name of a member of a JSON object");
	p = json_string(s, p + 1);
	if (!p)
		return NULL;
	p = json_skip_space(p);
	return *p == ':' ? p + 1 : json_missing(s, p, "expected ':' after a member's name");
}

/* Opens a JSON object or array. Returns the position of its first value; or, if the JSON object or
 * array is empty, the position after it. */
static const char *json_begin(struct parser *s, const char *p, uint32_t *depth)
{
	struct pasta_jsontape *t = s->tape;
	bool object = *p == '{';
	struct pasta_json_token *token;
	const char *first;

	if (*depth == (t->limit ? t->limit : PASTA_JSON_DEPTH))
		return json_fail(s, p, "nested too deep");
	token = json_push(s, object ? PASTA_JSON_OBJECT : PASTA_JSON_ARRAY, p);
	if (!token)
		return NULL;
	first = json_skip_space(p + 1);
	if (*first == (object ? '}' : ']')) {
		token->size = (uint32_t)(first + 1 - p);
		return first + 1;
	}
	t->open[(*depth)++] = t->count - 1;
	return object ? json_key(s, first) : first;
}

/* Moves from the end of a value to the next value, and closes objects and arrays that end in
 * between. At the end of the whole value, sets s->p to this end, and returns NULL without an
 * error. */
static const char *json_after(struct parser *s, const char *p, uint32_t *depth)
{
	struct pasta_jsontape *t = s->tape;

	while (*depth) {
		struct pasta_json_token *in = &t->tokens[t->open[*depth - 1]];
		bool object = in->type == PASTA_JSON_OBJECT;

		p = json_skip_space(p);
		if (*p == ',')
			return object ? json_key(s, p + 1) : p + 1;
		if (*p != (object ? '}' : ']'))
			return json_missing(s, p, "expected ',' or the end of the object or array");
		in->next = t->count;
		p++;
		in->size = (uint32_t)(p - t->text) - in->at;
		--*depth;
	}
	s->p = p;
	return NULL;
}

int pasta_jsontape_parse(struct pasta_jsontape *tape, const char *text, size_t size, bool last,
			 size_t *used, const char **what)
{
	struct parser s = {.tape = tape, .p = text, .end = text + size, .last = last};
	const char *p = text;
	uint32_t depth = 0;

	tape->text = text;
	tape->count = 0;
	while (p) {
		uint32_t before = depth;

		p = json_skip_space(p);
		if (*p == '{' || *p == '[') {
			p = json_begin(&s, p, &depth);
			if (p && depth > before)
				continue;
		} else {
			p = json_scalar(&s, p);
		}
		if (p)
			p = json_after(&s, p, &depth);
	}
	*used = (size_t)(s.p - text);
	*what = s.what;
	return s.error;
}

void pasta_jsontape_free(struct pasta_jsontape *tape)
{
	free(tape->tokens);
	tape->tokens = NULL;
	tape->count = tape->capacity = 0;
}

uint32_t pasta_jsontape_get(const struct pasta_jsontape *t, uint32_t object, const char *name)
{
	if (t->tokens[object].type != PASTA_JSON_OBJECT)
		return 0;
	for (uint32_t i = object + 1; i < t->tokens[object].next; i = t->tokens[i + 1].next)
		if (pasta_slice_is(pasta_jsontape_text(t, i), name))
			return i + 1;
	return 0;
}

/* -- Escapes -- */

static uint32_t json_hex4(const char *p)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 4 | (uint32_t)json_hex(p[i]);
	return v;
}

/* Decodes an escape; *p is the position after its \u. A character past U+FFFF consists of two
 * escapes. */
static uint32_t json_unicode(const char **p, const char *end)
{
	uint32_t c = json_hex4(*p), low;

	*p += 4;
	if (c < 0xd800 || c > 0xdfff)
		return c;
	if (c < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
		low = json_hex4(*p + 2);
		if (low >= 0xdc00 && low <= 0xdfff) {
			*p += 6;
			return 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
		}
	}
	return PASTA_UTF8_BAD;
}

size_t pasta_jsontape_unescape(struct pasta_slice from, char *to)
{
	static const char names[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *p = from.at, *end = from.at + from.size, *known;
	char *start = to;

	while (p < end) {
		if (*p != '\\') {
			*to++ = *p++;
			continue;
		}
		p += 2;
		if (p[-1] == 'u') {
			to += pasta_utf8_put(to, json_unicode(&p, end));
			continue;
		}
		known = strchr(names, p[-1]);
		*to++ = known ? meant[known - names] : p[-1];
	}
	return (size_t)(to - start);
}
