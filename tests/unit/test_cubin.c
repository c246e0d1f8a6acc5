/* test_cubin.c - the reader of CUDA binaries finds what the compiler wrote. */
/* labels: onethread */
/* timeout: 120 */
#include "unit/support.h"

#include "handlers/sanitizer/cubinline.h"
#include "unit/cubinops.h"

struct file {
	uint8_t *bytes;
	size_t size;
};

static struct file read_whole(const char *path)
{
	struct file f = {0};
	FILE *in = fopen(path, "rb");

	if (!in)
		fail_msg("%s cannot be read", path);
	f.bytes = malloc(1 << 20);
	assert_non_null(f.bytes);
	f.size = fread(f.bytes, 1, 1 << 20, in);
	fclose(in);
	return f;
}

static struct file golden(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/unit/cubin/%s.cubin",
		 getenv("SRC") ? getenv("SRC") : ".", name);
	return read_whole(path);
}

/* Overwrites and frees the bytes, so that a test fails if the cubin still uses them. */
static struct pasta_cubin *open_file(struct file f)
{
	struct pasta_error err = {0};
	struct pasta_cubin *c = pasta_cubin_new(f.bytes, f.size, &err);

	if (!c)
		fail_msg("%s", err.text);
	memset(f.bytes, 0xee, f.size);
	free(f.bytes);
	return c;
}

static const struct pasta_cubin_function *find(const struct pasta_cubin *c, const char *name)
{
	const struct pasta_cubin_function *f = pasta_cubin_find(c, name);

	if (!f)
		fail_msg("%s is not there", name);
	return f;
}

/* -- Functions -------------------------------------------------------------------------------- */

static void functions_are_found_by_their_names(void **state)
{
	struct pasta_cubin *c = open_file(golden("lines"));

	assert_int_equal(pasta_cubin_sm(c), 90);
	assert_int_equal(pasta_cubin_count(c), 3);
	for (size_t i = 0; i < pasta_cubin_count(c); i++)
		assert_ptr_equal(find(c, pasta_cubin_at(c, i)->name), pasta_cubin_at(c, i));
	assert_null(pasta_cubin_at(c, 3));
	assert_null(pasta_cubin_find(c, "third"));
	assert_null(pasta_cubin_find(c, ""));
	assert_null(pasta_cubin_find(c, "firs"));
	assert_null(pasta_cubin_find(c, "first "));
	assert_true(find(c, "first")->kernel);
	pasta_cubin_free(c);
}

static void the_architecture_is_known_in_the_head_of_cuda_13_and_of_those_before(void **state)
{
	struct pasta_cubin *c = open_file(golden("turing"));
	struct pasta_cubin *old = open_file(golden("turing_old"));
	struct pasta_cubin *newest = open_file(golden("turing_120"));

	assert_int_equal(pasta_cubin_sm(c), 75);
	assert_int_equal(pasta_cubin_sm(old), 75);
	assert_int_equal(pasta_cubin_sm(newest), 120);
	pasta_cubin_free(newest);
	pasta_cubin_free(old);
	pasta_cubin_free(c);
}

static void a_function_that_a_kernel_calls_lies_in_its_section(void **state)
{
	struct pasta_cubin *c = open_file(golden("lines"));
	const struct pasta_cubin_function *kernel = find(c, "second");
	const struct pasta_cubin_function *called = find(c, "$second$_Z6calledf");

	assert_false(called->kernel);
	assert_int_equal(called->section, kernel->section);
	assert_int_equal(called->code, kernel->code + called->start);
	assert_true(called->code + called->size <= kernel->code + kernel->size);
	pasta_cubin_free(c);
}

static void functions_outside_of_kernels_are_counted_separately(void **state)
{
	struct pasta_cubin *c = open_file(golden("called")), *other = open_file(golden("lines"));

	assert_int_equal(find(c, "calls")->mix.tensor_copies, 0);
	assert_int_equal(pasta_cubin_called(c)->tensor_copies, 1);
	assert_int_equal(pasta_cubin_called(other)->all,
			 0); /* the code of $second is part of second */
	pasta_cubin_free(c);
	pasta_cubin_free(other);
}

