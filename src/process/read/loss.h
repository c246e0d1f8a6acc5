/* loss.h - how a run adds up, for every output. */
#ifndef PASTA_PROCESS_LOSS_H
#define PASTA_PROCESS_LOSS_H

#include "process/io/json.h"
#include "process/read/stream.h"

/* The name of a reason: "full"; NULL for what is none. */
const char *pasta_loss_reason(unsigned int reason);
/* Events that nobody could even put in a shard. */
void pasta_loss_add_closed(struct pasta_loss_summary *a, uint64_t events);
/* "events: E expected, C captured, D dropped (full 3, damaged 2)"; returns text. */
const char *pasta_loss_line(const struct pasta_loss_summary *a, char *text, size_t size);
/* The whole account, as an object. */
void pasta_loss_json(const struct pasta_loss_summary *a, struct pasta_json *j);

#endif
