/* python_flame - device time by Python call path, operator and kernel. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

#ifndef LEAVES		 /* tests have fewer */
#define LEAVES (1 << 20) /* different paths with their kernels */
#endif
#define OPS 256	    /* operators of a path, from the innermost on */
#define FRAMES 4096 /* of a call path */
#define TEXT 300    /* bytes of a frame */

/* What of it is known. */
enum sort { LINED, NO_LINE, NO_OP, NO_LAUNCH, OTHER, SORTS };

static const char *const sort_names[SORTS] = {"", "(no Python line)", "(no operator)",
					      "(launch not known)", "(other)"};

/* A path of operators: its innermost, and the number of what is around. Numbers are from 1. */
struct path {
	uint32_t up, name, number;
};

/* Work of one name, from one place. */
struct leaf {
	uint32_t python, path, name; /* 0: none */
	unsigned int kind;	     /* of the work */
	unsigned int sub;	     /* of copies */
	bool backward, orphan, other;
	uint64_t count, ns;
};

struct flame {
	struct pasta_map *paths;  /* struct path, by number around it and name */
	struct pasta_map *scopes; /* uint32_t: path's number, by scope's id */
	struct pasta_map *leaves; /* by hash, or the next number that is free */
	struct leaf other;	  /* past the limit */
	uint64_t forgotten;
	bool copies, failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct flame *f = state;

	f->copies = pasta_opt_yes(opts, "copies");
	f->other = (struct leaf){.other = true};
	f->paths = pasta_map_new(sizeof(struct path));
	f->scopes = pasta_map_new(sizeof(uint32_t));
	f->leaves = pasta_map_new(sizeof(struct leaf));
	if (!f->paths || !f->scopes || !f->leaves)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct flame *f = state;

	pasta_map_free(f->paths);
	pasta_map_free(f->scopes);
	pasta_map_free(f->leaves);
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static uint32_t path_below(struct flame *f, uint32_t up, uint32_t name)
{
	struct path *path = pasta_map_add(f->paths, pasta_pair(up, name));

	if (!path) {
		f->failed = true;
		return up;
	}
	if (!path->number)
		*path = (struct path){up, name, (uint32_t)pasta_map_count(f->paths)};
	return path->number;
}

/* The operators of a place, without the regions. */
static uint32_t make_path(struct flame *f, const struct pasta_scope *op)
{
	uint32_t names[OPS], path = 0;
	size_t count = 0;

	for (; op && count < OPS; op = op->up ? op->up->op : NULL)
		names[count++] = op->name;
	while (count)
		path = path_below(f, path, names[--count]);
	return path;
}

static uint32_t path_of(struct flame *f, const struct pasta_scope *scope)
{
	const struct pasta_scope *op = scope ? scope->op : NULL;
	uint32_t *known = op ? pasta_map_add(f->scopes, op->id) : NULL;

	if (!op)
		return 0;
	if (!known) {
		f->failed = true;
		return 0;
	}
	if (!*known)
		*known = make_path(f, op);
	return *known;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static bool is_leaf(const struct leaf *a, const struct leaf *b)
{
	return a->python == b->python && a->path == b->path && a->name == b->name &&
	       a->kind == b->kind && a->sub == b->sub && a->backward == b->backward &&
	       a->orphan == b->orphan;
}

/* Those whose hash is the same have the numbers after it: none is ever removed. */
static struct leaf *leaf_of(struct flame *f, const struct leaf *like)
{
	unsigned int bits = like->kind << 16 | like->sub << 8 | (unsigned int)like->orphan << 1 |
			    like->backward;
	uint64_t key = mix(mix(pasta_pair(like->python, like->path), like->name), bits);
	struct leaf *leaf;

	while ((leaf = pasta_map_find(f->leaves, key)) && !is_leaf(leaf, like))
		key++;
	if (leaf)
		return leaf;
	if (like->other || pasta_map_count(f->leaves) >= LEAVES)
		return &f->other;
	leaf = pasta_map_add(f->leaves, key);
	if (!leaf) {
		f->failed = true;
		return &f->other;
	}
	*leaf = *like;
	leaf->count = leaf->ns = 0;
	return leaf;
}

static void add(struct leaf *into, uint64_t count, uint64_t ns)
{
	into->count += count;
	into->ns += ns;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_where *where = pasta_where_of(ev);
	struct flame *f = state;
	struct leaf like = {.python = pasta_python_of(ev),
			    .path = path_of(f, where->scope),
			    .kind = ev->kind,
			    .backward = where->flags & PASTA_WHERE_BACKWARD,
			    .orphan = !(where->flags & PASTA_WHERE_LAUNCH)};
	uint64_t ns;

	if (ev->kind == PASTA_KIND_KERNEL) {
		like.name = ev->kernel.name;
		ns = ev->kernel.dur;
	} else if (!f->copies) {
		return;
	} else {
		like.sub = ev->kind == PASTA_KIND_COPY ? ev->sub : 0;
		ns = ev->kind == PASTA_KIND_COPY ? ev->copy.dur : ev->set.dur;
	}
	f->forgotten += where->flags & PASTA_WHERE_BACKWARD && where->flags & PASTA_WHERE_EXPIRED;
	add(leaf_of(f, &like), 1, ns);
}

/* Those around are before those inside. */
static int merge(void *into, const void *from, struct pasta_error *err)
{
	const struct flame *b = from;
	uint32_t *ours = calloc(pasta_map_count(b->paths) + 1, sizeof(*ours));
	struct flame *a = into;
	const struct path *path;
	const struct leaf *leaf;
	size_t at = 0;

	a->failed |= b->failed || !ours;
	while (ours && (path = pasta_map_next(b->paths, &at, NULL)))
		ours[path->number] = path_below(a, ours[path->up], path->name);
	at = 0;
	while (ours && (leaf = pasta_map_next(b->leaves, &at, NULL))) {
		struct leaf like = *leaf;

		like.path = ours[leaf->path];
		add(leaf_of(a, &like), leaf->count, leaf->ns);
	}
	add(&a->other, b->other.count, b->other.ns);
	a->forgotten += b->forgotten;
	free(ours);
}

/* -- Reporting. -- */

/* A line of Python, or what stands for it. */
struct row {
	const char *function, *file;
	uint32_t line;
	bool known;
	uint64_t self, total, backward, kernels;
	const struct leaf *last; /* whose time is in total */
};

/* A stack of the chart: its frames as one text, with BREAKs between. */
struct stack {
	char *text;
	uint64_t ns;
};
#define BREAK '\n'

struct report {
	const struct flame *f;
	struct stack *stacks;
	size_t count;
	const struct path **paths; /* by number */
	struct pasta_map *rows;	   /* by hash, as leaves */
	struct pasta_stack_frame *frames;
	size_t depth;	     /* of the call path */
	char (*texts)[TEXT]; /* of its frames, the outermost first; then "(backward)" */
	const char **stack;  /* of the chart */
	struct row **lines;  /* of its frames, NULL where there is none */
	uint32_t python;     /* the call path */
	uint64_t time[SORTS], all, with_op;
};

static uint64_t mix_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = mix(hash, (unsigned char)*text);
	return mix(hash, 256);
}

static struct row *row_of(struct report *r, const char *function, const char *file, uint32_t line)
{
	uint64_t key = mix_text(mix_text(line, function), file);
	struct row *row;

