/* test_ledger.c - ledgers: levels, parents and peaks, by hand and against a plain recount. */
/* labels: onethread */
#include "unit/support.h"

#include "core/strings.h"
#include "process/join/directory.h"
#include "process/sdk/ledger.h"

#define MIB (UINT64_C(1) << 20)
enum { TORCH = 77, SEGMENTS = 78 };

static struct pasta_ledger *ledger;
static struct pasta_ledger_def def;
static uint64_t begun, ended, ended_bytes;

static void on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
		     const struct pasta_where *where)
{
	assert_ptr_equal(state, &def);
	assert_int_equal(*(uint64_t *)a->data, 0);
	*(uint64_t *)a->data = a->number;
	assert_int_equal(a->proc, ev->proc);
	begun++;
}

static void on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
		    const struct pasta_where *where)
{
	(void)ev;
	assert_ptr_equal(state, &def);
	assert_int_equal(*(uint64_t *)a->data, a->number);
	ended++;
	ended_bytes += a->bytes;
}

static int setup(void **state)
{
	(void)state;
	pasta_directory_fill(NULL);
	def = (struct pasta_ledger_def){.size = sizeof(def),
					.levels = PASTA_LEVEL_MASK(TENSOR) |
						  PASTA_LEVEL_MASK(SEGMENT),
					.peaks = (1u << PASTA_LEVEL_COUNT) - 1,
					.data_size = sizeof(uint64_t),
					.on_alloc = on_alloc,
					.on_free = on_free};
	begun = ended = ended_bytes = 0;
	ledger = pasta_ledger_new(&def, &def);
	return ledger ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	pasta_ledger_free(ledger);
	pasta_directory_fill(NULL);
	return 0;
}

static struct pasta_event alloc_event(unsigned int sub, uint32_t pool, uint64_t addr,
				      uint64_t bytes)
{
	static uint64_t time;
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(alloc), .kind = PASTA_KIND_ALLOC};

	ev.time = ++time;
	ev.sub = (uint8_t)sub;
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	ev.alloc.pool = pool;
	return ev;
}

static struct pasta_event free_event(unsigned int sub, uint32_t pool, uint64_t addr, uint64_t bytes)
{
	struct pasta_event ev = alloc_event(sub, 0, 0, 0);

	ev.kind = PASTA_KIND_FREE;
	ev.size = PASTA_EVENT_SIZE(free);
	memset(&ev.free, 0, sizeof(ev.free));
	ev.free.addr = addr;
	ev.free.bytes = bytes;
	ev.free.pool = pool;
	return ev;
}

static void get(unsigned int sub, uint32_t pool, uint64_t addr, uint64_t bytes)
{
	struct pasta_event ev = alloc_event(sub, pool, addr, bytes);

	pasta_ledger_event(ledger, &ev, NULL);
}

static void get_part(unsigned int sub, uint64_t addr, uint64_t bytes, uint64_t parent)
{
	struct pasta_event ev = alloc_event(sub, 0, addr, bytes);

	ev.alloc.parent = parent;
	pasta_ledger_event(ledger, &ev, NULL);
}

static void drop(unsigned int sub, uint32_t pool, uint64_t addr, uint64_t bytes)
{
	struct pasta_event ev = free_event(sub, pool, addr, bytes);

	pasta_ledger_event(ledger, &ev, NULL);
}

static void tensor(uint64_t storage, uint64_t addr, uint64_t bytes)
{
	struct pasta_event ev = alloc_event(PASTA_TENSOR_NEW, 0, 0, 0);

	ev.kind = PASTA_KIND_TENSOR;
	ev.size = PASTA_EVENT_SIZE(tensor);
	memset(&ev.tensor, 0, sizeof(ev.tensor));
	ev.tensor.storage = storage;
	ev.tensor.addr = addr;
	ev.tensor.bytes = bytes;
	ev.tensor.device = 1;
	pasta_ledger_event(ledger, &ev, NULL);
}

static void count(const char *name, double value)
{
	struct pasta_event ev = alloc_event(0, 0, 0, 0);

	ev.kind = PASTA_KIND_COUNTER;
	ev.size = PASTA_EVENT_SIZE(counter);
	memset(&ev.counter, 0, sizeof(ev.counter));
	ev.counter.name = pasta_strings_add(name, strlen(name));
	ev.counter.value = value;
	pasta_ledger_event(ledger, &ev, NULL);
}

