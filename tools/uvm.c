/* uvm - unified memory: what moves between host and devices, who touches it, which allocations. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <pasta/pasta.h>

enum { SUBS = PASTA_UVM_REMOTE_MAP + 1 };

static const char *const names[SUBS] = {
	[0] = "unspecified",
	[PASTA_UVM_TO_DEVICE] = "to_device",
	[PASTA_UVM_TO_HOST] = "to_host",
	[PASTA_UVM_BETWEEN] = "between",
	[PASTA_UVM_GPU_FAULT] = "gpu_fault",
	[PASTA_UVM_CPU_FAULT] = "cpu_fault",
	[PASTA_UVM_THRASHING] = "thrashing",
	[PASTA_UVM_THROTTLING] = "throttling",
	[PASTA_UVM_REMOTE_MAP] = "remote_map",
};

/* faults: events of faults have several together. */
struct sum {
	uint64_t count, bytes, total, faults;
};

/* Faults of the host, or of a device. */
struct toucher {
	uint32_t device;
	struct sum sum;
};

/* Managed memory; of a process all that belongs to none has address 0. */
struct heap {
	uint32_t proc, name;
	uint64_t number, addr, bytes;
	struct sum sums[SUBS];
};

struct uvm {
	struct pasta_ledger *ledger; /* with a struct heap * each */
	struct sum sums[SUBS];
	struct pasta_map *touchers; /* by device */
	struct pasta_map *heaps;    /* by number, from 1 */
	struct pasta_map *lost;	    /* number of that of no allocation, by process */
	uint64_t numbers;
	size_t rows;
	bool failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct uvm *u = state;

	u->rows = pasta_opt_u64(opts, "rows");
	u->touchers = pasta_map_new(sizeof(struct toucher));
	u->heaps = pasta_map_new(sizeof(struct heap));
	u->lost = pasta_map_new(sizeof(uint64_t));
	if (!u->touchers || !u->heaps || !u->lost)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct uvm *u = state;

	pasta_map_free(u->touchers);
	pasta_map_free(u->heaps);
	pasta_map_free(u->lost);
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static void add(struct sum *into, const struct pasta_uvm_record *r)
{
	into->count++;
	into->bytes += r->bytes;
	into->total += r->dur;
	into->faults += r->count;
}

static struct heap *heap_new(struct uvm *u, uint32_t proc)
{
	struct heap *h = pasta_map_add(u->heaps, ++u->numbers);

	if (!h) {
		u->failed = true;
		return NULL;
	}
	h->proc = proc;
	h->number = u->numbers;
	return h;
}

static void on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev)
{
	struct uvm *u = state;
	struct heap *h;

	(void)ev;
	if (u->failed || a->type != PASTA_ALLOC_MANAGED || !a->bytes ||
	    a->addr > UINT64_MAX - a->bytes)
		return;
	h = heap_new(u, a->proc);
	if (!h)
		return;
	h->addr = a->addr;
	h->bytes = a->bytes;
	h->name = a->name;
	*(struct heap **)a->data = h;
}

static struct heap *heap_at(struct uvm *u, uint32_t proc, uint64_t addr)
{
	const struct pasta_allocation *a =
		pasta_ledger_at(u->ledger, proc, PASTA_LEVEL_DRIVER, addr);
	struct heap *h = a ? *(struct heap **)a->data : NULL;
	uint64_t *number;

	if (h)
		return h;
	number = pasta_map_add(u->lost, proc);
	if (!number) {
		u->failed = true;
		return NULL;
	}
	if (*number)
		return pasta_map_find(u->heaps, *number);
	h = heap_new(u, proc);
	*number = h ? h->number : 0;
	return h;
}

static void on_uvm(struct uvm *u, const struct pasta_event *ev)
{
	unsigned int sub = ev->sub < SUBS ? ev->sub : 0;
	struct heap *h = heap_at(u, ev->proc, ev->uvm.addr);

	add(&u->sums[sub], &ev->uvm);
	if (h)
		add(&h->sums[sub], &ev->uvm);
	if (sub == PASTA_UVM_GPU_FAULT || sub == PASTA_UVM_CPU_FAULT) {
		struct toucher *t = pasta_map_add(u->touchers, ev->uvm.src);

		if (!t) {
			u->failed = true;
			return;
		}
		t->device = ev->uvm.src;
		add(&t->sum, &ev->uvm);
	}
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct uvm *u = state;

	if (!u->failed)
		on_uvm(u, ev);
}

/* -- Reporting -- */

static const unsigned int moves[] = {PASTA_UVM_TO_DEVICE, PASTA_UVM_TO_HOST, PASTA_UVM_BETWEEN};
static const unsigned int others[] = {PASTA_UVM_THRASHING, PASTA_UVM_THROTTLING,
				      PASTA_UVM_REMOTE_MAP, 0};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void report_moves(const struct uvm *u, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"direction", PASTA_COLUMN_STRING, NULL},     {"count", PASTA_COLUMN_INT, NULL},
		{"bytes", PASTA_COLUMN_INT, "bytes"},	      {"total", PASTA_COLUMN_INT, "ns"},
		{"bandwidth", PASTA_COLUMN_FLOAT, "bytes/s"}, {"mean", PASTA_COLUMN_INT, "bytes"},
	};
	struct pasta_table *t = pasta_out_table(out, "migrations", columns, 6);

	for (size_t i = 0; i < COUNT(moves); i++) {
		const struct sum *sum = &u->sums[moves[i]];

		if (!sum->count)
			continue;
		pasta_cell_str(t, names[moves[i]]);
		pasta_cell_int(t, (int64_t)sum->count);
		pasta_cell_int(t, (int64_t)sum->bytes);
		pasta_cell_int(t, (int64_t)sum->total);
		pasta_cell_float(t,
				 sum->total ? (double)sum->bytes * 1e9 / (double)sum->total : NAN);
		pasta_cell_int(t, (int64_t)(sum->bytes / sum->count));
	}
}

