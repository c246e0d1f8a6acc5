/* chain.c - finds chains of elementwise operators that one kernel could compute. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/pending.h"
#include "process/diagnosis/workset.h"

/* maximum number of tensors, storages and elementwise operators that are stored */
#define TENSORS (1 << 18)
#define STORAGES (1 << 17)
#define LINKS (1 << 16)
#define OPEN_MAX (1 << 12)   /* nesting depth of operators */
#define STORED_MAX (1 << 12) /* inputs or outputs of one operator */
enum { CHAIN_MIN = 3, CHAIN_MAX = 256, CHAIN_TEXT = 2048 };

/* A storage, and who writes and reads it. */
struct chainstore {
	uint64_t writer; /* id of the elementwise operator that wrote it; 0: another operator */
	uint64_t writer_order;
	uint64_t reader; /* id of the latest operator that read it */
	uint64_t reader_order, readers;
};

/* An elementwise operator. */
struct chainlink {
	const struct pasta_workop *op;
	uint64_t previous, next;  /* ids of operators; 0: none */
	struct pasta_workkey key; /* of its kernels */
	uint64_t step, kernels, ns;
	bool mixed; /* the kernels differ in device, layer, phase or step */
};

/* Storages that an open operator reads or writes. */
struct chainlist {
	uint64_t *ids;
	uint32_t count, room;
};

struct chainopen {
	uint64_t id, order;
	const struct pasta_workop *op;
	struct chainlist in, out;
};

struct chainthread {
	struct chainopen *open;
	uint32_t count, room;
};

/* Chains with the same operators and inputs. */
struct chainrow {
	struct {
		uint32_t proc, device, layer, fallback, phase, ops, inputs, length, part;
	} key;
	uint64_t chains, kernels, ns, steps, last_step;
	double bytes;
};

struct pasta_chains {
	struct pasta_pending *tensors;	/* uint64_t, number of the storage, by tensor id */
	struct pasta_pending *storages; /* struct chainstore, by number */
	struct pasta_pending *links;	/* struct chainlink, by operator id */
	struct pasta_map *threads;	/* struct chainthread, by process and thread */
	struct pasta_group *rows;	/* struct chainrow */
	uint64_t order;			/* number of operators so far */
	int error;
};

static const struct pasta_member chain_members[] = {PASTA_KEY(struct chainrow), {0}};
static const struct pasta_group_def chain_rows = {
	.size = sizeof(struct pasta_group_def),
	.row_size = sizeof(struct chainrow),
	.key_size = sizeof(((struct chainrow *)0)->key),
	.member_size = sizeof(struct pasta_member),
	.members = chain_members,
};

struct pasta_chains *pasta_chains_new(void)
{
	struct pasta_chains *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->tensors = pasta_pending_new(sizeof(uint64_t), TENSORS);
	c->storages = pasta_pending_new(sizeof(struct chainstore), STORAGES);
	c->links = pasta_pending_new(sizeof(struct chainlink), LINKS);
	c->threads = pasta_map_new(sizeof(struct chainthread));
	c->rows = pasta_group_new(&chain_rows, NULL, NULL);
	if (c->tensors && c->storages && c->links && c->threads && c->rows)
		return c;
	pasta_chains_free(c);
	return NULL;
}

void pasta_chains_free(struct pasta_chains *c)
{
	struct chainthread *t;

	if (!c)
		return;
	for (size_t at = 0; c->threads && (t = pasta_map_next(c->threads, &at, NULL));) {
		for (uint32_t i = 0; i < t->room; i++) {
			free(t->open[i].in.ids);
			free(t->open[i].out.ids);
		}
		free(t->open);
	}
	pasta_group_free(c->rows);
	pasta_map_free(c->threads);
	pasta_pending_free(c->links);
	pasta_pending_free(c->storages);
	pasta_pending_free(c->tensors);
	free(c);
}

int pasta_chains_error(const struct pasta_chains *c)
{
	return c->error ? c->error : pasta_group_error(c->rows);
}

