/*
 * test_sanitizer_abi.c - abi.h of the Compute Sanitizer's handler, compared with NVIDIA's headers.
 *
 * CMake looks for them (PASTA_SANITIZER_INCLUDE); without them the test is skipped with a
 * message.
 */
#include <stdio.h>

#ifdef PASTA_HAVE_SANITIZER
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sanitizer_callbacks.h>
#include <sanitizer_driver_cbid.h>
#include <sanitizer_patching.h>

#include "handlers/sanitizer/abi.h"
#include "reduce/gpu.h"

#define SAME(ours, field, theirs, name)                                                            \
	do {                                                                                       \
		assert_int_equal(offsetof(struct ours, field), offsetof(theirs, name));            \
		assert_int_equal(sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->name));  \
	} while (0)
#define SAME_SIZE(ours, theirs) assert_int_equal(sizeof(struct ours), sizeof(theirs))

static void resource_data_has_nvidias_layout(void **state)
{
	(void)state;
	SAME_SIZE(san_context_data, Sanitizer_ResourceContextData);
	SAME(san_context_data, device, Sanitizer_ResourceContextData, device);
	SAME_SIZE(san_stream_data, Sanitizer_ResourceStreamData);
	SAME(san_stream_data, handle, Sanitizer_ResourceStreamData, hStream);
	SAME_SIZE(san_module_data, Sanitizer_ResourceModuleData);
	SAME(san_module_data, module, Sanitizer_ResourceModuleData, module);
	SAME(san_module_data, size, Sanitizer_ResourceModuleData, cubinSize);
	SAME(san_module_data, cubin, Sanitizer_ResourceModuleData, pCubin);
	SAME_SIZE(san_memory_data, Sanitizer_ResourceMemoryData);
	SAME(san_memory_data, addr, Sanitizer_ResourceMemoryData, address);
	SAME(san_memory_data, bytes, Sanitizer_ResourceMemoryData, size);
	SAME(san_memory_data, context, Sanitizer_ResourceMemoryData, context);
	SAME(san_memory_data, device, Sanitizer_ResourceMemoryData, device);
	SAME(san_memory_data, pool, Sanitizer_ResourceMemoryData, memoryPool);
	SAME(san_memory_data, flags, Sanitizer_ResourceMemoryData, flags);
	SAME(san_call, site, Sanitizer_CallbackData, callbackSite);
}

static void launch_data_has_nvidias_layout(void **state)
{
	(void)state;
	SAME_SIZE(san_launch_data, Sanitizer_LaunchData);
	SAME(san_launch_data, handle, Sanitizer_LaunchData, hStream);
	SAME(san_launch_data, module, Sanitizer_LaunchData, module);
	SAME(san_launch_data, function, Sanitizer_LaunchData, function);
	SAME(san_launch_data, name, Sanitizer_LaunchData, functionName);
	SAME(san_launch_data, launch, Sanitizer_LaunchData, hLaunch);
	SAME(san_launch_data, device, Sanitizer_LaunchData, device);
	SAME(san_launch_data, api_handle, Sanitizer_LaunchData, hApiStream);
	assert_int_equal(offsetof(struct san_launch_data, grid),
			 offsetof(Sanitizer_LaunchData, gridDim_x));
	assert_int_equal(offsetof(struct san_launch_data, block),
			 offsetof(Sanitizer_LaunchData, blockDim_x));
	SAME_SIZE(san_node_data, Sanitizer_GraphNodeLaunchData);
	SAME(san_node_data, graph, Sanitizer_GraphNodeLaunchData, graphExec);
	SAME(san_node_data, type, Sanitizer_GraphNodeLaunchData, nodeType);
	SAME(san_node_data, launch, Sanitizer_GraphNodeLaunchData, launchData);
	SAME(san_node_data, upload, Sanitizer_GraphNodeLaunchData, isGraphUpload);
	SAME_SIZE(san_graph_data, Sanitizer_GraphLaunchData);
	SAME(san_graph_data, handle, Sanitizer_GraphLaunchData, hStream);
	SAME(san_graph_data, upload, Sanitizer_GraphLaunchData, isGraphUpload);
}

#define SAME_CALL(ours, theirs) assert_int_equal(SAN_##ours, SANITIZER_CBID_DRIVER_API_##theirs)

