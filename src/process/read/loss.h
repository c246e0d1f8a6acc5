/* loss.h - writes a run's loss counts as text and JSON. */
#ifndef PASTA_PROCESS_LOSS_H
#define PASTA_PROCESS_LOSS_H

#include "process/io/json.h"
#include "process/read/stream.h"

/* Returns the name of a reason, such as "full", or NULL for an unknown reason. */
const char *pasta_loss_reason(unsigned int reason);
/* Adds events that were dropped because they could not be written to any shard. */
void pasta_loss_add_closed(struct pasta_loss_summary *a, uint64_t events);
/* Writes a text such as "events: 10 expected, 5 captured, 5 dropped (full 3, damaged 2)". Returns
 * `text`. */
const char *pasta_loss_line(const struct pasta_loss_summary *a, char *text, size_t size);
/* Writes all counts as a JSON object. */
void pasta_loss_json(const struct pasta_loss_summary *a, struct pasta_json *j);

#endif
