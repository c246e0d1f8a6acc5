/*
 * test_cursor.c - JSON texts longer than the window, valid and damaged.
 * timeout: 180
 */
/* labels: onethread */
#include "unit/support.h"

#include <errno.h>

#include "import/cursor.h"
#include "unit/randomjson.h"

struct reader {
	struct pasta_tracefile file;
	struct pasta_cursor c;
	struct pasta_error err;
};

/* window is the initial size, so that values straddle its end; 0: the default. */
static struct reader *open_file(const char *path, size_t window)
{
	struct reader *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	if (pasta_tracefile_open(&r->file, path, false, &r->err))
		fail_msg("%s", r->err.text);
	if (window) {
		assert_int_equal(lseek(r->file.fd, 0, SEEK_SET), 0);
		r->file.size = 0;
		r->file.end = false;
		r->file.capacity = window;
		memset(r->file.data, 0, PASTA_TRACEFILE_PAD);
	}
	r->c.file = &r->file;
	r->c.err = &r->err;
	return r;
}

static struct reader *open_text(const void *text, size_t size, size_t window)
{
	struct bytes b = {(uint8_t *)text, size, size};

	save(&b, size, in_dir("text.json"));
	return open_file(in_dir("text.json"), window);
}

static void close_text(struct reader *r)
{
	pasta_cursor_free(&r->c);
	pasta_tracefile_close(&r->file);
	free(r);
}

/* -- Whole texts ----------------------------------------------------------------------------------
 */

/* Enters some values and parses others as a whole: the result must be the same. */
static void walk(struct reader *r, struct bytes *log)
{
	int first = pasta_cursor_peek(&r->c);
	struct pasta_slice key;
	int more;

	if ((first != '{' && first != '[') || !random_below(3)) {
		assert_int_equal(pasta_cursor_value(&r->c), 0);
		log_tape(log, &r->c.tape, 0, false);
		return;
	}
	assert_int_equal(pasta_cursor_enter(&r->c), 0);
	put(log, first == '{' ? "{" : "[", 1);
	for (;;) {
		more = first == '{' ? pasta_cursor_key(&r->c, &key) : pasta_cursor_element(&r->c);
		if (more <= 0)
			break;
		if (first == '{') {
			char *plain = malloc(key.size + !key.size);
			size_t n;

			assert_non_null(plain);
			n = pasta_jsontape_unescape(key, plain);
			log_string(log, 'k', plain, n);
			free(plain);
		}
		walk(r, log);
	}
	if (more)
		fail_msg("%s", r->err.text);
	put(log, first == '{' ? "}" : "]", 1);
}

static void random_texts_are_the_same_through_windows_of_any_size(void **state)
{
	struct made m = {0};
	struct bytes got = {0};

	for (int i = 0; i < (support_slow ? 2000 : 10000); i++) {
		struct reader *r;

		make_value(&m, 1 + i % 7);
		got.size = 0;
		r = open_text(m.text.data, m.text.size, i % 5 ? 1 + random_below(60) : 0);
		walk(r, &got);
		assert_int_equal(pasta_cursor_end(&r->c), 0);
		assert_int_equal(r->err.code, 0);
		assert_property(same(&got, &m.log));
		close_text(r);
	}
	free(got.data);
	free_made(&m);
}

static void values_that_are_skipped_leave_the_others_as_they_are(void **state)
{
	struct made all = {0}, m = {0};
	struct bytes got = {0};

	for (int i = 0; i < (support_slow ? 500 : 3000); i++) {
		uint64_t skip = random_u64(), count = random_below(20);
		struct pasta_slice key;
		struct reader *r;

		all.text.size = all.log.size = got.size = 0;
		put_text(&all.text, "{");
		for (uint64_t k = 0; k < count; k++) {
			make_value(&m, 1 + k % 5);
			put_text(&all.text, k ? ", \"key\" :" : "\"key\":");
			put(&all.text, m.text.data, m.text.size);
			if (!(skip >> k & 1))
				put(&all.log, m.log.data, m.log.size);
		}
		put_text(&all.text, "}  ");
		r = open_text(all.text.data, all.text.size, 1 + random_below(30));
		assert_int_equal(pasta_cursor_enter(&r->c), 0);
		for (uint64_t k = 0; k < count; k++) {
			assert_int_equal(pasta_cursor_key(&r->c, &key), 1);
			assert_true(pasta_slice_is(key, "key"));
			if (skip >> k & 1)
				assert_int_equal(pasta_cursor_skip(&r->c), 0);
			else
				walk(r, &got);
		}
		assert_int_equal(pasta_cursor_key(&r->c, &key), 0);
		assert_int_equal(pasta_cursor_end(&r->c), 0);
		assert_property(same(&got, &all.log));
		close_text(r);
	}
	free(got.data);
	free_made(&m);
	free_made(&all);
}

