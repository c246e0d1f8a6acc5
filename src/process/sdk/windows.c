/*
 * windows.c - collects values in tumbling and sliding windows, by key and position.
 *
 * Values are added to panes. A pane is as long as one step of the window.
 */
#include "process/sdk/windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/group.h"
#include "process/sdk/owned.h"

#define WINDOWS_PARTS_MAX ((uint64_t)1 << 16) /* maximum number of panes in a window */
enum { WINDOWS_KEY_MAX = 1 << 16, WINDOWS_VALUE_MAX = 1 << 16 };

/* A row of the group of panes. The tool's value follows the struct in memory. */
struct pane {
	struct {
		uint64_t number; /* position / step */
		uint32_t owner;	 /* number of the key; numbers start at 0 */
		uint32_t zero;
	} key;
	uint64_t calls;
};

struct pasta_windows {
	const struct pasta_window_def *def;
	uint64_t length, step;
	struct pasta_group_def owners_def, panes_def;
	/* The group of keys. After the key, each row has a uint32_t, which is the number of the key
	 * plus 1. NULL if the windows have no keys. */
	struct pasta_group *owners;
	struct pasta_group *panes;
	/* The value that a call receives if it counts as dropped; reports never show this value. */
	void *spare;
	uint64_t dropped;
};

static const struct pasta_member windows_members[] = {{0}};

/* -- Declarations -- */

static int windows_check_length(uint64_t length, uint64_t step, struct pasta_error *err)
{
	if (!length || length % step)
		return pasta_fail(err, -EINVAL,
				  "the length of windows must be a multiple of the step, and "
				  "above 0, but the length is %llu and the step is %llu",
				  (unsigned long long)length, (unsigned long long)step);
	if (length / step > WINDOWS_PARTS_MAX)
		return pasta_fail(err, -EINVAL,
				  "the length of windows must be at most %llu steps, but is "
				  "%llu: use a longer step",
				  (unsigned long long)WINDOWS_PARTS_MAX,
				  (unsigned long long)(length / step));
	return 0;
}

static bool windows_has_option(const struct pasta_tool *tool, const char *name)
{
	const struct pasta_option *o = tool->options;

	while (o && o->name && strcmp(o->name, name) != 0)
		o++;
	return o && o->name;
}

static int windows_check_sizes(const struct pasta_tool *tool, const struct pasta_window_def *def,
			       struct pasta_error *err)
{
	if (def->size != sizeof(*def))
		return pasta_fail(err, -EINVAL, "windows: declare them with PASTA_WINDOWS");
	if (!pasta_owned_fits(tool, def->state_offset))
		return pasta_fail(err, -EINVAL,
				  "the pointer to the windows is outside of the "
				  "tool's state");
	if (def->key_size % 4 || def->key_size > WINDOWS_KEY_MAX)
		return pasta_fail(err, -EINVAL,
				  "the key size of windows must be a multiple of 4 bytes, at "
				  "most %d, but is %u",
				  WINDOWS_KEY_MAX, def->key_size);
	if (!def->value_size || def->value_size > WINDOWS_VALUE_MAX)
		return pasta_fail(err, -EINVAL,
				  "the value size of windows must be 1 to %d "
				  "bytes, but is %u",
				  WINDOWS_VALUE_MAX, def->value_size);
	return 0;
}

int pasta_windows_check(const struct pasta_tool *tool, const struct pasta_window_def *def,
			struct pasta_error *err)
{
	int error = windows_check_sizes(tool, def, err);

	if (error)
		return error;
	if (def->length_option && !windows_has_option(tool, def->length_option))
		return pasta_fail(err, -EINVAL,
				  "windows: .length_option names the unknown "
				  "option '%s'",
				  def->length_option);
	if (!def->merge && ((def->step && (def->step != def->length || def->length_option)) ||
			    pasta_tool_is_sharded(tool)))
		return pasta_fail(err, -EINVAL,
				  "windows that slide and windows of a sharded tool need the "
				  "function .merge");
	/* A length that an option sets is not checked here, because pasta_windows_new checks it. */
	return def->length_option && !def->length
		       ? 0
		       : windows_check_length(def->length, def->step ? def->step : def->length,
					      err);
}

