/* enqueue.c - what programs give to queues, and how they wait for it. */
#include <string.h>

#include "core/lock.h"
#include "handlers/opencl/opencl.h"

#define WAITS cl_uint waits, const cl_event *list, cl_event *event

static uint32_t narrow(size_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint64_t box(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t handle(const void *p)
{
	return (uintptr_t)p;
}

/* -- Kernels -- */

/* Groups of what size, and how many. A size that was left to the runtime is 0, and then the grid is
 * the whole range. */
static void shape(struct cl_work *w, cl_uint dims, const size_t *global, const size_t *local)
{
	for (cl_uint i = 0; i < 3; i++) {
		size_t all = i < dims && global ? global[i] : 1;
		size_t block = i < dims && local ? local[i] : local ? 1 : 0;

		w->block[i] = narrow(block);
		w->grid[i] = narrow(block ? (all + block - 1) / block : all);
	}
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueNDRangeKernel(cl_command_queue queue,
								   cl_kernel kernel, cl_uint dims,
								   const size_t *offset,
								   const size_t *global,
								   const size_t *local, WAITS)
{
	struct cl_work w = {.queue = queue, .kind = PASTA_KIND_KERNEL, .kernel = kernel};
	cl_int r;

	pasta_cancel_defer(); /* kernels that count are compiled here, which may wait */
	shape(&w, dims, global, local);
	cl_work_begin(&w, "clEnqueueNDRangeKernel", event);
	cl_count_begin(&w);
	do
		r = cl_below.clEnqueueNDRangeKernel(queue, cl_work_kernel(&w), dims, offset, global,
						    local, waits, list, cl_work_event(&w));
	while (cl_count_again(&w, r));
	r = cl_work_end(&w, r);
	pasta_cancel_restore();
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueTask(cl_command_queue queue, cl_kernel kernel,
							  WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_KERNEL,
			    .kernel = kernel,
			    .grid = {1, 1, 1},
			    .block = {1, 1, 1}};
	cl_int r;

	pasta_cancel_defer(); /* as above */
	cl_work_begin(&w, "clEnqueueTask", event);
	cl_count_begin(&w);
	do
		r = cl_below.clEnqueueTask(queue, cl_work_kernel(&w), waits, list,
					   cl_work_event(&w));
	while (cl_count_again(&w, r));
	r = cl_work_end(&w, r);
	pasta_cancel_restore();
	return r;
}

/* -- Copies of buffers -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem,
								cl_bool blocking, size_t offset,
								size_t size, void *ptr, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_D2H,
			    .bytes = size,
			    .src = handle(mem),
			    .dst = handle(ptr),
			    .blocking = blocking};

	cl_work_begin(&w, "clEnqueueReadBuffer", event);
	return cl_work_end(&w, cl_below.clEnqueueReadBuffer(queue, mem, blocking, offset, size, ptr,
							    waits, list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem,
								 cl_bool blocking, size_t offset,
								 size_t size, const void *ptr,
								 WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_H2D,
			    .bytes = size,
			    .src = handle(ptr),
			    .dst = handle(mem),
			    .blocking = blocking};

	cl_work_begin(&w, "clEnqueueWriteBuffer", event);
	return cl_work_end(&w, cl_below.clEnqueueWriteBuffer(queue, mem, blocking, offset, size,
							     ptr, waits, list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueReadBufferRect(
	cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
	const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, void *ptr, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_D2H,
			    .bytes = box(region),
			    .src = handle(mem),
			    .dst = handle(ptr),
			    .blocking = blocking};

	cl_work_begin(&w, "clEnqueueReadBufferRect", event);
	return cl_work_end(&w, cl_below.clEnqueueReadBufferRect(queue, mem, blocking, origin,
								host_origin, region, row, slice,
								host_row, host_slice, ptr, waits,
								list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueWriteBufferRect(
	cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
	const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, const void *ptr, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_H2D,
			    .bytes = box(region),
			    .src = handle(ptr),
			    .dst = handle(mem),
			    .blocking = blocking};

	cl_work_begin(&w, "clEnqueueWriteBufferRect", event);
	return cl_work_end(&w, cl_below.clEnqueueWriteBufferRect(queue, mem, blocking, origin,
								 host_origin, region, row, slice,
								 host_row, host_slice, ptr, waits,
								 list, cl_work_event(&w)));
}

static struct cl_work between(cl_command_queue queue, cl_mem src, cl_mem dst, uint64_t bytes)
{
	return (struct cl_work){.queue = queue,
				.kind = PASTA_KIND_COPY,
				.sub = PASTA_COPY_D2D,
				.bytes = bytes,
				.src = handle(src),
				.dst = handle(dst)};
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem src,
								cl_mem dst, size_t from, size_t to,
								size_t size, WAITS)
{
	struct cl_work w = between(queue, src, dst, size);

	cl_work_begin(&w, "clEnqueueCopyBuffer", event);
	return cl_work_end(&w, cl_below.clEnqueueCopyBuffer(queue, src, dst, from, to, size, waits,
							    list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL
wrap_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem src, cl_mem dst, const size_t *from,
			     const size_t *to, const size_t *region, size_t src_row,
			     size_t src_slice, size_t dst_row, size_t dst_slice, WAITS)
{
	struct cl_work w = between(queue, src, dst, box(region));

	cl_work_begin(&w, "clEnqueueCopyBufferRect", event);
	return cl_work_end(&w, cl_below.clEnqueueCopyBufferRect(
				       queue, src, dst, from, to, region, src_row, src_slice,
				       dst_row, dst_slice, waits, list, cl_work_event(&w)));
}

/* -- Images -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueReadImage(cl_command_queue queue, cl_mem image,
							       cl_bool blocking,
							       const size_t *origin,
							       const size_t *region, size_t row,
							       size_t slice, void *ptr, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_D2H,
			    .bytes = cl_image_bytes(image, region),
			    .src = handle(image),
			    .dst = handle(ptr),
			    .blocking = blocking};

	cl_work_begin(&w, "clEnqueueReadImage", event);
	return cl_work_end(&w,
			   cl_below.clEnqueueReadImage(queue, image, blocking, origin, region, row,
						       slice, ptr, waits, list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueWriteImage(
	cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
	const size_t *region, size_t row, size_t slice, const void *ptr, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_H2D,
			    .bytes = cl_image_bytes(image, region),
			    .src = handle(ptr),
			    .dst = handle(image),
			    .blocking = blocking};

	cl_work_begin(&w, "clEnqueueWriteImage", event);
	return cl_work_end(&w, cl_below.clEnqueueWriteImage(queue, image, blocking, origin, region,
							    row, slice, ptr, waits, list,
							    cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueCopyImage(cl_command_queue queue, cl_mem src,
							       cl_mem dst, const size_t *from,
							       const size_t *to,
							       const size_t *region, WAITS)
{
	struct cl_work w = between(queue, src, dst, cl_image_bytes(src, region));

	cl_work_begin(&w, "clEnqueueCopyImage", event);
	return cl_work_end(&w, cl_below.clEnqueueCopyImage(queue, src, dst, from, to, region, waits,
							   list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueCopyImageToBuffer(cl_command_queue queue,
								       cl_mem src, cl_mem dst,
								       const size_t *from,
								       const size_t *region,
								       size_t to, WAITS)
{
	struct cl_work w = between(queue, src, dst, cl_image_bytes(src, region));

	cl_work_begin(&w, "clEnqueueCopyImageToBuffer", event);
	return cl_work_end(&w,
			   cl_below.clEnqueueCopyImageToBuffer(queue, src, dst, from, region, to,
							       waits, list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueCopyBufferToImage(cl_command_queue queue,
								       cl_mem src, cl_mem dst,
								       size_t from,
								       const size_t *to,
								       const size_t *region, WAITS)
{
	struct cl_work w = between(queue, src, dst, cl_image_bytes(dst, region));

	cl_work_begin(&w, "clEnqueueCopyBufferToImage", event);
	return cl_work_end(&w,
			   cl_below.clEnqueueCopyBufferToImage(queue, src, dst, from, to, region,
							       waits, list, cl_work_event(&w)));
}

/* -- Fills -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueFillBuffer(cl_command_queue queue, cl_mem mem,
								const void *pattern, size_t size,
								size_t offset, size_t bytes, WAITS)
{
	struct cl_work w = {
		.queue = queue, .kind = PASTA_KIND_SET, .bytes = bytes, .addr = handle(mem)};

	if (pattern)
		memcpy(&w.value, pattern, size < sizeof(w.value) ? size : sizeof(w.value));
	cl_work_begin(&w, "clEnqueueFillBuffer", event);
	return cl_work_end(&w, cl_below.clEnqueueFillBuffer(queue, mem, pattern, size, offset,
							    bytes, waits, list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueFillImage(cl_command_queue queue, cl_mem image,
							       const void *color,
							       const size_t *origin,
							       const size_t *region, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_SET,
			    .bytes = cl_image_bytes(image, region),
			    .addr = handle(image)};

	cl_work_begin(&w, "clEnqueueFillImage", event);
	return cl_work_end(&w, cl_below.clEnqueueFillImage(queue, image, color, origin, region,
							   waits, list, cl_work_event(&w)));
}

/* -- Maps -- */

static CL_API_ENTRY void *CL_API_CALL wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem,
							      cl_bool blocking, cl_map_flags flags,
							      size_t offset, size_t size,
							      cl_uint waits, const cl_event *list,
							      cl_event *event, cl_int *status)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_MAP,
			    .bytes = size,
			    .src = handle(mem),
			    .blocking = blocking};
	cl_int error = CL_SUCCESS;
	void *p;

	cl_work_begin(&w, "clEnqueueMapBuffer", event);
	p = cl_below.clEnqueueMapBuffer(queue, mem, blocking, flags, offset, size, waits, list,
					cl_work_event(&w), &error);
	w.dst = handle(p);
	cl_work_end(&w, error);
	if (status)
		*status = error;
	return p;
}

