/* test_demangle.c - C++ names are demangled at a bounded cost. */
#include "unit/support.h"

#include <time.h>

#include "process/join/demangle.h"

enum { LEVELS = 200, IMPATIENT_S = 20 };

static char *demangled(const char *name)
{
	char *text = pasta_demangle(name, strlen(name));

	if (!text && !pasta_demangle("_Z1fv", 5))
		skip(); /* there is no libstdc++ */
	return text;
}

static void assert_reads(const char *name, const char *want)
{
	char *text = demangled(name);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static void names_are_read(void **state)
{
	(void)state;
	assert_reads("_Z1fv", "f()");
	assert_reads("_ZN2at6native4copyIfEEvPT_", "void at::native::copy<float>(float*)");
	assert_null(pasta_demangle("main", 4));
	assert_null(pasta_demangle("_Z1f\0v", 6));
}

/* A name with many references to its own parts, whose result could be long. */
static void names_with_many_references_are_read(void **state)
{
	(void)state;
	assert_reads(
		"_ZN4c10d7ReducerC1ESt6vectorIN2at6TensorESaIS3_EES1_IS1_ImSaImEESaIS7_EES7_"
		"N3c1013intrusive_ptrINS_12ProcessGroupENSA_6detail34intrusive_target_default_"
		"null_typeISC_EEEES1_IbSaIbEEl",
		"c10d::Reducer::Reducer(std::vector<at::Tensor, std::allocator<at::Tensor> >, "
		"std::vector<std::vector<unsigned long, std::allocator<unsigned long> >, "
		"std::allocator<std::vector<unsigned long, std::allocator<unsigned long> > > >, "
		"std::vector<unsigned long, std::allocator<unsigned long> >, "
		"c10::intrusive_ptr<c10d::ProcessGroup, "
		"c10::detail::intrusive_target_default_null_type<c10d::ProcessGroup> >, "
		"std::vector<bool, std::allocator<bool> >, long)");
}

static size_t put_reference(char *to, unsigned int number)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return (size_t)(number < 36
				? sprintf(to, "S%c_", digits[number])
				: sprintf(to, "S%c%c_", digits[number / 36], digits[number % 36]));
}

/* f(pair<int, int>, pair<that, that>, ...): each level doubles the result. */
static void names_that_stand_for_terabytes_are_left_as_they_are(void **state)
{
	char name[LEVELS * 12 + 32] = "_Z1fSt4pairIiiE";
	struct timespec begun, ended;
	char *text = demangled("_Z1fv");

	(void)state;
	free(text);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (unsigned int i = 0; i < LEVELS; i++) {
		char *end = name + strlen(name);

		end += sprintf(end, "S_I");
		end += put_reference(end, i);
		end += put_reference(end, i);
		strcpy(end, "E");
		text = pasta_demangle(name, strlen(name));
		assert_true(!text || strlen(text) < 1 << 16);
		free(text);
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	assert_in_range(ended.tv_sec - begun.tv_sec, 0, IMPATIENT_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read),
		cmocka_unit_test(names_with_many_references_are_read),
		cmocka_unit_test(names_that_stand_for_terabytes_are_left_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
