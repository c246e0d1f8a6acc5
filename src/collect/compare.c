/* compare.c - compares the rows that a device and the host have counted for each launch. */
#include "collect/compare.h"

#include <inttypes.h>
#include <stdio.h>

#include "collect/agent.h"
#include "core/lock.h"

/* The state of the comparison of one launch. */
struct pair {
	struct pasta_compare *all;
	const char *kernel;
	uint64_t rows, wrong;
};

static const struct pasta_sums none;

static const char *compare_reducer_name(enum pasta_reducer reducer)
{
	static const char *const names[] = {
		[PASTA_REDUCER_OBJECT] = "object",
		[PASTA_REDUCER_PAGE] = "page",
		[PASTA_REDUCER_SITE] = "site",
		[PASTA_REDUCER_SITE_OBJECT] = "site and object",
		[PASTA_REDUCER_COALESCE] = "requests",
		[PASTA_REDUCER_DIVERGE] = "divergence",
	};

	return reducer <= PASTA_REDUCER_DIVERGE ? names[reducer] : "(unknown)";
}

static bool compare_is_full(const struct pasta_sums *s, int reducer)
{
	return s->tables[reducer].rows && !pasta_row_is_zero(pasta_rows_other(&s->tables[reducer]));
}

static bool compare_has_all(const struct pasta_sums *s, uint32_t reducers)
{
	for (int i = 1; i < PASTA_REDUCER_COUNT; i++)
		if (reducers >> i & 1 && compare_is_full(s, i))
			return false;
	return true;
}

static bool compare_is_same(const struct pasta_row *device, const struct pasta_row *host)
{
	return device->loads == host->loads && device->stores == host->stores &&
	       device->bytes == host->bytes && device->extra == host->extra;
}

/* Returns whether device and host counted the same number of written bytes. If the device or the
 * host does not count written bytes, the function returns true. */
static bool compare_is_written_same(const struct pasta_row *device, const struct pasta_row *host)
{
	return device->unsplit || host->unsplit || device->written == host->written;
}

/* Stores a description of the first row that differs between device and host. The caller holds the
 * comparison's lock. */
static void compare_record_first(struct pair *p, enum pasta_reducer reducer,
				 const struct pasta_row *device, const struct pasta_row *host)
{
	const struct pasta_row *keys = pasta_row_is_zero(device) ? host : device;
	char *text = p->all->first;

	if (*text)
		return;
	if (compare_is_same(device, host)) {
		snprintf(text, sizeof(p->all->first),
			 "kernel %.40s, row %#" PRIx64 " %#" PRIx64 " by %s: %" PRIu64
			 " bytes were written on the device, and %" PRIu64 " on the host",
			 p->kernel, keys->key0, keys->key1, compare_reducer_name(reducer),
			 device->written, host->written);
		return;
	}
	snprintf(text, sizeof(p->all->first),
		 "kernel %.40s, row %#llx %#llx by %s: loads, stores, bytes and extra are %llu "
		 "%llu %llu %llu on the device, and %llu %llu %llu %llu on the host",
		 p->kernel, (unsigned long long)keys->key0, (unsigned long long)keys->key1,
		 compare_reducer_name(reducer), (unsigned long long)device->loads,
		 (unsigned long long)device->stores, (unsigned long long)device->bytes,
		 (unsigned long long)device->extra, (unsigned long long)host->loads,
		 (unsigned long long)host->stores, (unsigned long long)host->bytes,
		 (unsigned long long)host->extra);
}

static void compare_rows(struct pair *p, enum pasta_reducer reducer, const struct pasta_row *device,
			 const struct pasta_row *host)
{
	static const struct pasta_row zeros;

	device = device ? device : &zeros;
	host = host ? host : &zeros;
	if (pasta_row_is_zero(device) && pasta_row_is_zero(host))
		return;
	p->rows++;
	if (compare_is_same(device, host) && compare_is_written_same(device, host))
		return;
	p->wrong++;
	compare_record_first(p, reducer, device, host);
}

static void compare_tables(struct pair *p, enum pasta_reducer reducer,
			   const struct pasta_rows *device, const struct pasta_rows *host)
{
	const struct pasta_row *row;

	for (uint32_t i = 1; i <= device->count; i++) {
		row = &device->rows[i];
		compare_rows(p, reducer, row, pasta_rows_find(host, row->key0, row->key1));
	}
	for (uint32_t i = 1; i <= host->count; i++) {
		row = &host->rows[i];
		if (!pasta_rows_find(device, row->key0, row->key1))
			compare_rows(p, reducer, NULL, row);
	}
}

void pasta_compare_begin(struct pasta_compare *c)
{
	pasta_lock(&c->lock);
	c->open++;
	pasta_unlock(&c->lock);
}

void pasta_compare_drop(struct pasta_compare *c, bool ran)
{
	pasta_lock(&c->lock);
	c->open--;
	c->skipped += ran;
	pasta_unlock(&c->lock);
}

void pasta_compare_end(struct pasta_compare *c, uint32_t reducers, const struct pasta_sums *device,
		       const struct pasta_sums *host, const char *kernel)
{
	struct pair p = {.all = c, .kernel = kernel};

	device = device ? device : &none;
	host = host ? host : &none;
	if (!compare_has_all(device, reducers) || !compare_has_all(host, reducers)) {
		pasta_compare_drop(c, true);
		return;
	}
	pasta_lock(&c->lock);
	for (int i = 1; i < PASTA_REDUCER_COUNT; i++)
		if (reducers >> i & 1)
			compare_tables(&p, (enum pasta_reducer)i, &device->tables[i],
				       &host->tables[i]);
	c->open--;
	c->launches++;
	c->rows += p.rows;
	c->unlike += p.wrong != 0;
	c->wrong += p.wrong;
	pasta_unlock(&c->lock);
}

/* Reports a difference under a separate handler name. The number of messages per handler is
 * limited, so reports of processes without a difference could suppress the report of the
 * difference. */
void pasta_compare_report(struct pasta_compare *c)
{
	char text[320], skipped_text[80] = "";
	uint64_t skipped;

	pasta_lock(&c->lock);
	skipped = c->skipped + c->open;
	if (skipped)
		snprintf(skipped_text, sizeof(skipped_text),
			 "; launches not compared, because counts are incomplete: %" PRIu64,
			 skipped);
	if (c->wrong)
		snprintf(text, sizeof(text),
			 "device and host counted differently (launches: %" PRIu64 " of %" PRIu64
			 ", rows: %" PRIu64 " of %" PRIu64 "); %s%s",
			 c->unlike, c->launches, c->wrong, c->rows, c->first, skipped_text);
	else
		snprintf(text, sizeof(text),
			 "device and host counted %s (launches: %llu, rows: %llu)%s",
			 c->launches ? "the same accesses" : "no comparable accesses",
			 (unsigned long long)c->launches, (unsigned long long)c->rows,
			 skipped_text);
	if (c->launches || skipped)
		pasta_agent_announce(c->wrong ? "accesses differ" : "accesses", text);
	pasta_unlock(&c->lock);
}
