/* kernelkind.c - classifies kernels by their names, which follow the conventions of the libraries
 * that contain the kernels. */
#include "process/diagnosis/kernelkind.h"

#include <ctype.h>
#include <string.h>

/* Part of a name, in lower case, and the flags that it shows. */
static const struct {
	const char *part;
	uint32_t flags;
} kernelkind_parts[] = {
	/* NCCL and RCCL */
	{"nccldevkernel", PASTA_WORK_COLLECTIVE},
	{"ncclkernel", PASTA_WORK_COLLECTIVE},
	{"nccldevfunc", PASTA_WORK_COLLECTIVE},
	{"rcclkernel", PASTA_WORK_COLLECTIVE},
	{"rccldevkernel", PASTA_WORK_COLLECTIVE},
	/* cuBLAS, cuDNN and CUTLASS state the matrix instruction: s884 and h1688 for Volta and
	 * Turing, s16816 for Ampere, tensorop in general */
	{"tensorop", PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
	{"884", PASTA_WORK_TENSOR_CORE},
	{"1688", PASTA_WORK_TENSOR_CORE},
	{"16816", PASTA_WORK_TENSOR_CORE},
	{"16832", PASTA_WORK_TENSOR_CORE},
	{"hmma", PASTA_WORK_TENSOR_CORE},
	{"imma", PASTA_WORK_TENSOR_CORE},
	{"wgmma", PASTA_WORK_TENSOR_CORE},
	{"nvjet", PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
	{"tf32", PASTA_WORK_TENSOR_CORE},
	{"xmma_gemm_f16", PASTA_WORK_TENSOR_CORE},
	{"xmma_gemm_bf16", PASTA_WORK_TENSOR_CORE},
	{"xmma_gemm_e4m3", PASTA_WORK_TENSOR_CORE},
	{"xmma_gemm_e5m2", PASTA_WORK_TENSOR_CORE},
	{"xmma_gemm_i8", PASTA_WORK_TENSOR_CORE},
	{"implicit_gemm_f16", PASTA_WORK_TENSOR_CORE},
	{"implicit_gemm_bf16", PASTA_WORK_TENSOR_CORE},
	{"implicit_gemm_indexed_f16", PASTA_WORK_TENSOR_CORE},
	{"implicit_gemm_indexed_bf16", PASTA_WORK_TENSOR_CORE},
	{"fmha_cutlassf_f16", PASTA_WORK_TENSOR_CORE},
	{"fmha_cutlassf_bf16", PASTA_WORK_TENSOR_CORE},
	{"fmha_cutlassb_f16", PASTA_WORK_TENSOR_CORE},
	{"fmha_cutlassb_bf16", PASTA_WORK_TENSOR_CORE},
	{"flash_fwd", PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
	{"flash_bwd_dq_dk_dv", PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
	{"flash::", PASTA_WORK_MATRIX},
	{"fmha", PASTA_WORK_MATRIX},
	{"gemm", PASTA_WORK_MATRIX},
	{"gemv", PASTA_WORK_MATRIX},
	{"conv2d", PASTA_WORK_MATRIX},
	{"wgrad", PASTA_WORK_MATRIX},
	{"dgrad", PASTA_WORK_MATRIX},
	{"fprop", PASTA_WORK_MATRIX},
	{"winograd", PASTA_WORK_MATRIX},
	/* Tensile, of rocBLAS and hipBLASLt: MI is the matrix instruction */
	{"cijk_", PASTA_WORK_MATRIX},
	{"igemm_fwd_gtcx", PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
	/* conversions between nchw and nhwc in cuDNN and MIOpen */
	{"nchwtonhwc", PASTA_WORK_LAYOUT},
	{"nhwctonchw", PASTA_WORK_LAYOUT},
	{"nchw2nhwc", PASTA_WORK_LAYOUT},
	{"nhwc2nchw", PASTA_WORK_LAYOUT},
	{"nchwtofoldednhwc", PASTA_WORK_LAYOUT},
	{"foldednhwctonchw", PASTA_WORK_LAYOUT},
	{"batched_transpose_", PASTA_WORK_LAYOUT},
	/* PyTorch */
	{"elementwise_kernel", PASTA_WORK_ELEMENTWISE},
	{"triton_poi_", PASTA_WORK_ELEMENTWISE},
};

uint32_t pasta_kernelkind_flags(const char *name)
{
	char text[1024];
	uint32_t flags = 0;
	size_t size = 0;

	for (; size < sizeof(text) - 1 && name[size]; size++)
		text[size] = (char)tolower((unsigned char)name[size]);
	text[size] = '\0';
	for (size_t i = 0; i < sizeof(kernelkind_parts) / sizeof(*kernelkind_parts); i++)
		if (strstr(text, kernelkind_parts[i].part))
			flags |= kernelkind_parts[i].flags;
	/* Tensile kernels use matrix cores if their name has MI with a size, such as MI16x16x16. */
	if (strstr(name, "Cijk_") &&
	    (strstr(name, "_MI16x") || strstr(name, "_MI32x") || strstr(name, "_MI4x")))
		flags |= PASTA_WORK_TENSOR_CORE;
	/* Digits such as 884 also occur in other kernels' template arguments. */
	if (!(flags & PASTA_WORK_MATRIX))
		flags &= ~(uint32_t)PASTA_WORK_TENSOR_CORE;
	return flags;
}