static void numbers_of_calls_are_nvidias(void **state)
{
	(void)state;
	SAME_CALL(LAUNCH_OLD, cuLaunch);
	SAME_CALL(LAUNCH_GRID, cuLaunchGrid);
	SAME_CALL(LAUNCH_GRID_ASYNC, cuLaunchGridAsync);
	SAME_CALL(LAUNCH_KERNEL, cuLaunchKernel);
	SAME_CALL(LAUNCH_KERNEL_PTSZ, cuLaunchKernel_ptsz);
	SAME_CALL(LAUNCH_COOPERATIVE, cuLaunchCooperativeKernel);
	SAME_CALL(LAUNCH_COOPERATIVE_PTSZ, cuLaunchCooperativeKernel_ptsz);
	SAME_CALL(LAUNCH_KERNEL_EX, cuLaunchKernelEx);
	SAME_CALL(LAUNCH_KERNEL_EX_PTSZ, cuLaunchKernelEx_ptsz);
	SAME_CALL(PROFILER_START, cuProfilerStart);
	SAME_CALL(PROFILER_STOP, cuProfilerStop);
	SAME_CALL(CAPTURE, cuStreamBeginCapture);
	SAME_CALL(CAPTURE_PTSZ, cuStreamBeginCapture_ptsz);
	SAME_CALL(CAPTURE_END, cuStreamEndCapture);
	SAME_CALL(CAPTURE_END_PTSZ, cuStreamEndCapture_ptsz);
	SAME_CALL(CAPTURE_2, cuStreamBeginCapture_v2);
	SAME_CALL(CAPTURE_2_PTSZ, cuStreamBeginCapture_v2_ptsz);
	SAME_CALL(CAPTURE_GRAPH, cuStreamBeginCaptureToGraph);
	SAME_CALL(CAPTURE_GRAPH_PTSZ, cuStreamBeginCaptureToGraph_ptsz);
	SAME_CALL(GRAPH_LAUNCH, cuGraphLaunch);
	SAME_CALL(GRAPH_LAUNCH_PTSZ, cuGraphLaunch_ptsz);
	SAME_CALL(INSTANTIATE, cuGraphInstantiateWithFlags);
	SAME_CALL(INSTANTIATE_PARAMS, cuGraphInstantiateWithParams);
	SAME_CALL(INSTANTIATE_PARAMS_PTSZ, cuGraphInstantiateWithParams_ptsz);
	SAME_CALL(ADD_CALLBACK, cuStreamAddCallback);
	SAME_CALL(ADD_CALLBACK_PTSZ, cuStreamAddCallback_ptsz);
	SAME_CALL(WAIT_VALUE32, cuStreamWaitValue32);
	SAME_CALL(WAIT_VALUE32_PTSZ, cuStreamWaitValue32_ptsz);
	SAME_CALL(WAIT_VALUE64, cuStreamWaitValue64);
	SAME_CALL(WAIT_VALUE64_PTSZ, cuStreamWaitValue64_ptsz);
	SAME_CALL(BATCH_MEM_OP, cuStreamBatchMemOp);
	SAME_CALL(BATCH_MEM_OP_PTSZ, cuStreamBatchMemOp_ptsz);
	SAME_CALL(WAIT_EXTERNAL, cuWaitExternalSemaphoresAsync);
	SAME_CALL(WAIT_EXTERNAL_PTSZ, cuWaitExternalSemaphoresAsync_ptsz);
	SAME_CALL(LAUNCH_HOST, cuLaunchHostFunc);
	SAME_CALL(LAUNCH_HOST_PTSZ, cuLaunchHostFunc_ptsz);
	SAME_CALL(WAIT_VALUE32_2, cuStreamWaitValue32_v2);
	SAME_CALL(WAIT_VALUE32_2_PTSZ, cuStreamWaitValue32_v2_ptsz);
	SAME_CALL(WAIT_VALUE64_2, cuStreamWaitValue64_v2);
	SAME_CALL(WAIT_VALUE64_2_PTSZ, cuStreamWaitValue64_v2_ptsz);
	SAME_CALL(BATCH_MEM_OP_2, cuStreamBatchMemOp_v2);
	SAME_CALL(BATCH_MEM_OP_2_PTSZ, cuStreamBatchMemOp_v2_ptsz);
}