/* -- Making and freeing -- */

static struct pasta_group *windows_group(struct pasta_group_def *def, uint32_t key_size,
					 size_t row_size)
{
	*def = (struct pasta_group_def){.size = sizeof(*def),
					.key_size = key_size,
					.row_size = (uint32_t)row_size,
					.members = windows_members};
	return pasta_group_new(def, NULL, NULL);
}

struct pasta_windows *pasta_windows_new(const struct pasta_window_def *def,
					const struct pasta_opts *opts, struct pasta_error *err)
{
	uint64_t length =
		def->length_option && opts ? pasta_opt_u64(opts, def->length_option) : def->length;
	uint64_t step = def->step ? def->step : length;
	struct pasta_windows *w;

	if (windows_check_length(length, step, err))
		return NULL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->def = def;
	w->length = length;
	w->step = step;
	if (def->key_size)
		w->owners = windows_group(&w->owners_def, def->key_size,
					  def->key_size + sizeof(uint32_t));
	w->panes = windows_group(&w->panes_def, sizeof(((struct pane *)0)->key),
				 sizeof(struct pane) + def->value_size);
	w->spare = calloc(1, def->value_size);
	if (w->panes && w->spare && (w->owners || !def->key_size))
		return w;
	pasta_windows_free(w);
	return NULL;
}

void pasta_windows_free(struct pasta_windows *w)
{
	if (!w)
		return;
	pasta_group_free(w->owners);
	pasta_group_free(w->panes);
	free(w->spare);
	free(w);
}

int pasta_windows_error(const struct pasta_windows *w)
{
	int error = pasta_group_error(w->panes);

	return error || !w->owners ? error : pasta_group_error(w->owners);
}

uint64_t pasta_windows_dropped(const struct pasta_windows *w)
{
	return w->dropped;
}

/* -- Panes -- */

/* Returns the row of a key. If there is none, adds a row if `add` is true, and returns NULL if it
 * is false. */
static void *windows_row(struct pasta_group *group, const void *key, bool add)
{
	return add ? pasta_group_row(group, key) : pasta_group_find(group, key);
}

/* Finds the number of a key. If `add` is true, adds a key that is new. Returns false if the key is
 * unknown. */
static bool windows_owner(struct pasta_windows *w, const void *key, bool add, uint32_t *owner)
{
	char *row = w->owners ? windows_row(w->owners, key, add) : NULL;
	uint32_t *number = row ? (uint32_t *)(row + w->def->key_size) : NULL;

	if (number && !*number)
		*number = (uint32_t)pasta_group_count(w->owners);
	*owner = number ? *number - 1 : 0;
	return number || !w->owners;
}

/* Returns a pane. Adds it if it is new. Returns NULL, and counts `calls` calls as dropped, if there
 * are too many panes, or when out of memory. */
static struct pane *windows_pane(struct pasta_windows *w, const void *key, uint64_t number,
				 uint64_t calls)
{
	bool add = pasta_group_count(w->panes) < PASTA_WINDOWS_PANES;
	struct pane probe = {.key.number = number}, *pane = NULL;

	if (windows_owner(w, key, add, &probe.key.owner))
		pane = windows_row(w->panes, &probe.key, add);
	if (!pane || pasta_windows_error(w)) {
		w->dropped += calls;
		return NULL;
	}
	pane->calls += calls;
	return pane;
}

void *pasta_windows_at(struct pasta_windows *w, const void *key, uint64_t position)
{
	struct pane *pane =
		position == UINT64_MAX ? NULL : windows_pane(w, key, position / w->step, 1);

	return pane ? (void *)(pane + 1) : memset(w->spare, 0, w->def->value_size);
}

