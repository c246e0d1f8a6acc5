/* tensors - reports tensor memory: the peak, allocation sites, lifetimes and unused tensors. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/tool.h>

#define BINS 512       /* number of points that the chart has for each struct pool */
#define FIRST_SHIFT 10 /* initially, a bin of the chart covers 2^10 ns; see bin_now */
#define TEXT 1000
#define LEAKS 10	    /* maximum number of findings about leaks */
#define NOT_SEEN UINT32_MAX /* the text that is shown if the path of operators is unknown */

enum life { IN_OP, IN_ITERATION, OVER, OUTSIDE, NEVER, NOT_KNOWN };
static const char *const life_names[] = {"operator",	"iteration",   "longer", "no iteration",
					 "never freed", "(not known)", NULL};

/* Upper limits of the size classes. Each limit is 16 times the previous one. */
static const char *const size_names[] = {"4 KiB",   "64 KiB", "1 MiB", "16 MiB",
					 "256 MiB", "more",   NULL};

struct iteration {
	/* number of the iteration in order of time, and the program's own index of the iteration */
	uint64_t number, index;
};

struct process {
	uint32_t key; /* the process's number */
	bool args;    /* whether the process records the arguments of operators */
	struct iteration now;
	/* map of struct tensor, by id; NULL if the process has no tensors yet */
	struct pasta_map *tensors;
};

/* The memory of one device or the host, in one process. */
struct pool {
	struct {
		uint32_t proc, device;
	} key;
	uint32_t number; /* number of the struct pool in order of creation, from 1 */
	struct process *process;
	/* live bytes of blocks, their peak, and the time of the peak in ns since the start */
	uint64_t live, peak, peak_at;
	uint64_t peak_reserved; /* reserved bytes at the time of the peak; 0: unknown */
	uint64_t last;		/* index of the bin that has the last event */
	uint64_t bins[BINS];	/* maximum of live bytes in each interval of 2^shift ns */
	unsigned int shift;
};

struct thread {
	uint32_t key[2]; /* process, tid */
	uint64_t depth, top;
};

/* An allocation site: a path of operators (or a name, if the path is NOT_SEEN) and a Python call
 * path, in the memory of one device or of the host. The tables `peak_held` and `kept` use this
 * struct, too, for sums of only some of a site's allocations. */
struct site {
	struct {
		uint32_t proc, device, ops, name, python, backward;
	} key;
	uint32_t number; /* number of the site in order of creation, from 1 */
	struct pool *pool;
	uint64_t count, bytes, live, live_bytes;
	struct pasta_stat life; /* total ns from allocation to free, over all freed allocations */
	/* bytes that were freed in the operator, or in the iteration, in which they were
	 * allocated */
	uint64_t in_op, in_iteration;
	/* `iteration` is the number of the current iteration. `start` and `start_bytes` are the
	 * allocations and bytes that were live at its start. `streak` is the number of consecutive
	 * iterations, up to now, in which the number of live allocations grew. `streak_from` is the
	 * number of live allocations before these iterations. */
	uint64_t iteration, start, start_bytes, streak, streak_from;
	/* allocations and bytes that were live at the end of the run or at the start of the last
	 * iteration, whichever is more */
	uint64_t most, most_bytes;
	/* peak of the device's tensor memory; used only in rows of the table `peak_held` */
	uint64_t peak;
	/* indices of iterations; used only in rows of the table `kept` */
	struct pasta_stat made, touched;
};

/* Allocations of one size class that lived for a similar time. */
struct lives {
	uint32_t key[2]; /* indices into size_names and life_names */
	uint64_t count, bytes;
	/* ns from allocation to free, for blocks whose allocation and free were recorded */
	struct pasta_stat time;
};

/* A block: an allocation; or, if the allocation was not recorded, the memory of a tensor. */
struct block {
	struct pool *pool; /* NULL if the block belongs to no tensor */
	struct site *site; /* NULL if the allocation was not recorded */
	uint64_t bytes, time;
	/* number of the outermost operator that ran at the time of the allocation, or 0 */
	uint64_t top;
	uint64_t tensor; /* id of the latest tensor whose data is in the block; 0: none */
	struct iteration made, touched;
	bool ageless; /* the block was allocated before recording began, so its age is unknown */
};

struct tensor {
	struct block *block;
	uint64_t next; /* id of the next tensor in the same block, or 0 */
};

