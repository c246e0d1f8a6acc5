/* hostmemory.c - determines the types of memory at both ends of a copy. Tracks the ranges of host
 * memory that are not pageable: mapped objects in the host's memory, and shared virtual memory. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/lock.h"
#include "handlers/opencl/opencl.h"

/* Maximum number of ranges at a time. Memory in further ranges counts as pageable. */
enum { RANGES = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range {
	const char *at;
	size_t size;
	enum pasta_memory type;
} ranges[RANGES];
static _Atomic uint32_t range_count;

static void range_add(const void *at, size_t size, enum pasta_memory type)
{
	uint32_t n;

	pasta_lock(&lock);
	n = atomic_load_explicit(&range_count, memory_order_relaxed);
	if (n < RANGES) {
		ranges[n] = (struct range){at, size, type};
		atomic_store(&range_count, n + 1);
	}
	pasta_unlock(&lock);
}

/* Removes the latest range that begins at this address. */
static void range_remove(const void *at)
{
	uint32_t n, i;

	if (!atomic_load(&range_count))
		return;
	pasta_lock(&lock);
	n = i = atomic_load_explicit(&range_count, memory_order_relaxed);
	while (i && ranges[i - 1].at != at)
		i--;
	if (i) {
		ranges[i - 1] = ranges[n - 1];
		atomic_store(&range_count, n - 1);
	}
	pasta_unlock(&lock);
}

static bool memory_on_host(cl_mem mem)
{
	cl_mem_flags flags = 0;

	cl_below.clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
	return flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR);
}

enum pasta_memory cl_memory_object(cl_mem mem)
{
	cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;

	cl_below.clGetMemObjectInfo(mem, CL_MEM_TYPE, sizeof(type), &type, NULL);
	if (type != CL_MEM_OBJECT_BUFFER && type != CL_MEM_OBJECT_PIPE)
		return PASTA_MEMORY_ARRAY;
	return memory_on_host(mem) ? PASTA_MEMORY_PINNED : PASTA_MEMORY_DEVICE;
}

enum pasta_memory cl_memory_pointer(const void *p)
{
	enum pasta_memory type = PASTA_MEMORY_PAGEABLE;
	uint32_t i;

	if (!atomic_load(&range_count))
		return type;
	pasta_lock(&lock);
	for (i = atomic_load_explicit(&range_count, memory_order_relaxed); i-- > 0;)
		if ((uintptr_t)p - (uintptr_t)ranges[i].at < ranges[i].size) {
			type = ranges[i].type;
			break;
		}
	pasta_unlock(&lock);
	return type;
}

void cl_memory_mapped(cl_mem mem, const void *p, size_t size)
{
	if (p && size && pasta_agent_records(PASTA_KIND_COPY) && memory_on_host(mem))
		range_add(p, size, PASTA_MEMORY_PINNED);
}

void cl_memory_unmapped(const void *p)
{
	range_remove(p);
}

void cl_memory_shared(const void *p, size_t size)
{
	if (p && size && pasta_agent_records(PASTA_KIND_COPY))
		range_add(p, size, PASTA_MEMORY_MANAGED);
}

void cl_memory_unshared(const void *p)
{
	range_remove(p);
}
