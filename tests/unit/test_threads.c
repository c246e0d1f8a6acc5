/*
 * test_threads.c - spans on threads as nested events: fixed cases and random ones.
 * timeout: 180
 */
/* labels: onethread */
#include "unit/support.h"

#include <errno.h>

#include "import/import.h"

enum { EVENTS = 4096, TEXT = 1 << 18 };

/* -- A trace, imported and read back --------------------------------------------------------------
 */

static struct pasta_event events[EVENTS]; /* events of threads, in order of time */
static size_t count;
static struct pasta_import_info info;
static char text[TEXT];
static size_t text_size;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text + text_size, TEXT - text_size, format, args);
	va_end(args);
	assert_true(n >= 0 && (size_t)n < TEXT - text_size);
	text_size += (size_t)n;
}

static void begin_trace(void)
{
	text_size = 0;
	add("{\"schemaVersion\":1,\"traceEvents\":[\n");
}

/* Times are in ns. */
static void add_event(const char *cat, const char *name, unsigned int tid, uint64_t begin,
		      uint64_t end, const char *args)
{
	add("%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%u,"
	    "\"ts\":%llu.%03u,\"dur\":%llu.%03u,\"args\":{%s}}",
	    text[text_size - 1] == '\n' ? "" : ",", cat, name, tid,
	    (unsigned long long)begin / 1000, (unsigned int)(begin % 1000),
	    (unsigned long long)(end - begin) / 1000, (unsigned int)((end - begin) % 1000), args);
}

static void add_flow(char ph, unsigned int id, unsigned int tid, uint64_t time)
{
	add(",{\"ph\":\"%c\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":%u,\"pid\":1,\"tid\":%u,"
	    "\"ts\":%llu.%03u}",
	    ph, id, tid, (unsigned long long)time / 1000, (unsigned int)(time % 1000));
}

static void import_trace(void)
{
	struct bytes b = {(uint8_t *)text, text_size, TEXT};
	const char *path = in_dir("trace.json"), *shard = in_dir("shard.pst");
	struct pasta_import_options options = {0};
	const struct pasta_event *ev;
	struct pasta_error err = {0};
	struct pasta_stream *s;

	save(&b, text_size, path);
	unlink(shard);
	pasta_import_info_free(&info);
	if (pasta_import(path, shard, &options, &info, &err))
		fail_msg("%s", err.text);
	s = open_stream(shard);
	count = 0;
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind == PASTA_KIND_CLOCK || ev->kind == PASTA_KIND_LOSS ||
		    ev->kind == PASTA_KIND_PROCESS || ev->kind == PASTA_KIND_THREAD)
			continue;
		assert_true(count < EVENTS);
		pasta_event_copy(&events[count++], ev);
	}
	pasta_stream_free(s);
	assert_int_equal(count, info.events);
}

static void end_trace(void)
{
	add("\n]}");
	import_trace();
}

/* -- What came of it, as one text: "5 +a 7 -a" for an operator, "[r" and "]r" for a region, "!f"
 * for a call, "^" for a launch, "#4" for an iteration, "1>2" for a link
 * ------------------------------ */

static const char *op_name(uint64_t id)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == PASTA_KIND_OP_BEGIN && events[i].op_begin.id == id)
			return pasta_str(events[i].op_begin.name);
	return "?";
}

static int describe(const struct pasta_event *ev, char *to, size_t size)
{
	static const char *const regions[] = {"?", "[", "]", "."};

	switch (ev->kind) {
	case PASTA_KIND_OP_BEGIN:
		return snprintf(to, size, "+%s", pasta_str(ev->op_begin.name));
	case PASTA_KIND_OP_END:
		return snprintf(to, size, "-%s", op_name(ev->op_end.id));
	case PASTA_KIND_REGION:
		return snprintf(to, size, "%s%s%u", regions[ev->sub & 3],
				pasta_str(ev->region.name), ev->region.depth);
	case PASTA_KIND_API:
		return snprintf(to, size, "!%s", pasta_str(ev->api.name));
	case PASTA_KIND_LAUNCH:
		return snprintf(to, size, "^");
	case PASTA_KIND_ITERATION:
		return snprintf(to, size, "#%d", (int)ev->iteration.index);
	case PASTA_KIND_LINK:
		return snprintf(to, size, "%s>%s", op_name(ev->link.from), op_name(ev->link.to));
	default:
		return snprintf(to, size, "%s?", pasta_kind_name(ev->kind));
	}
}