struct tensors {
	struct pasta_ledger *ledger; /* the ledger; the data of each allocation is a struct block */
	struct pasta_group *processes, *threads, *pools, *sites, *held, *lives, *kept;
	uint64_t start, now, tops, found;
	uint64_t min_kept, untouched, growth; /* options, in iterations */
	/* `failed` is set when there is no memory for a struct tensor */
	bool started, failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct tensors *m = state;

	m->min_kept = pasta_opt_u64(opts, "kept");
	m->untouched = pasta_opt_u64(opts, "untouched");
	m->growth = pasta_opt_u64(opts, "growth");
	return m->growth ? 0 : pasta_fail(err, -EINVAL, "tensors.growth must be at least 1");
}

static void close_(void *state)
{
	const struct tensors *m = state;
	const struct process *p;
	size_t at = 0;

	while (m->processes && (p = pasta_group_next(m->processes, &at)))
		pasta_map_free(p->tensors);
}

/* -- Collecting -- */

/* Updates the current time. The current time never decreases, even if an event arrives out of
 * order. */
static void tick(struct tensors *m, uint64_t time)
{
	if (!m->started)
		m->start = m->now = time;
	m->started = true;
	m->now = time > m->now ? time : m->now;
}

/* Returns the chart's bin for the current time. Fills the bins since the last event with the live
 * bytes. If there are not enough bins, merges pairs of bins. */
static uint64_t *bin_now(const struct tensors *m, struct pool *p)
{
	uint64_t time = m->now - m->start;

	while (true) {
		while (p->last < BINS - 1 && p->last < time >> p->shift)
			p->bins[++p->last] = p->live;
		if (p->last == time >> p->shift)
			return &p->bins[p->last];
		for (size_t i = 0; i < BINS; i++)
			if (i % 2 == 0 || p->bins[i] > p->bins[i / 2])
				p->bins[i / 2] = p->bins[i];
		p->last = BINS / 2 - 1;
		p->shift++;
	}
}

static void change(const struct tensors *m, struct pool *p)
{
	uint64_t *bin = bin_now(m, p);

	p->live = pasta_ledger_live(m->ledger, p->key.proc, p->key.device, PASTA_LEVEL_BLOCK);
	*bin = p->live > *bin ? p->live : *bin;
}

static struct pool *pool_at(const struct tensors *m, uint32_t proc, uint32_t device)
{
	struct pool *p = PASTA_ROW(m->pools, struct pool, proc, device);

	if (!p->process) {
		p->process = PASTA_ROW(m->processes, struct process, proc);
		p->number = (uint32_t)pasta_group_count(m->pools);
		p->shift = FIRST_SHIFT;
	}
	return p;
}

static struct site *site_of(const struct tensors *m, struct pool *pool,
			    const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_scope *ops = where->scope ? where->scope->ops : NULL;
	bool earlier = ev->alloc.flags & PASTA_ALLOC_EARLIER;
	uint32_t id = earlier ? NOT_SEEN : ops ? ops->id : 0;
	struct site *site = PASTA_ROW(m->sites, struct site, pool->key.proc, pool->key.device, id,
				      earlier ? ev->alloc.name : 0, pasta_python_of(ev, where),
				      where->flags & PASTA_WHERE_BACKWARD);

	if (!site->pool) {
		site->pool = pool;
		site->number = (uint32_t)pasta_group_count(m->sites);
		site->iteration = pool->process->now.number;
	}
	return site;
}

static struct thread *thread_of(const struct tensors *m, const struct pasta_event *ev)
{
	return PASTA_ROW(m->threads, struct thread, ev->proc, ev->tid);
}

/* Updates the site's count of iterations in which its allocations grew, when an iteration has
 * ended. Call this function before `live` changes. */
static void roll(struct site *s)
{
	uint64_t now = s->pool->process->now.number;

	if (s->iteration == now)
		return;
	s->streak_from = s->streak ? s->streak_from : s->start;
	/* If the site has no event in an iteration, the streak of growth ends. */
	s->streak =
		s->iteration && s->live > s->start && s->iteration + 1 == now ? s->streak + 1 : 0;
	s->iteration = now;
	s->start = s->live;
	s->start_bytes = s->live_bytes;
}

