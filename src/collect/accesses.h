/*
 * accesses.h - the reducers' driver, as handlers see it: accesses are told, folded and emitted.
 *
 * A handler tells of objects and sites, and opens a launch for each piece of work whose accesses it
 * will tell of. Threads that run the work count, each in tables of its own; when the work is done,
 * the sums of all threads become ACCESS_SUM events of the launch. What is wanted, and of which
 * kernels, comes from the run.
 *
 * Nothing here is for hot paths but pasta_accesses_thread, which takes no lock while its thread
 * stays with a launch, and what is inline.
 */
#ifndef PASTA_COLLECT_ACCESSES_H
#define PASTA_COLLECT_ACCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "reduce/cpu.h"

/* Whether the run wants accesses at all; whether recording is on is another question. */
bool pasta_accesses_enabled(void);
/* Whether something is wanted that can be counted on the host; some tables only GPUs have. */
bool pasta_accesses_host_enabled(void);
/* Whether that may change what a kernel computes, where its own compiler may as well. */
bool pasta_accesses_inexact(void);

/* PASTA_REDUCER_MASK of the tables that are wanted, and log2 of a page's bytes. */
uint32_t pasta_accesses_reducers(void);
uint32_t pasta_accesses_page_shift(void);
/* Only one block in so many; 1: all. */
uint32_t pasta_accesses_blocks(void);
/* Where devices can count for themselves: whether the host is to do it, from raw accesses. */
bool pasta_accesses_on_host(void);
/* Whether both are to do it, of the same launches, and be compared. */
bool pasta_accesses_both(void);
/* Whether raw accesses are rather lost than waited for. */
bool pasta_accesses_lossy(void);

/* -- What there is. Any thread. -- */

/* Memory that is at addr as devices see it, and at alloc as its ALLOC event has it: emits OBJECT.
 * The same range and alloc again is the same object, and nothing is emitted. Returns its number; 0:
 * there is no room, and accesses to it are outside of all objects. */
uint64_t pasta_accesses_object(uint64_t alloc, uint64_t addr, uint64_t bytes, uint32_t context,
			       uint32_t device);
/* The object that begins at addr is gone, if it is this one: another may have come in its place
 * before its end is told. 0: whichever is there. */
void pasta_accesses_unregister(uint64_t addr, uint64_t object);

/* So many new numbers for sites: the first of them; 0: there are not as many left. Their SITE
 * events are the handler's. */
uint32_t pasta_accesses_sites(uint32_t count);

/* -- Launches -- */

/* A number of code: of these bytes after that of other code, 0 if they are the first. Equal bytes
 * have the same number in every process. */
uint64_t pasta_accesses_code(uint64_t after, const void *bytes, size_t size);
/* A number of a kernel: programs may have kernels of one name and of different code. code is 0
 * where that is not known. */
uint64_t pasta_accesses_kernel(const char *name, uint64_t code);
/* A number that launches of a kernel over the same range have in common. */
uint64_t pasta_accesses_shape(uint64_t kernel, const uint32_t grid[3], const uint32_t block[3]);
/* Whether this launch is one to be counted, of those of its kernel and shape; COUNTED, SAMPLED or
 * FILTERED. Each call is a launch. Any thread. */
enum pasta_access_launch_sub pasta_accesses_choose(const char *kernel, uint64_t shape);
/* It was to be counted and could not be, for now: a later one of its shape may be in its place. */
void pasta_accesses_unchoose(uint64_t shape);
/* Where the handler counts some of a launch's blocks, as many as the run says: one in how many of
 * so many blocks that is. 0: it is not known how many there are. */
uint32_t pasta_accesses_one_in(uint64_t blocks);
/* Emit ACCESS_LAUNCH, on the launching thread, after LAUNCH and with its time: it comes before what
 * is counted. name and detail are interned; one_in: of how many blocks one is counted. */
void pasta_accesses_registered(uint64_t corr, uint64_t time, uint64_t shape,
			 enum pasta_access_launch_sub what, uint32_t name, uint32_t detail,
			 uint32_t one_in);

