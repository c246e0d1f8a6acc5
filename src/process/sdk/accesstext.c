/* accesstext.c - what a book of memory accesses has to tell: rows, scaled; names; findings. */
#include "process/sdk/accessindex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 400
#define FRAMES 16      /* of a call path, from the innermost, that are looked at */
#define REFUSED_MAX 20 /* findings of kernels that could not be counted */
#define UNSEEN_MAX 20  /* likewise of places in them */

const struct pasta_access_shape *pasta_access_index_shapes(const struct pasta_access_index *b,
							   size_t *at)
{
	const struct pasta_accidx_shape *s = pasta_map_next(b->shapes, at, NULL);

	return s ? &s->shape : NULL;
}

const struct pasta_access_object *pasta_access_index_objects(const struct pasta_access_index *b,
							     size_t *at)
{
	const struct pasta_accidx_object *o = pasta_map_next(b->objects, at, NULL);

	return o ? &o->object : NULL;
}

const struct pasta_access_site *pasta_access_index_sites(const struct pasta_access_index *b,
							 size_t *at)
{
	return pasta_map_next(b->sites, at, NULL);
}

const struct pasta_access_object *pasta_access_index_object(const struct pasta_access_index *b,
							    uint64_t key)
{
	const struct pasta_accidx_object *o = pasta_map_find(b->objects, key);

	return o ? &o->object : NULL;
}

const struct pasta_access_site *pasta_access_index_site(const struct pasta_access_index *b,
							uint64_t key)
{
	return pasta_map_find(b->sites, key);
}

/* -- Scaling. -- */

uint64_t pasta_access_launches(const struct pasta_access_shape *s)
{
	return s->counted ? s->counted + s->sampled + s->refused : 0;
}

uint64_t pasta_access_scale(const struct pasta_access_shape *s, uint64_t sum)
{
	unsigned __int128 all = (unsigned __int128)sum * pasta_access_launches(s);

	if (s->counted)
		all = (all + s->counted / 2) / s->counted;
	else
		all = sum;
	return all > INT64_MAX ? (uint64_t)INT64_MAX : (uint64_t)all;
}

static struct pasta_access_row scaled(const struct pasta_access_shape *s,
				      const struct pasta_access_row *row)
{
	struct pasta_access_row all = {.key = row->key,
				       .loads = pasta_access_scale(s, row->loads),
				       .stores = pasta_access_scale(s, row->stores),
				       .bytes = pasta_access_scale(s, row->bytes),
				       .extra = pasta_access_scale(s, row->extra),
				       .active = pasta_access_scale(s, row->active),
				       .most = row->most,
				       .bytes_read = UINT64_MAX,
				       .bytes_written = UINT64_MAX};

	if (row->bytes_written != UINT64_MAX) {
		all.bytes_written = pasta_access_scale(s, row->bytes_written);
		all.bytes_read = all.bytes - all.bytes_written;
	}
	return all;
}

int pasta_access_index_rows(const struct pasta_access_index *b, uint32_t reducer,
			    int (*visit)(void *ctx, const struct pasta_access_shape *shape,
					 const struct pasta_access_row *row),
			    void *ctx)
{
	const struct pasta_accidx_shape *s;
	const struct pasta_access_row *row;
	size_t at = 0, inner;
	int stop = 0;

	if (reducer >= PASTA_REDUCER_COUNT)
		return 0;
	while (!stop && (s = pasta_map_next(b->shapes, &at, NULL)))
		for (inner = 0; !stop && s->rows[reducer] &&
				(row = pasta_map_next(s->rows[reducer], &inner, NULL));) {
			struct pasta_access_row all = scaled(&s->shape, row);

			stop = visit(ctx, &s->shape, &all);
		}
	return stop;
}

/* None of those that were to be counted could be: the others stand for nothing. */
static bool is_refused(const struct pasta_access_shape *s)
{
	return s->refused && !s->counted;
}

struct pasta_access_totals pasta_access_index_totals(const struct pasta_access_index *b)
{
	struct pasta_access_totals t = {.lost = b->lost, .page_other = b->page_other, .blocks = 1};
	const struct pasta_access_shape *s;
	const struct pasta_accidx_proc *p;
	uint64_t count, bytes;
	size_t at = 0;