static uint64_t live(uint32_t level)
{
	return pasta_ledger_live(ledger, 0, 0, level);
}

static uint64_t peak(uint32_t level)
{
	return pasta_ledger_peak(ledger, 0, 0, level, NULL);
}

/* "DRIVER SEGMENT BLOCK TENSOR HELD" */
static void assert_live(uint64_t driver, uint64_t segment, uint64_t block, uint64_t tensors,
			uint64_t held)
{
	assert_int_equal(live(PASTA_LEVEL_DRIVER), driver);
	assert_int_equal(live(PASTA_LEVEL_SEGMENT), segment);
	assert_int_equal(live(PASTA_LEVEL_BLOCK), block);
	assert_int_equal(live(PASTA_LEVEL_TENSOR), tensors);
	assert_int_equal(live(PASTA_LEVEL_HELD), held);
}

static uint64_t walk(enum pasta_ledger_set set, uint32_t level, uint64_t *bytes)
{
	const struct pasta_allocation *a;
	uint64_t n = 0, last = 0;
	size_t at = 0;

	*bytes = 0;
	while ((a = pasta_ledger_next(ledger, set, level, &at))) {
		assert_true(level == PASTA_LEVEL_TENSOR || a->number >= last);
		last = a->number;
		*bytes += a->bytes;
		n++;
	}
	return n;
}

static void levels_are_never_added(void **state)
{
	const struct pasta_allocation *a;

	(void)state;
	get(PASTA_ALLOC_DEVICE, 0, 0x100000, 20 * MIB);
	get(PASTA_ALLOC_SEGMENT, SEGMENTS, 0x100000, 20 * MIB);
	get(PASTA_ALLOC_POOL, TORCH, 0x100000, 8 * MIB);
	get(PASTA_ALLOC_POOL, TORCH, 0x100000 + 8 * MIB, 4 * MIB);
	tensor(9, 0x100000, 7 * MIB);
	assert_live(20 * MIB, 20 * MIB, 12 * MIB, 7 * MIB, 20 * MIB);
	a = pasta_ledger_at(ledger, 0, PASTA_LEVEL_TENSOR, 0x100000);
	assert_int_equal(a->number, 9);
	assert_int_equal(a->parent->number, 3);
	assert_int_equal(a->parent->parent->number, 2);
	assert_int_equal(a->parent->parent->parent->number, 1);
	assert_null(a->parent->parent->parent->parent);
	drop(PASTA_ALLOC_POOL, TORCH, 0x100000, 8 * MIB);
	assert_live(20 * MIB, 20 * MIB, 4 * MIB, 0, 20 * MIB);
	drop(0, 0, 0x100000,
	     0); /* the driver's allocation ends first: nothing in it is held again */
	assert_live(0, 20 * MIB, 4 * MIB, 0, 0);
	assert_int_equal(peak(PASTA_LEVEL_HELD), 20 * MIB);
	assert_int_equal(peak(PASTA_LEVEL_BLOCK), 12 * MIB);
	assert_int_equal(begun, 5);
	assert_int_equal(ended, 3);
}

static void an_allocation_before_its_parent_is_adopted(void **state)
{
	uint64_t bytes;

	(void)state;
	get(PASTA_ALLOC_POOL, TORCH, 150, 10);
	assert_live(0, 0, 10, 0, 10);
	get(PASTA_ALLOC_DEVICE, 0, 100, 100);
	assert_live(100, 0, 10, 0, 100);
	get(PASTA_ALLOC_SEGMENT, SEGMENTS, 120, 50);
	assert_live(100, 50, 10, 0, 100);
	assert_int_equal(pasta_ledger_at(ledger, 0, PASTA_LEVEL_BLOCK, 155)->parent->number, 3);
	drop(PASTA_ALLOC_POOL, TORCH, 150, 10);
	assert_int_equal(walk(PASTA_LEDGER_PEAK, PASTA_LEVEL_HELD, &bytes), 1);
	assert_int_equal(bytes, 100);
	assert_int_equal(walk(PASTA_LEDGER_PEAK, PASTA_LEVEL_BLOCK, &bytes), 1);
	assert_int_equal(bytes, 10);
}

