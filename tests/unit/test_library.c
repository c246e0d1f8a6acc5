/* test_library.c - tests which source files belong to Python's libraries. */
/* labels: onethread */
#include "unit/support.h"

#include "process/join/library.h"

static void files_of_packages_and_of_the_standard_library_belong_to_libraries(void **state)
{
	static const char *const files[] = {
		"/home/u/.venv/lib/python3.12/site-packages/torch/nn/modules/linear.py",
		"/usr/lib/python3/dist-packages/numpy/core/fromnumeric.py",
		"/usr/lib/python3.11/contextlib.py",
		"/usr/lib64/python3.9/threading.py",
		"/opt/conda/lib/python3.10/concurrent/futures/thread.py",
		"/usr/lib/python311.zip/runpy.py",
		"C:\\Python311\\Lib\\site-packages\\torch\\_tensor.py",
		"/opt/share/accelprof/python/accelprof/_record.py",
		/* without their folder, as in traces of PyTorch's profiler */
		"torch/nn/modules/module.py",
		"transformers/models/gpt2/modeling_gpt2.py",
		"contextlib.py",
		"multiprocessing/pool.py",
		"PIL/Image.py",
		"zipimport.py",
		"site-packages/mine/a.py",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!pasta_library_has(files[i]))
			fail_msg("%s", files[i]);
}

static void other_files_belong_to_the_program(void **state)
{
	static const char *const files[] = {
		"/home/u/train.py",
		"/home/u/torch/train.py",
		"train.py",
		"models/gpt2.py",
		"torchtrain/train.py",
		"torch_train.py",
		"tor/train.py",
		"test.py",
		"./torch.d/x.py",
		"/work/site-packages",
		"/work/my-site-packages/a.py",
		"/work/python3/a.py",
		"/work/lib/pythonic/a.py",
		"/work/lib/python/a.py",
		"",
		"/",
		"//",
		".py",
		"py",
		"a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (pasta_library_has(files[i]))
			fail_msg("%s", files[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_packages_and_of_the_standard_library_belong_to_libraries),
		cmocka_unit_test(other_files_belong_to_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
