/* table.c - lists the handlers of this build. */
#include "handlers/handler.h"

__attribute__((visibility("default"))) const struct pasta_handler *const *pasta_agent_handlers(void)
{
	/* clang-format off */
	static const struct pasta_handler *const handlers[] = {
		&pasta_annotate_handler,
		&pasta_opencl_handler,
		&pasta_cupti_handler,
		&pasta_sanitizer_handler,
		&pasta_nvtx_handler,
		&pasta_python_handler,
		&pasta_torch_handler,
		NULL,
	};
	/* clang-format on */

	return handlers;
}