static void mapped_pieces_are_aliases_and_contain(void **state)
{
	(void)state;
	get(PASTA_ALLOC_PHYSICAL, PASTA_ALLOC_HANDLES, 7, 20);
	get(PASTA_ALLOC_PHYSICAL, PASTA_ALLOC_HANDLES, 8, 20);
	get_part(PASTA_ALLOC_MAPPED, 1000, 20, 7);
	get_part(PASTA_ALLOC_MAPPED, 1020, 20, 8);
	get(PASTA_ALLOC_SEGMENT, SEGMENTS, 1000, 40);
	get(PASTA_ALLOC_POOL, TORCH, 1010, 25);
	assert_live(40, 40, 25, 0, 40);
	/* Frees may split an allocation: these free its first part. */
	drop(0, 0, 1000, 20);
	drop(0, PASTA_ALLOC_HANDLES, 7, 20);
	assert_live(20, 40, 25, 0, 20);
	drop(PASTA_ALLOC_SEGMENT, SEGMENTS, 1000, 20);
	assert_live(20, 20, 25, 0, 20);
	assert_int_equal(pasta_ledger_at(ledger, 0, PASTA_LEVEL_SEGMENT, 1030)->parent->number, 4);
	assert_int_equal(peak(PASTA_LEVEL_HELD), 40);
	assert_int_equal(pasta_ledger_unknown_frees(ledger, PASTA_LEVEL_HELD), 0);
}

static void a_mapping_waits_for_its_memory(void **state)
{
	(void)state;
	get_part(PASTA_ALLOC_MAPPED, 1000, 20, 7);
	assert_live(0, 0, 0, 0, 0);
	get(PASTA_ALLOC_PHYSICAL, PASTA_ALLOC_HANDLES, 7, 20);
	assert_live(20, 0, 0, 0, 20);
	assert_int_equal(pasta_ledger_at(ledger, 0, PASTA_LEVEL_DRIVER, 1005)->parent->number, 2);
}

static void a_segment_may_be_freed_in_parts(void **state)
{
	uint64_t bytes;

	(void)state;
	get(PASTA_ALLOC_SEGMENT, SEGMENTS, 1000, 60);
	get(PASTA_ALLOC_SEGMENT, SEGMENTS, 1060, 40);
	get(PASTA_ALLOC_SEGMENT, SEGMENTS, 1060, 40); /* announced again */
	drop(PASTA_ALLOC_SEGMENT, SEGMENTS, 1020, 10);
	assert_live(0, 90, 0, 0, 90);
	drop(PASTA_ALLOC_SEGMENT, SEGMENTS, 1050, 30);
	assert_live(0, 60, 0, 0, 60);
	assert_int_equal(walk(PASTA_LEDGER_PEAK, PASTA_LEVEL_SEGMENT, &bytes), 6);
	assert_int_equal(bytes, 100);
	assert_int_equal(walk(PASTA_LEDGER_LIVE, PASTA_LEVEL_HELD, &bytes), 3);
	assert_int_equal(bytes, 60);
	assert_int_equal(ended_bytes, 40);
	assert_int_equal(begun, 2);
	assert_int_equal(pasta_ledger_missing_frees(ledger, PASTA_LEVEL_HELD), 0);
}

static void handles_do_not_evict_each_other(void **state)
{
	(void)state;
	get(PASTA_ALLOC_DEVICE, 0, 0x1000, 1 << 20);
	get(PASTA_ALLOC_DEVICE, 0, 0x1040, 1 << 20);
	get_part(PASTA_ALLOC_DEVICE, 0x1080, 100, 0x1000);
	get_part(PASTA_ALLOC_DEVICE, 0x1040, 100, 0x1040); /* begins where its parent does */
	get(PASTA_ALLOC_HOST, 0, 0x1090, 50);
	assert_live(2 << 20, 0, 200, 0, 2 << 20);
	assert_int_equal(pasta_ledger_live(ledger, 0, PASTA_HOST, PASTA_LEVEL_HELD), 50);
	assert_int_equal(pasta_ledger_get(ledger, 0, PASTA_LEVEL_BLOCK, 3)->parent->number, 1);
	assert_int_equal(pasta_ledger_get(ledger, 0, PASTA_LEVEL_BLOCK, 4)->parent->number, 2);
	drop(0, 0, 0x1040, 0);
	assert_live(2 << 20, 0, 100, 0, 2 << 20);
	drop(0, 0, 0x1040, 0);
	drop(0, 0, 0x1080, 0);
	drop(0, 0, 0x1000, 0);
	assert_live(0, 0, 0, 0, 0);
	drop(0, 0, 0x1000, 0);
	assert_int_equal(pasta_ledger_unknown_frees(ledger, PASTA_LEVEL_DRIVER), 1);
}