/* -- Complete chains -- */

/* Returns whether one kernel could compute both links. */
static bool chain_joins(const struct chainlink *a, const struct chainlink *b)
{
	return b->kernels && !b->mixed && a->key.device == b->key.device &&
	       a->key.layer == b->key.layer && a->key.fallback == b->key.fallback &&
	       a->key.phase == b->key.phase && a->step == b->step;
}

/* Sums up what a fused kernel reads and writes: the inputs of all links but the outputs of their
 * predecessors, and the output of the last link. */
static double chain_bytes(struct chainlink *const *links, size_t count)
{
	double bytes = 0, last = links[count - 1]->op->f.outputs;

	for (size_t i = 0; i < count; i++) {
		bytes += links[i]->op->f.bytes - links[i]->op->f.outputs;
		if (i + 1 < count)
			bytes -= links[i]->op->f.outputs;
	}
	return fmax(bytes, 0) + last;
}

static uint32_t chain_names(struct pasta_chains *c, struct chainlink *const *links, size_t count)
{
	char text[CHAIN_TEXT];
	size_t size = 0;
	uint32_t id;

	for (size_t i = 0; i < count; i++) {
		const char *name = pasta_str(links[i]->op->key.name);
		size_t length;

		name += !strncmp(name, "aten::", 6) ? 6 : 0;
		length = strlen(name);
		if (size + length + 3 > sizeof(text))
			break;
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", i ? ", " : "",
					 name);
	}
	id = pasta_strings_add(text, size);
	if (!id)
		c->error = -ENOMEM;
	return id;
}

static void chain_emit(struct pasta_chains *c, struct chainlink *const *links, size_t count)
{
	const struct pasta_workkey *k = &links[0]->key;
	struct chainrow *row;

	if (count < CHAIN_MIN)
		return;
	row = PASTA_ROW(c->rows, struct chainrow, k->proc, k->device, k->layer, k->fallback,
			k->phase, chain_names(c, links, count), links[0]->op->key.inputs,
			(uint32_t)count, k->part);
	if (!row->chains || row->last_step != links[0]->step)
		row->steps++;
	row->last_step = links[0]->step;
	row->chains++;
	for (size_t i = 0; i < count; i++) {
		row->kernels += links[i]->kernels;
		row->ns += links[i]->ns;
	}
	row->bytes += chain_bytes(links, count);
}

/* Emits the chain that begins with a link, and removes its links. */
static void chain_end(struct pasta_chains *c, uint32_t proc, uint64_t id)
{
	struct chainlink *links[CHAIN_MAX], *link = pasta_pending_find(c->links, proc, id);
	uint64_t ids[CHAIN_MAX];
	size_t count = 0, start = 0;

	for (; link && count < CHAIN_MAX; link = pasta_pending_find(c->links, proc, id)) {
		ids[count] = id;
		links[count++] = link;
		id = link->next;
		if (!id)
			break;
	}
	for (size_t i = 0; i < count; i++) {
		if (!links[i]->kernels || links[i]->mixed) {
			chain_emit(c, links + start, i - start);
			start = i + 1;
		} else if (i > start && !chain_joins(links[i - 1], links[i])) {
			chain_emit(c, links + start, i - start);
			start = i;
		}
	}
	if (start < count)
		chain_emit(c, links + start, count - start);
	for (size_t i = 0; i < count; i++)
		pasta_pending_remove(c->links, proc, ids[i]);
	link = id ? pasta_pending_find(c->links, proc, id) : NULL;
	if (link)
		link->previous = 0;
}

static void chain_end_oldest(struct pasta_chains *c)
{
	struct chainlink *link;
	uint32_t proc;
	uint64_t id;

	link = pasta_pending_oldest(c->links, &proc, &id);
	/* The predecessor of the oldest link has ended earlier. */
	if (link)
		chain_end(c, proc, id);
}

/* -- Arguments -- */

