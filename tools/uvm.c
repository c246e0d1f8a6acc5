/* uvm - reports unified memory: migrations between host and devices, page faults, allocations. */
#include <math.h>
#include <stdio.h>

#include <pasta/tool.h>

/* UNSPECIFIED stands for events without a subtype, and for unknown subtypes. */
enum { UNSPECIFIED = PASTA_UVM_REMOTE_MAP + 1, SUBS };

static const char *const names[SUBS] = {
	[PASTA_UVM_TO_DEVICE] = "to_device",   [PASTA_UVM_TO_HOST] = "to_host",
	[PASTA_UVM_BETWEEN] = "between",       [PASTA_UVM_THRASHING] = "thrashing",
	[PASTA_UVM_THROTTLING] = "throttling", [PASTA_UVM_REMOTE_MAP] = "remote_map",
	[UNSPECIFIED] = "unspecified",
};

/* A row: migrations in one direction, faults of one device or of the host, or events of one other
 * type. */
struct sum {
	struct {
		/* subtype of the events; for faults, the number of the device */
		uint32_t of;
	} key;
	struct pasta_stat bytes;
	uint64_t total, faults; /* number of faults; one event may report several faults */
};

/* A managed allocation. The number 0 stands for all memory of the process without a known
 * allocation. */
struct heap {
	struct {
		uint32_t proc, name;
		uint64_t number, addr, bytes;
	} key;
	uint64_t by[SUBS]; /* number of bytes or faults, by subtype of the event */
	uint64_t moved, touched;
};

struct uvm {
	struct pasta_ledger *ledger;
	struct pasta_group *migrations, *faults, *others, *heaps;
};

static struct heap *heap_at(const struct uvm *u, uint32_t proc, uint64_t addr)
{
	const struct pasta_allocation *a =
		pasta_ledger_at(u->ledger, proc, PASTA_LEVEL_DRIVER, addr);

	if (!a || a->type != PASTA_ALLOC_MANAGED)
		return PASTA_ROW(u->heaps, struct heap, proc, 0, 0, 0, 0);
	return PASTA_ROW(u->heaps, struct heap, proc, a->name, a->number, a->addr, a->bytes);
}

static void add(struct pasta_group *group, uint32_t of, const struct pasta_uvm_record *r)
{
	struct sum *sum = PASTA_ROW(group, struct sum, of);

	pasta_stat_add(&sum->bytes, r->bytes);
	sum->total += r->dur;
	sum->faults += r->count;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	uint32_t sub = ev->sub && ev->sub < SUBS ? ev->sub : UNSPECIFIED;
	bool moves = sub <= PASTA_UVM_BETWEEN,
	     faults = sub == PASTA_UVM_GPU_FAULT || sub == PASTA_UVM_CPU_FAULT;
	const struct pasta_uvm_record *r = &ev->uvm;
	const struct uvm *u = state;
	struct heap *h = heap_at(u, ev->proc, r->addr);

	h->by[sub] += faults ? r->count : r->bytes;
	h->moved += moves ? r->bytes : 0;
	h->touched += faults ? r->count : 0;
	if (faults)
		add(u->faults, r->src, r);
	else
		add(moves ? u->migrations : u->others, sub, r);
}

static const char *sum_name(const void *row, const void *state, char *text, size_t size)
{
	return names[((const struct sum *)row)->key.of];
}

static double sum_bandwidth(const void *row, const void *state)
{
	const struct sum *s = row;

	return s->total ? (double)s->bytes.sum * 1e9 / (double)s->total : NAN;
}

static const char *heap_name(const void *row, const void *state, char *text, size_t size)
{
	const struct heap *h = row;

	snprintf(text, size, "0x%llx", (unsigned long long)h->key.addr);
	return h->key.name ? pasta_str(h->key.name) : h->key.bytes ? text : "(unknown)";
}

static bool heap_shown(const void *row, const void *state)
{
	const struct heap *h = row;

	return h->moved || h->touched;
}

