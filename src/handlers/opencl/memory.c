/* memory.c - tracks allocations: buffers, sub-buffers, images, pipes and shared virtual memory
 * (SVM). */
#include <pthread.h>
#include <string.h>

#include "collect/stack.h"
#include "handlers/opencl/instrumented.h"
#include "handlers/opencl/opencl.h"
#include "handlers/opencl/table.h"

/* A buffer or an SVM allocation. This struct is used only in runs that count accesses. */
struct mem {
	uint32_t number;
	_Atomic bool buffer;
	const void *root; /* the parent of a sub-buffer; for other buffers, the buffer itself */
	uint64_t offset, bytes;
	/* The number of the object that represents a root buffer, and the object's address; 0 until
	 * the object is registered. */
	_Atomic uint64_t object, addr;
};

static struct cl_table mems;

bool cl_mem_range(cl_mem mem, struct cl_range *range)
{
	struct mem *m = cl_table_find(&mems, mem);

	if (!m || !atomic_load(&m->buffer))
		return false;
	*range = (struct cl_range){m->root, m->offset, m->bytes};
	return true;
}

void cl_mem_set_object(const void *root, uint64_t addr, uint64_t object)
{
	struct mem *m = cl_table_find(&mems, root);

	if (!m)
		return;
	atomic_store(&m->addr, addr);
	atomic_store(&m->object, object);
}

static void mem_unregister(const void *handle)
{
	struct mem *m = cl_table_find(&mems, handle);

	if (m && atomic_exchange(&m->buffer, false) && atomic_load(&m->object))
		pasta_accesses_unregister(atomic_load(&m->addr), atomic_exchange(&m->object, 0));
}

static void mem_register(cl_mem handle, cl_mem parent, size_t bytes)
{
	struct mem *m = cl_table_put(&mems, handle, sizeof(*m));
	size_t offset = 0;

	if (!m)
		return;
	if (parent) {
		cl_below.clGetMemObjectInfo(handle, CL_MEM_OFFSET, sizeof(offset), &offset, NULL);
		cl_below.clGetMemObjectInfo(parent, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
	}
	m->root = parent ? parent : handle;
	m->offset = offset;
	m->bytes = bytes;
	atomic_store(&m->object, 0);
	atomic_store(&m->buffer, true);
}

/* SVM has the same address on the host and on all devices, so an SVM allocation is registered at
 * once. */
static void svm_register(const void *p, size_t bytes, uint32_t context)
{
	struct mem *m = cl_table_put(&mems, p, sizeof(*m));

	if (!m)
		return;
	cl_mem_set_object(p, (uintptr_t)p,
			  pasta_accesses_object((uintptr_t)p, (uintptr_t)p, bytes, context, 0));
	atomic_store(&m->buffer, true);
}

static void mem_emit_alloc(const void *handle, uint64_t bytes, const void *parent, unsigned int sub,
			   cl_context context, uint64_t begin)
{
	struct pasta_event ev;

	if (!handle || !pasta_agent_records(PASTA_KIND_ALLOC))
		return;
	pasta_event_init(&ev, PASTA_KIND_ALLOC, sub, PASTA_EVENT_SIZE(alloc));
	ev.alloc.addr = (uintptr_t)handle;
	ev.alloc.bytes = bytes;
	ev.alloc.parent = (uintptr_t)parent;
	ev.alloc.context = cl_context_number(context);
	ev.time = pasta_now();
	ev.alloc.dur = ev.time - begin;
	ev.alloc.stack = pasta_stack_capture_at(PASTA_STACK_ALLOC);
	pasta_emit(&ev);
}

static void mem_emit_free(const void *handle, uint64_t bytes, uint32_t context, uint64_t time)
{
	struct pasta_event ev;

	if (!handle || !pasta_agent_records(PASTA_KIND_FREE))
		return;
	pasta_event_init(&ev, PASTA_KIND_FREE, 0, PASTA_EVENT_SIZE(free));
	ev.free.addr = (uintptr_t)handle;
	ev.free.bytes = bytes;
	ev.free.context = context;
	ev.time = time;
	pasta_emit(&ev);
}

/* The driver calls this function when it destroys the memory object. */
static void CL_CALLBACK mem_destroyed(cl_mem mem, void *bytes)
{
	mem_unregister(mem);
	mem_emit_free(mem, (uintptr_t)bytes, 0, pasta_now());
}

/* Emits the record of a new OpenCL memory object. If accesses are counted, registers the memory as
 * an object of the reducers. `buffer`: whether kernels get the memory's address. */
static void mem_created(cl_mem mem, cl_mem parent, unsigned int sub, bool buffer, uint64_t begin)
{
	cl_context context = NULL;
	size_t bytes = 0;

	if (!mem)
		return;
	cl_below.clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
	cl_below.clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
	mem_emit_alloc(mem, bytes, parent, sub, context, begin);
	if (cl_counts_accesses() && buffer)
		mem_register(mem, parent, bytes);
	/* A driver without this callback never reports that the memory object is destroyed. */
	if (cl_below.clSetMemObjectDestructorCallback)
		cl_below.clSetMemObjectDestructorCallback(mem, mem_destroyed,
							  (void *)(uintptr_t)bytes);
}

static unsigned int mem_alloc_type(cl_mem_flags flags)
{
	return flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR) ? PASTA_ALLOC_HOST
								     : PASTA_ALLOC_DEVICE;
}

static CL_API_ENTRY cl_mem CL_API_CALL wrap_clCreateBuffer(cl_context context, cl_mem_flags flags,
							   size_t size, void *host, cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_int error = CL_SUCCESS;
	cl_mem m = cl_below.clCreateBuffer(context, flags, size, host, &error);

	mem_created(m, NULL, mem_alloc_type(flags), true, begin);
	cl_api("clCreateBuffer", begin, error);
	if (status)
		*status = error;
	return m;
}

