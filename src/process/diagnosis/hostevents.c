/* hostevents.c - adds the events of threads to the threads' logs. */
#include "process/diagnosis/timing.h"

/* -- Names -- */

static bool name_begins(const char *name, const char *head)
{
	return !strncmp(name, head, strlen(head));
}

static bool name_has(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strstr(name, *words))
			return true;
	return false;
}

static enum timing_name name_classify(const char *name)
{
	static const char *const collectives[] = {"ncclKernel_",    "ncclDevKernel_", "rcclKernel_",
						  "rcclDevKernel_", "ncclDevFunc_",   NULL};
	static const char *const compilers[] = {"dynamo_timed", "compile_fx", NULL};

	for (size_t i = 0; collectives[i]; i++)
		if (name_begins(name, collectives[i]))
			return TIMING_NAME_COLLECTIVE;
	if (name_begins(name, "Optimizer.step#"))
		return TIMING_NAME_OPTIMIZER;
	if (strstr(name, "DataLoader") && (name_begins(name, "enumerate(") || strstr(name, "next")))
		return TIMING_NAME_LOADER;
	return name_has(name, compilers) ? TIMING_NAME_COMPILER : TIMING_NAME_OTHER;
}

static enum timing_name name_classify_api(const char *name)
{
	static const char *const waits[] = {"Synchronize", "clFinish", "clWaitForEvents", NULL};
	static const char *const copies[] = {"Memcpy", "memcpy", NULL};
	static const char *const others[] = {"Async", "Graph", "Batch", NULL};
	static const char *const allocates[] = {"Malloc",     "MemAlloc",     "MemFree",
						"MemCreate",  "MemMap",	      "MemUnmap",
						"MemRelease", "HostAlloc",    "FreeHost",
						"HostFree",   "HostRegister", "HostUnregister",
						"cudaFree",   "hipFree",      NULL};
	static const char *const loads[] = {
		"ModuleLoad",	"LibraryLoad",	  "nvrtcCompile",     "hiprtcCompile", "LinkAdd",
		"LinkComplete", "clBuildProgram", "clCompileProgram", "clLinkProgram", NULL};

	if (name_has(name, waits) || (name_has(name, copies) && !name_has(name, others)))
		return TIMING_NAME_SYNC;
	if (name_has(name, allocates))
		return TIMING_NAME_ALLOCATOR;
	return name_has(name, loads) ? TIMING_NAME_LOADING : TIMING_NAME_OTHER;
}

static enum timing_name name_find(struct pasta_timing *t, size_t map, uint32_t name,
				  enum timing_name (*classify)(const char *))
{
	uint32_t *class = pasta_map_find(t->names[map], name);

	if (!class && pasta_map_count(t->names[map]) >= TIMING_NAMES_MAX)
		return classify(pasta_str(name));
	if (!class)
		class = timing_need(t, pasta_map_add(t->names[map], name));
	if (!class)
		return TIMING_NAME_OTHER;
	if (!*class)
		*class = classify(pasta_str(name));
	return (enum timing_name) * class;
}

enum timing_name timing_name(struct pasta_timing *t, uint32_t name)
{
	return name ? name_find(t, 0, name, name_classify) : TIMING_NAME_OTHER;
}

enum timing_name timing_api_name(struct pasta_timing *t, uint32_t name)
{
	return name ? name_find(t, 1, name, name_classify_api) : TIMING_NAME_OTHER;
}

/* -- Events -- */

static void host_api(struct timing_proc *p, struct hostlog *log, const struct pasta_event *ev)
{
	enum timing_name class = timing_api_name(p->timing, ev->api.name);
	uint32_t activity = class == TIMING_NAME_SYNC	     ? HOSTLOG_SYNC
			    : class == TIMING_NAME_ALLOCATOR ? HOSTLOG_ALLOCATOR
			    : class == TIMING_NAME_LOADING   ? HOSTLOG_LOADING
							     : HOSTLOG_DISPATCH;

	hostlog_call(log, activity, timing_add(ev->time, ev->api.dur), ev->api.name);
}

