/* objects.c - tracks contexts, devices and queues, and creates queues with profiling enabled. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/instrumented.h"
#include "handlers/opencl/opencl.h"
#include "handlers/opencl/table.h"

/* Maps of contexts, devices and queues by handle. A handle that the driver reuses gets a new
 * number. */
static struct cl_table contexts, devices, queues;

/* What queue_add_profiling changed in a queue's list of properties: nothing, a bit of the value of
 * CL_QUEUE_PROPERTIES, the pair of CL_QUEUE_PROPERTIES and its value, or the whole list. */
enum { NOTHING, BIT, PAIR, LIST };

/* -- Devices and contexts -- */

static uint32_t device_text(cl_device_id device, cl_device_info what)
{
	char text[256] = "";

	if (cl_below.clGetDeviceInfo(device, what, sizeof(text) - 1, text, NULL) != CL_SUCCESS)
		return 0;
	return pasta_intern_str(text);
}

static void device_emit(cl_device_id device, uint32_t number)
{
	cl_ulong memory = 0;
	cl_uint units = 0, mhz = 0;
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_DEVICE))
		return;
	pasta_event_init(&ev, PASTA_KIND_DEVICE, 0, PASTA_EVENT_SIZE(device));
	cl_below.clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
	cl_below.clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	cl_below.clGetDeviceInfo(device, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(mhz), &mhz, NULL);
	ev.device.memory = memory;
	ev.device.units = units;
	ev.device.clock_mhz = mhz;
	ev.device.id = number;
	ev.device.name = device_text(device, CL_DEVICE_NAME);
	ev.device.vendor = device_text(device, CL_DEVICE_VENDOR);
	ev.device.arch = device_text(device, CL_DEVICE_VERSION);
	ev.device.driver = device_text(device, CL_DRIVER_VERSION);
	ev.time = pasta_now();
	pasta_emit(&ev);
}

static uint32_t device_number(cl_device_id device)
{
	bool added = false;
	uint32_t *number = cl_table_get(&devices, device, sizeof(*number), &added);

	if (added)
		device_emit(device, *number - 1);
	return number ? *number - 1 : 0;
}

uint32_t cl_context_number(cl_context context)
{
	bool added = false;
	uint32_t *number = cl_table_get(&contexts, context, sizeof(*number), &added);

	return number ? *number : 0;
}

static void context_created(cl_context context)
{
	cl_device_id list[64];
	size_t size = 0;

	if (!context)
		return;
	cl_table_put(&contexts, context, sizeof(uint32_t));
	if (cl_below.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(list), list, &size) ==
	    CL_SUCCESS)
		for (size_t i = 0; i < size / sizeof(list[0]); i++)
			device_number(list[i]);
}

static CL_API_ENTRY cl_context CL_API_CALL wrap_clCreateContext(
	const cl_context_properties *properties, cl_uint count, const cl_device_id *list,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
	cl_int *status)
{
	cl_context c = cl_below.clCreateContext(properties, count, list, notify, data, status);

	context_created(c);
	return c;
}

static CL_API_ENTRY cl_context CL_API_CALL
wrap_clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
			     void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
			     void *data, cl_int *status)
{
	cl_context c = cl_below.clCreateContextFromType(properties, type, notify, data, status);

	context_created(c);
	return c;
}

/* -- Queues -- */

bool cl_times_enabled(void)
{
	return pasta_agent_records(PASTA_KIND_KERNEL) || pasta_agent_records(PASTA_KIND_COPY) ||
	       pasta_agent_records(PASTA_KIND_SET);
}

/* Returns a hash of the device's model, because the same source compiles to different code on
 * different devices. */
static uint64_t device_model(cl_device_id device)
{
	static const cl_device_info parts[] = {CL_DEVICE_NAME, CL_DEVICE_VERSION,
					       CL_DRIVER_VERSION};
	uint64_t model = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char text[256] = "";

		cl_below.clGetDeviceInfo(device, parts[i], sizeof(text) - 1, text, NULL);
		model = pasta_accesses_code(model, text, strlen(text));
	}
	return model;
}

struct queue {
	struct cl_queue q;
	struct cl_callbacks callbacks;
};

static void queue_created(cl_command_queue queue, bool ours, char added)
{
	struct queue *entry = queue ? cl_table_put(&queues, queue, sizeof(*entry)) : NULL;
	struct cl_queue *q;
	cl_command_queue_properties properties = 0;
	cl_context context = NULL;
	cl_device_id device = NULL;

	if (!entry)
		return;
	q = &entry->q;
	cl_below.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				       NULL);
	entry->callbacks.ordered = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_below.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
	cl_below.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
	q->context = cl_context_number(context);
	q->device = device_number(device);
	q->model = cl_counts_accesses() ? device_model(device) : 0;
	q->ours = ours;
	q->added = added;
}

struct cl_callbacks *cl_queue_callbacks(cl_command_queue queue)
{
	struct queue *entry = cl_table_find(&queues, queue);

	return entry ? &entry->callbacks : NULL;
}

struct cl_queue cl_queue_of(cl_command_queue queue)
{
	const struct cl_queue *q = cl_table_find(&queues, queue);

	return q ? *q : (struct cl_queue){0};
}

static CL_API_ENTRY cl_command_queue CL_API_CALL
wrap_clCreateCommandQueue(cl_context context, cl_device_id device,
			  cl_command_queue_properties properties, cl_int *status)
{
	bool ours = cl_times_enabled() && !(properties & CL_QUEUE_PROFILING_ENABLE);
	cl_int error = CL_SUCCESS;
	cl_command_queue q = cl_below.clCreateCommandQueue(
		context, device, properties | (ours ? CL_QUEUE_PROFILING_ENABLE : 0), &error);

	if (!q && ours) { /* try without profiling, which the driver may not support */
		ours = false;
		q = cl_below.clCreateCommandQueue(context, device, properties, &error);
	}
	if (status)
		*status = error;
	queue_created(q, ours, NOTHING);
	return q;
}

