/* enqueue.c - wraps the functions that enqueue commands and wait for them. */
#include <string.h>

#include "core/lock.h"
#include "handlers/opencl/opencl.h"

#define WAITS cl_uint waits, const cl_event *list, cl_event *event

static uint32_t enqueue_narrow(size_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint64_t enqueue_region_bytes(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t enqueue_handle(const void *p)
{
	return (uintptr_t)p;
}

/* -- Kernels -- */

/* Sets `grid` to the number of work-groups, and `block` to their size. If the application lets the
 * driver choose the size, `block` is 0, and `grid` is the whole global range. */
static void enqueue_shape(struct cl_command *cmd, cl_uint dims, const size_t *global,
			  const size_t *local)
{
	for (cl_uint i = 0; i < 3; i++) {
		size_t all = i < dims && global ? global[i] : 1;
		size_t block = i < dims && local ? local[i] : local ? 1 : 0;

		cmd->block[i] = enqueue_narrow(block);
		cmd->grid[i] = enqueue_narrow(block ? (all + block - 1) / block : all);
	}
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueNDRangeKernel(cl_command_queue queue,
								   cl_kernel kernel, cl_uint dims,
								   const size_t *offset,
								   const size_t *global,
								   const size_t *local, WAITS)
{
	struct cl_command cmd = {.queue = queue, .kind = PASTA_KIND_KERNEL, .kernel = kernel};
	cl_int r;

	pasta_cancel_defer(); /* building a clone may block */
	enqueue_shape(&cmd, dims, global, local);
	cl_command_begin(&cmd, "clEnqueueNDRangeKernel", event);
	cl_instrumented_begin(&cmd);
	do
		r = cl_below.clEnqueueNDRangeKernel(queue, cl_command_kernel(&cmd), dims, offset,
						    global, local, waits, list,
						    cl_command_event(&cmd));
	while (cl_instrumented_retry(&cmd, r));
	r = cl_command_end(&cmd, r);
	pasta_cancel_restore();
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueTask(cl_command_queue queue, cl_kernel kernel,
							  WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_KERNEL,
				 .kernel = kernel,
				 .grid = {1, 1, 1},
				 .block = {1, 1, 1}};
	cl_int r;

	pasta_cancel_defer(); /* building a clone may block */
	cl_command_begin(&cmd, "clEnqueueTask", event);
	cl_instrumented_begin(&cmd);
	do
		r = cl_below.clEnqueueTask(queue, cl_command_kernel(&cmd), waits, list,
					   cl_command_event(&cmd));
	while (cl_instrumented_retry(&cmd, r));
	r = cl_command_end(&cmd, r);
	pasta_cancel_restore();
	return r;
}

/* -- Copies of buffers -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem,
								cl_bool blocking, size_t offset,
								size_t size, void *ptr, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_D2H,
				 .bytes = size,
				 .src = enqueue_handle(mem),
				 .src_is_object = true,
				 .dst = enqueue_handle(ptr),
				 .blocking = blocking};

	cl_command_begin(&cmd, "clEnqueueReadBuffer", event);
	return cl_command_end(&cmd,
			      cl_below.clEnqueueReadBuffer(queue, mem, blocking, offset, size, ptr,
							   waits, list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem,
								 cl_bool blocking, size_t offset,
								 size_t size, const void *ptr,
								 WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_H2D,
				 .bytes = size,
				 .src = enqueue_handle(ptr),
				 .dst = enqueue_handle(mem),
				 .dst_is_object = true,
				 .blocking = blocking};

	cl_command_begin(&cmd, "clEnqueueWriteBuffer", event);
	return cl_command_end(&cmd,
			      cl_below.clEnqueueWriteBuffer(queue, mem, blocking, offset, size, ptr,
							    waits, list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueReadBufferRect(
	cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
	const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, void *ptr, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_D2H,
				 .bytes = enqueue_region_bytes(region),
				 .src = enqueue_handle(mem),
				 .src_is_object = true,
				 .dst = enqueue_handle(ptr),
				 .blocking = blocking};

	cl_command_begin(&cmd, "clEnqueueReadBufferRect", event);
	return cl_command_end(
		&cmd, cl_below.clEnqueueReadBufferRect(queue, mem, blocking, origin, host_origin,
						       region, row, slice, host_row, host_slice,
						       ptr, waits, list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueWriteBufferRect(
	cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
	const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, const void *ptr, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_H2D,
				 .bytes = enqueue_region_bytes(region),
				 .src = enqueue_handle(ptr),
				 .dst = enqueue_handle(mem),
				 .dst_is_object = true,
				 .blocking = blocking};

	cl_command_begin(&cmd, "clEnqueueWriteBufferRect", event);
	return cl_command_end(
		&cmd, cl_below.clEnqueueWriteBufferRect(queue, mem, blocking, origin, host_origin,
							region, row, slice, host_row, host_slice,
							ptr, waits, list, cl_command_event(&cmd)));
}

static struct cl_command enqueue_between(cl_command_queue queue, cl_mem src, cl_mem dst,
					 uint64_t bytes)
{
	return (struct cl_command){.queue = queue,
				   .kind = PASTA_KIND_COPY,
				   .sub = PASTA_COPY_D2D,
				   .bytes = bytes,
				   .src = enqueue_handle(src),
				   .dst = enqueue_handle(dst),
				   .src_is_object = true,
				   .dst_is_object = true};
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem src,
								cl_mem dst, size_t from, size_t to,
								size_t size, WAITS)
{
	struct cl_command cmd = enqueue_between(queue, src, dst, size);

	cl_command_begin(&cmd, "clEnqueueCopyBuffer", event);
	return cl_command_end(&cmd,
			      cl_below.clEnqueueCopyBuffer(queue, src, dst, from, to, size, waits,
							   list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL
wrap_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem src, cl_mem dst, const size_t *from,
			     const size_t *to, const size_t *region, size_t src_row,
			     size_t src_slice, size_t dst_row, size_t dst_slice, WAITS)
{
	struct cl_command cmd = enqueue_between(queue, src, dst, enqueue_region_bytes(region));

	cl_command_begin(&cmd, "clEnqueueCopyBufferRect", event);
	return cl_command_end(&cmd, cl_below.clEnqueueCopyBufferRect(queue, src, dst, from, to,
								     region, src_row, src_slice,
								     dst_row, dst_slice, waits,
								     list, cl_command_event(&cmd)));
}

/* -- Images -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueReadImage(cl_command_queue queue, cl_mem image,
							       cl_bool blocking,
							       const size_t *origin,
							       const size_t *region, size_t row,
							       size_t slice, void *ptr, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_D2H,
				 .bytes = cl_image_bytes(image, region),
				 .src = enqueue_handle(image),
				 .src_is_object = true,
				 .dst = enqueue_handle(ptr),
				 .blocking = blocking};

	cl_command_begin(&cmd, "clEnqueueReadImage", event);
	return cl_command_end(&cmd, cl_below.clEnqueueReadImage(queue, image, blocking, origin,
								region, row, slice, ptr, waits,
								list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueWriteImage(
	cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
	const size_t *region, size_t row, size_t slice, const void *ptr, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_H2D,
				 .bytes = cl_image_bytes(image, region),
				 .src = enqueue_handle(ptr),
				 .dst = enqueue_handle(image),
				 .dst_is_object = true,
				 .blocking = blocking};

	cl_command_begin(&cmd, "clEnqueueWriteImage", event);
	return cl_command_end(&cmd, cl_below.clEnqueueWriteImage(queue, image, blocking, origin,
								 region, row, slice, ptr, waits,
								 list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueCopyImage(cl_command_queue queue, cl_mem src,
							       cl_mem dst, const size_t *from,
							       const size_t *to,
							       const size_t *region, WAITS)
{
	struct cl_command cmd = enqueue_between(queue, src, dst, cl_image_bytes(src, region));

	cl_command_begin(&cmd, "clEnqueueCopyImage", event);
	return cl_command_end(&cmd,
			      cl_below.clEnqueueCopyImage(queue, src, dst, from, to, region, waits,
							  list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueCopyImageToBuffer(cl_command_queue queue,
								       cl_mem src, cl_mem dst,
								       const size_t *from,
								       const size_t *region,
								       size_t to, WAITS)
{
	struct cl_command cmd = enqueue_between(queue, src, dst, cl_image_bytes(src, region));

	cl_command_begin(&cmd, "clEnqueueCopyImageToBuffer", event);
	return cl_command_end(&cmd, cl_below.clEnqueueCopyImageToBuffer(queue, src, dst, from,
									region, to, waits, list,
									cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueCopyBufferToImage(cl_command_queue queue,
								       cl_mem src, cl_mem dst,
								       size_t from,
								       const size_t *to,
								       const size_t *region, WAITS)
{
	struct cl_command cmd = enqueue_between(queue, src, dst, cl_image_bytes(dst, region));

	cl_command_begin(&cmd, "clEnqueueCopyBufferToImage", event);
	return cl_command_end(&cmd, cl_below.clEnqueueCopyBufferToImage(queue, src, dst, from, to,
									region, waits, list,
									cl_command_event(&cmd)));
}

/* -- Fills -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueFillBuffer(cl_command_queue queue, cl_mem mem,
								const void *pattern, size_t size,
								size_t offset, size_t bytes, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_SET,
				 .bytes = bytes,
				 .addr = enqueue_handle(mem)};

	if (pattern)
		memcpy(&cmd.value, pattern, size < sizeof(cmd.value) ? size : sizeof(cmd.value));
	cl_command_begin(&cmd, "clEnqueueFillBuffer", event);
	return cl_command_end(&cmd,
			      cl_below.clEnqueueFillBuffer(queue, mem, pattern, size, offset, bytes,
							   waits, list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueFillImage(cl_command_queue queue, cl_mem image,
							       const void *color,
							       const size_t *origin,
							       const size_t *region, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_SET,
				 .bytes = cl_image_bytes(image, region),
				 .addr = enqueue_handle(image)};

	cl_command_begin(&cmd, "clEnqueueFillImage", event);
	return cl_command_end(&cmd,
			      cl_below.clEnqueueFillImage(queue, image, color, origin, region,
							  waits, list, cl_command_event(&cmd)));
}

/* -- Maps -- */

static CL_API_ENTRY void *CL_API_CALL wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem,
							      cl_bool blocking, cl_map_flags flags,
							      size_t offset, size_t size,
							      cl_uint waits, const cl_event *list,
							      cl_event *event, cl_int *status)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_MAP,
				 .bytes = size,
				 .src = enqueue_handle(mem),
				 .src_is_object = true,
				 .blocking = blocking};
	cl_int error = CL_SUCCESS;
	void *p;

	cl_command_begin(&cmd, "clEnqueueMapBuffer", event);
	p = cl_below.clEnqueueMapBuffer(queue, mem, blocking, flags, offset, size, waits, list,
					cl_command_event(&cmd), &error);
	cmd.dst = enqueue_handle(p);
	cl_memory_mapped(mem, p, size);
	cl_command_end(&cmd, error);
	if (status)
		*status = error;
	return p;
}