static const struct pasta_member migration_members[] = {
	PASTA_MEMBER_BY(TEXT, .text = sum_name, .column = "direction"),
	PASTA_MEMBER(STAT, struct sum, bytes, .unit = "bytes", .column = "count,total=bytes"),
	PASTA_MEMBER(SUM, struct sum, total, .unit = "ns", .column = "total"),
	PASTA_MEMBER_BY(RATIO, .ratio = sum_bandwidth, .unit = "bytes/s", .column = "bandwidth"),
	PASTA_MEMBER(STAT, struct sum, bytes, .unit = "bytes", .column = "mean",
		     .flags = PASTA_MEMBER_MORE),
	PASTA_MEMBER(U32, struct sum, key.of, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member fault_members[] = {
	PASTA_MEMBER(DEVICE, struct sum, key.of, .column = "by"),
	PASTA_MEMBER(STAT, struct sum, bytes, .column = "count=groups"),
	PASTA_MEMBER(SUM, struct sum, faults, .column = "faults"),
	PASTA_MEMBER(SUM, struct sum, total, .unit = "ns", .column = "total"),
	{0},
};

static const struct pasta_member other_members[] = {
	PASTA_MEMBER_BY(TEXT, .text = sum_name, .column = "what"),
	PASTA_MEMBER(STAT, struct sum, bytes, .unit = "bytes", .column = "count,total=bytes"),
	PASTA_MEMBER(SUM, struct sum, total, .unit = "ns", .column = "total"),
	PASTA_MEMBER(U32, struct sum, key.of, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member heap_members[] = {
	PASTA_MEMBER_BY(TEXT, .text = heap_name, .column = "allocation"),
	PASTA_MEMBER(U64, struct heap, key.bytes, .unit = "bytes", .column = "bytes"),
	PASTA_MEMBER(SUM, struct heap, by[PASTA_UVM_TO_DEVICE], .unit = "bytes",
		     .column = "to_device"),
	PASTA_MEMBER(SUM, struct heap, by[PASTA_UVM_TO_HOST], .unit = "bytes", .column = "to_host"),
	PASTA_MEMBER(SUM, struct heap, by[PASTA_UVM_BETWEEN], .unit = "bytes", .column = "between"),
	PASTA_MEMBER(SUM, struct heap, by[PASTA_UVM_GPU_FAULT], .column = "gpu_faults"),
	PASTA_MEMBER(SUM, struct heap, by[PASTA_UVM_CPU_FAULT], .column = "cpu_faults"),
	PASTA_MEMBER(PROCESS, struct heap, key.proc, .column = "process"),
	PASTA_MEMBER(U64, struct heap, key.number, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(ADDRESS, struct heap, key.addr),
	PASTA_MEMBER(NAME, struct heap, key.name),
	PASTA_MEMBER(SUM, struct heap, moved, .column = "moved", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(SUM, struct heap, touched, .column = "touched", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

/* Orders allocations by bytes moved. Ties are ordered by faults, and then by age. */
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct uvm, migrations, struct sum, migration_members, .table = "migrations",
		    .order = "#"),
	PASTA_GROUP(struct uvm, faults, struct sum, fault_members, .table = "faults",
		    .order = "by"),
	PASTA_GROUP(struct uvm, others, struct sum, other_members, .table = "other", .order = "#"),
	PASTA_GROUP(struct uvm, heaps, struct heap, heap_members, .table = "allocations",
		    .order = "-moved -touched process #", .limit_option = "rows",
		    .keep = heap_shown),
	{0},
};

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct uvm *u = state;
	const struct sum *thrashing =
		pasta_group_find(u->others, &(const uint32_t){PASTA_UVM_THRASHING});

	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 PASTA_COUNT(thrashing ? thrashing->bytes.count : 0),
			 .what = "times that memory thrashed",
			 .evidence =
				 "several devices, or the host and a device, use the same memory "
				 "at the same time: split the allocation, or set its preferred "
				 "location (cudaMemAdvise)");
	return pasta_out_groups(out, state, err);
}

static const struct pasta_ledger_def ledger = PASTA_LEDGER(struct uvm, ledger, .levels = 0);

static const struct pasta_option options[] = {
	{"rows", "100", "maximum number of allocations with a row of their own; 0: all",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "uvm", .summary = "unified memory: migrations and faults, by allocation",
	   .events = PASTA_MASK(UVM), .state_size = sizeof(struct uvm), .options = options,
	   .event = on_event, .report = report, .flags = PASTA_TOOL_SHARDED, .groups = groups,
	   .ledger = &ledger);
