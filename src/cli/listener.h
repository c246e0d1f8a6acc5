/*
 * listener.h - hears from processes that can write nothing into the run what they lost.
 *
 * See collect/channel.h. A token goes to the program alone, by its environment: whoever does not
 * know it is not heard.
 */
#ifndef PASTA_CLI_LISTENER_H
#define PASTA_CLI_LISTENER_H

#include <stdint.h>

struct pasta_listener;

/* Signals must be blocked: it has a thread. NULL: there can be none, and the run does without. */
struct pasta_listener *pasta_listener_new(void);
/* What the program is told: PASTA_ENV_CHANNEL. */
const char *pasta_listener_name(const struct pasta_listener *l);

struct pasta_listener_heard {
	uint32_t processes; /* that cannot record */
	uint64_t lost;	    /* their events */
	char why[256];	    /* the first of them; empty: none has said */
};

/* What was heard so far. */
void pasta_listener_read(struct pasta_listener *l, struct pasta_listener_heard *heard);
void pasta_listener_free(struct pasta_listener *l);

#endif
