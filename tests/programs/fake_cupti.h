/*
 * fake_cupti.h - the fake of CUDA's driver and of CUPTI, as the program that plays on it sees it.
 *
 * No GPU is used: a call makes the callbacks that CUPTI would make, on the calling thread, and the
 * records that a device would, which another thread delivers. The environment controls it:
 *	FAKE_CUPTI_VERSION	what cuptiGetVersion returns (130401); records are laid out as that
 *has them FAKE_CUPTI_FAIL		FUNCTION=RESULT: what this function of CUPTI returns
 *FAKE_CUPTI_DROP N: of N records one is dropped
 */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include "../../src/handlers/cupti/cuptiabi.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

enum { FAKE_KERNEL_NS = 500, FAKE_DEVICES = 2 };

/* A call of CUDA's driver, and what comes of it. */
struct fake_work {
	const char *function;
	int kind; /* of its record, as CUPTI numbers them; 0: none */
	uint32_t context, stream, device, peer;
	uint32_t nodes;		  /* of a graph: a kernel each; 0: it is none */
	uint32_t operation, type; /* of memory; type also of unified memory's and of waits */
	uint64_t pool;		  /* of memory: its address; 0: of none */
	uint32_t event;		  /* that is put into a stream, or waited for */
	int32_t priority;	  /* of a stream */
	uint8_t copy;		  /* direction, as CUPTI numbers them */
	uint64_t bytes, address;
	uint64_t external;  /* an id that the program gave the call; 0: none */
	const void *params; /* of the call, as the driver has them */
	int status;	    /* what it returns */
	const char *name;   /* of the kernel */
};

/* Returns its correlation. Any thread. */
FAKE_EXPORT uint32_t fake_call(const struct fake_work *w);
/* Unified memory migrates, or faults: without a call of the program. */
FAKE_EXPORT void fake_uvm(const struct fake_work *w);
/* A context is made; the first time, CUDA is ready before. */
FAKE_EXPORT void fake_context(void);
/* A module is loaded into a context, which is a number from 1, or else unloaded. */
FAKE_EXPORT void fake_module(uint32_t context, const struct cupti_module *module, int loads);
/* So far: records made, those that were delivered, and those that were dropped. */
FAKE_EXPORT uint64_t fake_made(void);
FAKE_EXPORT uint64_t fake_delivered(void);
FAKE_EXPORT uint64_t fake_dropped(void);
/* The kinds of records that are enabled, a bit each. */
FAKE_EXPORT uint64_t fake_enabled(void);
/* Of a record; 0: CUPTI knows no such kind. */
FAKE_EXPORT size_t fake_size(uint32_t kind);

/* -- CUPTI's -- */

FAKE_EXPORT int cuptiGetVersion(uint32_t *version);
FAKE_EXPORT int cuptiGetResultString(int result, const char **text);
FAKE_EXPORT int cuptiGetCallbackName(int domain, uint32_t id, const char **name);
FAKE_EXPORT int cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback callback, void *user);
FAKE_EXPORT int cuptiUnsubscribe(cupti_subscriber subscriber);
FAKE_EXPORT int cuptiEnableCallback(uint32_t on, cupti_subscriber subscriber, int domain,
				    uint32_t id);
FAKE_EXPORT int cuptiActivityEnable(int kind);
FAKE_EXPORT int cuptiActivityDisable(int kind);
FAKE_EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_uvm_config *config,
							   uint32_t count);
FAKE_EXPORT int cuptiActivityRegisterCallbacks(cupti_request request, cupti_complete complete);
FAKE_EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **r);
FAKE_EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
FAKE_EXPORT int cuptiActivityFlushAll(uint32_t flag);
FAKE_EXPORT int cuptiActivityFlushPeriod(uint32_t ms);
FAKE_EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));
FAKE_EXPORT int cuptiSetThreadIdType(int type);
FAKE_EXPORT int cuptiGetContextId(void *context, uint32_t *id);
FAKE_EXPORT int cuptiGetDeviceId(void *context, uint32_t *id);
FAKE_EXPORT int cuptiGetCubinCrc(struct cupti_crc *crc);

/* -- The driver's -- */

FAKE_EXPORT int cuDeviceGetCount(int *count);
FAKE_EXPORT int cuDeviceGet(int *device, int number);
FAKE_EXPORT int cuDeviceGetName(char *name, int size, int device);
FAKE_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
FAKE_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
FAKE_EXPORT int cuDriverGetVersion(int *version);

#endif
