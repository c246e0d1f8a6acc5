/*
 * unwind.c - reads the calling thread's return addresses, with one of two unwinders.
 *
 * libunwind is fast, because it caches its knowledge about each return address. The agent binds
 * libunwind at run time, because Debian's libunwind.a is not position independent and cannot be
 * part of the agent. libunwind has three limits. The cache is wrong once other code is loaded at
 * the same address. libunwind must not interrupt itself. When a thread ends, libunwind acquires a
 * lock so late that ThreadSanitizer crashes.
 *
 * The compiler's unwinder is part of the agent, has no cache and is about ten times as slow. The
 * agent uses it after the first dlclose, in programs that use libunwind or ThreadSanitizer, and if
 * libunwind is not installed.
 */
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include "collect/stack.h"
#include "collect/state.h"
#include "handlers/handler.h"

#define LIBUNWIND "libunwind.so.8"
enum { OWN = 8 }; /* maximum number of the agent's frames between pasta_unwind and the caller */

/* the function of libunwind; NULL if libunwind is not used */
static int (*unwind_fast)(void **pcs, int max);
static uint64_t unloaded_before; /* number of modules unloaded before libunwind was loaded */
/* The address range of the agent's code. The range is empty if the agent is linked into the
 * program, as in tests. */
static uintptr_t own_begin, own_end;

static int unwind_find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t here = (uintptr_t)unwind_find_own, begin, end;

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

/* Returns whether the program uses neither libunwind nor ThreadSanitizer. In that case the agent
 * may use libunwind. */
static bool unwind_may_use(void)
{
	void *lib = dlopen(LIBUNWIND, RTLD_NOLOAD | RTLD_LAZY);

	if (lib)
		dlclose(lib);
	return !lib && !dlsym(RTLD_DEFAULT, "__tsan_init");
}

void pasta_unwind_bind(void)
{
	void *lib;

	dl_iterate_phdr(unwind_find_own, NULL);
	lib = unwind_may_use() ? dlopen(LIBUNWIND, RTLD_NOW | RTLD_LOCAL) : NULL;
	unloaded_before = pasta_modules_unloaded();
	if (lib)
		*(void **)&unwind_fast = dlsym(lib, "unw_backtrace");
}

__attribute__((visibility("default"))) const char *pasta_agent_unwinder(void)
{
	void *lib = unwind_fast ? NULL : dlopen(LIBUNWIND, RTLD_LAZY | RTLD_LOCAL);

	if (lib)
		dlclose(lib);
	return unwind_fast || lib ? LIBUNWIND : NULL;
}

struct trace {
	void **pcs;
	int count, max;
};

static _Unwind_Reason_Code unwind_step(struct _Unwind_Context *context, void *arg)
{
	struct trace *t = arg;

	if (t->count == t->max)
		return _URC_END_OF_STACK;
	t->pcs[t->count++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static int unwind_slow(void **pcs, int max)
{
	struct trace t = {.pcs = pcs, .max = max};

	_Unwind_Backtrace(unwind_step, &t);
	return t.count;
}

/* Returns whether an address is in the agent's code. The handlers are part of that code. */
static bool unwind_is_own(const void *pc)
{
	return (uintptr_t)pc >= own_begin && (uintptr_t)pc < own_end;
}

size_t pasta_unwind(uint64_t *pcs, size_t max, const void *caller, uint64_t unloaded)
{
	void *all[PASTA_STACK_FRAMES + OWN];
	const int room = PASTA_STACK_FRAMES + OWN;
	int n = unwind_fast && unloaded == unloaded_before ? unwind_fast(all, room)
							   : unwind_slow(all, room),
	    first = 0;
	size_t count = 0;

	while (first < n && first < OWN && all[first] != caller)
		first++;
	first = first < n && all[first] == caller ? first : 0;
	while (first < n && unwind_is_own(all[first]))
		first++;
	/* The unwinder may append a 0 after the outermost address. */
	for (int i = first; i < n && count < max && all[i]; i++)
		pcs[count++] = (uint64_t)(uintptr_t)all[i];
	return count;
}