static const void **windows_keys(const struct pasta_windows *w)
{
	size_t at = 0, count = w->owners ? pasta_group_count(w->owners) : 0;
	const void **keys = calloc(count + 1, sizeof(*keys));

	for (size_t i = 0; keys && i < count; i++)
		keys[i] = pasta_group_next(w->owners, &at);
	return keys;
}

int pasta_windows_merge(struct pasta_windows *into, const struct pasta_windows *from)
{
	const void **keys = windows_keys(from);
	int error = keys ? pasta_windows_error(from) : -ENOMEM;
	const struct pane *pane;
	size_t at = 0;

	while (!error && (pane = pasta_group_next(from->panes, &at))) {
		struct pane *sum =
			windows_pane(into, keys[pane->key.owner], pane->key.number, pane->calls);

		if (sum)
			into->def->merge(sum + 1, pane + 1);
	}
	free(keys);
	into->dropped += from->dropped;
	if (error)
		into->panes->error = error;
	return pasta_windows_error(into);
}

/* -- Visiting -- */

typedef int (*visit_fn)(void *ctx, const void *key, uint64_t begin, uint64_t end,
			const void *value);

/*
 * The panes of the current window, as a queue with two halves. In the first half, which is from
 * `low` to `middle`, the value of each pane includes the values of all later panes of this half.
 * The second half, which is from `middle` to `high`, has a single merged value. So each pane is
 * merged at most three times, even if many windows contain it.
 */
struct slide {
	const struct pasta_windows *w;
	struct pane **panes; /* the panes of one key, sorted by their numbers */
	size_t count, low, middle, high;
	size_t first;  /* index of the pane to which the first value of `front` belongs */
	size_t stride; /* size of a value in bytes */
	char *front;   /* merged values of the panes of the first half */
	/* `back` is the merged value of the second half; `value` is the value of the whole
	 * window. */
	char *back, *value;
};

static int windows_by_owner_and_number(const void *a, const void *b)
{
	const struct pane *x = *(struct pane *const *)a, *y = *(struct pane *const *)b;

	if (x->key.owner != y->key.owner)
		return x->key.owner < y->key.owner ? -1 : 1;
	return x->key.number < y->key.number ? -1 : x->key.number > y->key.number;
}

/* Returns all panes, sorted by key and number. Returns NULL when out of memory. */
static struct pane **windows_sorted(const struct pasta_windows *w)
{
	size_t at = 0, count = pasta_group_count(w->panes);
	struct pane **panes = calloc(count + 1, sizeof(struct pane *));

	for (size_t i = 0; panes && i < count; i++)
		panes[i] = pasta_group_next(w->panes, &at);
	if (panes)
		qsort(panes, count, sizeof(struct pane *), windows_by_owner_and_number);
	return panes;
}

static char *slide_front(const struct slide *s, size_t i)
{
	return s->front + (i - s->first) * s->stride;
}

/* Moves the panes of the second half to the first half, which must be empty. */
static void slide_turn(struct slide *s)
{
	void (*merge)(void *, const void *) = s->w->def->merge;

	s->first = s->low;
	for (size_t i = s->high; i-- > s->low;) {
		memset(slide_front(s, i), 0, s->stride);
		merge(slide_front(s, i), s->panes[i] + 1);
		if (i + 1 < s->high)
			merge(slide_front(s, i), slide_front(s, i + 1));
	}
	s->middle = s->high;
	memset(s->back, 0, s->stride);
}

/* Moves from the current window to the window that starts at pane number `begin`. */
static void slide_move(struct slide *s, uint64_t begin, uint64_t parts)
{
	while (s->low < s->high && s->panes[s->low]->key.number < begin) {
		if (s->low == s->middle)
			slide_turn(s);
		s->low++;
	}
	while (s->high < s->count && s->panes[s->high]->key.number - begin < parts)
		s->w->def->merge(s->back, s->panes[s->high++] + 1);
}