static struct chainthread *chain_thread(struct pasta_chains *c, const struct pasta_event *ev)
{
	struct chainthread *t = pasta_map_add(c->threads, (uint64_t)ev->proc << 32 | ev->tid);

	if (!t)
		c->error = -ENOMEM;
	return t;
}

/* Elements that change in place end their chain. */
static bool chain_fuses(const struct pasta_workop *op)
{
	return op->f.elementwise && !op->f.in_place && op->f.bytes > 0;
}

/* The link exists from the operator's begin on, because kernels may come before its end. */
static void chain_new_link(struct pasta_chains *c, uint32_t proc, const struct chainopen *o)
{
	struct chainlink *link;

	if (pasta_pending_full(c->links))
		chain_end_oldest(c);
	link = pasta_pending_renew(c->links, proc, o->id);
	if (link)
		*link = (struct chainlink){.op = o->op};
	else
		c->error = -ENOMEM;
}

void pasta_chains_begin(struct pasta_chains *c, const struct pasta_event *ev,
			const struct pasta_workop *op)
{
	struct chainthread *t = chain_thread(c, ev);
	struct chainopen *o;

	if (!t || !ev->op_begin.id || t->count >= OPEN_MAX)
		return;
	if (t->count == t->room) {
		uint32_t room = t->room ? 2 * t->room : 16;

		o = reallocarray(t->open, room, sizeof(*o));
		if (!o) {
			c->error = -ENOMEM;
			return;
		}
		memset(o + t->room, 0, (room - t->room) * sizeof(*o));
		t->open = o;
		t->room = room;
	}
	o = &t->open[t->count++];
	o->id = ev->op_begin.id;
	o->order = ++c->order;
	o->op = op;
	o->in.count = o->out.count = 0;
	if (op && chain_fuses(op) && pasta_pending_count(c->tensors))
		chain_new_link(c, ev->proc, o);
}

void pasta_chains_tensor(struct pasta_chains *c, const struct pasta_event *ev)
{
	uint64_t *storage = pasta_pending_add(c->tensors, ev->proc, ev->tensor.id);

	if (storage)
		*storage = ev->tensor.storage;
	else
		c->error = -ENOMEM;
}

static void chain_append(struct pasta_chains *c, struct chainlist *list, uint64_t id)
{
	if (list->count >= STORED_MAX)
		return;
	if (list->count == list->room) {
		uint32_t room = list->room ? 2 * list->room : 8;
		uint64_t *ids = reallocarray(list->ids, room, sizeof(*ids));

		if (!ids) {
			c->error = -ENOMEM;
			return;
		}
		list->ids = ids;
		list->room = room;
	}
	list->ids[list->count++] = id;
}

void pasta_chains_argument(struct pasta_chains *c, const struct pasta_event *ev)
{
	const struct pasta_op_arg_record *arg = &ev->op_arg;
	struct chainthread *t = chain_thread(c, ev);
	const uint64_t *storage = pasta_pending_find(c->tensors, ev->proc, arg->tensor);
	uint32_t i = t ? t->count : 0;

	while (i && t->open[i - 1].id != arg->op)
		i--;
	if (!i || !storage)
		return;
	chain_append(c, ev->sub == PASTA_OP_ARG_OUT ? &t->open[i - 1].out : &t->open[i - 1].in,
		     *storage);
}

/* -- Links -- */

static struct chainstore *chain_store(struct pasta_chains *c, uint32_t proc, uint64_t storage)
{
	struct chainstore *s = pasta_pending_add(c->storages, proc, storage);

	if (!s)
		c->error = -ENOMEM;
	return s;
}

static void chain_unlink(struct pasta_chains *c, uint32_t proc, uint64_t writer)
{
	struct chainlink *link = writer ? pasta_pending_find(c->links, proc, writer) : NULL;
	struct chainlink *next =
		link && link->next ? pasta_pending_find(c->links, proc, link->next) : NULL;

	if (next)
		next->previous = 0;
	if (link)
		link->next = 0;
}

