/* bind.c - CUPTI's library, found and bound. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "handlers/cupti/cupti.h"
#include "handlers/vendor.h"

/* Those of CUDA 12 are 19 to 28; from CUDA 13 on they are like CUDA's own: 130401. */
#define VERSION_MIN 19

struct cupti cupti;

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
static const char *const below[] = {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib",
				    "targets/sbsa-linux/lib", NULL};
static const char *const beside[] = {"cuda_cupti/lib", NULL};
static const struct pasta_vendor vendor = {"PASTA_CUPTI", names, below, beside};

static const char *bind_all(void *lib)
{
#define F(name, args)                                                                              \
	*(void **)&cupti.name = dlsym(lib, "cupti" #name);                                         \
	if (!cupti.name)                                                                           \
		return "cupti" #name;
	CUPTI_FUNCTIONS(F)
#undef F
#define F(name, args) *(void **)&cupti.name = dlsym(lib, "cupti" #name);
	CUPTI_FUNCTIONS_MAYBE(F)
#undef F
	return NULL;
}

int cupti_bind(char *why, size_t size)
{
	struct link_map *map = NULL;
	const char *missing;
	void *lib;
	int r;

	if (cupti.version)
		return 0;
	lib = pasta_vendor_find(&vendor);
	if (!lib) {
		const char *path = getenv("PASTA_CUPTI");

		if (path && *path)
			snprintf(why, size, "PASTA_CUPTI must be the path of a libcupti.so: %s",
				 dlerror());
		else
			snprintf(why, size,
				 "no libcupti.so of CUDA 12 or 13: install cuda-cupti, or the "
				 "Python package nvidia-cuda-cupti, or set PASTA_CUPTI to its "
				 "path");
		return -ENODEV;
	}
	missing = bind_all(lib);
	if (!dlinfo(lib, RTLD_DI_LINKMAP, &map) && map)
		snprintf(cupti.path, sizeof(cupti.path), "%s", map->l_name);
	if (missing) {
		snprintf(why, size,
			 "CUPTI has no %s: install that of CUDA 12 or 13, or set PASTA_CUPTI to "
			 "its path (found %s)",
			 missing, cupti.path);
		return -ENOSYS;
	}
	r = cupti.GetVersion(&cupti.version);
	if (r != CUPTI_OK || cupti.version < VERSION_MIN) {
		snprintf(why, size,
			 r == CUPTI_OK ? "CUPTI is older than that of CUDA 12: install a newer "
					 "one, or set PASTA_CUPTI to its path (found %s)"
				       : "CUPTI does not work with this driver: set PASTA_CUPTI "
					 "to one of the driver's CUDA version (found %s)",
			 cupti.path);
		cupti.version = 0;
		return -ENOSYS;
	}
	return 0;
}

const char *cupti_text(int result)
{
	const char *text = NULL;

	if (cupti.GetResultString(result, &text) != CUPTI_OK || !text)
		return "unknown error";
	return text;
}
