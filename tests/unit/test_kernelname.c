/* test_kernelname.c - short names of kernels, for real names and for any bytes. */
/* labels: onethread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "process/io/utf8.h"
#include "process/sdk/kernelname.h"
#include "unit/kernelnames.h"

static void is(const char *name, const char *expected)
{
	char text[PASTA_KERNELNAME_SIZE];
	size_t size = pasta_kernelname_short(name, text, sizeof(text));

	assert_string_equal(text, expected);
	assert_int_equal(size, strlen(text));
}

static void real_names_have_their_expected_short_names(void **state)
{
	size_t count = sizeof(kernelnames) / sizeof(*kernelnames);

	assert_true(count >= 60);
	for (size_t i = 0; i < count; i++)
		is(kernelnames[i].name, kernelnames[i].expected);
}

static void names_of_libraries_that_no_trace_has_follow_their_grammars(void **state)
{
	is("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
	   "gemm f16 tn 128x128x32 ampere");
	is("ampere_h16816gemm_128x64_ldg8_stages_64x3_nn", "gemm f16 nn 128x64x64 ampere");
	is("volta_dgemm_64x64_nt", "gemm f64 nt 64x64 volta");
	is("volta_scudnn_128x64_relu_interior_nn_v1", "conv+relu f32 nn 128x64 volta");
	is("void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x64_32x4_tn_"
	   "align8>(cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x64_32x4_tn_align8::Params)",
	   "gemm+relu f16 tn 256x64x32 sm80");
	is("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN", "gemm f16 tnn 128x256x64");
	is("Cijk_Alik_Bjlk_HHS_BH_MT32x64x16_SN", "gemm f16 tt 32x64x16 tensile");
	is("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	   "nccl AllReduce Sum f32 RING LL");
	is("triton_poi_fused_add_mul_relu_0", "triton_poi_fused_add_mul_relu_0");
	is("triton_red_fused_native_layer_norm_3_0d1d2d3de",
	   "triton_red_fused_native_layer_norm_3");
	is("void flash_bwd_dq_dk_dv_loop_kernel<Flash_bwd_kernel_traits<64, 128, cutlass::half_t> "
	   ">(Flash_bwd_params)",
	   "flash_bwd_dq_dk_dv_loop_kernel f16");
}

static void functions_lose_their_return_type_namespaces_and_parameters(void **state)
{
	is("saxpy", "saxpy");
	is("saxpy_kernel(float*, int)", "saxpy_kernel");
	is("void saxpy<float>(float*, int)", "saxpy f32");
	is("unsigned int* lib::detail::scan_kernel<unsigned long>(int)", "scan u64");
	is("void lib::(anonymous namespace)::f<double>(int) [clone .1]", "f f64");
	is("void gemv::kernel<int, int, float>(int)", "gemv f32");
	is("lib::g(int)::{lambda(int)#1}::operator()(int) const", "g");
	is("void f<(a > b)>(int)", "f");
	is("void f<&a::operator->, float>(int)", "f f32");
	is("std::enable_if<!(false), void>::type a::b::kernel<float>(int)", "b f32");
	is("a name with blanks", "a name with blanks");
	is("aten::mm", "aten::mm");
	is("a\n\"b\"", "a\n\"b\"");
	is("", "");
	is("(", "(");
	is("<<<>>>", "<<<>>>");
	is("_Z", "_Z");
	is("_Z3fooPf", "foo");
	is("_ZN3abc3fooIfEEvPT_", "foo");
	is("_Z99999999999999999999foo", "_Z99999999999999999999foo");
	is("nvjet_", "nvjet_");
	is("Cijk_", "Cijk_");
	is("cutlass_", "cutlass_");
	is("cudnn_generated_fort_native_", "cudnn_generated_fort_native_");
}

static void a_long_name_is_cut_in_the_middle(void **state)
{
	char text[PASTA_KERNELNAME_SIZE], name[5001];

	is("abcdefghijklmnopqrstuvwxyz0123456789ABCD", "abcdefghijklmnopqrstuvwxyz0123456789ABCD");
	is("abcdefghijklmnopqrstuvwxyz0123456789ABCDE", "abcdefghijklmnopqrs…vwxyz0123456789ABCDE");
	memset(name, 'x', 5000);
	name[0] = 'a';
	name[4999] = 'z';
	name[5000] = '\0';
	pasta_kernelname_short(name, text, sizeof(text));
	assert_string_equal(text, "axxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxz");
}

static void the_result_is_cut_between_code_points_if_the_buffer_is_small(void **state)
{
	char text[8];

	assert_int_equal(pasta_kernelname_short("größe(int)", text, 4), 2);
	assert_string_equal(text, "gr");
	assert_int_equal(pasta_kernelname_short("größe(int)", text, 5), 4);
	assert_string_equal(text, "grö");
	assert_int_equal(pasta_kernelname_short("größe(int)", text, 1), 0);
	assert_string_equal(text, "");
}

/* A random text of pieces that have a meaning, and of any bytes. */
static void random_name(char *name, size_t size, unsigned int *seed)
{
	static const char *const pieces[] = {"<",
					     ">",
					     "(",
					     ")",
					     "{",
					     "}",
					     "::",
					     ", ",
					     " ",
					     "-",
					     "operator",
					     "void ",
					     "float",
					     "unsigned ",
					     "bool",
					     "elementwise_kernel",
					     "reduce_kernel",
					     "Kernel",
					     "kernel",
					     "multi_tensor_apply_kernel",
					     "BinaryOpScalarFunctor",
					     "OpaqueType<4>",
					     "lambda",
					     "gpu_kernel_impl",
					     "_xmma_gemm_",
					     "cutlass_",
					     "Cijk_",
					     "nvjet_sm90_",
					     "128x64",
					     "_",
					     "nn",
					     "bf16f32",
					     "_ZN",
					     "I",
					     "Li64E",
					     "9",
					     "S_",
					     "GemmShape",
					     "(anonymous",
					     "nccl",
					     "igemm_",
					     "LoadWithCast<",
					     "\xff",
					     "ö",
					     "\n",
					     "sm"};
	size_t at = 0;

	while (at + 40 < size && rand_r(seed) % 60)
		at += (size_t)sprintf(
			name + at, "%s",
			pieces[(size_t)rand_r(seed) % (sizeof(pieces) / sizeof(*pieces))]);
	name[at] = '\0';
}

