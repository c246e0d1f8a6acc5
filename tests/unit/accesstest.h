/* accesstest.h - events of memory accesses, for tests of the tools that read them. */
#ifndef PASTA_TESTS_ACCESSTEST_H
#define PASTA_TESTS_ACCESSTEST_H

#include "unit/tooltest.h"

#include <pasta/device.h>

#define PAGE PASTA_ACCESS_PAGE
#define USED __attribute__((unused)) static

/* Receives the events: the tool under test, unless a test stores them with r_store. */
static void (*deliver)(const struct pasta_event *ev) = send_event;
static uint32_t now_proc;
static uint64_t now_time;

USED void send_alloc(unsigned int type, uint64_t addr, uint64_t bytes, uint64_t parent,
		     const char *name)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, now_proc, 1, ++now_time);

	ev.sub = (uint8_t)type;
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	ev.alloc.parent = parent;
	ev.alloc.name = id(name);
	deliver(&ev);
}

USED void send_free(uint64_t addr)
{
	struct pasta_event ev = EVENT(free, FREE, now_proc, 1, ++now_time);

	ev.free.addr = addr;
	deliver(&ev);
}

USED void send_object(uint64_t object, uint64_t alloc, uint64_t addr, uint64_t bytes)
{
	struct pasta_event ev = EVENT(object, OBJECT, now_proc, 1, ++now_time);

	ev.object.id = object;
	ev.object.alloc = alloc;
	ev.object.addr = addr;
	ev.object.bytes = bytes;
	deliver(&ev);
}

/* Sends an OpenCL buffer: a handle, and the address that kernels see. */
USED void send_buffer(uint64_t object, uint64_t handle, uint64_t addr, uint64_t bytes)
{
	send_alloc(PASTA_ALLOC_DEVICE, handle, bytes, 0, NULL);
	send_object(object, handle, addr, bytes);
}

USED void send_site(uint64_t site, const char *file, uint32_t line, uint32_t kind, uint32_t space,
		    const char *callee)
{
	struct pasta_event ev = EVENT(site, SITE, now_proc, 1, ++now_time);

	ev.site.id = site;
	ev.site.function = id("f");
	ev.site.callee = id(callee);
	ev.site.file = id(file);
	ev.site.line = line;
	ev.site.column = (uint32_t)site;
	ev.site.flags = kind | space << 8;
	deliver(&ev);
}

USED void send_access_launch(unsigned int what, uint64_t corr, const char *name, uint64_t shape,
			     const char *detail)
{
	struct pasta_event ev = EVENT(access_launch, ACCESS_LAUNCH, now_proc, 1, ++now_time);

	ev.sub = (uint8_t)what;
	ev.access_launch.corr = corr;
	ev.access_launch.name = id(name);
	ev.access_launch.shape = shape;
	ev.access_launch.detail = id(detail);
	deliver(&ev);
}

/* Sends a counted launch of which one block in `blocks` is counted. */
USED void send_partial(uint64_t corr, const char *name, uint64_t shape, uint32_t blocks)
{
	struct pasta_event ev = EVENT(access_launch, ACCESS_LAUNCH, now_proc, 1, ++now_time);

	ev.sub = PASTA_ACCESS_LAUNCH_COUNTED;
	ev.access_launch.corr = corr;
	ev.access_launch.name = id(name);
	ev.access_launch.shape = shape;
	ev.access_launch.blocks = blocks;
	deliver(&ev);
}

USED struct pasta_event row_event(uint64_t corr, const char *name, uint32_t reducer, uint64_t key0,
				  uint64_t loads, uint64_t stores, uint64_t bytes, uint64_t extra)
{
	struct pasta_event ev = EVENT(access_sum, ACCESS_SUM, now_proc, 1, ++now_time);

	ev.access_sum = (struct pasta_access_sum_record){.corr = corr,
							 .key0 = key0,
							 .loads = loads,
							 .stores = stores,
							 .bytes = bytes,
							 .extra = extra,
							 .name = id(name),
							 .reducer = reducer};
	return ev;
}

USED void send_row(uint64_t corr, const char *name, uint32_t reducer, uint64_t key0, uint64_t loads,
		   uint64_t stores, uint64_t bytes, uint64_t extra)
{
	struct pasta_event ev = row_event(corr, name, reducer, key0, loads, stores, bytes, extra);

	deliver(&ev);
}

USED const struct pasta_finding *find(const char *what)
{
	const struct pasta_out *out = result.outs[0];

	for (size_t i = 0; i < out->finding_count; i++)
		if (!strncmp(out->findings[i].what, what, strlen(what)))
			return &out->findings[i];
	return NULL;
}

/* -- A run of random launches, stored as a list and counted by hand -----------------------------
 */

enum { R_PROCS = 3, R_OBJECTS = 12, R_KERNELS = 3, R_SHAPES = 2, R_LAUNCHES = 60, R_PAGES = 5 };

struct r_shape {
	uint64_t launches, counted;
	uint64_t loads[R_OBJECTS], stores[R_OBJECTS], bytes[R_OBJECTS];
	uint64_t footprint, footprint_max, objects, objects_max, live, all_bytes;
};

struct r_proc {
	uint64_t size[R_OBJECTS], addr[R_OBJECTS];
	bool touched[R_OBJECTS][R_PAGES + 2];
	struct r_shape shapes[R_KERNELS][R_SHAPES];
	uint64_t live;
};

static struct r_proc r_procs[R_PROCS];
static struct pasta_event r_events[R_PROCS * (R_OBJECTS * 2 + R_LAUNCHES * 70)];
static size_t r_count;

static const char *const r_names[R_KERNELS] = {"add", "mul", "sub"};

