/* activity.c - what devices did: CUPTI's buffers, which its own thread brings. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "handlers/cupti/cupti.h"
#include "core/lock.h"

enum { BUFFER = 4 << 20, SPARE_MAX = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[SPARE_MAX];
static unsigned int spares;

/* Threads have buffers of their own, and may bring them at the same time. */
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stopped;
static pthread_mutex_t turning = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
	return pasta_now_exact();
}

/* -- Buffers: pages, used again -- */

static void request(uint8_t **buffer, size_t *size, size_t *records)
{
	void *p = NULL;

	pasta_lock(&lock);
	if (spares)
		p = spare[--spares];
	pasta_unlock(&lock);
	if (!p)
		p = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*buffer = p == MAP_FAILED ? NULL : p; /* then CUPTI drops, and says how many */
	*size = p == MAP_FAILED ? 0 : BUFFER;
	*records = 0;
}

static void give_back(uint8_t *buffer)
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

	pasta_lock(&taking);
	while (cupti.ActivityGetNextRecord(buffer, valid, &r) == CUPTI_OK)
		cupti_record_convert(r);
	cupti_records_push();
	pasta_unlock(&taking);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;

	(void)size;
	if (buffer) {
		if (valid)
			cupti_activity_consume(buffer, valid);
		give_back(buffer);
	}
	if (cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK && dropped)
		pasta_emit_loss(PASTA_LOSS_SOURCE, dropped);
}

/* -- Beginning and end -- */

static bool wants_any(uint64_t kinds)
{
	for (unsigned int k = 0; k < PASTA_KIND_MAX; k++)
		if (kinds >> k & 1 && pasta_agent_records((enum pasta_kind)k))
			return true;
	return false;
}

static const struct {
	uint64_t for_;
	int kind;
	bool is_work; /* which is recorded between start and stop */
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

/* One kind that cannot be had is no reason to go without the others. */
static int turn(bool on, bool work)
{
	int first = CUPTI_OK;

	for (size_t i = 0; i < KINDS; i++) {
		int r = CUPTI_OK;

		if (kinds[i].is_work == work && wants_any(kinds[i].for_))
			r = (on ? cupti.ActivityEnable : cupti.ActivityDisable)(kinds[i].kind);
		first = first == CUPTI_OK ? r : first;
	}
	return first;
}

int cupti_activity_start(void)
{
	int r = cupti.ActivityRegisterTimestampCallback(now), work = CUPTI_OK;

	if (r == CUPTI_OK)
		r = cupti.ActivityRegisterCallbacks(request, complete);
	if (r != CUPTI_OK)
		return r;
	cupti.SetThreadIdType(1); /* the system's, as events of threads have it */
	if (pasta_agent_active())
		work = turn(true, true);
	else
		atomic_store(&cupti_hot.resting, true);
	r = turn(true, false);
	return work == CUPTI_OK ? r : work;
}

static void told(int result)
{
	if (result != CUPTI_OK)
		cupti_trouble("what devices do cannot be seen, or not all of it", result);
}

/* turning is held. */
static int work_on(void)
{
	int r = CUPTI_OK;

	if (!atomic_load(&stopped) && atomic_load(&cupti_hot.resting)) {
		r = turn(true, true);
		atomic_store(&cupti_hot.resting, false);
	}
	return r;
}

/* Says that it rests before it looks: a start that it does not see sees that, and goes on. */
void cupti_activity_rest(void)
{
	int r = CUPTI_OK;

	pasta_lock(&turning);
	if (!atomic_load(&stopped) && !atomic_exchange(&cupti_hot.resting, true)) {
		atomic_thread_fence(memory_order_seq_cst);
		if (pasta_agent_active())
			atomic_store(&cupti_hot.resting, false);
		else
			turn(false, true);
		if (pasta_agent_active())
			r = work_on();
	}
	pasta_unlock(&turning);
	told(r);
}

/* In a callback, for whose end CUPTI might wait before it turns work off: that is never waited for
 * here. Whoever turns it off looks again. */
void cupti_activity_resume(void)
{
	int r;

	if (pasta_trylock(&turning))
		return;
	r = work_on();
	pasta_unlock(&turning);
	told(r);
}

void cupti_activity_flush(bool all)
{
	if (!atomic_load(&stopped))
		cupti.ActivityFlushAll(all);
}

void cupti_activity_stop(void)
{
	cupti_activity_flush(true);
	pasta_lock(&turning);
	atomic_store(&stopped, true);
	atomic_store(&cupti_hot.resting, false);
	turn(false, true);
	turn(false, false);
	cupti_uvm_stop();
	pasta_unlock(&turning);
}