static void memory_of_other_pools_is_of_other_levels(void **state)
{
	struct pasta_event ev = alloc_event(PASTA_ALLOC_POOL, 0, 0x500, 64);

	(void)state;
	ev.alloc.origin = 1; /* cudaMallocAsync, and PyTorch's block on it */
	pasta_ledger_event(ledger, &ev, NULL);
	get(PASTA_ALLOC_POOL, TORCH, 0x500, 64);
	get(PASTA_ALLOC_HOST, TORCH, 0x900, 10);
	get(PASTA_ALLOC_HOST, 0, 0xa00, 20);
	assert_live(64, 0, 64, 0, 64);
	assert_int_equal(pasta_ledger_live(ledger, 0, PASTA_HOST, PASTA_LEVEL_BLOCK), 10);
	assert_int_equal(pasta_ledger_live(ledger, 0, PASTA_HOST, PASTA_LEVEL_DRIVER), 20);
	assert_int_equal(pasta_ledger_live(ledger, 0, PASTA_HOST, PASTA_LEVEL_HELD), 30);
}

static void imported_memory_is_the_frameworks(void **state)
{
	struct pasta_event ev = alloc_event(PASTA_ALLOC_DEVICE, 0, 0x900, 9);

	(void)state;
	assert_int_equal(
		pasta_directory_add(&(struct pasta_process_info){.proc = 0, .source = "kineto"}),
		0);
	get(PASTA_ALLOC_DEVICE, 0, 0x500, 64);
	ev.alloc.flags = PASTA_ALLOC_BY_DRIVER;
	pasta_ledger_event(ledger, &ev, NULL);
	count("reserved", 0);
	assert_false(pasta_ledger_has(ledger, 0, 0, PASTA_LEVEL_SEGMENT));
	count("reserved", 100);
	count("allocated", 500);
	assert_live(9, 100, 64, 0, 73);
	count("reserved", 80);
	assert_int_equal(live(PASTA_LEVEL_SEGMENT), 80);
	assert_int_equal(peak(PASTA_LEVEL_SEGMENT), 100);
	get(PASTA_ALLOC_SEGMENT, SEGMENTS, 0x500, 70);
	count("reserved", 1000);
	assert_int_equal(live(PASTA_LEVEL_SEGMENT), 70);
}

static void tensors_end_with_their_blocks(void **state)
{
	(void)state;
	get(PASTA_ALLOC_POOL, TORCH, 100, 50);
	tensor(1, 110, 40);
	tensor(1, 110, 40); /* a view */
	tensor(2, 100, 50); /* another storage of the block */
	tensor(3, 500, 30); /* its block is unknown */
	assert_live(0, 0, 50, 80, 50);
	assert_null(pasta_ledger_get(ledger, 0, PASTA_LEVEL_TENSOR, 1));
	get(PASTA_ALLOC_POOL, TORCH, 490, 20);
	assert_live(0, 0, 70, 50, 70);
	drop(PASTA_ALLOC_POOL, TORCH, 100, 50);
	assert_live(0, 0, 20, 0, 20);
	assert_int_equal(peak(PASTA_LEVEL_TENSOR), 80);
}

static void an_address_that_is_reused_counts_as_freed(void **state)
{
	(void)state;
	get(PASTA_ALLOC_POOL, TORCH, 100, 50);
	get(PASTA_ALLOC_POOL, TORCH, 140, 50);
	get(PASTA_ALLOC_DEVICE, 0, 500, 5);
	get(PASTA_ALLOC_DEVICE, 0, 500, 6);
	assert_live(6, 0, 50, 0, 56);
	assert_int_equal(pasta_ledger_missing_frees(ledger, PASTA_LEVEL_BLOCK), 1);
	assert_int_equal(pasta_ledger_missing_frees(ledger, PASTA_LEVEL_HELD), 2);
}

