/* module.c - which module of the model the calling thread is in. */
#include "handlers/torch/module.h"

#include "collect/agent.h"

/* Of the initial-exec kind: the agent is loaded late. */
static _Thread_local uint32_t module_id, module_gen;

__attribute__((visibility("default"))) void pasta_torch_module(const char *path)
{
	module_id = 0;
	if (!path || !pasta_agent_attach_vendor() || !pasta_agent_records(PASTA_KIND_OP_BEGIN))
		return;
	module_id = pasta_intern_str(path);
	module_gen = pasta_agent_gen(); /* interning may have begun to record */
}

uint32_t pasta_torch_module_now(void)
{
	/* A forked child's ids are others. */
	return module_id && module_gen == pasta_agent_gen() ? module_id : 0;
}
