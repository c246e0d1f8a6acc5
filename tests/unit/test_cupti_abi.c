/*
 * test_cupti_abi.c - compares cuptiabi.h, and the layouts that the fake CUPTI uses, with NVIDIA's
 * headers.
 *
 * CMake looks for the headers (PASTA_CUPTI_INCLUDE). Without them, or if their version is not known
 * here, the test is skipped with a message.
 */
/* labels: onethread */
#include <stdio.h>

#ifdef PASTA_HAVE_CUPTI
#include <cupti.h>
#include <cupti_pcsampling.h>
#endif

#if defined(PASTA_HAVE_CUPTI) && (CUPTI_API_VERSION >= 130000 || CUPTI_API_VERSION == 28)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "handlers/cupti/cuptiabi.h"
#include "programs/fake_size.h"

/* The newest records of each version; older ones may be shorter. */
#if CUPTI_API_VERSION >= 130400
typedef CUpti_ActivityKernel13 real_kernel;
typedef CUpti_ActivityMemcpy7 real_memcpy;
typedef CUpti_ActivityMemset5 real_memset;
#elif CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 real_kernel;
typedef CUpti_ActivityMemcpy6 real_memcpy;
typedef CUpti_ActivityMemset4 real_memset;
#else
typedef CUpti_ActivityKernel9 real_kernel;
typedef CUpti_ActivityMemcpy6 real_memcpy;
typedef CUpti_ActivityMemset4 real_memset;
#endif
typedef CUpti_ActivityMemcpyPtoP4 real_p2p;
typedef CUpti_ActivityMemory4 real_memory;
typedef CUpti_ActivityAPI real_api;
typedef CUpti_ActivitySynchronization2 real_sync;
typedef CUpti_ActivityUnifiedMemoryCounter3 real_uvm;
typedef CUpti_ActivityCudaEvent2 real_event;
typedef CUpti_ActivityStream real_stream;
typedef CUpti_ActivityExternalCorrelation real_external;
typedef CUpti_CallbackData real_call;
typedef CUpti_ModuleResourceData real_module;
typedef CUpti_GetCubinCrcParams real_crc;

/* A field has the same offset and size as NVIDIA's. */
#define SAME(ours, field, theirs, name)                                                            \
	do {                                                                                       \
		assert_int_equal(offsetof(struct ours, field), offsetof(theirs, name));            \
		assert_int_equal(sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->name));  \
	} while (0)
/* The same for three adjacent fields. */
#define SAME3(ours, field, theirs, name)                                                           \
	do {                                                                                       \
		assert_int_equal(offsetof(struct ours, field[0]), offsetof(theirs, name##X));      \
		assert_int_equal(offsetof(struct ours, field[1]), offsetof(theirs, name##Y));      \
		assert_int_equal(offsetof(struct ours, field[2]), offsetof(theirs, name##Z));      \
	} while (0)

static void fields_of_kernels_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_kernel, kind, real_kernel, kind);
	SAME(cupti_kernel, registers, real_kernel, registersPerThread);
	SAME(cupti_kernel, start, real_kernel, start);
	SAME(cupti_kernel, end, real_kernel, end);
	SAME(cupti_kernel, device, real_kernel, deviceId);
	SAME(cupti_kernel, context, real_kernel, contextId);
	SAME(cupti_kernel, stream, real_kernel, streamId);
	SAME3(cupti_kernel, grid, real_kernel, grid);
	SAME3(cupti_kernel, block, real_kernel, block);
	SAME(cupti_kernel, shared_static, real_kernel, staticSharedMemory);
	SAME(cupti_kernel, shared_dynamic, real_kernel, dynamicSharedMemory);
	SAME(cupti_kernel, local, real_kernel, localMemoryPerThread);
	SAME(cupti_kernel, correlation, real_kernel, correlationId);
	SAME(cupti_kernel, name, real_kernel, name);
	SAME(cupti_kernel, node, real_kernel, graphNodeId);
	SAME(cupti_kernel, graph, real_kernel, graphId);
	assert_true(sizeof(struct cupti_kernel) <= sizeof(real_kernel));
}

static void fields_of_copies_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_memcpy, copy, real_memcpy, copyKind);
	SAME(cupti_memcpy, bytes, real_memcpy, bytes);
	SAME(cupti_memcpy, start, real_memcpy, start);
	SAME(cupti_memcpy, end, real_memcpy, end);
	SAME(cupti_memcpy, device, real_memcpy, deviceId);
	SAME(cupti_memcpy, context, real_memcpy, contextId);
	SAME(cupti_memcpy, stream, real_memcpy, streamId);
	SAME(cupti_memcpy, correlation, real_memcpy, correlationId);
	SAME(cupti_memcpy, node, real_memcpy, graphNodeId);
	assert_true(sizeof(struct cupti_memcpy) <= sizeof(real_memcpy));
}

static void fields_of_peer_copies_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_memcpy_p2p, bytes, real_p2p, bytes);
	SAME(cupti_memcpy_p2p, start, real_p2p, start);
	SAME(cupti_memcpy_p2p, end, real_p2p, end);
	SAME(cupti_memcpy_p2p, device, real_p2p, deviceId);
	SAME(cupti_memcpy_p2p, context, real_p2p, contextId);
	SAME(cupti_memcpy_p2p, stream, real_p2p, streamId);
	SAME(cupti_memcpy_p2p, from, real_p2p, srcDeviceId);
	SAME(cupti_memcpy_p2p, to, real_p2p, dstDeviceId);
	SAME(cupti_memcpy_p2p, correlation, real_p2p, correlationId);
	SAME(cupti_memcpy_p2p, node, real_p2p, graphNodeId);
	assert_true(sizeof(struct cupti_memcpy_p2p) <= sizeof(real_p2p));
}

