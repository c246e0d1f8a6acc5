/* library.h - find CUDA's driver, its optional libraries, and the files beside the agent. */
#ifndef PASTA_HANDLERS_CUDA_LIBRARY_H
#define PASTA_HANDLERS_CUDA_LIBRARY_H

#include <stddef.h>

/* Where to look for a library. Lists end with NULL; the first match wins. */
struct cuda_library {
	const char *env;	    /* the variable with which the user sets its path */
	const char *const *names;   /* file names */
	const char *const *toolkit; /* folders below a CUDA toolkit */
	const char *const *python;  /* folders below the nvidia folder of Python's site-packages */
};

/* Returns a handle of the library, which stays loaded. If the program has loaded it, returns that
 * copy: a second one would see none of the program's contexts. Returns NULL if it is not found; if
 * the user set its path, dlerror() has the reason. */
void *cuda_library_find(const struct cuda_library *library);

/* Store the path from which a library was loaded; leave path unchanged if it is not known. */
void cuda_library_path(void *lib, char *path, size_t size);

/* Returns 0 if the CUDA driver can be loaded, else -ENODEV and the reason in why. */
int cuda_library_probe_driver(char *why, size_t size);

/* Store and return the path of a file in the agent's folder; "" if that folder is not known. */
const char *cuda_library_beside_agent(const char *name, char *path, size_t size);

#endif