enum { PROPERTIES = 32 };

/* Copies a queue's list of properties, enables profiling in the copy, and returns what was added.
 * Returns NOTHING if the original list is to be used, because profiling is already enabled, the
 * queue is an on-device queue, or the list is too long. */
static char queue_add_profiling(const cl_queue_properties *from, cl_queue_properties *to)
{
	size_t n = 0;
	bool found = false;

	for (; from && from[n]; n += 2) {
		if (n + 5 > PROPERTIES)
			return NOTHING;
		to[n] = from[n];
		to[n + 1] = from[n + 1];
		if (from[n] != CL_QUEUE_PROPERTIES)
			continue;
		if (from[n + 1] & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE))
			return NOTHING;
		to[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
		found = true;
	}
	if (!found) {
		to[n++] = CL_QUEUE_PROPERTIES;
		to[n++] = CL_QUEUE_PROFILING_ENABLE;
	}
	to[n] = 0;
	return found ? BIT : from ? PAIR : LIST;
}

cl_command_queue cl_queue_make(cl_api_clCreateCommandQueueWithProperties make, cl_context context,
			       cl_device_id device, const cl_queue_properties *properties,
			       cl_int *status)
{
	cl_queue_properties list[PROPERTIES];
	char added = cl_times_enabled() ? queue_add_profiling(properties, list) : NOTHING;
	cl_int error = CL_SUCCESS;
	cl_command_queue q = make(context, device, added ? list : properties, &error);

	if (!q && added) {
		added = NOTHING;
		q = make(context, device, properties, &error);
	}
	if (status)
		*status = error;
	queue_created(q, added != NOTHING, added);
	return q;
}

static CL_API_ENTRY cl_command_queue CL_API_CALL
wrap_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
					const cl_queue_properties *properties, cl_int *status)
{
	return cl_queue_make(cl_below.clCreateCommandQueueWithProperties, context, device,
			     properties, status);
}

/* Returns the queue's list of properties, without the properties that the handler added. */
static cl_int queue_properties_list(cl_command_queue queue, char added, size_t size, void *value,
				    size_t *size_ret)
{
	cl_queue_properties list[PROPERTIES];
	size_t bytes = 0, n;
	cl_int r = cl_below.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list),
						  list, &bytes);

	n = bytes / sizeof(list[0]);
	if (r != CL_SUCCESS || n < 3)
		return r;
	if (added == LIST)
		n = 0;
	else if (added == PAIR)
		list[(n -= 2) - 1] = 0;
	for (size_t i = 0; i + 1 < n && added == BIT; i += 2)
		if (list[i] == CL_QUEUE_PROPERTIES)
			list[i + 1] &= ~(cl_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	if (value && size < n * sizeof(list[0]))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, list, n * sizeof(list[0]));
	if (size_ret)
		*size_ret = n * sizeof(list[0]);
	return CL_SUCCESS;
}

/* Hides profiling from the application, unless the application enabled it. */
static CL_API_ENTRY cl_int CL_API_CALL wrap_clGetCommandQueueInfo(cl_command_queue queue,
								  cl_command_queue_info what,
								  size_t size, void *value,
								  size_t *size_ret)
{
	struct cl_queue q = cl_queue_of(queue);
	cl_int r;

	if (what == CL_QUEUE_PROPERTIES_ARRAY && q.added)
		return queue_properties_list(queue, q.added, size, value, size_ret);
	r = cl_below.clGetCommandQueueInfo(queue, what, size, value, size_ret);
	if (r == CL_SUCCESS && what == CL_QUEUE_PROPERTIES && value &&
	    size >= sizeof(cl_command_queue_properties) && q.ours)
		*(cl_command_queue_properties *)value &=
			~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL
wrap_clSetCommandQueueProperty(cl_command_queue queue, cl_command_queue_properties properties,
			       cl_bool enable, cl_command_queue_properties *old)
{
	cl_command_queue_properties profiling = properties & CL_QUEUE_PROFILING_ENABLE;
	struct cl_queue *q = cl_table_find(&queues, queue);
	bool ours = q && q->ours;
	cl_int r;

	/* Profiling is not disabled, but only hidden from the application. */
	if (profiling && !enable && cl_times_enabled())
		properties &= ~profiling;
	r = cl_below.clSetCommandQueueProperty(queue, properties, enable, old);
	if (r == CL_SUCCESS && old && ours)
		*old &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	if (r == CL_SUCCESS && profiling && q)
		q->ours = !enable && cl_times_enabled();
	return r;
}

/* If the application created a queue without profiling, refuses to return device times to the
 * application. */
static CL_API_ENTRY cl_int CL_API_CALL wrap_clGetEventProfilingInfo(cl_event event,
								    cl_profiling_info what,
								    size_t size, void *value,
								    size_t *size_ret)
{
	cl_command_queue queue = NULL;

	if (cl_below.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) ==
		    CL_SUCCESS &&
	    queue && cl_queue_of(queue).ours)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return cl_below.clGetEventProfilingInfo(event, what, size, value, size_ret);
}

void cl_wrap_objects(cl_icd_dispatch *table)
{
	CL_WRAP(table, clCreateContext);
	CL_WRAP(table, clCreateContextFromType);
	CL_WRAP(table, clCreateCommandQueue);
	CL_WRAP(table, clCreateCommandQueueWithProperties);
	CL_WRAP(table, clGetCommandQueueInfo);
	CL_WRAP(table, clSetCommandQueueProperty);
	CL_WRAP(table, clGetEventProfilingInfo);
}