static void merging_moves_processes(void **state)
{
	struct pasta_ledger *other = pasta_ledger_new(&def, &def);
	struct pasta_event ev = alloc_event(PASTA_ALLOC_DEVICE, 0, 1, 30);
	uint64_t bytes;

	(void)state;
	assert_non_null(other);
	get(PASTA_ALLOC_DEVICE, 0, 1, 12);
	ev.proc = 3;
	pasta_ledger_event(other, &ev, NULL);
	ev = free_event(0, 0, 99, 0);
	ev.proc = 3;
	pasta_ledger_event(other, &ev, NULL);
	assert_int_equal(pasta_ledger_merge(ledger, other), 0);
	pasta_ledger_free(other);
	assert_int_equal(pasta_ledger_live(ledger, 3, 0, PASTA_LEVEL_HELD), 30);
	assert_int_equal(walk(PASTA_LEDGER_LIVE, PASTA_LEVEL_HELD, &bytes), 2);
	assert_int_equal(bytes, 42);
	assert_int_equal(pasta_ledger_unknown_frees(ledger, PASTA_LEVEL_HELD), 1);
}

/* -- Against a plain recount: lists that are searched from end to end, and copies of each peak. --
 */

enum { EVENTS = 400, SPACE = 400, SLOTS = 4, ITEMS = 4 * EVENTS, DEVICES = 2 };
static struct item {
	uint32_t level, device, pool, type;
	uint64_t number, addr, bytes, order;
	uint64_t named; /* address of its parent, or 0 */
	bool live, held, waits;
	int parent; /* -1: none */
} items[ITEMS];
static int item_count;
static uint64_t numbers, orders;
static struct set {
	uint64_t live, peak, time;
	struct item items[ITEMS];
	int count;
} sets[DEVICES][PASTA_LEVEL_COUNT];

static bool item_is_range(const struct item *x)
{
	return x->level == PASTA_LEVEL_DRIVER || !x->named;
}

static int item_container(uint32_t device, uint32_t level, uint64_t addr)
{
	while (level--)
		for (int i = 0; i < item_count; i++)
			if (items[i].live && items[i].level == level && items[i].device == device &&
			    item_is_range(&items[i]) && addr >= items[i].addr &&
			    addr - items[i].addr < items[i].bytes)
				return i;
	return -1;
}

static void item_end(int end)
{
	items[end].live = false;
	for (int i = 0; i < item_count; i++)
		if (items[i].live && items[i].parent == end)
			items[i].parent = items[i].named
						  ? -1
						  : item_container(items[i].device, items[i].level,
								   items[i].addr);
}

static void item_cut(uint32_t device, uint64_t from, uint64_t to)
{
	for (int i = 0; i < item_count; i++) {
		struct item *x = &items[i];
		uint64_t at = x->addr < from ? from : to;

		if (!x->live || x->level != PASTA_LEVEL_SEGMENT || x->device != device ||
		    x->addr >= to || x->addr + x->bytes <= from)
			continue;
		if (x->addr >= from && x->addr + x->bytes <= to) {
			item_end(i);
			continue;
		}
		items[item_count] = *x;
		items[item_count].addr = at;
		items[item_count].bytes = x->addr + x->bytes - at;
		x->bytes = at - x->addr;
		items[item_count].parent = item_container(device, x->level, at);
		for (int k = 0; k < item_count; k++)
			if (items[k].parent == i && items[k].addr >= at)
				items[k].parent = item_count;
		item_count++;
		i--;
	}
}

static void set_take(uint64_t time)
{
	for (uint32_t device = 0; device < DEVICES; device++)
		for (uint32_t level = 0; level < PASTA_LEVEL_COUNT; level++) {
			struct set *s = &sets[device][level];

			s->live = 0;
			for (int i = 0; i < item_count; i++)
				if (items[i].live && items[i].device == device &&
				    (level == PASTA_LEVEL_HELD ? items[i].held
							       : items[i].level == level))
					s->live += items[i].bytes;
			if (s->live <= s->peak)
				continue;
			s->peak = s->live;
			s->time = time;
			s->count = 0;
			for (int i = 0; i < item_count; i++)
				if (items[i].live && items[i].device == device &&
				    (level == PASTA_LEVEL_HELD ? items[i].held
							       : items[i].level == level))
					s->items[s->count++] = items[i];
		}
}

static void item_adopt(int new)
{
	const struct item *x = &items[new];

	for (int i = 0; i < item_count; i++) {
		struct item *c = &items[i];

		if (c->live && !c->named && c->device == x->device && c->level > x->level &&
		    item_is_range(x) && c->addr >= x->addr && c->addr - x->addr < x->bytes &&
		    (c->parent < 0 || items[c->parent].level < x->level)) {
			c->parent = new;
			c->held = false;
		}
	}
}

