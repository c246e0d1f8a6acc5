/* build.c - compiles a program a second time, instruments the code, and loads it into the
 * driver. */
#include <dlfcn.h>
#include <errno.h>
#include <llvm/Config/llvm-config.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/trace/trace.h"

PASTA_EXPORT struct pasta_trace_hooks pasta_trace_hooks;

struct build {
	const cl_icd_dispatch *cl;
	cl_device_id device;
	cl_context context;
	size_t count;
	void **binaries; /* program binaries, as the driver returned them */
	const void **bitcode;
	size_t *sizes;
};

/* -- Binaries -- */

int pasta_trace_unpack(const void *binary, size_t size, const void **bitcode, size_t *bitcode_size,
		       struct pasta_error *err)
{
	static const char magic[] = "poclbin", name[] = "/program.bc", begins[] = "BC\xc0\xde";
	const char *p = binary, *end = p + size;
	uint32_t n;

	if (size >= sizeof(magic) && !memcmp(p, magic, sizeof(magic)))
		p = memmem(p, size, name, strlen(name));
	else
		p = NULL;
	if (p && (size_t)(end - p) > strlen(name) + sizeof(n)) {
		p += strlen(name);
		memcpy(&n, p, sizeof(n));
		p += sizeof(n);
		if (n >= 4 && n <= (size_t)(end - p) && !memcmp(p, begins, 4)) {
			*bitcode = p;
			*bitcode_size = n;
			return 0;
		}
	}
	return pasta_fail(err, -ENOTSUP, "opencl: the driver's binary contains no bitcode");
}

/* PoCL's version string contains the version of its LLVM. If that version differs from the version
 * of LLVM that this library uses, reading the bitcode may abort the process. */
static int build_check_driver(struct build *b, struct pasta_error *err)
{
	char llvm[32], version[256] = "";
	cl_platform_id platform = NULL;

	snprintf(llvm, sizeof(llvm), "LLVM %d.", LLVM_VERSION_MAJOR);
	b->cl->clGetDeviceInfo(b->device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	b->cl->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version) - 1, version, NULL);
	if (!strstr(version, "PoCL") && !strstr(version, "pocl"))
		return pasta_fail(err, -ENODEV,
				  "opencl: accesses can be counted on PoCL only, not on '%s'",
				  version);
	if (!strstr(version, llvm))
		return pasta_fail(err, -ENODEV,
				  "opencl: PoCL and accelprof use different versions of LLVM: "
				  "'%s' and %s",
				  version, LLVM_VERSION_STRING);
	return 0;
}

/* -- Compiling -- */

static char *build_source(struct build *b, cl_program program)
{
	size_t size = 0;
	char *source;

	if (b->cl->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size) || size < 2)
		return NULL;
	source = malloc(size);
	if (source && b->cl->clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, source, NULL)) {
		free(source);
		source = NULL;
	}
	return source;
}

static int build_binary(struct build *b, cl_program program, size_t index, struct pasta_error *err)
{
	size_t size = 0;

	/* The program is built for one device, so it has one binary. */
	if (b->cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) ||
	    !size)
		return pasta_fail(err, -ENOTSUP,
				  "opencl: the driver returns no binary of the program");
	b->binaries[index] = malloc(size);
	if (!b->binaries[index])
		return pasta_fail(err, -ENOMEM, "opencl: out of memory");
	if (b->cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(void *),
				    &b->binaries[index], NULL))
		return pasta_fail(err, -ENOTSUP,
				  "opencl: the driver returns no binary of the program");
	return pasta_trace_unpack(b->binaries[index], size, &b->bitcode[index], &b->sizes[index],
				  err);
}

/* Compiles a new program from the same source, for this device only, without optimisation and with
 * debug information. */
static int build_compile(struct build *b, const struct pasta_trace_part *part, size_t index,
			 struct pasta_error *err)
{
	/* PoCL caches compiled programs by their options. This macro makes the options unique. */
	static const char added[] = " -g -cl-opt-disable -D__PASTA_TRACE__=1";
	char *source = build_source(b, part->program), *options = NULL;
	cl_program own = NULL;
	cl_int status = CL_OUT_OF_HOST_MEMORY;
	int r;

