/*
 * accesses.h - counting memory accesses: the interface for handlers.
 *
 * A handler registers objects and sites, and opens a launch for each piece of work whose accesses
 * it counts. Each thread that runs the work counts in tables of its own. When the work is done, the
 * sums of all threads become ACCESS_SUM events of the launch. accesses_config.h states what to
 * count.
 *
 * Only pasta_accesses_thread and the inline functions are for hot paths. pasta_accesses_thread
 * acquires no lock while its thread stays with a launch.
 */
#ifndef PASTA_COLLECT_ACCESSES_H
#define PASTA_COLLECT_ACCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/accesses_config.h"
#include "reduce/cpu.h"

/* -- Objects and sites. Any thread. -- */

/* Registers memory: addr is its address on devices, alloc its address in the ALLOC event. Emits
 * OBJECT, unless the same range and alloc are registered already. Returns the object's number; 0:
 * no room, and accesses to the object count as outside of all objects. */
uint64_t pasta_accesses_object(uint64_t alloc, uint64_t addr, uint64_t bytes, uint32_t context,
			       uint32_t device);
/* Unregisters the object that begins at addr, if it is this one: the memory may have been reused
 * and registered again before its release is reported. 0: whichever object begins there. */
void pasta_accesses_unregister(uint64_t addr, uint64_t object);

/* Allocates numbers for count sites. Returns the first; 0: not enough are left. The handler emits
 * the SITE events. */
uint32_t pasta_accesses_sites(uint32_t count);

/* -- Launches -- */

/* Returns a hash of code: of these bytes, appended to the code whose hash is after (0: none). Equal
 * bytes have the same hash in every process. */
uint64_t pasta_accesses_code(uint64_t after, const void *bytes, size_t size);
/* Returns a hash of a kernel: a program may have several kernels of one name. code is 0 if it is
 * unknown. */
uint64_t pasta_accesses_kernel(const char *name, uint64_t code);
/* Returns a hash that all launches of a kernel over the same range share: their shape. */
uint64_t pasta_accesses_shape(uint64_t kernel, const uint32_t grid[3], const uint32_t block[3]);
/* Decides whether to count this launch: COUNTED, SAMPLED or FILTERED. Each call counts as one
 * launch of the shape. Any thread. */
enum pasta_access_launch_sub pasta_accesses_choose(const char *kernel, uint64_t shape);
/* A launch that was chosen could not be counted: a later one of its shape may be counted
 * instead. */
void pasta_accesses_unchoose(uint64_t shape);
/* For handlers that count only some blocks of a launch: returns N where one block in N is counted,
 * given the launch's number of blocks. 0: the number is unknown. */
uint32_t pasta_accesses_one_in(uint64_t blocks);
/* Emits ACCESS_LAUNCH. Call it on the launching thread, after LAUNCH and with its time: it precedes
 * what is counted. name and detail are interned; one_in: one block in one_in is counted. */
void pasta_accesses_registered(uint64_t corr, uint64_t time, uint64_t shape,
			       enum pasta_access_launch_sub what, uint32_t name, uint32_t detail,
			       uint32_t one_in);

struct pasta_accesses_launch;

/* Opens a launch, before it is submitted to a device. name is interned, tid is the launching
 * thread, data belongs to the handler. NULL: no memory, or 65,536 launches are open. */
struct pasta_accesses_launch *pasta_accesses_begin(uint64_t corr, uint32_t name, uint32_t tid,
						   void *data);
void *pasta_accesses_data(const struct pasta_accesses_launch *launch);
/* Fixes the set of objects, as it is now, for all threads that count for the launch. Call it before
 * any thread counts. The set lives until the launch ends. NULL: no memory; each thread then uses
 * the objects of the time when it begins to count. */
const struct pasta_version *pasta_accesses_pin(struct pasta_accesses_launch *launch);
/* Where device and host both count: the launch's rows are those that the device's handler adds, and
 * what threads count is compared with them when it ends. Call it before any thread counts. kernel
 * is copied. Without this call the rows are what threads count. */
void pasta_accesses_compare(struct pasta_accesses_launch *launch, const char *kernel);
/* Device and host did not count the same accesses of this launch: do not compare it. */
void pasta_accesses_partial(struct pasta_accesses_launch *launch);
/* Returns a number for the launch, never 0, that is valid until it ends; pasta_accesses_of returns
 * the launch again, or NULL if it has ended. For handlers whose kernels carry the number as an
 * argument. */
uint64_t pasta_accesses_token(const struct pasta_accesses_launch *launch);
struct pasta_accesses_launch *pasta_accesses_of(uint64_t token);

/*
 * Returns the calling thread's tables for this launch, valid until the thread asks for another
 * launch's. Use them with pasta_cpu_thread and pasta_cpu_access. Without pasta_accesses_pin, the
 * thread's first call fixes the set of objects: register all objects of the launch before it.
 * group_size is passed to pasta_cpu_launch. NULL: no memory; report what is not counted with
 * pasta_accesses_dropped.
 */
struct pasta_cpu *pasta_accesses_thread(struct pasta_accesses_launch *launch, uint32_t group_size);
/* Objects were registered since: accesses that follow on this thread find them. The thread belongs
 * to no group until the next pasta_cpu_thread. */
void pasta_accesses_renew(struct pasta_accesses_launch *launch);
/* Stores a raw access and sets its field launch. Call it beside pasta_cpu_access, on the same
 * thread, after pasta_accesses_thread. May wait for the disk, for a second at most. */
void pasta_accesses_put(struct pasta_accesses_launch *launch, const struct pasta_access *access);
/* Handles accesses of the launch as a device wrote them: counts them if counts is true, and stores
 * them if raw accesses are enabled. group_size as above. Any thread; may wait like
 * pasta_accesses_put. */
void pasta_accesses_batch(struct pasta_accesses_launch *launch, const struct pasta_access *accesses,
			  size_t count, uint32_t group_size, bool counts);
/* Adds a row that a device has counted. Any thread. */
void pasta_accesses_add(struct pasta_accesses_launch *launch, enum pasta_reducer reducer,
			const struct pasta_row *row);
/* Accesses that were neither counted nor stored. The number is emitted when the launch ends. */
void pasta_accesses_dropped(struct pasta_accesses_launch *launch, uint64_t count);
/* Raw accesses that were counted but not stored. The number is emitted when the launch ends, and
 * the launch is not compared. */
void pasta_accesses_raw_dropped(struct pasta_accesses_launch *launch, uint64_t count);

/* Ends a launch, after all its threads have: emits its rows and frees it. Any thread. ran: false if
 * the work never ran, and there are no rows. */
void pasta_accesses_end(struct pasta_accesses_launch *launch, bool ran);
/* Ends a launch that is not counted after all, and has no ACCESS_LAUNCH event. */
void pasta_accesses_cancel(struct pasta_accesses_launch *launch);
/* Ends a launch that ran. each calls fn for rows that were not added, in the order of their keys,
 * so that the handler needs no table for them. */
typedef int (*pasta_accesses_rest)(void *arg, pasta_sums_fn fn, void *to);
void pasta_accesses_end_with(struct pasta_accesses_launch *launch, pasta_accesses_rest each,
			     void *arg);
/* Returns how many rows all launches have emitted so far: a measure of progress. */
uint64_t pasta_accesses_sent(void);

#endif
