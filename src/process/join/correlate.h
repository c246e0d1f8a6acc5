/*
 * correlate.h - matches work with its launch, and attributes every event to a scope and an
 * iteration.
 *
 * The correlator receives events in order of time and delivers them in the same order, each with
 * its struct pasta_where, and with paired begins and ends of regions and operators (see pasta.h).
 *
 * Matching. Work matches a launch with the same process and correlation id. This is the latest such
 * launch before the work or, if there is none, the first such launch up to PASTA_CORRELATE_WAIT
 * after the work. The work, and all events after it, wait for this launch in a queue. If
 * PASTA_CORRELATE_QUEUE events wait, the first one is delivered without a launch. Correlation id 0
 * matches nothing. Most launches have one piece of work. A graph launch, which is a launch that
 * names a graph or whose work names a node, has any number. If any other launch has further pieces
 * of work, these pieces are marked PASTA_WHERE_REPEATED while the launch is in the table
 * (launchtable.h). Samples and accesses match like work, but don't count as the launch's work. The
 * capture scope of a graph node's work is the scope of the node's GRAPH event. If the node was
 * cloned, the capture scope is that of the original node.
 *
 * Unmatched launches. A launch without work is unmatched. If the process does not record such work,
 * the launch is unmatched at once. If the process records such work, the launch becomes unmatched
 * when it expires, when a launch on another thread has the same correlation id, or at the end of
 * the input. Later work of an expired launch is marked PASTA_WHERE_EXPIRED.
 *
 * Regions. A region event with a depth states how many regions are open on its thread. The
 * correlator supplies starts and ends that were dropped. A region whose start was dropped is called
 * "(lost)". An end that is deeper than the open regions is reported as an unmatched end.
 *
 * Operators. An operator has a call path and a PyTorch module, which are its own or those of the
 * operator around it. In the backward pass, an operator has the call path and the module of its
 * forward operator (fwdops.h). An operator belongs to the backward pass if its record, or the
 * record of an outer operator, is marked as such. If the source does not mark the backward pass, an
 * operator belongs to it on two conditions: the operator has the sequence number of a forward
 * operator, and no operator of its thread has had a call path or a module.
 *
 * Within these limits, the events of one process do not affect the events of another. Only one
 * thread at a time may call these functions.
 */
#ifndef PASTA_PROCESS_CORRELATE_H
#define PASTA_PROCESS_CORRELATE_H

#include <stdbool.h>

#include <pasta/pasta.h>

#define PASTA_CORRELATE_WAIT UINT64_C(10000000) /* ns */
#define PASTA_CORRELATE_QUEUE (1 << 18)		/* events */

struct pasta_correlate;

/* Returns the kinds of events that the correlator needs. ops: whether scopes include operators. */
uint64_t pasta_correlate_kinds(bool ops);

/* Creates a correlator. Returns NULL when out of memory. */
struct pasta_correlate *pasta_correlate_new(bool ops);
void pasta_correlate_free(struct pasta_correlate *c);
/* Sets the kinds that a process records, as a mask; 0 if they are unknown. If a process records no
 * launches, its work does not wait for launches. If a process does not record the work of a launch,
 * the launch is unmatched at once. */
void pasta_correlate_recorded(struct pasta_correlate *c, uint32_t proc, uint64_t kinds);
/* Makes the correlator deliver PASTA_KIND_UNMATCHED events as well. Call this function before the
 * first event. Returns 0 or -ENOMEM. */
int pasta_correlate_unmatched(struct pasta_correlate *c);

/* Adds an event. Returns true if the event itself is to be delivered now; *where is valid until the
 * next call. If this function returns false, call pasta_correlate_next until it returns NULL; ev
 * must stay valid until then. */
bool pasta_correlate_push(struct pasta_correlate *c, const struct pasta_event *ev,
			  const struct pasta_where **where);
/* Ends the input. After that, pasta_correlate_next delivers the waiting events, then missing ends
 * by process and thread, then unmatched launches, oldest first. */
void pasta_correlate_end(struct pasta_correlate *c);
/* Returns the next event to deliver, or NULL if the correlator needs a further event. The event and
 * *where are valid until the next call. */
const struct pasta_event *pasta_correlate_next(struct pasta_correlate *c,
					       const struct pasta_where **where);
/* Returns the pair number of the event that pasta_correlate_push or pasta_correlate_next returned
 * last. The start event and the end event of a region or an operator have the same pair number. The
 * pair number of all other events is 0. */
uint64_t pasta_correlate_pair(const struct pasta_correlate *c);
/* Returns whether memory ran out. If it did, later events are incomplete. */
bool pasta_correlate_failed(const struct pasta_correlate *c);

#endif
