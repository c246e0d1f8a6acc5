/* groupcell.h - computes the cells of a group's table, which are the text or the number of each
 * member. */
#ifndef PASTA_PROCESS_GROUPCELL_H
#define PASTA_PROCESS_GROUPCELL_H

#include "process/sdk/group.h"

static inline const void *pasta_group_member(const struct pasta_member *m, const void *row)
{
	return (const char *)row + m->offset;
}

static inline uint32_t pasta_group_u32(const struct pasta_member *m, const void *row)
{
	return *(const uint32_t *)pasta_group_member(m, row);
}

/* Returns a member's text, which the caller frees. Sets *empty to whether the cell is empty.
 * Returns NULL when out of memory. */
char *pasta_group_text(const struct pasta_group *group, const struct pasta_member *m,
		       const void *row, bool *empty);
/* Reads the cell of an integer column. Returns false if the cell is empty. */
bool pasta_group_int(const struct pasta_group *group, const struct pasta_group_column *c,
		     const void *row, int64_t *value);
/* Reads the cell of a floating-point column. `total` is the denominator if the column is a share.
 * Returns false if the cell is empty. */
bool pasta_group_float(const struct pasta_group *group, const struct pasta_group_column *c,
		       const void *row, uint64_t total, double *value);

bool pasta_group_is_share(const struct pasta_group_column *c);
/* Returns the numerator of a column that is a share. */
uint64_t pasta_group_part(const struct pasta_group_column *c, const void *row);

#endif
