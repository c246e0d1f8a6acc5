/*
 * requests.h - the accesses that the threads of a warp make together, put together again.
 *
 * On the host the threads of a warp run one after the other. What each does the n-th time that it
 * is at a site belongs together: a request. Requests are open until the threads of the warp are
 * through, which is when another warp begins, or one of its threads comes again.
 */
#ifndef PASTA_REDUCE_REQUESTS_H
#define PASTA_REDUCE_REQUESTS_H

#include <stdbool.h>

#include "reduce/rows.h"

/* What the active threads of a warp access together. */
struct pasta_request {
	uint64_t site;
	uint32_t active; /* a bit a thread */
	uint32_t lanes;	 /* threads that the warp has */
	uint32_t kind;
	uint32_t sizes[PASTA_WARP];
	uint64_t addrs[PASTA_WARP];
};

/* How many different sectors its threads touch. */
uint64_t pasta_request_sectors(const struct pasta_request *r);

struct pasta_requests;

/* Room for count of them, 2^20 at most. The tables may be NULL, and are the caller's. NULL: no
 * memory, or too many. */
struct pasta_requests *pasta_requests_new(uint32_t count, struct pasta_rows *coalesce,
					  struct pasta_rows *diverge);
void pasta_requests_free(struct pasta_requests *q);

/* What follows is of this thread; the group has size of them. */
void pasta_requests_thread(struct pasta_requests *q, uint32_t group, uint32_t thread,
			   uint32_t size);
/* An access of the thread. What there is no room for is left out. */
void pasta_requests_add(struct pasta_requests *q, uint64_t site, uint32_t turn, uint64_t addr,
			uint32_t size, uint32_t kind);
/* An access that is not looked at: the tables' last rows count it. */
void pasta_requests_leave_out(struct pasta_requests *q, uint32_t size, uint32_t kind);
/* Count all open ones. */
void pasta_requests_close(struct pasta_requests *q);

#endif
