/* runinfo.c - reads and writes run.json, which describes a run. */
#include "process/read/runinfo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <yajl/yajl_tree.h>

#include "process/read/loss.h"
#include "process/io/files.h"
#include "process/io/output.h"
#include "process/read/run.h"

/* Names of the bits of enum pasta_need in run.json, in the order of the bits. Each bit is a type of
 * memory accesses that a run can count. */
static const char *const counts[] = {"object",	 "page",    "site",  "site_object",
				     "coalesce", "diverge", "block", "tensor",
				     "own",	 "barrier", "raw"};
#define COUNTS (sizeof(counts) / sizeof(*counts))
_Static_assert((uint64_t)PASTA_NEED_ACCESS_OBJECT << (COUNTS - 1) == PASTA_NEED_ACCESS_RAW,
	       "the array 'counts' must have a name for each PASTA_NEED_ACCESS_*");

/* Maximum size of run.json in bytes. A command line has at most a few MiB. */
#define SIZE_LIMIT (16u << 20)
#define SUM_KEY "sum"
#define SUM_NONE "0000000000000000"
#define DEPTH_LIMIT 64 /* maximum depth of nested lists and maps; run.json has four levels */

static void runinfo_list_free(char **list)
{
	size_t i;

	for (i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void pasta_runinfo_free(struct pasta_runinfo *info)
{
	free(info->path);
	runinfo_list_free(info->command);
	free(info->cwd);
	free(info->host);
	free(info->version);
	runinfo_list_free(info->tools);
	memset(info, 0, sizeof(*info));
}

/* -- Writing -- */

static void runinfo_put_list(struct pasta_json *j, const char *key, char *const *list)
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

static void runinfo_put_str(struct pasta_json *j, const char *key, const char *text)
{
	pasta_json_key(j, key);
	pasta_json_str(j, text);
}

/* 0 is unknown. */
static void runinfo_put_time(struct pasta_json *j, const char *key, uint64_t ns)
{
	pasta_json_key(j, key);
	if (ns)
		pasta_json_uint(j, ns);
	else
		pasta_json_null(j);
}

static void runinfo_put_kinds(struct pasta_json *j, uint64_t kinds)
{
	unsigned int kind;

	pasta_json_key(j, "kinds");
	pasta_json_list(j);
	for (kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (kinds >> kind & 1 && pasta_kind_name(kind))
			pasta_json_str(j, pasta_kind_name(kind));
	pasta_json_list_end(j);
}

static void runinfo_put_counted(struct pasta_json *j, const struct pasta_runinfo *info)
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

static void runinfo_put_exit(struct pasta_json *j, const struct pasta_runinfo *info)
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
	runinfo_put_str(j, "state", info->end ? "ended" : info->start ? "running" : NULL);
	runinfo_put_list(j, "command", info->command);
	runinfo_put_str(j, "cwd", info->cwd);
	runinfo_put_str(j, "host", info->host);
	runinfo_put_str(j, "version", info->version);
	runinfo_put_time(j, "start", info->start);
	runinfo_put_time(j, "end", info->end);
	runinfo_put_time(j, "duration", info->end > info->start ? info->end - info->start : 0);
	runinfo_put_exit(j, info);
	runinfo_put_list(j, "tools", info->tools);
	runinfo_put_kinds(j, info->kinds);
	pasta_json_key(j, "devices");
	pasta_json_list(j);
	pasta_json_list_end(j);
	pasta_json_key(j, "shards");
	pasta_json_uint(j, info->shards);
}

static int runinfo_print(const struct pasta_runinfo *info, FILE *file)
{
	struct pasta_json *j = pasta_json_new(file, true);

	if (!j)
		return -ENOMEM;
	pasta_json_map(j);
	runinfo_put_str(j, "schema", PASTA_RUN_SCHEMA);
	pasta_runinfo_json(info, j);
	runinfo_put_counted(j, info);
	pasta_json_key(j, "loss");
	if (info->has_loss)
		pasta_loss_json(&info->loss, j);
	else
		pasta_json_null(j);
	if (info->more)
		info->more(j, info->more_ctx);
	runinfo_put_str(j, SUM_KEY, SUM_NONE);
	pasta_json_map_end(j);
	return pasta_json_free(j);
}

/* Finds the digits of the checksum, which is the last member of run.json. Returns NULL if there is
 * no checksum. Older versions wrote none. */
static char *runinfo_sum_at(char *text, size_t size)
{
	static const char before[] = "\"" SUM_KEY "\": \"";
	char *at, *found = NULL;

	for (at = text; (at = strstr(at, before)); at++)
		found = at + sizeof(before) - 1;
	return found && size - (size_t)(found - text) > sizeof(SUM_NONE) - 1 ? found : NULL;
}

/* Computes the checksum of the text of run.json, with zeros instead of the digits of the
 * checksum. */
static void runinfo_sum(char *text, size_t size, char *at, char digits[sizeof(SUM_NONE)])
{
	memcpy(at, SUM_NONE, sizeof(SUM_NONE) - 1);
	snprintf(digits, sizeof(SUM_NONE), "%016" PRIx64, (uint64_t)XXH3_64bits(text, size));
}

int pasta_runinfo_save(const struct pasta_runinfo *info, const char *file, struct pasta_error *err)
{
	struct pasta_output *out = pasta_output_open(file, err);
	char *text = NULL, *at, digits[sizeof(SUM_NONE)];
	FILE *memory;
	size_t size = 0;
	int error = -ENOMEM;

	if (!out)
		return err ? err->code : -EIO;
	memory = open_memstream(&text, &size);
	if (memory) {
		error = runinfo_print(info, memory);
		if (fclose(memory) && !error)
			error = -ENOMEM;
	}
	at = error ? NULL : runinfo_sum_at(text, size);
	if (at) {
		runinfo_sum(text, size, at, digits);
		memcpy(at, digits, sizeof(SUM_NONE) - 1);
		if (fwrite(text, 1, size, pasta_output_file(out)) != size)
			error = -EIO;
	}
	free(text);
	return pasta_output_close(out, error, err);
}

/* -- Reading -- */

static yajl_val runinfo_get(yajl_val map, const char *key)
{
	const char *path[] = {key, NULL};

	return map ? yajl_tree_get(map, path, yajl_t_any) : NULL;
}

static char *runinfo_get_str(yajl_val map, const char *key)
{
	const char *text = YAJL_GET_STRING(runinfo_get(map, key));

	return text ? strdup(text) : NULL;
}

static uint64_t runinfo_get_uint(yajl_val map, const char *key)
{
	yajl_val v = runinfo_get(map, key);

	return v && YAJL_IS_NUMBER(v) ? strtoull(YAJL_GET_NUMBER(v), NULL, 10) : 0;
}

static char **runinfo_get_list(yajl_val map, const char *key)
{
	yajl_val v = runinfo_get(map, key);
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

static uint64_t runinfo_get_kinds(yajl_val map)
{
	char **names = runinfo_get_list(map, "kinds");
	uint64_t kinds = 0;
	unsigned int kind;
	size_t i;

	for (i = 0; names && names[i]; i++)
		for (kind = 0; kind < PASTA_KIND_MAX; kind++)
			if (pasta_kind_name(kind) && !strcmp(pasta_kind_name(kind), names[i]))
				kinds |= UINT64_C(1) << kind;
	runinfo_list_free(names);
	return kinds;
}

static uint64_t runinfo_get_counted(yajl_val map)
{
	char **names = runinfo_get_list(map, "counted");
	uint64_t counted = 0;
	size_t i, k;

	for (i = 0; names && names[i]; i++)
		for (k = 0; k < COUNTS; k++)
			if (!strcmp(counts[k], names[i]))
				counted |= (uint64_t)PASTA_NEED_ACCESS_OBJECT << k;
	runinfo_list_free(names);
	return counted;
}

static void runinfo_read(struct pasta_runinfo *info, yajl_val map)
{
	yajl_val exit_ = runinfo_get(map, "exit"), loss = runinfo_get(map, "loss");

	info->command = runinfo_get_list(map, "command");
	info->cwd = runinfo_get_str(map, "cwd");
	info->host = runinfo_get_str(map, "host");
	info->version = runinfo_get_str(map, "version");
	info->tools = runinfo_get_list(map, "tools");
	info->kinds = runinfo_get_kinds(map);
	info->has_counted = YAJL_IS_ARRAY(runinfo_get(map, "counted"));
	info->counted = runinfo_get_counted(map);
	info->sampled = runinfo_get_uint(runinfo_get(map, "accesses"), "launches") > 0;
	info->start = runinfo_get_uint(map, "start");
	info->end = runinfo_get_uint(map, "end");
	info->exited = runinfo_get(exit_, "status") != NULL;
	info->signaled = runinfo_get(exit_, "signal") != NULL;
	info->status = (int)runinfo_get_uint(exit_, "status");
	info->signal = (int)runinfo_get_uint(exit_, "signal");
	info->shards = runinfo_get_uint(map, "shards");
	info->has_loss = YAJL_IS_OBJECT(loss);
	info->loss.expected = runinfo_get_uint(loss, "expected");
	info->loss.captured = runinfo_get_uint(loss, "captured");
	info->loss.dropped = runinfo_get_uint(loss, "dropped");
}

/* Returns the maximum depth of nested lists and maps in a text. The depth must be limited, because
 * yajl frees its tree by recursion. */
static size_t runinfo_depth(const char *text, size_t size)
{
	size_t depth = 0, most = 0;
	bool quoted = false;

	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (quoted) {
			i += c == '\\';
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '[' || c == '{') {
			most = ++depth > most ? depth : most;
		} else if ((c == ']' || c == '}') && depth) {
			depth--;
		}
	}
	return most;
}

static yajl_val runinfo_tree(const char *text, size_t size)
{
	char why[200];

	/* Reject a text with a NUL, at which yajl would stop reading. accelprof never writes
	 * one. */
	if (memchr(text, '\0', size) || runinfo_depth(text, size) > DEPTH_LIMIT)
		return NULL;
	return yajl_tree_parse(text, why, sizeof(why));
}

static bool runinfo_is_changed(char *text, size_t size)
{
	char *at = runinfo_sum_at(text, size), was[sizeof(SUM_NONE)] = "", is[sizeof(SUM_NONE)];

	if (!at)
		return false;
	memcpy(was, at, sizeof(SUM_NONE) - 1);
	runinfo_sum(text, size, at, is);
	return strcmp(was, is) != 0;
}

int pasta_runinfo_parse(struct pasta_runinfo *info, char *text, size_t size, const char *file,
			struct pasta_error *err)
{
	yajl_val map = runinfo_tree(text, size);
	char *schema = runinfo_get_str(map, "schema");
	int error = 0;

	if (schema && !strcmp(schema, PASTA_RUN_SCHEMA)) {
		runinfo_read(info, map);
		if (runinfo_is_changed(text, size))
			error = pasta_fail(err, -EBADMSG,
					   "%s was changed after accelprof wrote it: its content "
					   "may be wrong",
					   file);
	} else if (schema && !strncmp(schema, "accelprof-run/", 14)) {
		error = pasta_fail(err, -EPROTONOSUPPORT,
				   "%s was written by a newer accelprof (%.40s): read it with that "
				   "version",
				   file, schema);
	} else {
		error = pasta_fail(err, -EINVAL, "%s is damaged, or not a run.json of accelprof",
				   file);
	}
	free(schema);
	yajl_tree_free(map);
	return error;
}

int pasta_runinfo_load(struct pasta_runinfo *info, const char *folder, struct pasta_error *err)
{
	char *file = pasta_run_file(folder, PASTA_RUN_INFO), *text = NULL;
	int fd = file ? pasta_files_open_in(folder, PASTA_RUN_INFO, NULL) : -ENOMEM, error = fd;
	size_t size;

	if (fd >= 0) {
		text = pasta_files_text(fd, SIZE_LIMIT, &size, &error);
		close(fd);
	}
	if (text)
		error = pasta_runinfo_parse(info, text, size, file, err);
	else
		pasta_fail(err, error, "cannot read %s: %s", file ? file : folder,
			   pasta_files_why(error));
	free(text);
	free(file);
	return error;
}
