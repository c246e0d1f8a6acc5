/* module.c - stores the PyTorch module that each thread runs. */
#include "handlers/torch/module.h"

#include "collect/agent.h"

/* Thread-local variables must be small, because the agent is loaded late, when little room is left
 * for initial-exec variables. */
static _Thread_local uint32_t module_id, module_gen;

__attribute__((visibility("default"))) void pasta_torch_module(const char *path)
{
	module_id = 0;
	if (!path || !pasta_agent_attach_vendor() || !pasta_agent_records(PASTA_KIND_OP_BEGIN))
		return;
	module_id = pasta_intern_str(path);
	/* the generation is read after interning, because interning may start the recording */
	module_gen = pasta_agent_gen();
}

uint32_t pasta_torch_module_now(void)
{
	/* Interned ids of the parent process are invalid in a forked child. */
	return module_id && module_gen == pasta_agent_gen() ? module_id : 0;
}