static CL_API_ENTRY void *CL_API_CALL
wrap_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
		       const size_t *origin, const size_t *region, size_t *row, size_t *slice,
		       cl_uint waits, const cl_event *list, cl_event *event, cl_int *status)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_MAP,
				 .bytes = cl_image_bytes(image, region),
				 .src = enqueue_handle(image),
				 .src_is_object = true,
				 .blocking = blocking};
	cl_int error = CL_SUCCESS;
	void *p;

	cl_command_begin(&cmd, "clEnqueueMapImage", event);
	p = cl_below.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
				       waits, list, cl_command_event(&cmd), &error);
	cmd.dst = enqueue_handle(p);
	cl_memory_mapped(image, p, (size_t)cmd.bytes);
	cl_command_end(&cmd, error);
	if (status)
		*status = error;
	return p;
}

/* OpenCL doesn't report the size of the region that is unmapped. */
static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueUnmapMemObject(cl_command_queue queue,
								    cl_mem mem, void *ptr, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_UNMAP,
				 .src = enqueue_handle(ptr),
				 .dst = enqueue_handle(mem),
				 .dst_is_object = true};
	cl_int r;

	cl_command_begin(&cmd, "clEnqueueUnmapMemObject", event);
	r = cl_command_end(&cmd, cl_below.clEnqueueUnmapMemObject(queue, mem, ptr, waits, list,
								  cl_command_event(&cmd)));
	if (r == CL_SUCCESS)
		cl_memory_unmapped(ptr);
	return r;
}