/* Counts an operator as a reader of a storage. An operator that contains the latest reader is the
 * same reader. */
static void chain_read(struct pasta_chains *c, uint32_t proc, const struct chainopen *o,
		       uint64_t storage, struct chainlink *link)
{
	struct chainstore *s = chain_store(c, proc, storage);
	struct chainlink *writer;

	if (!s || (s->reader && s->reader_order >= o->order))
		return;
	s->reader = o->id;
	s->reader_order = o->order;
	if (++s->readers > 1) {
		chain_unlink(c, proc, s->writer);
		return;
	}
	writer = link && s->writer ? pasta_pending_find(c->links, proc, s->writer) : NULL;
	if (!writer || writer == link || writer->next || link->previous)
		return;
	writer->next = o->id;
	link->previous = s->writer;
}

/* Registers an operator as the writer of a storage, unless an operator inside of it is. */
static void chain_write(struct pasta_chains *c, uint32_t proc, const struct chainopen *o,
			uint64_t storage, const struct chainlink *link)
{
	struct chainstore *s = chain_store(c, proc, storage);

	if (!s || s->writer_order > o->order)
		return;
	*s = (struct chainstore){.writer = link ? o->id : 0, .writer_order = o->order};
}

/* An operator that returns one of its inputs is a view, which neither reads nor writes elements, or
 * works in place. */
static void chain_close(struct pasta_chains *c, uint32_t proc, const struct chainopen *o)
{
	const struct pasta_formula *f = o->op ? &o->op->f : NULL;
	struct chainlink *link;

	if (!o->in.count && !o->out.count)
		return;
	link = o->op && chain_fuses(o->op) ? pasta_pending_find(c->links, proc, o->id) : NULL;
	for (uint32_t i = 0; i < o->in.count; i++) {
		bool returned = false;

		for (uint32_t j = 0; j < o->out.count && j < 8; j++)
			returned = returned || o->out.ids[j] == o->in.ids[i];
		if (!returned)
			chain_read(c, proc, o, o->in.ids[i], link);
		else if (f && f->in_place)
			chain_write(c, proc, o, o->in.ids[i], NULL);
	}
	for (uint32_t i = 0; i < o->out.count; i++) {
		bool passed = false;

		for (uint32_t j = 0; j < o->in.count && j < 8; j++)
			passed = passed || o->in.ids[j] == o->out.ids[i];
		if (!passed)
			chain_write(c, proc, o, o->out.ids[i], link);
	}
}

void pasta_chains_end(struct pasta_chains *c, const struct pasta_event *ev)
{
	struct chainthread *t = chain_thread(c, ev);

	if (!t || !t->count || t->open[t->count - 1].id != ev->op_end.id)
		return;
	chain_close(c, ev->proc, &t->open[--t->count]);
}

void pasta_chains_work(struct pasta_chains *c, const struct pasta_workitem *item)
{
	struct chainlink *link;

	if (!pasta_pending_count(c->links) || !item->op)
		return;
	link = pasta_pending_find(c->links, item->key.proc, item->op);
	if (!link)
		return;
	if (!link->kernels) {
		link->key = item->key;
		link->step = item->step;
	} else if (link->key.device != item->key.device || link->key.layer != item->key.layer ||
		   link->key.phase != item->key.phase || link->step != item->step) {
		link->mixed = true;
	}
	link->kernels++;
	link->ns += item->ns;
}

/* -- Restarting, merging -- */

static void chain_flush(struct pasta_chains *c)
{
	while (pasta_pending_count(c->links))
		chain_end_oldest(c);
}

static void chain_add_row(struct chainrow *to, const struct chainrow *from)
{
	to->chains += from->chains;
	to->kernels += from->kernels;
	to->ns += from->ns;
	to->steps += from->steps;
	to->bytes += from->bytes;
	to->last_step = from->last_step;
}

