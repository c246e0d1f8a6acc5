/* strings.h - the interned strings of all shards that this process reads. They live for ever. */
#ifndef PASTA_CORE_STRINGS_H
#define PASTA_CORE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

/* The id of these bytes, which pasta_str and pasta_bytes take. 0 when out of memory. Any thread. */
uint32_t pasta_strings_add(const void *bytes, size_t size);

#endif
