/* groupcell.h - what the members of a group's row have to show: texts and numbers. */
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

/* A copy, to be freed, and whether it stands for no value; NULL: out of memory. */
char *pasta_group_text(const struct pasta_group *group, const struct pasta_member *m,
		       const void *row, bool *empty);
/* false: there is no value. */
bool pasta_group_int(const struct pasta_group *group, const struct pasta_group_column *c,
		     const void *row, int64_t *value);
/* total is what a share is a share of. */
bool pasta_group_float(const struct pasta_group *group, const struct pasta_group_column *c,
		       const void *row, uint64_t total, double *value);

bool pasta_group_is_share(const struct pasta_group_column *c);
/* The number of a row whose share is shown. */
uint64_t pasta_group_part(const struct pasta_group_column *c, const void *row);

#endif
