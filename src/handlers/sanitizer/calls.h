/* calls.h - the program's calls that launch work, as the driver's API receives them. */
#ifndef PASTA_HANDLERS_SANITIZER_CALLS_H
#define PASTA_HANDLERS_SANITIZER_CALLS_H

#include "handlers/sanitizer/cubin.h"
#include "handlers/sanitizer/sanitizer.h"
#include "handlers/sanitizer/tensormap.h"

/* The launching call that this thread is in; all zero outside of such calls. */
struct san_entered {
	void *function, *stream; /* the program's handles */
	void **params, **extra;
	bool inside; /* the thread is between san_idle_enter and san_idle_leave */
	bool known;  /* the function's module is known from san_module_learn */
};
extern _Thread_local struct san_entered san_entered;
/* Called on entry and exit of each driver function that inject.c subscribes to. */
void san_call(uint32_t id, const struct san_call *call);
/* Finds the tensors that the arguments of this thread's call describe. f may be NULL. Returns their
 * number. */
size_t san_call_tensors(const struct pasta_cubin_function *f, struct pasta_tensormap *maps);

#endif
