/* accesstext.c - computes the data of an access index that reports show: scaled rows, names and
 * findings. */
#include "process/sdk/accessindex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 400
#define FRAMES 16      /* number of innermost frames in which a source line is searched for */
#define REFUSED_MAX 20 /* maximum number of findings about kernels that could not be counted */
#define UNSEEN_MAX 20  /* maximum number of findings about sites that are not counted */

const struct pasta_access_shape *pasta_access_index_shapes(const struct pasta_access_index *index,
							   size_t *at)
{
	const struct pasta_accidx_shape *s = pasta_map_next(index->shapes, at, NULL);

	return s ? &s->shape : NULL;
}

const struct pasta_access_object *pasta_access_index_objects(const struct pasta_access_index *index,
							     size_t *at)
{
	const struct pasta_accidx_object *o = pasta_map_next(index->objects, at, NULL);

	return o ? &o->object : NULL;
}

const struct pasta_access_site *pasta_access_index_sites(const struct pasta_access_index *index,
							 size_t *at)
{
	return pasta_map_next(index->sites, at, NULL);
}

const struct pasta_access_object *pasta_access_index_object(const struct pasta_access_index *index,
							    uint64_t key)
{
	const struct pasta_accidx_object *o = pasta_map_find(index->objects, key);

	return o ? &o->object : NULL;
}

