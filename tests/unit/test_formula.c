/* test_formula.c - tests the parsers of inputs and scalars, and the formulas of operators. */
/* labels: onethread */
#include "unit/support.h"

#include <math.h>

#include "process/diagnosis/formula.h"

static struct pasta_formula of(const char *name, const char *inputs, const char *scalars)
{
	struct pasta_formula f;

	pasta_formula_of(&f, &(struct pasta_formula_texts){name, inputs, scalars, "", ""});
	return f;
}

static void same(double value, double expected)
{
	if (value != expected)
		fail_msg("%.17g, expected %.17g", value, expected);
}

/* Checks FLOPs and bytes. */
static void works(const char *name, const char *inputs, const char *scalars, double flops,
		  double bytes)
{
	struct pasta_formula f = of(name, inputs, scalars);

	if (f.rank == PASTA_FORMULA_NONE)
		fail_msg("%s: no formula", name);
	if (f.flops != flops || f.bytes != bytes)
		fail_msg("%s: %.17g FLOPs, %.17g bytes, expected %.17g, %.17g", name, f.flops,
			 f.bytes, flops, bytes);
}

/* -- Parsers -- */

static void inputs_of_traces_and_of_recorded_runs_mean_the_same(void **state)
{
	static const char *const texts[] = {
		"c10::Half[8,64], Scalar, -, long int[3], double, TensorList[[2,3],[4]]",
		"float16[8,64], , , int64[3], float64, [float32[2,3], float32[4]]",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pasta_optext t;

		pasta_optext_parse(&t, texts[i]);
		assert_int_equal(t.count, 6);
		assert_string_equal(t.args[0].dtype->name, "float16");
		assert_int_equal(t.args[0].dims_count, 2);
		same(t.args[0].dims[1], 64);
		same(t.args[0].bytes, 1024);
		assert_false(t.args[1].tensor);
		assert_false(t.args[2].tensor);
		assert_string_equal(t.args[3].dtype->name, "int64");
		assert_true(t.args[4].tensor);
		same(t.args[4].elements, 1);
		assert_true(t.args[5].list && !t.args[5].tensor);
		same(t.args[5].elements, 10);
		same(t.args[5].bytes, i ? 40 : 0);
		assert_non_null(pasta_optext_tensor(&t, 0, 2));
		assert_null(pasta_optext_tensor(&t, 0, 3));
		assert_null(pasta_optext_tensor(&t, 1, 0));
		assert_null(pasta_optext_tensor(&t, 6, 0));
	}
}

static void an_argument_that_cannot_be_parsed_is_not_a_tensor(void **state)
{
	static const char *const bad[] = {"float32[",
					  "float32[2",
					  "float32[-1]",
					  "float32[a]",
					  "float32[,2]",
					  "[[",
					  "unknown[2]",
					  "float32]2[",
					  "ScalarList",
					  "Scalar",
					  "float32[2,3]x",
					  "GenericList",
					  "float32[1,1,1,1,1,1,1,1,1]"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct pasta_optext t;

		pasta_optext_parse(&t, bad[i]);
		for (size_t j = 0; j < t.count; j++)
			assert_null(pasta_optext_tensor(&t, j, 0));
	}
}

static void scalars_are_read_by_position(void **state)
{
	const char *text = ";;[2, 3];True;-1.5;False;[];x;[1, y]";
	double n[4] = {0};

	(void)state;
	assert_int_equal(pasta_optext_numbers(text, 2, n, 4), 2);
	same(n[1], 3);
	assert_int_equal(pasta_optext_numbers(text, 2, n, 1), 1);
	same(pasta_optext_number(text, 3, 7), 1);
	same(pasta_optext_number(text, 4, 7), -1.5);
	same(pasta_optext_number(text, 5, 7), 0);
	for (size_t at = 6; at < 12; at++)
		same(pasta_optext_number(text, at, 7), at == 8 ? 1 : 7);
	assert_int_equal(pasta_optext_numbers(text, 8, n, 4), 0);
	same(pasta_optext_number(text, 0, 7), 7);
	same(pasta_optext_number("", 0, 7), 7);
	same(pasta_optext_number("nan", 0, 7), 7);
	same(pasta_optext_number("inf", 0, 7), 7);
}

/* -- Formulas -- */

static void tables_are_sorted(void **state)
{
	(void)state;
	for (size_t i = 1; i < pasta_formula_matrix_count; i++)
		assert_true(strcmp(pasta_formula_matrix[i - 1].name, pasta_formula_matrix[i].name) <
			    0);
	for (size_t i = 1; i < pasta_formula_element_count; i++)
		assert_true(strcmp(pasta_formula_element[i - 1].name,
				   pasta_formula_element[i].name) < 0);
	for (size_t i = 1; i < pasta_formula_stream_count; i++)
		assert_true(strcmp(pasta_formula_stream[i - 1].name, pasta_formula_stream[i].name) <
			    0);
}