static void any_text_has_a_short_name_that_is_valid_and_short(void **state)
{
	char name[4096], text[PASTA_KERNELNAME_SIZE];
	unsigned int seed = 1;

	for (int i = 0; i < 20000; i++) {
		size_t length = 0, size;

		random_name(name, sizeof(name), &seed);
		size = pasta_kernelname_short(name, text, sizeof(text));
		assert_true(size < sizeof(text) && size == strlen(text));
		assert_true(pasta_utf8_valid(text, size));
		for (const char *p = text; p < text + size; length++)
			pasta_utf8_next(&p, text + size);
		assert_true(length <= PASTA_KERNELNAME_WIDTH);
		assert_true(!*name == !size);
	}
}

static double seconds_of(const char *piece, size_t times)
{
	char *name = malloc(strlen(piece) * times + 40), text[PASTA_KERNELNAME_SIZE];
	struct timespec from, to;
	size_t at;

	assert_non_null(name);
	at = (size_t)sprintf(name, "void f::elementwise_kernel<");
	for (size_t i = 0; i < times; i++)
		at += (size_t)sprintf(name + at, "%s", piece);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	pasta_kernelname_short(name, text, sizeof(text));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	free(name);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* 1 MB would take minutes in quadratic time. */
static void the_time_is_linear_in_the_length(void **state)
{
	static const char *const pieces[] = {
		"a",	      "a::", "(", "<",	 "<>", "(a)",	"a<b>::",     "a ",
		"{}",	      "_Z9", "9", "nn_", "->", "bool,", "operator()", "gpu_kernel_impl<",
		"OpaqueType<"};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		assert_true(seconds_of(pieces[i], (1 << 20) / strlen(pieces[i])) < 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_names_have_their_expected_short_names),
		cmocka_unit_test(names_of_libraries_that_no_trace_has_follow_their_grammars),
		cmocka_unit_test(functions_lose_their_return_type_namespaces_and_parameters),
		cmocka_unit_test(a_long_name_is_cut_in_the_middle),
		cmocka_unit_test(the_result_is_cut_between_code_points_if_the_buffer_is_small),
		cmocka_unit_test(any_text_has_a_short_name_that_is_valid_and_short),
		cmocka_unit_test(the_time_is_linear_in_the_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
