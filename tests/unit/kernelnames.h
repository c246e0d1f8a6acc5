/* kernelnames.h - names of kernels from recorded runs and traces, and their short names. */
#ifndef TESTS_UNIT_KERNELNAMES_H
#define TESTS_UNIT_KERNELNAMES_H

/* clang-format off */
static const struct {
	const char *name, *expected;
} kernelnames[] = {
	{"__amd_rocclr_copyBuffer",
	 "__amd_rocclr_copyBuffer"},
	{"__amd_rocclr_fillBufferAligned",
	 "__amd_rocclr_fillBufferAligned"},
	{"void fbgemm_gpu::(anonymous namespace)::_compute_FP8_quantize_cuda_kernel<float>"
	 "(float const*, float const*, int, int, unsigned char*, bool)",
	 "_compute_FP8_quantize f32"},
	{"void fbgemm_gpu::(anonymous namespace)::_FP8rowwise_to_float_cuda_kernel<float>("
	 "unsigned char const*, int, int, float*, bool)",
	 "_FP8rowwise_to_float f32"},
	{"void fbgemm_gpu::(anonymous namespace)::_get_FP8_qparam_cuda_kernel<float>(float"
	 " const*, int, int, unsigned char*, float*, bool)",
	 "_get_FP8_qparam f32"},
	{"void fbgemm_gpu::_offsets_range_cuda_kernel<int>(long, long, int const*, int*)",
	 "_offsets_range i32"},
	{"void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<double>"
	 ", at::detail::Array<char*, 3>, TrivialOffsetCalculator<2, unsigned int>, Trivial"
	 "OffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<2>, at::nati"
	 "ve::memory::StoreWithCast<1> >(int, at::native::CUDAFunctor_add<double>, at::det"
	 "ail::Array<char*, 3>, TrivialOffsetCalculator<2, unsigned int>, TrivialOffsetCal"
	 "culator<1, unsigned int>, at::native::memory::LoadWithCast<2>, at::native::memor"
	 "y::StoreWithCast<1>)",
	 "add cast f64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<fl"
	 "oat>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::arr"
	 "ay<char*, 3ul>)",
	 "add f32"},
	{"void at::native::vectorized_elementwise_kernel<2, at::native::CUDAFunctorOnSelf_"
	 "add<long>, std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSelf_add<long>"
	 ", std::array<char*, 2ul>)",
	 "add scalar i64"},
	{"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::nati"
	 "ve::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_ad"
	 "d<float> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl<at::native::"
	 "CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<fl"
	 "oat> const&)::{lambda(int)#1})",
	 "add strided f32"},
	{"void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arang"
	 "e_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tenso"
	 "r&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda"
	 "(long)#1}>(int, at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar cons"
	 "t&, c10::Scalar const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda("
	 ")#4}::operator()() const::{lambda(long)#1}, function_traits<at::native::arange_c"
	 "uda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tensor&)"
	 "::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(lo"
	 "ng)#1}>::result_type*)",
	 "arange i64"},
	{"attn_fwd",
	 "attn_fwd"},
	{"void at::native::batch_norm_collect_statistics_kernel<at::native::Var, c10::BFlo"
	 "at16, c10::BFloat16, float, int>(at::GenericPackedTensorAccessor<c10::BFloat16 c"
	 "onst, 3ul, at::RestrictPtrTraits, int>, float, float, at::GenericPackedTensorAcc"
	 "essor<float, 1ul, at::RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<f"
	 "loat, 1ul, at::RestrictPtrTraits, int>)",
	 "batch_norm_collect_statistics bf16"},
	{"void at::native::batch_norm_transform_input_kernel<c10::BFloat16, c10::BFloat16,"
	 " float, true, int>(at::GenericPackedTensorAccessor<c10::BFloat16 const, 3ul, at:"
	 ":RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<c10::BFloat16, 3ul, at"
	 "::RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<std::conditional<true"
	 ", float, c10::BFloat16>::type, 1ul, at::RestrictPtrTraits, int>, at::GenericPack"
	 "edTensorAccessor<std::conditional<true, float, c10::BFloat16>::type, 1ul, at::Re"
	 "strictPtrTraits, int>, at::GenericPackedTensorAccessor<c10::BFloat16 const, 1ul,"
	 " at::RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<c10::BFloat16 cons"
	 "t, 1ul, at::RestrictPtrTraits, int>, float)",
	 "batch_norm_transform_input bf16"},
	{"batched_transpose_16x64_pack_1x4_ediv_1x2_half",
	 "batched_transpose_1…ck_1x4_ediv_1x2_half"},
	{"batched_transpose_4x64_half",
	 "batched_transpose_4x64_half"},
	{"batched_transpose_64x64_pack_4x4_ediv_4x4_half",
	 "batched_transpose_6…ck_4x4_ediv_4x4_half"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kern"
	 "el_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(in"
	 "t, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float"
	 ")#1}, std::array<char*, 2ul>)",
	 "bfloat16_copy f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16tofloat32_"
	 "copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}, std::array"
	 "<char*, 2ul> >(int, at::native::bfloat16tofloat32_copy_kernel_cuda(at::TensorIte"
	 "ratorBase&)::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>)",
	 "bfloat16tofloat32_copy bf16"},
	{"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>(float, flo"
	 "at, float, float, cudnnTensorStruct, float const*, cudnnTensorStruct, float cons"
	 "t*, cudnnTensorStruct, float*, float const*, float*, float*, float const*, float"
	 " const*, float)",
	 "bn_bw_1C11_kernel_new f32"},
	{"void cudnn::bn_bw_1C11_singleread<float, 512, true, 1, 2, 0>(cudnn::bn_bw_1C11_a"
	 "rgs<float>)",
	 "bn_bw_1C11_singleread f32"},
	{"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 128, true, 1, true>(cud"
	 "nnTensorStruct, float const*, cudnnTensorStruct, float*, float const*, float con"
	 "st*, float, float, float*, float*, float*, float*, float, float)",
	 "bn_fw_tr_1C11_kernel_NCHW f32"},
	{"void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(cudnn::bn_fw_tr_"
	 "1C11_args<float>)",
	 "bn_fw_tr_1C11_singleread f32"},
	{"void bounds_check_indices_kernel<long, false>(at::GenericPackedTensorAccessor<lo"
	 "ng, 1ul, at::RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<long, 1ul,"
	 " at::RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<long, 1ul, at::Res"
	 "trictPtrTraits, int>, int const*, long, at::GenericPackedTensorAccessor<long, 1u"
	 "l, at::RestrictPtrTraits, int>, fbgemm_gpu::FixedDivisor)",
	 "bounds_check_indices_kernel i64"},
	{"bwd_kernel_fuse",
	 "bwd_kernel_fuse"},
	{"void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymo"
	 "us namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(at::native::(anonymous n"
	 "amespace)::OpaqueType<2u>*, at::native::(anonymous namespace)::CatArrInputTensor"
	 "Metadata<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 64, 64"
	 ">, at::native::(anonymous namespace)::TensorSizeStride<unsigned int, 4u>, int, u"
	 "nsigned int)",
	 "CatArrayBatchedCopy 2B"},
	{"void at::native::(anonymous namespace)::CatArrayBatchedCopy<int, unsigned int, 1"
	 ", 128, 1>(int*, at::native::(anonymous namespace)::CatArrInputTensorMetadata<int"
	 ", unsigned int, 128, 1>, at::native::(anonymous namespace)::TensorSizeStride<uns"
	 "igned int, 4u>, int, unsigned int)",
	 "CatArrayBatchedCopy i32"},
	{"void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<at::native::("
	 "anonymous namespace)::OpaqueType<4u>, unsigned int, 1, 128, 1>(at::native::(anon"
	 "ymous namespace)::OpaqueType<4u>*, at::native::(anonymous namespace)::CatArrInpu"
	 "tTensorMetadata<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int,"
	 " 128, 1>, at::native::(anonymous namespace)::TensorSizeStride<unsigned int, 4u>,"
	 " int, unsigned int)",
	 "CatArrayBatchedCopy_contig 4B"},
	{"void at::native::(anonymous namespace)::CatArrayBatchedCopy_vectorized<at::nativ"
	 "e::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1, 16, 8>(char*,"
	 " at::native::(anonymous namespace)::CatArrInputTensorMetadata<at::native::(anony"
	 "mous namespace)::OpaqueType<2u>, unsigned int, 128, 1>, at::native::(anonymous n"
	 "amespace)::TensorSizeStride<unsigned int, 4u>, int, unsigned int)",
	 "CatArrayBatchedCopy_vectorized 2B"},
	{"change(unsigned int*, unsigned int, unsigned int)",
	 "change"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespa"
	 "ce)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, at::"
	 "native::detail::ClampLimits)::{lambda()#1}::operator()() const::{lambda()#7}::op"
	 "erator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::("
	 "anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, "
	 "c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const:"
	 ":{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
	 "clamp_scalar f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<long"
	 ", long, bool, at::native::(anonymous namespace)::CompareEqFunctor<long> >, std::"
	 "array<char*, 2ul> >(int, at::native::AUnaryFunctor<long, long, bool, at::native:"
	 ":(anonymous namespace)::CompareEqFunctor<long> >, std::array<char*, 2ul>)",
	 "compare_eq scalar i64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::compare_scalar_ker"
	 "nel<float>(at::TensorIteratorBase&, at::native::(anonymous namespace)::OpType, f"
	 "loat)::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::native::compare"
	 "_scalar_kernel<float>(at::TensorIteratorBase&, at::native::(anonymous namespace)"
	 "::OpType, float)::{lambda(float)#1}, at::detail::Array<char*, 2>)",
	 "compare_scalar f32"},
	{"void compute_cuda_kernel<long>(long*, long*, long*, long, long)",
	 "compute_cuda_kernel i64"},
	{"void at::native::(anonymous namespace)::compute_grad_weight<float, long>(long co"
	 "nst*, float const*, long const*, long, long, long const*, long const*, at::Accum"
	 "ulateType<float, true>::type*, long)",
	 "compute_grad_weight f32"},
	{"void at::native::(anonymous namespace)::compute_num_of_partial_segments<long>(lo"
	 "ng const*, long const*, long const*, long*)",
	 "compute_num_of_partial_segments i64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::cos_kernel_cuda(at"
	 "::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator"
	 "()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::cos_ker"
	 "nel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2"
	 "}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
	 "cos f32"},
	{"void at::native::(anonymous namespace)::cuComputeGradGammaBeta<float, float, fal"
	 "se>(float const*, float const*, int, long, long, float*, float*)",
	 "cuComputeGradGammaBeta f32"},
	{"void at::native::(anonymous namespace)::cuComputePartGradGammaBeta<float, float,"
	 " false>(float const*, float const*, long, long, float const*, float const*, floa"
	 "t*, float*)",
	 "cuComputePartGradGammaBeta f32"},
	{"void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, fl"
	 "oat, at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(float*, floa"
	 "t const*, float const*, long)",
	 "cunn_SoftMaxBackward f32"},
	{"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, flo"
	 "at, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float "
	 "const*, int)",
	 "cunn_SoftMaxForward f32"},
	{"void cub::DeviceCompactInitKernel<cub::ReduceByKeyScanTileState<int, int, true>,"
	 " int*>(cub::ReduceByKeyScanTileState<int, int, true>, int, int*)",
	 "DeviceCompactInit i32"},
	{"void cub::DeviceRadixSortExclusiveSumKernel<cub::DeviceRadixSortPolicy<long, int"
	 ", int>::Policy800, int>(int*)",
	 "DeviceRadixSortExclusiveSum i64"},
	{"void cub::DeviceRadixSortHistogramKernel<cub::DeviceRadixSortPolicy<long, int, i"
	 "nt>::Policy800, false, long, int>(int*, long const*, int, int, int)",
	 "DeviceRadixSortHistogram i64"},
	{"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, in"
	 "t>::Policy800, false, long, int, int, int>(int*, int*, int*, int const*, long*, "
	 "long const*, int*, int const*, int, int, int)",
	 "DeviceRadixSortOnesweep i64"},
	{"void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortSingleTileKernel<at"
	 "_cuda_detail::cub::detail::radix::policy_hub<long, at::cuda::cub::detail::Opaque"
	 "Type<8>, unsigned long long>::Policy1000, (at_cuda_detail::cub::SortOrder)0, lon"
	 "g, at::cuda::cub::detail::OpaqueType<8>, unsigned long long, at_cuda_detail::cub"
	 "::detail::identity_decomposer_t>(long const*, long*, at::cuda::cub::detail::Opaq"
	 "ueType<8> const*, at::cuda::cub::detail::OpaqueType<8>*, unsigned long long, int"
	 ", int, at_cuda_detail::cub::detail::identity_decomposer_t)",
	 "DeviceRadixSortSingleTile i64"},
	{"void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*, long*, cub::Co"
	 "nstantInputIterator<int, int>, int*, int*, cub::Equality, cub::Sum, int>::PtxRed"
	 "uceByKeyPolicy, long*, long*, cub::ConstantInputIterator<int, int>, int*, int*, "
	 "cub::ReduceByKeyScanTileState<int, int, true>, cub::Equality, cub::Sum, int>(lon"
	 "g*, long*, cub::ConstantInputIterator<int, int>, int*, int*, cub::ReduceByKeySca"
	 "nTileState<int, int, true>, int, cub::Equality, cub::Sum, int)",
	 "DeviceReduceByKey i64"},
	{"void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, int, (cub::BlockLoadAlg"
	 "orithm)3, (cub::CacheLoadModifier)0, (cub::BlockStoreAlgorithm)3, (cub::BlockSca"
	 "nAlgorithm)2, cub::MemBoundScaling<128, 15, int> >, int*, int*, cub::ScanTileSta"
	 "te<int, true>, cub::Sum, int, int>(int*, int*, cub::ScanTileState<int, true>, in"
	 "t, cub::Sum, int, int)",
	 "DeviceScan i32"},
	{"void cub::DeviceScanInitKernel<cub::ScanTileState<int, true> >(cub::ScanTileStat"
	 "e<int, true>, int)",
	 "DeviceScanInit i32"},
	{"sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32"
	 "_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
	 "dgrad tf32 nhwc 128x64x32 sm90"},
	{"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_256x64"
	 "_16x4_nhwc_unity_stride_align4>(cutlass_tensorop_s1688dgrad_optimized_tf32_256x6"
	 "4_16x4_nhwc_unity_stride_align4::Params)",
	 "dgrad tf32 nhwc 256x64x16"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<floa"
	 "t, float, float, at::native::binary_internal::DivFunctor<float> >, at::detail::A"
	 "rray<char*, 3> >(int, at::native::BinaryFunctor<float, float, float, at::native:"
	 ":binary_internal::DivFunctor<float> >, at::detail::Array<char*, 3>)",
	 "div f32"},
	{"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::nati"
	 "ve::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<f"
	 "loat> > >(at::TensorIteratorBase&, at::native::BinaryFunctor<float, float, float"
	 ", at::native::binary_internal::DivFunctor<float> > const&)::{lambda(int)#1}>(int"
	 ", at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, float, float, at:"
	 ":native::binary_internal::DivFunctor<float> > >(at::TensorIteratorBase&, at::nat"
	 "ive::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<"
	 "float> > const&)::{lambda(int)#1})",
	 "div strided f32"},
	{"void at::native::vectorized_elementwise_kernel<2, at::native::BUnaryFunctor<long"
	 ", long, long, at::native::binary_internal::div_trunc_kernel_cuda(at::TensorItera"
	 "torBase&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{"
	 "lambda(long, long)#1}>, std::array<char*, 2ul> >(int, at::native::BUnaryFunctor<"
	 "long, long, long, at::native::binary_internal::div_trunc_kernel_cuda(at::TensorI"
	 "teratorBase&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() cons"
	 "t::{lambda(long, long)#1}>, std::array<char*, 2ul>)",
	 "div_trunc scalar i64"},
	{"void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float,"
	 " float, long>(long const*, float const*, float*, int, long, int)",
	 "embedding_backward_feature f32"},
	{"void epilogue::impl::globalKernel<float, float, float, true, true>(int, int, lon"
	 "g, float*, cublasLtEpilogue_t, int, float*, long, void*, long, long, long, float"
	 "*, long, int*)",
	 "epilogue f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::exp_kernel_cuda(at"
	 "::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator"
	 "()() const::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::native::ex"
	 "p_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambd"
	 "a()#2}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2>)",
	 "exp f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, "
	 "std::array<char*, 1ul> >(int, at::native::FillFunctor<int>, std::array<char*, 1u"
	 "l>)",
	 "fill i32"},
	{"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<a"
	 "t::native::FillFunctor<long> >(at::TensorIteratorBase&, at::native::FillFunctor<"
	 "long> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::nati"
	 "ve::FillFunctor<long> >(at::TensorIteratorBase&, at::native::FillFunctor<long> c"
	 "onst&)::{lambda(int)#1})",
	 "fill strided i64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<unsign"
	 "ed char>, std::array<char*, 1ul> >(int, at::native::FillFunctor<unsigned char>, "
	 "std::array<char*, 1ul>)",
	 "fill u8"},
	{"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, "
	 "128, 128, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_trai"
	 "ts<64, 128, 128, 4, cutlass::bfloat16_t> >, false, true, false, false, false, tr"
	 "ue, false>(pytorch_flash::Flash_fwd_params)",
	 "flash_fwd bf16"},
	{"void at::native::vectorized_elementwise_kernel<4, fbgemm_gpu::_float_to_hfp8_gpu"
	 "(at::Tensor const&, long, long, double)::{lambda(float)#1}, at::detail::Array<ch"
	 "ar*, 2> >(int, fbgemm_gpu::_float_to_hfp8_gpu(at::Tensor const&, long, long, dou"
	 "ble)::{lambda(float)#1}, at::detail::Array<char*, 2>)",
	 "float_to_hfp8 f32"},
	{"fmha_cutlassB_f32_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwa"
	 "rdKernel<cutlass::arch::Sm80, float, true, false, false, 64, 64, 64, false>::Par"
	 "ams)",
	 "fmha_cutlassB f32 64x64 sm80"},
	{"fmha_cutlassB_f32_aligned_64x64_k64_dropout_sm80(PyTorchMemEffAttention::Attenti"
	 "onBackwardKernel<cutlass::arch::Sm80, float, true, true, false, 64, 64, 64, fals"
	 "e>::Params)",
	 "fmha_cutlassB f32 64x64 sm80 dropout"},
	{"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<"
	 "float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)",
	 "fmha_cutlassF f32 64x64 sm80"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::B"
	 "inaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(at::native::(a"
	 "nonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::B"
	 "inaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float)",
	 "foreach add list f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::B"
	 "inaryOpScalarFunctor<float, 1, 1, 0>, std::plus<float>, float>(at::native::(anon"
	 "ymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::Bina"
	 "ryOpScalarFunctor<float, 1, 1, 0>, std::plus<float>, float)",
	 "foreach add scalar f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListScalarListMetadata<float, 3>, at::native::(anonym"
	 "ous namespace)::PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float"
	 "> >(at::native::(anonymous namespace)::TensorListScalarListMetadata<float, 3>, a"
	 "t::native::(anonymous namespace)::PointwiseOpScalarListFunctor<float, 3, 3, 0>, "
	 "std::divides<float>)",
	 "foreach addcdiv scalar_list f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListMetadata<3>, at::native::(anonymous namespace)::P"
	 "ointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies<float>, float>(at::nati"
	 "ve::(anonymous namespace)::TensorListMetadata<3>, at::native::(anonymous namespa"
	 "ce)::PointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies<float>, float)",
	 "foreach addcmul scalar f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListScalarListMetadata<float, 1>, at::native::(anonym"
	 "ous namespace)::BinaryOpScalarListFunctor<float, 1, 1, 0>, std::divides<float> >"
	 "(at::native::(anonymous namespace)::TensorListScalarListMetadata<float, 1>, at::"
	 "native::(anonymous namespace)::BinaryOpScalarListFunctor<float, 1, 1, 0>, std::d"
	 "ivides<float>)",
	 "foreach div scalar_list f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::T"
	 "ernaryOpScalarFunctor<float, 2, 2, 0>, at::native::LerpFunctor<float>, float>(at"
	 "::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous n"
	 "amespace)::TernaryOpScalarFunctor<float, 2, 2, 0>, at::native::LerpFunctor<float"
	 ">, float)",
	 "foreach lerp scalar f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListMetadata<1>, at::native::LpNormFunctor<float, (at"
	 "::native::NormType)1, float, 1, 1, 0>, float*, int>(at::native::(anonymous names"
	 "pace)::TensorListMetadata<1>, at::native::LpNormFunctor<float, (at::native::Norm"
	 "Type)1, float, 1, 1, 0>, float*, int)",
	 "foreach lp_norm f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::B"
	 "inaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float>(at::native:"
	 ":(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)"
	 "::BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float)",
	 "foreach mul scalar f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::B"
	 "inaryOpScalarTensorFunctor<float, 1, 1, 0>, std::multiplies<float>, float*, floa"
	 "t>(at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonym"
	 "ous namespace)::BinaryOpScalarTensorFunctor<float, 1, 1, 0>, std::multiplies<flo"
	 "at>, float*, float)",
	 "foreach mul scalar_tensor f32"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(a"
	 "nonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::U"
	 "naryOpFunctor<float, 2, 1, 1>, at::native::Sqrt<float> >(at::native::(anonymous "
	 "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::UnaryOpFun"
	 "ctor<float, 2, 1, 1>, at::native::Sqrt<float>)",
	 "foreach sqrt f32"},
	{"sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32"
	 "x32x8_stage3_warpsize1x2x1_g1_ffma_aligna4_alignc4_execute_kernel__5x_cudnn",
	 "fprop f32 nchw 32x32x8 sm80"},
	{"sm80_xmma_fprop_implicit_gemm_indexed_wo_smem_tf32f32_tf32f32_f32_nhwckrsc_nhwc_"
	 "tilesize128x32x16_stage1_warpsize4x1x1_g1_tensor16x8x8_aligna4_alignc8_execute_k"
	 "ernel__5x_cudnn",
	 "fprop tf32 nhwc 128x32x16 sm80"},
	{"sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x64x32_"
	 "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
	 "fprop tf32 nhwc 64x64x32 sm90"},
	{"void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, u"
	 "nsigned int, 1, 4, bool>(at::cuda::detail::TensorInfo<float const, unsigned int>"
	 ", at::cuda::detail::TensorInfo<float, unsigned int>, at::cuda::detail::TensorInf"
	 "o<bool, unsigned int>, unsigned int, float, at::PhiloxCudaState)",
	 "fused_dropout_kernel_vec f32"},
	{"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float"
	 ">(long, long, float const*, float const*, float const*, float const*, float*, fl"
	 "oat*)",
	 "GammaBetaBackward f32"},
	{"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel_32x32<float,"
	 " float>(long, long, float const*, float const*, float const*, float const*, floa"
	 "t*, float*)",
	 "GammaBetaBackwardCUDAKernel_32x32 f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl"
	 "(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() cons"
	 "t::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >"
	 "(int, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluTy"
	 "pe)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda"
	 "(float)#1}, std::array<char*, 2ul>)",
	 "gelu f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKe"
	 "rnelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator("
	 ")() const::{lambda()#2}::operator()() const::{lambda(float, float)#1}, std::arra"
	 "y<char*, 3ul> >(int, at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBa"
	 "se&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#2}::oper"
	 "ator()() const::{lambda(float, float)#1}, std::array<char*, 3ul>)",
	 "gelu_backward f32"},
	{"Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x64x256_MI16x16x1_SN_LDSB1_AFC0"
	 "_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTLA0_DTLB0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GR"
	 "VWB8_GSU0_GSUAMB_GLS0_ISA950_IU1_K1_LDSTI0_LBSPPA1024_LBSPPB1024_LBSPPM0_LPA32_L"
	 "PB16_LPM0_LRVW8_LWPMn1_MIAV0_MIWT2_2_MO40_NTn1_NTA0_NTB0_NTC0_NTD0_NTM0_NEPBS0_N"
	 "LCA1_NLCB1_ONLL1_PGR2_PLR1_PKA1_SIA3_SS1_SPO0_SRVW0_SSO0_SVW2_SK3_SKFTR0_SKXCCM0"
	 "_TLDS1_ULSGRO0_USL1_UIOFGRO0_USFGRO0_VSn1_VWA2_VWB2_WSGRA0_WSGRB0_WS64_WG32_8_1",
	 "gemm bf16 nn 64x64x256 tensile"},
	{"Cijk_Ailk_Bjlk_BBS_BH_Bias_HAS_SAV_UserArgs_MT128x64x32_MI32x32x1_SN_LDSB0_AFC1_"
	 "AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSUAMB_G"
	 "LS0_ISA90a_IU1_K1_LBSPPA0_LBSPPB0_LBSPPM0_LPA0_LPB0_LPM0_LRVW4_LWPMn1_MIAV0_MIWT"
	 "2_1_MO40_NTn1_NTA0_NTB0_NTC0_NTD0_NTM0_NEPBS2_NLCA1_NLCB1_ONLL1_PGR2_PLR1_PKA1_S"
	 "IA3_SS1_SPO1_SRVW0_SSO0_SVW1_SK0_SKXCCM0_TLDS0_ULSGRO0_USL1_UIOFGRO0_USFGROn1_VS"
	 "n1_VWA2_VWB1_WSGRA0_WSGRB0_WS64_WG64_4_1",
	 "gemm bf16 nt 128x64x32 tensile"},
	{"Cijk_Ailk_Bjlk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x96x128_MI16x16x1_SN_LDSB1_AFC0"
	 "_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTLA0_DTLB0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GR"
	 "VWB8_GSU0_GSUAMB_GLS0_ISA950_IU1_K1_LDSTI0_LBSPPA1024_LBSPPB1536_LBSPPM0_LPA32_L"
	 "PB16_LPM0_LRVW8_LWPMn1_MIAV0_MIWT2_3_MO40_NTn1_NTA0_NTB0_NTC0_NTD0_NTM0_NEPBS0_N"
	 "LCA1_NLCB3_ONLL1_PGR2_PLR1_PKA1_SIA3_SS1_SPO0_SRVW0_SSO0_SVW2_SK3_SKFTR0_SKXCCM0"
	 "_TLDS0_ULSGRO0_USL1_UIOFGRO0_USFGRO0_VSn1_VWA2_VWB1_WSGRA0_WSGRB0_WS64_WG32_8_1",
	 "gemm bf16 nt 64x96x128 tensile"},
	{"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2"
	 "_tn_align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8"
	 "::Params)",
	 "gemm bf16 tn 32x32x128 sm80"},
	{"Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT32x32x64_MI16x16x1_SN_LDSB0_AFC1_A"
	 "FEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSUAMB_GL"
	 "S0_ISA90a_IU1_K1_LBSPPA128_LBSPPB128_LBSPPM0_LPA16_LPB16_LPM0_LRVW8_LWPMn1_MIAV0"
	 "_MIWT1_1_MO40_NTn1_NTA0_NTB0_NTC0_NTD0_NTM0_NEPBS2_NLCA1_NLCB1_ONLL1_PGR2_PLR1_P"
	 "KA1_SIA3_SS1_SPO1_SRVW0_SSO0_SVW1_SK0_SKXCCM0_TLDS1_ULSGRO0_USL1_UIOFGRO0_USFGRO"
	 "n1_VSn1_VWA1_VWB1_WSGRA1_WSGRB1_WS64_WG32_8_1",
	 "gemm bf16 tn 32x32x64 tensile"},
	{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256_MI16x16x1_SN_LDSB0_AFC0"
	 "_AFEM1_AFEM1_ASEM1_CLR0_CADS0_DTLA1_DTLB1_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GR"
	 "VWB8_GSU0_GSUAMB_GLS0_ISA950_IU1_K1_LDSTI0_LBSPPA1024_LBSPPB1024_LBSPPM0_LPA16_L"
	 "PB16_LPM0_LRVW8_LWPMn1_MIAV0_MIWT2_1_MO40_NTn1_NTA0_NTB0_NTC3_NTD1_NTM0_NEPBS10_"
	 "NLCA1_NLCB1_ONLL1_PGR2_PLR1_PKA1_SIA3_SS1_SPO0_SRVW0_SSO0_SVW2_SK3_SKFTR0_SKXCCM"
	 "0_TLDS2_ULSGRO0_USL1_UIOFGRO0_USFGROn1_VSn1_VWA2_VWB1_WSGRA0_WSGRB0_WS64_WG32_8_"
	 "1",
	 "gemm bf16 tn 64x32x256 tensile"},
	{"nvjet_sm90_tst_8x64_64x16_4x1_v_bz_TNN",
	 "gemm bf16 tnn 8x64x64 sm90"},
	{"nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT",
	 "gemm bf16 tnt 256x8x64 sm90"},
	{"ampere_sgemm_128x64_nn",
	 "gemm f32 nn 128x64 ampere"},
	{"Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1_SN_LDSB1_AFC1_AF"
	 "EM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA2_GRVWB2_GSUAMB_GLS"
	 "0_ISA942_IU1_K1_LBSPPA256_LBSPPB512_LBSPPM0_LPA16_LPB8_LPM0_LRVW4_LWPMn1_MIAV0_M"
	 "IWT1_1_MO40_NTn1_NTA4_NTB0_NTC0_NTD4_NTM0_NEPBS16_NLCA1_NLCB1_ONLL1_PGR2_PLR1_PK"
	 "A1_SIA3_SS1_SPO0_SRVW0_SSO0_SVW1_SK0_SKXCCM0_TLDS1_ULSGRO0_USL1_UIOFGRO0_USFGROn"
	 "1_VSn1_VWA1_VWB1_WSGRA0_WSGRB0_WS64_WG16_4_4",
	 "gemm f32 nn 16x16x128 tensile"},
	{"void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nn_align1>(cutlass_80_simt"
	 "_sgemm_64x64_8x5_nn_align1::Params)",
	 "gemm f32 nn 64x64x8 sm80"},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_"
	 "aligna4_alignc4_execute_split_k_kernel__5x_cublas",
	 "gemm f32 nn 64x64x8 sm80 splitk"},
	{"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nt_align1>(cutlass_80_sim"
	 "t_sgemm_128x32_8x5_nt_align1::Params)",
	 "gemm f32 nt 128x32x8 sm80"},
	{"ampere_sgemm_32x128_tn",
	 "gemm f32 tn 32x128 ampere"},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_"
	 "aligna4_alignc4_execute_split_k_kernel__5x_cublas",
	 "gemm f32 tn 64x64x8 sm80 splitk"},
	{"ampere_sgemm_128x128_tt",
	 "gemm f32 tt 128x128 ampere"},
	{"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x128_32x3_nn_align1>(cutla"
	 "ss_80_tensorop_s1688gemm_256x128_32x3_nn_align1::Params)",
	 "gemm tf32 nn 256x128x32 sm80"},
	{"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x128_32x3_nt_align1>(cutla"
	 "ss_80_tensorop_s1688gemm_256x128_32x3_nt_align1::Params)",
	 "gemm tf32 nt 256x128x32 sm80"},
	{"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_warpgroupsize1x1x1_execu"
	 "te_segment_k_off_kernel__5x_cublas",
	 "gemm tf32 tn 64x64x32 sm90"},
	{"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tt_align4>(cutlas"
	 "s_80_tensorop_s1688gemm_256x64_16x4_tt_align4::Params)",
	 "gemm tf32 tt 256x64x16 sm80"},
	{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_t"
	 "n_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8::Pa"
	 "rams)",
	 "gemm+relu bf16 tn 64x64x64 sm80"},
	{"void gemmk1_kernel<float, 256, 5, false, false, false, false, cublasGemvTensorSt"
	 "ridedBatched<float const>, cublasGemvTensorStridedBatched<float const>, cublasGe"
	 "mvTensorStridedBatched<float>, float, true, true>(cublasGemmk1Params<float, cubl"
	 "asGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float co"
	 "nst>, cublasGemvTensorStridedBatched<float>, float, biasType<cublasGemvTensorStr"
	 "idedBatched<float>::value_type, float>::type>)",
	 "gemmk1_kernel f32"},
	{"void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false, cublasGemvTensorStrided"
	 "Batched<float const>, cublasGemvTensorStridedBatched<float const>, cublasGemvTen"
	 "sorStridedBatched<float> >(cublasGemmSmallNParams<cublasGemvTensorStridedBatched"
	 "<float const>, cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStri"
	 "dedBatched<float>, float>)",
	 "gemmSN_TN_kernel f32"},
	{"void gemvNSP_kernel<float, float, float, float, 1, 16, 4, 1024, cublasGemvParams"
	 "<cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<flo"
	 "at const>, cublasGemvTensorStridedBatched<float>, float> >(cublasGemvParams<cubl"
	 "asGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float co"
	 "nst>, cublasGemvTensorStridedBatched<float>, float>)",
	 "gemvNSP_kernel f32"},
	{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, fl"
	 "oat, float, float, false, true, true, false, 7, cublasGemvParams<cublasGemvTenso"
	 "rStridedBatched<float const>, cublasGemvTensorStridedBatched<float const>, cubla"
	 "sGemvTensorStridedBatched<float>, float> >(cublasGemvParams<cublasGemvTensorStri"
	 "dedBatched<float const>, cublasGemvTensorStridedBatched<float const>, cublasGemv"
	 "TensorStridedBatched<float>, float>)",
	 "gemvx f32"},
	{"void at::native::vectorized_elementwise_kernel<4, fbgemm_gpu::_hfp8_to_float_gpu"
	 "(at::Tensor const&, long, long)::{lambda(unsigned char)#1}, at::detail::Array<ch"
	 "ar*, 2> >(int, fbgemm_gpu::_hfp8_to_float_gpu(at::Tensor const&, long, long)::{l"
	 "ambda(unsigned char)#1}, at::detail::Array<char*, 2>)",
	 "hfp8_to_float u8"},
	{"igemm_bwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2_ta1x8x2x1_1"
	 "x4x1x64_tb1x8x1x2_1x4x1x64_mh_gkgs",
	 "igemm_bwd bf16 nhwc 128x128x32"},
	{"igemm_bwd_gtcx2_nhwc_bf16_bx0_ex1_bt64x64x64_wt16x16x16_ws1x1_wr2x2_ta1x8x2x1_1x"
	 "8x1x32_tb1x8x1x2_1x8x1x32_mh",
	 "igemm_bwd bf16 nhwc 64x64x64"},
	{"igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2_ta1x8x2x1_1"
	 "x4x1x64_tb1x8x2x1_1x4x1x64_gkgs",
	 "igemm_fwd bf16 nhwc 128x128x32"},
	{"igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt64x64x64_wt16x16x16_ws1x1_wr2x2_ta1x8x2x1_1x"
	 "8x1x32_tb1x8x2x1_1x8x1x32",
	 "igemm_fwd bf16 nhwc 64x64x64"},
	{"igemm_wrw_gtcx2_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8_ws1x1_wr1x2_ta1x4x1x4_1x"
	 "8x1x32_tb1x4x1x2_1x8x1x32_gkgs",
	 "igemm_wrw bf16 nhwc 128x64x32"},
	{"igemm_wrw_gtcx2_nhwc_bf16_bx0_ex1_bt64x32x32_wt16x16x16_ws1x1_wr2x1_ta1x4x1x2_1x"
	 "8x1x32_tb1x4x1x1_1x8x1x32_vs1_gkgs",
	 "igemm_wrw bf16 nhwc 64x32x32"},
	{"void (anonymous namespace)::indexing_backward_kernel<float, 4>(long const*, long"
	 " const*, float const*, float*, long, long, long, long, bool)",
	 "indexing_backward f32"},
	{"void at::native::(anonymous namespace)::indexSelectLargeIndex<long, long, unsign"
	 "ed int, 1, 1, -2, true>(at::cuda::detail::TensorInfo<long, unsigned int>, at::cu"
	 "da::detail::TensorInfo<long, unsigned int>, at::cuda::detail::TensorInfo<long, u"
	 "nsigned int>, int, int, unsigned int, unsigned int, long)",
	 "indexSelectLargeIndex i64"},
	{"void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, lon"
	 "g, unsigned int, 2, 2, -2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned "
	 "int>, at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, at::cuda:"
	 ":detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, long)",
	 "indexSelectSmallIndex bf16"},
	{"void cask_plugin__5x_cudnn::xmma__5x_cudnn::init_device_workspace_kernel<xmma__5"
	 "x_cudnn::implicit_gemm::wgrad_indexed::Warp_specialized_params<xmma__5x_cudnn::G"
	 "rid_constant_params> >(xmma__5x_cudnn::implicit_gemm::wgrad_indexed::Warp_specia"
	 "lized_params<xmma__5x_cudnn::Grid_constant_params>, bool)",
	 "init_device_workspace"},
	{"void rocprim::ROCPRIM_400001_NS::detail::init_lookback_scan_state_kernel<rocprim"
	 "::ROCPRIM_400001_NS::detail::lookback_scan_state<long, false, true> >(rocprim::R"
	 "OCPRIM_400001_NS::detail::lookback_scan_state<long, false, true>, unsigned int, "
	 "unsigned int, rocprim::ROCPRIM_400001_NS::detail::lookback_scan_state<long, fals"
	 "e, true>::value_type*)",
	 "init_lookback_scan_state i64"},
	{"void rocprim::ROCPRIM_400001_NS::detail::init_lookback_scan_state_kernel<rocprim"
	 "::ROCPRIM_400001_NS::detail::lookback_scan_state<unsigned int, false, true> cons"
	 "t>(rocprim::ROCPRIM_400001_NS::detail::lookback_scan_state<unsigned int, false, "
	 "true> const, unsigned int, unsigned int, rocprim::ROCPRIM_400001_NS::detail::loo"
	 "kback_scan_state<unsigned int, false, true> const::value_type*)",
	 "init_lookback_scan_state u32"},
	{"void at::native::(anonymous namespace)::krn_partial_segment_offset<long>(long*, "
	 "long const*, long const*, long const*, long const*)",
	 "krn_partial_segment_offset i64"},
	{"void at::native::(anonymous namespace)::krn_partials_per_segment<long>(long*, lo"
	 "ng const*, long const*, long)",
	 "krn_partials_per_segment i64"},
	{"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<float, floa"
	 "t>(float const*, float const*, float const*, float const*, float const*, float*,"
	 " int)",
	 "layer_norm_grad_input f32"},
	{"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<"
	 "float, float, false>(float const*, float const*, float const*, float const*, flo"
	 "at const*, float*, int)",
	 "layer_norm_grad_inp…ernel_vectorized f32"},
	{"void at::native::(anonymous namespace)::LayerNormForwardCUDAKernel<float, float>"
	 "(long, float const*, float const*, float const*, float const*, float const*, flo"
	 "at*)",
	 "LayerNormForward f32"},
	{"void linearize_index_kernel<long>(at::GenericPackedTensorAccessor<long, 1ul, at:"
	 ":RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<long, 1ul, at::Restric"
	 "tPtrTraits, int>, at::GenericPackedTensorAccessor<long, 1ul, at::RestrictPtrTrai"
	 "ts, int>, at::GenericPackedTensorAccessor<int, 1ul, at::RestrictPtrTraits, int>,"
	 " at::GenericPackedTensorAccessor<long, 1ul, at::RestrictPtrTraits, int>)",
	 "linearize_index_kernel i64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::log_kernel_cuda(at"
	 "::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator"
	 "()() const::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::native::lo"
	 "g_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambd"
	 "a()#2}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2>)",
	 "log f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::log2_kernel_cuda(a"
	 "t::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#1}::operato"
	 "r()() const::{lambda(double)#1}, at::detail::Array<char*, 2> >(int, at::native::"
	 "log2_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{la"
	 "mbda()#1}::operator()() const::{lambda(double)#1}, at::detail::Array<char*, 2>)",
	 "log2 f64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::launch_log_sigmoid"
	 "_forward_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lam"
	 "bda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, a"
	 "t::native::launch_log_sigmoid_forward_kernel(at::TensorIteratorBase&)::{lambda()"
	 "#1}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, st"
	 "d::array<char*, 2ul>)",
	 "log_sigmoid_forward f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<bool"
	 ", bool, bool, at::native::logical_and_kernel_cuda(at::TensorIterator&)::{lambda("
	 ")#2}::operator()() const::{lambda()#9}::operator()() const::{lambda(bool, bool)#"
	 "1}>, at::detail::Array<char*, 3> >(int, at::native::BinaryFunctor<bool, bool, bo"
	 "ol, at::native::logical_and_kernel_cuda(at::TensorIterator&)::{lambda()#2}::oper"
	 "ator()() const::{lambda()#9}::operator()() const::{lambda(bool, bool)#1}>, at::d"
	 "etail::Array<char*, 3>)",
	 "logical_and bool"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::logit_kernel_cuda("
	 "at::TensorIteratorBase&, c10::Scalar const&)::{lambda()#1}::operator()() const::"
	 "{lambda()#2}::operator()() const::{lambda(float)#2}, at::detail::Array<char*, 2>"
	 " >(int, at::native::logit_kernel_cuda(at::TensorIteratorBase&, c10::Scalar const"
	 "&)::{lambda()#1}::operator()() const::{lambda()#2}::operator()() const::{lambda("
	 "float)#2}, at::detail::Array<char*, 2>)",
	 "logit f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::logit_backward_ker"
	 "nel_cuda(at::TensorIteratorBase&, c10::Scalar const&)::{lambda()#1}::operator()("
	 ") const::{lambda()#2}::operator()() const::{lambda(float, float)#2}, at::detail:"
	 ":Array<char*, 3> >(int, at::native::logit_backward_kernel_cuda(at::TensorIterato"
	 "rBase&, c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda()#2}::ope"
	 "rator()() const::{lambda(float, float)#2}, at::detail::Array<char*, 3>)",
	 "logit_backward f32"},
	{"void rocprim::ROCPRIM_400001_NS::detail::lookback_scan_kernel<(rocprim::ROCPRIM_"
	 "400001_NS::detail::lookback_scan_determinism)0, true, true, rocprim::ROCPRIM_400"
	 "001_NS::detail::wrapped_scan_config<rocprim::ROCPRIM_400001_NS::default_config, "
	 "long>, long const*, long*, at::cuda::cub::(anonymous namespace)::SumOp<long>, lo"
	 "ng, long, rocprim::ROCPRIM_400001_NS::detail::lookback_scan_state<long, false, t"
	 "rue> >(long const*, long*, unsigned long, long, at::cuda::cub::(anonymous namesp"
	 "ace)::SumOp<long>, rocprim::ROCPRIM_400001_NS::detail::lookback_scan_state<long,"
	 " false, true>, unsigned int, long*, long*, bool, bool)",
	 "lookback_scan i64"},
	{"void at::native::lpnorm_cleanup<float, (at::native::NormType)1, float, float>(fl"
	 "oat const*, at::native::TensorListAddresses, int)",
	 "lpnorm_cleanup f32"},
	{"void at::native::vectorized_elementwise_kernel<2, at::native::(anonymous namespa"
	 "ce)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::"
	 "operator()() const::{lambda()#4}::operator()() const::{lambda(long, bool)#1}, st"
	 "d::array<char*, 3ul> >(int, at::native::(anonymous namespace)::masked_fill_kerne"
	 "l(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() const::{l"
	 "ambda()#4}::operator()() const::{lambda(long, bool)#1}, std::array<char*, 3ul>)",
	 "masked_fill i64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespa"
	 "ce)::masked_scale_kernel<bool, float, float>(at::Tensor&, at::Tensor const&, at:"
	 ":Tensor const&, float)::{lambda(float, bool)#1}, std::array<char*, 3ul> >(int, a"
	 "t::native::(anonymous namespace)::masked_scale_kernel<bool, float, float>(at::Te"
	 "nsor&, at::Tensor const&, at::Tensor const&, float)::{lambda(float, bool)#1}, st"
	 "d::array<char*, 3ul>)",
	 "masked_scale f32"},
	{"void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float, int"
	 ">(float const*, long const*, int, int, int, int, int, int, int, int, int, int, i"
	 "nt, int, int, int, float*)",
	 "max_pool_backward_nchw f32"},
	{"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>(int, f"
	 "loat const*, long, long, long, int, int, int, int, int, int, int, int, int, int,"
	 " float*, long*)",
	 "max_pool_forward_nchw f32"},
	{"void at::native::vectorized_elementwise_kernel<8, at::native::mse_kernel_cuda(at"
	 "::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#4}::operator"
	 "()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}, std::array<char*, 3ul> >(i"
	 "nt, at::native::mse_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}::operator"
	 "()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat"
	 "16)#1}, std::array<char*, 3ul>)",
	 "mse bf16"},
	{"void at::native::unrolled_elementwise_kernel<at::native::BinaryFunctor<double, d"
	 "ouble, double, at::native::binary_internal::MulFunctor<double> >, at::detail::Ar"
	 "ray<char*, 3>, TrivialOffsetCalculator<2, unsigned int>, TrivialOffsetCalculator"
	 "<1, unsigned int>, at::native::memory::LoadWithCast<2>, at::native::memory::Stor"
	 "eWithCast<1> >(int, at::native::BinaryFunctor<double, double, double, at::native"
	 "::binary_internal::MulFunctor<double> >, at::detail::Array<char*, 3>, TrivialOff"
	 "setCalculator<2, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::na"
	 "tive::memory::LoadWithCast<2>, at::native::memory::StoreWithCast<1>)",
	 "mul cast f64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<floa"
	 "t, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<ch"
	 "ar*, 3ul> >(int, at::native::BinaryFunctor<float, float, float, at::native::bina"
	 "ry_internal::MulFunctor<float> >, std::array<char*, 3ul>)",
	 "mul f32"},
	{"void at::native::vectorized_elementwise_kernel<2, at::native::AUnaryFunctor<long"
	 ", long, long, at::native::binary_internal::MulFunctor<long> >, std::array<char*,"
	 " 2ul> >(int, at::native::AUnaryFunctor<long, long, long, at::native::binary_inte"
	 "rnal::MulFunctor<long> >, std::array<char*, 2ul>)",
	 "mul scalar i64"},
	{"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::nati"
	 "ve::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<f"
	 "loat> > >(at::TensorIteratorBase&, at::native::AUnaryFunctor<float, float, float"
	 ", at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int"
	 ", at::native::gpu_kernel_impl<at::native::AUnaryFunctor<float, float, float, at:"
	 ":native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, at::nat"
	 "ive::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<"
	 "float> > const&)::{lambda(int)#1})",
	 "mul scalar strided f32"},
	{"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::nati"
	 "ve::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<f"
	 "loat> > >(at::TensorIteratorBase&, at::native::BinaryFunctor<float, float, float"
	 ", at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int"
	 ", at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, float, float, at:"
	 ":native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, at::nat"
	 "ive::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<"
	 "float> > const&)::{lambda(int)#1})",
	 "mul strided f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::nan_to_num_kernel_"
	 "cuda(at::TensorIteratorBase&, c10::optional<double>, c10::optional<double>, c10:"
	 ":optional<double>)::{lambda()#1}::operator()() const::{lambda()#2}::operator()()"
	 " const::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::native::nan_to"
	 "_num_kernel_cuda(at::TensorIteratorBase&, c10::optional<double>, c10::optional<d"
	 "ouble>, c10::optional<double>)::{lambda()#1}::operator()() const::{lambda()#2}::"
	 "operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2>)",
	 "nan_to_num f32"},
	{"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
	 "nccl Generic 1"},
	{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork"
	 "*)",
	 "nccl SendRecv RING SIMPLE Sum int8"},
	{"void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, tr"
	 "ue, (cudnnKernelDataType_t)0>(cudnn::engines_precompiled::nchw2nhwc_params_t<flo"
	 "at>, float const*, float*)",
	 "nchwToNhwc f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::neg_kernel_cuda(at"
	 "::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#7}::operator"
	 "()() const::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::native::ne"
	 "g_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambd"
	 "a()#7}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2>)",
	 "neg f32"},
	{"void cudnn::engines_precompiled::nhwcToNchwKernel<float, float, float, true, fal"
	 "se, (cudnnKernelDataType_t)0>(cudnn::engines_precompiled::nhwc2nchw_params_t<flo"
	 "at>, float const*, float*)",
	 "nhwcToNchw f32"},
	{"void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<"
	 "float, long>(float*, float const*, long const*, float const*, float const*, bool"
	 ", int, int, long, long)",
	 "nll_loss_backward_r…e_cuda_kernel_2d f32"},
	{"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<f"
	 "loat, float, long>(float*, float*, float const*, long const*, float const*, bool"
	 ", long, long, long, long)",
	 "nll_loss_forward_re…e_cuda_kernel_2d f32"},
	{"void fbgemm_gpu::permute_2D_data_kernel<false, int, int, decltype(nullptr)>(int,"
	 " int, int, int const*, decltype(nullptr) const*, int const*, int const*, int con"
	 "st*, int*, decltype(nullptr)*)",
	 "permute_2D_data i32"},
	{"void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*, int const*"
	 ", int*)",
	 "permute_2D_lengths i32"},
	{"void fbgemm_gpu::permute_indices_weights_kernel<false, int, decltype(nullptr)>(i"
	 "nt, int, int const*, decltype(nullptr) const*, int const*, int const*, int const"
	 "*, int*, decltype(nullptr)*)",
	 "permute_indices_weights i32"},
	{"void permute_pooled_embs_kernel<float>(float const*, long const*, long const*, l"
	 "ong const*, float*, long, long, long)",
	 "permute_pooled_embs_kernel f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespa"
	 "ce)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)"
	 "::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::(anonymous namesp"
	 "ace)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float"
	 ")::{lambda(float)#1}, std::array<char*, 2ul>)",
	 "pow_tensor_scalar f32"},
	{"void rocprim::ROCPRIM_400001_NS::detail::radix_sort_block_sort_kernel<rocprim::R"
	 "OCPRIM_400001_NS::detail::wrapped_radix_sort_block_sort_config<rocprim::ROCPRIM_"
	 "400001_NS::kernel_config<256u, 4u, 4294967295u>, long, at::cuda::cub::detail::Op"
	 "aqueType<8> >, false, long const*, long*, at::cuda::cub::detail::OpaqueType<8> c"
	 "onst*, at::cuda::cub::detail::OpaqueType<8>*, rocprim::ROCPRIM_400001_NS::identi"
	 "ty_decomposer>(long const*, long*, at::cuda::cub::detail::OpaqueType<8> const*, "
	 "at::cuda::cub::detail::OpaqueType<8>*, unsigned int, rocprim::ROCPRIM_400001_NS:"
	 ":identity_decomposer, unsigned int, unsigned int)",
	 "radix_sort_block_sort i64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::reciprocal_kernel_"
	 "cuda(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#2}::o"
	 "perator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::"
	 "reciprocal_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}::operator()() cons"
	 "t::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
	 "reciprocal f32"},
	{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<bool, at::native::fu"
	 "nc_wrapper_t<bool, at::native::and_kernel_cuda(at::TensorIterator&)::{lambda()#1"
	 "}::operator()() const::{lambda()#12}::operator()() const::{lambda(bool, bool)#1}"
	 ">, unsigned int, bool, 4> >(at::native::ReduceOp<bool, at::native::func_wrapper_"
	 "t<bool, at::native::and_kernel_cuda(at::TensorIterator&)::{lambda()#1}::operator"
	 "()() const::{lambda()#12}::operator()() const::{lambda(bool, bool)#1}>, unsigned"
	 " int, bool, 4>)",
	 "reduce and bool"},
	{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::n"
	 "ative::ArgMaxOps<float>, unsigned int, long, 4, 4> >(at::native::ReduceOp<c10::B"
	 "Float16, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)",
	 "reduce arg_max bf16"},
	{"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::M"
	 "axOps<float>, unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::"
	 "MaxOps<float>, unsigned int, float, 4>)",
	 "reduce max f32"},
	{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::M"
	 "eanOps<float, float, float, float>, unsigned int, float, 4> >(at::native::Reduce"
	 "Op<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, "
	 "4>)",
	 "reduce mean f32"},
	{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::N"
	 "ormTwoOps<float, float, float>, unsigned int, float, 4> >(at::native::ReduceOp<f"
	 "loat, at::native::NormTwoOps<float, float, float>, unsigned int, float, 4>)",
	 "reduce norm_two f32"},
	{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<long, at::native::fu"
	 "nc_wrapper_t<long, at::native::sum_functor<long, long, long>::operator()(at::Ten"
	 "sorIterator&)::{lambda(long, long)#1}>, unsigned int, long, 4> >(at::native::Red"
	 "uceOp<long, at::native::func_wrapper_t<long, at::native::sum_functor<long, long,"
	 " long>::operator()(at::TensorIterator&)::{lambda(long, long)#1}>, unsigned int, "
	 "long, 4>)",
	 "reduce sum i64"},
	{"void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>(void*, void const*, floa"
	 "t, int, int)",
	 "reduce_wgrad_nchw_helper f32"},
	{"void at::native::vectorized_elementwise_kernel<2, at::native::BUnaryFunctor<long"
	 ", long, long, at::native::remainder_kernel_cuda(at::TensorIteratorBase&)::{lambd"
	 "a()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(long, long"
	 ")#1}>, std::array<char*, 2ul> >(int, at::native::BUnaryFunctor<long, long, long,"
	 " at::native::remainder_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}::opera"
	 "tor()() const::{lambda()#4}::operator()() const::{lambda(long, long)#1}>, std::a"
	 "rray<char*, 2ul>)",
	 "remainder scalar i64"},
	{"void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float, float>(l"
	 "ong, float, float const*, float*, float*)",
	 "RowwiseMoments f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda("
	 "at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operat"
	 "or()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::rsqrt"
	 "_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda"
	 "()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
	 "rsqrt f32"},
	{"void scal_kernel<float, float, 1, true, 6, 5, 5, 3>(cublasTransposeParams<float>"
	 ", float const*, float*, float const*)",
	 "scal_kernel f32"},
	{"void at::native::_scatter_gather_elementwise_kernel<128, 4, at::native::_cuda_sc"
	 "atter_gather_internal_kernel<true, float>::operator()<at::native::ReduceAdd>(at:"
	 ":TensorIterator&, long, long, long, at::native::ReduceAdd const&)::{lambda(int)#"
	 "1}>(int, at::native::_cuda_scatter_gather_internal_kernel<true, float>::operator"
	 "()<at::native::ReduceAdd>(at::TensorIterator&, long, long, long, at::native::Red"
	 "uceAdd const&)::{lambda(int)#1})",
	 "scatter reduce_add f32"},
	{"void at::native::_scatter_gather_elementwise_kernel<128, 4, at::native::_cuda_sc"
	 "atter_gather_internal_kernel<true, at::native::OpaqueType<4> >::operator()<at::n"
	 "ative::TensorAssign>(at::TensorIterator&, long, long, long, at::native::TensorAs"
	 "sign const&)::{lambda(int)#1}>(int, at::native::_cuda_scatter_gather_internal_ke"
	 "rnel<true, at::native::OpaqueType<4> >::operator()<at::native::TensorAssign>(at:"
	 ":TensorIterator&, long, long, long, at::native::TensorAssign const&)::{lambda(in"
	 "t)#1})",
	 "scatter tensor_assign 4B"},
	{"cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_3_64x64x64_4x1x1"
	 "_cga1x1x1_kernel0_0",
	 "sdpa fprop f16 64x64x64 sm80"},
	{"void sgemm_largek_lds64<true, true, 6, 3, 4, 5, 2, 66>(float*, float const*, flo"
	 "at const*, int, int, int, int, int, int, float const*, float const*, float, floa"
	 "t, int, int, int*, int*)",
	 "sgemm_largek_lds64"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_kernel_cud"
	 "a(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::oper"
	 "ator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::sig"
	 "moid_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{la"
	 "mbda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
	 "sigmoid f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_backward_k"
	 "ernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()"
	 "#2}::operator()() const::{lambda(float, float)#1}, at::detail::Array<char*, 3> >"
	 "(int, at::native::sigmoid_backward_kernel_cuda(at::TensorIteratorBase&)::{lambda"
	 "()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float, floa"
	 "t)#1}, at::detail::Array<char*, 3>)",
	 "sigmoid_backward f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespa"
	 "ce)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{la"
	 "mbda()#6}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>"
	 " >(int, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&):"
	 ":{lambda()#1}::operator()() const::{lambda()#6}::operator()() const::{lambda(c10"
	 "::BFloat16)#1}, std::array<char*, 2ul>)",
	 "silu bf16"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::sin_kernel_cuda(at"
	 "::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator"
	 "()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::sin_ker"
	 "nel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2"
	 "}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
	 "sin f32"},
	{"void (anonymous namespace)::softmax_warp_backward<float, float, float, 1, false,"
	 " false>(float*, float const*, float const*, int, int, int, bool const*)",
	 "softmax_warp_backward f32"},
	{"void (anonymous namespace)::softmax_warp_forward<float, float, float, 1, false, "
	 "false>(float*, float const*, int, int, int, bool const*, int, bool)",
	 "softmax_warp_forward f32"},
	{"split_embedding_backward_codegen_rowwise_adagrad_weighted_find_long_segments(at:"
	 ":GenericPackedTensorAccessor<int, 1ul, at::RestrictPtrTraits, int>, at::GenericP"
	 "ackedTensorAccessor<int, 1ul, at::RestrictPtrTraits, int>, at::GenericPackedTens"
	 "orAccessor<int, 1ul, at::RestrictPtrTraits, int>, at::GenericPackedTensorAccesso"
	 "r<int, 1ul, at::RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<int, 1u"
	 "l, at::RestrictPtrTraits, int>, at::GenericPackedTensorAccessor<int, 1ul, at::Re"
	 "strictPtrTraits, int>, at::GenericPackedTensorAccessor<int, 1ul, at::RestrictPtr"
	 "Traits, int>, int, int, bool)",
	 "split_embedding_bac…d_find_long_segments"},
	{"void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, fals"
	 "e, float, float, float, true, true, false, false>(cublasLt::cublasSplitKParams<f"
	 "loat>, float const*, float const*, float*, float*, float const*, float const*, f"
	 "loat const*, float const*, float*, void*, long, float*, int*, float*, float*, fl"
	 "oat const*, float const*, float const*, float const*, float const*)",
	 "splitKreduce f32"},
	{"void splitKreduce_kernel<float, float, float, float, true, false, false>(cublasS"
	 "plitKParams<float>, float const*, float const*, float*, float const*, float cons"
	 "t*, float const*, float const*, float*, void*, long, float*, int*)",
	 "splitKreduce_kernel f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::sqrt_kernel_cuda(a"
	 "t::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operato"
	 "r()() const::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::native::s"
	 "qrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lam"
	 "bda()#2}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2>)",
	 "sqrt f32"},
	{"SubTensorOpWithCastTensor1d",
	 "SubTensorOpWithCastTensor1d"},
	{"SubTensorOpWithScalar1d",
	 "SubTensorOpWithScalar1d"},
	{"void at::native::(anonymous namespace)::sum_and_scatter<float, long>(long const*"
	 ", float*, long, long const*, long const*, at::AccumulateType<float, true>::type "
	 "const*, long const*, long const*, long, long)",
	 "sum_and_scatter f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda(a"
	 "t::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operato"
	 "r()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::tanh_k"
	 "ernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()"
	 "#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
	 "tanh f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::tanh_backward_kern"
	 "el_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}"
	 "::operator()() const::{lambda(float, float)#1}, std::array<char*, 3ul> >(int, at"
	 "::native::tanh_backward_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::oper"
	 "ator()() const::{lambda()#2}::operator()() const::{lambda(float, float)#1}, std:"
	 ":array<char*, 3ul>)",
	 "tanh_backward f32"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<floa"
	 "t, float, float, at::native::(anonymous namespace)::threshold_kernel_impl<float>"
	 "(at::TensorIteratorBase&, float, float)::{lambda(float, float)#1}>, std::array<c"
	 "har*, 3ul> >(int, at::native::BinaryFunctor<float, float, float, at::native::(an"
	 "onymous namespace)::threshold_kernel_impl<float>(at::TensorIteratorBase&, float,"
	 " float)::{lambda(float, float)#1}>, std::array<char*, 3ul>)",
	 "threshold f32"},
	{"void rocprim::ROCPRIM_400001_NS::detail::transform_kernel<true, rocprim::ROCPRIM"
	 "_400001_NS::detail::wrapped_transform_config<rocprim::ROCPRIM_400001_NS::default"
	 "_config, unsigned long, true>, unsigned long, unsigned long*, long*, rocprim::RO"
	 "CPRIM_400001_NS::identity<void> >(unsigned long*, unsigned long, long*, rocprim:"
	 ":ROCPRIM_400001_NS::identity<void>)",
	 "transform u64"},
	{"void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, lo"
	 "ng, long, long, long, bool)",
	 "vectorized_gather i64"},
	{"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, floa"
	 "t>(int, float, float const*, float const*, float const*, float*, float*, float*)",
	 "vectorized_layer_norm f32"},
	{"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32_256x64"
	 "_16x4_nhwc_align4>(cutlass_tensorop_s1688wgrad_optimized_tf32_256x64_16x4_nhwc_a"
	 "lign4::Params)",
	 "wgrad tf32 nhwc 256x64x16"},
	{"sm90_xmma_wgrad_indexed_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize6"
	 "4x64x32_warpgroupsize1x1x1_g1_execute_segment_k_on_kernel__5x_cudnn",
	 "wgrad tf32 nhwc 64x64x32 sm90"},
	{"sm90_xmma_wgrad_indexed_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize6"
	 "4x64x32_warpgroupsize1x1x1_g1_execute_split_k_kernel__5x_cudnn",
	 "wgrad tf32 nhwc 64x64x32 sm90 splitk"},
};
/* clang-format on */

#endif