	while ((s = pasta_access_index_shapes(b, &at))) {
		t.counted += s->counted;
		t.sampled += is_refused(s) ? 0 : s->sampled;
		t.filtered += s->filtered;
		t.refused += s->refused + (is_refused(s) ? s->sampled : 0);
		t.scaled += s->counted ? s->sampled + s->refused : 0;
		t.partial += s->partial;
		t.blocks = s->blocks > t.blocks ? s->blocks : t.blocks;
		t.unregistered += !s->registered;
	}
	t.unended = b->begun > b->ended ? b->begun - b->ended : 0;
	at = 0;
	while ((p = pasta_map_next(b->procs, &at, NULL))) {
		pasta_accidx_untouched(p, &count, &bytes);
		t.untouched += count;
		t.untouched_bytes = pasta_access_add(t.untouched_bytes, bytes);
	}
	return t;
}

/* -- Names. -- */

static const char *sort_text(const struct pasta_access_object *o)
{
	static const char *const sorts[PASTA_ALLOC_TYPES] = {
		[0] = "buffer",
		[PASTA_ALLOC_DEVICE] = "buffer",
		[PASTA_ALLOC_HOST] = "host buffer",
		[PASTA_ALLOC_MANAGED] = "managed buffer",
		[PASTA_ALLOC_POOL] = "pool buffer",
		[PASTA_ALLOC_SEGMENT] = "segment",
		[PASTA_ALLOC_IMAGE] = "image",
		[PASTA_ALLOC_PHYSICAL] = "physical buffer",
		[PASTA_ALLOC_MAPPED] = "mapped buffer",
	};
	bool plain = o->type != PASTA_ALLOC_POOL && o->type != PASTA_ALLOC_MAPPED;

	if (o->part && plain)
		return o->type == PASTA_ALLOC_IMAGE ? "image" : "sub-buffer";
	return sorts[o->type < PASTA_ALLOC_TYPES ? o->type : 0];
}

/* The innermost function whose source is known, or else the innermost; "" for what is no path. */
static const char *stack_text(const struct pasta_access_object *o, char *text, size_t size)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t i = 0, count = pasta_stack_frames(o->proc, o->stack, frames, FRAMES);

	count = count < FRAMES ? count : FRAMES;
	while (i < count && !*frames[i].file)
		i++;
	return count ? pasta_stack_frame_text(&frames[i < count ? i : 0], text, size) : "";
}

static void what_text(const struct pasta_access_index *b, const struct pasta_access_object *o,
		      char *text, size_t size)
{
	const struct pasta_access_object *whole = pasta_access_index_object(b, o->parent);
	char of[100] = "";

	if (whole)
		snprintf(of, sizeof(of), " of %s %llu", sort_text(whole),
			 (unsigned long long)whole->number);
	if (o->number)
		snprintf(text, size, "%s %llu%s", sort_text(o), (unsigned long long)o->number, of);
	else if (o->bytes)
		snprintf(text, size, "memory at 0x%llx", (unsigned long long)o->addr);
	else
		snprintf(text, size, "object %llu (unknown)", (unsigned long long)o->id);
}

const char *pasta_access_object_text(const struct pasta_access_index *b,
				     const struct pasta_access_object *o, char *text, size_t size)
{
	char what[200], place[TEXT];
	const char *from = stack_text(o, place, sizeof(place));

	what_text(b, o, what, sizeof(what));
	if (o->name)
		snprintf(text, size, "%s (%s)%s%s", pasta_str(o->name), what, *from ? " at " : "",
			 from);
	else
		snprintf(text, size, "%s%s%s", what, *from ? " at " : "", from);
	return text;
}

const char *pasta_access_space_text(uint64_t key)
{
	switch (key) {
	case PASTA_OBJECT_NONE:
		return "(outside of objects)";
	case PASTA_SPACE_LOCAL:
		return "(local)";
	case PASTA_SPACE_PRIVATE:
		return "(private)";
	case PASTA_SPACE_REMOTE:
		return "(local of other groups)";
	case PASTA_KEY_OTHER:
		return "(no room in tables)";
	default:
		return "(unknown space)";
	}
}

const char *pasta_access_site_text(const struct pasta_site_record *s, char *text, size_t size)
{
	const char *function = s->function ? pasta_str(s->function) : "(unknown)";

	if (s->file && s->line)
		snprintf(text, size, "%s (%s:%u)", function, pasta_str(s->file), s->line);
	else if (s->line)
		snprintf(text, size, "%s (line %u)", function, s->line);
	else
		snprintf(text, size, "%s", function);
	return text;
}

/* -- Findings. -- */

