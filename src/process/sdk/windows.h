/* windows.h - the framework's functions for windows. They check, create, merge and free windows. */
#ifndef PASTA_PROCESS_WINDOWS_H
#define PASTA_PROCESS_WINDOWS_H

#include <pasta/pasta.h>

#define PASTA_WINDOWS_PANES ((size_t)1 << 20)

/* Checks the declaration of windows. Returns 0, or -EINVAL with the reason in err. */
int pasta_windows_check(const struct pasta_tool *tool, const struct pasta_window_def *def,
			struct pasta_error *err);
/* Creates windows. `def` must outlive them; opts may be NULL. Returns NULL when out of memory. If
 * an option sets an invalid length, also returns NULL, with a description in err. */
struct pasta_windows *pasta_windows_new(const struct pasta_window_def *def,
					const struct pasta_opts *opts, struct pasta_error *err);
void pasta_windows_free(struct pasta_windows *windows);
/* Merges all panes of `from`, which must have the same declaration and length. If there are then
 * too many panes, the values of the panes beyond the limit count as dropped. Returns 0, -ENOMEM, or
 * an error of one of the two. */
int pasta_windows_merge(struct pasta_windows *into, const struct pasta_windows *from);

#endif
