/*
 * correlate.h - events joined: work to its launch, and everything to its regions, operators and
 * iteration.
 *
 * Takes events in order of time, and gives them on in the same order, each with where it belongs,
 * and regions and operators in pairs (pasta.h says how).
 *
 * A launch is joined to the work that has its process and correlation: the latest launch that came
 * before the work, or else the first that comes at most PASTA_CORRELATE_WAIT after it; work without
 * a launch waits for it so long, and so does all that comes after it. Correlation 0 joins nothing.
 * A launch has one piece of work; of a graph (the launch has one, or the work a node) any number.
 * What comes again is marked so, as long as the launch is not forgotten: see launches.h. Samples
 * and accesses are said of work, and are none. A node was captured where its event is or, if it is
 * a clone, where its original was, if that is known. At most PASTA_CORRELATE_QUEUE events wait,
 * then the first goes on without its launch.
 *
 * A launch without any work is unmatched: at once, if the process does not record such work; else
 * when it is forgotten, when another launch on another thread has its numbers, or at the end. Work
 * of a launch that was forgotten so is marked, PASTA_WHERE_EXPIRED.
 *
 * An event of a region that has a depth says how many regions of its thread are open: ends that are
 * missing are supplied, and so are begins, which are called "(lost)". An end that is deeper than
 * what is open is a stray that was lost.
 *
 * Operators come from a call path and a module: their own, or those of the operator around them; in
 * the backward pass those of the forward operator, see forward.h. That is what says that it is of
 * the backward pass, or is in such a one; or, where nothing is said, one with a sequence number
 * that has a forward operator, on a thread that has had no call path and no module so far.
 *
 * Below those limits, what one process's events become does not depend on the other processes. One
 * thread at a time.
 */
#ifndef PASTA_PROCESS_CORRELATE_H
#define PASTA_PROCESS_CORRELATE_H

#include <stdbool.h>

#include <pasta/pasta.h>

#define PASTA_CORRELATE_WAIT UINT64_C(10000000) /* ns */
#define PASTA_CORRELATE_QUEUE (1 << 18)		/* events */

struct pasta_correlate;

/* The kinds that it must be given to do its work; ops: operators are part of places. */
uint64_t pasta_correlate_kinds(bool ops);

/* NULL when out of memory. */
struct pasta_correlate *pasta_correlate_new(bool ops);
void pasta_correlate_free(struct pasta_correlate *c);
/* The kinds that a process records (a mask; 0: not known). Work of one that records no launches
 * need not wait for any; launches of work that has no records are unmatched at once. */
void pasta_correlate_recorded(struct pasta_correlate *c, uint32_t proc, uint64_t kinds);
/* Deliver PASTA_KIND_UNMATCHED, too. Before the first event. 0 or -ENOMEM. */
int pasta_correlate_unmatched(struct pasta_correlate *c);

/* An event of the stream. True: it goes on as it is, at once, and *where is where it belongs, until
 * the next call. Else see next; it must stay until that has said NULL. */
bool pasta_correlate_push(struct pasta_correlate *c, const struct pasta_event *ev,
			  const struct pasta_where **where);
/* There are no more: what still waits comes, and ends that are missing: by process, by thread; then
 * launches without work, the oldest first. */
void pasta_correlate_end(struct pasta_correlate *c);
/* What tools get, one after the other; NULL: take the next. Both live until the next call. Nothing,
 * where take said true. */
const struct pasta_event *pasta_correlate_next(struct pasta_correlate *c,
					       const struct pasta_where **where);
/* A number that the begin and the end of a region or an operator have in common: of what take or
 * next gave last. 0: it is neither. */
uint64_t pasta_correlate_pair(const struct pasta_correlate *c);
/* Whether memory ran out: what has been given since is not all there was. */
bool pasta_correlate_failed(const struct pasta_correlate *c);

#endif
