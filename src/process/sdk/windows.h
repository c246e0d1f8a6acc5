/* windows.h - windows as the framework sees them: it checks, makes, merges and frees them. */
#ifndef PASTA_PROCESS_WINDOWS_H
#define PASTA_PROCESS_WINDOWS_H

#include <pasta/pasta.h>

#define PASTA_WINDOWS_PANES ((size_t)1 << 20)

/* 0, or -EINVAL, and in err what is wrong with the declaration. */
int pasta_windows_check(const struct pasta_tool *tool, const struct pasta_window_def *def,
			struct pasta_error *err);
/* def must outlive it; opts may be NULL. NULL when out of memory, or, with a description in err,
 * if the option of their length cannot be that. */
struct pasta_windows *pasta_windows_new(const struct pasta_window_def *def,
					const struct pasta_opts *opts, struct pasta_error *err);
void pasta_windows_free(struct pasta_windows *windows);
/* All panes of from, which has the same declaration and length. What finds no pane is dropped.
 * -ENOMEM, or an error that one of them has. */
int pasta_windows_merge(struct pasta_windows *into, const struct pasta_windows *from);

#endif
