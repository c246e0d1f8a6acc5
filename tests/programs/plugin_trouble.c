/* plugin_trouble.c - two tools that fail where an option selects it: one merges, one does not. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pasta/tool.h>

struct trouble {
	const char *how;
	uint64_t events;
};

/* What the compiler must not know. */
static volatile int forever = 1;
static void *volatile nowhere = (void *)8, *volatile nothing_allocated = (void *)&forever;

static int overflow(volatile char *above)
{
	volatile char here[4096];

	here[0] = above ? above[0] : 0;
	return forever ? overflow(here) + here[1] : 0;
}

/* The C library finds it out, with its own lock held. */
static void spoil_heap(void)
{
	void *volatile block = malloc(100);
	size_t i;

	for (i = 0; block && i < 4000; i++)
		((volatile char *)block)[i] = (char)0xff;
	for (i = 0; i < 100000; i++)
		block = malloc(3000 + i);
}

/* An interned call path, whichever: bytes in eights. */
static uint32_t path(void)
{
	size_t size;

	for (uint32_t id = 1; id < 100000; id++)
		if (*pasta_bytes(id, &size) && size && size % 8 == 0)
			return id;
	return 0;
}

/* "segv-event": how, then where. */
static void trouble_in(const struct trouble *t, const char *where)
{
	size_t n = strcspn(t->how, "-");

	if (!t->how[n] || strcmp(t->how + n + 1, where))
		return;
	if (!strncmp(t->how, "segv", n))
		*(volatile int *)nowhere = 1;
	else if (!strncmp(t->how, "abort", n))
		abort();
	else if (!strncmp(t->how, "fpe", n))
		raise(SIGFPE);
	else if (!strncmp(t->how, "overflow", n))
		overflow(NULL);
	else if (!strncmp(t->how, "free", n))
		free((void *)nothing_allocated); /* the C library aborts, or crashes */
	else if (!strncmp(t->how, "printf", n))
		printf("%s %d\n", (const char *)nowhere, 1); /* stdout is locked then */
	else if (!strncmp(t->how, "heap", n))
		spoil_heap();
	else if (!strncmp(t->how, "frames", n))
		pasta_stack_frames(0, path(), nowhere, 8);
	else if (!strncmp(t->how, "exit", n))
		exit(0);
	else if (!strncmp(t->how, "loop", n))
		while (forever)
			;
	else if (!strncmp(t->how, "sleep", n))
		for (;;)
			nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
}

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct trouble *t = state;

	t->how = pasta_opt(opts, "how");
	trouble_in(t, "open");
	return strcmp(t->how, "fail-open") ? 0 : pasta_fail(err, -EIO, "told not to open");
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct trouble *t = state;

	(void)ev;
	if (++t->events == 1000)
		trouble_in(t, "event");
}

static int merge(void *into, const void *from, struct pasta_error *err)
{
	trouble_in(into, "merge");
	((struct trouble *)into)->events += ((const struct trouble *)from)->events;
	return 0;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	static const struct pasta_column columns[] = {{"events", PASTA_COLUMN_INT, NULL}};
	struct trouble *t = state;
	struct pasta_table *table = pasta_out_table(out, "trouble", columns, 1);

	pasta_cell_int(table, (int64_t)t->events);
	trouble_in(t, "report");
	return strcmp(t->how, "fail-report") ? 0 : -EIO;
}

static void close_(void *state)
{
	trouble_in(state, "close");
}

static const struct pasta_option options[] = {
	{"how", "well", "what to do wrong, and where: segv-event", PASTA_OPTION_TEXT},
	{0},
};

PASTA_TOOL(.name = "trouble", .summary = "goes wrong, with one state",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(REGION), .state_size = sizeof(struct trouble),
	   .options = options, .open = open_, .event = on_event, .report = report, .close = close_);

static const struct pasta_tool merging = {PASTA_TOOL_HEAD,
					  .name = "trouble_merging",
					  .summary = "goes wrong, with a state a shard",
					  .events = PASTA_MASK(KERNEL) | PASTA_MASK(REGION),
					  .state_size = sizeof(struct trouble),
					  .options = options,
					  .open = open_,
					  .event = on_event,
					  .merge = merge,
					  .report = report,
					  .close = close_};

__attribute__((constructor)) static void register_merging(void)
{
	pasta_tool_register(&merging);
}
