/* kernels.c - tracks kernels: their names, their arguments, and their instrumented clones. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/instrumented.h"
#include "core/lock.h"
#include "handlers/opencl/opencl.h"
#include "handlers/opencl/table.h"

/* A kernel argument, with the value that the application set last. */
struct argument {
	enum { UNSET, VALUE, SVM } how;
	size_t size;
	void *value; /* a copy of the value or of the SVM pointer; NULL for local memory */
};

/* The last value of each parameter that the application set with clSetKernelExecInfo. */
enum { INFOS = 4 };
struct info {
	cl_kernel_exec_info about;
	size_t size;
	void *value;
};

/* A kernel's clone that no launch is using. */
struct spare {
	struct spare *next;
	cl_device_id device;
	cl_kernel kernel;
};

/* The arguments of a kernel, if accesses are counted. All such structs are in one list, so that
 * leak checkers find them. */
struct arguments {
	struct arguments *next;
	cl_program program;
	/* Number of the application's references. If the number is 0, the driver may reuse the
	 * handle. */
	uint32_t refs;
	struct spare *spares;
	struct info infos[INFOS];
	uint32_t count, room;
	struct argument *list;
};

struct kernel {
	uint32_t number;
	_Atomic(const char *) name;
	_Atomic uint64_t code;	     /* cl_program_code of the kernel's program */
	struct arguments *arguments; /* NULL if accesses aren't counted */
};

static struct cl_table kernels;
/* Protects arguments. While a thread holds this lock, it calls the driver only to set arguments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arguments *all;

/* -- Arguments -- */

/* Call this function without holding `lock`. The function may release the last reference to a
 * context, and the driver then calls a function of the application. */
static void spares_free(struct spare *s)
{
	struct spare *next;

	for (; s; s = next) {
		next = s->next;
		cl_below.clReleaseKernel(s->kernel);
		free(s);
	}
}

/* Clears the arguments, and returns the spare clones, which the caller frees after it has released
 * `lock`. */
static struct spare *arguments_clear(struct arguments *a)
{
	struct spare *spares = a->spares;

	for (uint32_t i = 0; i < a->count; i++) {
		free(a->list[i].value);
		a->list[i] = (struct argument){0};
	}
	for (int i = 0; i < INFOS; i++) {
		free(a->infos[i].value);
		a->infos[i] = (struct info){0};
	}
	a->spares = NULL;
	a->count = 0;
	a->refs = 0;
	return spares;
}

static void arguments_new(struct kernel *k, cl_kernel kernel)
{
	struct spare *spares = NULL;
	struct argument *list;
	cl_program program = NULL;
	cl_uint count = 0;

	cl_below.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
	cl_below.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	cl_program_ref(program);
	atomic_store_explicit(&k->code, cl_program_code(program), memory_order_relaxed);
	pasta_lock(&lock);
	if (!k->arguments) {
		k->arguments = calloc(1, sizeof(*k->arguments));
		if (k->arguments) {
			k->arguments->next = all;
			all = k->arguments;
		}
	}
	if (k->arguments) {
		spares = arguments_clear(k->arguments);
		k->arguments->program = program;
		k->arguments->refs = 1;
		if (count > k->arguments->room) {
			list = calloc(count, sizeof(*list));
			if (list) {
				free(k->arguments->list);
				k->arguments->list = list;
				k->arguments->room = count;
			}
		}
		k->arguments->count = count <= k->arguments->room ? count : 0;
	}
	pasta_unlock(&lock);
	spares_free(spares);
}

/* Counts the application's references to a kernel. When the last reference is removed, the copies
 * of the kernel's arguments are freed. */
static void kernel_refer(cl_kernel kernel, bool more)
{
	struct kernel *k = cl_table_find(&kernels, kernel);
	struct spare *spares = NULL;
	bool last = false;

	if (!k || !k->arguments)
		return;
	pasta_lock(&lock);
	if (k->arguments->refs) {
		k->arguments->refs += more ? 1 : -1;
		last = !k->arguments->refs;
	}
	if (last)
		spares = arguments_clear(k->arguments);
	pasta_unlock(&lock);
	spares_free(spares);
	if (last)
		cl_program_unref(k->arguments->program);
}

static void *argument_copy(const void *value, size_t size)
{
	void *copy = value ? malloc(size ? size : 1) : NULL;

	if (copy)
		memcpy(copy, value, size);
	return copy;
}

static void argument_set(cl_kernel kernel, cl_uint index, int how, size_t size, const void *value)
{
	struct kernel *k = cl_table_find(&kernels, kernel);
	struct argument *a;

	pasta_lock(&lock);
	if (k && k->arguments && index < k->arguments->count) {
		a = &k->arguments->list[index];
		if (value && a->value && a->size == size) {
			memcpy(a->value, value, size);
		} else {
			free(a->value);
			a->value = argument_copy(value, size);
		}
		a->size = size;
		a->how = value && !a->value ? UNSET : how;
	}
	pasta_unlock(&lock);
}

