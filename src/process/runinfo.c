/* runinfo.c - run.json: what is known of a run beside its events. */
#include "process/runinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_tree.h>

#include "process/account.h"
#include "process/output.h"

/* What is counted of memory accesses, in the order of enum pasta_needs. */
static const char *const counts[] = {"object",	 "page",    "site",  "site_object",
				     "coalesce", "diverge", "block", "tensor",
				     "own",	 "barrier", "raw"};
#define COUNTS (sizeof(counts) / sizeof(*counts))
_Static_assert((uint64_t)PASTA_NEED_ACCESS_OBJECT << (COUNTS - 1) == PASTA_NEED_ACCESS_RAW,
	       "each has a name");

#define SIZE_LIMIT (16u << 20) /* of a run.json: a command line has at most a few MiB */

static void list_free(char **list)
{
	size_t i;

	for (i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void pasta_runinfo_free(struct pasta_runinfo *info)
{
	free(info->path);
	list_free(info->command);
	free(info->cwd);
	free(info->host);
	free(info->version);
	list_free(info->tools);
	memset(info, 0, sizeof(*info));
}

/* -- Writing -- */

static void put_list(struct pasta_json *j, const char *key, char *const *list)
{
	size_t i;

	pasta_json_key(j, key);
	if (!list) {
		pasta_json_null(j);
		return;
	}
	pasta_json_list(j);
	for (i = 0; list[i]; i++)
		pasta_json_str(j, list[i]);
	pasta_json_list_end(j);
}

static void put_str(struct pasta_json *j, const char *key, const char *text)
{
	pasta_json_key(j, key);
	pasta_json_str(j, text);
}

/* 0 is unknown. */
static void put_time(struct pasta_json *j, const char *key, uint64_t ns)
{
	pasta_json_key(j, key);
	if (ns)
		pasta_json_uint(j, ns);
	else
		pasta_json_null(j);
}

static void put_kinds(struct pasta_json *j, uint64_t kinds)
{
	unsigned int kind;

	pasta_json_key(j, "kinds");
	pasta_json_list(j);
	for (kind = 0; kind < PASTA_KINDS_MAX; kind++)
		if (kinds >> kind & 1 && pasta_kind_name(kind))
			pasta_json_str(j, pasta_kind_name(kind));
	pasta_json_list_end(j);
}

static void put_counted(struct pasta_json *j, const struct pasta_runinfo *info)
{
	size_t i;

	pasta_json_key(j, "counted");
	if (!info->has_counted) {
		pasta_json_null(j);
		return;
	}
	pasta_json_list(j);
	for (i = 0; i < COUNTS; i++)
		if (info->counted & (uint64_t)PASTA_NEED_ACCESS_OBJECT << i)
			pasta_json_str(j, counts[i]);
	pasta_json_list_end(j);
}

static void put_exit(struct pasta_json *j, const struct pasta_runinfo *info)
{
	pasta_json_key(j, "exit");
	if (!info->exited && !info->signaled) {
		pasta_json_null(j);
		return;
	}
	pasta_json_map(j);
	pasta_json_key(j, info->exited ? "status" : "signal");
	pasta_json_int(j, info->exited ? info->status : info->signal);
	pasta_json_map_end(j);
}

void pasta_runinfo_json(const struct pasta_runinfo *info, struct pasta_json *j)
{
	put_str(j, "state", info->end ? "ended" : info->start ? "running" : NULL);
	put_list(j, "command", info->command);
	put_str(j, "cwd", info->cwd);
	put_str(j, "host", info->host);
	put_str(j, "version", info->version);
	put_time(j, "start", info->start);
	put_time(j, "end", info->end);
	put_time(j, "duration", info->end > info->start ? info->end - info->start : 0);
	put_exit(j, info);
	put_list(j, "tools", info->tools);
	put_kinds(j, info->kinds);
	pasta_json_key(j, "devices");
	pasta_json_list(j);
	pasta_json_list_end(j);
	pasta_json_key(j, "shards");
	pasta_json_uint(j, info->shards);
}

int pasta_runinfo_save(const struct pasta_runinfo *info, const char *file, struct pasta_err *err)
{
	struct pasta_output *out = pasta_output_open(file, err);
	struct pasta_json *j;

	if (!out)
		return err ? err->code : -EIO;
	j = pasta_json_new(pasta_output_file(out), true);
	if (j) {
		pasta_json_map(j);
		put_str(j, "schema", PASTA_RUN_SCHEMA);
		pasta_runinfo_json(info, j);
		put_counted(j, info);
		pasta_json_key(j, "loss");
		if (info->has_loss)
			pasta_account_json(&info->loss, j);
		else
			pasta_json_null(j);
		if (info->more)
			info->more(j, info->more_ctx);
		pasta_json_map_end(j);
	}
	return pasta_output_close(out, pasta_json_free(j), err);
}

/* -- Reading -- */

static yajl_val get(yajl_val map, const char *key)
{
	const char *path[] = {key, NULL};

	return map ? yajl_tree_get(map, path, yajl_t_any) : NULL;
}

static char *get_str(yajl_val map, const char *key)
{
	const char *text = YAJL_GET_STRING(get(map, key));

	return text ? strdup(text) : NULL;
}

static uint64_t get_uint(yajl_val map, const char *key)
{
	yajl_val v = get(map, key);

	return v && YAJL_IS_NUMBER(v) ? strtoull(YAJL_GET_NUMBER(v), NULL, 10) : 0;
}

static char **get_list(yajl_val map, const char *key)
{
	yajl_val v = get(map, key);
	size_t i, n = YAJL_IS_ARRAY(v) ? YAJL_GET_ARRAY(v)->len : 0;
	char **list = YAJL_IS_ARRAY(v) ? calloc(n + 1, sizeof(*list)) : NULL;

	for (i = 0; list && i < n; i++) {
		const char *text = YAJL_GET_STRING(YAJL_GET_ARRAY(v)->values[i]);

		list[i] = strdup(text ? text : "");
		if (!list[i])
			break;
	}
	return list;
}

static uint64_t get_kinds(yajl_val map)
{
	char **names = get_list(map, "kinds");
	uint64_t kinds = 0;
	unsigned int kind;
	size_t i;

	for (i = 0; names && names[i]; i++)
		for (kind = 0; kind < PASTA_KINDS_MAX; kind++)
			if (pasta_kind_name(kind) && !strcmp(pasta_kind_name(kind), names[i]))
				kinds |= UINT64_C(1) << kind;
	list_free(names);
	return kinds;
}

static uint64_t get_counted(yajl_val map)
{
	char **names = get_list(map, "counted");
	uint64_t counted = 0;
	size_t i, k;

	for (i = 0; names && names[i]; i++)
		for (k = 0; k < COUNTS; k++)
			if (!strcmp(counts[k], names[i]))
				counted |= (uint64_t)PASTA_NEED_ACCESS_OBJECT << k;
	list_free(names);
	return counted;
}

static void load(struct pasta_runinfo *info, yajl_val map)
{
	yajl_val exit_ = get(map, "exit"), loss = get(map, "loss");

	info->command = get_list(map, "command");
	info->cwd = get_str(map, "cwd");
	info->host = get_str(map, "host");
	info->version = get_str(map, "version");
	info->tools = get_list(map, "tools");
	info->kinds = get_kinds(map);
	info->has_counted = YAJL_IS_ARRAY(get(map, "counted"));
	info->counted = get_counted(map);
	info->start = get_uint(map, "start");
	info->end = get_uint(map, "end");
	info->exited = get(exit_, "status") != NULL;
	info->signaled = get(exit_, "signal") != NULL;
	info->status = (int)get_uint(exit_, "status");
	info->signal = (int)get_uint(exit_, "signal");
	info->shards = get_uint(map, "shards");
	info->has_loss = YAJL_IS_OBJECT(loss);
	info->loss.expected = get_uint(loss, "expected");
	info->loss.captured = get_uint(loss, "captured");
	info->loss.dropped = get_uint(loss, "dropped");
}

/* The file's text, to be freed; NULL with *error. */
static char *slurp(const char *file, int *error)
{
	FILE *f = fopen(file, "re");
	char *text = NULL;
	size_t size = 0, room = 0;

	*error = f ? 0 : -errno;
	while (!*error) {
		char *more = size < SIZE_LIMIT ? realloc(text, room += 65536) : NULL;

		if (!more) {
			*error = size < SIZE_LIMIT ? -ENOMEM : -EFBIG;
			break;
		}
		text = more;
		size += fread(text + size, 1, room - size - 1, f);
		text[size] = '\0';
		if (ferror(f))
			*error = errno ? -errno : -EIO;
		if (feof(f))
			break;
	}
	if (f)
		fclose(f);
	if (!*error)
		return text;
	free(text);
	return NULL;
}

int pasta_runinfo_load(struct pasta_runinfo *info, const char *file, struct pasta_err *err)
{
	char why[200] = "", *schema, *text;
	yajl_val map;
	int error;

	text = slurp(file, &error);
	if (!text)
		return pasta_fail(err, error, "cannot read %s: %s", file, strerror(-error));
	map = yajl_tree_parse(text, why, sizeof(why));
	free(text);
	schema = get_str(map, "schema");
	if (schema && !strcmp(schema, PASTA_RUN_SCHEMA))
		load(info, map);
	else if (schema && !strncmp(schema, "accelprof-run/", 14))
		error = pasta_fail(err, -EPROTONOSUPPORT,
				   "%s is of a newer accelprof (%s): use that one", file, schema);
	else
		error = pasta_fail(err, -EINVAL, "%s is damaged, or no run.json", file);
	free(schema);
	yajl_tree_free(map);
	return error;
}
