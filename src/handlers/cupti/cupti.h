/*
 * cupti.h - the CUPTI handler's inside: what its files share.
 *
 * CUDA's driver loads the agent (CUDA_INJECTION64_PATH) and calls it while it is initialized.
 * Launches are seen by callbacks, on their threads; what devices did comes later, in buffers, on a
 * thread of CUPTI's. Times are CLOCK_MONOTONIC_RAW: CUPTI asks us for them.
 */
#ifndef PASTA_HANDLERS_CUPTI_H
#define PASTA_HANDLERS_CUPTI_H

#include <stdatomic.h>
#include <stdbool.h>

#include "collect/agent.h"
#include "handlers/cupti/cuptiabi.h"

/* CUPTI's functions: its names, without "cupti" in front. Those of the second list may be absent.
 */
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
#define CUPTI_FUNCTIONS_MAYBE(F)                                                                   \
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
	CUPTI_FUNCTIONS_MAYBE(F)
#undef F
	uint32_t version;
	char path[512]; /* of the library */
};
extern struct cupti cupti;

/* What every launch looks at, in one cache line. */
struct cupti_hot {
	atomic_bool recording;	   /* as the last launch saw it */
	atomic_bool resting;	   /* CUPTI makes no records of work */
	atomic_bool has_captured;  /* there has been a capture */
	bool wants_launches;	   /* a tool does */
	_Atomic uint32_t captures; /* that there are in the process */
};
extern struct cupti_hot cupti_hot;

/* inject.c: say what is missing, and what to do. */
void cupti_trouble(const char *what, int result);

/* bind.c: find CUPTI. 0, or a negative errno, with one line that says what to do. */
int cupti_bind(char *why, size_t size);
/* A text for a result that is not CUPTI_OK; static. */
const char *cupti_text(int result);

/* callbacks.c: launches. */
int cupti_callbacks_start(void);
void cupti_callbacks_stop(void);
/* Whether activity was recorded when this was launched; it is asked when the work's record comes.
 * What is no launch goes with the launch before it. */
bool cupti_recorded(uint32_t correlation);
/* The same of what has a time, but no launch. */
bool cupti_recorded_at(uint64_t time);

/* graph.c: nodes of graphs. */
/* A call that begins a capture, or ends one; one that clones nodes. */
void cupti_graph_capture(const struct cupti_call *call, bool begins);
void cupti_graph_clones(const struct cupti_call *call);
/* While there are captures a launch is not recorded before its call ends; begin is 0 if it is not
 * to be recorded at all. At the end of any launch: the begin of one that was held and is to be
 * recorded now; 0: there is none, or it failed or became a node. */
void cupti_graph_hold(const char *symbol, uint64_t begin);
uint64_t cupti_graph_release(const struct cupti_call *call);
void cupti_graph_created(const struct cupti_resource_data *data);
void cupti_graph_cloned(const struct cupti_resource_data *data);
/* The number of the executable graph that a call launches. */
uint64_t cupti_graph_launched(const struct cupti_call *call);

/* module.c: have modules told, where they are wanted; and one that is loaded, or unloaded. */
void cupti_modules_start(cupti_subscriber subscriber);
void cupti_module(const struct cupti_resource_data *data, bool loaded);

/* activity.c: what devices did. 0, or what CUPTI returned. */
int cupti_activity_start(void);
/* Work costs nothing while none is recorded: CUPTI rests if that is so now. Whoever launches
 * something that is recorded looks, and goes on first. */
void cupti_activity_rest(void);
void cupti_activity_go_on(void);
/* No more, for good: others may use CUPTI from now on. */
void cupti_activity_stop(void);
/* What is there: all of it, or what is complete. */
void cupti_activity_flush(bool all);
/* records.c: a record becomes an event, which waits to be pushed. One thread at a time. */
void cupti_record_take(const struct cupti_record *r);
void cupti_records_push(void);

/* calltime.c: when a call began whose record has no time, and on which thread. */
bool cupti_call_timed(const char *function);
void cupti_call_note(const struct cupti_call *call);
/* Now, and thread 0, where that is not known any more. */
uint64_t cupti_call_time(uint32_t correlation, uint32_t *tid);

/* uvm.c: unified memory. CUDA is ready; at last it has a context. */
void cupti_uvm_start(bool last);
void cupti_uvm_stop(void);

/* vmm.c: memory that is made, and mapped to addresses later. Whether a call has to do with it. */
bool cupti_vmm_is(const char *function);
void cupti_vmm_call(const struct cupti_call *call);
/* Whether this was such a call, of late. */
bool cupti_vmm_has(uint32_t correlation);

/* flush.c: do so once a second from now on, and when the program leaves by _exit. */
void cupti_flush_start(void);
/* When it ends as programs do. */
void cupti_flush_end(void);
/* For tests: a buffer, as CUPTI gives it. */
void cupti_activity_take(uint8_t *buffer, size_t valid);

/* yield.c: give way to others in the program when they begin to use CUPTI; recording: we do. */
void cupti_yield_watch(bool recording);
/* Look no longer. Whether there was one. */
bool cupti_yield_end(void);

/* device.c: the devices there are, once. */
void cupti_devices(void);

#endif
