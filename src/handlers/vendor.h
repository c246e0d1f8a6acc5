/*
 * vendor.h - a library of CUDA's, found where those lie, and what lies beside the agent.
 */
#ifndef PASTA_HANDLERS_VENDOR_H
#define PASTA_HANDLERS_VENDOR_H

#include <stddef.h>

/* All lists are ended by NULL, the best comes first. */
struct pasta_vendor {
	const char *env; /* the variable that has its path */
	const char *const *names;
	const char *const *below;  /* folders of a toolkit */
	const char *const *beside; /* folders of Python's packages, from that of all of CUDA's */
};

/* The loaded one, if there is one: a second copy would see none of the program's contexts. NULL:
 * there is none, and dlerror() says why, if env names it. It stays loaded. */
void *pasta_vendor_find(const struct pasta_vendor *v);

/* The path of a file beside the agent's library; "" if that is not known. */
const char *pasta_vendor_beside(const char *name, char *path, size_t size);

#endif