/* Returns the events of one thread; prints a time where it changes. */
static const char *story(uint32_t tid)
{
	static char all[8192];
	uint64_t time = UINT64_MAX;
	char *p = all, *end = all + sizeof(all);

	*p = '\0';
	for (size_t i = 0; i < count; i++) {
		if (events[i].tid != tid)
			continue;
		if (events[i].time != time)
			p += snprintf(p, (size_t)(end - p), "%s%llu", p > all ? " " : "",
				      (unsigned long long)events[i].time);
		time = events[i].time;
		assert_true(end - p > 200);
		*p++ = ' ';
		p += describe(&events[i], p, (size_t)(end - p));
	}
	return all;
}

/* Returns the functions of a path, innermost first. */
static const char *path_text(uint32_t ref)
{
	struct pasta_stack_frame frames[256];
	size_t n = pasta_stack_frames(0, ref, frames, 256);
	static char all[8192];
	char *p = all, *end = all + sizeof(all);

	*p = '\0';
	assert_true(n <= 256);
	for (size_t i = 0; i < n; i++)
		p += snprintf(p, (size_t)(end - p), "%s%s", i ? " " : "", frames[i].function);
	assert_true(p < end);
	return all;
}

static const struct pasta_event *find_op(const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == PASTA_KIND_OP_BEGIN &&
		    !strcmp(pasta_str(events[i].op_begin.name), name))
			return &events[i];
	fail_msg("no operator %s", name);
	return NULL;
}

/* -- Fixed cases
 * -------------------------------------------------------------------------------------- */

static void of_equal_spans_the_first_is_the_outer(void **state)
{
	begin_trace();
	add_event("cpu_op", "a", 5, 10, 20, "");
	add_event("cpu_op", "b", 5, 10, 20, "");
	add_event("user_annotation", "r", 5, 10, 20, "");
	add_event("user_annotation", "s", 5, 10, 20, "");
	end_trace();
	assert_string_equal(story(5), "10 +a +b [r1 [s2 20 -b -a ]s2 ]r1");
	assert_int_equal(info.crossed, 0);
}

static void what_is_longer_is_outer_in_whatever_order_they_are_written(void **state)
{
	begin_trace();
	add_event("cpu_op", "inner", 5, 10, 12, "");
	add_event("cpu_op", "last", 5, 15, 20, "");
	add_event("cpu_op", "outer", 5, 10, 20, "");
	add_event("cpu_op", "middle", 5, 10, 15, "");
	end_trace();
	assert_string_equal(story(5),
			    "10 +outer +middle +inner 12 -inner 15 -middle +last 20 -last "
			    "-outer");
	assert_int_equal(info.crossed, 0);
}

static void neighbours_do_not_nest(void **state)
{
	begin_trace();
	add_event("cpu_op", "a", 5, 10, 20, "");
	add_event("cpu_op", "b", 5, 20, 30, "");
	end_trace();
	assert_string_equal(story(5), "10 +a 20 -a +b 30 -b");
}

static void what_takes_no_time_is_in_what_it_touches(void **state)
{
	begin_trace();
	add_event("cpu_op", "a", 5, 10, 20, "");
	add_event("cpu_op", "first", 5, 10, 10, "");
	add_event("cpu_op", "last", 5, 20, 20, "");
	add_event("cpu_op", "alone", 5, 30, 30, "");
	add_event("cpu_op", "again", 5, 30, 30, "");
	end_trace();
	assert_string_equal(story(5), "10 +a +first -first 20 +last -last -a 30 +alone +again "
				      "-again -alone");
	assert_int_equal(info.crossed, 0);
}

/* The later one is longer, so it precedes a span without a duration. */
static void what_takes_no_time_between_two_is_in_the_later(void **state)
{
	begin_trace();
	add_event("cpu_op", "a", 5, 10, 20, "");
	add_event("cpu_op", "point", 5, 20, 20, "");
	add_event("cpu_op", "b", 5, 20, 30, "");
	end_trace();
	assert_string_equal(story(5), "10 +a 20 -a +b +point -point 30 -b");
}

static void what_crosses_an_end_is_cut_there_and_counted(void **state)
{
	begin_trace();
	add_event("cpu_op", "a", 5, 10, 20, "");
	add_event("cpu_op", "b", 5, 15, 25, "");
	add_event("cpu_op", "c", 5, 16, 40, "");
	add_event("cpu_op", "d", 5, 22, 30, "");
	end_trace();
	assert_string_equal(story(5), "10 +a 15 +b 16 +c 20 -c -b -a 22 +d 30 -d");
	assert_int_equal(info.crossed, 2);
}

