/* test_jsontape.c - JSON values on a tape, compared with their origin, and with yajl. */
/* labels: onethread */
#include "unit/support.h"

#include <errno.h>
#include <yajl/yajl_parse.h>

#include "unit/randomjson.h"

static struct pasta_jsontape tape;

/* Copies the text with its padding, so that a sanitizer finds reads past it. */
static int parse(const char *text, size_t size, bool last, size_t *used, const char **what)
{
	static char *copy;
	int r;

	free(copy);
	copy = calloc(size + 8, 1);
	assert_non_null(copy);
	memcpy(copy, text, size);
	*used = SIZE_MAX;
	*what = NULL;
	r = pasta_jsontape_parse(&tape, copy, size, last, used, what);
	if (r == -EBADMSG && (*used > size || !*what || !**what))
		fail_msg("%.*s: an error without an offset or a cause", (int)size, text);
	return r;
}

static int parse_text(const char *text, size_t *used, const char **what)
{
	return parse(text, strlen(text), true, used, what);
}

/* -- A value as yajl reads it, as the same text ---------------------------------------------------
 */

static int on_null(void *to)
{
	put(to, "0", 1);
	return 1;
}

static int on_boolean(void *to, int value)
{
	put(to, value ? "T" : "F", 1);
	return 1;
}

static int on_number(void *to, const char *text, size_t size)
{
	log_string(to, 'n', text, size);
	return 1;
}

static int on_string(void *to, const unsigned char *text, size_t size)
{
	log_string(to, 's', text, size);
	return 1;
}

static int on_key(void *to, const unsigned char *text, size_t size)
{
	log_string(to, 'k', text, size);
	return 1;
}

static int on_object(void *to)
{
	put(to, "{", 1);
	return 1;
}

static int on_object_end(void *to)
{
	put(to, "}", 1);
	return 1;
}

static int on_array(void *to)
{
	put(to, "[", 1);
	return 1;
}

static int on_array_end(void *to)
{
	put(to, "]", 1);
	return 1;
}

static bool log_yajl(struct bytes *to, const char *text, size_t size)
{
	static const yajl_callbacks callbacks = {on_null,	on_boolean, NULL,	 NULL,
						 on_number,	on_string,  on_object,	 on_key,
						 on_object_end, on_array,   on_array_end};
	yajl_handle y = yajl_alloc(&callbacks, NULL, to);
	bool ok;

	assert_non_null(y);
	ok = yajl_parse(y, (const unsigned char *)text, size) == yajl_status_ok &&
	     yajl_complete_parse(y) == yajl_status_ok;
	yajl_free(y);
	return ok;
}

/* -- Claims ---------------------------------------------------------------------------------------
 */

static void random_values_come_back_token_by_token(void **state)
{
	struct bytes got = {0}, other = {0};
	struct made m = {0};
	const char *what;
	size_t used;

	for (int i = 0; i < (support_slow ? 5000 : 50000); i++) {
		make_value(&m, 1 + i % 6);
		got.size = other.size = 0;
		if (parse((char *)m.text.data, m.text.size, true, &used, &what))
			fail_msg("%.*s: byte %zu: %s", (int)m.text.size, m.text.data, used, what);
		assert_int_equal(used, m.text.size);
		log_tape(&got, &tape, 0, false);
		assert_property(same(&got, &m.log));
		assert_property(log_yajl(&other, (char *)m.text.data, m.text.size));
		assert_property(same(&got, &other));
	}
	free(got.data);
	free(other.data);
	free_made(&m);
}

