/* calls.h - processes the program's calls of the driver's launch functions. */
#ifndef PASTA_HANDLERS_SANITIZER_CALLS_H
#define PASTA_HANDLERS_SANITIZER_CALLS_H

#include "handlers/sanitizer/cubin.h"
#include "handlers/sanitizer/sanitizer.h"
#include "handlers/sanitizer/tensormap.h"

/* The call of a launch function that this thread is executing; all zero outside of such calls. */
struct san_entered {
	void *function, *stream; /* the program's handles */
	void **params, **extra;
	bool inside; /* whether the thread is between san_idle_enter and san_idle_leave */
	bool known;  /* whether san_module_learn has recorded the function's module */
};
extern _Thread_local struct san_entered san_entered;
/* Called on entry and exit of each driver function that inject.c subscribes to. */
void san_call(uint32_t id, const struct san_call *call);
/* Finds tensor descriptors in the kernel arguments of this thread's launch. Returns their number.
 * `f` is the launched function; NULL if it is unknown. */
size_t san_call_tensors(const struct pasta_cubin_function *f, struct pasta_tensormap *maps);

#endif
