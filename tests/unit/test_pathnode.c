/* test_pathnode.c - call paths of interpreters: encodes nodes, reads them from shards, forges them.
 */
/* labels: onethread */
#include "unit/support.h"

#include "core/pathnode.h"
#include "core/shardwriter.h"
#include "core/strings.h"

enum { DEPTH = 4096, STACKS = 8 };

/* -- Valid shards -- */

static struct pasta_shardwriter *writer(const char *name)
{
	struct pasta_shard_head head = {.raw = RAW_0, .real = REAL_0, .pid = 1};
	struct pasta_error err = {0};
	struct pasta_shardwriter *w = pasta_shardwriter_new(in_dir(name), &head, &err);

	if (!w)
		fail_msg("%s", err.text);
	return w;
}

static uint32_t text_id(struct pasta_shardwriter *w, const char *text)
{
	return text ? pasta_shardwriter_str(w, text) : 0;
}

static uint32_t call(struct pasta_shardwriter *w, uint32_t parent, const char *function,
		     const char *file, uint32_t line)
{
	struct pasta_pathnode node = {parent, text_id(w, function), text_id(w, file), line};
	uint8_t bytes[PASTA_PATHNODE_SIZE];

	pasta_pathnode_encode(&node, bytes);
	return pasta_shardwriter_intern(w, bytes, sizeof(bytes));
}

static struct pasta_event launch_with(uint32_t stack)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(launch),
				 .kind = PASTA_KIND_LAUNCH,
				 .tid = 1,
				 .time = RAW_0 + 10};

	ev.launch.stack = stack;
	return ev;
}

static void close_with(struct pasta_shardwriter *w, uint32_t stack)
{
	struct pasta_event ev = launch_with(stack);

	assert_int_equal(pasta_shardwriter_event(w, 1, &ev), 0);
	assert_int_equal(pasta_shardwriter_close(w, NULL), 0);
}

/* Reads the stacks of a shard's launches, and checks their number. */
static void read_stacks(const char *name, uint32_t *stacks, size_t count)
{
	struct pasta_stream *s = open_stream(in_dir(name));
	const struct pasta_event *ev;
	size_t n = 0;

	while ((ev = pasta_stream_next(s)))
		if (ev->kind == PASTA_KIND_LAUNCH) {
			assert_true(n < count);
			stacks[n++] = ev->launch.stack;
		}
	pasta_stream_free(s);
	assert_int_equal(n, count);
}

/* Returns a path as text, innermost first: "f (a.py:3) < g (b.py:4)". */
static const char *path_text(uint32_t ref)
{
	static char text[4096];
	struct pasta_stack_frame frames[64];
	size_t n = pasta_stack_frames(0, ref, frames, 64), at = 0;
	char one[200];

	text[0] = '\0';
	for (size_t i = 0; i < n && i < 64; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " < " : "",
				       pasta_stack_frame_text(&frames[i], one, sizeof(one)));
	return text;
}

/* -- Forged shards: strings with arbitrary bytes and ids -- */

static void put_node(struct bytes *b, uint32_t id, struct pasta_pathnode node)
{
	uint8_t payload[PASTA_PATHNODE_SIZE + 8], bytes[PASTA_PATHNODE_SIZE];
	size_t size, n;
	const void *frame;

	pasta_pathnode_encode(&node, bytes);
	size = pasta_encode_string(payload, bytes, sizeof(bytes));
	frame = pasta_encode_plain(support_encoder(), PASTA_FRAME_STRINGS, payload, size, id, 1,
				   &n);
	put(b, frame, n);
}

static void begin_forged(struct bytes *b)
{
	put_head(b, 1, REAL_0);
	put_schema(b, NULL, 0);
}

static void end_forged(struct bytes *b, const uint32_t *ids, size_t count, uint32_t *stacks)
{
	struct pasta_event events[STACKS];

	assert_true(count <= STACKS);
	for (size_t i = 0; i < count; i++)
		events[i] = launch_with(ids[i]);
	put_frame(b, events, count, (struct pasta_frame_meta){.source = 1});
	save(b, b->size, in_dir("forged.pst"));
	free(b->data);
	read_stacks("forged.pst", stacks, count);
}

/* -- Tests -- */

static void a_node_is_its_two_first_bytes_and_four_numbers(void **state)
{
	static const uint8_t expected[PASTA_PATHNODE_SIZE] = {
		0xff, 'P', 4, 3, 2, 1, 8, 7, 6, 5, 0xff, 0xff, 0xff, 0xff, 12, 0, 0, 0};
	struct pasta_pathnode node = {0x01020304, 0x05060708, UINT32_MAX, 12}, back;
	uint8_t bytes[PASTA_PATHNODE_SIZE + 1] = {0};

	(void)state;
	pasta_pathnode_encode(&node, bytes);
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_true(pasta_pathnode_decode(bytes, PASTA_PATHNODE_SIZE, &back));
	assert_memory_equal(&back, &node, sizeof(node));
	assert_false(pasta_pathnode_decode(bytes, PASTA_PATHNODE_SIZE - 1, &back));
	assert_false(pasta_pathnode_decode(bytes, PASTA_PATHNODE_SIZE + 1, &back));
	assert_false(pasta_pathnode_decode(bytes, 0, &back));
	bytes[1] = 'Q';
	assert_false(pasta_pathnode_decode(bytes, PASTA_PATHNODE_SIZE, &back));
	assert_false(pasta_pathnode_decode("eighteen of a text", PASTA_PATHNODE_SIZE, &back));
}

