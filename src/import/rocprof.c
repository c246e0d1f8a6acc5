/*
 * rocprof.c - imports JSON traces of rocprofv3 (rocprofiler-sdk).
 *
 * A file is an array with one process. A process has tables, and records that refer to rows of the
 * tables by number. rocprofv3 writes the tables first. If another program reordered the members,
 * the importer reads the file twice.
 */
#include "import/rocrecords.h"

#define ROOT "rocprofiler-sdk-tool"

enum { ASK = 1 << 12, NAME_SIZE = 64 };

struct rocprof;

/* A type of row, and the array of a process that contains rows of this type. */
struct section {
	const char *in,
		/* name of the JSON object that contains the array (NULL: the process); name of the
		 * array */
		*name;
	/* A row that was found after damage is identified by `member`, which rows of no other type
	 * have, or by `kind`, a prefix of the name of its kind. */
	const char *member, *kind;
	/* The function that imports a row is either `table` or `record`; the other member is NULL.
	 * The function returns NULL or a description of the error. */
	const char *(*table)(struct pasta_roctables *x, const struct pasta_jsontape *tape);
	const char *(*record)(struct pasta_rocread *p);
	uint8_t sub; /* enum pasta_api_sub of calls */
};

struct rocprof {
	struct pasta_trace *t;
	struct pasta_cursor *c;
	struct pasta_roctables tables;
	struct pasta_rocread read;
	uint64_t rows, processes;
	uint64_t found[32]; /* number of rows by section */
	unsigned int have;  /* mask of the tables that were read so far */
	bool skipped;	    /* records preceded their tables */
	bool again;	    /* the importer reads the file for the second time */
};

/* The types of rows. The index of a table in this list is the number of its bit in the mask
 * rocprof.have. */
