/*
 * fuzz_worker.c - any bytes as the answer of a plug-in's process: refused, with nothing taken, or
 * read; and what was read can be sent again and reads back as the same.
 *
 * The first byte: 1 for descriptors of tools instead of results, 2 to leave the sum as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/run/parcel.h"

enum { TOOLS = 2 };

static void make_outs(struct pasta_result *result)
{
	if (!pasta_result_out(result, "one") || !pasta_result_out(result, "two"))
		abort();
}

static void is_empty(const struct pasta_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		if (result->outs[i]->table_count || result->outs[i]->chart_count ||
		    result->outs[i]->finding_count || result->outs[i]->err.code)
			abort();
}

static void same(const struct pasta_wire *was)
{
	struct pasta_result again = {0};
	struct pasta_wire w = {0};
	struct pasta_wire_in in = {.at = was->data, .end = was->data + was->size};
	struct pasta_parcel parcel;

	make_outs(&again);
	if (pasta_parcel_get(&in, &parcel, again.outs, again.count))
		abort();
	pasta_parcel_put(&w, &parcel, again.outs, again.count);
	if (w.error || w.size != was->size || memcmp(w.data, was->data, w.size))
		abort();
	free(w.data);
	pasta_result_free(&again);
}

static void results(struct pasta_wire_in *in)
{
	struct pasta_result result = {0};
	struct pasta_parcel parcel;
	struct pasta_wire w = {0};
	int error;

	make_outs(&result);
	error = pasta_parcel_get(in, &parcel, result.outs, TOOLS);
	if (error) {
		if (error != -EBADMSG && error != -ENOMEM)
			abort();
		is_empty(&result);
	} else {
		pasta_parcel_put(&w, &parcel, result.outs, TOOLS);
		if (w.error)
			abort();
		same(&w);
	}
	free(w.data);
	pasta_result_free(&result);
}

static void tools(struct pasta_wire_in *in)
{
	int error = 0;

	while (!error) {
		struct pasta_tool *tool = pasta_parcel_get_tool(in, &error);

		if (!tool != (error != 0) || (tool && (!tool->name || !tool->summary)))
			abort();
		pasta_parcel_free_tool(tool);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;
	struct pasta_wire_in in;

	if (!size)
		return 0;
	bytes = malloc(size);
	if (!bytes)
		return 0;
	memcpy(bytes, data + 1, size - 1);
	if (!(data[0] & 2))
		pasta_wire_head(bytes, size - 1);
	if (!pasta_wire_check(bytes, size - 1, &in)) {
		if (data[0] & 1)
			tools(&in);
		else
			results(&in);
	}
	free(bytes);
	return 0;
}
