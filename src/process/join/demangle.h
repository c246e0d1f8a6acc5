/* demangle.h - demangles C++ names. Any thread. */
#ifndef PASTA_PROCESS_DEMANGLE_H
#define PASTA_PROCESS_DEMANGLE_H

#include <stddef.h>

/* Returns the demangled name, which the caller frees. NULL if name is not mangled or very long, or
 * if there is no libstdc++. */
char *pasta_demangle(const char *name, size_t size);

#endif