static void info_set(cl_kernel kernel, cl_kernel_exec_info about, size_t size, const void *value)
{
	struct kernel *k = cl_table_find(&kernels, kernel);
	struct info *info;

	pasta_lock(&lock);
	for (int i = 0; k && k->arguments && i < INFOS; i++) {
		info = &k->arguments->infos[i];
		if (info->value && info->about != about)
			continue;
		free(info->value);
		*info = (struct info){about, size, argument_copy(value, size)};
		break;
	}
	pasta_unlock(&lock);
}

static void arguments_copy(cl_kernel to, cl_kernel from)
{
	struct kernel *k = cl_table_find(&kernels, from);

	for (cl_uint i = 0; k && k->arguments && i < k->arguments->count; i++)
		argument_set(to, i, k->arguments->list[i].how, k->arguments->list[i].size,
			     k->arguments->list[i].value);
	for (int i = 0; k && k->arguments && i < INFOS; i++)
		if (k->arguments->infos[i].value)
			info_set(to, k->arguments->infos[i].about, k->arguments->infos[i].size,
				 k->arguments->infos[i].value);
}

/* -- Clones -- */

static cl_kernel kernel_clone_new(cl_kernel kernel, cl_device_id device, const char **why)
{
	cl_program program = NULL, clone;
	cl_kernel made = NULL;

	*why = "its program is unknown";
	if (cl_below.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL))
		return NULL;
	clone = cl_program_clone(program, device, why);
	if (!clone)
		return NULL;
	made = cl_below.clCreateKernel(clone, cl_kernel_name(kernel), NULL);
	cl_below.clReleaseProgram(clone);
	if (!made)
		*why = "the driver refused to create the instrumented kernel";
	return made;
}

static cl_int argument_apply(cl_kernel clone, uint32_t index, const struct argument *a)
{
	if (a->how == VALUE)
		return cl_below.clSetKernelArg(clone, index, a->size, a->value);
	if (a->how == SVM)
		return cl_below.clSetKernelArgSVMPointer(clone, index, *(void **)a->value);
	/* The application has not set this argument, so the driver refuses to run the clone, as it
	 * would refuse the kernel. */
	return CL_SUCCESS;
}

static bool arguments_apply(cl_kernel clone, const struct arguments *a, struct cl_counted_launch *c)
{
	cl_int r = CL_SUCCESS;

	for (uint32_t i = 0; !r && i < a->count; i++) {
		const struct argument *from = &a->list[i];

		r = argument_apply(clone, i, from);
		if (from->how == VALUE && from->value && from->size == sizeof(c->arguments[i].mem))
			memcpy(&c->arguments[i].mem, from->value, from->size);
	}
	for (int i = 0; !r && i < INFOS && a->infos[i].value; i++)
		r = cl_below.clSetKernelExecInfo(clone, a->infos[i].about, a->infos[i].size,
						 a->infos[i].value);
	return !r && !cl_below.clSetKernelArg(clone, a->count, sizeof(c->token), &c->token);
}

uint32_t cl_kernel_arguments(cl_kernel kernel)
{
	const struct kernel *k = cl_table_find(&kernels, kernel);

	return k && k->arguments ? k->arguments->count : 0;
}

static struct spare *spare_acquire(struct kernel *k, cl_device_id device)
{
	struct spare *s = NULL, **at;

	for (at = &k->arguments->spares; *at && (*at)->device != device; at = &(*at)->next)
		;
	s = *at;
	if (s)
		*at = s->next;
	return s;
}

cl_kernel cl_clone_acquire(cl_kernel kernel, cl_device_id device, struct cl_counted_launch *c,
			   const char **why)
{
	struct kernel *k = cl_table_find(&kernels, kernel);
	struct spare *s;
	cl_kernel clone;
	bool ok;

	*why = "the kernel is unknown";
	if (!k || !k->arguments)
		return NULL;
	pasta_lock(&lock);
	s = spare_acquire(k, device);
	pasta_unlock(&lock);
	clone = s ? s->kernel : kernel_clone_new(kernel, device, why);
	free(s);
	if (!clone)
		return NULL;
	pasta_lock(&lock);
	ok = c->count == k->arguments->count && arguments_apply(clone, k->arguments, c);
	pasta_unlock(&lock);
	if (ok)
		return clone;
	*why = "the driver refused to set the kernel's arguments for the instrumented kernel";
	cl_below.clReleaseKernel(clone);
	return NULL;
}

void cl_clone_release(cl_kernel kernel, cl_device_id device, cl_kernel clone)
{
	struct kernel *k = cl_table_find(&kernels, kernel);
	struct spare *s = calloc(1, sizeof(*s));

	if (!k || !k->arguments || !s) {
		free(s);
		cl_below.clReleaseKernel(clone);
		return;
	}
	s->device = device;
	s->kernel = clone;
	pasta_lock(&lock);
	if (k->arguments->refs) {
		s->next = k->arguments->spares;
		k->arguments->spares = s;
		s = NULL;
	}
	pasta_unlock(&lock);
	spares_free(s); /* the application has released the kernel in the meantime */
}