static void numbers_are_nvidias(void **state)
{
	(void)state;
	assert_int_equal(SAN_DRIVER_API, SANITIZER_CB_DOMAIN_DRIVER_API);
	assert_int_equal(SAN_RESOURCE, SANITIZER_CB_DOMAIN_RESOURCE);
	assert_int_equal(SAN_LAUNCH, SANITIZER_CB_DOMAIN_LAUNCH);
	assert_int_equal(SAN_GRAPHS, SANITIZER_CB_DOMAIN_GRAPHS);
	assert_int_equal(SAN_CONTEXT_CREATED, SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED);
	assert_int_equal(SAN_CONTEXT_DESTROYING, SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
	assert_int_equal(SAN_CONTEXT_DESTROYED, SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_FINISHED);
	assert_int_equal(SAN_STREAM_DESTROYING, SANITIZER_CBID_RESOURCE_STREAM_DESTROY_STARTING);
	assert_int_equal(SAN_MODULE_LOADED, SANITIZER_CBID_RESOURCE_MODULE_LOADED);
	assert_int_equal(SAN_MODULE_UNLOADING, SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
	assert_int_equal(SAN_DEVICE_ALLOC, SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC);
	assert_int_equal(SAN_DEVICE_FREE, SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE);
	assert_int_equal(SAN_HOST_ALLOC, SANITIZER_CBID_RESOURCE_HOST_MEMORY_ALLOC);
	assert_int_equal(SAN_HOST_FREE, SANITIZER_CBID_RESOURCE_HOST_MEMORY_FREE);
	assert_int_equal(SAN_ASYNC_ALLOC, SANITIZER_CBID_RESOURCE_MEMORY_ALLOC_ASYNC);
	assert_int_equal(SAN_ASYNC_FREE, SANITIZER_CBID_RESOURCE_MEMORY_FREE_ASYNC);
	assert_int_equal(SAN_LAUNCH_BEGIN, SANITIZER_CBID_LAUNCH_BEGIN);
	assert_int_equal(SAN_LAUNCH_END, SANITIZER_CBID_LAUNCH_END);
	assert_int_equal(SAN_NODE_LAUNCH_BEGIN, SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN);
	assert_int_equal(SAN_GRAPH_LAUNCH_BEGIN, SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN);
	assert_int_equal(SAN_GRAPH_LAUNCH_END, SANITIZER_CBID_GRAPHS_LAUNCH_END);
	assert_int_equal(SAN_NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL);
	assert_int_equal(SAN_MEMORY_MODULE, SANITIZER_MEMORY_FLAG_MODULE);
	assert_int_equal(SAN_MEMORY_MANAGED, SANITIZER_MEMORY_FLAG_MANAGED);
	assert_int_equal(SAN_MEMORY_HOST, SANITIZER_MEMORY_FLAG_HOST_PINNED);
	assert_int_equal(SAN_MEMORY_PEER, SANITIZER_MEMORY_FLAG_PEER);
	assert_int_equal(SAN_INVALID_PARAMETER, SANITIZER_ERROR_INVALID_PARAMETER);
	assert_int_equal(SAN_MAX_LIMIT, SANITIZER_ERROR_MAX_LIMIT_REACHED);
	assert_int_equal(SAN_NOT_INITIALIZED, SANITIZER_ERROR_NOT_INITIALIZED);
}

/* The list decides which classes exist; NVIDIA's headers decide their numbers. */
static void classes_of_instructions_have_nvidias_numbers(void **state)
{
	enum {
#define F(id, name, needs) is_##name = id,
		PASTA_GPU_PATCHES(F)
#undef F
	};

	(void)state;
	assert_int_equal(is_block_enter, SANITIZER_INSTRUCTION_BLOCK_ENTER);
	assert_int_equal(is_block_exit, SANITIZER_INSTRUCTION_BLOCK_EXIT);
	assert_int_equal(is_global, SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS);
	assert_int_equal(is_shared, SANITIZER_INSTRUCTION_SHARED_MEMORY_ACCESS);
	assert_int_equal(is_local, SANITIZER_INSTRUCTION_LOCAL_MEMORY_ACCESS);
	assert_int_equal(is_barrier, SANITIZER_INSTRUCTION_BARRIER);
	assert_int_equal(is_memcpy_async, SANITIZER_INSTRUCTION_MEMCPY_ASYNC);
	assert_int_equal(is_remote, SANITIZER_INSTRUCTION_REMOTE_SHARED_MEMORY_ACCESS);
	assert_int_equal(is_matrix, SANITIZER_INSTRUCTION_MATRIX_MEMORY_ACCESS);
	assert_int_equal(is_async_store, SANITIZER_INSTRUCTION_ASYNC_STORE);
	assert_int_equal(is_async_reduction, SANITIZER_INSTRUCTION_ASYNC_REDUCTION);
	assert_int_equal(is_bulk_to_shared, SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED);
	assert_int_equal(is_bulk_to_global, SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL);
	assert_int_equal(is_bulk_shared, SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_SHARED);
	assert_int_equal(is_bulk_reduce_global,
			 SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL);
	assert_int_equal(is_bulk_reduce_shared,
			 SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_SHARED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resource_data_has_nvidias_layout),
		cmocka_unit_test(launch_data_has_nvidias_layout),
		cmocka_unit_test(numbers_of_calls_are_nvidias),
		cmocka_unit_test(numbers_are_nvidias),
		cmocka_unit_test(classes_of_instructions_have_nvidias_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("skipped: there are no headers of the Compute Sanitizer (PASTA_SANITIZER_INCLUDE)");
	return 77;
}
#endif