	while ((row = pasta_map_add(r->rows, key)) && row->known &&
	       (row->line != line || strcmp(row->function, function) || strcmp(row->file, file)))
		key++;
	if (row && !row->known)
		*row = (struct row){
			.function = function, .file = file, .line = line, .known = true};
	return row;
}

/* Interpreters write "<string>" and the like for what is in no file. */
static bool in_file(const struct pasta_stack_frame *f)
{
	return *f->file && *f->file != '<' && strncmp(f->function, "<built-in", 9);
}

/* Leaves come by call path: its frames are looked up once. */
static int look_up(struct report *r, uint32_t python)
{
	size_t i;

	if (python == r->python)
		return 0;
	r->python = python;
	r->depth = pasta_stack_frames(0, python, r->frames, FRAMES);
	r->depth = r->depth < FRAMES ? r->depth : FRAMES;
	for (i = 0; i < r->depth; i++) {
		const struct pasta_stack_frame *frame = &r->frames[i];

		pasta_stack_frame_text(frame, r->texts[r->depth - 1 - i], TEXT);
		r->lines[i] = in_file(frame) ? row_of(r, frame->function, frame->file, frame->line)
					     : NULL;
		if (in_file(frame) && !r->lines[i])
			return -ENOMEM;
	}
	return 0;
}

/* The innermost line, or NULL. */
static struct row *line_of(const struct report *r)
{
	size_t i = 0;

