/* reduce_oracle.h - the same accesses, counted on the host, and what differs. */
#ifndef PASTA_TESTS_REDUCE_ORACLE_H
#define PASTA_TESTS_REDUCE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

#include "reduce/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct oracle;

/* With so many objects, some side by side, some far apart. It ends the program where it cannot. */
struct oracle *oracle_new(uint32_t objects);
void oracle_free(struct oracle *o);
/* Copies the parts of all objects. */
void oracle_parts(const struct oracle *o, struct pasta_gpu_part *parts);

/* How many rows, or totals if they are all that is asked for, are not what the records give. The
 * first few are printed. The launch is as a device left it. */
size_t oracle_compare(struct oracle *o, const struct pasta_gpu_launch *launch, uint32_t reducers,
		      const struct pasta_access *records, size_t count, uint32_t group_size,
		      bool totals);

#ifdef __cplusplus
}
#endif
#endif