static void code_is_at_the_offset_of_its_function(void **state)
{
	struct file f = golden("lines");
	struct pasta_error err = {0};
	struct pasta_cubin *c = pasta_cubin_new(f.bytes, f.size, &err);
	const struct pasta_cubin_function *called;
	struct pasta_cubin_mix mix;

	assert_non_null(c);
	called = find(c, "first");
	assert_true(called->code + called->size <= f.size);
	assert_true(pasta_cubin_classify(90, f.bytes + called->code, called->size, &mix));
	assert_memory_equal(&mix, &called->mix, sizeof(mix));
	assert_int_equal(mix.all, called->size / 16);
	pasta_cubin_free(c);
	free(f.bytes);
}

/* -- Lines ------------------------------------------------------------------------------------ */

/* The lines in the order of the code, without repeats; 0 after the last. */
static void assert_lines(struct pasta_cubin *c, const char *function, const uint32_t *lines)
{
	const struct pasta_cubin_function *f = find(c, function);
	struct pasta_cubin_line line = {0};
	uint32_t last = 0;

	for (uint64_t at = 0; at < f->size; at += 16) {
		assert_true(pasta_cubin_line(c, f, at, &line));
		assert_string_equal(line.file, "/src/lines.cu");
		if (line.line != last)
			assert_int_equal(line.line, *lines++);
		last = line.line;
	}
	assert_int_equal(*lines, 0);
	assert_false(pasta_cubin_line(c, f, f->size, &line));
	assert_false(pasta_cubin_line(c, f, UINT64_MAX - 7, &line));
}

static void each_instruction_has_its_line_and_inlined_ones_their_own(void **state)
{
	struct pasta_cubin *c = open_file(golden("lines"));

	assert_lines(c, "first", (const uint32_t[]){12, 14, 16, 18, 4, 17, 19, 0});
	assert_lines(c, "second", (const uint32_t[]){21, 23, 24, 9, 0});
	assert_lines(c, "$second$_Z6calledf", (const uint32_t[]){9, 0});
	pasta_cubin_free(c);
}

static void code_without_a_line_table_has_no_lines(void **state)
{
	struct pasta_cubin *c = open_file(golden("params"));
	struct pasta_cubin_line line;

	assert_false(pasta_cubin_line(c, find(c, "few"), 0, &line));
	pasta_cubin_free(c);
}

/* Makes a line table of one unit: its head, with the lists, then the program. */
static void put_unit(struct bytes *b, uint16_t version, const struct bytes *lists,
		     const void *program, size_t size)
{
	static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	const uint8_t five[] = {8, 0}, head[] = {16, 1, 1, (uint8_t)-3, 12, 13};
	size_t extra = version == 5 ? 2 : 0, before = version < 4 ? 5 : 6;
	uint32_t header = (uint32_t)(before + sizeof(lengths) + lists->size);
	uint32_t length = (uint32_t)(2 + extra + 4 + header + size);

	put(b, &length, 4);
	put(b, &version, 2);
	put(b, five, extra);
	put(b, &header, 4);
	put(b, head, 1);
	put(b, head + 6 - (before - 1), before - 1);
	put(b, lengths, sizeof(lengths));
	put(b, lists->data, lists->size);
	put(b, program, size);
}

/* One sequence: line 7 of file 2 for two instructions, then line 300 of file 1 for one. */
static const uint8_t program[] = {
	0, 9, 2,    0, 0, 0,	0, 0, 0, 0, 0, /* the address, set by the relocation */
	4, 2, 3,    6, 1,		       /* file 2, line + 6, a row */
	0, 3, 0x90, 1, 2,		       /* an unknown opcode */
	2, 2, 4,    1, 3, 0xa5, 2, 1,	       /* two on, file 1, line + 293, a row */
	2, 1, 0,    1, 1,		       /* one on, the end */
};

