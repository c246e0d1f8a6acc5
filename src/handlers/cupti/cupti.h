/*
 * cupti.h - the CUPTI handler's inside: what its files share.
 *
 * CUDA's driver loads the agent (CUDA_INJECTION64_PATH) and calls it while it is initialized.
 * Launches are seen by callbacks, on their threads; what devices did comes later, in buffers, on a
 * thread of CUPTI's. Times are CLOCK_MONOTONIC_RAW: CUPTI asks us for them.
 */
#ifndef PASTA_HANDLERS_CUPTI_H
#define PASTA_HANDLERS_CUPTI_H

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
#define CUPTI_FUNCTIONS_MAYBE(F) F(ActivityFlushPeriod, (uint32_t))

struct cupti {
#define F(name, args) int(*name) args;
	CUPTI_FUNCTIONS(F)
	CUPTI_FUNCTIONS_MAYBE(F)
#undef F
	uint32_t version;
	char path[512]; /* of the library */
};
extern struct cupti cupti;

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

/* activity.c: what devices did. 0, or what CUPTI returned. */
int cupti_activity_start(void);
/* No more, for good: others may use CUPTI from now on. */
void cupti_activity_stop(void);
/* All that is there, now. */
void cupti_activity_flush(void);
/* For tests: a buffer, as CUPTI gives it. */
void cupti_activity_take(uint8_t *buffer, size_t valid);

/* yield.c: give way to libraries of the program that use CUPTI themselves, when they begin. */
void cupti_yield_watch(void);

/* device.c: the devices there are, once. */
void cupti_devices(void);

#endif
