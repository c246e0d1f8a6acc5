/* modules - reports code loaded onto devices: its size, how often it was loaded, and the path of a
 * copy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <pasta/tool.h>

struct code_key {
	uint64_t bytes, crc;
	uint32_t name, path, device, zero;
};

/* Identical code on one device, over all processes that loaded it. */
struct code {
	struct code_key key;
	uint64_t loads, unloads, contexts;
};

/* A context with this code. */
struct user {
	struct {
		struct code_key code;
		uint32_t proc, context;
	} key;
	uint64_t loads;
};

/* The module that has an id in a context, according to the latest load. */
struct module {
	struct {
		uint64_t id;
		uint32_t proc, context;
	} key;
	struct code *code; /* NULL: unloaded */
	uint64_t unknown;  /* number of unloads of modules whose load was not recorded */
};

struct modules {
	struct pasta_group *codes, *users, *modules;
};

static const char *crc_text(const void *row, const void *state, char *text, size_t size)
{
	uint64_t crc = ((const struct code *)row)->key.crc;

	snprintf(text, size, "%08" PRIx64, crc);
	return crc ? text : NULL;
}

static const struct pasta_member code_members[] = {
	PASTA_MEMBER(NAME, struct code, key.name, .column = "module"),
	PASTA_MEMBER(U64, struct code, key.bytes, .unit = "bytes", .column = "size"),
	PASTA_MEMBER(U64, struct code, key.crc),
	PASTA_MEMBER_BY(TEXT, .text = crc_text, .column = "crc"),
	PASTA_MEMBER(U32, struct code, key.device, .column = "device"),
	PASTA_MEMBER(U32, struct code, key.zero),
	PASTA_MEMBER(SUM, struct code, contexts, .column = "contexts"),
	PASTA_MEMBER(SUM, struct code, loads, .column = "loads"),
	PASTA_MEMBER(SUM, struct code, unloads, .column = "unloads"),
	PASTA_MEMBER(NAME, struct code, key.path, .column = "path",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	{0},
};

static const struct pasta_member user_members[] = {
	PASTA_MEMBER(U64, struct user, key.code.bytes),
	PASTA_MEMBER(U64, struct user, key.code.crc),
	PASTA_MEMBER(NAME, struct user, key.code.name),
	PASTA_MEMBER(NAME, struct user, key.code.path),
	PASTA_MEMBER(U32, struct user, key.code.device),
	PASTA_MEMBER(U32, struct user, key.code.zero),
	PASTA_MEMBER(PROCESS, struct user, key.proc),
	PASTA_MEMBER(U32, struct user, key.context),
	PASTA_MEMBER(SUM, struct user, loads),
	{0},
};

static const struct pasta_member module_members[] = {
	PASTA_MEMBER(U64, struct module, key.id),
	PASTA_MEMBER(PROCESS, struct module, key.proc),
	PASTA_MEMBER(U32, struct module, key.context),
	PASTA_MEMBER(SUM, struct module, unknown),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct modules, codes, struct code, code_members, .table = "modules",
		    .order = "-size -loads device crc path module"),
	PASTA_GROUP(struct modules, users, struct user, user_members),
	PASTA_GROUP(struct modules, modules, struct module, module_members),
	{0},
};

static void on_load(struct modules *m, struct module *module, const struct pasta_event *ev)
{
	const struct pasta_module_record *r = &ev->module;
	struct code *code =
		PASTA_ROW(m->codes, struct code, r->bytes, r->crc, r->name, r->path, r->device, 0);

	if (!PASTA_ROW(m->users, struct user, code->key, ev->proc, r->context)->loads++)
		code->contexts++;
	code->loads++;
	module->code = code;
}

/* Ignores modules of the host (the program and its libraries), because only call paths need
 * them. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct modules *m = state;
	struct module *module;

	if (ev->module.device == PASTA_MODULE_HOST)
		return;
	module = PASTA_ROW(m->modules, struct module, ev->module.id, ev->proc, ev->module.context);
	if (ev->sub == PASTA_MODULE_LOAD) {
		on_load(m, module, ev);
	} else if (ev->sub == PASTA_MODULE_UNLOAD) {
		if (module->code)
			module->code->unloads++;
		else
			module->unknown++;
		module->code = NULL;
	}
}

/* Returns the number of checksums that several modules share although their sizes or contents
 * differ. */
static uint64_t ambiguous(struct code *const *codes)
{
	bool counted = false;
	uint64_t n = 0;

	for (; codes[0] && codes[1]; codes++) {
		const struct code_key *a = &codes[0]->key, *b = &codes[1]->key;
		bool differ = a->bytes != b->bytes || (a->path && b->path && a->path != b->path);

		counted = counted && a->crc == b->crc;
		if (a->crc && a->crc == b->crc && differ && !counted)
			n += counted = true;
	}
	return n;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct modules *m = state;
	size_t count, with = 0;
	struct code **codes = pasta_group_sorted(m->codes, "crc size path", &count);

	if (!codes)
		return pasta_group_error(m->codes);
	for (size_t i = 0; i < count; i++)
		with += codes[i]->key.path != 0;
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(with ? count - with : 0),
			 .what = "modules without a saved copy",
			 .evidence = "copies of other modules were saved, so the disk may have "
				     "become full",
			 .action = "free some space on the disk of the run's folder, and record "
				   "again");
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 PASTA_COUNT(PASTA_SUM(m->modules, struct module, unknown)),
			 .what = "unloads of modules whose load was not recorded",
			 .evidence = "the table does not include these unloads");
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(ambiguous(codes)),
			 .what = "checksums (crc) that several modules share",
			 .evidence = "the vendor computes a checksum from parts of the code only");
	free(codes);
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "modules", .summary = "code loaded onto devices, and the paths of saved copies",
	   .events = PASTA_MASK(MODULE), .state_size = sizeof(struct modules), .event = on_event,
	   .report = report, .flags = PASTA_TOOL_SHARDED, .groups = groups);
