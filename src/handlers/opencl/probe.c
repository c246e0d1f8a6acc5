/* probe.c - can memory accesses of OpenCL programs be counted on this machine? */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "handlers/opencl/opencl.h"

#define LIBRARY "libpasta-opencl-trace.so"

/* Beside this library itself; "" if that is not known. */
static const char *find(char *path, size_t size)
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

	if (access(find(path, sizeof(path)), R_OK)) {
		snprintf(why, size,
			 "no " LIBRARY
			 " beside the agent: build accelprof where there are PoCL and "
			 "the LLVM that it is built with (scripts/bootstrap installs both)");
		return -ENODEV;
	}
	lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!lib) {
		snprintf(why, size, "%s: install what is missing, or build accelprof again",
			 dlerror());
		return -ENODEV;
	}
	snprintf(why, size, "on PoCL's devices, by " LIBRARY);
	return 0;
}
