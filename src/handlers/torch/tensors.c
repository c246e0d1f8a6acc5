/*
 * tensors.c - which tensor is which: numbers for addresses that PyTorch uses again.
 *
 * Two tables of sets, each with a lock that is held for a moment: tensors by the address of their
 * TensorImpl, storages by that of their data. A storage ends when its memory is freed, and with it
 * its tensors. Both are bounded: an old one makes room for a new one. Threads remember the
 * tensors that they used, so that those take no lock.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/state.h"
#include "handlers/torch/torch.h"

enum { SETS = 1 << 15, TENSORS = 3, STORAGES = 3, SPINS = 20000, HUGE = 2 << 20 };

struct tensor_set {
	_Atomic uint32_t lock;
	_Atomic uint32_t version; /* changes with any of its tensors */
	struct torch_tensor at[TENSORS];
} __attribute__((aligned(128)));

struct storage {
	const void *data, *impl; /* impl NULL: no tensor had it yet */
	_Atomic uint64_t id;	 /* 0: there is none here */
	uint64_t owner;		 /* its first tensor */
};

struct storage_set {
	_Atomic uint32_t lock;
	uint32_t next; /* to make room */
	struct storage at[STORAGES];
} __attribute__((aligned(128)));

struct tables {
	struct tensor_set tensors[SETS];
	struct storage_set storages[SETS];
};

/* Two lines of the cache each, which processors fetch together. */
_Static_assert(sizeof(struct tensor_set) == 128 && sizeof(struct storage_set) == 128, "a set");

static struct tables *tables;
static _Atomic bool is_blind;

