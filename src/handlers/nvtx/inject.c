/* inject.c - the entry point of the NVTX handler. The NVTX headers in the program load the agent at
 * the program's first NVTX call. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "handlers/handler.h"
#include "handlers/nvtx/nvtx.h"

/* The environment variable in which accelprof run passes the library that the user has set in
 * NVTX_INJECTION64_PATH. */
#define NVTX_CHAINED "PASTA_NVTX_INJECTION"

int InitializeInjectionNvtx2(nvtx_get_table get_table);

/* Lets the library that the user has set handle NVTX calls instead of the agent. The library and
 * the agent cannot both handle calls, because NVTX has one slot for each function, and the agent
 * cannot use the library's handles. Returns false if there is no such library, or if the library
 * refuses. In that case the agent handles the calls. */
static bool nvtx_chained(nvtx_get_table get_table)
{
	const char *path = getenv(NVTX_CHAINED);
	void *lib = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
	int (*initialize)(nvtx_get_table) = NULL;

	if (lib)
		*(void **)&initialize = dlsym(lib, "InitializeInjectionNvtx2");
	if (!initialize || initialize == InitializeInjectionNvtx2 || !initialize(get_table))
		return false;
	if (pasta_agent_attach_vendor())
		pasta_agent_log("nvtx",
				"NVTX ranges are not recorded, because NVTX_INJECTION64_PATH names "
				"another library, which receives the ranges: unset the variable to "
				"record them");
	return true;
}

static bool nvtx_fill(const struct nvtx_callbacks *callbacks, int module, const nvtx_function *ours,
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

static void nvtx_set_version(const struct nvtx_version_info *info)
{
	if (info && info->size >= sizeof(*info) && info->set_tool_version)
		info->set_tool_version(NVTX_ABI_VERSION);
}

/* NVTX calls this function once for each copy of NVTX in the program and its libraries. If the
 * function returns 0, the NVTX calls of that copy do nothing. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
	const struct nvtx_callbacks *callbacks;

	if (!get_table)
		return 0;
	if (nvtx_chained(get_table))
		return 1;
	if (!pasta_agent_attach_vendor() ||
	    !(pasta_agent_records(PASTA_KIND_REGION) || pasta_agent_records(PASTA_KIND_THREAD)))
		return 0;
	callbacks = get_table(NVTX_ABI_CALLBACKS);
	if (!callbacks || callbacks->size < sizeof(*callbacks) || !callbacks->get_functions)
		return 0;
	nvtx_set_version(get_table(NVTX_ABI_VERSION_INFO));
	if (!nvtx_fill(callbacks, NVTX_ABI_CORE, nvtx_core, NVTX_ABI_CORE_COUNT))
		return 0;
	nvtx_fill(callbacks, NVTX_ABI_CORE2, nvtx_core2, NVTX_ABI_CORE2_COUNT);
	return 1;
}

static int nvtx_probe(char *why, size_t size)
{
	snprintf(why, size, "records programs that use NVTX version 3; needs no GPU");
	return 0;
}

const struct pasta_handler pasta_nvtx_handler = {
	.name = "nvtx",
	.summary = "ranges and marks that programs define with NVTX",
	.probe = nvtx_probe,
	.env = "NVTX_INJECTION64_PATH",
	.env_other = NVTX_CHAINED,
};