/* One row of another profiler may have several types of spans. */
static void operators_and_regions_do_not_cut_each_other(void **state)
{
	begin_trace();
	add_event("cpu_op", "a", 5, 10, 20, "");
	add_event("user_annotation", "r", 5, 15, 25, "");
	end_trace();
	assert_string_equal(story(5), "10 +a 15 [r1 20 -a 25 ]r1");
	assert_int_equal(info.crossed, 0);
}

static void threads_do_not_nest_in_each_other(void **state)
{
	begin_trace();
	add_event("cpu_op", "a", 5, 10, 20, "");
	add_event("cpu_op", "b", 6, 15, 25, "");
	end_trace();
	assert_string_equal(story(5), "10 +a 20 -a");
	assert_string_equal(story(6), "15 +b 25 -b");
	assert_int_equal(info.crossed, 0);
}

static void calls_lie_in_what_begins_with_them_and_launch(void **state)
{
	begin_trace();
	add_event("cuda_runtime", "cudaLaunchKernel", 5, 10, 30, "\"correlation\":4");
	add_event("cuda_runtime", "cudaFree", 5, 35, 36, "");
	add_event("cpu_op", "a", 5, 10, 20, "");
	end_trace();
	assert_string_equal(story(5), "10 +a !cudaLaunchKernel ^ 20 -a 35 !cudaFree");
	for (size_t i = 0; i < count; i++) {
		if (events[i].kind == PASTA_KIND_API)
			assert_int_equal(events[i].api.dur, events[i].time == 10 ? 20 : 1);
		if (events[i].kind == PASTA_KIND_LAUNCH)
			assert_int_equal(events[i].launch.corr, 4);
	}
}

static void calls_launch_what_their_names_state(void **state)
{
	static const struct {
		const char *name;
		int work; /* -1: no launch */
	} calls[] = {
		{"cudaLaunchKernel", PASTA_LAUNCH_WORK_KERNEL},
		{"cuLaunchKernelEx", PASTA_LAUNCH_WORK_KERNEL},
		{"hipExtModuleLaunchKernel", PASTA_LAUNCH_WORK_KERNEL},
		{"cudaMemcpyAsync", PASTA_LAUNCH_WORK_COPY},
		{"hipMemcpyWithStream", PASTA_LAUNCH_WORK_COPY},
		{"cudaMemsetAsync", PASTA_LAUNCH_WORK_FILL},
		{"cudaGraphLaunch", PASTA_LAUNCH_WORK_GRAPH},
		{"hipGraphLaunch", PASTA_LAUNCH_WORK_GRAPH},
		{"cudaGraphAddMemcpyNode", -1},
		{"cudaGraphInstantiate", -1},
		{"cudaLaunchHostFunc", -1},
		{"cudaStreamSynchronize", -1},
	};
	const size_t n = sizeof(calls) / sizeof(*calls);
	char args[40];
	size_t launches = 0, i;

	begin_trace();
	for (i = 0; i < n; i++) {
		snprintf(args, sizeof(args), "\"correlation\":%zu", i + 1);
		add_event("cuda_runtime", calls[i].name, 5, 10 * i + 10, 10 * i + 15, args);
	}
	end_trace();
	for (i = 0; i < count; i++) {
		if (events[i].kind != PASTA_KIND_LAUNCH)
			continue;
		assert_int_equal(events[i].launch.work, calls[events[i].launch.corr - 1].work);
		launches++;
	}
	assert_int_equal(launches, 8);
}

static void frames_make_the_paths_of_what_begins_in_them(void **state)
{
	begin_trace();
	add_event("python_function", "a.py(1): main", 5, 10, 100, "");
	add_event("python_function", "a.py(7): step", 5, 20, 60, "");
	add_event("python_function", "<built-in f>", 5, 30, 40, "");
	add_event("cpu_op", "in_f", 5, 32, 38, "");
	add_event("cpu_op", "in_step", 5, 45, 50, "");
	add_event("cpu_op", "in_main", 5, 60, 70, "");
	add_event("cpu_op", "outside", 5, 100, 110, "");
	add_event("cpu_op", "elsewhere", 6, 32, 38, "");
	add_event("cuda_runtime", "cudaLaunchKernel", 5, 33, 34, "");
	end_trace();
	assert_string_equal(path_text(find_op("in_f")->op_begin.stack), "<built-in f> step main");
	assert_string_equal(path_text(find_op("in_step")->op_begin.stack), "step main");
	assert_string_equal(path_text(find_op("in_main")->op_begin.stack), "main");
	assert_string_equal(path_text(find_op("outside")->op_begin.stack), "");
	assert_string_equal(path_text(find_op("elsewhere")->op_begin.stack), "");
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == PASTA_KIND_LAUNCH)
			assert_string_equal(path_text(events[i].launch.stack),
					    "<built-in f> step main");
}