static CL_API_ENTRY void *CL_API_CALL
wrap_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
		       const size_t *origin, const size_t *region, size_t *row, size_t *slice,
		       cl_uint waits, const cl_event *list, cl_event *event, cl_int *status)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_MAP,
			    .bytes = cl_image_bytes(image, region),
			    .src = handle(image),
			    .blocking = blocking};
	cl_int error = CL_SUCCESS;
	void *p;

	cl_work_begin(&w, "clEnqueueMapImage", event);
	p = cl_below.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
				       waits, list, cl_work_event(&w), &error);
	w.dst = handle(p);
	cl_work_end(&w, error);
	if (status)
		*status = error;
	return p;
}

/* How much is unmapped nobody says. */
static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueUnmapMemObject(cl_command_queue queue,
								    cl_mem mem, void *ptr, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_UNMAP,
			    .src = handle(ptr),
			    .dst = handle(mem)};

	cl_work_begin(&w, "clEnqueueUnmapMemObject", event);
	return cl_work_end(&w, cl_below.clEnqueueUnmapMemObject(queue, mem, ptr, waits, list,
								cl_work_event(&w)));
}

/* -- Shared virtual memory -- */

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueSVMMemcpy(cl_command_queue queue,
							       cl_bool blocking, void *dst,
							       const void *src, size_t size, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .bytes = size,
			    .src = handle(src),
			    .dst = handle(dst),
			    .blocking = blocking};

	cl_work_begin(&w, "clEnqueueSVMMemcpy", event);
	return cl_work_end(&w, cl_below.clEnqueueSVMMemcpy(queue, blocking, dst, src, size, waits,
							   list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueSVMMemFill(cl_command_queue queue, void *ptr,
								const void *pattern, size_t size,
								size_t bytes, WAITS)
{
	struct cl_work w = {
		.queue = queue, .kind = PASTA_KIND_SET, .bytes = bytes, .addr = handle(ptr)};

	if (pattern)
		memcpy(&w.value, pattern, size < sizeof(w.value) ? size : sizeof(w.value));
	cl_work_begin(&w, "clEnqueueSVMMemFill", event);
	return cl_work_end(&w, cl_below.clEnqueueSVMMemFill(queue, ptr, pattern, size, bytes, waits,
							    list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueSVMMap(cl_command_queue queue,
							    cl_bool blocking, cl_map_flags flags,
							    void *ptr, size_t size, WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_MAP,
			    .bytes = size,
			    .src = handle(ptr),
			    .dst = handle(ptr),
			    .blocking = blocking};

	cl_work_begin(&w, "clEnqueueSVMMap", event);
	return cl_work_end(&w, cl_below.clEnqueueSVMMap(queue, blocking, flags, ptr, size, waits,
							list, cl_work_event(&w)));
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clEnqueueSVMUnmap(cl_command_queue queue, void *ptr,
							      WAITS)
{
	struct cl_work w = {.queue = queue,
			    .kind = PASTA_KIND_COPY,
			    .sub = PASTA_COPY_UNMAP,
			    .src = handle(ptr),
			    .dst = handle(ptr)};

	cl_work_begin(&w, "clEnqueueSVMUnmap", event);
	return cl_work_end(&w,
			   cl_below.clEnqueueSVMUnmap(queue, ptr, waits, list, cl_work_event(&w)));
}

/* -- Markers, barriers, waiting: no device does anything, but the host's time is of interest -- */

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
	struct cl_flow *flow = cl_queue_flow(queue);
	uint32_t mark = cl_flow_mark(flow);
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clFinish(queue);

	cl_sync("clFinish", begin, queue, r);
	if (r == CL_SUCCESS)
		cl_flow_settle(flow, mark);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clWaitForEvents(cl_uint count, const cl_event *list)
{
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clWaitForEvents(count, list);

	cl_sync("clWaitForEvents", begin, NULL, r);
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