	if (!source)
		return pasta_fail(err, -ENOTSUP, "opencl: the program was not created from source");
	if (asprintf(&options, "%s%s", part->options ? part->options : "", added) < 0)
		options = NULL;
	if (options)
		own = b->cl->clCreateProgramWithSource(b->context, 1, (const char **)&source, NULL,
						       &status);
	if (own)
		status = b->cl->clCompileProgram(own, 1, &b->device, options, part->header_count,
						 part->headers, part->header_names, NULL, NULL);
	r = status ? pasta_fail(err, -EINVAL,
				"opencl: the driver cannot compile the program for counting: "
				"OpenCL error %d",
				status)
		   : build_binary(b, own, index, err);
	if (own)
		b->cl->clReleaseProgram(own);
	free(options);
	free(source);
	return r;
}

/* -- Building -- */

static int build_load(struct build *b, const struct pasta_trace_module *m, const char *options,
		      cl_program *program, struct pasta_error *err)
{
	const unsigned char *binary = m->bitcode;
	cl_int status, loaded;
	cl_program p = b->cl->clCreateProgramWithBinary(b->context, 1, &b->device, &m->size,
							&binary, &loaded, &status);

	if (p)
		status = b->cl->clBuildProgram(p, 1, &b->device, options, NULL, NULL);
	if (!status) {
		*program = p;
		return 0;
	}
	if (p)
		b->cl->clReleaseProgram(p);
	return pasta_fail(err, -EINVAL,
			  "opencl: the driver refuses the instrumented program: OpenCL error %d",
			  status);
}

/* These options let the compiler reorder and combine arithmetic operations. Instrumentation may
 * change which operations the compiler reorders or combines, and thus how results are rounded. */
static bool build_is_inexact(const char *options)
{
	static const char *const loose[] = {"-cl-fast-relaxed-math",
					    "-cl-unsafe-math-optimizations", "-cl-mad-enable",
					    "-cl-finite-math-only", "-cl-no-signed-zeros"};

	for (size_t i = 0; options && i < sizeof(loose) / sizeof(loose[0]); i++)
		if (strstr(options, loose[i]))
			return true;
	return false;
}

static void build_free(struct build *b)
{
	for (size_t i = 0; b->binaries && i < b->count; i++)
		free(b->binaries[i]);
	free(b->binaries);
	free((void *)b->bitcode);
	free(b->sizes);
}

/* Instrumented kernels find the hooks by name, so the symbols of this library must be global. */
static int build_export_hooks(struct pasta_error *err)
{
	Dl_info self;

	if (dladdr(&pasta_trace_hooks, &self))
		dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
	if (dlsym(RTLD_DEFAULT, "pasta_trace_hooks") == &pasta_trace_hooks)
		return 0;
	return pasta_fail(err, -ENOTSUP,
			  "opencl: kernels cannot find pasta_trace_hooks: the program uses its own "
			  "linker namespace, or another copy of libpasta-opencl-trace");
}

static int build_start(struct build *b, cl_program program, struct pasta_error *err)
{
	int r;

	b->binaries = calloc(b->count, sizeof(*b->binaries));
	b->bitcode = calloc(b->count, sizeof(*b->bitcode));
	b->sizes = calloc(b->count, sizeof(*b->sizes));
	if (!b->binaries || !b->bitcode || !b->sizes)
		return pasta_fail(err, -ENOMEM, "opencl: out of memory");
	if (b->cl->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(cl_context), &b->context,
				    NULL))
		return pasta_fail(err, -EINVAL, "opencl: not a program");
	r = build_check_driver(b, err);
	return r ? r : build_export_hooks(err);
}

int pasta_trace_build(const cl_icd_dispatch *cl, const struct pasta_trace_part *parts, size_t count,
		      cl_device_id device, const struct pasta_trace_subscribe *subscribe,
		      struct pasta_trace_module *out, cl_program *program, struct pasta_error *err)
{
	struct build b = {.cl = cl, .device = device, .count = count};
	int r = build_start(&b, parts[0].program, err);

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; !r && i < count; i++)
		r = build_compile(&b, &parts[i], i, err);
	if (!r)
		r = pasta_trace_instrument(b.bitcode, b.sizes, count, subscribe, out, err);
	for (size_t i = 0; !r && i < count; i++)
		out->inexact |= build_is_inexact(parts[i].options);
	if (!r)
		r = build_load(&b, out, parts[0].options, program, err);
	if (r)
		pasta_trace_module_free(out);
	build_free(&b);
	return r;
}
