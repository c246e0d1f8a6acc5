/* bank_conflicts - shared memory by source line: requests, and the wavefronts that they need. */
#include <stdio.h>
#include <stdlib.h>

#include <pasta/device.h>
#include <pasta/tool.h>

#define SMALL 100 /* no finding below 1/SMALL of all conflicts */
#define FINDINGS 5

/* One kernel at one source line. */
struct line {
	struct {
		uint32_t kernel, file, line, function;
		uint32_t callee; /* if the line is unknown, rows are by instruction */
		uint32_t reserved;
		uint64_t unknown; /* the key of a site without a description; PASTA_KEY_OTHER: no
				     site */
	} key;
	uint64_t site; /* the access index's key of the first site */
	uint64_t requests, needed, wavefronts;
};

struct state {
	struct pasta_access_index *access_index;
	struct pasta_group *lines;
	uint64_t conflicts; /* on all lines */
};

static int64_t conflicts_of(const void *row, const void *state)
{
	const struct line *line = row;

	return line->wavefronts > line->needed ? (int64_t)(line->wavefronts - line->needed) : 0;
}

static double by_request(const void *row, const void *state)
{
	const struct line *line = row;

	return pasta_ratio(line->wavefronts, line->requests);
}

static const char *where_of(const void *row, const void *state, char *text, size_t size)
{
	const struct line *line = row;
	const struct pasta_access_site *site =
		pasta_access_index_site(((const struct state *)state)->access_index, line->site);

	if (!site)
		snprintf(text, size, "(no room in the table)");
	else if (!site->known)
		snprintf(text, size, "(unknown, site %llu)", (unsigned long long)site->id);
	else if (line->key.line)
		snprintf(text, size, "%s:%u", pasta_str(line->key.file), line->key.line);
	else
		snprintf(text, size, "%s%s", pasta_str(line->key.function),
			 pasta_str(line->key.callee));
	return text;
}

static const struct pasta_member members[] = {
	PASTA_MEMBER(NAME, struct line, key.kernel, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER_BY(TEXT, .text = where_of, .column = "line", .role = PASTA_ROLE_LINE),
	PASTA_MEMBER(SUM, struct line, requests, .column = "requests"),
	PASTA_MEMBER(SUM, struct line, wavefronts, .column = "wavefronts"),
	PASTA_MEMBER_BY(CALL, .call = conflicts_of, .column = "conflicts"),
	PASTA_MEMBER_BY(RATIO, .ratio = by_request, .column = "wavefronts_per_request"),
	PASTA_MEMBER(NAME, struct line, key.file),
	PASTA_MEMBER(U32, struct line, key.line),
	PASTA_MEMBER(NAME, struct line, key.function),
	PASTA_MEMBER(NAME, struct line, key.callee),
	PASTA_MEMBER(U32, struct line, key.reserved),
	PASTA_MEMBER(U64, struct line, key.unknown),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, lines, struct line, members, .table = "bank_conflicts",
		    .order = "-conflicts kernel line"),
	{0},
};

static const struct pasta_access_index_def access_index =
	PASTA_ACCESS_INDEX(struct state, access_index, PASTA_REDUCER_MASK(OWN));

/* Adds a row of bank_conflicts.cu to its line. An atomic counts both as a load and as a store. */
static int add_row(void *ctx, const struct pasta_access_shape *shape,
		   const struct pasta_access_row *row)
{
	struct state *s = ctx;
	const struct pasta_access_site *site = pasta_access_index_site(s->access_index, row->key);
	const struct pasta_site_record *at = site && site->known ? &site->site : NULL;
	int atomic = at && (at->flags & 0xff) == PASTA_ACCESS_ATOMIC;
	struct line *line = at ? PASTA_ROW(s->lines, struct line, shape->name, at->file, at->line,
					   at->function, at->line ? 0 : at->callee, 0, 0)
			       : PASTA_ROW(s->lines, struct line, .kernel = shape->name,
					   .unknown = site ? row->key : PASTA_KEY_OTHER);

	line->site = row->key;
	pasta_access_add_to(&line->requests,
			    atomic ? row->loads : pasta_access_add(row->loads, row->stores));
	pasta_access_add_to(&line->needed, row->bytes);
	pasta_access_add_to(&line->wavefronts, row->extra);
	return 0;
}

static void find_conflicts(const struct state *s, const struct line *line, struct pasta_out *out)
{
	uint64_t conflicts = (uint64_t)conflicts_of(line, s);
	char what[200], evidence[200], where[500];

	if (!conflicts || conflicts < s->conflicts / SMALL)
		return;
	snprintf(what, sizeof(what), "requests take %.1f times the wavefronts they need",
		 (double)line->wavefronts / (double)(line->needed ? line->needed : 1));
	snprintf(evidence, sizeof(evidence), "%llu additional wavefronts, in %.100s",
		 (unsigned long long)conflicts, pasta_name(line->key.kernel));
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what,
			 .where = where_of(line, s, where, sizeof(where)), .evidence = evidence,
			 .action = "pad rows by a word, or swizzle them, so that the lanes of a "
				   "warp use different banks");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct state *s = state;
	const struct line *line;
	struct line **lines;
	size_t count, at = 0;
	int error;

	pasta_access_index_rows(s->access_index, PASTA_REDUCER_OWN, add_row, s);
	while ((line = pasta_group_next(s->lines, &at)))
		pasta_access_add_to(&s->conflicts, (uint64_t)conflicts_of(line, s));
	error = pasta_out_groups(out, s, err);
	lines = pasta_group_sorted(s->lines, NULL, &count);
	for (size_t i = 0; i < count && i < FINDINGS; i++)
		find_conflicts(s, lines[i], out);
	free(lines);
	pasta_access_index_findings(s->access_index, out);
	return error;
}

static const struct pasta_option options[] = {
	{"reducer", NULL, "the reducer's file (default: bank_conflicts.fatbin beside the tool)",
	 PASTA_OPTION_TEXT},
	{NULL, NULL, NULL, PASTA_OPTION_TEXT},
};

PASTA_TOOL(.name = "bank_conflicts",
	   .summary = "shared memory by line: requests and bank conflicts",
	   .needs = PASTA_NEED_ACCESS_OWN, .state_size = sizeof(struct state), .options = options,
	   .report = report, .reducer = "bank_conflicts.fatbin", .flags = PASTA_TOOL_SHARDED,
	   .groups = groups, .accesses = &access_index);