static int by_count(const void *a, const void *b)
{
	const struct pasta_accidx_refused *x = *(const struct pasta_accidx_refused *const *)a,
					*y = *(const struct pasta_accidx_refused *const *)b;
	int order = x->count < y->count ? 1 : x->count > y->count ? -1 : 0;

	order = order ? order : strcmp(pasta_str(x->name), pasta_str(y->name));
	return order ? order : strcmp(pasta_str(x->detail), pasta_str(y->detail));
}

static bool refuse_more(struct pasta_map *all, uint32_t name, uint32_t detail, uint64_t count)
{
	struct pasta_accidx_refused *r = pasta_map_add(all, pasta_pair(name, detail));

	if (r)
		*r = (struct pasta_accidx_refused){name, detail, r->count + count};
	return r;
}

/* By name and detail, with launches that nobody tried to count because others could not be; NULL
 * when out of memory. */
static struct pasta_map *refused_of(const struct pasta_access_index *b)
{
	struct pasta_map *all = pasta_map_new(sizeof(struct pasta_accidx_refused));
	const struct pasta_access_shape *s;
	const struct pasta_accidx_refused *r;
	bool ok = all;
	size_t at = 0;

	while (ok && (r = pasta_map_next(b->refused, &at, NULL)))
		ok = refuse_more(all, r->name, r->detail, r->count);
	at = 0;
	while (ok && (s = pasta_access_index_shapes(b, &at)))
		ok = !is_refused(s) || refuse_more(all, s->name, s->detail, s->sampled);
	if (ok)
		return all;
	pasta_map_free(all);
	return NULL;
}

static void find_refused(const struct pasta_access_index *b, struct pasta_out *out)
{
	struct pasta_map *all = refused_of(b);
	struct pasta_accidx_refused **list = all ? pasta_map_sorted(all, by_count) : NULL;
	uint64_t rest = 0;
	size_t i;

	for (i = 0; list && list[i]; i++) {
		char what[TEXT], evidence[100];

		if (i >= REFUSED_MAX) {
			rest += list[i]->count;
			continue;
		}
		snprintf(what, sizeof(what), "accesses of this kernel could not be counted: %s",
			 list[i]->detail ? pasta_str(list[i]->detail) : "no reason is given");
		snprintf(evidence, sizeof(evidence), "launches that were not counted: %llu",
			 (unsigned long long)list[i]->count);
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what,
				 .where = list[i]->name ? pasta_str(list[i]->name) : "(unnamed)",
				 .evidence = evidence);
	}
	free(list);
	pasta_map_free(all);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(rest),
			 .what = "launches of other kernels that could not be counted");
}

static void find_scaled(const struct pasta_access_totals *t, struct pasta_out *out)
{
	uint64_t all = t->counted + t->scaled;
	char what[TEXT];

	if (!t->scaled)
		return;
	snprintf(what, sizeof(what),
		 "counted %llu of %llu launches; numbers are scaled by kernel and shape",
		 (unsigned long long)t->counted, (unsigned long long)all);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what,
			 .evidence = "launches of one kernel over one range are "
				     "taken to access alike, and the same "
				     "objects",
			 .action = t->sampled ? "run with --all to count all "
						"of them"
					      : NULL);
}

/* One run has one such number; several that are read together may have others. */
static void find_partial(const struct pasta_access_totals *t, struct pasta_out *out)
{
	char what[TEXT];

	if (!t->partial)
		return;
	snprintf(what, sizeof(what),
		 "counted one block in %llu of %llu launches; accesses are scaled by it",
		 (unsigned long long)t->blocks, (unsigned long long)t->partial);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what,
			 .evidence = "blocks of a launch are taken to access "
				     "alike; objects and pages that only others "
				     "access are not seen",
			 .action = "run without --sample blocks to count all "
				   "of them");
}

static int add_up(void *ctx, const struct pasta_access_shape *shape,
		  const struct pasta_access_row *row)
{
	struct pasta_access_row *all = ctx;

	(void)shape;
	all->loads = pasta_access_add(all->loads, pasta_access_add(row->loads, row->stores));
	all->bytes = pasta_access_add(all->bytes, row->bytes);
	all->extra = pasta_access_add(all->extra, row->extra);
	all->active = pasta_access_add(all->active, row->active);
	return 0;
}

/* If all of a table together stay below the limit, so does each sum of it. */
static bool is_cut(const struct pasta_access_index *b)
{
	bool cut = false;
	uint32_t i;

	for (i = 0; i < PASTA_REDUCER_COUNT; i++) {
		struct pasta_access_row all = {0};

		pasta_access_index_rows(b, i, add_up, &all);
		cut |= all.loads == INT64_MAX || all.bytes == INT64_MAX || all.extra == INT64_MAX ||
		       all.active == INT64_MAX;
	}
	return cut;
}

