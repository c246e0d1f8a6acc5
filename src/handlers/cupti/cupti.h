/*
 * cupti.h - internal header of the CUPTI handler.
 *
 * When the CUDA driver initializes, the driver loads the agent and calls a function of the agent
 * (handlers/cuda/inject.h). CUPTI's callbacks report launches on the launching thread. Records of
 * device activity arrive later, in buffers, on a thread that CUPTI creates. CUPTI calls the agent
 * for timestamps, so all times are CLOCK_MONOTONIC_RAW.
 */
#ifndef PASTA_HANDLERS_CUPTI_H
#define PASTA_HANDLERS_CUPTI_H

#include <stdatomic.h>
#include <stdbool.h>

#include "collect/agent.h"
#include "handlers/cupti/cuptiabi.h"

/* The CUPTI functions that the handler calls, without the prefix "cupti". Functions in the second
 * list may be absent. */
#define CUPTI_FUNCTIONS(F)                                                                         \
	F(GetVersion, (uint32_t *))                                                                \
	F(GetResultString, (int, const char **))                                                   \
	F(GetCallbackName, (int, uint32_t, const char **))                                         \
	F(Subscribe, (cupti_subscriber *, cupti_callback, void *))                                 \
	F(Unsubscribe, (cupti_subscriber))                                                         \
	F(EnableCallback, (uint32_t, cupti_subscriber, int, uint32_t))                             \
	F(ActivityEnable, (int))                                                                   \
	F(ActivityDisable, (int))                                                                  \
	F(ActivityRegisterCallbacks, (cupti_request, cupti_complete))                              \
	F(ActivityGetNextRecord, (uint8_t *, size_t, struct cupti_record **))                      \
	F(ActivityGetNumDroppedRecords, (void *, uint32_t, size_t *))                              \
	F(ActivityFlushAll, (uint32_t))                                                            \
	F(ActivityRegisterTimestampCallback, (uint64_t(*)(void)))                                  \
	F(SetThreadIdType, (int))
#define CUPTI_FUNCTIONS_OPTIONAL(F)                                                                \
	F(Finalize, (void))                                                                        \
	F(GetGraphExecId, (void *, uint32_t *))                                                    \
	F(GetGraphNodeId, (void *, uint64_t *))                                                    \
	F(GetContextId, (void *, uint32_t *))                                                      \
	F(GetDeviceId, (void *, uint32_t *))                                                       \
	F(GetCubinCrc, (struct cupti_crc *))                                                       \
	F(ActivityConfigureUnifiedMemoryCounter, (struct cupti_uvm_config *, uint32_t))

struct cupti {
#define F(name, args) int(*name) args;
	CUPTI_FUNCTIONS(F)
	CUPTI_FUNCTIONS_OPTIONAL(F)
#undef F
	uint32_t version;
	char path[512]; /* the path of CUPTI's library */
};
extern struct cupti cupti;

/* The state that every launch reads, in one cache line. */
struct cupti_hot {
	atomic_bool recording;	   /* whether recording was on at the last launch */
	atomic_bool resting;	   /* CUPTI's activity kinds for device work are disabled */
	atomic_bool has_captured;  /* true once a stream capture has begun */
	bool launches_enabled;	   /* launch records are enabled */
	bool modules_enabled;	   /* module records are enabled */
	_Atomic uint32_t captures; /* number of stream captures under way in the process */
};
extern struct cupti_hot cupti_hot;

/* -- inject.c -- */

/* Find CUPTI and watch for other libraries that use CUPTI. Prints a message and returns false if
 * CUPTI cannot be used. Call this function before another library in the process can start to use
 * CUPTI. */
bool cupti_prepare(void);
/* Start to record, unless another library has started to use CUPTI since cupti_prepare. */
void cupti_start(void);
/* Print a message that states what does not work, CUPTI's error, and what to do. */
void cupti_trouble(const char *what, int result);

/* -- bind.c -- */

/* Find CUPTI and look up its functions. Returns 0, or a negative errno; `why` then contains the
 * reason and the remedy. */
int cupti_bind(char *why, size_t size);
/* Returns CUPTI's description of an error, as a static string. */
const char *cupti_text(int result);

/* -- callbacks.c: launches -- */

/* Returns CUPTI_OK, or CUPTI's error. */
int cupti_callbacks_start(void);
void cupti_callbacks_stop(void);
/* Returns whether recording was on when the call with this correlation id was made. For calls other
 * than launches, returns the state at the preceding launch. */
bool cupti_recorded(uint32_t correlation);
/* Returns whether recording was on at this time. Used for records that belong to no launch. */
bool cupti_recorded_at(uint64_t time);

/* -- graph.c: device graphs -- */

/* Update the number of stream captures under way, after a call that begins or ends a capture. */
void cupti_graph_capture(const struct cupti_call *call, bool begins);
/* Called when a call that clones graph nodes begins or ends. */
void cupti_graph_clones(const struct cupti_call *call);
/* Hold back the record of a launch until the launching call ends. Used while a stream capture is
 * under way. `begin` is the launch's time, or 0 if the launch is not recorded. */
