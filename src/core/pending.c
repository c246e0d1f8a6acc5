/* pending.c - what waits for its other half, by process and correlation, the oldest first to go. */
#include <stdlib.h>

#include <pasta/pasta.h>

/* In its process's map, by correlation; and in a list, the oldest first. The value follows. */
struct entry {
	struct entry *older, *younger;
	uint64_t corr;
	struct proc *proc;
};

struct proc {
	struct pasta_map *entries;
};

struct pasta_pending {
	struct pasta_map *procs;
	struct proc *last; /* whose turn it was */
	uint32_t last_number;
	struct entry *oldest, *youngest;
	size_t value_size, limit, count;
};

struct pasta_pending *pasta_pending_new(size_t value_size, size_t limit)
{
	struct pasta_pending *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->value_size = value_size;
	p->limit = limit ? limit : 1;
	p->procs = pasta_map_new(sizeof(struct proc));
	if (!p->procs) {
		free(p);
		return NULL;
	}
	return p;
}

void pasta_pending_free(struct pasta_pending *p)
{
	struct proc *proc;
	size_t at = 0;

	if (!p)
		return;
	while ((proc = pasta_map_next(p->procs, &at, NULL)))
		pasta_map_free(proc->entries);
	pasta_map_free(p->procs);
	free(p);
}

/* Processes take turns rarely: most lookups are for the last one. */
static struct proc *proc_of(struct pasta_pending *p, uint32_t number)
{
	struct proc *proc =
		p->last && p->last_number == number ? p->last : pasta_map_find(p->procs, number);

	if (proc) {
		p->last = proc;
		p->last_number = number;
	}
	return proc;
}

static struct proc *make_proc(struct pasta_pending *p, uint32_t number)
{
	struct proc *proc = proc_of(p, number);

	if (proc && proc->entries)
		return proc;
	proc = pasta_map_add(p->procs, number);
	if (proc && !proc->entries)
		proc->entries = pasta_map_new(sizeof(struct entry) + p->value_size);
	return proc && proc->entries ? proc : NULL;
}

static void drop(struct pasta_pending *p, struct entry *e)
{
	*(e->older ? &e->older->younger : &p->oldest) = e->younger;
	*(e->younger ? &e->younger->older : &p->youngest) = e->older;
	p->count--;
	pasta_map_remove(e->proc->entries, e->corr);
}

void *pasta_pending_find(struct pasta_pending *p, uint32_t proc_number, uint64_t corr)
{
	struct proc *proc = proc_of(p, proc_number);
	struct entry *e = proc && proc->entries ? pasta_map_find(proc->entries, corr) : NULL;

	return e ? e + 1 : NULL;
}

void *pasta_pending_add(struct pasta_pending *p, uint32_t proc_number, uint64_t corr)
{
	struct proc *proc = make_proc(p, proc_number);
	struct entry *e = proc ? pasta_map_add(proc->entries, corr) : NULL;

	if (!e)
		return NULL;
	if (e->proc)
		return e + 1;
	if (p->count == p->limit)
		drop(p, p->oldest);
	e->corr = corr;
	e->proc = proc;
	e->older = p->youngest;
	*(p->youngest ? &p->youngest->younger : &p->oldest) = e;
	p->youngest = e;
	p->count++;
	return e + 1;
}

void pasta_pending_remove(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	struct entry *e = pasta_pending_find(p, proc, corr);

	if (e)
		drop(p, e - 1);
}

size_t pasta_pending_count(const struct pasta_pending *p)
{
	return p->count;
}
