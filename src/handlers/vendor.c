/* vendor.c - a library of CUDA's, found where those lie. */
#include "handlers/vendor.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *loaded(const struct pasta_vendor *v)
{
	void *lib = NULL;

	for (const char *const *name = v->names; *name && !lib; name++)
		lib = dlopen(*name, RTLD_LAZY | RTLD_NOLOAD);
	return lib;
}

static void *in_folder(const struct pasta_vendor *v, const char *folder)
{
	char path[600];
	void *lib = NULL;

	for (const char *const *name = v->names; *name && !lib; name++) {
		snprintf(path, sizeof(path), "%s/%s", folder, *name);
		lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	}
	return lib;
}

/* The toolkit's, where the user says it is or where it mostly is. */
static void *in_toolkit(const struct pasta_vendor *v)
{
	const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda",
			       "/usr/lib/cuda"};
	char folder[512];
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++)
		for (const char *const *below = v->below; *below && homes[i] && !lib; below++) {
			snprintf(folder, sizeof(folder), "%s/%s", homes[i], *below);
			lib = in_folder(v, folder);
		}
	return lib;
}

struct search {
	const struct pasta_vendor *vendor;
	void *lib;
};

/* A Python package brings CUDA's libraries beside each other: nvidia/cuda_runtime/lib and, say,
 * nvidia/cuda_cupti/lib, or all in nvidia/cu13/lib. */
static int beside_runtime(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *base = strrchr(info->dlpi_name, '/');
	struct search *s = arg;
	char folder[512];
	int length;

	(void)size;
	if (!base || strncmp(base + 1, "libcudart.so", 12) != 0 ||
	    (size_t)(base - info->dlpi_name) > sizeof(folder) - 64)
		return 0;
	length = (int)(base - info->dlpi_name);
	snprintf(folder, sizeof(folder), "%.*s", length, info->dlpi_name);
	s->lib = in_folder(s->vendor, folder);
	for (const char *const *beside = s->vendor->beside; *beside && !s->lib; beside++) {
		snprintf(folder, sizeof(folder), "%.*s/../../%s", length, info->dlpi_name, *beside);
		s->lib = in_folder(s->vendor, folder);
	}
	return s->lib != NULL;
}

void *pasta_vendor_find(const struct pasta_vendor *v)
{
	struct search s = {.vendor = v};
	const char *path = getenv(v->env);

	if (path && *path)
		return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	s.lib = loaded(v);
	if (!s.lib)
		dl_iterate_phdr(beside_runtime, &s);
	if (!s.lib)
		s.lib = in_toolkit(v);
	for (const char *const *name = v->names; *name && !s.lib; name++)
		s.lib = dlopen(*name, RTLD_LAZY | RTLD_LOCAL);
	return s.lib;
}

const char *pasta_vendor_beside(const char *name, char *path, size_t size)
{
	const char *slash;
	Dl_info self;

	*path = '\0';
	if (!dladdr((void *)pasta_vendor_beside, &self) || !self.dli_fname)
		return path;
	slash = strrchr(self.dli_fname, '/');
	if (slash)
		snprintf(path, size, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname,
			 name);
	return path;
}