/* tests/data/flops/calls.py wrote the file, with FLOPs that PyTorch counted. */
static void flops_equal_those_of_pytorch(void **state)
{
	const char *src = getenv("SRC");
	char path[4096], line[4096];
	size_t lines = 0;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/data/flops/calls.tsv", src ? src : ".");
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s: set SRC to the source tree", path);
	for (; fgets(line, sizeof(line), file); lines++) {
		char *save, *name = strtok_r(line, "\t", &save),
			    *inputs = strtok_r(NULL, "\t", &save), *scalars = save,
			    *flops = strrchr(save, '\t');
		struct pasta_formula f;

		*flops++ = '\0';
		f = of(name, inputs, scalars);
		if (f.flops != strtod(flops, NULL) || f.rank != PASTA_FORMULA_MATRIX)
			fail_msg("%s(%s; %s): %.17g FLOPs, expected %s", name, inputs, scalars,
				 f.flops, flops);
	}
	fclose(file);
	assert_true(lines > 400);
}

static void bytes_of_matrix_operators(void **state)
{
	(void)state;
	works("aten::mm", "float[2,3], float[3,5]", ";", 60, 4 * (6 + 15 + 10));
	works("aten::mm", "c10::BFloat16[2,3], c10::BFloat16[3,5]", "", 60, 2 * (6 + 15 + 10));
	works("aten::addmm", "float[5], float[2,3], float[3,5], Scalar, Scalar", ";;;1;1", 60,
	      4 * (6 + 15 + 10 + 5));
	works("aten::addmm", "float[5], float[2,3], float[3,5], Scalar, Scalar", ";;;0;1", 60,
	      4 * (6 + 15 + 10));
	works("aten::linear", "float[4,2,3], float[5,3], float[5]", "", 240,
	      4 * (24 + 15 + 40 + 5));
	works("aten::bmm", "double[7,2,3], double[7,3,5]", "", 420, 8 * 7 * (6 + 15 + 10));
	works("aten::baddbmm", "double[1,2,5], double[7,2,3], double[7,3,5]", ";;;0.5;1", 420,
	      8 * 7 * (6 + 15 + 10 + 10));
	works("aten::mv", "float[4,3], float[3]", "", 24, 4 * (12 + 3 + 4));
	works("aten::dot", "float[3], float[3]", "", 6, 4 * (3 + 3 + 1));
	/* 1 x 2 x 8 x 8 with 4 kernels of 2 x 3 x 3, without padding: 1 x 4 x 6 x 6 */
	works("aten::convolution",
	      "float[1,2,8,8], float[4,2,3,3], float[4], ScalarList, ScalarList, ScalarList, "
	      "Scalar, ScalarList, Scalar",
	      ";;;[1, 1];[0, 0];[1, 1];False;[0, 0];1", 2 * 144 * 18, 4 * (128 + 72 + 144 + 4));
	works("aten::cudnn_convolution", "c10::Half[1,2,8,8], c10::Half[4,2,3,3]",
	      ";;[1, 1];[2, 2];[1, 1];1;False;False;True", 2 * 64 * 18, 2 * (128 + 72 + 64));
	works("aten::mkldnn_convolution", "float[1,2,8,8], float[4,2,3,3], -",
	      ";;;[1, 1];[2, 2];[1, 1];1", 2 * 64 * 18, 4 * (128 + 72 + 64));
	/* without the gradient of the input: reads dy and x, writes dw */
	works("aten::convolution_backward", "float[1,4,6,6], float[1,2,8,8], float[4,2,3,3]",
	      ";;;[4];[1, 1];[0, 0];[1, 1];False;[0, 0];1;[False, True, True]", 2 * 144 * 18,
	      4 * (144 + 128 + 72));
	works("aten::convolution_backward", "float[1,4,6,6], float[1,2,8,8], float[4,2,3,3]",
	      ";;;[4];[1, 1];[0, 0];[1, 1];False;[0, 0];1;[True, True, True]", 4 * 144 * 18,
	      4 * (144 + 72 + 128 + 128 + 72));
	/* 2 x 3 heads of 4 queries and 5 keys of size 8, values of size 16 */
	works("aten::_scaled_dot_product_flash_attention",
	      "c10::Half[2,3,4,8], c10::Half[2,3,5,8], c10::Half[2,3,5,16], Scalar, Scalar, Scalar",
	      ";;;0.0;False;False", 2 * 6 * 20 * 24, 2 * 6 * (32 + 40 + 80 + 64) + 4 * 24);
	/* k and v have one head */
	works("aten::_scaled_dot_product_flash_attention",
	      "c10::Half[2,3,4,8], c10::Half[2,1,5,8], c10::Half[2,1,5,8], Scalar, Scalar, Scalar",
	      ";;;0.0;True;False", 2 * 6 * 10 * 16, 2 * (192 + 2 * 80 + 192) + 4 * 24);
	/* causal, aligned bottom-right, 2 queries and 3 keys: 2 + 3 pairs */
	works("flash_attn::_flash_attn_forward",
	      "float16[1,2,1,8], float16[1,3,1,8], float16[1,3,1,8]", ";;;0.0;1.0;True", 2 * 5 * 16,
	      2 * (16 + 24 + 24 + 16) + 4 * 2);
	works("aten::_scaled_dot_product_flash_attention_backward",
	      "float[1,1,4,8], float[1,1,4,8], float[1,1,4,8], float[1,1,4,8], float[1,1,4,8], "
	      "float[1,1,4]",
	      ";;;;;;;;4;4;0.0;False", 2 * 16 * 40, 4 * (3 * 32 + 2 * 32 + 3 * 32) + 4 * 4);
}

