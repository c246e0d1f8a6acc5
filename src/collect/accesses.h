/*
 * accesses.h - the functions by which handlers count memory accesses.
 *
 * A handler registers objects and sites, and opens a launch for each piece of work whose accesses
 * it counts. Each thread that runs the work counts in tables of its own. When the work is done, the
 * sums of all threads become ACCESS_SUM events of the launch. accesses_config.h declares which
 * accesses to count.
 *
 * pasta_accesses_thread acquires no lock as long as its thread counts for the same launch, so
 * handlers may call pasta_accesses_thread for each access.
 */
#ifndef PASTA_COLLECT_ACCESSES_H
#define PASTA_COLLECT_ACCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/accesses_config.h"
#include "reduce/cpu.h"

/* -- The functions for objects and sites. Any thread may call these functions. -- */

/* Registers a range of memory as an object. `addr` is the range's address on devices, and `alloc`
 * is the range's address in the ALLOC event. Emits an OBJECT event, unless the same range is
 * registered already with the same `alloc`. Returns the object's number, or 0 if the object cannot
 * be registered, for example because there are too many objects. Accesses to the range then count
 * as outside of all objects. */
uint64_t pasta_accesses_object(uint64_t alloc, uint64_t addr, uint64_t bytes, uint32_t context,
			       uint32_t device);
/* Unregisters the object that starts at addr, if its number is `object` or if `object` is 0. The
 * number is needed because the memory may be freed, reused and registered again before the handler
 * unregisters the old object. */
void pasta_accesses_unregister(uint64_t addr, uint64_t object);

/* Allocates `count` consecutive site numbers. Returns the first number, or 0 if too few numbers are
 * left. The handler emits the SITE events. */
uint32_t pasta_accesses_sites(uint32_t count);

/* -- Launches -- */

/* Returns a hash of code, which may consist of several parts. `after` is the hash of the earlier
 * parts, or 0 for the first part. Equal code has the same hash in every process. */
uint64_t pasta_accesses_code(uint64_t after, const void *bytes, size_t size);
/* Returns a hash of a kernel's name and code, because several kernels of a program may have the
 * same name. `code` is the result of pasta_accesses_code, or 0 if the code is unknown. */
uint64_t pasta_accesses_kernel(const char *name, uint64_t code);
/* Returns the shape of a launch, which is a hash of the launch's kernel, grid and thread-block
 * size. */
uint64_t pasta_accesses_shape(uint64_t kernel, const uint32_t grid[3], const uint32_t block[3]);
/* Decides whether to count this launch, and returns COUNTED, SAMPLED or FILTERED. Each call counts
 * as one launch of the shape. Any thread may call this function. */
enum pasta_access_launch_sub pasta_accesses_choose(const char *kernel, uint64_t shape);
/* Reverses the effect of pasta_accesses_choose for a launch that could not be counted. A later
 * launch of the same shape is counted instead. */
void pasta_accesses_unchoose(uint64_t shape);
/* Returns N if a handler that counts only some thread blocks of a launch is to count one thread
 * block in N. `blocks` is the launch's number of thread blocks, or 0 if that number is unknown. */
uint32_t pasta_accesses_one_in(uint64_t blocks);
/* Emits an ACCESS_LAUNCH event, which must precede the launch's rows. The launching thread calls
 * this function after it has emitted the LAUNCH event, and passes the time of that event. `name`
 * and `detail` are ids of interned strings. one_in is N if the handler counts one thread block in
 * N. */
void pasta_accesses_registered(uint64_t corr, uint64_t time, uint64_t shape,
			       enum pasta_access_launch_sub what, uint32_t name, uint32_t detail,
			       uint32_t one_in);

struct pasta_accesses_launch;

/* Opens a launch, before the launch is submitted to a device. `name` is the id of an interned
 * string, `tid` is the id of the launching thread, and `data` belongs to the handler. Returns NULL
 * if memory is exhausted, or if 65,536 launches are open. */
struct pasta_accesses_launch *pasta_accesses_begin(uint64_t corr, uint32_t name, uint32_t tid,
						   void *data);
void *pasta_accesses_data(const struct pasta_accesses_launch *launch);
/* Makes all threads that count for the launch use the current set of objects, until the launch
 * ends. Call this function before any thread counts. If memory is exhausted, the function returns
 * NULL, and each thread uses the objects that are registered when that thread starts to count. */