USED void r_store(const struct pasta_event *ev)
{
	assert_true(r_count < sizeof(r_events) / sizeof(*r_events));
	r_events[r_count++] = *ev;
}

/* Objects lie apart: no two of them share a page. */
USED void r_objects(struct r_proc *p)
{
	for (uint64_t i = 0; i < R_OBJECTS; i++) {
		p->size[i] = 1 + random_below(R_PAGES * PAGE);
		p->addr[i] = (i + 1) * 64 * PAGE + random_below(PAGE);
		p->live += p->size[i];
		send_buffer(100 + i, 0x1000 + i, p->addr[i], p->size[i]);
	}
}

USED uint64_t r_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns how many bytes of a page belong to the object. */
USED uint64_t r_clip(const struct r_proc *p, uint64_t object, uint64_t page)
{
	uint64_t first = p->addr[object], last = first + p->size[object];
	uint64_t from = (first / PAGE + page) * PAGE, to = from + PAGE;

	from = from < first ? first : from;
	to = to > last ? last : to;
	return to > from ? to - from : 0;
}

USED void r_counted(struct r_proc *p, struct r_shape *s, uint64_t corr, const char *name)
{
	uint64_t pages[R_OBJECTS][R_PAGES + 2] = {0}, loads[R_OBJECTS] = {0}, footprint = 0,
					    objects = 0;

	s->counted++;
	s->live += p->live;
	for (uint64_t n = random_below(12); n; n--) {
		uint64_t o = random_below(R_OBJECTS), offset = random_below(p->size[o]);

		loads[o]++;
		pages[o][(p->addr[o] + offset) / PAGE - p->addr[o] / PAGE]++;
	}
	for (uint64_t o = 0; o < R_OBJECTS; o++) {
		uint64_t stores = loads[o] ? random_below(4) : 0;

		if (!loads[o])
			continue;
		objects++;
		s->loads[o] += loads[o];
		s->stores[o] += stores;
		s->bytes[o] += 4 * (loads[o] + stores);
		s->all_bytes += 4 * (loads[o] + stores);
		send_row(corr, name, PASTA_REDUCER_OBJECT, 100 + o, loads[o], stores,
			 4 * (loads[o] + stores), 0);
	}
	for (uint64_t o = 0; o < R_OBJECTS; o++)
		for (uint64_t page = 0; page < R_PAGES + 2; page++) {
			if (!pages[o][page])
				continue;
			p->touched[o][page] = true;
			footprint += r_clip(p, o, page);
			send_row(corr, name, PASTA_REDUCER_PAGE, (p->addr[o] / PAGE + page) * PAGE,
				 pages[o][page], 0, 4 * pages[o][page], 0);
		}
	s->footprint += footprint;
	s->footprint_max = footprint > s->footprint_max ? footprint : s->footprint_max;
	s->objects += objects;
	s->objects_max = objects > s->objects_max ? objects : s->objects_max;
}

/* Makes the events of all processes, one process after the other. As with sampling, the first
 * launch of each shape is always counted. */
USED void r_make(bool all)
{
	memset(r_procs, 0, sizeof(r_procs));
	r_count = 0;
	deliver = r_store;
	for (now_proc = 0; now_proc < R_PROCS; now_proc++) {
		struct r_proc *p = &r_procs[now_proc];
		uint64_t launches = 1 + random_below(R_LAUNCHES) * (now_proc == 1 ? 3 : 1);

		r_objects(p);
		for (uint64_t corr = 1; corr <= launches; corr++) {
			uint64_t k = random_below(R_KERNELS), shape = random_below(R_SHAPES);
			struct r_shape *s = &p->shapes[k][shape];
			bool counted = all || !s->counted || !random_below(3);

			send_access_launch(counted ? PASTA_ACCESS_LAUNCH_COUNTED
						   : PASTA_ACCESS_LAUNCH_SAMPLED,
					   corr, r_names[k], 7 + shape, NULL);
			s->launches++;
			if (counted)
				r_counted(p, s, corr, r_names[k]);
		}
	}
	now_proc = 0;
	deliver = send_event;
}

/* Sends all events in the order of a stream: processes alternate at random. */
USED void r_send_all(void (*to)(const struct pasta_event *ev))
{
	size_t at[R_PROCS], end[R_PROCS], left = r_count;

	for (size_t i = 0, p = 0; p < R_PROCS; p++) {
		at[p] = i;
		while (i < r_count && r_events[i].proc == p)
			i++;
		end[p] = i;
	}
	while (left) {
		size_t p = random_below(R_PROCS);

		if (at[p] == end[p])
			continue;
		to(&r_events[at[p]++]);
		left--;
	}
}

USED uint64_t r_scale(const struct r_shape *s, uint64_t sum)
{
	return s->counted ? (sum * s->launches + s->counted / 2) / s->counted : 0;
}

/* Makes one state per process, merges them in this order, and reports the merged state instead of
 * the tool's own. */
USED void merged(int a, int b, int c)
{
	struct pasta_toolset *parts[R_PROCS];

	for (int i = 0; i < R_PROCS; i++) {
		parts[i] = pasta_toolset_new(&choice, result.outs, PASTA_TOOLSET_SHARDED);
		assert_non_null(parts[i]);
		assert_int_equal(pasta_toolset_instances(parts[i]), 1);
		pasta_toolset_open(parts[i]);
	}
	for (size_t i = 0; i < r_count; i++)
		pasta_toolset_event(parts[r_events[i].proc], &r_events[i], NULL);
	pasta_toolset_merge(parts[a], parts[b]);
	pasta_toolset_free(parts[b]);
	pasta_toolset_merge(parts[a], parts[c]);
	pasta_toolset_free(parts[c]);
	pasta_toolset_report(parts[a]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	pasta_toolset_free(parts[a]);
}

#endif