static void fields_of_sets_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_memset, value, real_memset, value);
	SAME(cupti_memset, bytes, real_memset, bytes);
	SAME(cupti_memset, start, real_memset, start);
	SAME(cupti_memset, end, real_memset, end);
	SAME(cupti_memset, device, real_memset, deviceId);
	SAME(cupti_memset, context, real_memset, contextId);
	SAME(cupti_memset, stream, real_memset, streamId);
	SAME(cupti_memset, correlation, real_memset, correlationId);
	SAME(cupti_memset, node, real_memset, graphNodeId);
	assert_true(sizeof(struct cupti_memset) <= sizeof(real_memset));
}

static void fields_of_memory_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_memory, operation, real_memory, memoryOperationType);
	SAME(cupti_memory, type, real_memory, memoryKind);
	SAME(cupti_memory, correlation, real_memory, correlationId);
	SAME(cupti_memory, address, real_memory, address);
	SAME(cupti_memory, bytes, real_memory, bytes);
	SAME(cupti_memory, time, real_memory, timestamp);
	SAME(cupti_memory, device, real_memory, deviceId);
	SAME(cupti_memory, context, real_memory, contextId);
	SAME(cupti_memory, stream, real_memory, streamId);
	SAME(cupti_memory, name, real_memory, name);
	SAME(cupti_memory, async, real_memory, isAsync);
	SAME(cupti_memory, pool_type, real_memory, memoryPoolConfig.memoryPoolType);
	SAME(cupti_memory, pool, real_memory, memoryPoolConfig.address);
	assert_true(sizeof(struct cupti_memory) <= sizeof(real_memory));
}

static void fields_of_unified_memory_are_where_nvidia_has_them(void **state)
{
	typedef CUpti_ActivityUnifiedMemoryCounterConfig real_config;

	(void)state;
	SAME(cupti_uvm, type, real_uvm, counterKind);
	SAME(cupti_uvm, value, real_uvm, value);
	SAME(cupti_uvm, start, real_uvm, start);
	SAME(cupti_uvm, end, real_uvm, end);
	SAME(cupti_uvm, address, real_uvm, address);
	SAME(cupti_uvm, from, real_uvm, srcId);
	SAME(cupti_uvm, to, real_uvm, dstId);
	SAME(cupti_uvm, process, real_uvm, processId);
	SAME(cupti_uvm, flags, real_uvm, flags);
	assert_true(sizeof(struct cupti_uvm) <= sizeof(real_uvm));
	SAME(cupti_uvm_config, scope, real_config, scope);
	SAME(cupti_uvm_config, type, real_config, kind);
	SAME(cupti_uvm_config, device, real_config, deviceId);
	SAME(cupti_uvm_config, enable, real_config, enable);
	assert_int_equal(sizeof(struct cupti_uvm_config), sizeof(real_config));
	assert_int_equal(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, 1);
#define COUNTER(name, n) assert_int_equal(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##name, n)
	COUNTER(BYTES_TRANSFER_HTOD, 1);
	COUNTER(BYTES_TRANSFER_DTOH, 2);
	COUNTER(CPU_PAGE_FAULT_COUNT, 3);
	COUNTER(GPU_PAGE_FAULT, 4);
	COUNTER(THRASHING, 5);
	COUNTER(THROTTLING, 6);
	COUNTER(REMOTE_MAP, 7);
	COUNTER(BYTES_TRANSFER_DTOD, 8);
#undef COUNTER
}