/* -- Wrappers -- */

static const char *kernel_query_name(cl_kernel kernel)
{
	char text[4096], *name = text;
	const char *name_copy = NULL;
	size_t size = 0;

	if (cl_below.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) !=
		    CL_SUCCESS ||
	    !size)
		return NULL;
	if (size >= sizeof(text))
		name = malloc(size + 1);
	if (name && cl_below.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, name, NULL) ==
			    CL_SUCCESS) {
		name[size] = '\0';
		name_copy = cl_table_text(name);
	}
	if (name != text)
		free(name);
	return name_copy;
}

static void kernel_created(cl_kernel kernel)
{
	struct kernel *k = kernel ? cl_table_put(&kernels, kernel, sizeof(*k)) : NULL;

	if (!k)
		return;
	atomic_store_explicit(&k->name, kernel_query_name(kernel), memory_order_release);
	if (cl_counts_accesses())
		arguments_new(k, kernel);
}

const char *cl_kernel_name(cl_kernel kernel)
{
	struct kernel *k = cl_table_find(&kernels, kernel);
	const char *name = k ? atomic_load_explicit(&k->name, memory_order_acquire) : NULL;

	return name ? name : "(unknown)";
}

uint64_t cl_kernel_code(cl_kernel kernel)
{
	struct kernel *k = cl_table_find(&kernels, kernel);

	return k ? atomic_load_explicit(&k->code, memory_order_relaxed) : 0;
}

static CL_API_ENTRY cl_kernel CL_API_CALL wrap_clCreateKernel(cl_program program, const char *name,
							      cl_int *status)
{
	cl_kernel k = cl_below.clCreateKernel(program, name, status);

	kernel_created(k);
	return k;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clCreateKernelsInProgram(cl_program program,
								     cl_uint count, cl_kernel *list,
								     cl_uint *count_ret)
{
	cl_uint n = 0;
	cl_int r = cl_below.clCreateKernelsInProgram(program, count, list, &n);

	if (count_ret)
		*count_ret = n;
	for (cl_uint i = 0; r == CL_SUCCESS && list && i < n && i < count; i++)
		kernel_created(list[i]);
	return r;
}

static CL_API_ENTRY cl_kernel CL_API_CALL wrap_clCloneKernel(cl_kernel kernel, cl_int *status)
{
	cl_kernel k = cl_below.clCloneKernel(kernel, status);

	kernel_created(k);
	if (k && cl_counts_accesses())
		arguments_copy(k, kernel);
	return k;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clSetKernelArg(cl_kernel kernel, cl_uint index,
							   size_t size, const void *value)
{
	cl_int r = cl_below.clSetKernelArg(kernel, index, size, value);

	if (r == CL_SUCCESS && cl_counts_accesses())
		argument_set(kernel, index, VALUE, size, value);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clSetKernelArgSVMPointer(cl_kernel kernel,
								     cl_uint index,
								     const void *pointer)
{
	cl_int r = cl_below.clSetKernelArgSVMPointer(kernel, index, pointer);

	if (r == CL_SUCCESS && cl_counts_accesses())
		argument_set(kernel, index, SVM, sizeof(pointer), &pointer);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clSetKernelExecInfo(cl_kernel kernel,
								cl_kernel_exec_info about,
								size_t size, const void *value)
{
	cl_int r = cl_below.clSetKernelExecInfo(kernel, about, size, value);

	if (r == CL_SUCCESS && cl_counts_accesses())
		info_set(kernel, about, size, value);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clRetainKernel(cl_kernel kernel)
{
	cl_int r = cl_below.clRetainKernel(kernel);

	if (r == CL_SUCCESS)
		kernel_refer(kernel, true);
	return r;
}

/* The reference is removed before the driver removes its reference, because another thread may get
 * the same handle afterwards. */
static CL_API_ENTRY cl_int CL_API_CALL wrap_clReleaseKernel(cl_kernel kernel)
{
	kernel_refer(kernel, false);
	return cl_below.clReleaseKernel(kernel);
}

/* Runs in a forked child. Initializes the lock again, because another thread of the parent may have
 * held it. */
static void kernels_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

void cl_wrap_kernels(cl_icd_dispatch *table)
{
	if (cl_counts_accesses())
		pthread_atfork(NULL, NULL, kernels_forked);
	CL_WRAP(table, clRetainKernel);
	CL_WRAP(table, clReleaseKernel);
	CL_WRAP(table, clCreateKernel);
	CL_WRAP(table, clCreateKernelsInProgram);
	CL_WRAP(table, clCloneKernel);
	CL_WRAP(table, clSetKernelArg);
	CL_WRAP(table, clSetKernelArgSVMPointer);
	CL_WRAP(table, clSetKernelExecInfo);
}