void pasta_chains_restart(struct pasta_chains *c, uint32_t proc)
{
	chain_flush(c);
	for (size_t at = 0, end = pasta_group_count(c->rows); end--;) {
		struct chainrow *row = pasta_group_next(c->rows, &at), moved = *row, *to;

		if (row->key.proc != proc || row->key.part == PASTA_WORK_OUTSIDE)
			continue;
		moved.key.part = PASTA_WORK_OUTSIDE;
		to = pasta_group_row(c->rows, &moved.key);
		if (pasta_group_error(c->rows))
			return;
		chain_add_row(to, &moved);
		memset((char *)row + sizeof(row->key), 0, sizeof(*row) - sizeof(row->key));
	}
}

int pasta_chains_merge(struct pasta_chains *c, struct pasta_chains *from)
{
	const struct chainrow *row;

	chain_flush(from);
	for (size_t at = 0; (row = pasta_group_next(from->rows, &at));) {
		struct chainrow *to = pasta_group_row(c->rows, &row->key);

		if (pasta_group_error(c->rows))
			break;
		chain_add_row(to, row);
	}
	return pasta_chains_error(c);
}

/* -- Results -- */

/* Returns the row of the result for a row of the window, and adds it if it is new. */
static struct pasta_chain *chain_result(struct pasta_chain *chains, size_t *count,
					const struct chainrow *row, uint32_t layer)
{
	struct pasta_chain chain = {
		.size = sizeof(chain),
		.proc = row->key.proc,
		.device = row->key.device,
		.layer = layer,
		.phase = row->key.phase,
		.ops = row->key.ops,
		.inputs = row->key.inputs,
		.length = row->key.length,
	};

	/* Rows of one chain differ only in their part of the run, and there are few. */
	for (size_t i = 0; i < *count && i < 4096; i++) {
		struct pasta_chain *other = &chains[*count - 1 - i];

		if (!memcmp(other, &chain, offsetof(struct pasta_chain, chains)))
			return other;
	}
	chains[*count] = chain;
	return &chains[(*count)++];
}

static int chain_compare(const void *left, const void *right)
{
	const struct pasta_chain *a = left, *b = right;
	int order;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->proc != b->proc)
		return a->proc < b->proc ? -1 : 1;
	order = strcmp(pasta_str(a->ops), pasta_str(b->ops));
	order = order ? order : strcmp(pasta_str(a->layer), pasta_str(b->layer));
	return order ? order : strcmp(pasta_str(a->inputs), pasta_str(b->inputs));
}

int pasta_chains_fill(struct pasta_chains *c, struct pasta_workresult *to,
		      const struct pasta_workview *view)
{
	const struct chainrow *row;

	chain_flush(c);
	to->chains = calloc(pasta_group_count(c->rows) + 1, sizeof(*to->chains));
	if (!to->chains || pasta_chains_error(c))
		return -ENOMEM;
	for (size_t at = 0; (row = pasta_group_next(c->rows, &at));) {
		const struct pasta_peaks *peaks =
			pasta_device_peaks(row->key.proc, row->key.device);
		struct pasta_chain *chain;

		if (!row->chains || !pasta_workview_has(view, row->key.proc, row->key.part))
			continue;
		chain = chain_result(to->chains, &to->chain_count, row,
				     pasta_workview_layer(view, row->key.proc, row->key.layer,
							  row->key.fallback));
		chain->chains += row->chains;
		chain->kernels += row->kernels;
		chain->ns += row->ns;
		chain->steps += pasta_workview_steps(view, row->key.proc) ? row->steps : 0;
		chain->bytes += row->bytes;
		chain->roof = peaks->memory > 0 ? chain->bytes / peaks->memory * 1e9 : 0;
	}
	qsort(to->chains, to->chain_count, sizeof(*to->chains), chain_compare);
	return 0;
}

const struct pasta_chain *pasta_diagnosis_chain(struct pasta_diagnosis *d, size_t *at)
{
	const struct pasta_workresult *r = &d->work->result;

	return *at < r->chain_count ? &r->chains[(*at)++] : NULL;
}
