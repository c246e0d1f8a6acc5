/* library.h - finds CUDA's driver, its optional libraries, and the files in the agent's folder. */
#ifndef PASTA_HANDLERS_CUDA_LIBRARY_H
#define PASTA_HANDLERS_CUDA_LIBRARY_H

#include <stddef.h>

/* The names of a library, and the folders and variables in which to search for the library. Each
 * list ends with NULL. The first file that exists is used. */
struct cuda_library {
	const char *env; /* environment variable in which the user sets the library's path */
	const char *const *names;   /* names of the library's file */
	const char *const *toolkit; /* folders in a CUDA toolkit */
	const char *const *python;  /* subfolders of the folder nvidia in Python's site-packages */
};

/* Returns the dlopen handle of a library, which stays loaded. If the program has loaded the
 * library, the function returns the program's copy, because a second copy would not see the
 * program's contexts. Returns NULL if the library is not found. If the user has set the library's
 * path, dlerror() describes why that path failed. */
void *cuda_library_find(const struct cuda_library *library);

/* Stores in `path` the file from which a library was loaded. If the file is not known, `path` stays
 * unchanged. */
void cuda_library_path(void *lib, char *path, size_t size);

/* Returns 0 if the CUDA driver can be loaded. If not, returns -ENODEV, and stores the reason in
 * `why`. */
int cuda_library_probe_driver(char *why, size_t size);

/* Stores and returns the path of a file in the agent's folder. The path is "" if that folder is not
 * known. */
const char *cuda_library_beside_agent(const char *name, char *path, size_t size);

#endif