const struct pasta_access_site *pasta_access_index_site(const struct pasta_access_index *index,
							uint64_t key)
{
	return pasta_map_find(index->sites, key);
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

static struct pasta_access_row text_scaled_row(const struct pasta_access_shape *s,
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

int pasta_access_index_rows(const struct pasta_access_index *index, uint32_t reducer,
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
	while (!stop && (s = pasta_map_next(index->shapes, &at, NULL)))
		for (inner = 0; !stop && s->rows[reducer] &&
				(row = pasta_map_next(s->rows[reducer], &inner, NULL));) {
			struct pasta_access_row all = text_scaled_row(&s->shape, row);

			stop = visit(ctx, &s->shape, &all);
		}
	return stop;
}

/* Returns whether no launch of the shape could be counted. The launches that sampling left out then
 * count as refused, because there are no sums that could be scaled to all launches. */
static bool text_is_refused(const struct pasta_access_shape *s)
{
	return s->refused && !s->counted;
}

struct pasta_access_totals pasta_access_index_totals(const struct pasta_access_index *index)
{
	struct pasta_access_totals t = {
		.lost = index->dropped, .page_other = index->page_other, .blocks = 1};
	const struct pasta_access_shape *s;
	const struct pasta_accidx_proc *p;
	uint64_t count, bytes;
	size_t at = 0;

	while ((s = pasta_access_index_shapes(index, &at))) {
		t.counted += s->counted;
		t.sampled += text_is_refused(s) ? 0 : s->sampled;
		t.filtered += s->filtered;
		t.refused += s->refused + (text_is_refused(s) ? s->sampled : 0);
		t.scaled += s->counted ? s->sampled + s->refused : 0;
		t.partial += s->partial;
		t.blocks = s->blocks > t.blocks ? s->blocks : t.blocks;
		t.unregistered += !s->registered;
	}
	t.unended = index->begun > index->ended ? index->begun - index->ended : 0;
	at = 0;
	while ((p = pasta_map_next(index->procs, &at, NULL))) {
		pasta_accidx_untouched(p, &count, &bytes);
		t.untouched += count;
		t.untouched_bytes = pasta_access_add(t.untouched_bytes, bytes);
	}
	return t;
}

/* -- Names. -- */

static const char *text_of_type(const struct pasta_access_object *o)
{
	static const char *const types[PASTA_ALLOC_TYPES] = {
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
	return types[o->type < PASTA_ALLOC_TYPES ? o->type : 0];
}

/* Returns the innermost frame with a known source line. If no line is known, returns the innermost
 * frame; if there is no stack, returns "". */
static const char *text_of_stack(const struct pasta_access_object *o, char *text, size_t size)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t i = 0, count = pasta_stack_frames(o->proc, o->stack, frames, FRAMES);

	count = count < FRAMES ? count : FRAMES;
	while (i < count && !*frames[i].file)
		i++;
	return count ? pasta_stack_frame_text(&frames[i < count ? i : 0], text, size) : "";
}

static void text_of_object(const struct pasta_access_index *index,
			   const struct pasta_access_object *o, char *text, size_t size)
{
	const struct pasta_access_object *whole = pasta_access_index_object(index, o->parent);
	char of[100] = "";

	if (whole)
		snprintf(of, sizeof(of), " of %s %llu", text_of_type(whole),
			 (unsigned long long)whole->number);
	if (o->number)
		snprintf(text, size, "%s %llu%s", text_of_type(o), (unsigned long long)o->number,
			 of);
	else if (o->bytes)
		snprintf(text, size, "memory at 0x%llx", (unsigned long long)o->addr);
	else
		snprintf(text, size, "object %llu (unknown)", (unsigned long long)o->id);
}

const char *pasta_access_object_text(const struct pasta_access_index *index,
				     const struct pasta_access_object *o, char *text, size_t size)
{
	char what[200], part[TEXT];
	const char *from = text_of_stack(o, part, sizeof(part));

	text_of_object(index, o, what, sizeof(what));
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

static int text_by_count(const void *a, const void *b)
{
	const struct pasta_accidx_refused *x = *(const struct pasta_accidx_refused *const *)a,
					  *y = *(const struct pasta_accidx_refused *const *)b;
	int order = x->count < y->count ? 1 : x->count > y->count ? -1 : 0;

	order = order ? order : strcmp(pasta_str(x->name), pasta_str(y->name));
	return order ? order : strcmp(pasta_str(x->detail), pasta_str(y->detail));
}

static bool text_add_refused(struct pasta_map *all, uint32_t name, uint32_t detail, uint64_t count)
{
	struct pasta_accidx_refused *r = pasta_map_add(all, pasta_pair(name, detail));

	if (r)
		*r = (struct pasta_accidx_refused){name, detail, r->count + count};
	return r;
}

/* Returns a map of the launches that could not be counted, by kernel name and reason. If no launch
 * of a shape was counted, the map includes the launches of the shape that sampling left out. The
 * caller frees the map. Returns NULL when out of memory. */
static struct pasta_map *text_refused(const struct pasta_access_index *index)
{
	struct pasta_map *all = pasta_map_new(sizeof(struct pasta_accidx_refused));
	const struct pasta_access_shape *s;
	const struct pasta_accidx_refused *r;
	bool ok = all;
	size_t at = 0;

	while (ok && (r = pasta_map_next(index->refused, &at, NULL)))
		ok = text_add_refused(all, r->name, r->detail, r->count);
	at = 0;
	while (ok && (s = pasta_access_index_shapes(index, &at)))
		ok = !text_is_refused(s) || text_add_refused(all, s->name, s->detail, s->sampled);
	if (ok)
		return all;
	pasta_map_free(all);
	return NULL;
}

static void text_find_refused(const struct pasta_access_index *index, struct pasta_out *out)
{
	struct pasta_map *all = text_refused(index);
	struct pasta_accidx_refused **list = all ? pasta_map_sorted(all, text_by_count) : NULL;
	uint64_t rest = 0;
	size_t i;

	for (i = 0; list && list[i]; i++) {
		char what[TEXT], evidence[100];

		if (i >= REFUSED_MAX) {
			rest += list[i]->count;
			continue;
		}
		snprintf(what, sizeof(what), "accesses of this kernel could not be counted: %s",
			 list[i]->detail ? pasta_str(list[i]->detail) : "no reason was recorded");
		snprintf(evidence, sizeof(evidence), "launches that were not counted: %llu",
			 (unsigned long long)list[i]->count);
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what,
				 .where = list[i]->name ? pasta_str(list[i]->name) : "(unnamed)",
				 .evidence = evidence);
	}
	free(list);
	pasta_map_free(all);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(rest),
			 .what = "launches of other kernels whose accesses could not be counted");
}

static void text_find_scaled(const struct pasta_access_totals *t, struct pasta_out *out)
{
	uint64_t all = t->counted + t->scaled;
	char what[TEXT];

	if (!t->scaled)
		return;
	snprintf(what, sizeof(what),
		 "counted %llu of %llu launches; numbers are scaled to all launches, by kernel and "
		 "shape",
		 (unsigned long long)t->counted, (unsigned long long)all);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what,
			 .evidence = "the scaling assumes that launches of the same kernel and "
				     "shape access the same objects in the same way",
			 .action = t->sampled ? "record again with --all to count all launches"
					      : NULL);
}

/* Adds a finding if only a share of the thread blocks was counted. Runs that are read together may
 * have different shares, so the finding shows the smallest one. */
static void text_find_partial(const struct pasta_access_totals *t, struct pasta_out *out)
{
	char what[TEXT];

	if (!t->partial)
		return;
	snprintf(what, sizeof(what),
		 "in %llu launches, only one thread block in %llu was counted; accesses are scaled "
		 "to all thread blocks",
		 (unsigned long long)t->partial, (unsigned long long)t->blocks);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what,
			 .evidence =
				 "the scaling assumes that all thread blocks of a launch access "
				 "memory in the same way; an object or page is missing if no "
				 "counted thread block accesses it",
			 .action = "to count all thread blocks, record again without '--sample "
				   "blocks'");
}

