/* test_cl_random.c - the accesses of random kernels equal those of an interpreter on the host. */
/* timeout: 240 */
/* labels: notsan */
#include "unit/randomkernel.h"

#ifdef __SANITIZE_ADDRESS__
enum { PROGRAMS = 2, KERNELS = 8 }; /* more would take too long to compile */
#else
enum { PROGRAMS = 5, KERNELS = 8 };
#endif

static struct clt_counts expected[CLT_LINES][CLT_WHERE];
static struct rk_kernel kernels[KERNELS];
static char *source;

/* Prints the source with line numbers; cmocka would truncate it. */
static void show(void)
{
	unsigned int line = 1;

	for (const char *s = source, *end; *s; s = end + 1) {
		end = strchrnul(s, '\n');
		fprintf(stderr, "%4u %.*s\n", line++, (int)(end - s), s);
		if (!*end)
			break;
	}
}

static void *memory_of(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	assert_non_null(p);
	return memset(p, 0, bytes);
}

/* Fills a buffer with integers, in the buffer's type. */
static void fill(const struct rk_kernel *k, int buffer, unsigned char *p)
{
	const enum rk_type types[] = {k->in[0], k->in[1], RK_INT, k->out, RK_INT, RK_INT};

	for (uint32_t i = 0; i < k->count[buffer]; i++) {
		struct rk_struct s = {.a = (int32_t)rk_random(100), .f = (float)rk_random(100)};

		for (int j = 0; j < 3; j++)
			s.s[j] = (int16_t)rk_random(100);
		if (buffer == RK_STRUCTS || buffer == RK_MINE)
			memcpy(p + i * sizeof(s), &s, sizeof(s));
		else
			rk_poke(types[buffer], p + i * rk_types[types[buffer]].size, rk_random(100),
				false);
	}
}

static size_t bytes_of(const struct rk_kernel *k, int buffer)
{
	const size_t sizes[] = {rk_types[k->in[0]].size,  rk_types[k->in[1]].size,
				sizeof(struct rk_struct), rk_types[k->out].size,
				sizeof(struct rk_struct), 4};

	return k->count[buffer] * sizes[buffer];
}

static void check_counts(const struct rk_kernel *k)
{
	for (unsigned int line = 0; line < CLT_LINES; line++)
		for (int i = 0; i < CLT_WHERE; i++) {
			const struct clt_counts *a = &expected[line][i], *b = &clt_seen[line][i];

			if (!memcmp(a, b, sizeof(*a)))
				continue;
			show();
			fail_msg("SEED=%llu, %s, line %u, memory %d: %llu loads of %llu bytes and "
				 "%llu stores of %llu; by the interpreter %llu of %llu and %llu of "
				 "%llu",
				 (unsigned long long)support_seed_, k->name, line, i,
				 (unsigned long long)b->loads, (unsigned long long)b->load_bytes,
				 (unsigned long long)b->stores, (unsigned long long)b->store_bytes,
				 (unsigned long long)a->loads, (unsigned long long)a->load_bytes,
				 (unsigned long long)a->stores, (unsigned long long)a->store_bytes);
		}
}

static void run_one(const struct rk_kernel *k, cl_program program)
{
	static struct rk_world w;
	struct clt_launch l = {.kernel = k->name, .dims = k->dims};

	w = (struct rk_world){.k = k, .did = expected};
	memset(expected, 0, sizeof(expected));
	for (int i = 0; i < CLT_BUFFERS; i++) {
		l.bytes[i] = bytes_of(k, i);
		l.memory[i] = memory_of(l.bytes[i]);
		w.memory[i] = memory_of(l.bytes[i]);
		fill(k, i, w.memory[i]);
		memcpy(l.memory[i], w.memory[i], l.bytes[i]);
	}
	memcpy(l.offset, k->offset, sizeof(l.offset));
	memcpy(l.global, k->global, sizeof(l.global));
	memcpy(l.local, k->size, sizeof(l.local));
	l.local_bytes = k->local_argument ? k->group * rk_types[k->local].size : 0;
	rk_interpret(&w);
	clt_run(&l, program);
	assert_int_equal(clt_items, k->items);
	check_counts(k);
	for (int i = 0; i < CLT_BUFFERS; i++) {
		if (memcmp(l.memory[i], w.memory[i], l.bytes[i]) != 0) {
			show();
			fail_msg("SEED=%llu, %s: argument %d is not what it is to be",
				 (unsigned long long)support_seed_, k->name, i);
		}
		free(l.memory[i]);
		free(w.memory[i]);
	}
}

static void run_program(uint64_t seed)
{
	struct rk_text t = {.line = 1};
	cl_program program;
	size_t size;

	support_seed_ = support_random_ = seed;
	rk_used = 0;
	t.f = open_memstream(&source, &size);
	assert_non_null(t.f);
	rk_write_library(&t);
	for (int i = 0; i < KERNELS; i++) {
		rk_make(&kernels[i], i);
		rk_write_kernel(&t, &kernels[i]);
	}
	assert_true(t.line < CLT_LINES);
	fclose(t.f);
	program = clt_build(source);
	for (int i = 0; i < KERNELS; i++)
		run_one(&kernels[i], program);
	clReleaseProgram(program);
	free(source);
}

/* Environment: SEED is the first seed; PROGRAMS is the number of programs, of eight kernels each.
 */
static void random_kernels_access_memory_as_the_interpreter_does(void **state)
{
	const char *text = getenv("PROGRAMS");
	uint64_t count = text ? strtoull(text, NULL, 0) : PROGRAMS, first;

	random_begin();
	first = support_seed_;
	for (uint64_t i = 0; i < count; i++)
		run_program(first + i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_kernels_access_memory_as_the_interpreter_does),
	};

	return clt_find() ? cmocka_run_group_tests(tests, clt_open, clt_close) : 77;
}