/* Counts the open operators and regions that have an activity. */
static void host_nest(struct timing_proc *p, struct hostlog *log, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	bool region = ev->kind == PASTA_KIND_REGION;
	bool begins = region ? ev->sub == PASTA_REGION_BEGIN : ev->kind == PASTA_KIND_OP_BEGIN;
	enum timing_name class = timing_name(p->timing, where->scope ? where->scope->name : 0);
	uint32_t *open;

	if (class == TIMING_NAME_LOADER)
		open = &log->open[HOSTLOG_DATA];
	else if (class == TIMING_NAME_COMPILER)
		open = &log->open[HOSTLOG_LOADING];
	else if (!region)
		open = &log->open[HOSTLOG_DISPATCH];
	else
		return;
	if (begins)
		++*open;
	else if (*open)
		--*open;
}

/* Sets the origin of the next interval. After the end of an operator or region, the origin is the
 * enclosing operator or region. */
static void host_origin(struct hostlog *log, const struct pasta_where *where, bool ends)
{
	log->op = ends ? 0 : where->op;
	log->scope = ends && where->scope ? where->scope->up : where->scope;
	log->python = ends ? 0 : where->python;
	log->module = ends ? 0 : where->module;
}

/* Counts a launch. `th` is NULL if the thread has no log. */
static void host_launch(struct timing_proc *p, struct timing_thread *th,
			const struct pasta_event *ev)
{
	uint64_t last = th ? th->launched : 0;

	timing_steps_active(p, true);
	p->any_launch = true;
	p->last_launch = ev->time > p->last_launch ? ev->time : p->last_launch;
	for (size_t i = 0; i < 2; i++) {
		p->launches[i]++;
		if (p->periods[i] && last && ev->time >= last - 1 &&
		    pasta_hist_add(p->periods[i], ev->time - (last - 1), 1))
			p->timing->error = -ENOMEM;
	}
	if (th)
		th->launched = timing_add(ev->time, 1);
}

/* Returns the duration of a call that an event reports; 0: the event has no duration, or it
 * reports no call of a thread. */
static uint64_t host_call_ns(const struct pasta_event *ev, uint32_t *activity)
{
	*activity = HOSTLOG_ALLOCATOR;
	switch (ev->kind) {
	case PASTA_KIND_ALLOC:
		return ev->alloc.dur;
	case PASTA_KIND_FREE:
		return ev->free.dur;
	case PASTA_KIND_MODULE:
		*activity = HOSTLOG_LOADING;
		return ev->module.dur;
	case PASTA_KIND_SYNC:
		*activity = HOSTLOG_SYNC;
		return ev->sync.dur;
	default:
		return 0;
	}
}

static void host_on_thread(struct timing_proc *p, struct timing_thread *th,
			   const struct pasta_event *ev, const struct pasta_where *where,
			   uint32_t activity, uint64_t ns)
{
	bool nests = PASTA_TIMING_NESTS >> ev->kind & 1;
	bool ends = ev->kind == PASTA_KIND_OP_END ||
		    (ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_END);
	int error = hostlog_advance(&th->log, ev->time);

	if (ns)
		hostlog_call(&th->log, activity, timing_add(ev->time, ns), 0);
	else if (ev->kind == PASTA_KIND_API)
		host_api(p, &th->log, ev);
	else if (nests)
		host_nest(p, &th->log, ev, where);
	host_origin(&th->log, where, ends);
	error = error ? error : hostlog_add(&th->log);
	if (error)
		p->timing->error = error;
	if (nests)
		timing_steps_region(p, th, ev, where);
}

void timing_host_event(struct timing_proc *p, const struct pasta_event *ev,
		       const struct pasta_where *where)
{
	struct timing_thread *th;
	uint32_t activity;
	uint64_t ns = host_call_ns(ev, &activity);

	if (ev->kind == PASTA_KIND_REGION && ev->sub != PASTA_REGION_BEGIN &&
	    ev->sub != PASTA_REGION_END)
		return;
	if (PASTA_TIMING_CALLS >> ev->kind & 1 && !ns)
		return;
	if (ns && !ev->tid) {
		if (ev->kind == PASTA_KIND_SYNC)
			p->syncs[p->sync_count++ % TIMING_SYNCS] =
				(struct timing_sync){ev->time, timing_add(ev->time, ns)};
		return;
	}
	th = timing_thread_find(p, ev->tid);
	if (ev->kind == PASTA_KIND_LAUNCH)
		host_launch(p, th, ev);
	if (th)
		host_on_thread(p, th, ev, where, activity, ns);
}