static void assert_table(uint16_t version, const struct bytes *lists, const char *names,
			 size_t names_size, const char *one, const char *two)
{
	const struct pasta_cubin_bytes texts[] = {{(const uint8_t *)names, names_size}, {NULL, 0}};
	struct pasta_cubin_fix *fixes = calloc(2, sizeof(*fixes));
	struct pasta_cubin_lines *l;
	struct pasta_cubin_line line = {0};
	struct bytes b = {0};

	put_unit(&b, version, lists, program, sizeof(program));
	assert_non_null(fixes);
	fixes[0] = (struct pasta_cubin_fix){.at = b.size + 100};
	fixes[1] = (struct pasta_cubin_fix){
		.at = b.size - sizeof(program) + 3, .value = 64, .section = 5};
	l = pasta_cubin_lines_new((struct pasta_cubin_bytes){b.data, b.size}, texts, fixes, 2, 100);
	free(b.data);
	assert_non_null(l);
	assert_false(pasta_cubin_lines_find(l, 5, 63, &line));
	assert_false(pasta_cubin_lines_find(l, 4, 64, &line));
	assert_true(pasta_cubin_lines_find(l, 5, 80, &line));
	assert_int_equal(line.line, 7);
	assert_string_equal(line.file, two);
	assert_true(pasta_cubin_lines_find(l, 5, 96, &line));
	assert_int_equal(line.line, 300);
	assert_string_equal(line.file, one);
	assert_false(pasta_cubin_lines_find(l, 5, 112, &line));
	pasta_cubin_lines_free(l);
}

static void line_tables_of_version_2_to_4_are_read(void **state)
{
	static const char lists[] = "/dir\0sub\0\0" /* folders */
				    "one.cu\0\1\0\0"
				    "/abs/two.cuh\0\2\0\0";
	struct bytes b = {0};

	put(&b, lists, sizeof(lists));
	for (uint16_t version = 2; version <= 4; version++)
		assert_table(version, &b, NULL, 0, "/dir/one.cu", "/abs/two.cuh");
	free(b.data);
}

static void line_tables_of_version_5_are_read(void **state)
{
	static const char names[] = "/build\0sub\0one.cu\0two.cu";
	static const uint8_t lists[] = {
		1,  1, 0x1f, 2,			  /* folders: a name elsewhere; two of them */
		0,  0, 0,    0, 7,    0, 0,    0, /* /build, sub */
		3,  1, 0x1f, 2, 0x0b, 5, 0x1e, 3, /* files: name, folder, sum; three of them */
		11, 0, 0,    0, 0,    0, 0,    0, 0, 0, 0,
		0,  0, 0,    0, 0,    0, 0,    0, 0, 0, /* one.cu */
		11, 0, 0,    0, 0,    0, 0,    0, 0, 0, 0,
		0,  0, 0,    0, 0,    0, 0,    0, 0, 0, /* again */
		18, 0, 0,    0, 1,    0, 0,    0, 0, 0, 0,
		0,  0, 0,    0, 0,    0, 0,    0, 0, 0, /* sub/two.cu */
	};
	struct bytes b = {0};

	put(&b, lists, sizeof(lists));
	assert_table(5, &b, names, sizeof(names), "/build/one.cu", "/build/sub/two.cu");
	free(b.data);
}

static void assert_params(const struct pasta_cubin *c, const char *kernel, size_t size,
			  size_t count, const struct pasta_cubin_param *params)
{
	const struct pasta_cubin_function *f = find(c, kernel);

	assert_true(f->params_known);
	assert_int_equal(f->params_size, size);
	assert_int_equal(f->params_count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(f->params[i].offset, params[i].offset);
		assert_int_equal(f->params[i].size, params[i].size);
	}
}

/* -- Instructions ----------------------------------------------------------------------------- */

static void assert_mix(const char *name, struct pasta_cubin_mix wanted)
{
	struct pasta_cubin *c = open_file(golden(name));
	const struct pasta_cubin_function *f = find(c, "classes");
	const uint32_t *have = (const uint32_t *)&f->mix, *want = (const uint32_t *)&wanted;

	assert_true(f->mix_known);
	assert_int_equal(f->mix.all, f->size / 16);
	wanted.all = f->mix.all;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*want); i++)
		if (have[i] != want[i])
			fail_msg("%s: count %zu is %u, not %u", name, i, have[i], want[i]);
	pasta_cubin_free(c);
}

