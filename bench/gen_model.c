/* gen_model.c - what repeats in a generated run: kernels and operators; and random numbers. */
#include "gen.h"

#define ELEMENTWISE(functor, arrays)                                                               \
	"void at::native::vectorized_elementwise_kernel<4, " functor                               \
	", at::detail::Array<char*, " arrays "> >(int, " functor                                   \
	", at::detail::Array<char*, " arrays ">)"
#define UNROLLED(functor, arrays)                                                                          \
	"void at::native::unrolled_elementwise_kernel<" functor                                            \
	", at::detail::Array<char*, " arrays                                                               \
	">, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1> >(int, " functor \
	", at::detail::Array<char*, " arrays ">)"
#define REDUCE(op, type)                                                                           \
	"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<" type ", at::native::" op    \
	"<" type ">, unsigned int, " type ", 4> >(at::native::ReduceOp<" type ", at::native::" op  \
	"<" type ">, unsigned int, " type ", 4>)"
#define CUTLASS(tile, layout)                                                                      \
	"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_" tile "_" layout     \
	"_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_" tile "_" layout                  \
	"_align8::Params)"
#define MULTI(functor, depth)                                                                      \
	"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"                       \
	"at::native::(anonymous namespace)::TensorListMetadata<" depth ">, " functor ", float>("   \
	"at::native::(anonymous namespace)::TensorListMetadata<" depth ">, " functor ", float)"

