/* demangle.h - names of C++, as people write them. Any thread. */
#ifndef PASTA_PROCESS_DEMANGLE_H
#define PASTA_PROCESS_DEMANGLE_H

#include <stddef.h>

/* To be freed; NULL: it is no such name, or a very long one, or libstdc++ is not here. */
char *pasta_demangle(const char *name, size_t size);

#endif