static int windows_visit(const struct pasta_windows *w, const void *key, uint64_t number,
			 const void *value, visit_fn visit, void *ctx)
{
	uint64_t begin = number * w->step, end = begin + w->length;

	return visit(ctx, key, begin, end < begin ? UINT64_MAX : end, value);
}

static const void *slide_value(const struct slide *s)
{
	memset(s->value, 0, s->stride);
	if (s->low < s->middle)
		s->w->def->merge(s->value, slide_front(s, s->low));
	if (s->middle < s->high)
		s->w->def->merge(s->value, s->back);
	return s->value;
}

/* Returns the number of the pane with which the next window starts. The next window is the first
 * one that contains the pane at index `high`, which was not visited yet. */
static uint64_t slide_first(const struct slide *s, uint64_t parts)
{
	uint64_t number = s->panes[s->high]->key.number;

	return number < parts ? 0 : number - parts + 1;
}

/* Visits all sliding windows of one key. */
static int slide_each(struct slide *s, const void *key, visit_fn visit, void *ctx)
{
	uint64_t begin = 0, parts = s->w->length / s->w->step;
	int stop = 0;

	s->low = s->middle = s->high = 0;
	memset(s->back, 0, s->stride);
	while (!stop && (s->low < s->high || s->high < s->count)) {
		if (s->low == s->high)
			begin = slide_first(s, parts);
		slide_move(s, begin, parts);
		if (s->low < s->high)
			stop = windows_visit(s->w, key, begin++, slide_value(s), visit, ctx);
	}
	return stop;
}

static int windows_tumble(const struct slide *s, const void *key, visit_fn visit, void *ctx)
{
	int stop = 0;

	for (size_t i = 0; i < s->count && !stop; i++)
		stop = windows_visit(s->w, key, s->panes[i]->key.number, s->panes[i] + 1, visit,
				     ctx);
	return stop;
}

static int windows_by_key(struct slide *s, struct pane **panes, const void *const *keys,
			  visit_fn visit, void *ctx)
{
	size_t from = 0, count = pasta_group_count(s->w->panes);
	int stop = 0;

	while (!stop && from < count) {
		uint32_t owner = panes[from]->key.owner;

		s->panes = panes + from;
		for (s->count = 0; from < count && panes[from]->key.owner == owner; from++)
			s->count++;
		stop = s->w->length == s->w->step ? windows_tumble(s, keys[owner], visit, ctx)
						  : slide_each(s, keys[owner], visit, ctx);
	}
	return stop;
}

int pasta_windows_each(const struct pasta_windows *w, visit_fn visit, void *ctx)
{
	size_t parts = (size_t)(w->length / w->step), count = pasta_group_count(w->panes);
	struct slide s = {.w = w, .stride = (w->def->value_size + 7) & ~(size_t)7};
	struct pane **panes = windows_sorted(w);
	const void **keys = windows_keys(w);
	int status = -ENOMEM;

	s.front = calloc((parts < count ? parts : count) + 1, s.stride);
	s.back = calloc(1, s.stride);
	s.value = calloc(1, s.stride);
	if (panes && keys && s.front && s.back && s.value)
		status = windows_by_key(&s, panes, keys, visit, ctx);
	free(panes);
	free(keys);
	free(s.front);
	free(s.back);
	free(s.value);
	return status;
}

/* -- Positions -- */

uint64_t pasta_event_position(const struct pasta_event *ev, const struct pasta_where *where,
			      enum pasta_position position)
{
	switch (position) {
	case PASTA_POSITION_TIME:
		return ev->time;
	case PASTA_POSITION_LAUNCH:
		return where->launch;
	case PASTA_POSITION_ITERATION:
		return where->iteration;
	default:
		return UINT64_MAX;
	}
}
