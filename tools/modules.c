/* modules - code that was loaded onto devices: how large, how often, and where a copy is. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <pasta/pasta.h>

/* The same code on one device, whoever loaded it. */
struct code {
	uint64_t bytes, crc;
	uint32_t name, path, device;
	bool used;
	uint64_t loads, unloads, contexts;
};

/* A context that code was loaded into. */
struct user {
	const struct code *code;
	uint32_t proc, context;
};

/* What an id stands for, in its context: of the last load that had it. */
struct module {
	uint64_t id;
	uint32_t proc, context;
	struct code *code; /* NULL: it is unloaded */
	bool used;
};

struct modules {
	struct pasta_map *codes, *users, *modules;
	uint64_t unknown; /* unloads of what was not loaded */
	bool failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct modules *m = state;

	(void)opts;
	m->codes = pasta_map_new(sizeof(struct code));
	m->users = pasta_map_new(sizeof(struct user));
	m->modules = pasta_map_new(sizeof(struct module));
	if (!m->codes || !m->users || !m->modules)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct modules *m = state;

	pasta_map_free(m->codes);
	pasta_map_free(m->users);
	pasta_map_free(m->modules);
}

static uint64_t hash(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ b ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
	return (h ^ c ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
}

/* -- What is there. Those whose hash is the same have the numbers after it: none is removed. -- */

static struct code *find_code(struct modules *m, const struct pasta_module *e)
{
	uint64_t key = hash(e->bytes, e->crc, pasta_pair(e->name, e->path) ^ e->device);
	struct code *c;

	while ((c = pasta_map_add(m->codes, key)) && c->used &&
	       (c->bytes != e->bytes || c->crc != e->crc || c->name != e->name ||
		c->path != e->path || c->device != e->device))
		key++;
	if (c && !c->used)
		*c = (struct code){.bytes = e->bytes,
				   .crc = e->crc,
				   .name = e->name,
				   .path = e->path,
				   .device = e->device,
				   .used = true};
	return c;
}

static struct module *find_module(struct modules *m, uint32_t proc, const struct pasta_module *e)
{
	uint64_t key = hash(e->id, proc, e->context);
	struct module *found;

	while ((found = pasta_map_add(m->modules, key)) && found->used &&
	       (found->id != e->id || found->proc != proc || found->context != e->context))
		key++;
	if (found && !found->used)
		*found = (struct module){
			.id = e->id, .proc = proc, .context = e->context, .used = true};
	return found;
}

/* False: out of memory. */
static bool count_user(struct modules *m, struct code *code, uint32_t proc, uint32_t context)
{
	uint64_t key = hash((uintptr_t)code, proc, context);
	struct user *u;

	while ((u = pasta_map_add(m->users, key)) && u->code &&
	       (u->code != code || u->proc != proc || u->context != context))
		key++;
	if (u && !u->code) {
		*u = (struct user){.code = code, .proc = proc, .context = context};
		code->contexts++;
	}
	return u;
}

static void on_load(struct modules *m, const struct pasta_event *ev)
{
	struct code *code = find_code(m, &ev->module);
	struct module *module = find_module(m, ev->proc, &ev->module);

	if (!code || !module || !count_user(m, code, ev->proc, ev->module.context)) {
		m->failed = true;
		return;
	}
	code->loads++;
	module->code = code;
}

static void on_unload(struct modules *m, const struct pasta_event *ev)
{
	struct module *module = find_module(m, ev->proc, &ev->module);

	m->failed |= !module;
	if (module && module->code)
		module->code->unloads++;
	else
		m->unknown++;
	if (module)
		module->code = NULL;
}

/* The host's own, the program and its libraries, are there for call paths. */
static void on_event(void *state, const struct pasta_event *ev)
{
	if (ev->module.device == PASTA_MODULE_HOST)
		return;
	if (ev->sub == PASTA_MODULE_LOAD)
		on_load(state, ev);
	else if (ev->sub == PASTA_MODULE_UNLOAD)
		on_unload(state, ev);
}

/* -- Reporting. -- */

#define ORDER(x, y)                                                                                \
	if ((x) != (y))                                                                            \
	return (x) < (y) ? -1 : 1

/* The largest first; to the end, so that the order is the same each time. */
static int by_size(const void *x, const void *y)
{
	const struct code *a = *(struct code *const *)x, *b = *(struct code *const *)y;

	ORDER(b->bytes, a->bytes);
	ORDER(b->loads, a->loads);
	ORDER(a->device, b->device);
	ORDER(a->crc, b->crc);
	ORDER(a->path, b->path);
	ORDER(a->name, b->name);
	return 0;
}

static void report_code(struct pasta_table *t, const struct code *c)
{
	char crc[24];

	snprintf(crc, sizeof(crc), "%08" PRIx64, c->crc);
	pasta_cell_str(t, c->name ? pasta_str(c->name) : "(unnamed)");
	pasta_cell_int(t, (int64_t)c->bytes);
	if (c->crc)
		pasta_cell_str(t, crc);
	else
		pasta_cell_none(t);
	pasta_cell_int(t, c->device);
	pasta_cell_int(t, (int64_t)c->contexts);
	pasta_cell_int(t, (int64_t)c->loads);
	pasta_cell_int(t, (int64_t)c->unloads);
	if (c->path)
		pasta_cell_str(t, pasta_str(c->path));
	else
		pasta_cell_none(t);
}

/* Those that have no copy, where others have one. */
static uint64_t missing(struct code *const *list)
{
	uint64_t with = 0, without = 0;

	for (; *list; list++) {
		with += (*list)->path != 0;
		without += (*list)->path == 0;
	}
	return with ? without : 0;
}

static int by_crc(const void *x, const void *y)
{
	const struct code *a = *(struct code *const *)x, *b = *(struct code *const *)y;

	ORDER(b->crc, a->crc);
	ORDER(a->bytes, b->bytes);
	ORDER(a->path, b->path);
	return 0;
}

/* Numbers that stand for more than one content: sizes differ, or copies do. */
static uint64_t ambiguous(struct code *const *list)
{
	uint64_t n = 0;
	bool counted = false;

	for (; *list && (*list)->crc && list[1]; list++) {
		const struct code *a = list[0], *b = list[1];
		bool differ = a->bytes != b->bytes || (a->path && b->path && a->path != b->path);

		counted = counted && a->crc == b->crc;
		if (a->crc != b->crc || !differ || counted)
			continue;
		n++;
		counted = true;
	}
	return n;
}

static int report_ambiguous(const struct modules *m, struct pasta_out *out)
{
	struct code **list = pasta_map_sorted(m->codes, by_crc);

	if (!list)
		return -ENOMEM;
	pasta_out_count(out, PASTA_NOTE, ambiguous(list), "numbers (crc) that several modules have",
			"the vendor makes them of parts of the code", NULL);
	free(list);
	return 0;
}

static int report(void *state, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"module", PASTA_STRING, NULL}, {"size", PASTA_INT, "bytes"},
		{"crc", PASTA_STRING, NULL},	{"device", PASTA_INT, NULL},
		{"contexts", PASTA_INT, NULL},	{"loads", PASTA_INT, NULL},
		{"unloads", PASTA_INT, NULL},	{"path", PASTA_STRING, NULL},
	};
	struct modules *m = state;
	struct pasta_table *t = pasta_out_table(out, "modules", columns, 8);
	struct code **list = pasta_map_sorted(m->codes, by_size);

	if (!list || m->failed) {
		free(list);
		return -ENOMEM;
	}
	for (size_t i = 0; list[i]; i++)
		report_code(t, list[i]);
	pasta_out_count(out, PASTA_NOTE, missing(list), "modules of which no copy was kept",
			"others have one: the run's folder may have been full",
			"give it more room, and run again");
	pasta_out_count(out, PASTA_NOTE, m->unknown, "unloads of modules whose load is not known",
			"they are not in the table", NULL);
	free(list);
	return report_ambiguous(m, out);
}

PASTA_TOOL(.name = "modules", .summary = "code loaded onto devices, and where copies are kept",
	   .events = PASTA_BIT(MODULE), .state_size = sizeof(struct modules), .open = open_,
	   .event = on_event, .report = report, .close = close_);