static bool item_is_known(const struct item *x)
{
	for (int i = 0; x->level == PASTA_LEVEL_SEGMENT && i < item_count; i++)
		if (items[i].live && items[i].level == x->level && items[i].device == x->device &&
		    items[i].addr == x->addr && items[i].bytes == x->bytes)
			return true;
	return false;
}

/* The latest that is a whole, of the same pool; a whole of another; or a part of the same. */
static int item_named(const struct item *x, int self)
{
	for (int rank = 3; rank; rank--)
		for (int i = item_count - 1; i >= 0; i--) {
			bool same = items[i].pool == x->pool;

			if (i != self && items[i].live && items[i].addr == x->named &&
			    rank == (same	      ? (items[i].named ? 1 : 3)
				     : items[i].named ? 0
						      : 2))
				return i;
		}
	return -1;
}

static void item_add(struct item x)
{
	x.number = ++numbers;
	if (item_is_known(&x))
		return;
	if (x.level == PASTA_LEVEL_SEGMENT)
		item_cut(x.device, x.addr, x.addr + x.bytes);
	for (int i = 0; i < item_count; i++) {
		const struct item *y = &items[i];
		bool over = x.level == PASTA_LEVEL_BLOCK && !x.named && !y->named &&
			    y->addr < x.addr + x.bytes && x.addr < y->addr + y->bytes;

		if (y->live && y->level == x.level && y->device == x.device &&
		    (over || (y->pool == x.pool && y->addr == x.addr && !y->named == !x.named)))
			item_end(i);
	}
	x.order = ++orders;
	x.parent = -1;
	x.parent = x.named ? item_named(&x, item_count) : -1;
	x.waits = x.named && x.parent < 0;
	if (!x.named)
		x.parent = item_container(x.device, x.level, x.addr);
	x.live = true;
	x.held = !x.named && x.parent < 0;
	items[item_count++] = x;
	item_adopt(item_count - 1);
	for (int i = 0; i < item_count - 1; i++)
		if (items[i].live && items[i].waits && item_named(&items[i], i) == item_count - 1) {
			items[i].parent = item_count - 1;
			items[i].waits = false;
		}
}

/* Slots of DRIVER do not overlap, as on a device. Others may. */
static void random_alloc(void)
{
	static const unsigned int subs[] = {PASTA_ALLOC_DEVICE, PASTA_ALLOC_SEGMENT,
					    PASTA_ALLOC_POOL};
	static const uint32_t pools[] = {0, SEGMENTS, TORCH};
	struct item x = {.level = (uint32_t)random_below(3),
			 .device = (uint32_t)random_below(DEVICES)};
	uint64_t base = 1000 + 10000 * x.device, slot = random_below(SLOTS) * (SPACE / SLOTS);
	struct pasta_event ev;

	x.named = !x.level && !random_below(3) ? base + random_below(SLOTS) * (SPACE / SLOTS) : 0;
	x.pool = pools[x.level];
	x.type = subs[x.level];
	x.level = x.named ? PASTA_LEVEL_BLOCK : x.level;
	x.addr = base + (x.pool ? random_below(SPACE) : slot);
	x.bytes = 1 + random_below(x.pool ? 60 : SPACE / SLOTS);
	ev = alloc_event(x.type, x.pool, x.addr, x.bytes);
	ev.alloc.device = x.device;
	ev.alloc.parent = x.named;
	pasta_ledger_event(ledger, &ev, NULL);
	item_add(x);
	set_take(ev.time);
}

static void random_free(void)
{
	int live_count = 0, which;
	struct pasta_event ev;
	struct item x;

	for (int i = 0; i < item_count; i++)
		live_count += items[i].live;
	which = live_count ? (int)random_below((uint64_t)live_count) : -1;
	for (int i = 0; i < item_count; i++)
		if (items[i].live && !which--) {
			x = items[i];
			if (x.level == PASTA_LEVEL_SEGMENT) {
				x.addr += random_below(30);
				x.bytes = 1 + random_below(80);
				item_cut(x.device, x.addr, x.addr + x.bytes);
			} else {
				/* The part ends first. */
				for (int k = 0; k < item_count; k++)
					if (items[k].live && items[k].named &&
					    items[k].addr == x.addr && items[k].pool == x.pool)
						i = k;
				item_end(i);
			}
			ev = free_event(x.level == PASTA_LEVEL_SEGMENT ? x.type : 0, x.pool, x.addr,
					x.bytes);
			ev.free.device = x.device;
			pasta_ledger_event(ledger, &ev, NULL);
			set_take(ev.time);
			return;
		}
}