static void find_unknown(const struct pasta_access_index *b, struct pasta_out *out)
{
	const struct pasta_access_object *o;
	const struct pasta_access_site *site;
	uint64_t objects = 0, sites = 0;
	size_t at = 0;

	while ((o = pasta_access_index_objects(b, &at)))
		objects += !o->number && !o->bytes;
	at = 0;
	while ((site = pasta_access_index_sites(b, &at)))
		sites += !site->known;
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(objects),
			 .what = "objects that nothing is known of",
			 .evidence = "the events that tell of them were dropped");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(sites),
			 .what = "places in kernels that nothing is known of",
			 .evidence = "the events that tell of them were dropped");
}

static int by_place(const void *a, const void *b)
{
	const struct pasta_site_record *x = &(*(const struct pasta_access_site *const *)a)->site;
	const struct pasta_site_record *y = &(*(const struct pasta_access_site *const *)b)->site;
	int order = strcmp(pasta_str(x->callee), pasta_str(y->callee));

	order = order ? order : strcmp(pasta_str(x->file), pasta_str(y->file));
	order = order ? order : (x->line > y->line) - (x->line < y->line);
	return order ? order : strcmp(pasta_str(x->function), pasta_str(y->function));
}

static void put_unseen(const struct pasta_site_record *site, struct pasta_out *out)
{
	char what[TEXT], where[TEXT];

	snprintf(what, sizeof(what), "not counted: accesses of %s",
		 site->callee ? pasta_str(site->callee) : "an instruction of another kind");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what,
			 .where = pasta_access_site_text(site, where, sizeof(where)),
			 .evidence = "lines and objects lack them");
}

/* Those of no kind, so many; into list where there is one. */
static size_t unseen_of(const struct pasta_access_index *b, const struct pasta_access_site **list)
{
	const struct pasta_access_site *site;
	size_t count = 0, at = 0;

	while ((site = pasta_access_index_sites(b, &at))) {
		if (!site->known || site->site.flags & 0xff)
			continue;
		if (list)
			list[count] = site;
		count++;
	}
	return count;
}

/* Places that are there in the program, whether they were reached or not. Times of blocks do not
 * lack them. */
static void find_unseen(const struct pasta_access_index *b, struct pasta_out *out)
{
	const uint32_t times = PASTA_REDUCER_MASK(BLOCK) | PASTA_REDUCER_MASK(BARRIER);
	size_t count = b->reducers && !(b->reducers & ~times) ? 0 : unseen_of(b, NULL);
	const struct pasta_access_site **list = count ? malloc(count * sizeof(*list)) : NULL;
	uint64_t found = 0, rest = list ? 0 : count;

	if (list) {
		unseen_of(b, list);
		qsort(list, count, sizeof(*list), by_place);
	}
	for (size_t i = 0; list && i < count; i++) {
		if (i && !by_place(&list[i - 1], &list[i]))
			continue;
		if (found++ < UNSEEN_MAX)
			put_unseen(&list[i]->site, out);
		else
			rest++;
	}
	free(list);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(rest),
			 .what = "other places that are not counted");
}

void pasta_access_index_exclusions(const struct pasta_access_index *b, struct pasta_out *out)
{
	struct pasta_access_totals t = pasta_access_index_totals(b);

	find_unseen(b, out);
	find_refused(b, out);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(t.filtered),
		.what = "launches that were not counted because the run's filters leave them out");
}

void pasta_access_index_findings(const struct pasta_access_index *b, struct pasta_out *out)
{
	struct pasta_access_totals t = pasta_access_index_totals(b);

	find_scaled(&t, out);
	find_partial(&t, out);
	pasta_access_index_exclusions(b, out);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t.unended),
		.what = "launches whose accesses are not all there",
		.evidence =
			"the process ended, or was killed, before all that they counted was told, "
			"or a filter cut there: sums, and what is scaled by them, are too low");
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t.unregistered),
		.what = "kernels with accesses of launches that nobody told of",
		.evidence = "these are not scaled: events were dropped, or a filter cut between a "
			    "launch and its accesses");
	find_unknown(b, out);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t.lost),
		.what = "accesses that were lost",
		.evidence =
			"numbers are too low by them; a launch that never ended has lost all of "
			"its own, and counts as one");
	if (is_cut(b))
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
				 .what = "sums are too large: they stay at 2^63 - 1",
				 .evidence = "all accesses together are more than that");
}
