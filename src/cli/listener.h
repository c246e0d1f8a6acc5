/*
 * listener.h - receives the counts of dropped events from processes that cannot write into the run.
 *
 * The processes send datagrams (collect/channel.h). The program gets a random token in its
 * environment; messages without the token are ignored. The functions may be called from any one
 * thread.
 */
#ifndef PASTA_CLI_LISTENER_H
#define PASTA_CLI_LISTENER_H

#include <stdint.h>

struct pasta_listener;

/* Start a thread that listens. The caller has blocked all signals. Returns NULL on failure, which
 * all functions accept: the run works without a listener. */
struct pasta_listener *pasta_listener_new(void);
/* Returns the value of PASTA_ENV_CHANNEL for the program; it lives as long as l. NULL without l. */
const char *pasta_listener_name(const struct pasta_listener *l);

struct pasta_listener_totals {
	uint32_t processes; /* processes that cannot record */
	uint64_t dropped;   /* events that these processes dropped */
	char why[256];	    /* the reason of the first process; "": none was sent */
};

/* Read the totals of all messages so far. */
void pasta_listener_read(struct pasta_listener *l, struct pasta_listener_totals *totals);
void pasta_listener_free(struct pasta_listener *l);

#endif