/* On sm_75 the compiler emits two versions of the reduction: one is for a single thread. */
static void instructions_are_counted_by_class(void **state)
{
	struct pasta_cubin_mix turing = {.global_loads = 2,
					 .global_stores = 4,
					 .generic_loads = 1,
					 .generic_stores = 1,
					 .atomics = 4,
					 .shared = 2,
					 .local = 2,
					 .matrix = 1,
					 .barriers = 1};
	/* The compiler adds seven loads of shared memory whose result is unused. */
	const struct pasta_cubin_mix hopper = {.generic_loads = 1,
					       .generic_stores = 1,
					       .atomics = 1,
					       .shared = 7,
					       .async_copies = 2,
					       .bulk_copies = 2,
					       .tensor_copies = 4,
					       .prefetches = 2,
					       .matrix = 1,
					       .barriers = 3,
					       .mbarriers = 1};

	assert_mix("turing", turing);
	assert_mix("turing_old", turing);
	turing.atomics = 3;
	assert_mix("turing_120", turing);
	assert_mix("hopper", hopper);
	assert_mix("hopper_100", hopper);
}

static void instructions_of_unknown_devices_are_not_guessed(void **state)
{
	static const uint8_t code[32];
	struct pasta_cubin_mix mix = {.all = 77};

	assert_false(pasta_cubin_classify(61, code, sizeof(code), &mix));
	assert_false(pasta_cubin_classify(130, code, sizeof(code), &mix));
	assert_int_equal(mix.all, 77);
	assert_true(pasta_cubin_classify(121, code, sizeof(code) - 1, &mix));
	assert_int_equal(mix.all, 1);
}

static bool has(const struct cubin_op *op, unsigned int sm)
{
	return op->sm % 1000 <= sm && (op->sm < 1000 || op->sm / 1000 >= sm);
}

static void write_ops(const char *path, unsigned int sm, const char *target)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, ".version 8.8\n.target %s\n.address_size 64\n.const .align 4 .b8 C[1024];\n",
		target);
	for (const struct cubin_op *op = cubin_ops;
	     op < cubin_ops + sizeof(cubin_ops) / sizeof(*op); op++) {
		if (!has(op, sm))
			continue;
		fprintf(f,
			".visible .entry %s(.param .u64 a, .param .u32 b, .param .u64 d,\n"
			".param .f32 z) {\n.reg .b64 %%rd<16>; .reg .b32 %%r<16>; .reg .f32 %%f<8>;\n"
			".reg .f64 %%fd<4>; .reg .b16 %%rs<4>; .reg .pred %%p<4>;\n"
			"ld.param.u64 %%rd1, [a]; ld.param.u64 %%rd3, [d]; not.b64 %%rd4, %%rd3;\n"
			"ld.param.u32 %%r2, [b]; mov.u32 %%r1, %%tid.x; setp.eq.u32 %%p1, %%r1, 5;\n",
			op->name);
		for (int r = 3; r <= 10; r++)
			fprintf(f, "add.u32 %%r%d, %%r2, %d;\n", r, 16 * r);
		fprintf(f,
			"ld.param.f32 %%f2, [z]; mov.f32 %%f1, %%f2; mov.f32 %%f3, %%f2;\n"
			"mov.f32 %%f4, %%f2; cvt.f64.f32 %%fd2, %%f2;\n%s\nret; }\n",
			op->ptx);
	}
	assert_int_equal(fclose(f), 0);
}

/* Instructions that the compiler may add: a store that uses a result, loads of shared memory with
 * an unused result around cp.async, and on sm_120 the stack of the call that makes a copy. */
static bool added(size_t at)
{
	return at == offsetof(struct pasta_cubin_mix, global_stores) ||
	       at == offsetof(struct pasta_cubin_mix, shared) ||
	       at == offsetof(struct pasta_cubin_mix, local);
}

static void check_op(const struct cubin_op *op, const struct pasta_cubin_mix *mix, unsigned int sm)
{
	const uint32_t *have = (const uint32_t *)mix;

	for (size_t i = 1; i < sizeof(*mix) / sizeof(*have); i++) {
		size_t at = i * sizeof(*have);
		bool asked = at == op->at[0] || at == op->at[1];

		if (!asked && added(at))
			continue;
		if (have[i] != (asked ? op->count : 0))
			fail_msg("%s on sm_%u: %u of count %zu, not %u", op->name, sm, have[i], i,
				 asked ? op->count : 0);
	}
}

