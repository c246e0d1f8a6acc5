/* sanitizertest.h - runs the sanitizer handler with a fake library in a child process, and reads
 * its run. */
#ifndef PASTA_TESTS_SANITIZERTEST_H
#define PASTA_TESTS_SANITIZERTEST_H

#include "handlers/sanitizer/completion.h"
#include "programs/fake_sanitizer/inside.h"
#include "unit/agent_run.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)

enum { ROWS_MAX = 1 << 17 };

static struct pasta_access_sum_record rows[ROWS_MAX];
static size_t row_count;
static struct pasta_object_record objects[64];
static struct pasta_site_record sites[64];
static size_t site_count, object_count, refused, drop_records, batched, counted, ended;

/* -- In the child -- */

static char own_path[300]; /* a file with the names of a reducer's functions, or "" */

static int accept_patches(const char *path, void *context)
{
	snprintf(((struct context *)context)->path, 4096, "%s", own_path);
	(void)path;
	atomic_store(&((struct context *)context)->patches, true);
	return SAN_OK;
}

static int new_stream(void *context, void **handle)
{
	*handle = fake_stream(context);
	return SAN_OK;
}

static int (*alloc)(void *, void **, size_t) = sanitizerAlloc;

static void start(void)
{
#define F(name, args) sanitizer.name = sanitizer##name;
	SANITIZER_FUNCTIONS(F)
#undef F
	sanitizer.Alloc = alloc;
	sanitizer.AddPatchesFromFile = accept_patches;
	sanitizer.NewStream = new_stream;
	sanitizer.ContextSynchronize = fake_context_synchronize;
	sanitizer.bound = true;
	san_start();
}

/* Starts the handler, with one context, stream and module. */
static void begin(void **context, void **stream, void **module)
{
	start();
	*context = fake_context(0);
	*stream = fake_stream(*context);
	*module = fake_module(*context);
}

static void end(void)
{
	san_completion_end(NULL, NULL);
	pasta_agent_close();
}

static void launch_one(void *stream, void *module, const struct fake_access *a, uint32_t count)
{
	fake_launch(stream, &(struct fake_kernel){module, "kernel", 4, 64, a, count, 0});
}

/* -- The recorded run -- */

static void take_launch(const struct pasta_event *ev)
{
	counted += ev->sub == PASTA_ACCESS_LAUNCH_COUNTED;
	refused += ev->sub == PASTA_ACCESS_LAUNCH_REFUSED;
	drop_records += ev->sub == PASTA_ACCESS_LAUNCH_LOST;
	ended += ev->sub == PASTA_ACCESS_LAUNCH_ENDED;
	if (ev->sub == PASTA_ACCESS_LAUNCH_COUNTED)
		assert_int_equal(ev->access_launch.flags, PASTA_ACCESS_LAUNCH_ENDS);
}

static void take(const struct pasta_event *ev)
{
	if (ev->kind == PASTA_KIND_ACCESS_SUM && row_count < ROWS_MAX)
		rows[row_count++] = ev->access_sum;
	else if (ev->kind == PASTA_KIND_OBJECT && object_count < 64)
		objects[object_count++] = ev->object;
	else if (ev->kind == PASTA_KIND_SITE && site_count < 64)
		sites[site_count++] = ev->site;
	else if (ev->kind == PASTA_KIND_ACCESS_LAUNCH)
		take_launch(ev);
	else if (ev->kind == PASTA_KIND_ACCESS_BATCH)
		batched += ev->access_batch.count;
}

static void run_and_read(const char *words, void (*body)(void))
{
	const struct pasta_event *ev;
	struct pasta_stream *s;

	setenv(PASTA_ENV_ACCESSES, words, 1);
	row_count = site_count = object_count = refused = drop_records = batched = counted = ended =
		0;
	assert_int_equal(in_child(body), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s)))
		take(ev);
	pasta_stream_free(s);
	unsetenv(PASTA_ENV_ACCESSES);
}

/* Adds up the rows of a reducer; with key0 ANY, all of them. */
#define ANY (PASTA_KEY_OTHER - 1)
static struct pasta_access_sum_record sum(uint32_t reducer, uint64_t key0)
{
	struct pasta_access_sum_record all = {0};

	for (size_t i = 0; i < row_count; i++) {
		if (rows[i].reducer != reducer || (key0 != ANY && rows[i].key0 != key0))
			continue;
		all.key0++; /* the number of rows */
		all.loads += rows[i].loads;
		all.stores += rows[i].stores;
		all.bytes += rows[i].bytes;
		all.extra += rows[i].extra;
	}
	return all;
}

__attribute__((unused)) static uint64_t object_of_size(uint64_t bytes)
{
	for (size_t i = 0; i < object_count; i++)
		if (objects[i].bytes == bytes)
			return objects[i].id;
	fail_msg("no object of %llu bytes", (unsigned long long)bytes);
	return 0;
}

#endif
