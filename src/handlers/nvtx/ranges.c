/*
 * ranges.c - records ranges of the process. Each open range has a track of its own, which is a
 * sequence of events that belongs to no thread. A range's id is the range's serial number << 16 |
 * the number of its track; tracks count from 1. Tracks are acquired and released without a lock. A
 * track is released only after the end record is emitted, so that the times of a track never
 * decrease.
 */
#include <stdio.h>

#include "handlers/nvtx/nvtx.h"

enum { TRACKS = 256, NOT_RECORDED = 0, DROPPED = 0xffff };

/* The state of each track, which is pasta_agent_gen() << 32 | the serial number of the open range.
 * The track is free if the generation is that of another process, or if the value is 0. A serial
 * number of 0 means that the range is about to end. */
static _Atomic uint64_t tracks[TRACKS];
/* The value of pasta_agent_gen() when the track's name was emitted. */
static _Atomic uint32_t named[TRACKS];
static _Atomic uint32_t last_serial;
/* The time of each track's last record. A later record of the track must not have an earlier time,
 * although the clocks of two threads may differ by a few ns. */
static _Atomic uint64_t last_time[TRACKS];

static uint32_t range_next_serial(void)
{
	uint32_t serial;

	do
		serial = atomic_fetch_add(&last_serial, 1) + 1;
	while (!serial);
	return serial;
}

/* Returns the number of a free track, or 0 if all tracks are in use. Tracks count from 1. */
static uint32_t range_acquire_track(uint32_t gen, uint32_t serial)
{
	for (uint32_t i = 0; i < TRACKS; i++) {
		uint64_t old = atomic_load(&tracks[i]);

		if (old >> 32 != gen &&
		    atomic_compare_exchange_strong(&tracks[i], &old, (uint64_t)gen << 32 | serial))
			return i + 1;
	}
	return 0;
}

static void range_name_track(uint32_t track, uint32_t gen)
{
	char name[32];

	if (atomic_exchange(&named[track - 1], gen) == gen ||
	    !pasta_agent_records(PASTA_KIND_THREAD))
		return;
	snprintf(name, sizeof(name), "nvtx ranges %u", track);
	pasta_emit_name(PASTA_TRACK + track, pasta_intern_str(name));
}

/* Emits the begin record or the end record of a range. Only the thread that acquires or releases
 * the range's track (a sequence of events of no thread) calls this function. */
static void range_emit(unsigned int sub, uint32_t name, uint32_t domain, uint64_t time,
		       uint32_t track)
{
	uint64_t last = atomic_load(&last_time[track - 1]);
	struct pasta_event ev;

	time = time > last ? time : last + 1;
	atomic_store(&last_time[track - 1], time);
	pasta_event_init(&ev, PASTA_KIND_REGION, sub, PASTA_EVENT_SIZE(region));
	ev.region.name = name;
	ev.region.domain = domain;
	ev.region.depth = 1;
	ev.time = time;
	pasta_emit_for(&ev, PASTA_TRACK + track);
}

uint64_t nvtx_range_start(bool recorded, uint32_t name, uint32_t domain)
{
	uint32_t serial = range_next_serial(), gen = pasta_agent_gen(), track;

	if (!recorded)
		return (uint64_t)serial << 16 | NOT_RECORDED;
	track = gen ? range_acquire_track(gen, serial) : 0;
	if (!track) {
		pasta_emit_loss(PASTA_LOSS_DEPTH, 1);
		return (uint64_t)serial << 16 | DROPPED;
	}
	range_name_track(track, gen);
	range_emit(PASTA_REGION_BEGIN, name, domain, pasta_now(), track);
	return (uint64_t)serial << 16 | track;
}

void nvtx_range_end(uint64_t id)
{
	uint64_t now = pasta_now(), gen = pasta_agent_gen();
	uint64_t open = gen << 32 | (uint32_t)(id >> 16);
	uint32_t track = id & 0xffff;

	if (track == DROPPED && pasta_region_enabled())
		pasta_emit_loss(PASTA_LOSS_DEPTH, 1);
	if (track == NOT_RECORDED || track > TRACKS || !gen || !(uint32_t)open)
		return;
	if (!atomic_compare_exchange_strong(&tracks[track - 1], &open, gen << 32))
		return;
	range_emit(PASTA_REGION_END, 0, 0, now, track);
	atomic_store(&tracks[track - 1], 0);
}
