/* library.h - recognizes source files of Python's libraries, as opposed to files of the program. */
#ifndef PASTA_PROCESS_LIBRARY_H
#define PASTA_PROCESS_LIBRARY_H

#include <stdbool.h>

/* Returns whether a Python source file belongs to a library: the file is in a folder
 * "site-packages" or "dist-packages", in the folder of Python's standard library, or in AccelProf's
 * own package. A relative path belongs to a library if it begins with the name of a well-known
 * library, because some profilers record files of libraries without their folder. */
bool pasta_library_has(const char *file);

#endif