static void remove_tensors(const struct block *b)
{
	struct pasta_map *tensors = b->pool->process->tensors;

	for (uint64_t id = b->tensor, next; id; id = next) {
		const struct tensor *t = pasta_map_find(tensors, id);

		next = t ? t->next : 0;
		pasta_map_remove(tensors, id);
	}
}

static enum life life_of(const struct block *b, const struct thread *thread)
{
	uint64_t now = b->pool->process->now.number;

	if (b->ageless)
		return NOT_KNOWN;
	if (b->top && thread && b->top == thread->top)
		return IN_OP;
	if (b->made.number != now)
		return OVER;
	return now ? IN_ITERATION : OUTSIDE;
}

static void count_life(const struct tensors *m, const struct block *b, enum life life)
{
	struct lives *l;
	uint32_t size = 0;

	while (size_names[size + 1] && b->bytes > UINT64_C(4096) << 4 * size)
		size++;
	l = PASTA_ROW(m->lives, struct lives, size, life);
	l->count++;
	l->bytes += b->bytes;
	if (life < NEVER)
		pasta_stat_add(&l->time, m->now - b->time);
}

/* Counts a block that is freed. `thread` is the thread that frees the block, or NULL if the free
 * was not recorded. */
static void count_out(const struct tensors *m, const struct block *b, const struct thread *thread)
{
	enum life life = life_of(b, thread);
	struct site *s = b->site;

	roll(s);
	count_life(m, b, life);
	if (!b->ageless)
		pasta_stat_add(&s->life, m->now - b->time);
	s->live--;
	s->live_bytes -= b->bytes;
	s->in_op += life == IN_OP ? b->bytes : 0;
	s->in_iteration += life == IN_ITERATION ? b->bytes : 0;
	change(m, b->pool);
}

/* If the peak is reached at the current time, stores the current reserved bytes as those at the
 * peak. */
static void reserve(const struct tensors *m, struct pool *p)
{
	if (p->peak && p->peak_at == m->now - m->start && p->live == p->peak)
		p->peak_reserved = pasta_ledger_live(m->ledger, p->key.proc, p->key.device,
						     PASTA_LEVEL_SEGMENT);
}

static void allocate(const struct tensors *m, struct block *b, const struct pasta_event *ev,
		     const struct pasta_where *where)
{
	struct pool *p = b->pool;
	struct site *s = b->site = site_of(m, p, ev, where);

	b->top = thread_of(m, ev)->top;
	b->ageless = ev->alloc.flags & PASTA_ALLOC_EARLIER;
	roll(s);
	s->count++;
	s->bytes += b->bytes;
	s->live++;
	s->live_bytes += b->bytes;
	change(m, p);
	if (p->live <= p->peak)
		return;
	p->peak = p->live;
	p->peak_at = m->now - m->start;
	reserve(m, p);
}

static void on_reserved(void *state, uint32_t device, const struct pasta_event *ev,
			const struct pasta_where *where)
{
	struct tensors *m = state;

	tick(m, ev->time);
	reserve(m, pool_at(m, ev->proc, device));
}

/* Handles an allocation. Blocks count as tensor memory; sub-buffers of OpenCL do not. */
static void on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
		     const struct pasta_where *where)
{
	bool in_block = a->parent && a->parent->level == PASTA_LEVEL_BLOCK;
	struct tensors *m = state;
	struct pool *p;

	if (a->level == PASTA_LEVEL_DRIVER || a->flags & PASTA_ALLOCATION_PART)
		return;
	tick(m, ev->time);
	p = pool_at(m, a->proc, a->device);
	if (a->level == PASTA_LEVEL_SEGMENT)
		reserve(m, p);
	if (a->level == PASTA_LEVEL_SEGMENT || (a->level == PASTA_LEVEL_TENSOR && in_block))
		return;
	*(struct block *)a->data = (struct block){
		.pool = p, .bytes = a->bytes, .time = m->now, .made = p->process->now};
	if (a->level == PASTA_LEVEL_BLOCK)
		allocate(m, a->data, ev, where);
	else
		m->found++; /* the tensor's data may start after the start of the block */
}

static void on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
		    const struct pasta_where *where)
{
	struct tensors *m = state;
	const struct block *b = a->data;

	if (!b->pool)
		return;
	tick(m, ev->time);
	remove_tensors(b);
	if (b->site)
		count_out(m, b, a->flags & PASTA_ALLOCATION_NO_FREE ? NULL : thread_of(m, ev));
}

