/* inject.c - the way in: NVTX's headers, inside the program, call us at its first NVTX call. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "handlers/handler.h"
#include "handlers/nvtx/nvtx.h"

/* Another library that wanted to be loaded in our place. */
#define CHAIN "PASTA_NVTX_INJECTION"

int InitializeInjectionNvtx2(nvtx_get_table get_table);

/* Handles that the other library makes are its own, and there is one place for each function: it
 * gets them all, and we record nothing. True: it has taken them. */
static bool yield(nvtx_get_table get_table)
{
	const char *path = getenv(CHAIN);
	void *lib = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
	int (*initialize)(nvtx_get_table) = NULL;

	if (lib)
		*(void **)&initialize = dlsym(lib, "InitializeInjectionNvtx2");
	if (!initialize || initialize == InitializeInjectionNvtx2 || !initialize(get_table))
		return false;
	if (pasta_agent_attach_vendor())
		pasta_agent_log(
			"nvtx",
			"NVTX_INJECTION64_PATH names another library, which goes on to get "
			"the program's ranges: they are not recorded; unset it to have them");
	return true;
}

static bool fill(const struct nvtx_callbacks *callbacks, int module, const nvtx_function *ours,
		 unsigned int count)
{
	nvtx_function **functions = NULL;
	unsigned int there = 0;

	if (!callbacks->get_functions(module, &functions, &there) || !functions)
		return false;
	for (unsigned int i = 1; i < count && i < there; i++)
		if (functions[i] && ours[i])
			*functions[i] = ours[i];
	return true;
}

static void tell_version(const struct nvtx_version_info *info)
{
	if (info && info->size >= sizeof(*info) && info->set_tool_version)
		info->set_tool_version(NVTX_ABI_VERSION);
}

/* Once for each copy of NVTX in the program and its libraries. 0: its calls do nothing, as they
 * would without us. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
	const struct nvtx_callbacks *callbacks;

	if (!get_table)
		return 0;
	if (yield(get_table))
		return 1;
	if (!pasta_agent_attach_vendor() ||
	    !(pasta_agent_records(PASTA_KIND_REGION) || pasta_agent_records(PASTA_KIND_THREAD)))
		return 0;
	callbacks = get_table(NVTX_ABI_CALLBACKS);
	if (!callbacks || callbacks->size < sizeof(*callbacks) || !callbacks->get_functions)
		return 0;
	tell_version(get_table(NVTX_ABI_VERSION_INFO));
	if (!fill(callbacks, NVTX_ABI_CORE, nvtx_core, NVTX_ABI_CORE_COUNT))
		return 0;
	fill(callbacks, NVTX_ABI_CORE2, nvtx_core2, NVTX_ABI_CORE2_COUNT);
	return 1;
}

static int probe(char *why, size_t size)
{
	snprintf(why, size, "programs that use NVTX of version 3 are recorded; no GPU is needed");
	return 0;
}

const struct pasta_handler pasta_nvtx_handler = {
	.name = "nvtx",
	.summary = "ranges and marks that programs name through NVTX",
	.probe = probe,
	.env = "NVTX_INJECTION64_PATH",
	.env_other = CHAIN,
};
