/* object_traffic - reports the bytes that kernels load and store, by object. */
#include <pasta/tool.h>

/* Accesses of one kernel to one object, or to one kind of memory without objects. The sums are
 * scaled to all launches, counted or not. */
struct line {
	struct {
		uint64_t object; /* key of the object, as in rows of accesses */
		uint32_t kernel, reserved;
	} key;
	uint64_t loads, stores, bytes;
	/* bytes of stores, and number of access rows in which these bytes are unknown */
	uint64_t written, unsplit;
	uint64_t descriptors, described;
	/* numbers of counted launches, and of all launches with the same shapes */
	uint64_t counted, launches;
};

struct traffic {
	struct pasta_access_index *access_index;
	struct pasta_group *lines;
};

static const struct pasta_access_object *object_of(const void *row, const void *state)
{
	return pasta_access_index_object(((const struct traffic *)state)->access_index,
					 ((const struct line *)row)->key.object);
}

static const char *object_text(const void *row, const void *state, char *text, size_t size)
{
	const struct pasta_access_object *o = object_of(row, state);

	return o ? pasta_access_object_text(((const struct traffic *)state)->access_index, o, text,
					    size)
		 : pasta_access_space_text(((const struct line *)row)->key.object);
}

static const char *process_text(const void *row, const void *state, char *text, size_t size)
{
	const struct pasta_access_object *o = object_of(row, state);

	return o ? pasta_process(o->proc)->text : "";
}

static int64_t size_of(const void *row, const void *state)
{
	const struct pasta_access_object *o = object_of(row, state);

	return o && o->bytes ? (int64_t)pasta_access_add(0, o->bytes) : PASTA_NO_VALUE;
}

static bool is_split(const void *row, const void *state)
{
	return !((const struct line *)row)->unsplit;
}

static int64_t read_of(const void *row, const void *state)
{
	const struct line *line = row;

	return line->unsplit ? PASTA_NO_VALUE : (int64_t)(line->bytes - line->written);
}

static int64_t is_special(const void *row, const void *state)
{
	return !object_of(row, state);
}

static int64_t traffic_of(const void *row, const void *state)
{
	const struct line *line = row;

	return (int64_t)pasta_access_add(line->bytes, line->described);
}

static const struct pasta_member members[] = {
	PASTA_MEMBER_BY(TEXT, .text = object_text, .column = "object"),
	PASTA_MEMBER_BY(CALL, .call = size_of, .column = "size", .unit = "bytes"),
	PASTA_MEMBER(NAME, struct line, key.kernel, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(U32, struct line, key.reserved),
	PASTA_MEMBER(SUM, struct line, loads, .column = "loads"),
	PASTA_MEMBER(SUM, struct line, stores, .column = "stores"),
	PASTA_MEMBER(SUM, struct line, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER(SUM, struct line, descriptors, .column = "descriptors"),
	PASTA_MEMBER(SUM, struct line, described, .column = "described", .unit = "bytes"),
	PASTA_MEMBER_OF(PERCENT, struct line, counted, launches, .column = "counted",
			.flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER_BY(TEXT, .text = process_text, .column = "process"),
	PASTA_MEMBER_BY(CALL, .call = read_of, .column = "read", .unit = "bytes",
			.flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(SUM, struct line, written, .column = "written", .unit = "bytes",
		     .has = is_split, .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(SUM, struct line, unsplit),
	PASTA_MEMBER(U64, struct line, key.object, .column = "id", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER_BY(CALL, .call = is_special, .column = "special",
			.flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER_BY(CALL, .call = traffic_of, .column = "traffic",
			.flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct traffic, lines, struct line, members, .table = "traffic",
		    .order = "special -traffic id kernel"),
	{0},
};

static const struct pasta_access_index_def access_index = PASTA_ACCESS_INDEX(
	struct traffic, access_index, PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(TENSOR));

static void add_shape(struct line *line, const struct pasta_access_shape *shape)
{
	line->counted += shape->counted;
	line->launches += pasta_access_launches(shape);
}

static int add_access(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct traffic *t = ctx;
	struct line *line = PASTA_ROW(t->lines, struct line, row->key, shape->name, 0);

	pasta_access_add_to(&line->loads, row->loads);
	pasta_access_add_to(&line->stores, row->stores);
	pasta_access_add_to(&line->bytes, row->bytes);
	if (row->bytes_written == UINT64_MAX)
		line->unsplit++;
	else
		pasta_access_add_to(&line->written, row->bytes_written);
	add_shape(line, shape);
	return 0;
}

static int add_tensor(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct traffic *t = ctx;
	struct line *line = PASTA_ROW(t->lines, struct line, row->key, shape->name, 0);

	pasta_access_add_to(&line->descriptors, row->loads);
	pasta_access_add_to(&line->described, row->bytes);
	if (!line->loads && !line->stores)
		add_shape(line, shape);
	return 0;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct traffic *t = state;

	pasta_access_index_rows(t->access_index, PASTA_REDUCER_OBJECT, add_access, state);
	pasta_access_index_rows(t->access_index, PASTA_REDUCER_TENSOR, add_tensor, state);
	pasta_access_index_findings(t->access_index, out);
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "object_traffic", .summary = "bytes that kernels load and store, by object",
	   .needs = PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_TENSOR,
	   .state_size = sizeof(struct traffic), .report = report, .flags = PASTA_TOOL_SHARDED,
	   .groups = groups, .accesses = &access_index);