void cupti_graph_hold(const char *symbol, uint64_t begin);
/* Called when a launching call ends. Returns the launch's time if the launch record was held back
 * and must be emitted now. Returns 0 if no record was held back, or if the launch failed or became
 * a graph node. */
uint64_t cupti_graph_release(const struct cupti_call *call);
void cupti_graph_created(const struct cupti_resource_data *data);
void cupti_graph_cloned(const struct cupti_resource_data *data);
/* Returns CUPTI's number of the executable graph that a call launches, or the graph's handle if
 * CUPTI has no number for the graph. */
uint64_t cupti_graph_launched(const struct cupti_call *call);

/* -- module.c -- */

/* Enables CUPTI's callbacks for loading and unloading modules, if module records are enabled. */
void cupti_modules_start(cupti_subscriber subscriber);
/* Emit a record of a module that was loaded or is about to be unloaded. */
void cupti_module(const struct cupti_resource_data *data, bool loaded);

/* -- activity.c: device activity -- */

/* Returns CUPTI_OK, or CUPTI's first error. */
int cupti_activity_start(void);
/* If recording is off, disable the activity kinds of kernels, copies and other work, so that CUPTI
 * creates no records of such work. */
void cupti_activity_rest(void);
/* Enable the activity kinds that cupti_activity_rest disabled. Called before a launch is recorded.
 */
void cupti_activity_resume(void);
/* Permanently stop recording device activity, so that another library in the process can use
 * CUPTI. */
void cupti_activity_stop(void);
/* Make CUPTI deliver its buffers: all of them, or only buffers whose records are complete. */
void cupti_activity_flush(bool all);
/* Convert the records in a buffer that CUPTI delivered. Declared here for tests. */
void cupti_activity_consume(uint8_t *buffer, size_t valid);

/* -- records.c: converts CUPTI's records. Only one thread at a time may call these functions -- */

/* Converts one CUPTI record and queues the result. */
void cupti_record_convert(const struct cupti_record *r);
/* Emit the queued records. */
void cupti_records_push(void);

/* -- calltimes.c: stores the time and thread of calls, for CUPTI records that lack time and thread
 * -- */

enum cupti_timed {
	CUPTI_TIMED_NOT,
	CUPTI_TIMED_BEGIN, /* pass the start of a call to cupti_call_note */
	CUPTI_TIMED_SPAN,  /* pass the start to cupti_call_note, the end to cupti_call_note_end */
	CUPTI_TIMED_LOAD,  /* the call may load code: call cupti_loading_set */
};
/* Returns how calls of this driver function must be handled. */
enum cupti_timed cupti_call_timed(const char *function);
/* Ignores the end of a call. */
void cupti_call_note(const struct cupti_call *call);
void cupti_call_note_end(const struct cupti_call *call);
/* Returns the time at which the call with this correlation id began, and stores its thread in tid.
 * If the call is no longer stored, returns the current time and leaves tid unchanged. */
uint64_t cupti_call_time(uint32_t correlation, uint32_t *tid);
/* Returns the duration of the call with this correlation id, and stores its thread in tid. Returns
 * 0 if the call has not returned, or is no longer stored; in the latter case, leaves tid unchanged.
 */
uint64_t cupti_call_span(uint32_t correlation, uint32_t *tid);
/* Set the time since which the calling thread is in a call that may load code; 0: in none. */
void cupti_loading_set(uint64_t since);
uint64_t cupti_loading_since(void);

/* -- uvm.c: unified memory -- */

/* Enable records of unified memory. Called when CUDA is initialized, and a second time, with `last`
 * set, when a context is created. */
void cupti_uvm_start(bool last);
void cupti_uvm_stop(void);

/* -- vmm.c: virtual memory management (cuMemCreate, cuMemMap) -- */

/* Returns whether a driver function belongs to virtual memory management. */
bool cupti_vmm_is(const char *function);
void cupti_vmm_call(const struct cupti_call *call);
/* Returns whether a recent virtual memory management call has this correlation id. */
bool cupti_vmm_has(uint32_t correlation);

/* -- flush.c -- */

/* Start to flush CUPTI's buffers once a second, and when the program calls _exit. */
void cupti_flush_start(void);
/* Flush CUPTI's buffers for the last time. Registered with atexit. */
void cupti_flush_end(void);

/* -- handover.c: lets another library in the program use CUPTI -- */

/* Watch for other libraries that start to use CUPTI. If `recording` is true, the agent itself uses
 * CUPTI, and stops using CUPTI when another library starts to. */
void cupti_handover_watch(bool recording);
/* Stop watching for other libraries that use CUPTI. Returns whether another library has used
 * CUPTI. */
bool cupti_handover_end(void);

#endif