const struct pasta_version *pasta_accesses_pin(struct pasta_accesses_launch *launch);
/* Marks a launch that both the device and the host count. The launch then emits only the rows that
 * the device's handler adds; at the end of the launch, these rows are compared with the counts of
 * the threads. Without this call, the launch's rows include the counts of the threads. Call this
 * function before any thread counts. The function copies `kernel`. */
void pasta_accesses_compare(struct pasta_accesses_launch *launch, const char *kernel);
/* Excludes a launch from the comparison of device and host, because they did not count the same
 * accesses. */
void pasta_accesses_partial(struct pasta_accesses_launch *launch);
/* pasta_accesses_token returns a number for a launch, never 0, that is valid until the launch ends.
 * pasta_accesses_of returns the launch with that number, or NULL if the launch has ended. Handlers
 * can pass the number to kernels as an argument. */
uint64_t pasta_accesses_token(const struct pasta_accesses_launch *launch);
struct pasta_accesses_launch *pasta_accesses_of(uint64_t token);

/*
 * Returns the calling thread's tables for this launch. The tables are valid until the thread calls
 * this function for another launch. pasta_cpu_thread and pasta_cpu_access count accesses in the
 * tables. Without pasta_accesses_pin, the thread uses the objects that are registered at its first
 * call, so register all objects of the launch before that call. group_size is passed to
 * pasta_cpu_launch. If memory is exhausted, the function returns NULL, and the handler passes the
 * number of uncounted accesses to pasta_accesses_dropped.
 */
struct pasta_cpu *pasta_accesses_thread(struct pasta_accesses_launch *launch, uint32_t group_size);
/* Updates the calling thread's set of objects, so that its later accesses find objects that were
 * registered since the launch began. From this call until the next call of pasta_cpu_thread, the
 * thread belongs to no thread block. */
void pasta_accesses_renew(struct pasta_accesses_launch *launch);
/* Stores a raw access, and sets its field `launch`. A thread that counts accesses calls this
 * function after pasta_accesses_thread, in addition to pasta_cpu_access. The function may wait for
 * the disk, for a second at most. */
void pasta_accesses_put(struct pasta_accesses_launch *launch, const struct pasta_access *access);
/* Processes a buffer of the launch's accesses, which a device has written. If `counts` is true, the
 * function counts the accesses. If raw accesses are enabled, the function stores the accesses.
 * group_size has the same meaning as for pasta_accesses_thread. Any thread may call this function.
 * The function may wait for the disk, for a second at most. */
void pasta_accesses_batch(struct pasta_accesses_launch *launch, const struct pasta_access *accesses,
			  size_t count, uint32_t group_size, bool counts);
/* Adds a row that a device has counted. Any thread may call this function. */
void pasta_accesses_add(struct pasta_accesses_launch *launch, enum pasta_reducer reducer,
			const struct pasta_row *row);
/* Adds `count` to the number of the launch's accesses that were neither counted nor stored. The
 * number is emitted when the launch ends. */
void pasta_accesses_dropped(struct pasta_accesses_launch *launch, uint64_t count);
/* Adds `count` to the number of the launch's raw accesses that were counted but not stored. The
 * number is emitted when the launch ends. Device and host are not compared for such a launch. */
void pasta_accesses_raw_dropped(struct pasta_accesses_launch *launch, uint64_t count);

/* Ends a launch: emits the launch's rows and frees the launch. Call this function, on any thread,
 * when no thread counts for the launch any more. `ran` is false if the work never ran; in that case
 * no rows are emitted. */
void pasta_accesses_end(struct pasta_accesses_launch *launch, bool ran);
/* Ends a launch that was opened but is not counted, and that has no ACCESS_LAUNCH event. */
void pasta_accesses_cancel(struct pasta_accesses_launch *launch);
/* Ends a launch that ran. The handler provides the callback `each`, which passes to the function fn
 * the rows that the handler has not added to the launch yet, in the order of their keys. The
 * handler then needs no table for these rows. */
typedef int (*pasta_accesses_rest)(void *arg, pasta_sums_fn fn, void *to);
void pasta_accesses_end_with(struct pasta_accesses_launch *launch, pasta_accesses_rest each,
			     void *arg);
/* Returns the number of rows that all launches have emitted so far. Callers use the number to
 * detect progress. */
uint64_t pasta_accesses_sent(void);

#endif