static void bytes_of_other_operators(void **state)
{
	(void)state;
	works("aten::add", "float[4,8], float[4,8], Scalar", ";;1", 32, 3 * 128);
	works("aten::add_", "float[4,8], float[4,8], Scalar", ";;1", 32, 3 * 128);
	/* broadcast: 4 x 8 elements from 8 and from 4 x 1 */
	works("aten::mul", "float[8], float[4,1]", "", 32, 32 + 16 + 128);
	works("aten::mul", "c10::BFloat16[8], double", "", 8, 16 + 8 + 16);
	works("aten::mul", "long int[8], float[8]", "", 8, 64 + 32 + 32);
	works("aten::eq", "float[8], Scalar", "", 8, 32 + 8);
	works("aten::where", "bool[8], float[8], float", "", 8, 8 + 32 + 4 + 32);
	works("aten::gelu", "c10::Half[10], Scalar", ";none", 80, 40);
	works("aten::gelu_backward", "c10::Half[10], c10::Half[10], Scalar", "", 80, 60);
	works("aten::native_dropout", "float[10], Scalar, Scalar", ";0.1;True", 10, 90);
	works("aten::_softmax", "float[2,8], Scalar, Scalar", ";-1;False", 80, 128);
	works("aten::_log_softmax_backward_data", "float[2,8], float[2,8], Scalar, Scalar", "", 80,
	      192);
	works("aten::native_layer_norm", "float[2,4,8], ScalarList, float[8], float[8], Scalar",
	      ";[8];;;1e-05", 320, 2 * 256 + 2 * 8 * 4 + 8 * 8);
	works("aten::native_layer_norm", "float[2,4,8], ScalarList, -, -, Scalar", ";[8];;;1e-05",
	      320, 2 * 256 + 2 * 8 * 4 + 8 * 8);
	works("aten::native_layer_norm_backward",
	      "float[2,8], float[2,8], ScalarList, float[2,1], float[2,1], float[8], float[8]",
	      ";;[8]", 80, 3 * 64 + 2 * 8 * 4 + 8 * 2);
	works("aten::cudnn_batch_norm", "float[2,4,8], float[4], float[4], float[4], float[4]", "",
	      320, 2 * 256 + 2 * 16 + 8 * 4);
	works("aten::embedding", "float[100,16], long int[2,3], Scalar", ";;-1", 0,
	      6 * (8 + 2 * 16 * 4));
	works("aten::embedding_dense_backward", "float[2,3,16], long int[2,3], Scalar", ";;100;-1",
	      96, 6 * 16 * 4 + 6 * 8 + 100 * 16 * 4);
	works("aten::nll_loss_forward", "float[6,100], long int[6], -, Scalar, Scalar", "", 6,
	      6 * 12);
	works("aten::nll_loss_backward", "float, float[6,100], long int[6]", "", 0, 2400 + 48);
	works("aten::index_select", "float[100,16], Scalar, long int[6]", ";0;", 0,
	      48 + 2 * 6 * 16 * 4);
	works("aten::sum", "float[100], ScalarList", "", 100, 400);
	works("aten::copy_", "c10::Half[100], float[100], Scalar", ";;False", 0, 600);
	works("aten::fill_", "float[100], Scalar", ";0", 0, 400);
	works("aten::cat", "[float32[2,3], float32[4]], ", ";0", 0, 80);
	works("aten::max_pool2d_with_indices", "float[1,2,8,8], ScalarList, ScalarList",
	      ";[3, 3];[2, 2];[1, 1];[1, 1];False", 32 * 9, 512 + 32 * 12);
	works("aten::avg_pool2d", "float[1,2,8,8], ScalarList", ";[2, 2];[];[0, 0];False;True",
	      32 * 4, 512 + 128);
	works("aten::_fused_adamw_",
	      "[float32[4]], [float32[4]], [float32[4]], [float32[4]], [], [float32]", "", 60,
	      28 * 4);
	works("aten::_foreach_mul_", "[float32[4], float32[6]], ", "", 10, 80);
	works("aten::_foreach_add", "TensorList[[4],[6]], TensorList[[4],[6]], Scalar", "", 10, 0);
}