struct pasta_accesses_launch;

/* Before it is given to a device. name is interned, tid the launching thread's, data the handler's
 * own. NULL: no memory, or 65,536 are under way. */
struct pasta_accesses_launch *pasta_accesses_begin(uint64_t corr, uint32_t name, uint32_t tid,
						   void *data);
void *pasta_accesses_data(const struct pasta_accesses_launch *launch);
/* The objects are those of now, for all threads that count for it: before any does. They are the
 * launch's, until it ends. NULL: no memory; and then they are as below. */
const struct pasta_version *pasta_accesses_pin(struct pasta_accesses_launch *launch);
/* Where both count: its rows are those that the device's handler adds, and what threads count is
 * compared with them when it ends; before any does. kernel is copied. Where it is not called, rows
 * are what threads count. */
void pasta_accesses_compare(struct pasta_accesses_launch *launch, const char *kernel);
/* What the device, or the host, counts of it is not all, or not the same: it is not compared. */
void pasta_accesses_partial(struct pasta_accesses_launch *launch);
/* A number of it, never 0, that stays its own until it ends, and the way back: NULL if it has
 * ended. For handlers whose kernels carry it as an argument. */
uint64_t pasta_accesses_token(const struct pasta_accesses_launch *launch);
struct pasta_accesses_launch *pasta_accesses_of(uint64_t token);

/*
 * On a thread that runs the work: its tables, for this launch, until it asks for another's; the
 * objects are those of the moment when a thread first asks, so all that the launch uses are told
 * of before. group_size is what pasta_cpu_launch takes. NULL: no memory; what is not counted then
 * is told by count_lost. Use: pasta_cpu_thread and pasta_cpu_access.
 */
struct pasta_cpu *pasta_accesses_thread(struct pasta_accesses_launch *launch, uint32_t group_size);
/* Objects were told of since: what follows, on this thread, finds them. It is nobody's in a group
 * until the next pasta_cpu_thread. */
void pasta_accesses_renew(struct pasta_accesses_launch *launch);
/* An access by itself, where raw ones are wanted; beside pasta_cpu_access, on the same thread,
 * after pasta_accesses_thread. Its field launch is set here. May wait for the disk, a second at
 * most. */
bool pasta_accesses_raw(void);
void pasta_accesses_put(struct pasta_accesses_launch *launch, const struct pasta_access *access);
/* Records of the launch, as a device wrote them: they are counted if counts says so, and kept
 * where raw ones are wanted. group_size as above. Any thread; may wait as pasta_accesses_put. */
void pasta_accesses_batch(struct pasta_accesses_launch *launch, const struct pasta_access *accesses,
			  size_t count, uint32_t group_size, bool counts);
/* A row that a device has counted. Any thread. */
void pasta_accesses_add(struct pasta_accesses_launch *launch, enum pasta_reducer reducer,
			const struct pasta_row *row);
/* Accesses that could not be counted, nor kept: told when the launch ends. */
void pasta_accesses_dropped(struct pasta_accesses_launch *launch, uint64_t count);
/* Raw ones that could not be kept, but that its rows have: told likewise. It is not compared. */
void pasta_accesses_raw_dropped(struct pasta_accesses_launch *launch, uint64_t count);

/* It is done, and all its threads with it: emits the rows. Any thread. ran: false: it never ran,
 * and there are none. The launch is gone. */
void pasta_accesses_end(struct pasta_accesses_launch *launch, bool ran);
/* It is not counted after all, nor was it told to be. */
void pasta_accesses_cancel(struct pasta_accesses_launch *launch);
/* It ran, and each calls fn for rows that were not added, in the order of their keys: so that they
 * need no table. */
typedef int (*pasta_accesses_rest)(void *arg, pasta_sums_fn fn, void *to);
void pasta_accesses_end_with(struct pasta_accesses_launch *launch, pasta_accesses_rest each,
			     void *arg);
/* How many rows were emitted by now, of all launches: whether those that end get on. */
uint64_t pasta_accesses_sent(void);

#endif