static void every_prefix_waits_for_more_or_ends_within_a_value(void **state)
{
	struct made m = {0};
	const char *what;
	size_t used;

	for (int i = 0; i < (support_slow ? 300 : 1500); i++) {
		do
			make_value(&m, 1 + i % 5);
		while (m.text.data[m.text.size - 1] >= '0' && m.text.data[m.text.size - 1] <= '9');
		for (size_t n = 0; n < m.text.size; n++) {
			assert_property(parse((char *)m.text.data, n, false, &used, &what) ==
					-EAGAIN);
			assert_property(parse((char *)m.text.data, n, true, &used, &what) ==
					-EBADMSG);
			assert_int_equal(used, n);
			assert_string_equal(what, "the text ends inside of a JSON value");
		}
		assert_int_equal(parse((char *)m.text.data, m.text.size, false, &used, &what), 0);
		assert_int_equal(used, m.text.size);
	}
	free_made(&m);
}

static void a_number_at_the_end_may_go_on(void **state)
{
	const char *what;
	size_t used;

	assert_int_equal(parse(" -12.5e3", 8, false, &used, &what), -EAGAIN);
	assert_int_equal(parse(" -12.5e3", 8, true, &used, &what), 0);
	assert_int_equal(used, 8);
	assert_int_equal(parse("12,", 3, false, &used, &what), 0);
	assert_int_equal(used, 2);
}

/* Removes, adds and changes bytes, but adds only ASCII: yajl checks UTF-8 less strictly. */
static void damage(struct bytes *text)
{
	static const char bytes[] = "{}[]\",:\\/u0019eE+-.tfn \n\t\x01x";

	for (uint64_t n = 1 + random_below(3); n && text->size; n--) {
		size_t at = random_below(text->size);
		uint8_t byte = (uint8_t)bytes[random_below(sizeof(bytes))];

		switch (random_below(4)) {
		case 0:
			memmove(text->data + at, text->data + at + 1, --text->size - at);
			break;
		case 1:
			put(text, "", 1);
			memmove(text->data + at + 1, text->data + at, text->size - 1 - at);
			/* fall through */
		case 2:
			text->data[at] = byte;
			break;
		default:
			if (!random_below(4))
				text->size = at;
		}
	}
}

/* Cases in which both may differ: NaN and infinities, and lone surrogates. */
static bool is_special(const struct bytes *text)
{
	char *s = calloc(1, text->size + 1);
	bool found;

	assert_non_null(s);
	memcpy(s, text->data, text->size);
	found = strcasestr(s, "nan") || strcasestr(s, "inf") || strcasestr(s, "\\ud") ||
		strlen(s) < text->size;
	free(s);
	return found;
}

/* The text before an error is a prefix of a valid text, and with one more byte it is not. Invalid
 * words, numbers and strings are reported at their begin. */
static void check_error_offset(const struct bytes *text, size_t at, const char *what)
{
	bool whole = !strcmp(what, "a number begins with 0") ||
		     !strcmp(what, "a string is not valid UTF-8");
	const char *other;
	size_t used;

	assert_property(parse((char *)text->data, at, false, &used, &other) == -EAGAIN);
	if (at == text->size || whole || strchr("tfnNIi-", text->data[at]))
		return;
	assert_property(parse((char *)text->data, at + 1, false, &used, &other) == -EBADMSG);
	assert_property(used == at && !strcmp(what, other));
}

static void damaged_values_are_refused_where_yajl_refuses_them(void **state)
{
	struct bytes got = {0}, other = {0};
	unsigned int refused = 0, taken = 0;
	struct made m = {0};
	const char *what;
	size_t used;

	for (int i = 0; i < (support_slow ? 10000 : 100000); i++) {
		bool ok, yajl_ok;

		make_value(&m, 1 + i % 4);
		damage(&m.text);
		if (is_special(&m.text))
			continue;
		got.size = other.size = 0;
		ok = !parse((char *)m.text.data, m.text.size, true, &used, &what);
		if (ok)
			log_tape(&got, &tape, 0, false);
		else
			check_error_offset(&m.text, used, what);
		/* The parser ignores text after a value. */
		yajl_ok = log_yajl(&other, (char *)m.text.data, ok ? used : m.text.size);
		if (ok != yajl_ok)
			fail_msg("%.*s: %s", (int)m.text.size, m.text.data,
				 ok ? "yajl refuses it" : "yajl takes it");
		assert_property(!ok || same(&got, &other));
		taken += ok;
		refused += !ok;
	}
	assert_true(taken > 1000 && refused > 1000);
	free(got.data);
	free(other.data);
	free_made(&m);
}