/* Tables with one line per entry, which clang-format would break up. */
/* clang-format off */
const struct gen_kernel gen_kernels[] = {
	{"(none)", 0, 0, {0}, {0}, 0, 0, 0, false, false},
	{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", 94000, 9000, {24, 1, 1}, {512, 1, 1}, 96, 42176, 0, false, false},
	/* 2: gemms of even and odd layers, side by side */
	{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", 38200, 3600, {132, 1, 1}, {384, 1, 1}, 168, 0, 213776, true, true},
	{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas", 36900, 3600, {132, 1, 1}, {384, 1, 1}, 168, 0, 213776, true, false},
	{CUTLASS("128x128_64x3", "tn"), 21400, 4100, {96, 8, 1}, {128, 1, 1}, 238, 0, 98304, true, true},
	{CUTLASS("128x256_64x3", "tn"), 20100, 4100, {48, 8, 1}, {256, 1, 1}, 234, 0, 147456, true, false},
	{CUTLASS("256x128_32x3", "nn"), 74100, 3300, {96, 16, 1}, {256, 1, 1}, 230, 0, 73728, true, true},
	{CUTLASS("256x64_32x4", "nn"), 76800, 3300, {96, 32, 1}, {128, 1, 1}, 220, 0, 81920, true, false},
	{CUTLASS("128x64_64x4", "nt"), 69900, 3300, {128, 12, 3}, {128, 1, 1}, 196, 0, 98304, true, true},
	{CUTLASS("64x256_32x4", "nt"), 70800, 3300, {64, 48, 3}, {128, 1, 1}, 204, 0, 81920, true, false},
	/* 10: attention */
	{"void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, true, true, false, false, true, false>(Flash_fwd_params)", 51200, 5200, {16, 8, 12}, {128, 1, 1}, 254, 0, 49152, true, true},
	{"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<64, 64, 256, 4, cutlass::bfloat16_t> >, true, false, false, true, true, false>(Flash_fwd_params)", 53800, 5200, {16, 8, 12}, {128, 1, 1}, 255, 0, 81920, true, false},
	{"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t>, true, true, false, false, true, true>(Flash_bwd_params)", 148300, 4300, {8, 8, 12}, {256, 1, 1}, 255, 0, 147456, true, true},
	{"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, 64, 8, 4, 4, 4, false, false, cutlass::bfloat16_t>, true, true, false, false, true, true>(Flash_bwd_params)", 151900, 4300, {16, 8, 12}, {256, 1, 1}, 255, 0, 114688, true, false},
	{"void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t> >(Flash_bwd_params)", 7300, 7800, {16, 8, 12}, {256, 1, 1}, 66, 0, 0, true, false},
	{"void flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t> >(Flash_bwd_params, int)", 6900, 7800, {16, 8, 12}, {256, 1, 1}, 48, 0, 16384, true, false},
	/* 16: normalization */
	{"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)", 8200, 8200, {8192, 1, 1}, {32, 4, 1}, 40, 24, 0, true, true},
	{"void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16, float>(long, float, c10::BFloat16 const*, float*, float*)", 6100, 8200, {8192, 1, 1}, {512, 1, 1}, 32, 1024, 0, true, false},
	{"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, c10::BFloat16*, int)", 12400, 7900, {8192, 1, 1}, {128, 1, 1}, 56, 0, 512, true, false},
	{"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<c10::BFloat16, float>(long, long, c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, c10::BFloat16*)", 15100, 7900, {24, 1, 1}, {32, 16, 1}, 44, 0, 4352, false, false},
	/* 20: the rest of a layer */
	{ELEMENTWISE("at::native::CUDAFunctor_add<c10::BFloat16>", "3"), 7700, 9400, {12288, 1, 1}, {128, 1, 1}, 32, 0, 0, true, true},
	{UNROLLED("at::native::CUDAFunctor_add<c10::BFloat16>", "3"), 8100, 9400, {24576, 1, 1}, {128, 1, 1}, 34, 0, 0, true, false},
	{ELEMENTWISE("at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}", "2"), 18200, 8800, {49152, 1, 1}, {128, 1, 1}, 38, 0, 0, true, false},
	{ELEMENTWISE("at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}", "3"), 23900, 8800, {49152, 1, 1}, {128, 1, 1}, 42, 0, 0, true, false},
	{ELEMENTWISE("at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >", "3"), 4200, 9900, {6144, 1, 1}, {128, 1, 1}, 24, 0, 0, true, false},
	{"void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, 1, 4, bool>(at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<bool, unsigned int>, unsigned int, float, at::PhiloxCudaState)", 11800, 8600, {792, 1, 1}, {256, 1, 1}, 48, 0, 0, true, false},
	{REDUCE("func_wrapper_t<c10::BFloat16, at::native::sum_functor", "float"), 9600, 9100, {24, 16, 1}, {32, 16, 1}, 46, 16, 2048, true, false},
	{REDUCE("MeanOps<float, float, float", "float"), 5200, 9100, {1, 1, 1}, {512, 1, 1}, 40, 16, 2064, false, false},
	{"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3} const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast)", 9900, 9300, {36864, 1, 1}, {128, 1, 1}, 26, 0, 0, true, false},
	{ELEMENTWISE("at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}", "2"), 6400, 9300, {12288, 1, 1}, {128, 1, 1}, 20, 0, 0, true, false},
	/* 30: the ends of the model */
	{"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, unsigned int, long)", 13300, 8100, {1056, 1, 1}, {128, 1, 1}, 32, 0, 0, true, false},
	{"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)", 88100, 4200, {8192, 1, 1}, {1024, 1, 1}, 32, 0, 4224, true, false},
	{"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, float*, float const*, long const*, float const*, bool, long, long, long, long)", 10700, 7200, {1, 1, 1}, {32, 1, 1}, 38, 256, 0, false, false},
	{"void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(float*, float const*, long const*, float const*, float const*, bool, int, int, long, long)", 4800, 7200, {1, 1, 1}, {32, 1, 1}, 26, 0, 0, false, false},
	{"void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, float, at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(float*, float const*, float const*, long)", 119400, 4200, {8192, 1, 1}, {1024, 1, 1}, 36, 0, 4224, true, false},
	{"void at::native::(anonymous namespace)::embedding_backward_kernel<c10::BFloat16, float, long>(long*, long*, c10::BFloat16*, c10::BFloat16*, long*, int, long, int)", 31700, 6100, {2048, 6, 1}, {32, 4, 1}, 58, 0, 0, true, false},
	{"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, at::cuda::cub::detail::OpaqueType<8>, unsigned int>::Policy900, false, long, at::cuda::cub::detail::OpaqueType<8>, unsigned int, int, int>(int*, int*, unsigned int*, unsigned int const*, long*, long const*, at::cuda::cub::detail::OpaqueType<8>*, unsigned int, int, int)", 8900, 7400, {12, 1, 1}, {384, 1, 1}, 86, 39424, 0, true, false},
	/* 37: the optimizer */
	{MULTI("at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>", "4, true"), 64200, 3900, {1264, 1, 1}, {512, 1, 1}, 52, 0, 0, false, false},
	{MULTI("at::native::(anonymous namespace)::LpNormFunctor<float, (at::native::NormType)1, 1, 1, 0>", "1"), 17400, 5900, {320, 1, 1}, {512, 1, 1}, 36, 2048, 0, false, false},
	{MULTI("at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0>", "1"), 15600, 5900, {320, 1, 1}, {512, 1, 1}, 32, 0, 0, false, false},
	{MULTI("at::native::(anonymous namespace)::UnaryOpFunctor<float, 1, 1, 0>", "1"), 14100, 5900, {320, 1, 1}, {512, 1, 1}, 30, 0, 0, false, false},
	{"void at::native::lpnorm_cleanup<float, (at::native::NormType)1, float, float>(float const*, at::native::TensorListAddresses, int)", 3900, 9800, {148, 1, 1}, {512, 1, 1}, 20, 0, 2048, false, false},
	{"void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}>(int, at::native::arange_cuda_out, function_traits<at::native::arange_cuda_out>::result_type*)", 2300, 9800, {16, 1, 1}, {64, 1, 1}, 16, 0, 0, false, false},
};
const size_t gen_kernel_count = sizeof(gen_kernels) / sizeof(gen_kernels[0]);

const struct gen_op gen_forward[] = {
	{"aten::layer_norm", "aten::native_layer_norm", {16}, 25165824},
	{"aten::linear", "aten::addmm", {2}, 75497472},
	{"aten::scaled_dot_product_attention", "aten::_flash_attention_forward", {10}, 25165824},
	{"aten::linear", "aten::addmm", {4}, 25165824},
	{"aten::dropout", NULL, {25}, 25165824},
	{"aten::add", NULL, {20}, 25165824},
	{"aten::layer_norm", "aten::native_layer_norm", {16}, 25165824},
	{"aten::linear", "aten::addmm", {6}, 100663296},
	{"aten::gelu", NULL, {22}, 100663296},
	{"aten::linear", "aten::addmm", {6}, 25165824},
};
const struct gen_op gen_backward[] = {
	{"autograd::engine::evaluate_function: AddBackward0", NULL, {20}, 0},
	{"autograd::engine::evaluate_function: AddmmBackward0", "aten::mm", {8, 6}, 25165824},
	{"autograd::engine::evaluate_function: GeluBackward0", "aten::gelu_backward", {23}, 100663296},
	{"autograd::engine::evaluate_function: AddmmBackward0", "aten::mm", {8, 4}, 25165824},
	{"aten::sum", NULL, {26}, 12288},
	{"autograd::engine::evaluate_function: NativeLayerNormBackward0", "aten::native_layer_norm_backward", {18, 19}, 25165824},
	{"autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0", "aten::_flash_attention_backward", {14, 12, 15}, 75497472},
	{"aten::copy_", NULL, {28}, 0},
	{"autograd::engine::evaluate_function: AddmmBackward0", "aten::mm", {8, 2}, 25165824},
	{"torch::autograd::AccumulateGrad", "aten::add_", {24}, 0},
};
const struct gen_op gen_optimizer[] = {
	{"aten::_foreach_norm", NULL, {38, 41}, 4096},
	{"aten::linalg_vector_norm", NULL, {27}, 512},
	{"aten::_foreach_mul_", NULL, {39}, 0},
	{"Optimizer.step#AdamW.step", "aten::_fused_adamw_", {37, 37}, 0},
	{"aten::_fused_adamw_", NULL, {37, 37}, 0},
	{"Optimizer.zero_grad#AdamW.zero_grad", "aten::_foreach_zero_", {40}, 0},
};
/* clang-format on */
const size_t gen_forward_count = sizeof(gen_forward) / sizeof(gen_forward[0]);
const size_t gen_backward_count = sizeof(gen_backward) / sizeof(gen_backward[0]);
const size_t gen_optimizer_count = sizeof(gen_optimizer) / sizeof(gen_optimizer[0]);

const char *const gen_region_paths[GEN_REGIONS] = {
	[GEN_STEP] = "step",
	[GEN_DATA] = "step/data",
	[GEN_FORWARD] = "step/forward",
	[GEN_FORWARD_LAYER] = "step/forward/layer",
	[GEN_BACKWARD] = "step/backward",
	[GEN_BACKWARD_LAYER] = "step/backward/layer",
	[GEN_OPTIMIZER] = "step/optimizer",
	[GEN_LOAD] = "load",
	[GEN_LOAD_DECODE] = "load/decode",
};

/* splitmix64 */
uint64_t gen_next(struct gen_random *r)
{
	uint64_t x = r->state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t gen_below(struct gen_random *r, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)gen_next(r) * n) >> 64);
}

/* Returns mean * 2^(x / 65536), by a cubic that is exact at both ends. */
static uint64_t scale(uint64_t mean, int64_t x)
{
	uint64_t f = (uint64_t)x & 65535;
	uint64_t m = 65536 + (f * (45426 + (f * (15743 + (f * 4367 >> 16)) >> 16)) >> 16);
	int64_t power = (x - (int64_t)f) / 65536;

	mean = mean * m >> 16;
	return power < 0 ? mean >> -power : mean << power;
}

uint64_t gen_around(struct gen_random *r, uint64_t mean, uint32_t spread)
{
	uint64_t bits = gen_next(r), rare = gen_next(r);
	/* The sum of four uniform numbers is roughly normal, with a standard deviation of 37837. */
	int64_t bell = (int64_t)((bits & 65535) + (bits >> 16 & 65535) + (bits >> 32 & 65535) +
				 (bits >> 48)) -
		       131070;
	uint64_t n = scale(mean, bell * (int64_t)spread / 37837);

	return rare & 255 ? n : n + n * (rare >> 32 & 65535) / 32768;
}