static void a_frame_knows_its_file_and_line(void **state)
{
	struct pasta_stack_frame f[2];

	begin_trace();
	add_event("python_function", "dir/(x)/a.py(123): g(h): i", 5, 10, 100, "");
	add_event("cpu_op", "o", 5, 20, 30, "");
	end_trace();
	assert_int_equal(pasta_stack_frames(0, find_op("o")->op_begin.stack, f, 2), 1);
	assert_string_equal(f[0].function, "g(h): i");
	assert_string_equal(f[0].file, "dir/(x)/a.py");
	assert_int_equal(f[0].line, 123);
}

static void flows_link_the_operators_that_begin_with_them(void **state)
{
	begin_trace();
	add_event("cpu_op", "outer", 5, 10, 50, "");
	add_event("cpu_op", "numbered", 5, 10, 40, "\"Sequence number\":3");
	add_event("cpu_op", "inner", 5, 10, 30, "");
	add_flow('s', 1, 5, 10);
	add_event("cpu_op", "back", 6, 60, 90, "");
	add_event("cpu_op", "numbered_back", 6, 65, 80, "\"Sequence number\":3");
	add_flow('f', 1, 6, 65);
	end_trace();
	assert_string_equal(story(6), "60 +back 65 +numbered_back numbered>numbered_back 80 "
				      "-numbered_back 90 -back");
}

static void a_flow_without_its_other_end_links_nothing(void **state)
{
	begin_trace();
	add_event("cpu_op", "a", 5, 10, 50, "");
	add_flow('s', 1, 5, 10);
	add_flow('f', 2, 5, 20);
	add_flow('s', 3, 7, 5); /* outside of all operators */
	add_flow('f', 3, 5, 30);
	end_trace();
	assert_string_equal(story(5), "10 +a 50 -a");
}

static void steps_of_the_profiler_are_iterations(void **state)
{
	begin_trace();
	add_event("user_annotation", "ProfilerStep#41", 5, 10, 20, "");
	add_event("user_annotation", "ProfilerStep#42", 5, 20, 30, "");
	add_event("user_annotation", "ProfilerStep#x", 5, 40, 50, "");
	add_event("user_annotation", "ProfilerStep#", 5, 60, 70, "");
	end_trace();
	assert_string_equal(story(5), "10 #41 [ProfilerStep1 20 ]ProfilerStep1 #42 "
				      "[ProfilerStep1 30 ]ProfilerStep1 40 "
				      "[ProfilerStep#x1 50 ]ProfilerStep#x1 60 [ProfilerStep#1 70 "
				      "]ProfilerStep#1");
}

/* Threads are distinct even if their ids are text, the same in two processes, or very long. */
static void threads_differ_by_all_of_their_names(void **state)
{
	static const char *const ids[][2] = {
		{"1", "5"},
		{"2", "5"},
		{"1", "\"1e!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!\""},
		{"1",
		 "\"0000000000000000000000000000000000000000000000000000000000000000000000a\""},
		{"1", "5"},
		{"1",
		 "\"0000000000000000000000000000000000000000000000000000000000000000000000b\""},
		{"1", "5"},
	};
	enum { COUNT = sizeof(ids) / sizeof(*ids) };
	uint32_t tids[COUNT] = {0};

	begin_trace();
	for (size_t i = 0; i < COUNT; i++)
		add("%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o%zu\",\"pid\":%s,\"tid\":%s,"
		    "\"ts\":%zu,\"dur\":100}",
		    i ? "," : "", i, ids[i][0], ids[i][1], i);
	end_trace();
	for (size_t i = 0; i < COUNT; i++) {
		char name[8];

		snprintf(name, sizeof(name), "o%zu", i);
		tids[i] = find_op(name)->tid;
		for (size_t k = 0; k < i; k++)
			if (ids[i][0] == ids[k][0] && !strcmp(ids[i][1], ids[k][1]))
				assert_int_equal(tids[i], tids[k]);
			else
				assert_int_not_equal(tids[i], tids[k]);
	}
	assert_int_equal(tids[0], 5);
}