static void errors_name_their_byte_and_their_cause(void **state)
{
	static const struct {
		const char *text;
		size_t at;
		const char *what;
	} wrong[] = {
		{"", 0, "the text ends inside of a JSON value"},
		{"  ", 2, "the text ends inside of a JSON value"},
		{"[1,]", 3, "expected a value"},
		{"[,1]", 1, "expected a value"},
		{"[1 2]", 3, "expected ',' or the end of the object or array"},
		{"[1}", 2, "expected ',' or the end of the object or array"},
		{"{\"a\":1]", 6, "expected ',' or the end of the object or array"},
		{"{\"a\" 1}", 5, "expected ':' after a member's name"},
		{"{\"a\":}", 5, "expected a value"},
		{"{\"a\":1,}", 7, "expected the name of a member of a JSON object"},
		{"{1:2}", 1, "expected the name of a member of a JSON object"},
		{"[01]", 1, "a number begins with 0"},
		{"[-01]", 2, "a number begins with 0"},
		{"[1.]", 3, "expected a digit after a decimal point"},
		{"[.5]", 1, "expected a value"},
		{"[+1]", 1, "expected a value"},
		{"[-]", 1, "expected a value"},
		{"[1e]", 3, "expected a digit in an exponent"},
		{"[1e+]", 4, "expected a digit in an exponent"},
		{"[tru]", 1, "expected a value"},
		{"[nul", 4, "the text ends inside of a JSON value"},
		{"[TRUE]", 1, "expected a value"},
		{"['a']", 1, "expected a value"},
		{"[\"a\x1f\"]", 3, "a control character in a string"},
		{"[\"a\nb\"]", 3, "a control character in a string"},
		{"[\"\\x\"]", 3, "unknown escape in a string"},
		{"[\"\\u12g4\"]", 6, "expected a hexadecimal digit after \\u"},
		{"[\"\\u12\"]", 6, "expected a hexadecimal digit after \\u"},
		{"[\"ab\xff\"]", 2, "a string is not valid UTF-8"},
		{"{\"\xc3\":1}", 2, "a string is not valid UTF-8"},
		{"[\"abc", 5, "the text ends inside of a JSON value"},
		{"/* */1", 0, "expected a value"},
		{"\xef\xbb\xbf{}", 0, "expected a value"},
	};
	const char *what;
	size_t used;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(parse_text(wrong[i].text, &used, &what), -EBADMSG);
		if (used != wrong[i].at || strcmp(what, wrong[i].what) != 0)
			fail_msg("%s: byte %zu: %s", wrong[i].text, used, what);
	}
}

static void zero_bytes_in_the_text_are_errors_and_not_its_end(void **state)
{
	static const char value[] = "[\"a\", 12, true]";
	const char *what;
	size_t used;

	for (size_t at = 0; at < sizeof(value) - 1; at++) {
		char text[sizeof(value)];

		memcpy(text, value, sizeof(text));
		text[at] = '\0';
		assert_int_equal(parse(text, sizeof(text) - 1, false, &used, &what), -EBADMSG);
		assert_true(used <= at);
	}
}

static void words_for_no_number_are_null(void **state)
{
	static const char text[] = "[NaN,nan,-nan,Infinity,-Infinity,inf,-inf,null, -1]";
	const char *what;
	size_t used;

	assert_int_equal(parse_text(text, &used, &what), 0);
	assert_int_equal(tape.count, 10);
	for (uint32_t i = 1; i < 9; i++)
		assert_int_equal(tape.tokens[i].type, PASTA_JSON_NULL);
	assert_int_equal(tape.tokens[9].type, PASTA_JSON_NUMBER);
}

