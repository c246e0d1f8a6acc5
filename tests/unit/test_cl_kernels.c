/* test_cl_kernels.c - the accesses of known kernels equal formulas, line by line. */
/* timeout: 120 */
/* labels: notsan */
#include "unit/cltrace.h"

#include "programs/cl_kernels.h"

static struct clt_counts expected[CLT_LINES][CLT_WHERE];

static int where_of(enum where where)
{
	static const int others[] = {
		[LOCAL] = CLT_LOCAL, [PRIVATE] = CLT_PRIVATE, [CONSTANT] = CLT_CONSTANT};

	return where < BUFFERS_MAX ? (int)where : others[where];
}

static void expect_kernel(const struct known *k)
{
	memset(expected, 0, sizeof(expected));
	for (const struct row *r = k->rows; r < k->rows + ROWS && r->mark; r++) {
		struct clt_counts *c = &expected[line_of(r->mark)][where_of(r->where)];

		assert_int_not_equal(line_of(r->mark), 0);
		c->loads += r->loads;
		c->stores += r->stores;
		c->load_bytes += r->loads * r->size;
		c->store_bytes += r->stores * r->size;
	}
}

static void check(const char *kernel)
{
	for (int line = 0; line < CLT_LINES; line++)
		for (int i = 0; i < CLT_WHERE; i++) {
			const struct clt_counts *a = &expected[line][i], *b = &clt_seen[line][i];

			if (memcmp(a, b, sizeof(*a)) != 0)
				fail_msg("%s, line %d, memory %d: %llu loads and %llu stores, "
					 "not %llu and %llu",
					 kernel, line, i, (unsigned long long)b->loads,
					 (unsigned long long)b->stores,
					 (unsigned long long)a->loads,
					 (unsigned long long)a->stores);
		}
}

static void each_line_accesses_each_memory_as_its_formula_predicts(void **state)
{
	cl_program program = clt_build(known_source);

	for (size_t i = 0; i < KNOWN; i++) {
		const struct known *k = &known[i];
		struct clt_launch l = {.kernel = k->name,
				       .dims = k->dims,
				       .local_bytes = k->local_bytes,
				       .number = k->number};

		memcpy(l.offset, k->offset, sizeof(l.offset));
		memcpy(l.global, k->global, sizeof(l.global));
		memcpy(l.local, k->local, sizeof(l.local));
		for (int b = 0; b < BUFFERS_MAX && k->bytes[b]; b++) {
			l.bytes[b] = k->bytes[b];
			l.memory[b] = aligned_alloc(4096, (k->bytes[b] + 4095) / 4096 * 4096);
			assert_non_null(l.memory[b]);
			memset(l.memory[b], 1, k->bytes[b]);
		}
		clt_run(&l, program);
		expect_kernel(k);
		check(k->name);
		for (int b = 0; b < BUFFERS_MAX; b++)
			free(l.memory[b]);
	}
	clReleaseProgram(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_accesses_each_memory_as_its_formula_predicts),
	};

	return clt_find() ? cmocka_run_group_tests(tests, clt_open, clt_close) : 77;
}