static void check_ops(const struct pasta_cubin *c, unsigned int sm)
{
	static const struct pasta_cubin_param params[] = {{0, 8}, {8, 4}, {16, 8}, {24, 4}};

	for (const struct cubin_op *op = cubin_ops;
	     op < cubin_ops + sizeof(cubin_ops) / sizeof(*op); op++) {
		if (!has(op, sm))
			continue;
		check_op(op, &find(c, op->name)->mix, sm);
		assert_params(c, op->name, 28, 4, params);
	}
}

static void what_ptxas_makes_of_each_instruction_is_in_its_class(void **state)
{
	static const char *const targets[] = {"sm_75",	"sm_80",   "sm_86",   "sm_89",
					      "sm_90a", "sm_100a", "sm_120a", "sm_121a"};
	char command[512], why[512];

	if (system("ptxas --list-version 2>/dev/null | grep -q 8[.]8") != 0) {
		print_message("no ptxas, or one before CUDA 12.9: nothing is compiled\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		unsigned int sm = (unsigned int)atoi(targets[i] + 3);
		struct pasta_cubin *c;

		write_ops(in_dir("ops.ptx"), sm, targets[i]);
		snprintf(command, sizeof(command), "ptxas -arch=%s %s -o %s >%s 2>&1", targets[i],
			 in_dir("ops.ptx"), in_dir("ops.cubin"), in_dir("why"));
		if (system(command) != 0) {
			struct file f = read_whole(in_dir("why"));

			snprintf(why, sizeof(why), "%.*s", (int)f.size, (char *)f.bytes);
			free(f.bytes);
			fail_msg("ptxas: %s", why);
		}
		c = open_file(read_whole(in_dir("ops.cubin")));
		assert_int_equal(pasta_cubin_sm(c), sm);
		check_ops(c, sm);
		pasta_cubin_free(c);
	}
}

/* -- Parameters ------------------------------------------------------------------------------- */

static void parameters_have_their_offsets_and_sizes(void **state)
{
	struct pasta_cubin *c = open_file(golden("params"));

	assert_params(c, "none", 0, 0, NULL);
	assert_params(
		c, "few", 28, 5,
		(const struct pasta_cubin_param[]){{0, 8}, {8, 4}, {16, 8}, {24, 1}, {25, 3}});
	/* The bank begins at 0x210 of sm_90, and a tensor map lies at a multiple of 128. */
	assert_params(c, "map", 248, 2, (const struct pasta_cubin_param[]){{112, 128}, {240, 8}});
	assert_params(c, "many", 4112, 2, (const struct pasta_cubin_param[]){{0, 4100}, {4104, 8}});
	pasta_cubin_free(c);
}

/* -- Broken bytes ----------------------------------------------------------------------------- */

static void assert_refused(const void *bytes, size_t size, int code, const char *why)
{
	struct pasta_error err = {0};

	assert_null(pasta_cubin_new(bytes, size, &err));
	assert_int_equal(err.code, code);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not contain \"%s\"", err.text, why);
	assert_null(pasta_cubin_new(bytes, size, NULL));
}

static void a_file_that_is_not_a_cubin_is_refused(void **state)
{
	struct file f = golden("lines");

	assert_refused(NULL, 0, -EINVAL, "not a 64-bit ELF file");
	assert_refused("fat binary", 10, -EINVAL, "not a 64-bit ELF file");
	assert_refused(f.bytes, f.size / 2, -EBADMSG, "truncated");
	f.bytes[18] = 62;
	assert_refused(f.bytes, f.size, -EINVAL, "machine 62");
	free(f.bytes);
}

static void ask_all(struct pasta_cubin *c)
{
	struct pasta_cubin_line line;

	for (size_t i = 0; c && i < pasta_cubin_count(c); i++) {
		const struct pasta_cubin_function *f = pasta_cubin_at(c, i);

		assert_ptr_equal(pasta_cubin_find(c, f->name), f);
		for (uint64_t at = 0; at < f->size && at < 4096; at += 16)
			if (pasta_cubin_line(c, f, at, &line))
				assert_non_null(line.file);
	}
	pasta_cubin_free(c);
}

