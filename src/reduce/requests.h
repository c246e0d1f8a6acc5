/*
 * requests.h - groups accesses of single threads into the requests of a warp.
 *
 * On the host, the threads of a warp run one after the other. Accesses of different threads belong
 * to one request if each thread visits the same site for the n-th time. Requests stay open until
 * all threads of the warp have run, which means until another warp starts, or until a thread of the
 * same warp starts again.
 */
#ifndef PASTA_REDUCE_REQUESTS_H
#define PASTA_REDUCE_REQUESTS_H

#include <stdbool.h>

#include "reduce/rows.h"

/* A request consists of the accesses of a warp's active threads by one instruction. */
struct pasta_request {
	uint64_t site;
	uint32_t active; /* mask of the active threads, with one bit for each thread */
	uint32_t lanes;	 /* number of threads of the warp */
	uint32_t kind;
	uint32_t sizes[PASTA_WARP];
	uint64_t addrs[PASTA_WARP];
};

/* Returns the number of distinct sectors that the request touches. */
uint64_t pasta_request_sectors(const struct pasta_request *r);

struct pasta_requests;

/* Returns a table for `count` open requests, where `count` is at most 2^20. Returns NULL if memory
 * is exhausted or `count` is invalid. The caller owns the tables `coalesce` and `diverge`, and may
 * pass NULL for each of them. */
struct pasta_requests *pasta_requests_new(uint32_t count, struct pasta_rows *coalesce,
					  struct pasta_rows *diverge);
void pasta_requests_free(struct pasta_requests *q);

/* Starts a thread of a thread block that has `size` threads. */
void pasta_requests_thread(struct pasta_requests *q, uint32_t group, uint32_t thread,
			   uint32_t size);
/* Adds an access of the current thread to the request that the access belongs to. If there is no
 * room for the request, the access is counted without a request. */
void pasta_requests_add(struct pasta_requests *q, uint64_t site, uint32_t turn, uint64_t addr,
			uint32_t size, uint32_t kind);
/* Counts an access that cannot be grouped into a request. The access is counted in the row "other"
 * of each table. */
void pasta_requests_exclude(struct pasta_requests *q, uint32_t size, uint32_t kind);
/* Counts and closes all open requests. */
void pasta_requests_close(struct pasta_requests *q);

#endif
