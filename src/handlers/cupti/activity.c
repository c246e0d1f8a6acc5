/* activity.c - receives the buffers in which CUPTI delivers records of device activity. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "core/lock.h"
#include "handlers/cupti/cupti.h"

enum { BUFFER = 4 << 20, SPARE_MAX = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[SPARE_MAX];
static unsigned int spares;

/* This lock is held while a buffer is consumed, because CUPTI may deliver buffers on several
 * threads at the same time. */
static pthread_mutex_t consuming = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stopped;
/* This lock is held while activity kinds are enabled or disabled. */
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

static uint64_t activity_now(void)
{
	return pasta_now_exact();
}

/* -- Buffers, which are reused -- */

static void buffer_request(uint8_t **buffer, size_t *size, size_t *records)
{
	void *p = NULL;

	pasta_lock(&lock);
	if (spares)
		p = spare[--spares];
	pasta_unlock(&lock);
	if (!p)
		p = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*buffer = p == MAP_FAILED
			  ? NULL
			  : p; /* if CUPTI gets no buffer, it drops records and counts them */
	*size = p == MAP_FAILED ? 0 : BUFFER;
	*records = 0;
}

static void buffer_release(uint8_t *buffer)
{
	pasta_lock(&lock);
	if (spares < SPARE_MAX) {
		spare[spares++] = buffer;
		buffer = NULL;
	}
	pasta_unlock(&lock);
	if (buffer)
		munmap(buffer, BUFFER);
}

void cupti_activity_consume(uint8_t *buffer, size_t valid)
{
	struct cupti_record *r = NULL;

	pasta_lock(&consuming);
	while (cupti.ActivityGetNextRecord(buffer, valid, &r) == CUPTI_OK)
		cupti_record_convert(r);
	cupti_records_push();
	pasta_unlock(&consuming);
}

static void buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			    size_t valid)
{
	size_t dropped = 0;

	(void)size;
	if (buffer) {
		if (valid)
			cupti_activity_consume(buffer, valid);
		buffer_release(buffer);
	}
	if (cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK && dropped)
		pasta_emit_loss(PASTA_LOSS_SOURCE, dropped);
}

/* -- Start and stop -- */

static bool activity_any_enabled(uint64_t kinds)
{
	for (unsigned int k = 0; k < PASTA_KIND_MAX; k++)
		if (kinds >> k & 1 && pasta_agent_records((enum pasta_kind)k))
			return true;
	return false;
}

static const struct {
	uint64_t events; /* the event kinds that need this activity kind */
	int kind;
	/* whether records of this activity kind are needed only while recording is on */
	bool is_work;
} kinds[] = {
	{PASTA_MASK(KERNEL), CUPTI_KERNEL, true},
	{PASTA_MASK(COPY), CUPTI_MEMCPY, true},
	{PASTA_MASK(COPY), CUPTI_MEMCPY_P2P, true},
	{PASTA_MASK(SET), CUPTI_MEMSET, true},
	{PASTA_MASK(ALLOC) | PASTA_MASK(FREE), CUPTI_MEMORY, false},
	{PASTA_MASK(SYNC), CUPTI_SYNC, true},
	{PASTA_MASK(API), CUPTI_DRIVER, true},
	{PASTA_MASK(API), CUPTI_RUNTIME, true},
	{PASTA_MASK(EVENT_RECORD), CUPTI_EVENT, true},
	{PASTA_MASK(QUEUE), CUPTI_STREAM, false},
	{PASTA_MASK(LINK), CUPTI_EXTERNAL, true},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* Enables or disables CUPTI's activity kinds: the kinds marked is_work if `work` is true, and all
 * other kinds if `work` is false. Continues after an error, because the remaining kinds are still
 * useful. Returns the first error. */
static int activity_switch(bool on, bool work)
{
	int first = CUPTI_OK;

	for (size_t i = 0; i < KINDS; i++) {
		int r = CUPTI_OK;

		if (kinds[i].is_work == work && activity_any_enabled(kinds[i].events))
			r = (on ? cupti.ActivityEnable : cupti.ActivityDisable)(kinds[i].kind);
		first = first == CUPTI_OK ? r : first;
	}
	return first;
}

int cupti_activity_start(void)
{
	int r = cupti.ActivityRegisterTimestampCallback(activity_now), work = CUPTI_OK;

	if (r == CUPTI_OK)
		r = cupti.ActivityRegisterCallbacks(buffer_request, buffer_complete);
	if (r != CUPTI_OK)
		return r;
	cupti.SetThreadIdType(1); /* make CUPTI report thread ids of the operating system */
	if (pasta_agent_active())
		work = activity_switch(true, true);
	else
		atomic_store(&cupti_hot.resting, true);
	r = activity_switch(true, false);
	return work == CUPTI_OK ? r : work;
}

static void activity_report(int result)
{
	if (result != CUPTI_OK)
		cupti_trouble("device activity is missing or incomplete", result);
}

/* The caller of this function holds the lock "switching". */
static int activity_work_on(void)
{
	int r = CUPTI_OK;

	if (!atomic_load(&stopped) && atomic_load(&cupti_hot.resting)) {
		r = activity_switch(true, true);
		atomic_store(&cupti_hot.resting, false);
	}
	return r;
}

/* The flag `resting` is set before the recording state is read. If recording starts after that
 * read, the thread that starts recording sees the flag and calls cupti_activity_resume. */
void cupti_activity_rest(void)
{
	int r = CUPTI_OK;

	pasta_lock(&switching);
	if (!atomic_load(&stopped) && !atomic_exchange(&cupti_hot.resting, true)) {
		atomic_thread_fence(memory_order_seq_cst);
		if (pasta_agent_active())
			atomic_store(&cupti_hot.resting, false);
		else
			activity_switch(false, true);
		if (pasta_agent_active())
			r = activity_work_on();
	}
	pasta_unlock(&switching);
	activity_report(r);
}

/* Runs in a CUPTI callback. CUPTI may wait for callbacks to return before it disables an activity
 * kind, so this function does not wait for the lock "switching". The thread that holds the lock
 * checks the recording state again before it releases the lock. */
void cupti_activity_resume(void)
{
	int r;

	if (pasta_trylock(&switching))
		return;
	r = activity_work_on();
	pasta_unlock(&switching);
	activity_report(r);
}

void cupti_activity_flush(bool all)
{
	if (!atomic_load(&stopped))
		cupti.ActivityFlushAll(all);
}

void cupti_activity_stop(void)
{
	cupti_activity_flush(true);
	pasta_lock(&switching);
	atomic_store(&stopped, true);
	atomic_store(&cupti_hot.resting, false);
	activity_switch(false, true);
	activity_switch(false, false);
	cupti_uvm_stop();
	pasta_unlock(&switching);
}
