/* probe.c - checks whether memory accesses of OpenCL kernels can be counted on this machine. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "handlers/opencl/opencl.h"

#define LIBRARY "libpasta-opencl-trace.so"

/* Returns the path of LIBRARY in the agent's folder, or "" if that folder is unknown. */
static const char *probe_library(char *path, size_t size)
{
	const char *slash;
	Dl_info self;

	*path = '\0';
	if (!dladdr((void *)cl_accesses_probe, &self) || !self.dli_fname)
		return path;
	slash = strrchr(self.dli_fname, '/');
	if (slash)
		snprintf(path, size, "%.*s/" LIBRARY, (int)(slash - self.dli_fname),
			 self.dli_fname);
	return path;
}

int cl_accesses_probe(char *why, size_t size)
{
	char path[PATH_MAX];
	void *lib;

	if (access(probe_library(path, sizeof(path)), R_OK)) {
		snprintf(why, size,
			 "%s is missing from the agent's folder: build accelprof on a machine with "
			 "PoCL and the LLVM version that PoCL uses (scripts/bootstrap installs "
			 "both)",
			 LIBRARY);
		return -ENODEV;
	}
	lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!lib) {
		snprintf(why, size, "%s: install the missing library, or rebuild accelprof",
			 dlerror());
		return -ENODEV;
	}
	snprintf(why, size, "on PoCL's devices, by " LIBRARY);
	return 0;
}