static void a_formula_without_its_arguments_counts_nothing(void **state)
{
	static const struct {
		const char *name, *inputs, *scalars;
	} calls[] = {
		{"aten::mm", "float[2,3], float[4,5]", ""},
		{"aten::mm", "", ""},
		{"aten::mm", "float[2,3]", ""},
		{"aten::bmm", "float[2,3,4], float[3,4,5]", ""},
		{"aten::convolution", "float[1,2,8,8], float[4,2,3,3], -", ""},
		{"aten::convolution", "float[1,2,8,8], float[4,2,3,3], -",
		 ";;;[0, 0];[0, 0];[1, 1];False;[0, 0];1"},
		{"aten::embedding_dense_backward", "float[2,3,16], long int[2,3], Scalar", ""},
		{"aten::view", "float[2,3], ScalarList", ";[6]"},
		{"aten::mm",
		 "float[999999999999999999,999999999999999999], "
		 "float[999999999999999999,999999999999999999]",
		 ""},
		{"custom::mm", "float[2,3], float[3,5]", ""},
		{"aten::add_", "", ""},
		{"aten::add_", "Scalar, Scalar", ""},
		{"aten::_fused_adamw_", "", ""},
		{"aten::_foreach_add_", "", ""},
		{"aten::copy_", "", ""},
		{"", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct pasta_formula f = of(calls[i].name, calls[i].inputs, calls[i].scalars);

		if (f.rank || f.flops || f.bytes)
			fail_msg("%s(%s): rank %u, %.17g, %.17g", calls[i].name, calls[i].inputs,
				 f.rank, f.flops, f.bytes);
	}
}

static void recorded_outputs_replace_missing_arguments(void **state)
{
	struct pasta_formula f;

	(void)state;
	pasta_formula_of(&f, &(struct pasta_formula_texts){"aten::convolution",
							   "float[1,2,8,8], float[4,2,3,3], -", "",
							   "float32[1,4,6,6]", ""});
	same(f.flops, 2 * 144 * 18);
	same(f.outputs, 576);
	pasta_formula_of(&f,
			 &(struct pasta_formula_texts){"aten::sum", "float[100]", "", "float", ""});
	same(f.bytes, 404);
}

static void dimensions_of_stride_0_are_read_once(void **state)
{
	struct pasta_formula f;

	(void)state;
	pasta_formula_of(&f, &(struct pasta_formula_texts){"aten::add", "float[4,8], float[4,8]",
							   "", "", ";[0,1]"});
	same(f.flops, 32);
	same(f.bytes, 4 * (32 + 8 + 32));
	pasta_formula_of(&f, &(struct pasta_formula_texts){"aten::add", "float[4,8], float[4,8]",
							   "", "", "[0,0];[0]"});
	same(f.bytes, 4 * (1 + 32 + 32));
}

static void the_working_set_is_all_inputs_and_outputs(void **state)
{
	struct pasta_formula f = of("aten::addmm", "float[5], float[2,3], float[3,5]", "");

	(void)state;
	same(f.working_set, 4 * (5 + 6 + 15 + 10));
	assert_string_equal(f.dtype->name, "float32");
	f = of("aten::relu_", "c10::Half[8]", "");
	same(f.working_set, 16);
	assert_true(f.in_place && f.elementwise);
	f = of("custom::op", "c10::Half[8], long int[2]", "");
	same(f.working_set, 32);
	assert_string_equal(f.dtype->name, "float16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inputs_of_traces_and_of_recorded_runs_mean_the_same),
		cmocka_unit_test(an_argument_that_cannot_be_parsed_is_not_a_tensor),
		cmocka_unit_test(scalars_are_read_by_position),
		cmocka_unit_test(tables_are_sorted),
		cmocka_unit_test(flops_equal_those_of_pytorch),
		cmocka_unit_test(bytes_of_matrix_operators),
		cmocka_unit_test(bytes_of_other_operators),
		cmocka_unit_test(a_formula_without_its_arguments_counts_nothing),
		cmocka_unit_test(recorded_outputs_replace_missing_arguments),
		cmocka_unit_test(dimensions_of_stride_0_are_read_once),
		cmocka_unit_test(the_working_set_is_all_inputs_and_outputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