static int by_device(const void *a, const void *b)
{
	const struct toucher *x = *(const struct toucher *const *)a,
			     *y = *(const struct toucher *const *)b;

	return x->device < y->device ? -1 : x->device > y->device;
}

static int report_faults(const struct uvm *u, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"by", PASTA_COLUMN_STRING, NULL},
		{"groups", PASTA_COLUMN_INT, NULL},
		{"faults", PASTA_COLUMN_INT, NULL},
		{"total", PASTA_COLUMN_INT, "ns"},
	};
	struct toucher **list = pasta_map_sorted(u->touchers, by_device);
	struct pasta_table *t = pasta_out_table(out, "faults", columns, 4);

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; list[i]; i++) {
		char text[32];

		pasta_cell_str(t, pasta_device_text(list[i]->device, text, sizeof(text)));
		pasta_cell_int(t, (int64_t)list[i]->sum.count);
		pasta_cell_int(t, (int64_t)list[i]->sum.faults);
		pasta_cell_int(t, (int64_t)list[i]->sum.total);
	}
	free(list);
	return 0;
}

static void report_others(const struct uvm *u, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"what", PASTA_COLUMN_STRING, NULL},
		{"count", PASTA_COLUMN_INT, NULL},
		{"bytes", PASTA_COLUMN_INT, "bytes"},
		{"total", PASTA_COLUMN_INT, "ns"},
	};
	struct pasta_table *t = pasta_out_table(out, "other", columns, 4);

	for (size_t i = 0; i < COUNT(others); i++) {
		const struct sum *sum = &u->sums[others[i]];

		if (!sum->count)
			continue;
		pasta_cell_str(t, names[others[i]]);
		pasta_cell_int(t, (int64_t)sum->count);
		pasta_cell_int(t, (int64_t)sum->bytes);
		pasta_cell_int(t, (int64_t)sum->total);
	}
}

static uint64_t moved(const struct heap *h)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < COUNT(moves); i++)
		bytes += h->sums[moves[i]].bytes;
	return bytes;
}

static uint64_t faults(const struct heap *h)
{
	return h->sums[PASTA_UVM_GPU_FAULT].faults + h->sums[PASTA_UVM_CPU_FAULT].faults;
}

/* What moves most first, then what is touched most, then the older. */
static int by_bytes(const void *a, const void *b)
{
	const struct heap *x = *(const struct heap *const *)a, *y = *(const struct heap *const *)b;

	if (moved(x) != moved(y))
		return moved(x) > moved(y) ? -1 : 1;
	if (faults(x) != faults(y))
		return faults(x) > faults(y) ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void put_heap(const struct heap *h, struct pasta_table *t)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)h->addr);
	pasta_cell_str(t, h->name ? pasta_str(h->name) : h->bytes ? text : "(unknown)");
	pasta_cell_int(t, (int64_t)h->bytes);
	pasta_cell_int(t, (int64_t)h->sums[PASTA_UVM_TO_DEVICE].bytes);
	pasta_cell_int(t, (int64_t)h->sums[PASTA_UVM_TO_HOST].bytes);
	pasta_cell_int(t, (int64_t)h->sums[PASTA_UVM_BETWEEN].bytes);
	pasta_cell_int(t, (int64_t)h->sums[PASTA_UVM_GPU_FAULT].faults);
	pasta_cell_int(t, (int64_t)h->sums[PASTA_UVM_CPU_FAULT].faults);
	pasta_cell_int(t, (int64_t)h->proc);
}

static int report_heaps(const struct uvm *u, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"allocation", PASTA_COLUMN_STRING, NULL}, {"bytes", PASTA_COLUMN_INT, "bytes"},
		{"to_device", PASTA_COLUMN_INT, "bytes"},  {"to_host", PASTA_COLUMN_INT, "bytes"},
		{"between", PASTA_COLUMN_INT, "bytes"},	   {"gpu_faults", PASTA_COLUMN_INT, NULL},
		{"cpu_faults", PASTA_COLUMN_INT, NULL},	   {"process", PASTA_COLUMN_INT, NULL},
	};
	struct heap **list = pasta_map_sorted(u->heaps, by_bytes);
	struct pasta_table *t = pasta_out_table(out, "allocations", columns, 8);

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; list[i] && (!u->rows || i < u->rows); i++)
		if (moved(list[i]) || faults(list[i]))
			put_heap(list[i], t);
	free(list);
	return 0;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct uvm *u = state;
	int error = u->failed ? -ENOMEM : 0;

	if (error)
		return error;
	report_moves(u, out);
	error = report_faults(u, out);
	report_others(u, out);
	if (!error)
		error = report_heaps(u, out);
	pasta_out_count(out, PASTA_SEVERITY_WARNING, u->sums[PASTA_UVM_THRASHING].count,
			"times that memory was seen to move to and fro",
			"host and devices, or devices, use it at the same time: split it, or say "
			"where it is to stay (cudaMemAdvise)",
			NULL);
	return error;
}

static const struct pasta_ledger_def ledger =
	PASTA_LEDGER(struct uvm, ledger, .data_size = sizeof(struct heap *), .on_alloc = on_alloc);

static const struct pasta_option options[] = {
	{"rows", "100", "how many allocations have a row, at most; 0: all", PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "uvm", .summary = "unified memory: migrations, faults, and of which allocations",
	   .events = PASTA_MASK(UVM), .state_size = sizeof(struct uvm), .options = options,
	   .open = open_, .event = on_event, .report = report, .close = close_, .ledger = &ledger);
