/* layer.c - defines the layer's entry points for the OpenCL loader, and the handler's
 * descriptor. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handlers/handler.h"
#include "handlers/opencl/opencl.h"

cl_icd_dispatch cl_below;

/* The table of wrappers. The loader's table may have fewer entries than this one. */
static cl_icd_dispatch table;
static bool loaded; /* whether a loader that supports layers has called clInitLayer */

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
	/* The layer is listed twice, because a run was started within a run. The next layer is this
	 * one again, so this call fails, and the loader skips a layer that fails. */
	if (table.clCreateContext && below->clCreateContext == table.clCreateContext &&
	    below->clCreateContext != cl_below.clCreateContext)
		return CL_INVALID_OPERATION;
	/* The application may unload the OpenCL loader and load the loader again. */
	memset(&table, 0, sizeof(table));
	memset(&cl_below, 0, sizeof(cl_below));
	for (size_t i = 0; i < n; i++)
		((void **)&cl_below)[i] = ((void *const *)below)[i];
	if (pasta_agent_attach_vendor()) {
		cl_wrap_objects(&table);
		cl_wrap_kernels(&table);
		cl_wrap_programs(&table);
		cl_wrap_memory(&table);
		cl_wrap_enqueue(&table);
		cl_wrap_extensions(&table);
	}
	/* Entries that have no wrapper, or that the loader doesn't have, are copied from the next
	 * layer. */
	for (size_t i = 0; i < ours; i++) {
		void **entry = &((void **)&table)[i];

		if (!*entry || !((void **)&cl_below)[i])
			*entry = ((void **)&cl_below)[i];
	}
	*entries_ret = (cl_uint)n;
	*table_ret = &table;
	return CL_SUCCESS;
}

/* -- Checks whether the handler works on this machine -- */

struct loader {
	cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *);
	cl_int (*platform_info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
	cl_int (*devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
	cl_int (*device_info)(cl_device_id, cl_device_info, size_t, void *, size_t *);
};

/* Lists the platforms, and returns their number. If the loader supports layers, listing makes the
 * loader read OPENCL_LAYERS and call clInitLayer. */
static cl_uint layer_platforms(const struct loader *l, cl_platform_id *list, cl_uint max)
{
	const char *old = getenv("OPENCL_LAYERS");
	char *saved = old ? strdup(old) : NULL;
	cl_uint n = 0;
	Dl_info self;

	if (dladdr((void *)clInitLayer, &self))
		setenv("OPENCL_LAYERS", self.dli_fname, 1);
	if (l->platforms(max, list, &n) != CL_SUCCESS)
		n = 0;
	if (saved)
		setenv("OPENCL_LAYERS", saved, 1);
	else
		unsetenv("OPENCL_LAYERS");
	free(saved);
	return n < max ? n : max;
}

/* Appends "platform: device" for each device, separated by "; ". Returns the number of devices. */
static cl_uint layer_name_devices(const struct loader *l, cl_platform_id platform, char *why,
				  size_t size)
{
	char name[128] = "?";
	size_t at = strlen(why);
	cl_device_id list[32];
	cl_uint n = 0;

	l->platform_info(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	if (l->devices(platform, CL_DEVICE_TYPE_ALL, 32, list, &n) != CL_SUCCESS)
		return 0;
	for (cl_uint i = 0; i < n && i < 32 && at < size; i++) {
		char device[128] = "?";

		l->device_info(list[i], CL_DEVICE_NAME, sizeof(device) - 1, device, NULL);
		at += (size_t)snprintf(why + at, size - at, "%s%s: %s", at ? "; " : "", name,
				       device);
	}
	return n;
}

/* Returns whether the loader supports layers. If so, the loader's file contains the name of the
 * environment variable OPENCL_LAYERS. Returns true if the file cannot be read. */
static bool layer_is_mentioned(const char *path)
{
	static const char name[] = "OPENCL_LAYERS";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	void *map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	bool found = map == MAP_FAILED || memmem(map, (size_t)size, name, sizeof(name) - 1);

	if (map != MAP_FAILED)
		munmap(map, (size_t)size);
	if (fd >= 0)
		close(fd);
	return found;
}

/* Returns the library to preload if the loader doesn't support layers, or NULL. */
static const char *layer_preload(void)
{
#ifdef __x86_64__
	void *lib = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;

	if (lib && !dlinfo(lib, RTLD_DI_LINKMAP, &map) && map && !layer_is_mentioned(map->l_name))
		return "libpasta-opencl.so";
#else
	(void)layer_is_mentioned;
#endif
	return NULL;
}

static int layer_describe(const struct loader *l, char *why, size_t size)
{
	cl_platform_id list[16];
	cl_uint n = layer_platforms(l, list, 16), found = 0;

	if (n && !loaded && !layer_preload()) {
		snprintf(why, size,
			 "the OpenCL loader libOpenCL.so.1 does not support layers: replace it "
			 "with ocl-icd (2.3.0 or later) or Khronos's loader (2021.04.29 or later); "
			 "both work with the same drivers");
		return -ENODEV;
	}
	*why = '\0';
	for (cl_uint i = 0; i < n; i++)
		found += layer_name_devices(l, list[i], why, size);
	if (found && !loaded && strlen(why) < size)
		snprintf(why + strlen(why), size - strlen(why),
			 "; the OpenCL loader does not support layers, so accelprof preloads a "
			 "library");
	if (found)
		return 0;
	snprintf(
		why, size,
		n ? "no OpenCL platform has a device: install a driver, or pocl-opencl-icd"
		  : "no OpenCL platform: install a driver, or pocl-opencl-icd, which needs no GPU");
	return -ENODEV;
}

static int layer_probe(char *why, size_t size)
{
	void *lib = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct loader l = {0};

	if (!lib) {
		snprintf(
			why, size,
			"no OpenCL loader: install ocl-icd-libopencl1, and pocl-opencl-icd for a device "
			"on any machine (%s)",
			dlerror());
		return -ENODEV;
	}
	l.platforms = dlsym(lib, "clGetPlatformIDs");
	l.platform_info = dlsym(lib, "clGetPlatformInfo");
	l.devices = dlsym(lib, "clGetDeviceIDs");
	l.device_info = dlsym(lib, "clGetDeviceInfo");
	if (!l.platforms || !l.platform_info || !l.devices || !l.device_info) {
		snprintf(why, size,
			 "libOpenCL.so.1 is not an OpenCL loader: install ocl-icd-libopencl1");
		return -ENODEV;
	}
	return layer_describe(&l, why, size);
}

const struct pasta_handler pasta_opencl_handler = {
	.name = "opencl",
	.summary = "kernels, copies and memory of OpenCL programs, on any device",
	.probe = layer_probe,
	.env = "OPENCL_LAYERS",
	.preload = layer_preload,
	.accesses = cl_accesses_probe,
	.accesses_on_host = true,
};