static int by_number_and_address(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void merge_pieces(struct item *list, int *n)
{
	int merged = 0;

	qsort(list, (size_t)*n, sizeof(*list), by_number_and_address);
	for (int i = 0; i < *n; i++)
		if (merged && list[merged - 1].number == list[i].number &&
		    list[merged - 1].addr + list[merged - 1].bytes == list[i].addr)
			list[merged - 1].bytes += list[i].bytes;
		else
			list[merged++] = list[i];
	*n = merged;
}

/* Compares the sets. Adjacent pieces of one segment count as one piece. */
static void check_set(enum pasta_ledger_set which, uint32_t level)
{
	static struct item found[ITEMS], expected[ITEMS];
	const struct pasta_allocation *a;
	int n = 0, m = 0;
	size_t at = 0;

	while ((a = pasta_ledger_next(ledger, which, level, &at)))
		found[n++] = (struct item){.number = a->number, .addr = a->addr, .bytes = a->bytes};
	for (int i = 0; which == PASTA_LEDGER_LIVE && i < item_count; i++)
		if (items[i].live &&
		    (level == PASTA_LEVEL_HELD ? items[i].held : items[i].level == level))
			expected[m++] = items[i];
	for (int d = 0; which == PASTA_LEDGER_PEAK && d < DEVICES; d++)
		for (int i = 0; i < sets[d][level].count; i++)
			expected[m++] = sets[d][level].items[i];
	merge_pieces(found, &n);
	merge_pieces(expected, &m);
	assert_property(n == m);
	for (int i = 0; i < n; i++)
		assert_property(found[i].number == expected[i].number &&
				found[i].addr == expected[i].addr &&
				found[i].bytes == expected[i].bytes);
}

static void check_parents(void)
{
	for (int i = 0; i < item_count; i++) {
		const struct item *x = &items[i];
		const struct pasta_allocation *a = NULL, *parent;

		if (!x->live)
			continue;
		a = x->named ? pasta_ledger_get(ledger, 0, x->level, x->number)
			     : pasta_ledger_at(ledger, 0, x->level, x->addr);
		assert_property(a && a->number == x->number && a->addr == x->addr);
		parent = a->parent;
		assert_property(!parent == (x->parent < 0));
		assert_property(!parent || (parent->number == items[x->parent].number &&
					    parent->addr == items[x->parent].addr));
	}
}

static void everything_equals_a_recount(void **state)
{
	(void)state;
	for (int round = 0; round < (support_slow ? 10 : 100); round++) {
		teardown(NULL);
		assert_int_equal(setup(NULL), 0);
		item_count = 0;
		numbers = orders = 0;
		memset(sets, 0, sizeof(sets));
		for (int i = 0; i < EVENTS; i++) {
			if (random_below(5) < 3)
				random_alloc();
			else
				random_free();
			for (uint32_t d = 0; d < DEVICES; d++)
				for (uint32_t level = 0; level < PASTA_LEVEL_COUNT; level++) {
					uint64_t time;

					assert_property(pasta_ledger_live(ledger, 0, d, level) ==
							sets[d][level].live);
					assert_property(
						pasta_ledger_peak(ledger, 0, d, level, &time) ==
						sets[d][level].peak);
					assert_property(time == sets[d][level].time);
				}
			check_parents();
		}
		for (uint32_t level = 0; level < PASTA_LEVEL_COUNT; level++) {
			check_set(PASTA_LEDGER_LIVE, level);
			check_set(PASTA_LEDGER_PEAK, level);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(levels_are_never_added),
		TEST(an_allocation_before_its_parent_is_adopted),
		TEST(mapped_pieces_are_aliases_and_contain),
		TEST(a_mapping_waits_for_its_memory),
		TEST(a_segment_may_be_freed_in_parts),
		TEST(handles_do_not_evict_each_other),
		TEST(memory_of_other_pools_is_of_other_levels),
		TEST(imported_memory_is_the_frameworks),
		TEST(tensors_end_with_their_blocks),
		TEST(an_address_that_is_reused_counts_as_freed),
		TEST(merging_moves_processes),
		TEST(everything_equals_a_recount),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
