/*
 * nvtx_ranges - a program annotated with NVTX, which prints what NVTX returned.
 *
 *	nvtx_ranges [many COUNT]
 *
 * Built with NVTX's own headers if NVTX_REAL is defined.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef NVTX_REAL
#include <nvtx3/nvToolsExt.h>
#else
#include "nvtx_caller.h"
#endif

static nvtxDomainHandle_t io, math;

static nvtxEventAttributes_t text(const char *message)
{
	nvtxEventAttributes_t a;

	memset(&a, 0, sizeof(a));
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = message;
	return a;
}

static int push(nvtxDomainHandle_t domain, const char *message)
{
	nvtxEventAttributes_t a = text(message);

	return nvtxDomainRangePushEx(domain, &a);
}

/* In one domain: as written. */
static void nested(void)
{
	nvtxEventAttributes_t a = text("attributes");
	int r[6];

	r[0] = nvtxRangePushA("train");
	r[1] = nvtxRangePushW(L"gr\u00fc\u00df \U0001f600");
	nvtxMarkA("half");
	r[2] = nvtxRangePushEx(&a);
	r[3] = nvtxRangePop();
	r[4] = nvtxRangePop();
	r[5] = nvtxRangePop();
	printf("nested %d %d %d %d %d %d\n", r[0], r[1], r[2], r[3], r[4], r[5]);
	printf("too many %d\n", nvtxRangePop());
}

/* In two domains: each has its own levels, and they cross. */
static void crossed(void)
{
	nvtxEventAttributes_t a = text("unused");
	int r[6];

	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(io, "read");
	r[0] = nvtxDomainRangePushEx(io, &a);
	r[1] = push(math, "solve");
	r[2] = push(math, "factor");
	r[3] = nvtxDomainRangePop(io);
	nvtxDomainMarkEx(math, &a);
	r[4] = nvtxDomainRangePop(math);
	r[5] = nvtxDomainRangePop(math);
	printf("crossed %d %d %d %d %d %d\n", r[0], r[1], r[2], r[3], r[4], r[5]);
}

static void *other(void *id)
{
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "loader");
	nvtxRangePushA("load");
	nvtxDomainRangeEnd(io, *(nvtxRangeId_t *)id);
	nvtxRangePop();
	return NULL;
}

/* Ranges of the process overlap, end on another thread, and leave the thread's own alone. */
static int overlapping(void)
{
	nvtxEventAttributes_t a = text("request");
	nvtxRangeId_t epoch, request;
	pthread_t thread;

	nvtxRangePushA("serve");
	epoch = nvtxRangeStartA("epoch");
	request = nvtxDomainRangeStartEx(io, &a);
	nvtxRangeEnd(epoch);
	nvtxRangePop();
	if (pthread_create(&thread, NULL, other, &request))
		return 1;
	pthread_join(thread, NULL);
	nvtxRangeEnd(request); /* once more: ends nothing */
	printf("ids %s\n", !epoch ? "none" : epoch == request ? "same" : "differ");
	return 0;
}

/* Names are made anew each time, as interpreters do. */
static void many(long count)
{
	struct timespec begin, end;
	char name[32];

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "layer %ld", i % 50);
		nvtxRangePushA(name);
		nvtxRangePop();
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(stderr, "%.0f ns a range\n",
		((double)(end.tv_sec - begin.tv_sec) * 1e9 +
		 (double)(end.tv_nsec - begin.tv_nsec)) /
			(double)count);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "many")) {
		many(atol(argv[2]));
		return 0;
	}
	io = nvtxDomainCreateA("io");
	math = nvtxDomainCreateA("math");
	nested();
	crossed();
	if (overlapping())
		return 1;
	nvtxDomainDestroy(io);
	nvtxDomainDestroy(math);
	return 0;
}