	while (i < r->depth && !r->lines[i])
		i++;
	return i < r->depth ? r->lines[i] : NULL;
}

static enum sort sort_of(const struct leaf *leaf, const struct row *line)
{
	if (leaf->other)
		return OTHER;
	if (leaf->orphan)
		return NO_LAUNCH;
	return line ? LINED : leaf->path ? NO_LINE : NO_OP;
}

static const char *work_text(const struct leaf *leaf)
{
	static const char *const ways[] = {
		[0] = "[copy]",
		[PASTA_COPY_H2D] = "[copy h2d]",
		[PASTA_COPY_D2H] = "[copy d2h]",
		[PASTA_COPY_D2D] = "[copy d2d]",
		[PASTA_COPY_H2H] = "[copy h2h]",
		[PASTA_COPY_P2P] = "[copy p2p]",
	};

	if (leaf->kind == PASTA_KIND_SET)
		return "[fill]";
	if (leaf->kind == PASTA_KIND_COPY)
		return ways[leaf->sub < sizeof(ways) / sizeof(*ways) ? leaf->sub : 0];
	return leaf->name ? pasta_str(leaf->name) : "(unnamed)";
}

/* The frames that are in r->stack, as one text. */
static int keep_stack(struct report *r, size_t count, uint64_t ns)
{
	size_t i, size = 1;
	char *text, *p;

	for (i = 0; i < count; i++)
		size += strlen(r->stack[i]) + 1;
	text = p = malloc(size);
	if (!text)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		size_t n = strlen(r->stack[i]);

		memcpy(p, r->stack[i], n);
		for (; n--; p++)
			*p = *p == BREAK ? ' ' : *p;
		*p++ = BREAK;
	}
	p[-1] = '\0';
	r->stacks[r->count++] = (struct stack){text, ns};
	return 0;
}

static int make_stack(struct report *r, const struct leaf *leaf, enum sort sort)
{
	uint32_t path = leaf->path;
	size_t i, n = 0, ops = 0;

	if (sort != LINED)
		r->stack[n++] = sort_names[sort];
	for (i = 0; sort != OTHER && i < r->depth; i++)
		r->stack[n++] = r->texts[i];
	if (leaf->backward)
		r->stack[n++] = "(backward)";
	for (; path; path = r->paths[path]->up)
		ops++;
	for (i = n += ops, path = leaf->path; path; path = r->paths[path]->up) {
		uint32_t name = r->paths[path]->name;

		r->stack[--i] = name ? pasta_str(name) : "(unnamed)";
	}
	if (sort != OTHER)
		r->stack[n++] = work_text(leaf);
	return keep_stack(r, n, leaf->ns);
}

static int put_leaf(struct report *r, const struct leaf *leaf)
{
	int error = look_up(r, leaf->python);
	struct row *row = error ? NULL : line_of(r);
	enum sort sort = sort_of(leaf, row);
	size_t i;

	if (!error && sort != LINED)
		row = row_of(r, sort_names[sort], "", 0);
	if (!row)
		return -ENOMEM;
	r->time[sort] += leaf->ns;
	r->with_op += leaf->path ? leaf->ns : 0;
	r->all += leaf->ns;
	row->self += leaf->ns;
	row->backward += leaf->backward ? leaf->ns : 0;
	row->kernels += leaf->count;
	if (sort != LINED)
		row->total += leaf->ns;
	/* A function that calls itself counts once. */
	for (i = 0; sort == LINED && i < r->depth; i++)
		if (r->lines[i] && r->lines[i]->last != leaf) {
			r->lines[i]->last = leaf;
			r->lines[i]->total += leaf->ns;
		}
	return make_stack(r, leaf, sort);
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
	int order = compare(x->self, y->self);

	order = order ? order : compare(x->total, y->total);
	order = order ? order : strcmp(x->file, y->file);
	order = order ? order : compare(y->line, x->line);
	return order ? order : strcmp(x->function, y->function);
}

static int report_lines(const struct report *r, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"function", PASTA_COLUMN_STRING, NULL},  {"file", PASTA_COLUMN_STRING, NULL},
		{"line", PASTA_COLUMN_INT, NULL},	  {"device_self", PASTA_COLUMN_INT, "ns"},
		{"device_total", PASTA_COLUMN_INT, "ns"}, {"backward", PASTA_COLUMN_INT, "ns"},
		{"kernels", PASTA_COLUMN_INT, NULL},	  {"share", PASTA_COLUMN_FLOAT, "%"},
	};
	struct row **rows = pasta_map_sorted(r->rows, by_time);
	struct pasta_table *t;
	size_t i;

	if (!rows)
		return -ENOMEM;
	t = pasta_out_table(out, "lines", columns, 8);
	for (i = 0; rows[i]; i++) {
		pasta_cell_str(t, rows[i]->function);
		pasta_cell_str(t, rows[i]->file);
		if (rows[i]->line)
			pasta_cell_int(t, rows[i]->line);
		else
			pasta_cell_none(t);
		pasta_cell_int(t, (int64_t)rows[i]->self);
		pasta_cell_int(t, (int64_t)rows[i]->total);
		pasta_cell_int(t, (int64_t)rows[i]->backward);
		pasta_cell_int(t, (int64_t)rows[i]->kernels);
		pasta_cell_float(t, r->all ? 100.0 * (double)rows[i]->self / (double)r->all : 0.0);
	}
	free(rows);
	return 0;
}