static CL_API_ENTRY cl_mem CL_API_CALL
wrap_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
				  cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_mem m = cl_below.clCreateBufferWithProperties(context, properties, flags, size, host,
							 status);

	mem_created(m, NULL, mem_alloc_type(flags), true, begin);
	return m;
}

static CL_API_ENTRY cl_mem CL_API_CALL wrap_clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
							      cl_buffer_create_type type,
							      const void *info, cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_mem m = cl_below.clCreateSubBuffer(buffer, flags, type, info, status);

	mem_created(m, buffer, mem_alloc_type(flags), true, begin);
	return m;
}

static CL_API_ENTRY cl_mem CL_API_CALL wrap_clCreateImage(cl_context context, cl_mem_flags flags,
							  const cl_image_format *format,
							  const cl_image_desc *desc, void *host,
							  cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_mem m = cl_below.clCreateImage(context, flags, format, desc, host, status);

	mem_created(m, m && desc ? desc->buffer : NULL, PASTA_ALLOC_IMAGE, false, begin);
	return m;
}

static CL_API_ENTRY cl_mem CL_API_CALL wrap_clCreateImageWithProperties(
	cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
	const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_mem m = cl_below.clCreateImageWithProperties(context, properties, flags, format, desc,
							host, status);

	mem_created(m, m && desc ? desc->buffer : NULL, PASTA_ALLOC_IMAGE, false, begin);
	return m;
}

static CL_API_ENTRY cl_mem CL_API_CALL wrap_clCreateImage2D(cl_context context, cl_mem_flags flags,
							    const cl_image_format *format,
							    size_t width, size_t height,
							    size_t pitch, void *host,
							    cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_mem m = cl_below.clCreateImage2D(context, flags, format, width, height, pitch, host,
					    status);

	mem_created(m, NULL, PASTA_ALLOC_IMAGE, false, begin);
	return m;
}

static CL_API_ENTRY cl_mem CL_API_CALL wrap_clCreateImage3D(
	cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
	size_t height, size_t depth, size_t pitch, size_t slice, void *host, cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_mem m = cl_below.clCreateImage3D(context, flags, format, width, height, depth, pitch,
					    slice, host, status);

	mem_created(m, NULL, PASTA_ALLOC_IMAGE, false, begin);
	return m;
}

static CL_API_ENTRY cl_mem CL_API_CALL wrap_clCreatePipe(cl_context context, cl_mem_flags flags,
							 cl_uint packet, cl_uint packets,
							 const cl_pipe_properties *properties,
							 cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_mem m = cl_below.clCreatePipe(context, flags, packet, packets, properties, status);

	mem_created(m, NULL, PASTA_ALLOC_DEVICE, false, begin);
	return m;
}

static CL_API_ENTRY void *CL_API_CALL wrap_clSVMAlloc(cl_context context, cl_svm_mem_flags flags,
						      size_t size, cl_uint alignment)
{
	uint64_t begin = pasta_now();
	void *p = cl_below.clSVMAlloc(context, flags, size, alignment);

	mem_emit_alloc(p, size, NULL, PASTA_ALLOC_MANAGED, context, begin);
	cl_memory_shared(p, size);
	if (p && cl_counts_accesses())
		svm_register(p, size, cl_context_number(context));
	return p;
}

/* The record is emitted before the memory is freed, because another thread may get the same address
 * afterwards. */
static CL_API_ENTRY void CL_API_CALL wrap_clSVMFree(cl_context context, void *p)
{
	mem_unregister(p);
	cl_memory_unshared(p);
	mem_emit_free(p, 0, cl_context_number(context), pasta_now());
	cl_below.clSVMFree(context, p);
}

uint64_t cl_image_bytes(cl_mem image, const size_t *region)
{
	size_t element = 0;

	cl_below.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL);
	return region ? (uint64_t)element * region[0] * region[1] * region[2] : 0;
}

/* The queue frees the memory some time later. The free record has the time before this call,
 * because another thread may get the same address before this call returns. */
static CL_API_ENTRY cl_int CL_API_CALL
wrap_clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void *pointers[],
		      void(CL_CALLBACK *free_)(cl_command_queue, cl_uint, void *[], void *),
		      void *data, cl_uint waits, const cl_event *list, cl_event *event)
{
	uint64_t begin = pasta_now();
	cl_int r =
		cl_below.clEnqueueSVMFree(queue, count, pointers, free_, data, waits, list, event);

	/* If `free_` is set, the application's callback frees the memory with clSVMFree, or retains
	 * the memory. Kernels that were enqueued earlier may still run, so the memory stays
	 * registered as an object until another allocation replaces the object. */
	for (cl_uint i = 0; r == CL_SUCCESS && i < count && !free_; i++) {
		cl_memory_unshared(pointers[i]);
		mem_emit_free(pointers[i], 0, cl_queue_of(queue).context, begin);
	}
	cl_api("clEnqueueSVMFree", begin, r);
	return r;
}

void cl_wrap_memory(cl_icd_dispatch *table)
{
	CL_WRAP(table, clCreateBuffer);
	CL_WRAP(table, clCreateBufferWithProperties);
	CL_WRAP(table, clCreateSubBuffer);
	CL_WRAP(table, clCreateImage);
	CL_WRAP(table, clCreateImageWithProperties);
	CL_WRAP(table, clCreateImage2D);
	CL_WRAP(table, clCreateImage3D);
	CL_WRAP(table, clCreatePipe);
	CL_WRAP(table, clSVMAlloc);
	CL_WRAP(table, clSVMFree);
	CL_WRAP(table, clEnqueueSVMFree);
}