/* -- Shared virtual memory -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueSVMMemcpy(cl_command_queue queue,
							       cl_bool blocking, void *dst,
							       const void *src, size_t size, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .bytes = size,
				 .src = enqueue_handle(src),
				 .dst = enqueue_handle(dst),
				 .blocking = blocking};

	cl_command_begin(&cmd, "clEnqueueSVMMemcpy", event);
	return cl_command_end(&cmd,
			      cl_below.clEnqueueSVMMemcpy(queue, blocking, dst, src, size, waits,
							  list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueSVMMemFill(cl_command_queue queue, void *ptr,
								const void *pattern, size_t size,
								size_t bytes, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_SET,
				 .bytes = bytes,
				 .addr = enqueue_handle(ptr)};

	if (pattern)
		memcpy(&cmd.value, pattern, size < sizeof(cmd.value) ? size : sizeof(cmd.value));
	cl_command_begin(&cmd, "clEnqueueSVMMemFill", event);
	return cl_command_end(&cmd,
			      cl_below.clEnqueueSVMMemFill(queue, ptr, pattern, size, bytes, waits,
							   list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueSVMMap(cl_command_queue queue,
							    cl_bool blocking, cl_map_flags flags,
							    void *ptr, size_t size, WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_MAP,
				 .bytes = size,
				 .src = enqueue_handle(ptr),
				 .dst = enqueue_handle(ptr),
				 .blocking = blocking};

	cl_command_begin(&cmd, "clEnqueueSVMMap", event);
	return cl_command_end(&cmd, cl_below.clEnqueueSVMMap(queue, blocking, flags, ptr, size,
							     waits, list, cl_command_event(&cmd)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueSVMUnmap(cl_command_queue queue, void *ptr,
							      WAITS)
{
	struct cl_command cmd = {.queue = queue,
				 .kind = PASTA_KIND_COPY,
				 .sub = PASTA_COPY_UNMAP,
				 .src = enqueue_handle(ptr),
				 .dst = enqueue_handle(ptr)};

	cl_command_begin(&cmd, "clEnqueueSVMUnmap", event);
	return cl_command_end(&cmd, cl_below.clEnqueueSVMUnmap(queue, ptr, waits, list,
							       cl_command_event(&cmd)));
}

/* -- Markers, barriers and waits: only the host's time is recorded -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue,
									WAITS)
{
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clEnqueueMarkerWithWaitList(queue, waits, list, event);

	cl_api("clEnqueueMarkerWithWaitList", begin, r);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueBarrierWithWaitList(cl_command_queue queue,
									 WAITS)
{
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clEnqueueBarrierWithWaitList(queue, waits, list, event);

	cl_api("clEnqueueBarrierWithWaitList", begin, r);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clFlush(cl_command_queue queue)
{
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clFlush(queue);

	cl_api("clFlush", begin, r);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clFinish(cl_command_queue queue)
{
	struct cl_callbacks *callbacks = cl_queue_callbacks(queue);
	uint32_t mark = cl_callbacks_mark(callbacks);
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clFinish(queue);

	cl_sync("clFinish", PASTA_SYNC_STREAM, begin, queue, r);
	if (r == CL_SUCCESS)
		cl_callbacks_wait(callbacks, mark);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clWaitForEvents(cl_uint count, const cl_event *list)
{
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clWaitForEvents(count, list);

	cl_sync("clWaitForEvents", PASTA_SYNC_EVENT, begin, NULL, r);
	return r;
}

void cl_wrap_enqueue(cl_icd_dispatch *table)
{
	CL_WRAP(table, clEnqueueNDRangeKernel);
	CL_WRAP(table, clEnqueueTask);
	CL_WRAP(table, clEnqueueReadBuffer);
	CL_WRAP(table, clEnqueueWriteBuffer);
	CL_WRAP(table, clEnqueueReadBufferRect);
	CL_WRAP(table, clEnqueueWriteBufferRect);
	CL_WRAP(table, clEnqueueCopyBuffer);
	CL_WRAP(table, clEnqueueCopyBufferRect);
	CL_WRAP(table, clEnqueueReadImage);
	CL_WRAP(table, clEnqueueWriteImage);
	CL_WRAP(table, clEnqueueCopyImage);
	CL_WRAP(table, clEnqueueCopyImageToBuffer);
	CL_WRAP(table, clEnqueueCopyBufferToImage);
	CL_WRAP(table, clEnqueueFillBuffer);
	CL_WRAP(table, clEnqueueFillImage);
	CL_WRAP(table, clEnqueueMapBuffer);
	CL_WRAP(table, clEnqueueMapImage);
	CL_WRAP(table, clEnqueueUnmapMemObject);
	CL_WRAP(table, clEnqueueSVMMemcpy);
	CL_WRAP(table, clEnqueueSVMMemFill);
	CL_WRAP(table, clEnqueueSVMMap);
	CL_WRAP(table, clEnqueueSVMUnmap);
	CL_WRAP(table, clEnqueueMarkerWithWaitList);
	CL_WRAP(table, clEnqueueBarrierWithWaitList);
	CL_WRAP(table, clFlush);
	CL_WRAP(table, clFinish);
	CL_WRAP(table, clWaitForEvents);
}
