/* plugin_accesses - a tool that needs memory accesses, in two tables. */
#include <pasta/tool.h>

struct state {
	int64_t rows;
};

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	((struct state *)state)->rows += ev->kind == PASTA_KIND_ACCESS_SUM;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	static const struct pasta_column columns[] = {{"rows", PASTA_COLUMN_INT, NULL}};

	pasta_cell_int(pasta_out_table(out, "rows", columns, 1), ((struct state *)state)->rows);
	return 0;
}

PASTA_TOOL(.name = "needs_accesses", .summary = "needs tables of accesses",
	   .events = PASTA_MASK(ACCESS_SUM),
	   .needs = PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_COALESCE,
	   .state_size = sizeof(struct state), .event = on_event, .report = report);
