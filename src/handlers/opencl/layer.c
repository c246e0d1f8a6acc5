/* layer.c - the way in: the loader asks for our functions, and the handler's descriptor. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "handlers/handler.h"
#include "handlers/opencl/opencl.h"

cl_icd_dispatch cl_below;

/* The loader's table may be shorter than the one that we were built with. */
static cl_icd_dispatch table;
static bool loaded; /* as a layer, by a loader that has layers */

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret)
{
	static const char layer[] = "AccelProf";
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *what = name == CL_LAYER_NAME ? (const void *)layer : &version;
	size_t n = name == CL_LAYER_NAME ? sizeof(layer) : sizeof(version);

	if (name != CL_LAYER_NAME && name != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size < n)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, what, n);
	if (size_ret)
		*size_ret = n;
	return CL_SUCCESS;
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clInitLayer(cl_uint entries, const cl_icd_dispatch *below, cl_uint *entries_ret,
	    const cl_icd_dispatch **table_ret)
{
	size_t ours = sizeof(table) / sizeof(void *), n = entries < ours ? entries : ours;

	if (!below || !entries_ret || !table_ret)
		return CL_INVALID_VALUE;
	loaded = true;
	/* Listed twice (a run within a run): below us is ourselves. The loader does without. */
	if (table.clCreateContext && below->clCreateContext == table.clCreateContext &&
	    below->clCreateContext != cl_below.clCreateContext)
		return CL_INVALID_OPERATION;
	/* Not the first time, if the program unloads its loader and loads it again. */
	memset(&table, 0, sizeof(table));
	memset(&cl_below, 0, sizeof(cl_below));
	for (size_t i = 0; i < n; i++)
		((void **)&cl_below)[i] = ((void *const *)below)[i];
	if (pasta_agent_attach()) {
		cl_wrap_objects(&table);
		cl_wrap_memory(&table);
		cl_wrap_enqueue(&table);
		cl_wrap_extensions(&table);
	}
	/* What we do not wrap, or the loader does not know, is the function below. */
	for (size_t i = 0; i < ours; i++) {
		void **entry = &((void **)&table)[i];

		if (!*entry || !((void **)&cl_below)[i])
			*entry = ((void **)&cl_below)[i];
	}
	*entries_ret = (cl_uint)n;
	*table_ret = &table;
	return CL_SUCCESS;
}

/* -- Can it work here? -- */

static int describe(void *lib, char *why, size_t size)
{
	cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *) = dlsym(lib, "clGetPlatformIDs");
	cl_int (*platform_info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *) =
		dlsym(lib, "clGetPlatformInfo");
	cl_int (*devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *) =
		dlsym(lib, "clGetDeviceIDs");
	cl_int (*device_info)(cl_device_id, cl_device_info, size_t, void *, size_t *) =
		dlsym(lib, "clGetDeviceInfo");
	cl_platform_id p[16];
	cl_uint n = 0, found = 0;
	size_t at = 0;

	if (!platforms || !platform_info || !devices || !device_info) {
		snprintf(why, size, "the loader lacks functions: install ocl-icd-libopencl1");
		return -ENODEV;
	}
	if (platforms(16, p, &n) != CL_SUCCESS)
		n = 0;
	for (cl_uint i = 0; i < n && i < 16; i++) {
		char name[128] = "?";
		cl_device_id d[32];
		cl_uint count = 0;

		platform_info(p[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
		if (devices(p[i], CL_DEVICE_TYPE_ALL, 32, d, &count) != CL_SUCCESS)
			count = 0;
		for (cl_uint k = 0; k < count && k < 32 && at < size; k++, found++) {
			char device[128] = "?";

			device_info(d[k], CL_DEVICE_NAME, sizeof(device), device, NULL);
			at += (size_t)snprintf(why + at, size - at, "%s%s: %s", at ? "; " : "",
					       name, device);
		}
	}
	if (found)
		return 0;
	snprintf(why, size,
		 n ? "no platform has a device: install a driver, or pocl-opencl-icd"
		   : "no platform: install a driver, or pocl-opencl-icd, which needs no GPU");
	return -ENODEV;
}

static int probe(char *why, size_t size)
{
	void *lib = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!lib) {
		snprintf(why, size,
			 "no loader: install ocl-icd-libopencl1, and pocl-opencl-icd for a "
			 "device on any machine");
		return -ENODEV;
	}
	return describe(lib, why, size);
}

const struct pasta_handler pasta_opencl_handler = {
	.name = "opencl",
	.summary = "kernels, copies and memory of OpenCL programs, on any device",
	.probe = probe,
	.env = "OPENCL_LAYERS",
};