static void fields_of_streams_events_and_links_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_stream, context, real_stream, contextId);
	SAME(cupti_stream, stream, real_stream, streamId);
	SAME(cupti_stream, priority, real_stream, priority);
	SAME(cupti_stream, flags, real_stream, flag);
	SAME(cupti_stream, correlation, real_stream, correlationId);
	SAME(cupti_event, correlation, real_event, correlationId);
	SAME(cupti_event, context, real_event, contextId);
	SAME(cupti_event, stream, real_event, streamId);
	SAME(cupti_event, event, real_event, eventId);
	SAME(cupti_event, device, real_event, deviceId);
	SAME(cupti_external, source, real_external, externalKind);
	SAME(cupti_external, id, real_external, externalId);
	SAME(cupti_external, correlation, real_external, correlationId);
}

static void parameters_of_calls_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cu_mem_prop, type, CUmemAllocationProp, type);
	SAME(cu_mem_prop, location, CUmemAllocationProp, location.type);
	SAME(cu_mem_prop, id, CUmemAllocationProp, location.id);
	SAME(cu_mem_create, handle, cuMemCreate_params, handle);
	SAME(cu_mem_create, size, cuMemCreate_params, size);
	SAME(cu_mem_create, prop, cuMemCreate_params, prop);
	SAME(cu_mem_retain, handle, cuMemRetainAllocationHandle_params, handle);
	SAME(cu_mem_release, handle, cuMemRelease_params, handle);
	SAME(cu_mem_map, address, cuMemMap_params, ptr);
	SAME(cu_mem_map, size, cuMemMap_params, size);
	SAME(cu_mem_map, handle, cuMemMap_params, handle);
	SAME(cu_mem_unmap, address, cuMemUnmap_params, ptr);
	SAME(cu_mem_unmap, size, cuMemUnmap_params, size);
	assert_int_equal(CU_MEM_LOCATION_TYPE_DEVICE, 1);
}

static void fields_of_calls_and_syncs_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_api, id, real_api, cbid);
	SAME(cupti_api, start, real_api, start);
	SAME(cupti_api, end, real_api, end);
	SAME(cupti_api, thread, real_api, threadId);
	SAME(cupti_api, correlation, real_api, correlationId);
	SAME(cupti_api, status, real_api, returnValue);
	assert_true(sizeof(struct cupti_api) <= sizeof(real_api));
	SAME(cupti_sync, type, real_sync, type);
	SAME(cupti_sync, start, real_sync, start);
	SAME(cupti_sync, end, real_sync, end);
	SAME(cupti_sync, correlation, real_sync, correlationId);
	SAME(cupti_sync, context, real_sync, contextId);
	SAME(cupti_sync, stream, real_sync, streamId);
	SAME(cupti_sync, event, real_sync, cudaEventId);
	assert_true(sizeof(struct cupti_sync) <= sizeof(real_sync));
}

static void fields_of_callbacks_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_call, site, real_call, callbackSite);
	SAME(cupti_call, function, real_call, functionName);
	SAME(cupti_call, params, real_call, functionParams);
	SAME(cupti_call, ret, real_call, functionReturnValue);
	SAME(cupti_call, symbol, real_call, symbolName);
	SAME(cupti_call, context, real_call, context);
	SAME(cupti_call, context_id, real_call, contextUid);
	SAME(cupti_call, data, real_call, correlationData);
	SAME(cupti_call, correlation, real_call, correlationId);
	assert_int_equal(sizeof(struct cupti_call), sizeof(real_call));
	assert_int_equal(CUPTI_API_ENTER, 0);
	assert_int_equal(CUPTI_API_EXIT, 1);
}

