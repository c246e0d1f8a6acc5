/* shortnames.h - chooses the short names of kernels in a report: different kernels have different
 * names, and the same kernel has the same name in all tables. */
#ifndef PASTA_SINK_SHORTNAMES_H
#define PASTA_SINK_SHORTNAMES_H

/* Only one thread at a time may use an object. pasta_shortnames_free frees all names. */
struct pasta_shortnames;

/* Returns NULL when out of memory. */
struct pasta_shortnames *pasta_shortnames_new(void);
void pasta_shortnames_free(struct pasta_shortnames *s);
/* Returns the short name of a kernel. If another kernel has had this short name before, the name
 * ends with "~2", "~3" and so on. Returns NULL when out of memory. */
const char *pasta_shortnames_add(struct pasta_shortnames *s, const char *full);
/* Returns the short name of a kernel; the full name if the short name has not been added. */
const char *pasta_shortnames_find(const struct pasta_shortnames *s, const char *full);

#endif