static struct block *block_of(const struct tensors *m, const struct pasta_event *ev)
{
	const struct pasta_allocation *a =
		ev->tensor.storage
			? pasta_ledger_get(m->ledger, ev->proc, PASTA_LEVEL_TENSOR,
					   ev->tensor.storage)
			: pasta_ledger_at(m->ledger, ev->proc, PASTA_LEVEL_BLOCK, ev->tensor.addr);
	struct block *b;

	if (a && a->parent && a->parent->level == PASTA_LEVEL_BLOCK)
		a = a->parent;
	b = a ? a->data : NULL;
	return b && b->pool ? b : NULL;
}

/* Every event of a tensor counts as a use of the tensor's block. */
static void on_tensor(struct tensors *m, const struct pasta_event *ev)
{
	struct block *b = ev->tensor.addr ? block_of(m, ev) : NULL;
	struct process *p = b ? b->pool->process : NULL;
	struct tensor *t;

	if (!b)
		return;
	b->touched = p->now;
	if (!ev->tensor.id) /* 0 ends a block's list */
		return;
	if (!p->tensors && !pasta_group_error(m->processes))
		p->tensors = pasta_map_new(sizeof(struct tensor));
	t = p->tensors ? pasta_map_add(p->tensors, ev->tensor.id) : NULL;
	m->failed |= !t;
	if (!t || t->block)
		return;
	b->ageless |= !b->tensor && ev->sub == PASTA_TENSOR_FOUND;
	*t = (struct tensor){b, b->tensor};
	b->tensor = ev->tensor.id;
}

static void on_arg(struct tensors *m, const struct pasta_event *ev)
{
	struct process *p = PASTA_ROW(m->processes, struct process, ev->proc);
	const struct tensor *t = p->tensors ? pasta_map_find(p->tensors, ev->op_arg.tensor) : NULL;

	p->args = true;
	if (t)
		t->block->touched = p->now;
}

static void on_op(struct tensors *m, const struct pasta_event *ev)
{
	struct thread *thread = thread_of(m, ev);

	if (ev->kind == PASTA_KIND_OP_BEGIN && !thread->depth++)
		thread->top = ++m->tops;
	else if (ev->kind == PASTA_KIND_OP_END && thread->depth && !--thread->depth)
		thread->top = 0;
}

static void on_iteration(struct tensors *m, const struct pasta_event *ev)
{
	struct process *p = PASTA_ROW(m->processes, struct process, ev->proc);

	p->now = (struct iteration){p->now.number + 1, ev->iteration.index};
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	static void (*const on[PASTA_KIND_MAX])(struct tensors *, const struct pasta_event *) = {
		[PASTA_KIND_TENSOR] = on_tensor,       [PASTA_KIND_OP_ARG] = on_arg,
		[PASTA_KIND_OP_BEGIN] = on_op,	       [PASTA_KIND_OP_END] = on_op,
		[PASTA_KIND_ITERATION] = on_iteration,
	};
	struct tensors *m = state;

	tick(m, ev->time);
	if (on[ev->kind])
		on[ev->kind](m, ev);
}

/* -- Tables -- */

static const char *op_text(const void *row, const void *state, char *text, size_t size)
{
	const struct site *s = row;

	if (s->key.ops == NOT_SEEN)
		return s->key.name ? pasta_str(s->key.name) : "(not seen)";
	return s->key.ops ? pasta_scope_ops(pasta_scope_find(s->key.ops), text, size)
			  : "(no operator)";
}

static const char *line_text(const void *row, const void *state, char *text, size_t size)
{
	static const char backward[] = " (backward)";
	const struct site *s = row;
	struct pasta_stack_frame frame;
	size_t used;

	*text = '\0';
	if (pasta_python_frame(0, s->key.python, &frame))
		pasta_stack_frame_text(&frame, text, size - sizeof(backward));
	used = strlen(text);
	if (s->key.backward)
		snprintf(text + used, size - used, "%s", used ? backward : backward + 1);
	return text;
}

static bool has_peak(const void *row, const void *state)
{
	return ((const struct pool *)row)->peak;
}

static int64_t fragmentation(const void *row, const void *state)
{
	const struct pool *p = row;

	return p->peak_reserved ? (int64_t)(p->peak_reserved - p->peak) : PASTA_NO_VALUE;
}