bool torch_tensors_open(void)
{
	size_t size = sizeof(*tables) + HUGE;
	char *p = tables ? NULL : pasta_memory_new(size);

	if (tables)
		return true;
	if (!p)
		return false;
	/* A lock that another thread held would stay taken in a child. */
	if (madvise(p, size, MADV_WIPEONFORK)) {
		pasta_memory_free(p, size);
		return false;
	}
	tables = (void *)(((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	madvise(tables, sizeof(*tables), MADV_HUGEPAGE);
	return true;
}

void torch_tensors_blind(void)
{
	atomic_store_explicit(&is_blind, true, memory_order_relaxed);
}

/* False: whoever has it does not let go; nothing waits for long in the program. */
static bool lock(_Atomic uint32_t *lock)
{
	for (int i = 0; atomic_exchange_explicit(lock, 1, memory_order_acquire); i++) {
		if (i == SPINS)
			return false;
		if (i % 100 == 99)
			sched_yield();
	}
	return true;
}

static void unlock(_Atomic uint32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Neighbours stay neighbours: allocators go through memory in order. */
static inline size_t set_of(const void *address)
{
	uintptr_t a = (uintptr_t)address;

	return ((a >> 6) + (a >> 21) * 0x9e5) & (SETS - 1);
}

/* All that makes it another tensor when it changes. Products that need not wait for each other. */
static inline uint32_t look_of(const struct pasta_torch_tensor *x)
{
	uint64_t h = (uintptr_t)x->storage * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t factor = UINT64_C(0xd6e8feb86659fd93);

	h += (uintptr_t)x->addr * UINT64_C(0xa0761d6478bd642f);
	h += (uintptr_t)x->data * UINT64_C(0xe7037ed1a0b428db);
	h += ((uint64_t)x->dtype << 32 | (uint64_t)x->device << 16 | x->dims) *
	     UINT64_C(0x8ebc6af09c88c6e3);
	for (uint32_t i = 0; i < x->dims; i++, factor *= UINT64_C(0x589965cc75374cc3)) {
		h += (uint64_t)x->shape[i] * factor;
		if (x->steps)
			h += (uint64_t)x->steps[i] * (factor + 2);
	}
	return (uint32_t)mix(h, 0);
}

/* -- Storages -- */

static struct storage *storage_at(uint32_t place)
{
	return &tables->storages[place / STORAGES].at[place % STORAGES];
}

static inline bool lives(uint64_t storage, uint32_t place)
{
	return !storage ||
	       atomic_load_explicit(&storage_at(place)->id, memory_order_relaxed) == storage;
}

/* In a locked set: a free place, or one that is taken from another. */
static struct storage *storage_room(struct storage_set *set)
{
	struct storage *s;

	for (int i = 0; i < STORAGES; i++)
		if (!set->at[i].id)
			return &set->at[i];
	s = &set->at[set->next++ % STORAGES];
	if (s->impl)
		pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
	return s;
}

static void storage_fill(struct storage *s, uint64_t id, const void *data)
{
	s->data = data;
	s->impl = NULL;
	s->owner = 0;
	atomic_store_explicit(&s->id, id, memory_order_relaxed);
}

static void storage_drop(struct storage_set *set, const void *data)
{
	for (int i = 0; i < STORAGES; i++)
		if (set->at[i].data == data)
			atomic_store_explicit(&set->at[i].id, 0, memory_order_relaxed);
}

void torch_storage_soon(const void *data)
{
	__builtin_prefetch(&tables->storages[set_of(data)], 1);
	__builtin_prefetch(&tables->storages[set_of(data)].at[STORAGES - 1].owner, 1);
}

/* In a locked set: its memory is the thread's fresh one. */
static void storage_settle(struct torch_thread *t, struct storage_set *set)
{
	storage_drop(set, t->fresh); /* that it was freed was not seen */
	storage_fill(storage_room(set), torch_id(t), t->fresh);
	t->fresh = NULL;
}

void torch_storage_settle(struct torch_thread *t)
{
	struct storage_set *set = &tables->storages[set_of(t->fresh)];

	if (lock(&set->lock)) {
		storage_settle(t, set);
		unlock(&set->lock);
		return;
	}
	t->fresh = NULL;
	pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
}

void torch_storage_end(const void *data)
{
	struct storage_set *set = &tables->storages[set_of(data)];

	if (!lock(&set->lock)) {
		pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
		return;
	}
	storage_drop(set, data);
	unlock(&set->lock);
}

static inline bool is_fresh(const struct torch_thread *t, const struct pasta_torch_tensor *x)
{
	return x->data && x->data == t->fresh;
}

/* What is known of a new tensor's storage. */
struct claim {
	uint64_t storage, owner; /* owner 0: the tensor itself */
	uint32_t place;
	bool seen; /* its memory was given out before our eyes */
};

enum claim_as {
	CLAIM_KNOWN, /* only if it is known */
	CLAIM_ANY,
	CLAIM_ANEW, /* what is known there is of another one, which is gone */
};

/* In a locked set: the storage of these data, or of the place that waits for its first tensor. */
static struct storage *storage_find(struct storage_set *set, const struct pasta_torch_tensor *x)
{
	struct storage *waits = NULL;

	for (int i = 0; i < STORAGES; i++) {
		struct storage *s = &set->at[i];

		if (!s->id || s->data != x->data)
			continue;
		if (s->impl == x->storage)
			return s;
		if (!s->impl)
			waits = s;
	}
	return waits;
}

/* Find or make the storage of a tensor that will have this id. */
static bool storage_claim(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t id,
			  enum claim_as as, struct claim *claim)
{
	size_t at = set_of(x->data);
	struct storage_set *set = &tables->storages[at];
	struct storage *s;

	if (!lock(&set->lock))
		return false;
	if (is_fresh(t, x))
		storage_settle(t, set);
	if (as == CLAIM_ANEW)
		storage_drop(set, x->data);
	s = storage_find(set, x);
	claim->seen = s != NULL;
	if (!s && as != CLAIM_KNOWN) {
		s = storage_room(set);
		storage_fill(s, torch_id(t), x->data);
	}
	if (s) {
		if (!s->impl) {
			s->impl = x->storage;
			s->owner = id;
		}
		claim->storage = s->id;
		claim->owner = s->owner == id ? 0 : s->owner;
		claim->place = (uint32_t)(at * STORAGES) + (uint32_t)(s - set->at);
	}
	unlock(&set->lock);
	return s != NULL;
}

/* -- Their events -- */

/* A handful: no call. */
static inline bool same_dims(const int64_t *a, const int64_t *b, uint32_t dims)
{
	for (uint32_t i = 0; i < dims; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static uint32_t shape_id(struct torch_thread *t, const int64_t *at, uint32_t dims)
{
	struct torch_shape *known;
	uint64_t h = dims;

	if (!at)
		return 0;
	if (dims > TORCH_DIMS)
		return pasta_intern(at, dims * sizeof(*at));
	for (uint32_t i = 0; i < dims; i++)
		h = mix(h, (uint64_t)at[i]);
	known = &t->shapes[h % TORCH_SHAPES];
	if (known->id && known->dims == dims && same_dims(known->at, at, dims))
		return known->id;
	memcpy(known->at, at, dims * sizeof(*at));
	known->dims = dims;
	known->id = pasta_intern(at, dims * sizeof(*at));
	return known->id;
}

/* PyTorch's C++ and its Python call types by different names; people know the latter. */
static const char *dtype_text(const char *name)
{
	static const char *const names[][2] = {
		{"Byte", "uint8"},
		{"Char", "int8"},
		{"Short", "int16"},
		{"Int", "int32"},
		{"Long", "int64"},
		{"Half", "float16"},
		{"Float", "float32"},
		{"Double", "float64"},
		{"ComplexHalf", "complex32"},
		{"ComplexFloat", "complex64"},
		{"ComplexDouble", "complex128"},
		{"Bool", "bool"},
		{"BFloat16", "bfloat16"},
		{"QInt8", "qint8"},
		{"QUInt8", "quint8"},
		{"QInt32", "qint32"},
		{"QUInt4x2", "quint4x2"},
		{"QUInt2x4", "quint2x4"},
		{"UInt16", "uint16"},
		{"UInt32", "uint32"},
		{"UInt64", "uint64"},
		{"Float8_e5m2", "float8_e5m2"},
		{"Float8_e4m3fn", "float8_e4m3fn"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return name;
}

static uint32_t dtype_intern(uint8_t dtype)
{
	const char *text = dtype_text(torch_shim->dtype(dtype));

	return pasta_intern(text, strlen(text));
}

static uint32_t dtype_id(struct torch_thread *t, uint8_t dtype)
{
	uint32_t *id = &t->dtypes[dtype % TORCH_DTYPES];

	if (dtype >= TORCH_DTYPES)
		return dtype_intern(dtype);
	if (!*id)
		*id = dtype_intern(dtype);
	return *id;
}

static void emit_tensor(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t id,
			const struct claim *claim, bool made, uint64_t now, struct pasta_batch *b)
{
	struct pasta_event *ev;

	if (!pasta_agent_wants(PASTA_TENSOR))
		return;
	ev = pasta_batch_add(b, PASTA_TENSOR, made ? PASTA_TENSOR_NEW : PASTA_TENSOR_FOUND,
			     PASTA_EVENT_SIZE(tensor));
	ev->time = now;
	ev->tensor.id = id;
	ev->tensor.base = claim->owner;
	ev->tensor.storage = claim->storage;
	ev->tensor.addr = (uintptr_t)x->addr;
	ev->tensor.bytes = x->bytes;
	ev->tensor.shape = shape_id(t, x->shape, x->dims);
	ev->tensor.strides = shape_id(t, x->steps, x->dims);
	ev->tensor.dtype = dtype_id(t, x->dtype);
	ev->tensor.device = x->device;
}

/* -- Tensors -- */

static inline uint64_t touched(const struct torch_tensor *tensor)
{
	return atomic_load_explicit(&tensor->touched, memory_order_relaxed);
}

static inline void touch(struct torch_tensor *tensor, uint64_t now)
{
	atomic_store_explicit(&tensor->touched, now, memory_order_relaxed);
}

static struct torch_tensor *tensor_find(struct tensor_set *set, const void *impl)
{
	for (int i = 0; i < TENSORS; i++)
		if (set->at[i].impl == impl)
			return &set->at[i];
	return NULL;
}

static struct torch_tensor *tensor_room(struct tensor_set *set)
{
	struct torch_tensor *oldest = &set->at[0];

	for (int i = 0; i < TENSORS; i++) {
		if (!set->at[i].impl || !lives(set->at[i].storage, set->at[i].place))
			return &set->at[i];
		if (touched(&set->at[i]) < touched(oldest))
			oldest = &set->at[i];
	}
	pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
	return oldest;
}

/* What an operator gives back and neither was given nor made inside it is new, even where all that
 * can be seen of it is as it was: its address is used again. */
static bool is_same(const struct torch_tensor *tensor, uint32_t look, uint64_t since)
{
	return tensor && tensor->look == look && touched(tensor) >= since &&
	       lives(tensor->storage, tensor->place);
}

/* In a locked set: the tensor is new. NULL: its storage could not be told. */
static struct torch_tensor *tensor_make(struct torch_thread *t, struct tensor_set *set,
					const struct pasta_torch_tensor *x, enum claim_as as,
					struct claim *claim)
{
	struct torch_tensor *to = tensor_find(set, x->impl);
	uint64_t id = torch_id(t);

	if (x->data && !storage_claim(t, x, id, as, claim))
		return NULL;
	if (!x->data && x->storage) /* nothing tells when it ends: a storage each */
		claim->storage = torch_id(t);
	if (!to)
		to = tensor_room(set);
	to->impl = x->impl;
	to->id = id;
	to->storage = x->data ? claim->storage : 0;
	to->place = claim->place;
	atomic_store_explicit(&set->version, /* only who has the lock stores it */
			      atomic_load_explicit(&set->version, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	return to;
}

/* What the table has of the tensor, or gets. True: it is new, and to be told. */
static bool tensor_add(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t since,
		       uint64_t now, enum claim_as as, struct torch_known *known,
		       struct claim *claim)
{
	struct tensor_set *set = &tables->tensors[set_of(x->impl)];
	struct torch_tensor *tensor;
	bool made = false;

	if (!lock(&set->lock))
		return false;
	tensor = tensor_find(set, x->impl);
	if (is_fresh(t, x) || !is_same(tensor, known->look, since)) {
		tensor = tensor_make(t, set, x, as, claim);
		made = tensor != NULL;
	}
	if (tensor) {
		tensor->look = known->look;
		touch(tensor, now);
		known->tensor = tensor;
		known->impl = tensor->impl;
		known->id = tensor->id;
		known->storage = tensor->storage;
		known->place = tensor->place;
		known->version = atomic_load_explicit(&set->version, memory_order_relaxed);
	}
	unlock(&set->lock);
	return made;
}

__attribute__((noinline)) static uint64_t
tensor_new(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t since, uint64_t now,
	   struct pasta_batch *b, struct torch_known *known, uint32_t look)
{
	enum claim_as as = CLAIM_KNOWN;
	struct pasta_torch_tensor base;
	struct claim claim = {0};
	bool made;

	*known = (struct torch_known){.look = look};
	if (since && atomic_load_explicit(&is_blind, memory_order_relaxed))
		as = torch_shim->base(x, &base) ? CLAIM_ANY : CLAIM_ANEW;
	made = tensor_add(t, x, since, now, as, known, &claim);
	if (!made && !known->id) {
		if (torch_shim->base(x, &base)) /* then that one comes first */
			torch_tensor_id(t, &base, 0, now, b);
		*known = (struct torch_known){.look = look};
		made = tensor_add(t, x, since, now, CLAIM_ANY, known, &claim);
	}
	if (made)
		emit_tensor(t, x, known->id, &claim, since || (claim.seen && !claim.owner), now, b);
	else if (!known->id)
		pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
	return known->id;
}

void torch_tensor_soon(const struct pasta_torch_tensor *x)
{
	struct tensor_set *set = &tables->tensors[set_of(x->impl)];

	__builtin_prefetch(set, 1);
	__builtin_prefetch(&set->at[TENSORS - 1].place, 1);
}

uint64_t torch_tensor_id(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t since,
			 uint64_t now, struct pasta_batch *b)
{
	size_t at = set_of(x->impl);
	struct torch_known *known = &t->known[at % TORCH_KNOWN];
	uint32_t look = look_of(x);

	if (known->impl != x->impl || is_fresh(t, x) || known->look != look ||
	    touched(known->tensor) < since ||
	    known->version !=
		    atomic_load_explicit(&tables->tensors[at].version, memory_order_relaxed) ||
	    !lives(known->storage, known->place))
		return tensor_new(t, x, since, now, b, known, look);
	touch(known->tensor, now);
	return known->id;
}