static void equal_paths_of_shards_with_other_ids_have_equal_refs(void **state)
{
	static const char *const name[] = {"a.pst", "b.pst"};
	uint32_t stacks[2], inner;
	size_t size;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct pasta_shardwriter *w = writer(name[i]);

		for (int k = 0; k < 7 * i; k++) { /* so that ids differ */
			char other[16];

			snprintf(other, sizeof(other), "other %d", k);
			call(w, 0, other, i ? "forward" : NULL, 9);
		}
		inner = call(w, 0, "<module>", "/home/me/train.py", 40);
		inner = call(w, inner, "step", "/home/me/train.py", 12);
		inner = call(w, inner, "forward", "lib/torch/nn/linear.py", 116);
		inner = call(w, inner, "<built-in function linear>", NULL, 0);
		close_with(w, inner);
	}
	read_stacks(name[0], &stacks[0], 1);
	read_stacks(name[1], &stacks[1], 1);
	assert_int_not_equal(stacks[0], 0);
	assert_int_equal(stacks[0], stacks[1]);
	pasta_bytes(stacks[0], &size);
	assert_int_equal(size, PASTA_PATHNODE_SIZE);
	assert_string_equal(path_text(stacks[0]),
			    "<built-in function linear> < forward (linear.py:116) < "
			    "step (train.py:12) < <module> (train.py:40)");
}

static void frames_have_the_known_fields_and_the_rest_is_empty(void **state)
{
	struct pasta_shardwriter *w = writer("a.pst");
	struct pasta_stack_frame f[3];
	uint32_t stack;
	char text[64];

	(void)state;
	stack = call(w, 0, NULL, "lib/x.py", 3);
	stack = call(w, stack, "f", "lib/x.py", 0);
	close_with(w, call(w, stack, "g", NULL, 0));
	read_stacks("a.pst", &stack, 1);
	assert_int_equal(pasta_stack_frames(77, stack, f, 3), 3);
	assert_string_equal(f[0].function, "g");
	assert_string_equal(f[0].file, "");
	assert_string_equal(f[0].module, "");
	assert_int_equal(f[0].offset, 0);
	assert_string_equal(pasta_stack_frame_text(&f[0], text, sizeof(text)), "g");
	assert_string_equal(f[1].file, "lib/x.py");
	assert_int_equal(f[1].line, 0);
	assert_string_equal(pasta_stack_frame_text(&f[1], text, sizeof(text)), "f (x.py)");
	assert_string_equal(pasta_stack_frame_text(&f[2], text, sizeof(text)), "x.py:3");
	/* Fewer frames than the path has, and none. */
	assert_int_equal(pasta_stack_frames(77, stack, f, 1), 3);
	assert_int_equal(pasta_stack_frames(77, stack, NULL, 0), 3);
}

static void an_id_that_is_not_defined_before_a_node_counts_as_none(void **state)
{
	static const char *const names[] = {"early"}, *const late[] = {"late"};
	static const uint32_t ids[] = {2, 3, 4, 5};
	struct bytes b = {0};
	uint32_t stacks[4];

	(void)state;
	begin_forged(&b);
	put_strings(&b, 1, 1, names);
	put_node(&b, 2, (struct pasta_pathnode){2, 1, 99999999, 7});   /* itself */
	put_node(&b, 3, (struct pasta_pathnode){4, 1, 6, 8});	       /* forward */
	put_node(&b, 4, (struct pasta_pathnode){UINT32_MAX, 6, 6, 9}); /* undefined */
	put_node(&b, 5, (struct pasta_pathnode){3, 1, 0, UINT32_MAX}); /* valid */
	put_strings(&b, 6, 1, late);
	end_forged(&b, ids, 4, stacks);
	assert_string_equal(path_text(stacks[0]), "early");
	assert_string_equal(path_text(stacks[1]), "early");
	assert_string_equal(path_text(stacks[2]), "(unknown)");
	assert_string_equal(path_text(stacks[3]), "early < early");
}

static void ids_that_are_defined_again_make_no_loop(void **state)
{
	static const char *const names[] = {"f", "g"};
	static const uint32_t ids[] = {3, 4};
	struct bytes b = {0};
	uint32_t stacks[2];

	(void)state;
	begin_forged(&b);
	put_strings(&b, 1, 2, names);
	put_node(&b, 3, (struct pasta_pathnode){4, 1, 0, 0});
	put_node(&b, 4, (struct pasta_pathnode){3, 2, 0, 0});
	put_node(&b, 3,
		 (struct pasta_pathnode){
			 4, 1, 0, 0}); /* would be a loop if the reader used the shard's ids */
	put_node(&b, 4, (struct pasta_pathnode){3, 2, 0, 0});
	end_forged(&b, ids, 2, stacks);
	assert_string_equal(path_text(stacks[0]), "f < g < f");
	assert_string_equal(path_text(stacks[1]), "g < f < g < f");
}

