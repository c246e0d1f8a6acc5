/* derive.c - derives records from PyTorch's regions and segments: iterations, compilations, and
 * retries of PyTorch's allocator. */
#include <stdlib.h>
#include <string.h>

#include "handlers/torch/torch.h"

enum { DEVICES = 64 };

void torch_derive_step(const struct torch_thread *t, const char *region)
{
	static const char prefix[] = "ProfilerStep#";
	const char *digits = region + sizeof(prefix) - 1;
	struct pasta_event ev;
	char *end;

	if (strncmp(region, prefix, sizeof(prefix) - 1) || *digits < '0' || *digits > '9' ||
	    !pasta_agent_active() || !pasta_agent_records(PASTA_KIND_ITERATION))
		return;
	pasta_event_init(&ev, PASTA_KIND_ITERATION, 0, PASTA_EVENT_SIZE(iteration));
	ev.iteration.index = strtoull(digits, &end, 10);
	ev.iteration.name = t->profiler_step;
	ev.time = pasta_now();
	if (!*end)
		pasta_emit(&ev);
}

/* Versions of PyTorch put different texts before this suffix. */
bool torch_derive_compiles(const char *region)
{
	static const char suffix[] = "compile_inner (dynamo_timed)";
	size_t size = strlen(region);

	return size >= sizeof(suffix) - 1 && pasta_agent_records(PASTA_KIND_MODULE) &&
	       !strcmp(region + size - (sizeof(suffix) - 1), suffix);
}

void torch_derive_compiled(struct torch_thread *t, uint64_t begin, uint64_t end)
{
	struct pasta_event ev;

	if (!pasta_agent_active())
		return;
	pasta_event_init(&ev, PASTA_KIND_MODULE, PASTA_MODULE_LOAD, PASTA_EVENT_SIZE(module));
	ev.module.id = torch_id(t);
	ev.module.name = pasta_intern_str("torch.compile");
	ev.module.dur = end > begin ? end - begin : 0;
	ev.time = begin;
	pasta_emit(&ev);
}

void torch_derive_retry(struct torch_thread *t, bool freed, uint32_t device)
{
	static _Atomic uint64_t retries[DEVICES];
	struct pasta_event ev;

	if (freed || !t->freed_segment) {
		t->freed_segment = freed;
		return;
	}
	t->freed_segment = false;
	if (!pasta_agent_active() || !pasta_agent_records(PASTA_KIND_COUNTER))
		return;
	pasta_event_init(&ev, PASTA_KIND_COUNTER, 0, PASTA_EVENT_SIZE(counter));
	ev.counter.value = 1.0 + (double)atomic_fetch_add(&retries[device % DEVICES], 1);
	ev.counter.name = pasta_intern_str("allocator retries");
	ev.counter.device = device;
	ev.time = pasta_now();
	pasta_emit(&ev);
}
