/* strings.h - the table of interned strings, with the strings of all shards that this process
 * reads. Strings are never freed. */
#ifndef PASTA_CORE_STRINGS_H
#define PASTA_CORE_STRINGS_H

#include <pasta/base.h> /* pasta_strings_add, pasta_str, pasta_bytes */

#endif
