/* loss.h - writes a run's loss counts as text and JSON. */
#ifndef PASTA_PROCESS_LOSS_H
#define PASTA_PROCESS_LOSS_H

#include "process/io/json.h"
#include "process/read/stream.h"

/* The name of a reason, such as "full"; NULL for an unknown one. */
const char *pasta_loss_reason(unsigned int reason);
/* Adds events that were dropped because no shard could be written. */
void pasta_loss_add_closed(struct pasta_loss_summary *a, uint64_t events);
/* Writes "events: E expected, C captured, D dropped (full 3, damaged 2)". Returns text. */
const char *pasta_loss_line(const struct pasta_loss_summary *a, char *text, size_t size);
/* Writes all counts as an object. */
void pasta_loss_json(const struct pasta_loss_summary *a, struct pasta_json *j);

#endif