static int by_python(const void *a, const void *b)
{
	const struct leaf *x = *(struct leaf *const *)a, *y = *(struct leaf *const *)b;

	return compare(y->python, x->python);
}

static int add_up(struct report *r)
{
	struct leaf **leaves = pasta_map_sorted(r->f->leaves, by_python);
	int error = leaves ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; !error && leaves[i]; i++)
		error = put_leaf(r, leaves[i]);
	if (!error && r->f->other.count)
		error = put_leaf(r, &r->f->other);
	free(leaves);
	return error;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct stack *)a)->text, ((const struct stack *)b)->text);
}

/* By their texts: numbers depend on who was first. */
static void report_flame(const struct report *r, struct pasta_out *out)
{
	static const struct pasta_axis what = {"call path", NULL}, time = {"device time", "ns"};
	struct pasta_chart *c = pasta_out_chart(out, "flame", PASTA_CHART_FLAME, &what, &time);
	size_t i;

	qsort(r->stacks, r->count, sizeof(*r->stacks), by_text);
	for (i = 0; i < r->count; i++) {
		char *p = r->stacks[i].text;
		size_t n = 0;

		for (r->stack[n++] = p; (p = strchr(p, BREAK)); r->stack[n++] = p)
			*p++ = '\0';
		pasta_chart_stack(c, r->stack, n, (int64_t)r->stacks[i].ns);
	}
}

static double share(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0.0;
}

static void report_findings(const struct report *r, struct pasta_out *out)
{
	const char *what = r->f->copies ? "kernels, copies and fills" : "kernels";
	char text[200], evidence[200];

	if (!r->all) {
		pasta_out_finding(
			out, &(struct pasta_finding){
				     .severity = PASTA_SEVERITY_NOTE,
				     .what = "there is no device time",
				     .evidence = "nothing is recorded that ran on a device",
				     .action = "see tool ops for the time that operators took on "
					       "the host"});
		return;
	}
	snprintf(text, sizeof(text), "%.1f%% of device time has an operator, %.1f%% a Python line",
		 share(r->with_op, r->all), share(r->time[LINED], r->all));
	snprintf(evidence, sizeof(evidence), "device time is %.3f ms, of %s", (double)r->all / 1e6,
		 what);
	pasta_out_finding(out, &(struct pasta_finding){.severity = PASTA_SEVERITY_NOTE,
						       .what = text,
						       .evidence = evidence});
	pasta_out_count(out, PASTA_SEVERITY_NOTE, r->f->forgotten,
			"work of the backward pass whose forward operator is not known any more",
			"more than a million operators came between them", NULL);
	pasta_out_count(out, PASTA_SEVERITY_WARNING, r->f->other.count,
			"work that is not told apart, for there are too many different paths",
			"(other) stands for it", "look at a part of the run: --iteration, --time");
}

static int report_all(struct report *r, struct pasta_out *out)
{
	const struct path *path;
	size_t at = 0;
	int error;

	while ((path = pasta_map_next(r->f->paths, &at, NULL)))
		r->paths[path->number] = path;
	error = add_up(r);
	if (error)
		return error;
	report_flame(r, out);
	report_findings(r, out);
	return report_lines(r, out);
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct flame *f = state;
	struct report r = {.f = f};
	int error = -ENOMEM;

	r.paths = calloc(pasta_map_count(f->paths) + 1, sizeof(*r.paths));
	r.rows = pasta_map_new(sizeof(struct row));
	r.stacks = calloc(pasta_map_count(f->leaves) + 1, sizeof(*r.stacks));
	r.frames = calloc(FRAMES, sizeof(*r.frames));
	r.texts = calloc(FRAMES, sizeof(*r.texts));
	r.stack = calloc(FRAMES + OPS + 3, sizeof(*r.stack));
	r.lines = calloc(FRAMES, sizeof(*r.lines));
	if (!f->failed && r.paths && r.rows && r.frames && r.texts && r.stack && r.lines &&
	    r.stacks)
		error = report_all(&r, out);
	while (r.count)
		free(r.stacks[--r.count].text);
	free(r.stacks);
	free(r.paths);
	pasta_map_free(r.rows);
	free(r.frames);
	free(r.texts);
	free(r.stack);
	free(r.lines);
	return error;
}

static const struct pasta_option options[] = {
	{"copies", "no", "also the time of copies and fills", PASTA_OPTION_YES_NO},
	{0},
};

PASTA_TOOL(.name = "python_flame",
	   .summary = "device time by Python call path, operator and kernel",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS | PASTA_NEED_PYTHON,
	   .state_size = sizeof(struct flame), .options = options, .open = open_, .event = on_event,
	   .merge = merge, .report = report, .close = close_, .charts = PASTA_CHART_MASK(FLAME));
