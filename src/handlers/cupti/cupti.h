/*
 * cupti.h - internal header of the CUPTI handler.
 *
 * CUDA's driver loads the agent (handlers/cuda/inject.h) and calls it during its initialization.
 * CUPTI's callbacks report launches, on the thread that launches. Device activity arrives later, in
 * buffers, on a thread of CUPTI's. CUPTI calls the agent for timestamps, so all times are
 * CLOCK_MONOTONIC_RAW.
 */
#ifndef PASTA_HANDLERS_CUPTI_H
#define PASTA_HANDLERS_CUPTI_H

#include <stdatomic.h>
#include <stdbool.h>

#include "collect/agent.h"
#include "handlers/cupti/cuptiabi.h"

/* CUPTI's functions, without the prefix "cupti"; the second list: functions that may be absent. */
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
	char path[512]; /* the path of the library */
};
extern struct cupti cupti;

/* The state that every launch reads, in one cache line. */
struct cupti_hot {
	atomic_bool recording;	   /* the state that the last launch saw */
	atomic_bool resting;	   /* the activity kinds of work are disabled in CUPTI */
	atomic_bool has_captured;  /* a stream capture has begun at some time */
	bool launches_enabled;	   /* launch records are enabled */
	_Atomic uint32_t captures; /* stream captures under way in the process */
};
extern struct cupti_hot cupti_hot;

/* -- inject.c -- */

/* Find CUPTI and watch for other users of it. Returns false, after a message, if CUPTI cannot be
 * used. Call before another library in the process can start to use CUPTI. */
bool cupti_prepare(void);
/* Start to record, unless another library has started to use CUPTI since cupti_prepare. */
void cupti_start(void);
/* Print what does not work, the result of CUPTI, and what to do. */
void cupti_trouble(const char *what, int result);

/* -- bind.c -- */

/* Find CUPTI and look up its functions. Returns 0, or a negative errno with the reason and what to
 * do in why. */
int cupti_bind(char *why, size_t size);
/* Returns the text of a result other than CUPTI_OK; static. */
const char *cupti_text(int result);

/* -- callbacks.c: launches -- */

/* Returns CUPTI_OK, or CUPTI's error. */
int cupti_callbacks_start(void);
void cupti_callbacks_stop(void);
/* Returns whether recording was on when the call with this correlation id was made. The id need not
 * be a launch's: the state at the launch before it counts. */
bool cupti_recorded(uint32_t correlation);
/* The same by time, for records without a launch. */
bool cupti_recorded_at(uint64_t time);

/* -- graph.c: device graphs -- */

/* A call that begins or ends a stream capture has returned. */
void cupti_graph_capture(const struct cupti_call *call, bool begins);
/* A call that clones nodes begins or ends. */
void cupti_graph_clones(const struct cupti_call *call);
/* Hold back the record of a launch until its call ends. Used while a capture is under way. begin is
 * the launch's time; 0 if the launch is not recorded. */
void cupti_graph_hold(const char *symbol, uint64_t begin);
/* At the end of a launch: returns the time of a launch that was held back and is to be recorded
 * now. Returns 0 if none was held back, or if the launch failed or became a node. */
uint64_t cupti_graph_release(const struct cupti_call *call);
void cupti_graph_created(const struct cupti_resource_data *data);
void cupti_graph_cloned(const struct cupti_resource_data *data);
/* Returns CUPTI's number of the executable graph that a call launches, or its handle. */
uint64_t cupti_graph_launched(const struct cupti_call *call);

/* -- module.c -- */

/* Enable the callbacks of modules, if module records are enabled. */
void cupti_modules_start(cupti_subscriber subscriber);
/* A module was loaded, or is about to be unloaded. */
void cupti_module(const struct cupti_resource_data *data, bool loaded);

/* -- activity.c: device activity -- */

/* Returns CUPTI_OK, or the first error of CUPTI. */
int cupti_activity_start(void);
/* While recording is off, disable the activity kinds of work, so that work costs nothing. */
void cupti_activity_rest(void);
/* Enable the activity kinds of work again. A launch that is to be recorded calls this first. */
void cupti_activity_resume(void);
/* Stop for good: others in the process may use CUPTI from now on. */
void cupti_activity_stop(void);
/* Flush CUPTI's buffers: all, or only the complete ones. */
void cupti_activity_flush(bool all);
/* Consume a buffer of CUPTI's, as its callback delivers it. For tests. */
void cupti_activity_consume(uint8_t *buffer, size_t valid);

/* -- records.c: CUPTI's records become records of the run. One thread at a time -- */

/* Convert one record and queue it. */
void cupti_record_convert(const struct cupti_record *r);
/* Emit the queued records. */
void cupti_records_push(void);

/* -- calltimes.c: the time and thread of calls whose CUPTI records have none -- */

/* Returns whether the calls of this function are to be noted. */
bool cupti_call_timed(const char *function);
void cupti_call_note(const struct cupti_call *call);
/* Returns when the call began and stores its thread. If the call is no longer known, returns the
 * current time and leaves tid unchanged. */
uint64_t cupti_call_time(uint32_t correlation, uint32_t *tid);

/* -- uvm.c: unified memory -- */

/* Enable the records. Called when CUDA is initialized, and again, with last set, when it has a
 * context. */
void cupti_uvm_start(bool last);
void cupti_uvm_stop(void);

/* -- vmm.c: virtual memory management: memory that is created first and mapped later -- */

/* Returns whether a driver function belongs to virtual memory management. */
bool cupti_vmm_is(const char *function);
void cupti_vmm_call(const struct cupti_call *call);
/* Returns whether a recent call with this correlation id was a call of virtual memory management.
 */
bool cupti_vmm_has(uint32_t correlation);

/* -- flush.c -- */

/* Flush once a second from now on, and when the program calls _exit. */
void cupti_flush_start(void);
/* The last flush, for atexit. */
void cupti_flush_end(void);

/* -- handover.c: hand CUPTI over to another user in the program -- */

/* Watch for another user; recording: the agent records with CUPTI and has to stop then. */
void cupti_handover_watch(bool recording);
/* Stop watching. Returns whether there was another user. */
bool cupti_handover_end(void);

#endif
