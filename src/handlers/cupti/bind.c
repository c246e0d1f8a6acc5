/* bind.c - CUPTI's library, found and bound. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/cupti/cupti.h"

/* Those of CUDA 12 are 19 to 28; from CUDA 13 on they are like CUDA's own: 130401. */
#define VERSION_MIN 19

struct cupti cupti;

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
#define NAMES (sizeof(names) / sizeof(*names))

/* A second copy would see none of the program's contexts: reuse the loaded one. */
static void *loaded(void)
{
	void *lib = NULL;

	for (size_t i = 0; i < NAMES && !lib; i++)
		lib = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	return lib;
}

static void *in_folder(const char *folder)
{
	char path[600];
	void *lib = NULL;

	for (size_t i = 0; i < NAMES && !lib; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	}
	return lib;
}

/* The toolkit's, where the user says it is or where it mostly is. */
static void *in_toolkit(void)
{
	static const char *const below[] = {"lib64", "extras/CUPTI/lib64",
					    "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};
	const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda",
			       "/usr/lib/cuda"};
	char folder[512];
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++)
		for (size_t k = 0; k < sizeof(below) / sizeof(*below) && homes[i] && !lib; k++) {
			snprintf(folder, sizeof(folder), "%s/%s", homes[i], below[k]);
			lib = in_folder(folder);
		}
	return lib;
}

/* A Python package brings CUDA's libraries beside each other: nvidia/cuda_runtime/lib and
 * nvidia/cuda_cupti/lib, or all in nvidia/cu13/lib. */
static int beside_runtime(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *base = strrchr(info->dlpi_name, '/');
	char folder[512];
	void **lib = arg;

	(void)size;
	if (!base || strncmp(base + 1, "libcudart.so", 12) != 0 ||
	    (size_t)(base - info->dlpi_name) > sizeof(folder) - 64)
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", (int)(base - info->dlpi_name), info->dlpi_name);
	*lib = in_folder(folder);
	if (*lib)
		return 1;
	snprintf(folder, sizeof(folder), "%.*s/../../cuda_cupti/lib", (int)(base - info->dlpi_name),
		 info->dlpi_name);
	*lib = in_folder(folder);
	return *lib != NULL;
}

static void *find(void)
{
	const char *path = getenv("PASTA_CUPTI");
	void *lib;

	if (path && *path)
		return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	lib = loaded();
	if (!lib)
		dl_iterate_phdr(beside_runtime, &lib);
	if (!lib)
		lib = in_toolkit();
	for (size_t i = 0; i < NAMES && !lib; i++)
		lib = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
	return lib;
}

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
	lib = find();
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