static void check_numbers(struct reader *r, uint64_t count)
{
	struct pasta_slice key;
	char name[32];

	assert_int_equal(pasta_cursor_enter(&r->c), 0);
	for (uint64_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "n%llu", (unsigned long long)i);
		assert_int_equal(pasta_cursor_key(&r->c, &key), 1);
		assert_true(pasta_slice_is(key, name));
		assert_int_equal(pasta_cursor_value(&r->c), 0);
		assert_true(pasta_slice_is(pasta_jsontape_text(&r->c.tape, 0), name + 1));
		assert_int_equal(r->file.data[r->c.at - r->file.offset], name[1]);
	}
	assert_int_equal(pasta_cursor_key(&r->c, &key), 0);
	assert_int_equal(pasta_cursor_end(&r->c), 0);
}

/* Members are short; a real window ends at a different byte of them each time. */
static void members_at_the_end_of_a_real_window_are_whole(void **state)
{
	enum { COUNT = 80000 };

	for (int pad = 0; pad < 40; pad += support_slow ? 3 : 1) {
		struct bytes b = {0};
		struct reader *r;
		char member[64];

		put(&b, "                                        ", (size_t)pad);
		put(&b, "{", 1);
		for (int i = 0; i < COUNT; i++)
			put(&b, member,
			    (size_t)snprintf(member, sizeof(member), "%s\"n%d\" : %d", i ? "," : "",
					     i, i));
		put(&b, "}", 1);
		assert_true(b.size > (1 << 20));
		r = open_text(b.data, b.size, 0);
		check_numbers(r, COUNT);
		close_text(r);
		free(b.data);
	}
}

static void white_space_may_be_longer_than_the_window(void **state)
{
	enum { SPACE = 5 << 20 };
	struct bytes b = {0};
	char *space = malloc(SPACE);
	struct reader *r;

	assert_non_null(space);
	memset(space, '\n', SPACE);
	put(&b, space, SPACE);
	put(&b, "{", 1);
	put(&b, space, SPACE);
	put(&b, "\"n0\"", 4);
	put(&b, space, SPACE);
	put(&b, ":", 1);
	put(&b, space, SPACE);
	put(&b, "0", 1);
	put(&b, space, SPACE);
	put(&b, "}", 1);
	put(&b, space, SPACE);
	r = open_text(b.data, b.size, 0);
	check_numbers(r, 1);
	close_text(r);
	free(space);
	free(b.data);
}