static void fields_of_modules_are_where_nvidia_has_them(void **state)
{
	(void)state;
	SAME(cupti_resource_data, context, CUpti_ResourceData, context);
	SAME(cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
	SAME(cupti_module, id, real_module, moduleId);
	SAME(cupti_module, bytes, real_module, cubinSize);
	SAME(cupti_module, cubin, real_module, pCubin);
	SAME(cupti_crc, size, real_crc, size);
	SAME(cupti_crc, cubin_size, real_crc, cubinSize);
	SAME(cupti_crc, cubin, real_crc, cubin);
	SAME(cupti_crc, crc, real_crc, cubinCrc);
	assert_int_equal(sizeof(struct cupti_crc), CUpti_GetCubinCrcParamsSize);
}

static void numbers_are_those_that_nvidia_has(void **state)
{
	(void)state;
	assert_int_equal(CUPTI_OK, CUPTI_SUCCESS);
	assert_int_equal(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
	assert_int_equal(CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
	assert_int_equal(CUPTI_MULTIPLE_SUBSCRIBERS,
			 CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_int_equal(CUPTI_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
	assert_int_equal(CUPTI_RUNTIME_API, CUPTI_CB_DOMAIN_RUNTIME_API);
	assert_int_equal(CUPTI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
	assert_int_equal(CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	assert_int_equal(CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
	assert_int_equal(CUPTI_MODULE_UNLOADING, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
	assert_int_equal(CUPTI_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
	assert_int_equal(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
	assert_int_equal(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
	assert_int_equal(CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
	assert_int_equal(CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
	assert_int_equal(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	assert_int_equal(CUPTI_MEMCPY_P2P, CUPTI_ACTIVITY_KIND_MEMCPY2);
	assert_int_equal(CUPTI_SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
	assert_int_equal(CUPTI_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2);
	assert_int_equal(CUPTI_UVM, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
	assert_int_equal(CUPTI_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
	assert_int_equal(CUPTI_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
	assert_int_equal(CUPTI_EXTERNAL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	assert_int_equal(CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL, 1);
	assert_int_equal(CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED, 2);
	assert_int_equal(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 1);
	assert_int_equal(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 2);
	assert_int_equal(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 3);
	assert_int_equal(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, 4);
	assert_int_equal(FAKE_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
	assert_int_equal(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, 10);
	assert_int_equal(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC, 7);
	assert_int_equal(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 1);
	assert_int_equal(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, 2);
	assert_int_equal(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM, 1);
	assert_int_equal(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, 1);
}

static void records_of_the_fake_are_as_long_as_nvidia_has_them(void **state)
{
	(void)state;
#define SIZE(kind) fake_size_in(CUPTI_API_VERSION, kind)
	assert_int_equal(SIZE(CUPTI_MEMCPY), sizeof(real_memcpy));
	assert_int_equal(SIZE(CUPTI_MEMSET), sizeof(real_memset));
	assert_int_equal(SIZE(CUPTI_MEMCPY_P2P), sizeof(real_p2p));
	assert_int_equal(SIZE(CUPTI_MEMORY), sizeof(real_memory));
	assert_int_equal(SIZE(CUPTI_SYNC), sizeof(real_sync));
	assert_int_equal(SIZE(CUPTI_DRIVER), sizeof(real_api));
	assert_int_equal(SIZE(CUPTI_RUNTIME), sizeof(real_api));
	assert_int_equal(SIZE(CUPTI_KERNEL), sizeof(real_kernel));
	assert_int_equal(SIZE(CUPTI_UVM), sizeof(real_uvm));
	assert_int_equal(SIZE(CUPTI_EVENT), sizeof(real_event));
	assert_int_equal(SIZE(CUPTI_STREAM), sizeof(real_stream));
	assert_int_equal(SIZE(CUPTI_EXTERNAL), sizeof(real_external));
	assert_int_equal(SIZE(FAKE_OVERHEAD), sizeof(CUpti_ActivityOverhead3));
#undef SIZE
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_kernels_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_copies_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_peer_copies_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_sets_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_memory_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_unified_memory_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_streams_events_and_links_are_where_nvidia_has_them),
		cmocka_unit_test(parameters_of_calls_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_calls_and_syncs_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_callbacks_are_where_nvidia_has_them),
		cmocka_unit_test(fields_of_modules_are_where_nvidia_has_them),
		cmocka_unit_test(numbers_are_those_that_nvidia_has),
		cmocka_unit_test(records_of_the_fake_are_as_long_as_nvidia_has_them),
	};

	printf("CUPTI_API_VERSION %d\n", CUPTI_API_VERSION);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
#ifdef PASTA_HAVE_CUPTI
	printf("skipped: what records CUPTI %d has is not known here\n", CUPTI_API_VERSION);
#else
	puts("skipped: no cupti.h that compiles: install cuda-cupti-dev and cuda-cudart-dev, or set "
	     "PASTA_CUPTI_INCLUDE for CMake");
#endif
	return 77;
}

#endif
