/*
 * unwind.c - the calling thread's return addresses.
 *
 * Two unwinders, neither of which the agent needs to be loaded. libunwind is fast, for it remembers
 * what it learnt of each return address; Debian's libunwind.a is not position independent, so that
 * it cannot be inside the agent, and it is bound at run time. What it remembers is wrong once other
 * code lies at the same address; it does not bear to be interrupted by itself; and when a thread
 * ends it takes a lock so late that ThreadSanitizer crashes. So after the first dlclose, in
 * programs that use either, and where it is absent, the compiler's own unwinder serves, which is
 * inside the agent, remembers nothing and takes some ten times as long.
 */
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include "collect/stack.h"
#include "collect/state.h"
#include "handlers/handler.h"

#define LIBUNWIND "libunwind.so.8"
enum { OWN = 8 }; /* frames below the caller's, at most */

static int (*fast)(void **pcs, int max); /* NULL: none */
static uint64_t unloaded_before;	 /* it was bound */
/* The agent's code; empty where it is part of the program, as in tests. */
static uintptr_t own_begin, own_end;

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t here = (uintptr_t)find_own, begin, end;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		end = begin + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type != PT_LOAD || here < begin || here >= end)
			continue;
		if (*info->dlpi_name) {
			own_begin = begin;
			own_end = end;
		}
		return 1;
	}
	return 0;
}

/* Whether the program leaves libunwind to us. */
static bool may_use(void)
{
	void *lib = dlopen(LIBUNWIND, RTLD_NOLOAD | RTLD_LAZY);

	if (lib)
		dlclose(lib);
	return !lib && !dlsym(RTLD_DEFAULT, "__tsan_init");
}

void pasta_unwind_bind(void)
{
	void *lib;

	dl_iterate_phdr(find_own, NULL);
	lib = may_use() ? dlopen(LIBUNWIND, RTLD_NOW | RTLD_LOCAL) : NULL;
	unloaded_before = pasta_modules_unloaded();
	if (lib)
		*(void **)&fast = dlsym(lib, "unw_backtrace");
}

__attribute__((visibility("default"))) const char *pasta_agent_unwinder(void)
{
	void *lib = fast ? NULL : dlopen(LIBUNWIND, RTLD_LAZY | RTLD_LOCAL);

	if (lib)
		dlclose(lib);
	return fast || lib ? LIBUNWIND : NULL;
}

struct trace {
	void **pcs;
	int count, max;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	struct trace *t = arg;

	if (t->count == t->max)
		return _URC_END_OF_STACK;
	t->pcs[t->count++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static int slow(void **pcs, int max)
{
	struct trace t = {.pcs = pcs, .max = max};

	_Unwind_Backtrace(step, &t);
	return t.count;
}

/* A handler's frames are the agent's, too. */
static bool is_own(const void *pc)
{
	return (uintptr_t)pc >= own_begin && (uintptr_t)pc < own_end;
}

size_t pasta_unwind(uint64_t *pcs, size_t max, const void *caller, uint64_t unloaded)
{
	void *all[PASTA_STACK_FRAMES + OWN];
	const int room = PASTA_STACK_FRAMES + OWN;
	int n = fast && unloaded == unloaded_before ? fast(all, room) : slow(all, room), first = 0;
	size_t count = 0;

	while (first < n && first < OWN && all[first] != caller)
		first++;
	first = first < n && all[first] == caller ? first : 0;
	while (first < n && is_own(all[first]))
		first++;
	/* Past the outermost there may be a 0. */
	for (int i = first; i < n && count < max && all[i]; i++)
		pcs[count++] = (uint64_t)(uintptr_t)all[i];
	return count;
}
