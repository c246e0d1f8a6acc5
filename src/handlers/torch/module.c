/* module.c - the PyTorch module that the calling thread runs. */
#include "handlers/torch/module.h"

#include "collect/agent.h"

/* Small: the agent is loaded late, and initial-exec TLS has little room then. */
static _Thread_local uint32_t module_id, module_gen;

__attribute__((visibility("default"))) void pasta_torch_module(const char *path)
{
	module_id = 0;
	if (!path || !pasta_agent_attach_vendor() || !pasta_agent_records(PASTA_KIND_OP_BEGIN))
		return;
	module_id = pasta_intern_str(path);
	module_gen = pasta_agent_gen(); /* interning may have started the recording */
}

uint32_t pasta_torch_module_now(void)
{
	/* Ids of the parent mean nothing in a forked child. */
	return module_id && module_gen == pasta_agent_gen() ? module_id : 0;
}