static void cubins_that_are_cut_off_or_damaged_break_nothing(void **state)
{
	static const char *const names[] = {"lines", "params", "hopper"};

	random_begin();
	for (size_t n = 0; n < 3; n++) {
		struct file f = golden(names[n]);
		struct pasta_cubin *c;
		uint8_t *bytes;

		for (size_t size = 0; size < f.size; size += 1 + random_below(64)) {
			bytes = malloc(size + 1);
			assert_non_null(bytes);
			memcpy(bytes, f.bytes, size);
			c = pasta_cubin_new(bytes, size, NULL);
			/* Only the program headers, which nothing here needs, may be missing. */
			assert_true(!c || size > f.size * 9 / 10);
			ask_all(c);
			free(bytes);
		}
		for (int i = 0; i < (support_slow ? 2000 : 20000); i++) {
			size_t at = random_below(f.size);
			uint8_t was = f.bytes[at];

			f.bytes[at] = (uint8_t)random_u64();
			c = pasta_cubin_new(f.bytes, f.size, NULL);
			ask_all(c);
			f.bytes[at] = was;
		}
		free(f.bytes);
	}
}

/* Makes symbols that each span the whole section. */
static void code_that_is_named_over_and_over_is_refused_in_time(void **state)
{
	enum { SYMBOLS = 20000, CODE = 1 << 20, NAMES = 8 * SYMBOLS };
	const size_t code = 64 + 4 * 64, names = code + CODE, symbols = names + NAMES;
	const size_t size = symbols + 24 * SYMBOLS;
	uint8_t *b = calloc(1, size);
	uint64_t sections[4][8] = {
		{0},
		{(uint64_t)1 << 32, 4, 0, code, CODE, 0, 16, 0},
		{(uint64_t)3 << 32, 0, 0, names, NAMES, 0, 1, 0},
		{(uint64_t)2 << 32, 0, 0, symbols, 24 * SYMBOLS, 2, 8, 24},
	};

	assert_non_null(b);
	memcpy(b, "\177ELF\2\1\1A\10", 9);
	b[18] = 190; /* machine */
	b[40] = 64;  /* sections follow the head */
	b[49] = 90;  /* sm_90 */
	b[58] = 64;  /* bytes per section header */
	b[60] = 4;   /* sections */
	b[62] = 2;   /* the section with the names */
	memcpy(b + 64, sections, sizeof(sections));
	for (uint32_t i = 1; i < SYMBOLS; i++) {
		uint32_t name = 8 * i;
		uint64_t length = CODE;

		snprintf((char *)b + names + name, 8, "f%u", i);
		memcpy(b + symbols + 24 * i, &name, 4);
		b[symbols + 24 * i + 4] = 2; /* a function */
		b[symbols + 24 * i + 6] = 1; /* of the first section */
		memcpy(b + symbols + 24 * i + 16, &length, 8);
	}
	assert_refused(b, size, -EBADMSG, "overlap");
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_by_their_names),
		cmocka_unit_test(
			the_architecture_is_known_in_the_head_of_cuda_13_and_of_those_before),
		cmocka_unit_test(a_function_that_a_kernel_calls_lies_in_its_section),
		cmocka_unit_test(functions_outside_of_kernels_are_counted_separately),
		cmocka_unit_test(code_is_at_the_offset_of_its_function),
		cmocka_unit_test(each_instruction_has_its_line_and_inlined_ones_their_own),
		cmocka_unit_test(code_without_a_line_table_has_no_lines),
		cmocka_unit_test(line_tables_of_version_2_to_4_are_read),
		cmocka_unit_test(line_tables_of_version_5_are_read),
		cmocka_unit_test(instructions_are_counted_by_class),
		cmocka_unit_test(instructions_of_unknown_devices_are_not_guessed),
		cmocka_unit_test_setup_teardown(
			what_ptxas_makes_of_each_instruction_is_in_its_class, make_dir, remove_dir),
		cmocka_unit_test(parameters_have_their_offsets_and_sizes),
		cmocka_unit_test(a_file_that_is_not_a_cubin_is_refused),
		cmocka_unit_test(cubins_that_are_cut_off_or_damaged_break_nothing),
		cmocka_unit_test(code_that_is_named_over_and_over_is_refused_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