static const struct section sections[] = {
	{NULL, "agents", "cu_count", NULL, pasta_roctables_agent, NULL, 0},
	{NULL, "code_objects", "uri", NULL, pasta_roctables_object, NULL, 0},
	{NULL, "kernel_symbols", "kernel_name", NULL, pasta_roctables_symbol, NULL, 0},
	{"strings", "buffer_records", NULL, NULL, pasta_roctables_kind, NULL, 0},
	{"strings", "marker_api", "key", NULL, pasta_roctables_message, NULL, 0},
#define RECORD(name, member, kind, take, sub)                                                      \
	{"buffer_records", name, member, kind, NULL, pasta_rocread_##take, sub},
	RECORD("kernel_dispatch", "dispatch_info", "KERNEL_DISPATCH", dispatch,
	       0) RECORD("hip_api", NULL, "HIP_", call,
			 PASTA_API_RUNTIME) RECORD("hsa_api", NULL, "HSA_", call, PASTA_API_DRIVER)
		RECORD("marker_api", NULL, "MARKER_", marker,
		       PASTA_API_LIBRARY) RECORD("rccl_api", NULL, "RCCL_", rccl, PASTA_API_LIBRARY)
			RECORD("rocdecode_api", NULL, "ROCDECODE_", call, PASTA_API_LIBRARY) RECORD(
				"rocjpeg_api", NULL, "ROCJPEG_", call, PASTA_API_LIBRARY)
				RECORD("memory_copy", "src_agent_id", "MEMORY_COPY", copy, 0)
					RECORD("memory_allocation", "address", "MEMORY_ALLOCATION",
					       allocation, 0) RECORD("scratch_memory", NULL,
								     "SCRATCH_", scratch, 0)
						RECORD("pc_sample_host_trap", "record", NULL,
						       sample, 0) RECORD("pc_sample_stochastic",
									 "record", NULL, sample, 0)
#undef RECORD
};

enum { SECTIONS = sizeof(sections) / sizeof(*sections), TABLES = 5, ALL = (1 << TABLES) - 1 };

/* -- The file -- */

/* Reports a well-formed row with invalid contents. */
static int rocprof_bad(struct rocprof *p, const char *what)
{
	if (!p->c->recover)
		return pasta_cursor_wrong(p->c, 0, what);
	p->t->info->invalid++;
	return 0;
}

/* Called by the cursor after damage. Returns whether a JSON object is a row. */
static bool is_row(const struct pasta_jsontape *tape)
{
	if (pasta_jsontape_get(tape, 0, "kind") && pasta_jsontape_get(tape, 0, "operation"))
		return true;
	for (size_t i = 0; i < SECTIONS; i++)
		if (sections[i].member && pasta_jsontape_get(tape, 0, sections[i].member))
			return true;
	return false;
}

/* Returns the type of the row. `seems` is the type of the current array's rows, but after damage,
 * the row may belong to another array. */
static const struct section *section_of(struct rocprof *p, const struct section *seems)
{
	const struct pasta_jsontape *tape = &p->c->tape;
	struct pasta_slice kind = {"", 0};
	uint64_t number;

	if (pasta_roc_number(tape, 0, "kind", &number))
		kind = pasta_roctables_slice(&p->tables, pasta_map_find(p->tables.kinds, number));
	for (size_t i = 0; i < SECTIONS; i++) {
		const struct section *s = &sections[i];
		size_t n = s->kind ? strlen(s->kind) : 0;

		if ((s->member && pasta_jsontape_get(tape, 0, s->member)) ||
		    (n && kind.size >= n && !memcmp(kind.at, s->kind, n)))
			return s;
	}
	return seems && (seems->member || seems->kind) ? seems : NULL;
}

/* Returns whether records can be imported already. If not, requests a second pass over the file. */
static bool can_read_records(struct rocprof *p)
{
	if (!p->again && p->have != ALL)
		p->skipped = true;
	return p->again || !p->skipped;
}

/* Imports a row. `s` is NULL if the row's array is unknown. */
static int rocprof_row(struct rocprof *p, const struct section *s)
{
	const char *wrong;

	if (p->c->tape.tokens[0].type != PASTA_JSON_OBJECT)
		return rocprof_bad(p, "a table row or a record is not a JSON object");
	if (p->c->damaged)
		s = section_of(p, s);
	if (!s || (s->table ? p->again : !can_read_records(p)))
		return 0;
	if (s->table) {
		wrong = s->table(&p->tables, &p->c->tape);
	} else {
		p->found[s - sections]++;
		p->read.name = s->name;
		p->read.sub = s->sub;
		wrong = s->record(&p->read);
	}
	return wrong ? rocprof_bad(p, wrong) : pasta_trace_error(p->t);
}

/* Reads an array of rows. Some writers write another value instead of an empty array, so any value
 * that is not an array counts as an empty array. Sets *rows to the number of rows. */
static int read_rows(struct rocprof *p, const struct section *s, uint64_t *rows)
{
	const struct pasta_import_options *o = p->t->options;
	struct pasta_cursor *c = p->c;
	int r = pasta_cursor_peek(c);

	*rows = 0;
	if (r != '[')
		return r < 0 ? r : pasta_cursor_skip(c);
	r = pasta_cursor_enter(c);
	while (!r && (r = pasta_cursor_element(c)) > 0) {
		r = pasta_cursor_value(c);
		if (!r)
			r = rocprof_row(p, s);
		++*rows;
		if (r >= 0)
			r = 0;
		if (!(++p->rows % ASK) && o->go_on &&
		    !o->go_on(o->ctx, c->file->done, c->file->total))
			return pasta_fail(c->err, -EINTR, "interrupted");
	}
	return r;
}

static const struct section *find_section(const struct rocprof *p, const char *in,
					  struct pasta_slice name)
{
	/* Search backwards, because records come last in the list: if damage hides the enclosing
	 * object, an object is more likely a record than a row of a table. */
	for (size_t i = SECTIONS; i-- > 0;) {
		const struct section *s = &sections[i];
		bool here = in && s->in ? !strcmp(in, s->in) : in == s->in;

		if (pasta_slice_is(name, s->name) && (here || p->c->damaged))
			return s;
	}
	return NULL;
}

/* Counts the rows of an array that is unknown or not imported. */
static int count_rows(struct rocprof *p, enum pasta_import_list list, struct pasta_slice key)
{
	size_t size = key.size < NAME_SIZE ? key.size : NAME_SIZE;
	char name[NAME_SIZE];
	uint64_t rows;
	int r;

	memcpy(name, key.at, size); /* copy the key, because the next read overwrites it */
	r = read_rows(p, NULL, &rows);
	if (r || !can_read_records(p))
		return r;
	pasta_trace_count(p->t, PASTA_IMPORT_FOUND, name, size, rows);
	pasta_trace_count(p->t, list, name, size, rows);
	return pasta_trace_error(p->t);
}

static int read_metadata(struct rocprof *p)
{
	int r = pasta_cursor_value(p->c);

	if (r || p->again)
		return r < 0 ? r : 0;
	pasta_roctables_metadata(&p->tables, &p->c->tape);
	return pasta_trace_error(p->t);
}

static int read_members(struct rocprof *p, const char *in);

static int read_member(struct rocprof *p, const char *in, struct pasta_slice key)
{
	static const char *const objects[] = {"strings", "buffer_records", "callback_records"};
	const struct section *s = find_section(p, in, key);
	uint64_t rows;
	int r;

	if (s && s->table)
		p->have |= 1u << (s - sections);
	if (s) {
		r = read_rows(p, s, &rows);
		p->read.rccl.kernels_read |=
			s->record == pasta_rocread_dispatch && can_read_records(p);
		return r;
	}
	if (in && !strcmp(in, "buffer_records"))
		return count_rows(p, PASTA_IMPORT_UNKNOWN, key);
	if (in && !strcmp(in, "callback_records"))
		return count_rows(p, PASTA_IMPORT_LEFT_OUT, key);
	if (!in && pasta_slice_is(key, "metadata"))
		return read_metadata(p);
	for (size_t i = 0; !in && i < sizeof(objects) / sizeof(*objects); i++) {
		if (!pasta_slice_is(key, objects[i]) || pasta_cursor_peek(p->c) != '{')
			continue;
		r = pasta_cursor_enter(p->c);
		return r ? r : read_members(p, objects[i]);
	}
	return pasta_cursor_skip(p->c);
}

/* Reads the members of the object that the cursor has entered: the process, or an object in the
 * process. */
static int read_members(struct rocprof *p, const char *in)
{
	struct pasta_slice key;
	int r;

	while ((r = pasta_cursor_key(p->c, &key)) > 0) {
		r = read_member(p, in, key);
		if (r < 0)
			return r;
	}
	return r;
}

static int read_process(struct rocprof *p)
{
	int first = pasta_cursor_peek(p->c), r;

	if (first < 0)
		return first;
	if (first && first != '{')
		return pasta_fail(p->c->err, -EBADMSG,
				  "%s: the entry of a process is not a JSON object",
				  p->c->file->path);
	if (p->processes++)
		return pasta_fail(p->c->err, -EBADMSG,
				  "%s has more than one process: only files with one process can "
				  "be imported",
				  p->c->file->path);
	r = pasta_cursor_enter(p->c);
	return r ? r : read_members(p, NULL);
}

static int read_processes(struct rocprof *p)
{
	int r = pasta_cursor_peek(p->c);

	p->processes = 0;
	if (r != '[')
		return r < 0 ? r : read_process(p);
	r = pasta_cursor_enter(p->c);
	while (!r && (r = pasta_cursor_element(p->c)) > 0)
		r = read_process(p);
	return r;
}

static int read_file(struct rocprof *p)
{
	struct pasta_slice key;
	int r = pasta_cursor_enter(p->c);

	while (!r && (r = pasta_cursor_key(p->c, &key)) > 0)
		r = pasta_slice_is(key, ROOT) ? read_processes(p) : pasta_cursor_skip(p->c);
	return r ? r : pasta_cursor_end(p->c);
}

/* -- The end -- */

#define WORK (PASTA_MASK(KERNEL) | PASTA_MASK(COPY))

static void rocprof_report(struct rocprof *p)
{
	struct pasta_trace *t = p->t;

	for (size_t i = TABLES; i < SECTIONS; i++)
		pasta_trace_count(t, PASTA_IMPORT_FOUND, sections[i].name, strlen(sections[i].name),
				  p->found[i]);
	if (p->read.null_frees)
		pasta_trace_count(t, PASTA_IMPORT_LEFT_OUT, "memory_allocation",
				  strlen("memory_allocation"), p->read.null_frees);
	if (!p->read.work && pasta_trace_enabled(t, WORK))
		pasta_trace_lacks(t, "kernels and copies (record them with --kernel-trace and "
				     "--memory-copy-trace)");
	if (p->read.work && !p->read.calls && pasta_trace_enabled(t, WORK))
		pasta_trace_lacks(t, "launches of kernels (record them with --hip-trace)");
	if (p->read.unnamed && pasta_trace_enabled(t, PASTA_MASK(KERNEL)))
		pasta_trace_lacks(t, "names of some kernels (their symbols are missing)");
	if (pasta_trace_enabled(t, PASTA_MASK(OP_BEGIN)))
		pasta_trace_lacks(t, "operators");
}

static int rocprof_finish(struct rocprof *p)
{
	struct pasta_trace_world world = {0};

	pasta_rocread_end(&p->read);
	pasta_roctables_state(&p->tables, &world);
	rocprof_report(p);
	return pasta_trace_close(p->t, &world);
}

static int rocprof_parse(struct pasta_trace *t, struct pasta_cursor *c)
{
	struct rocprof p = {.t = t, .c = c, .read = {.t = t, .tape = &c->tape, .rccl = {.t = t}}};
	int r = pasta_roctables_open(&p.tables, t);

	p.read.tables = &p.tables;
	c->is_element = is_row;
	if (!r)
		r = read_file(&p);
	if (!r && p.skipped) {
		p.again = true;
		r = pasta_cursor_restart(c);
		if (!r)
			r = read_file(&p);
	}
	if (!r)
		r = rocprof_finish(&p);
	pasta_roctables_close(&p.tables);
	pasta_rocread_free(&p.read);
	return r;
}

/* Returns whether the text begins like a rocprofv3 trace, whose top-level object has only one
 * member. */
static bool rocprof_sniff(const char *text, size_t size)
{
	static const char name[] = "\"" ROOT "\"";
	size_t at = 0;

	for (const char *skip = " \t\r\n{"; at < size && strchr(skip, text[at]) && text[at]; at++)
		;
	return size - at >= sizeof(name) - 1 && !memcmp(text + at, name, sizeof(name) - 1);
}

const struct pasta_format pasta_format_rocprof = {
	.name = "rocprofv3",
	.summary = "rocprofv3 (rocprofiler-sdk), JSON",
	.sniff = rocprof_sniff,
	.parse = rocprof_parse,
};
