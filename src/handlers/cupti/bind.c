/* bind.c - finds CUPTI's library and looks up its functions. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "handlers/cuda/library.h"
#include "handlers/cupti/cupti.h"

/* CUDA 12 comes with CUPTI versions 19 to 28. Since CUDA 13, CUPTI has CUDA's version number, such
 * as 130401. */
#define VERSION_MIN 19

struct cupti cupti;

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
static const char *const toolkit[] = {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib",
				      "targets/sbsa-linux/lib", NULL};
static const char *const python[] = {"cuda_cupti/lib", NULL};
static const struct cuda_library library = {"PASTA_CUPTI", names, toolkit, python};

/* Returns the name of the first required function that the library lacks, or NULL if the library
 * lacks none. */
static const char *bind_functions(void *lib)
{
#define F(name, args)                                                                              \
	*(void **)&cupti.name = dlsym(lib, "cupti" #name);                                         \
	if (!cupti.name)                                                                           \
		return "cupti" #name;
	CUPTI_FUNCTIONS(F)
#undef F
#define F(name, args) *(void **)&cupti.name = dlsym(lib, "cupti" #name);
	CUPTI_FUNCTIONS_OPTIONAL(F)
#undef F
	return NULL;
}

int cupti_bind(char *why, size_t size)
{
	const char *missing;
	void *lib;
	int r;

	if (cupti.version)
		return 0;
	lib = cuda_library_find(&library);
	if (!lib) {
		const char *path = getenv("PASTA_CUPTI");

		if (path && *path)
			snprintf(why, size, "PASTA_CUPTI is not the path of a libcupti.so: %s",
				 dlerror());
		else
			snprintf(why, size,
				 "no libcupti.so of CUDA 12 or 13: install cuda-cupti, or the "
				 "Python package nvidia-cuda-cupti, or set PASTA_CUPTI to its "
				 "path");
		return -ENODEV;
	}
	missing = bind_functions(lib);
	cuda_library_path(lib, cupti.path, sizeof(cupti.path));
	if (missing) {
		snprintf(
			why, size,
			"CUPTI lacks %s: install CUPTI of CUDA 12 or 13, or set PASTA_CUPTI to its "
			"path (found %s)",
			missing, cupti.path);
		return -ENOSYS;
	}
	r = cupti.GetVersion(&cupti.version);
	if (r != CUPTI_OK || cupti.version < VERSION_MIN) {
		snprintf(why, size,
			 r == CUPTI_OK ? "CUPTI is older than CUDA 12: install CUPTI of CUDA 12 or "
					 "13, or set PASTA_CUPTI to its path (found %s)"
				       : "CUPTI does not work with this driver: set PASTA_CUPTI to "
					 "a libcupti.so of the driver's CUDA version (found %s)",
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