static void bytes_that_were_interned_as_they_are_make_no_loop_either(void **state)
{
	struct pasta_pathnode node = {.function = pasta_strings_add("self", 4)};
	uint8_t bytes[PASTA_PATHNODE_SIZE];
	uint32_t next;

	(void)state;
	/* The next string gets the next id. */
	next = pasta_strings_add("the last one", 12) + 1;
	node.parent = next;
	pasta_pathnode_encode(&node, bytes);
	assert_int_equal(pasta_strings_add(bytes, sizeof(bytes)), next);
	assert_string_equal(path_text(next), "self");
	node.parent = UINT32_MAX;
	pasta_pathnode_encode(&node, bytes);
	assert_string_equal(path_text(pasta_strings_add(bytes, sizeof(bytes))), "self");
}

static void a_caller_that_is_not_a_node_ends_the_path(void **state)
{
	static const char *const names[] = {"f", "\xffPsixteen of text", "12345678"};
	static const uint32_t ids[] = {4, 5, 2, 6};
	struct bytes b = {0};
	uint32_t stacks[4];

	(void)state;
	assert_int_equal(strlen(names[1]), PASTA_PATHNODE_SIZE - 1);
	begin_forged(&b);
	put_strings(&b, 1, 3, names);
	put_node(&b, 4, (struct pasta_pathnode){2, 1, 0, 0});
	put_node(&b, 5, (struct pasta_pathnode){3, 1, 0, 0}); /* addresses */
	put_node(&b, 6, (struct pasta_pathnode){0, 4, 0, 0}); /* a node as a name */
	end_forged(&b, ids, 4, stacks);
	assert_string_equal(path_text(stacks[0]), "f");
	assert_string_equal(path_text(stacks[1]), "f");
	assert_string_equal(path_text(stacks[2]), "");
	assert_int_equal(pasta_stack_frames(0, stacks[3], NULL, 0), 1);
}

static void a_deep_path_has_its_innermost_frames(void **state)
{
	static struct pasta_stack_frame frames[DEPTH + 10];
	struct pasta_shardwriter *w = writer("a.pst");
	uint32_t stack = 0;

	(void)state;
	for (uint32_t i = 1; i <= DEPTH + 5; i++)
		stack = call(w, stack, "f", "f.py", i);
	close_with(w, stack);
	read_stacks("a.pst", &stack, 1);
	assert_int_equal(pasta_stack_frames(0, stack, frames, DEPTH + 10), DEPTH);
	for (uint32_t i = 0; i < DEPTH; i++)
		assert_int_equal(frames[i].line, DEPTH + 5 - i);
	assert_null(frames[DEPTH].function);
}

/* Arbitrary ids, defined in any order, some twice: every path ends, and every text is valid. */
static void forged_nodes_never_cause_a_loop_or_a_bad_read(void **state)
{
	enum { NODES = 200, IDS = 60 };
	uint32_t ids[STACKS], stacks[STACKS];

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct bytes b = {0};

		begin_forged(&b);
		for (int i = 0; i < NODES; i++)
			put_node(&b, 1 + (uint32_t)random_below(IDS),
				 (struct pasta_pathnode){(uint32_t)random_below(IDS + 5),
							 (uint32_t)random_below(IDS + 5),
							 (uint32_t)random_below(IDS + 5),
							 (uint32_t)random_u64()});
		for (int i = 0; i < STACKS; i++)
			ids[i] = 1 + (uint32_t)random_below(IDS);
		end_forged(&b, ids, STACKS, stacks);
		for (int i = 0; i < STACKS; i++) {
			size_t n = pasta_stack_frames(0, stacks[i], NULL, 0);

			assert_property(n <= NODES);
			assert_property(!n == !stacks[i]);
			assert_property(!n == !*path_text(stacks[i]));
		}
	}
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_is_its_two_first_bytes_and_four_numbers),
		IN_DIR(equal_paths_of_shards_with_other_ids_have_equal_refs),
		IN_DIR(frames_have_the_known_fields_and_the_rest_is_empty),
		IN_DIR(an_id_that_is_not_defined_before_a_node_counts_as_none),
		IN_DIR(ids_that_are_defined_again_make_no_loop),
		IN_DIR(bytes_that_were_interned_as_they_are_make_no_loop_either),
		IN_DIR(a_caller_that_is_not_a_node_ends_the_path),
		IN_DIR(a_deep_path_has_its_innermost_frames),
		IN_DIR(forged_nodes_never_cause_a_loop_or_a_bad_read),
	};

	random_begin();
	return cmocka_run_group_tests_name("pathnode", tests, NULL, NULL);
}
