/* randomjson.h - random JSON values, each with the log that a tape must produce for it. */
#ifndef PASTA_TESTS_RANDOMJSON_H
#define PASTA_TESTS_RANDOMJSON_H

#include "unit/support.h"

#include "import/jsontape.h"

/* -- A value, in order, as one text: types, and what strings mean ---------------------------------
 */

static inline void log_string(struct bytes *to, char type, const void *text, size_t size)
{
	char head[32];

	put(to, head, (size_t)snprintf(head, sizeof(head), "%c%zu:", type, size));
	put(to, text, size);
}

static inline void log_tape(struct bytes *to, const struct pasta_jsontape *tape, uint32_t i,
			    bool key)
{
	const struct pasta_json_token *t = &tape->tokens[i];
	struct pasta_slice s = pasta_jsontape_text(tape, i);
	bool object = t->type == PASTA_JSON_OBJECT, named = object;
	char *plain;

	switch (t->type) {
	case PASTA_JSON_STRING:
		plain = malloc(s.size + !s.size);
		assert_non_null(plain);
		assert_int_equal(t->flags & PASTA_JSON_ESCAPED,
				 s.size && memchr(s.at, '\\', s.size) ? PASTA_JSON_ESCAPED : 0);
		log_string(to, key ? 'k' : 's', plain, pasta_jsontape_unescape(s, plain));
		free(plain);
		break;
	case PASTA_JSON_NUMBER:
		log_string(to, 'n', s.at, s.size);
		break;
	case PASTA_JSON_OBJECT:
	case PASTA_JSON_ARRAY:
		assert_int_equal(s.at[0], object ? '{' : '[');
		assert_int_equal(s.at[s.size - 1], object ? '}' : ']');
		put(to, s.at, 1);
		for (uint32_t k = i + 1; k < t->next; k = tape->tokens[k].next) {
			log_tape(to, tape, k, named);
			named = object && !named;
		}
		put(to, object ? "}" : "]", 1);
		return;
	default:
		put(to, &"0FT"[t->type], 1);
	}
	assert_int_equal(t->next, i + 1);
}

/* -- Random values, and their log -----------------------------------------------------------------
 */

struct made {
	struct bytes text, log;
};

static inline void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text));
}

static inline void put_space(struct made *m)
{
	static const char space[] = "  \t\n\r                    ";

	if (!random_below(3))
		put(&m->text, space + random_below(4), random_below(random_below(4) ? 3 : 20));
}

static inline void put_utf8(struct bytes *b, uint32_t c)
{
	char s[4] = {(char)c};
	size_t n = 1;

	if (c >= 0x80) {
		n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		for (size_t i = n; i-- > 1; c >>= 6)
			s[i] = (char)(0x80 | (c & 0x3f));
		s[0] = (char)(c | 0xf0u << (4 - n));
	}
	put(b, s, n);
}

/* Like UTF-16: a character past U+FFFF is two escapes. */
static inline void put_escape(struct bytes *b, uint32_t c)
{
	char text[16];

	if (c >= 0x10000) {
		snprintf(text, sizeof(text), "\\u%04X", 0xd800 + ((c - 0x10000) >> 10));
		put_text(b, text);
		c = 0xdc00 + (c & 0x3ff);
	}
	snprintf(text, sizeof(text), "\\u%04x", c);
	put_text(b, text);
}

static inline uint32_t random_character(void)
{
	static const uint32_t ends[] = {0,	0x1f,	0x20,	0x7f,	0x80,	 0x7ff,	  0x800,
					0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff};
	uint32_t c = (uint32_t)random_below(0x110000);

	if (random_below(8))
		return ' ' + (uint32_t)random_below(95);
	if (random_below(2))
		return ends[random_below(sizeof(ends) / sizeof(*ends))];
	return c >= 0xd800 && c < 0xe000 ? c - 0x800 : c;
}

static inline void put_character(struct made *m, struct bytes *plain)
{
	static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	uint32_t c = random_character(), i = (uint32_t)random_below(8);

	if (!random_below(12)) {
		c = (uint8_t)meant[i];
		put(&m->text, (char[]){'\\', names[i]}, 2);
	} else if (c < 0x20 || c == '"' || c == '\\' || !random_below(12)) {
		put_escape(&m->text, c);
	} else {
		put_utf8(&m->text, c);
	}
	put_utf8(plain, c);
}

static inline void put_string(struct made *m, char type)
{
	size_t n = random_below(random_below(8) ? 9 : 40);
	struct bytes plain = {0};

	put(&m->text, "\"", 1);
	while (n--)
		put_character(m, &plain);
	put(&m->text, "\"", 1);
	log_string(&m->log, type, plain.size ? (char *)plain.data : "", plain.size);
	free(plain.data);
}

static inline void put_number(struct made *m)
{
	static const char *const signs[] = {"", "+", "-"};
	struct bytes n = {0};
	char text[64];
	int size;

	if (random_below(2))
		put(&n, "-", 1);
	size = snprintf(text, sizeof(text), "%llu",
			(unsigned long long)(random_u64() >> random_below(65) % 64));
	put(&n, text, (size_t)size);
	if (!random_below(3)) {
		size = snprintf(text, sizeof(text), ".%03u", (unsigned int)random_below(1000));
		put(&n, text, (size_t)size);
	}
	if (!random_below(4)) {
		size = snprintf(text, sizeof(text), "%c%s%u", random_below(2) ? 'e' : 'E',
				signs[random_below(3)], (unsigned int)random_below(400));
		put(&n, text, (size_t)size);
	}
	put(&m->text, n.data, n.size);
	log_string(&m->log, 'n', n.data, n.size);
	free(n.data);
}

static inline void put_value(struct made *m, unsigned int depth)
{
	static const char *const words[] = {"null", "false", "true"};
	uint64_t type = random_below(depth ? 9 : 5), n = random_below(5);
	bool object = type < 7;

	put_space(m);
	if (type < 1) {
		n = random_below(3);
		put_text(&m->text, words[n]);
		put(&m->log, &"0FT"[n], 1);
	} else if (type < 3) {
		put_number(m);
	} else if (type < 5) {
		put_string(m, 's');
	} else {
		put(&m->text, object ? "{" : "[", 1);
		put(&m->log, object ? "{" : "[", 1);
		for (uint64_t i = 0; i < n; i++) {
			if (i)
				put(&m->text, ",", 1);
			put_space(m);
			if (object) {
				put_string(m, 'k');
				put_space(m);
				put(&m->text, ":", 1);
			}
			put_value(m, depth - 1);
		}
		put_space(m);
		put(&m->text, object ? "}" : "]", 1);
		put(&m->log, object ? "}" : "]", 1);
	}
}

static inline void make_value(struct made *m, unsigned int depth)
{
	m->text.size = m->log.size = 0;
	put_value(m, depth);
}

static inline void free_made(struct made *m)
{
	free(m->text.data);
	free(m->log.data);
}

static inline bool same(const struct bytes *a, const struct bytes *b)
{
	return a->size == b->size && (!a->size || !memcmp(a->data, b->data, a->size));
}

#endif
