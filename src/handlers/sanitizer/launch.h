/* launch.h - processes the Compute Sanitizer's callbacks for launches of kernels and graphs. */
#ifndef PASTA_HANDLERS_SANITIZER_LAUNCH_H
#define PASTA_HANDLERS_SANITIZER_LAUNCH_H

#include "handlers/sanitizer/sanitizer.h"

void san_launch_begin(const struct san_launch_data *d);
void san_launch_end(void);
/* Called when a launch function returns to the program, even if it failed. */
void san_launch_over(void);
void san_node_begin(const struct san_node_data *d);
void san_graph_begin(const struct san_graph_data *d);
void san_graph_end(const struct san_graph_data *d);

#endif