static const struct pasta_member pool_members[] = {
	PASTA_MEMBER(DEVICE, struct pool, key.device, .column = "memory"),
	PASTA_MEMBER(PROCESS, struct pool, key.proc, .column = "process"),
	PASTA_MEMBER(U64, struct pool, peak, .column = "peak", .unit = "bytes"),
	PASTA_MEMBER(U64, struct pool, peak_at, .column = "peak_at", .unit = "ns"),
	PASTA_MEMBER(U64, struct pool, peak_reserved, .column = "reserved", .unit = "bytes",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER_BY(CALL, .call = fragmentation, .column = "fragmentation", .unit = "bytes"),
	PASTA_MEMBER(U64, struct pool, live, .column = "live_at_end", .unit = "bytes"),
	PASTA_MEMBER(U32, struct pool, number, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

#define SITE(counted)                                                                              \
	PASTA_MEMBER_BY(TEXT, .text = op_text, .column = "op"),                                    \
		PASTA_MEMBER_BY(TEXT, .text = line_text, .column = "line"),                        \
		PASTA_MEMBER(SUM, struct site, count, .column = (counted)),                        \
		PASTA_MEMBER(SUM, struct site, bytes, .column = "bytes", .unit = "bytes"),         \
		PASTA_MEMBER(PROCESS, struct site, key.proc),                                      \
		PASTA_MEMBER(DEVICE, struct site, key.device),                                     \
		PASTA_MEMBER(SCOPE, struct site, key.ops),                                         \
		PASTA_MEMBER(NAME, struct site, key.name),                                         \
		PASTA_MEMBER(U32, struct site, key.python),                                        \
		PASTA_MEMBER(U32, struct site, key.backward)

static const struct pasta_member held_members[] = {
	PASTA_MEMBER(DEVICE, struct site, key.device, .column = "memory"),
	PASTA_MEMBER(PROCESS, struct site, key.proc, .column = "process"),
	PASTA_MEMBER(U32, struct site, key.proc, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	SITE("allocations"),
	PASTA_MEMBER(U64, struct site, peak),
	PASTA_MEMBER_OF(PERCENT, struct site, bytes, peak, .column = "share"),
	{0},
};

static const struct pasta_member site_members[] = {
	SITE("allocations"),
	PASTA_MEMBER(SUM, struct site, live, .column = "live"),
	PASTA_MEMBER(SUM, struct site, live_bytes, .column = "live_bytes", .unit = "bytes"),
	PASTA_MEMBER(STAT, struct site, life, .column = "mean=lifetime", .unit = "ns"),
	PASTA_MEMBER(SUM, struct site, in_op, .column = "churn_op", .unit = "bytes"),
	PASTA_MEMBER(SUM, struct site, in_iteration, .column = "churn_iteration", .unit = "bytes"),
	PASTA_MEMBER(U64, struct site, most_bytes, .column = "most", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct site, number, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member kept_members[] = {
	SITE("blocks"),
	PASTA_MEMBER(STAT, struct site, made, .column = "min=made"),
	PASTA_MEMBER(STAT, struct site, touched, .column = "max=touched"),
	{0},
};

static const struct pasta_member lives_members[] = {
	PASTA_MEMBER(ENUM, struct lives, key[0], .column = "up_to", .names = size_names),
	PASTA_MEMBER(ENUM, struct lives, key[1], .column = "lifetime", .names = life_names),
	PASTA_MEMBER(SUM, struct lives, count, .column = "allocations"),
	PASTA_MEMBER(SUM, struct lives, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER(STAT, struct lives, time, .column = "mean", .unit = "ns"),
	{0},
};

static const struct pasta_member process_members[] = {PASTA_MEMBER(PROCESS, struct process, key),
						      {0}};
static const struct pasta_member thread_members[] = {PASTA_MEMBER(PROCESS, struct thread, key[0]),
						     PASTA_MEMBER(U32, struct thread, key[1]),
						     {0}};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct tensors, pools, struct pool, pool_members, .table = "peak", .order = "#",
		    .keep = has_peak),
	PASTA_GROUP(struct tensors, held, struct site, held_members, .table = "peak_held",
		    .order = "# memory -bytes op line", .flags = PASTA_GROUP_FOLD),
	PASTA_GROUP(struct tensors, sites, struct site, site_members, .table = "sites",
		    .order = "-bytes op line", .flags = PASTA_GROUP_FOLD),
	PASTA_GROUP(struct tensors, lives, struct lives, lives_members, .table = "lifetimes",
		    .order = "up_to lifetime"),
	PASTA_GROUP(struct tensors, kept, struct site, kept_members, .table = "kept",
		    .order = "-bytes op line", .flags = PASTA_GROUP_FOLD | PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct tensors, processes, struct process, process_members),
	PASTA_GROUP(struct tensors, threads, struct thread, thread_members),
	{0},
};

/* -- Reporting -- */

/* Adds a block to the row of its allocation site, in the group `held` or `kept`. */
static struct site *add_block(struct pasta_group *group, const struct block *b)
{
	struct site *row = b->site ? pasta_group_row(group, &b->site->key)
				   : PASTA_ROW(group, struct site, .ops = NOT_SEEN);

	row->count++;
	row->bytes += b->bytes;
	return row;
}

/* Returns whether the block is old, and no operator has used it for a long time. If the allocation
 * was not recorded, the block may be older than this function assumes. */
static bool is_unused(const struct tensors *m, const struct block *b)
{
	const struct process *p = b->pool->process;

	return b->tensor && p->args && p->now.number - b->made.number >= m->min_kept &&
	       p->now.number - b->touched.number >= m->untouched && p->now.number;
}

static void collect_live(const struct tensors *m, uint32_t level)
{
	const struct pasta_allocation *a;
	struct site *row;
	size_t at = 0;

	while ((a = pasta_ledger_next(m->ledger, PASTA_LEDGER_LIVE, level, &at))) {
		const struct block *b = a->data;

		if (b->site)
			count_life(m, b, NEVER);
		if (!b->pool || !is_unused(m, b))
			continue;
		row = add_block(m->kept, b);
		if (b->site && b->made.number && !b->ageless)
			pasta_stat_add(&row->made, b->made.index);
		if (b->touched.number)
			pasta_stat_add(&row->touched, b->touched.index);
	}
}

static void collect_peaks(const struct tensors *m)
{
	const struct pasta_allocation *a;
	size_t at = 0;

	while ((a = pasta_ledger_next(m->ledger, PASTA_LEDGER_PEAK, PASTA_LEVEL_BLOCK, &at))) {
		const struct block *b = a->data;

		if (b->site)
			add_block(m->held, b)->peak = b->pool->peak;
	}
}

/* Computes the number of a site's live allocations: at the end of the run, or at the start of the
 * last iteration if that number is larger. A program may free all memory when it ends. */
static void collect_sites(const struct tensors *m)
{
	struct site *s;
	size_t at = 0;

	while ((s = pasta_group_next(m->sites, &at))) {
		roll(s);
		s->most = s->live > s->start ? s->live : s->start;
		s->most_bytes = s->live_bytes > s->start_bytes ? s->live_bytes : s->start_bytes;
	}
}

static const char *pool_text(const struct pool *p, char *text, size_t size)
{
	size_t n = strlen(pasta_device_text(p->key.device, text, size));

	snprintf(text + n, size - n, ", %s", pasta_process(p->key.proc)->text);
	return text;
}

/* Reports a site whose number of live allocations has grown in each of the recent iterations. */
static void find_leak(const struct site *s, struct pasta_out *out)
{
	uint64_t peak = s->pool->peak, bytes = s->most_bytes;
	char op[TEXT], line[TEXT], pool[TEXT], what[TEXT], where[2 * TEXT], evidence[TEXT];

	line_text(s, NULL, line, sizeof(line));
	snprintf(what, sizeof(what), "live tensors of %s grow with every iteration",
		 op_text(s, NULL, op, sizeof(op)));
	snprintf(where, sizeof(where), "%s%s%s", pool_text(s->pool, pool, sizeof(pool)),
		 *line ? ", " : "", line);
	snprintf(evidence, sizeof(evidence),
		 "live: %" PRIu64 ", %.3f MiB (%.1f%% of the peak); %" PRIu64 " "
		 "iterations before: %" PRIu64,
		 s->most, (double)bytes / (1 << 20),
		 peak ? 100.0 * (double)bytes / (double)peak : 0.0, s->streak, s->streak_from);
	pasta_out_report(out,
			 .severity = bytes >= peak / 10 ? PASTA_SEVERITY_PROBLEM
							: PASTA_SEVERITY_WARNING,
			 .what = what, .where = where, .evidence = evidence,
			 .action = "drop references to the results of this line: store detach() or "
				   "item() of a tensor, and clear lists that grow");
}

/* Reports the LEAKS largest leaks, and only counts the others, because a single retained autograd
 * graph may leak at hundreds of sites. */
static int find_leaks(const struct tensors *m, struct pasta_out *out)
{
	size_t i, count, leaks = 0;
	struct site **sites = pasta_group_sorted(m->sites, "-most op line #", &count);

	if (!sites)
		return pasta_group_error(m->sites);
	for (i = 0; i < count; i++)
		if (sites[i]->streak >= m->growth && leaks++ < LEAKS)
			find_leak(sites[i], out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 PASTA_COUNT(leaks > LEAKS ? leaks - LEAKS : 0),
			 .what = "other sites whose live tensors grow with every iteration");
	free(sites);
	return 0;
}

static void find_kept(const struct tensors *m, struct pasta_out *out)
{
	char evidence[TEXT];

	snprintf(evidence, sizeof(evidence),
		 "table 'kept' lists the blocks, %.3f MiB, that no operator used in the last %llu "
		 "iterations",
		 (double)PASTA_SUM(m->kept, struct site, bytes) / (1 << 20),
		 (unsigned long long)m->untouched);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 PASTA_COUNT(PASTA_SUM(m->kept, struct site, count)),
			 .what = "blocks of tensors that are live but not used",
			 .evidence = evidence);
}

static void report_chart(const struct tensors *m, struct pasta_out *out)
{
	static const struct pasta_chart_def chart =
		PASTA_CHART_DEF(.type = PASTA_CHART_LINE, .name = "allocated", .x = {"time", "ns"},
				.y = {"allocated", "bytes"});
	struct pasta_chart *c = pasta_out_chart(out, &chart);
	char name[TEXT];
	struct pool *p;
	size_t at = 0;

	while ((p = pasta_group_next(m->pools, &at))) {
		if (!p->peak)
			continue;
		pasta_chart_series(c, pool_text(p, name, sizeof(name)));
		bin_now(m, p);
		for (uint64_t i = 0; i <= p->last; i++)
			pasta_chart_point(c, (double)(i << p->shift), (double)p->bins[i]);
		pasta_chart_point(c, (double)(m->now - m->start), (double)p->live);
	}
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct tensors *m = state;
	int error;

	if (m->failed)
		return -ENOMEM;
	collect_sites(m);
	collect_peaks(m);
	collect_live(m, PASTA_LEVEL_BLOCK);
	collect_live(m, PASTA_LEVEL_TENSOR);
	error = pasta_out_groups(out, m, err);
	if (!error)
		error = find_leaks(m, out);
	find_kept(m, out);
	report_chart(m, out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(m->found),
			 .what = "blocks of tensors whose allocation was not recorded",
			 .evidence = "recording began after the blocks were allocated: the age of "
				     "the blocks is unknown, and no sum includes them");
	pasta_ledger_findings(m->ledger, PASTA_LEVEL_BLOCK, out);
	return error;
}

static const struct pasta_ledger_def ledger =
	PASTA_LEDGER(struct tensors, ledger,
		     .levels = PASTA_LEVEL_MASK(TENSOR) | PASTA_LEVEL_MASK(SEGMENT),
		     .peaks = PASTA_LEVEL_MASK(BLOCK), .data_size = sizeof(struct block),
		     .on_alloc = on_alloc, .on_free = on_free, .on_reserved = on_reserved);

static const struct pasta_option options[] = {
	{"kept", "3", "minimum age of the tensors in table 'kept', in iterations",
	 PASTA_OPTION_NUMBER},
	{"untouched", "3",
	 "minimum time since the last use of the tensors in table 'kept', in iterations",
	 PASTA_OPTION_NUMBER},
	{"growth", "5",
	 "report a leak if a site's live tensors grow in this many consecutive iterations",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "tensors",
	   .summary = "tensor memory: the peak, allocation sites, unused tensors",
	   .events = PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(TENSOR) |
		     PASTA_MASK(OP_ARG) | PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) |
		     PASTA_MASK(ITERATION) | PASTA_MASK(COUNTER) | PASTA_MASK(PROCESS),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS | PASTA_NEED_PYTHON,
	   .state_size = sizeof(struct tensors), .options = options, .open = open_,
	   .event = on_event, .report = report, .close = close_, .charts = PASTA_CHART_MASK(LINE),
	   .groups = groups, .ledger = &ledger);
