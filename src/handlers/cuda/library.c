/* library.c - finds CUDA's driver, its optional libraries, and the files in the agent's folder. */
#include "handlers/cuda/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library_loaded(const struct cuda_library *library)
{
	void *lib = NULL;

	for (const char *const *name = library->names; *name && !lib; name++)
		lib = dlopen(*name, RTLD_LAZY | RTLD_NOLOAD);
	return lib;
}

static void *library_in_folder(const struct cuda_library *library, const char *folder)
{
	char path[600];
	void *lib = NULL;

	for (const char *const *name = library->names; *name && !lib; name++) {
		snprintf(path, sizeof(path), "%s/%s", folder, *name);
		lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	}
	return lib;
}

static void *library_in_toolkit(const struct cuda_library *library)
{
	const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda",
			       "/usr/lib/cuda"};
	char folder[512];
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++)
		for (const char *const *sub = library->toolkit; *sub && homes[i] && !lib; sub++) {
			snprintf(folder, sizeof(folder), "%s/%s", homes[i], *sub);
			lib = library_in_folder(library, folder);
		}
	return lib;
}

struct library_search {
	const struct cuda_library *library;
	void *lib;
};

/* Searches the folders beside the CUDA runtime that the program has loaded. Python packages put
 * CUDA's libraries into neighbouring folders, such as nvidia/cuda_runtime/lib and
 * nvidia/cuda_cupti/lib, or all libraries into nvidia/cu13/lib. */
static int library_beside_runtime(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *base = strrchr(info->dlpi_name, '/');
	struct library_search *s = arg;
	char folder[512];
	int length;

	(void)size;
	if (!base || strncmp(base + 1, "libcudart.so", 12) != 0 ||
	    (size_t)(base - info->dlpi_name) > sizeof(folder) - 64)
		return 0;
	length = (int)(base - info->dlpi_name);
	snprintf(folder, sizeof(folder), "%.*s", length, info->dlpi_name);
	s->lib = library_in_folder(s->library, folder);
	for (const char *const *sub = s->library->python; *sub && !s->lib; sub++) {
		snprintf(folder, sizeof(folder), "%.*s/../../%s", length, info->dlpi_name, *sub);
		s->lib = library_in_folder(s->library, folder);
	}
	return s->lib != NULL;
}

void *cuda_library_find(const struct cuda_library *library)
{
	struct library_search s = {.library = library};
	const char *path = getenv(library->env);

	if (path && *path)
		return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	s.lib = library_loaded(library);
	if (!s.lib)
		dl_iterate_phdr(library_beside_runtime, &s);
	if (!s.lib)
		s.lib = library_in_toolkit(library);
	for (const char *const *name = library->names; *name && !s.lib; name++)
		s.lib = dlopen(*name, RTLD_LAZY | RTLD_LOCAL);
	return s.lib;
}

void cuda_library_path(void *lib, char *path, size_t size)
{
	struct link_map *map = NULL;

	if (!dlinfo(lib, RTLD_DI_LINKMAP, &map) && map)
		snprintf(path, size, "%s", map->l_name);
}

int cuda_library_probe_driver(char *why, size_t size)
{
	if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL))
		return 0;
	snprintf(why, size,
		 "cannot load libcuda.so.1: there is no NVIDIA GPU, or its driver is not "
		 "installed");
	return -ENODEV;
}

const char *cuda_library_beside_agent(const char *name, char *path, size_t size)
{
	const char *slash;
	Dl_info self;

	*path = '\0';
	if (!dladdr((void *)cuda_library_beside_agent, &self) || !self.dli_fname)
		return path;
	slash = strrchr(self.dli_fname, '/');
	if (slash)
		snprintf(path, size, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname,
			 name);
	return path;
}