/* An array with strings of 1 MiB, a string longer than any window, and {"i":7}. */
static void save_long(const char *path, unsigned int strings)
{
	size_t size = PASTA_TRACEFILE_WINDOW_MAX;
	char *text = malloc(size);
	FILE *f = fopen(path, "w");

	assert_true(text && f);
	memset(text, 'x', size);
	fputc('[', f);
	for (unsigned int i = 0; i < strings; i++)
		fprintf(f, "\"%.*s\",", 1 << 20, text);
	fputs("[", f);
	for (unsigned int i = 0; i < strings; i++)
		fprintf(f, "\"%.*s\",", 1 << 20, text);
	fputs("0],\"", f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	fputs("\",{\"i\":7}]", f);
	assert_int_equal(fclose(f), 0);
	free(text);
}

static void only_what_is_looked_at_must_fit_into_the_window(void **state)
{
	enum { STRINGS = 70 };
	struct reader *r;

	save_long(in_dir("long.json"), STRINGS);
	r = open_file(in_dir("long.json"), 0);
	assert_int_equal(pasta_cursor_enter(&r->c), 0);
	for (int i = 0; i <= STRINGS; i++) {
		assert_int_equal(pasta_cursor_element(&r->c), 1);
		assert_int_equal(pasta_cursor_skip(&r->c), 0);
	}
	assert_int_equal(pasta_cursor_element(&r->c), 1);
	assert_int_equal(pasta_cursor_value(&r->c), -EFBIG);
	assert_non_null(strstr(r->err.text, "a value of more than 64 MiB"));
	close_text(r);
	/* With recover, this is damage: the next element follows. */
	r = open_file(in_dir("long.json"), 0);
	r->c.recover = true;
	assert_int_equal(pasta_cursor_enter(&r->c), 0);
	for (int i = 0; i <= STRINGS; i++) {
		assert_int_equal(pasta_cursor_element(&r->c), 1);
		assert_int_equal(pasta_cursor_skip(&r->c), 0);
	}
	assert_int_equal(pasta_cursor_element(&r->c), 1);
	assert_int_equal(pasta_cursor_value(&r->c), 1);
	assert_int_equal(r->c.damaged, 1);
	assert_int_equal(pasta_cursor_element(&r->c), 1);
	assert_int_equal(pasta_cursor_value(&r->c), 0);
	assert_true(pasta_slice_is(pasta_jsontape_text(&r->c.tape, 0), "{\"i\":7}"));
	assert_int_equal(pasta_cursor_element(&r->c), 0);
	assert_int_equal(pasta_cursor_end(&r->c), 0);
	close_text(r);
}

/* -- Errors ---------------------------------------------------------------------------------------
 */

/* Reads to the end or the first error, entering the outermost value. */
static int read_all(struct reader *r)
{
	int first = pasta_cursor_peek(&r->c), e = pasta_cursor_enter(&r->c);
	struct pasta_slice key;

	while (!e) {
		e = first == '{' ? pasta_cursor_key(&r->c, &key) : pasta_cursor_element(&r->c);
		if (e <= 0)
			break;
		e = pasta_cursor_value(&r->c);
		e = e < 0 ? e : 0;
	}
	return e ? e : pasta_cursor_end(&r->c);
}

static void errors_name_their_byte_and_are_final(void **state)
{
	static const struct {
		const char *text, *what;
	} wrong[] = {
		{"7", "byte 0: expected an object or an array"},
		{"  ", "byte 2: expected an object or an array"},
		{"[1,2", "byte 4: the text ends inside of a JSON object or array"},
		{"[1,2,", "byte 5: the text ends inside of a JSON object or array"},
		{"[1,2,]", "byte 5: expected a value"},
		{"[1,,2]", "byte 3: expected a value"},
		{"[,1]", "byte 1: expected a value"},
		{"[1 2]", "byte 3: expected ',' or the end of the object or array"},
		{"[1}", "byte 2: expected ',' or the end of the object or array"},
		{"[1,[2,3}]", "byte 7: expected ',' or the end of the object or array"},
		{"{\"a\":1,}", "byte 7: expected the name of a member"},
		{"{7:1}", "byte 1: expected the name of a member"},
		{"{\"a\"  1}", "byte 6: expected ':' after a member's name"},
		{"{\"a\"", "byte 4: expected ':' after a member's name"},
		{"{\"a\"\x01:1}", "byte 4: expected ':' after a member's name"},
		{"{\"a\":", "byte 5: the text ends inside of a JSON value"},
		{"{\"a\":1 \"b\":2}", "byte 7: expected ',' or the end of the object or array"},
		{"{\"a\":{\"b\":tru}}", "byte 10: expected a value"},
		{"[\"abc\\q\"]", "byte 6: unknown escape in a string"},
		{"[1] x", "byte 4: more text follows the end of the JSON value"},
		{"{}{}", "byte 2: more text follows the end of the JSON value"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		for (size_t window = 0; window < 12; window++) {
			struct reader *r = open_text(wrong[i].text, strlen(wrong[i].text), window);
			struct pasta_slice key;

			assert_int_equal(read_all(r), -EBADMSG);
			if (!strstr(r->err.text, wrong[i].what))
				fail_msg("%s: %s", wrong[i].text, r->err.text);
			assert_non_null(strstr(r->err.text, "text.json"));
			assert_non_null(strstr(r->err.text, "--recover"));
			assert_int_equal(pasta_cursor_peek(&r->c), -EBADMSG);
			assert_int_equal(pasta_cursor_enter(&r->c), -EBADMSG);
			assert_int_equal(pasta_cursor_key(&r->c, &key), -EBADMSG);
			assert_int_equal(pasta_cursor_element(&r->c), -EBADMSG);
			assert_int_equal(pasta_cursor_value(&r->c), -EBADMSG);
			assert_int_equal(pasta_cursor_skip(&r->c), -EBADMSG);
			assert_int_equal(pasta_cursor_end(&r->c), -EBADMSG);
			close_text(r);
		}
	}
}

static void an_invalid_token_is_reported_by_its_byte(void **state)
{
	static const char text[] = "[ 0,  {\"a\": [5, -6]}]";
	struct reader *r = open_text(text, sizeof(text) - 1, 4);

	assert_int_equal(pasta_cursor_enter(&r->c), 0);
	assert_int_equal(pasta_cursor_element(&r->c), 1);
	assert_int_equal(pasta_cursor_skip(&r->c), 0);
	assert_int_equal(pasta_cursor_element(&r->c), 1);
	assert_int_equal(pasta_cursor_value(&r->c), 0);
	assert_int_equal(pasta_cursor_wrong(&r->c, 4, "less than 0"), -EBADMSG);
	assert_non_null(strstr(r->err.text, "byte 16: less than 0"));
	close_text(r);
}

static void loose_arrays_may_lack_their_end_and_have_a_comma_before_it(void **state)
{
	static const char *const texts[] = {"[1,2,3]", "[1,2,3,]", "[1,2,3",
					    "[1,2,3,", "[1,2,3 ,", "[1,2,3\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		for (size_t window = 0; window < 10; window++) {
			struct reader *r = open_text(texts[i], strlen(texts[i]), window);

			r->c.loose = true;
			assert_int_equal(pasta_cursor_enter(&r->c), 0);
			for (int k = 0; k < 3; k++) {
				assert_int_equal(pasta_cursor_element(&r->c), 1);
				assert_int_equal(pasta_cursor_value(&r->c), 0);
				assert_int_equal(*pasta_jsontape_text(&r->c.tape, 0).at, '1' + k);
			}
			assert_int_equal(pasta_cursor_element(&r->c), 0);
			assert_int_equal(pasta_cursor_end(&r->c), 0);
			close_text(r);
		}
	}
}

static void a_loose_array_is_not_looser_than_that(void **state)
{
	static const char *const texts[] = {"[,1]", "[1,,]", "[1 2", "[1,2", "[1,,2]", "[1}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct reader *r = open_text(texts[i], strlen(texts[i]), 3);
		bool whole = !strcmp(texts[i], "[1,2");

		r->c.loose = true;
		assert_int_equal(read_all(r), whole ? 0 : -EBADMSG);
		close_text(r);
	}
}

/* -- Damage ---------------------------------------------------------------------------------------
 */

enum { ELEMENTS = 9, BEFORE = 4, AFTER = 5 };

static bool is_element(const struct pasta_jsontape *tape)
{
	return pasta_jsontape_get(tape, 0, "i");
}

/* Elements contain objects, brackets and quotes. begins[i] is the offset of element i. */
static void make_elements(struct bytes *b, size_t begins[ELEMENTS + 1])
{
	char text[128];

	b->size = 0;
	put_text(b, "{\"other\":[1,2],\n\"list\":[");
	for (int i = 0; i < ELEMENTS; i++) {
		begins[i] = b->size;
		snprintf(text, sizeof(text),
			 "{\"i\":%d,\"in\":{\"a\":[1,{\"b\":2}]},\"s\":\"x{\\\"]}\"}%s", i,
			 i < ELEMENTS - 1 ? ",\n " : "");
		put_text(b, text);
	}
	begins[ELEMENTS] = b->size;
	put_text(b, "],\"last\":{}}");
}

static void take_elements(struct reader *r, uint32_t *seen)
{
	int e;

	while ((e = pasta_cursor_element(&r->c)) > 0) {
		uint32_t i;

		e = pasta_cursor_value(&r->c);
		assert_true(e >= 0);
		i = e ? 0 : pasta_jsontape_get(&r->c.tape, 0, "i");
		if (!i || r->c.tape.tokens[i].size != 1 || !pasta_jsontape_get(&r->c.tape, 0, "s"))
			continue;
		i = (uint32_t)(*pasta_jsontape_text(&r->c.tape, i).at - '0');
		if (i < ELEMENTS) {
			assert_true(*seen < 1u << i);
			*seen |= 1u << i;
		}
	}
	assert_int_equal(e, 0);
}

/* Returns a mask of the elements that were read; each at most once, and in order. */
static uint32_t read_elements(struct reader *r)
{
	struct pasta_slice key;
	uint32_t seen = 0;
	int e;

	r->c.recover = true;
	r->c.is_element = is_element;
	assert_int_equal(pasta_cursor_enter(&r->c), 0);
	while ((e = pasta_cursor_key(&r->c, &key)) > 0) {
		if (!pasta_slice_is(key, "list") || pasta_cursor_peek(&r->c) != '[') {
			assert_int_equal(pasta_cursor_skip(&r->c), 0);
			continue;
		}
		assert_int_equal(pasta_cursor_enter(&r->c), 0);
		take_elements(r, &seen);
	}
	assert_int_equal(e, 0);
	do {
		assert_int_equal(pasta_cursor_end(&r->c), 0);
		e = pasta_cursor_rescue(&r->c);
		if (e)
			take_elements(r, &seen);
	} while (e);
	assert_int_equal(r->err.code, 0);
	return seen;
}

/* Still valid with another meaning: the damage cannot be detected. */
static bool is_valid(const struct bytes *b)
{
	struct pasta_jsontape tape = {0};
	struct bytes copy = {0};
	const char *what;
	size_t used;
	bool valid;

	put(&copy, b->data, b->size);
	put(&copy, "\0\0\0\0\0\0\0", 8);
	valid = !pasta_jsontape_parse(&tape, (char *)copy.data, b->size, true, &used, &what) &&
		used == b->size;
	pasta_jsontape_free(&tape);
	free(copy.data);
	return valid;
}

/* All elements except first to last must be read. */
static void check_recover(const struct bytes *b, uint32_t first, uint32_t last)
{
	uint32_t all = (1u << ELEMENTS) - 1,
		 missing = all & ((2u << last) - 1) & ~((1u << first) - 1);
	struct reader *r = open_text(b->data, b->size, 1 + random_below(400));
	uint32_t seen = read_elements(r);

	if ((seen | missing) != all)
		fail_msg("%#x came of %.*s", seen, (int)b->size, b->data);
	if (!is_valid(b) != (r->c.damaged != 0))
		fail_msg("%d damaged parts were counted: %.*s", (int)r->c.damaged, (int)b->size,
			 b->data);
	close_text(r);
}

static uint32_t element_at(const size_t begins[ELEMENTS + 1], size_t at)
{
	uint32_t i = 0;

	while (i < ELEMENTS - 1 && begins[i + 1] <= at)
		i++;
	return i;
}

static void damage_of_one_element_costs_no_other(void **state)
{
	static const char bytes[] = "{}[]\",:\\-x \x01\xff";
	size_t begins[ELEMENTS + 1];
	struct bytes whole = {0}, b = {0};

	make_elements(&whole, begins);
	for (size_t at = begins[BEFORE]; at < begins[AFTER]; at++) {
		for (size_t k = 0; k < 2 * sizeof(bytes); k++) {
			bool insert = k >= sizeof(bytes);
			char byte = k ? bytes[(k - 1) % sizeof(bytes)] : 0;

			/* This would begin an array around the following elements. */
			if (byte == '[' && (at == begins[BEFORE] || at > begins[AFTER] - 4))
				continue;
			b.size = 0;
			put(&b, whole.data, at);
			put(&b, &byte, k != 0); /* the first case removes the byte */
			put(&b, whole.data + at + !insert, whole.size - at - !insert);
			/* Damage between two elements may also hide the begin of the next one. */
			check_recover(&b, BEFORE, at > begins[AFTER] - 4 ? AFTER : BEFORE);
		}
	}
	free(whole.data);
	free(b.data);
}

static void a_hole_of_any_size_costs_what_it_touches(void **state)
{
	size_t begins[ELEMENTS + 1];
	struct bytes whole = {0}, b = {0};

	make_elements(&whole, begins);
	for (int i = 0; i < (support_slow ? 1500 : 8000); i++) {
		size_t at = begins[1] + random_below(begins[ELEMENTS - 2] - begins[1]);
		size_t n = 1 + random_below(begins[ELEMENTS - 1] - at);
		bool zeros = random_below(2);

		b.size = 0;
		put(&b, whole.data, at);
		for (size_t k = 0; zeros && k < n; k++)
			put(&b, "", 1);
		put(&b, whole.data + at + n, whole.size - at - n);
		check_recover(&b, element_at(begins, at), element_at(begins, at + n - 1));
	}
	free(whole.data);
	free(b.data);
}

static void the_part_before_a_cut_is_read(void **state)
{
	size_t begins[ELEMENTS + 1];
	struct bytes b = {0};

	make_elements(&b, begins);
	for (size_t n = begins[0]; n <= b.size; n++) {
		struct bytes cut = {b.data, n, n};

		if (n > begins[ELEMENTS])
			check_recover(&cut, ELEMENTS, ELEMENTS);
		else
			check_recover(&cut, element_at(begins, n - (n > begins[0])), ELEMENTS - 1);
	}
	free(b.data);
}

static void damage_before_the_array_does_not_cost_its_elements(void **state)
{
	size_t begins[ELEMENTS + 1], list;
	struct bytes whole = {0}, b = {0};

	make_elements(&whole, begins);
	list = begins[0];
	for (size_t at = 1; at < list; at++) {
		/* At the begin of the array, a quote also hides the first element's begin. */
		uint32_t missing = at == list - 1 ? 0 : ELEMENTS;

		for (size_t k = 0; k < 3; k++) {
			b.size = 0;
			put(&b, whole.data, at);
			put(&b, &"\x01\"{"[k], 1);
			put(&b, whole.data + at + 1, whole.size - at - 1);
			if (!is_valid(&b))
				check_recover(&b, missing, missing);
		}
	}
	free(whole.data);
	free(b.data);
}

static void bytes_that_were_passed_over_are_counted(void **state)
{
	static const char text[] = "[{\"i\":1},{\"i\":oops,\"x\":[}],{\"i\":2},{\"i\":3";
	struct reader *r = open_text(text, sizeof(text) - 1, 5);

	r->c.recover = true;
	r->c.is_element = is_element;
	assert_int_equal(read_all(r), 0);
	assert_int_equal(r->c.damaged, 2);
	/* From the damaged element's second byte to the next element, and to the end. */
	assert_int_equal(r->c.damaged_bytes, strlen("\"i\":oops,\"x\":[}],") + strlen("\"i\":3"));
	close_text(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_texts_are_the_same_through_windows_of_any_size),
		cmocka_unit_test(values_that_are_skipped_leave_the_others_as_they_are),
		cmocka_unit_test(members_at_the_end_of_a_real_window_are_whole),
		cmocka_unit_test(white_space_may_be_longer_than_the_window),
		cmocka_unit_test(only_what_is_looked_at_must_fit_into_the_window),
		cmocka_unit_test(errors_name_their_byte_and_are_final),
		cmocka_unit_test(an_invalid_token_is_reported_by_its_byte),
		cmocka_unit_test(loose_arrays_may_lack_their_end_and_have_a_comma_before_it),
		cmocka_unit_test(a_loose_array_is_not_looser_than_that),
		cmocka_unit_test(damage_of_one_element_costs_no_other),
		cmocka_unit_test(a_hole_of_any_size_costs_what_it_touches),
		cmocka_unit_test(the_part_before_a_cut_is_read),
		cmocka_unit_test(damage_before_the_array_does_not_cost_its_elements),
		cmocka_unit_test(bytes_that_were_passed_over_are_counted),
	};

	random_begin();
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