static void unescaped(const char *text, const char *want, size_t want_size)
{
	struct pasta_slice s;
	const char *what;
	size_t used;
	char *to;

	if (parse_text(text, &used, &what))
		fail_msg("%s: byte %zu: %s", text, used, what);
	s = pasta_jsontape_text(&tape, 0);
	to = malloc(s.size);
	assert_non_null(to);
	assert_int_equal(pasta_jsontape_unescape(s, to), want_size);
	assert_memory_equal(to, want, want_size);
	free(to);
}

static void escapes_follow_the_standard(void **state)
{
	unescaped("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	unescaped("\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 6);
	unescaped("\"\\u0000\"", "\0", 1);
	unescaped("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
	unescaped("\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf", 4);
	unescaped("\"\\\\u0041\"", "\\u0041", 6);
}

static void half_a_surrogate_becomes_the_replacement_character(void **state)
{
	unescaped("\"\\ud83d\"", "\xef\xbf\xbd", 3);
	unescaped("\"\\ude00\"", "\xef\xbf\xbd", 3);
	unescaped("\"\\ud83dx\"", "\xef\xbf\xbdx", 4);
	unescaped("\"\\ud83d\\n\"", "\xef\xbf\xbd\n", 4);
	unescaped("\"\\ud83d\\u0041\"",
		  "\xef\xbf\xbd"
		  "A",
		  4);
	unescaped("\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80", 7);
	unescaped("\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd", 6);
}

/* Returns the length of the UTF-8 character at p; 0 if invalid. By definition, encoding its code
 * point must produce the same bytes. */
static size_t character(const uint8_t *p, size_t left)
{
	size_t n = *p < 0x80   ? 1
		   : *p < 0xc0 ? 0
		   : *p < 0xe0 ? 2
		   : *p < 0xf0 ? 3
		   : *p < 0xf8 ? 4
			       : 0;
	uint32_t c = n == 1 ? *p : n ? *p & (0x7fu >> n) : 0;
	struct bytes again = {0};
	bool ok;

	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	put_utf8(&again, c);
	ok = again.size == n && !memcmp(again.data, p, n);
	free(again.data);
	return ok ? n : 0;
}

static bool is_utf8(const uint8_t *p, size_t size)
{
	while (size) {
		size_t n = character(p, size);

		if (!n)
			return false;
		p += n;
		size -= n;
	}
	return true;
}

static void check_utf8(const uint8_t *bytes, size_t size)
{
	char text[8] = "\"";
	const char *what;
	size_t used;
	int r;

	memcpy(text + 1, bytes, size);
	text[size + 1] = '"';
	r = parse(text, size + 2, true, &used, &what);
	if (!r != is_utf8(bytes, size))
		fail_msg("%02x %02x %02x %02x: %d", bytes[0], bytes[1], bytes[2], bytes[3], r);
	if (r)
		assert_int_equal(used, 1);
}

static void strings_are_utf8_and_nothing_else(void **state)
{
	static const uint8_t ends[] = {0x21, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1,
				       0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff};
	enum { ENDS = sizeof(ends) };
	uint8_t b[4] = {0};

	for (unsigned int i = 0x80; i < 0x10000; i++) {
		b[0] = (uint8_t)(i >> 8);
		b[1] = (uint8_t)i;
		if (b[0] >= 0x80 && b[1] > '\\')
			check_utf8(b, 2);
	}
	for (unsigned int i = 0; i < ENDS * ENDS * ENDS * ENDS; i += support_slow ? 7 : 1) {
		for (unsigned int k = 0, n = i; k < 4; k++, n /= ENDS)
			b[k] = ends[n % ENDS];
		check_utf8(b, 3);
		check_utf8(b, 4);
	}
}

static void nesting_has_a_limit(void **state)
{
	char text[2 * PASTA_JSON_DEPTH + 3];
	const char *what;
	size_t used;

	memset(text, '[', PASTA_JSON_DEPTH + 1);
	memset(text + PASTA_JSON_DEPTH, ']', PASTA_JSON_DEPTH);
	assert_int_equal(parse(text, sizeof(text) - 3, true, &used, &what), 0);
	assert_int_equal(used, sizeof(text) - 3);
	assert_int_equal(tape.count, PASTA_JSON_DEPTH);
	memset(text, '[', PASTA_JSON_DEPTH + 1);
	assert_int_equal(parse(text, PASTA_JSON_DEPTH, false, &used, &what), -EAGAIN);
	assert_int_equal(parse(text, PASTA_JSON_DEPTH + 1, false, &used, &what), -EBADMSG);
	assert_int_equal(used, PASTA_JSON_DEPTH);
	assert_string_equal(what, "nested too deep");
}

static void a_value_has_a_limit_of_parts(void **state)
{
	size_t size = 2 * (size_t)PASTA_JSON_TOKENS, used;
	char *text = malloc(size + 1);
	const char *what;

	assert_non_null(text);
	for (size_t i = 0; i <= size; i += 2)
		memcpy(text + i, ",7", i < size ? 2 : 1);
	text[0] = '[';
	text[size - 2] = ']';
	assert_int_equal(parse(text, size - 1, true, &used, &what), 0);
	assert_int_equal(tape.count, PASTA_JSON_TOKENS);
	text[size - 2] = ',';
	text[size] = ']';
	assert_int_equal(parse(text, size + 1, true, &used, &what), -EBADMSG);
	assert_int_equal(used, size - 1);
	assert_string_equal(what, "a JSON value has too many parts");
	free(text);
}

static void members_are_found_by_name_and_each_in_turn(void **state)
{
	static const char text[] = "{\"a\":{\"b\":[1,{\"c\":2}],\"c\":3},\"b\":{},\"c\":null}";
	uint32_t a, n = 0;
	const char *what;
	size_t used;

	assert_int_equal(parse_text(text, &used, &what), 0);
	a = pasta_jsontape_get(&tape, 0, "a");
	assert_int_equal(a, 2);
	assert_true(
		pasta_slice_is(pasta_jsontape_text(&tape, pasta_jsontape_get(&tape, a, "c")), "3"));
	assert_true(pasta_slice_is(pasta_jsontape_text(&tape, pasta_jsontape_get(&tape, 0, "b")),
				   "{}"));
	assert_int_equal(tape.tokens[pasta_jsontape_get(&tape, 0, "c")].type, PASTA_JSON_NULL);
	assert_int_equal(pasta_jsontape_get(&tape, 0, "d"), 0);
	assert_int_equal(pasta_jsontape_get(&tape, pasta_jsontape_get(&tape, a, "c"), "c"), 0);
	PASTA_JSON_EACH(&tape, a, key, value)
	{
		assert_true(pasta_slice_is(pasta_jsontape_text(&tape, key), n++ ? "c" : "b"));
		assert_int_equal(value, key + 1);
	}
	assert_int_equal(n, 2);
	PASTA_JSON_EACH(&tape, 0, key, value)
	fail_msg("a member of nothing: %u %u", key, value);
}

static int end(void **state)
{
	const char *what;
	size_t used;

	parse("0", 1, true, &used, &what);
	pasta_jsontape_free(&tape);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_values_come_back_token_by_token),
		cmocka_unit_test(every_prefix_waits_for_more_or_ends_within_a_value),
		cmocka_unit_test(a_number_at_the_end_may_go_on),
		cmocka_unit_test(damaged_values_are_refused_where_yajl_refuses_them),
		cmocka_unit_test(errors_name_their_byte_and_their_cause),
		cmocka_unit_test(zero_bytes_in_the_text_are_errors_and_not_its_end),
		cmocka_unit_test(words_for_no_number_are_null),
		cmocka_unit_test(escapes_follow_the_standard),
		cmocka_unit_test(half_a_surrogate_becomes_the_replacement_character),
		cmocka_unit_test(strings_are_utf8_and_nothing_else),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(a_value_has_a_limit_of_parts),
		cmocka_unit_test(members_are_found_by_name_and_each_in_turn),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, end);
}
