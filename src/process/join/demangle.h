/* demangle.h - demangles C++ names. Any thread may call these functions. */
#ifndef PASTA_PROCESS_DEMANGLE_H
#define PASTA_PROCESS_DEMANGLE_H

#include <stddef.h>

/* Returns the demangled name, which the caller frees. Returns NULL if `name` is not mangled, if the
 * result would be very long, or if libstdc++ is not available. */
char *pasta_demangle(const char *name, size_t size);

#endif