static void nesting_has_a_limit_that_is_reported(void **state)
{
	const char *path = in_dir("deep.json"), *shard = in_dir("deep.pst");
	struct pasta_import_options options = {0};
	struct pasta_import_info deep;
	struct pasta_error err = {0};
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs("{\"schemaVersion\":1,\"traceEvents\":[", f);
	for (int i = 0; i <= 1 << 14; i++)
		fprintf(f,
			"%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,"
			"\"ts\":1,\"dur\":1}",
			i ? "," : "");
	fputs("]}", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(pasta_import(path, shard, &options, &deep, &err), -EFBIG);
	assert_non_null(strstr(err.text, "nested more than 16384 deep"));
	assert_int_equal(access(shard, F_OK), -1);
	pasta_import_info_free(&deep);
}

/* -- Random spans, against a definition of nesting
 * ----------------------------------------------------- */

enum sort { OP, REGION, FRAME, CALL, SORTS };

struct span {
	uint64_t begin, end;
	uint64_t until; /* its end, cut to the enclosing span's */
	enum sort sort;
	unsigned int tid;
	size_t number;
	int parent; /* of the same type; -1: none */
};

enum { SPANS = 60 };
static struct span spans[SPANS];
static size_t span_count;

/* By begin; calls last; longest first; then file order. */
static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if ((x->sort == CALL) != (y->sort == CALL))
		return x->sort == CALL ? 1 : -1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Returns whether j, which precedes i, is still open when i begins: no span of its thread has begun
 * after its end, or at its end with a duration. */
static bool is_open(size_t j, size_t i)
{
	for (size_t k = j + 1; k <= i; k++)
		if (spans[k].tid == spans[j].tid &&
		    (spans[k].begin > spans[j].until ||
		     (spans[k].begin == spans[j].until && spans[k].end > spans[k].begin)))
			return false;
	return true;
}

static void nest_spans(uint64_t *crossed)
{
	*crossed = 0;
	for (size_t i = 0; i < span_count; i++) {
		struct span *s = &spans[i];

		s->parent = -1;
		s->until = s->end;
		for (size_t j = i; j-- > 0 && s->parent < 0;)
			if (spans[j].sort == s->sort && spans[j].tid == s->tid && is_open(j, i))
				s->parent = (int)j;
		if (s->sort == CALL || s->parent < 0 || spans[s->parent].until >= s->end)
			continue;
		s->until = spans[s->parent].until;
		++*crossed;
	}
}

static void make_spans(void)
{
	static const char *const cats[] = {"cpu_op", "user_annotation", "python_function",
					   "cuda_runtime"};
	uint64_t times = 1 + random_below(60);
	char name[32];

	begin_trace();
	span_count = 1 + random_below(SPANS);
	for (size_t i = 0; i < span_count; i++) {
		struct span *s = &spans[i];

		s->begin = 1000 + random_below(times);
		s->end = s->begin + (random_below(4) ? random_below(times) : 0);
		s->sort = (enum sort)random_below(SORTS);
		s->tid = 5 + (unsigned int)random_below(2);
		s->number = i;
		snprintf(name, sizeof(name), "%s%zu", s->sort == CALL ? "Launch" : "s", i);
		add_event(cats[s->sort], name, s->tid, s->begin, s->end, "");
	}
	qsort(spans, span_count, sizeof(*spans), compare);
}

/* Returns the index of the span with this name: "s12", "Launch7". */
static size_t span_of(uint32_t name)
{
	const char *s = pasta_str(name);
	size_t number = strtoul(s + strcspn(s, "0123456789"), NULL, 10);

	for (size_t i = 0; i < span_count; i++)
		if (spans[i].number == number)
			return i;
	fail_msg("%s was never written", s);
	return 0;
}

/* Returns the frames that are open when span i begins, innermost first. */
static const char *path_of(size_t i)
{
	static char all[8192];
	char *p = all;

	*p = '\0';
	for (size_t j = i; j-- > 0;)
		if (spans[j].sort == FRAME && spans[j].tid == spans[i].tid && is_open(j, i))
			p += sprintf(p, "%ss%zu", p > all ? " " : "", spans[j].number);
	return all;
}

/* Open spans while reading; one for each thread. */
struct reading {
	int top[2]; /* indices of the innermost operator and region; -1: none */
	unsigned int depth;
	size_t call; /* the last call */
	uint64_t time;
};

static void check_begin(struct reading *r, const struct pasta_event *ev, size_t i, enum sort sort)
{
	assert_property(spans[i].sort == sort && spans[i].begin == ev->time);
	assert_property(spans[i].parent == r->top[sort]);
	r->top[sort] = (int)i;
}

static void check_end(struct reading *r, const struct pasta_event *ev, enum sort sort)
{
	assert_property(r->top[sort] >= 0);
	assert_property(spans[r->top[sort]].until == ev->time);
	r->top[sort] = spans[r->top[sort]].parent;
}

static void check_event(struct reading *r, const struct pasta_event *ev, size_t *seen)
{
	size_t i;

	assert_property(ev->time >= r->time);
	r->time = ev->time;
	switch (ev->kind) {
	case PASTA_KIND_OP_BEGIN:
		i = span_of(ev->op_begin.name);
		check_begin(r, ev, i, OP);
		assert_property(!strcmp(path_text(ev->op_begin.stack), path_of(i)));
		++*seen;
		break;
	case PASTA_KIND_OP_END:
		i = span_of(find_op(op_name(ev->op_end.id))->op_begin.name);
		assert_property((int)i == r->top[OP]);
		check_end(r, ev, OP);
		break;
	case PASTA_KIND_REGION:
		i = span_of(ev->region.name);
		if (ev->sub == PASTA_REGION_BEGIN) {
			check_begin(r, ev, i, REGION);
			assert_property(ev->region.depth == ++r->depth);
			++*seen;
		} else {
			assert_property((int)i == r->top[REGION]);
			assert_property(ev->region.depth == r->depth--);
			check_end(r, ev, REGION);
		}
		break;
	case PASTA_KIND_API:
		i = r->call = span_of(ev->api.name);
		assert_property(spans[i].begin == ev->time);
		assert_property(spans[i].end - spans[i].begin == ev->api.dur);
		++*seen;
		break;
	case PASTA_KIND_LAUNCH:
		assert_property(!strcmp(path_text(ev->launch.stack), path_of(r->call)));
		break;
	default:
		fail_msg("an event of kind %u", ev->kind);
	}
}

static void check_spans(void)
{
	struct reading r[2] = {{.top = {-1, -1}}, {.top = {-1, -1}}};
	size_t seen = 0, want = 0;

	for (size_t i = 0; i < span_count; i++)
		want += spans[i].sort != FRAME;
	for (size_t i = 0; i < count; i++) {
		assert_property(events[i].tid == 5 || events[i].tid == 6);
		check_event(&r[events[i].tid - 5], &events[i], &seen);
	}
	assert_property(seen == want);
	for (size_t i = 0; i < 2; i++)
		assert_property(r[i].top[OP] == -1 && r[i].top[REGION] == -1);
}

static void random_spans_nest_by_their_times(void **state)
{
	uint64_t crossed, cut = 0;

	for (int i = 0; i < (support_slow ? 400 : 3000); i++) {
		make_spans();
		end_trace();
		nest_spans(&crossed);
		assert_property(info.crossed == crossed);
		check_spans();
		cut += crossed;
	}
	assert_true(cut > 100);
}

static int end(void **state)
{
	pasta_import_info_free(&info);
	return remove_dir(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_equal_spans_the_first_is_the_outer),
		cmocka_unit_test(what_is_longer_is_outer_in_whatever_order_they_are_written),
		cmocka_unit_test(neighbours_do_not_nest),
		cmocka_unit_test(what_takes_no_time_is_in_what_it_touches),
		cmocka_unit_test(what_takes_no_time_between_two_is_in_the_later),
		cmocka_unit_test(what_crosses_an_end_is_cut_there_and_counted),
		cmocka_unit_test(operators_and_regions_do_not_cut_each_other),
		cmocka_unit_test(threads_do_not_nest_in_each_other),
		cmocka_unit_test(calls_lie_in_what_begins_with_them_and_launch),
		cmocka_unit_test(calls_launch_what_their_names_state),
		cmocka_unit_test(frames_make_the_paths_of_what_begins_in_them),
		cmocka_unit_test(a_frame_knows_its_file_and_line),
		cmocka_unit_test(flows_link_the_operators_that_begin_with_them),
		cmocka_unit_test(a_flow_without_its_other_end_links_nothing),
		cmocka_unit_test(steps_of_the_profiler_are_iterations),
		cmocka_unit_test(threads_differ_by_all_of_their_names),
		cmocka_unit_test(nesting_has_a_limit_that_is_reported),
		cmocka_unit_test(random_spans_nest_by_their_times),
	};

	random_begin();
	return cmocka_run_group_tests(tests, make_dir, end);
}