static int text_add_up(void *ctx, const struct pasta_access_shape *shape,
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

/* Returns whether a sum may have reached INT64_MAX, the maximum of sums. Adds up each table: if its
 * total is below the maximum, so is each of its sums. */
static bool text_is_cut(const struct pasta_access_index *index)
{
	bool cut = false;
	uint32_t i;

	for (i = 0; i < PASTA_REDUCER_COUNT; i++) {
		struct pasta_access_row all = {0};

		pasta_access_index_rows(index, i, text_add_up, &all);
		cut |= all.loads == INT64_MAX || all.bytes == INT64_MAX || all.extra == INT64_MAX ||
		       all.active == INT64_MAX;
	}
	return cut;
}

static void text_find_unknown(const struct pasta_access_index *index, struct pasta_out *out)
{
	const struct pasta_access_object *o;
	const struct pasta_access_site *site;
	uint64_t objects = 0, sites = 0;
	size_t at = 0;

	while ((o = pasta_access_index_objects(index, &at)))
		objects += !o->number && !o->bytes;
	at = 0;
	while ((site = pasta_access_index_sites(index, &at)))
		sites += !site->known;
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(objects),
			 .what = "unknown objects",
			 .evidence = "the events that describe unknown objects and sites were "
				     "dropped");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(sites),
			 .what = "unknown sites in kernels",
			 .evidence = "the events that describe unknown objects and sites were "
				     "dropped");
}

static int text_by_site(const void *a, const void *b)
{
	const struct pasta_site_record *x = &(*(const struct pasta_access_site *const *)a)->site;
	const struct pasta_site_record *y = &(*(const struct pasta_access_site *const *)b)->site;
	int order = strcmp(pasta_str(x->callee), pasta_str(y->callee));

	order = order ? order : strcmp(pasta_str(x->file), pasta_str(y->file));
	order = order ? order : (x->line > y->line) - (x->line < y->line);
	return order ? order : strcmp(pasta_str(x->function), pasta_str(y->function));
}

static void text_put_unseen(const struct pasta_site_record *site, struct pasta_out *out)
{
	char what[TEXT], where[TEXT];

	snprintf(what, sizeof(what), "not counted: accesses by %s",
		 site->callee ? pasta_str(site->callee) : "an instruction of an unsupported kind");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what,
			 .where = pasta_access_site_text(site, where, sizeof(where)),
			 .evidence = "the sums of source lines and objects do not include accesses "
				     "that are not counted");
}

/* Returns the number of known sites whose accesses are not counted. If `list` is not NULL, stores
 * these sites in it. */
static size_t text_unseen(const struct pasta_access_index *index,
			  const struct pasta_access_site **list)
{
	const struct pasta_access_site *site;
	size_t count = 0, at = 0;

	while ((site = pasta_access_index_sites(index, &at))) {
		if (!site->known || site->site.flags & 0xff)
			continue;
		if (list)
			list[count] = site;
		count++;
	}
	return count;
}

/* Adds findings about sites whose accesses are not counted, whether or not a thread executed these
 * sites. Adds none for tools that read only the execution times of thread blocks. */
static void text_find_unseen(const struct pasta_access_index *index, struct pasta_out *out)
{
	const uint32_t times = PASTA_REDUCER_MASK(BLOCK) | PASTA_REDUCER_MASK(BARRIER);
	size_t count =
		index->reducers && !(index->reducers & ~times) ? 0 : text_unseen(index, NULL);
	const struct pasta_access_site **list = count ? malloc(count * sizeof(*list)) : NULL;
	uint64_t found = 0, rest = list ? 0 : count;

	if (list) {
		text_unseen(index, list);
		qsort(list, count, sizeof(*list), text_by_site);
	}
	for (size_t i = 0; list && i < count; i++) {
		if (i && !text_by_site(&list[i - 1], &list[i]))
			continue;
		if (found++ < UNSEEN_MAX)
			text_put_unseen(&list[i]->site, out);
		else
			rest++;
	}
	free(list);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(rest),
			 .what = "other sites whose accesses are not counted");
}

void pasta_access_index_exclusions(const struct pasta_access_index *index, struct pasta_out *out)
{
	struct pasta_access_totals t = pasta_access_index_totals(index);

	text_find_unseen(index, out);
	text_find_refused(index, out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(t.filtered),
			 .what = "launches excluded by the run's filters");
}

void pasta_access_index_findings(const struct pasta_access_index *index, struct pasta_out *out)
{
	struct pasta_access_totals t = pasta_access_index_totals(index);

	text_find_scaled(&t, out);
	text_find_partial(&t, out);
	pasta_access_index_exclusions(index, out);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t.unended),
		.what = "launches with incomplete accesses",
		.evidence = "the process ended before it stored all rows of the launches, or a "
			    "filter excluded some rows: the sums, and values that are scaled from "
			    "them, are too low");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t.unregistered),
			 .what = "kernels with accesses of unknown launches",
			 .evidence = "the events of the launches were dropped or excluded by a "
				     "filter; accesses of unknown launches are not scaled");
	text_find_unknown(index, out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t.lost),
			 .what = "dropped accesses",
			 .evidence =
				 "sums do not include dropped accesses; a launch that never ended "
				 "counts as one dropped access, although all of its accesses are "
				 "missing");
	if (text_is_cut(index))
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
				 .what = "some sums exceed 2^63 - 1, and are shown as 2^63 - 1",
				 .evidence = "the total of all accesses exceeds 2^63 - 1");
}
