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

/* Neighbours stay neighbours: allocators go through memory in order. */
static inline size_t set_of(const void *address)
{
	uintptr_t a = (uintptr_t)address;

	return ((a >> 6) + (a >> 21) * 0x9e5) & (SETS - 1);
}

/* Products that need not wait for each other. */
static inline uint64_t layout_hash(const struct pasta_torch_tensor *x)
{
	uint64_t h = ((uint64_t)x->dtype << 32 | (uint64_t)x->device << 16 | x->dims) *
		     UINT64_C(0x8ebc6af09c88c6e3);
	uint64_t factor = UINT64_C(0xd6e8feb86659fd93);
	const int64_t *steps = x->steps ? x->steps : x->shape;

	for (uint32_t i = 0; i < x->dims; i++, factor *= UINT64_C(0x589965cc75374cc3))
		h += (uint64_t)x->shape[i] * factor + (uint64_t)steps[i] * (factor + 2);
	return h;
}

/* All that makes it another tensor when it changes. */
static inline uint32_t look_of(const struct pasta_torch_tensor *x, uint64_t layout)
{
	uint64_t h = layout + (uintptr_t)x->storage * UINT64_C(0x9e3779b97f4a7c15);

	h += (uintptr_t)x->addr * UINT64_C(0xa0761d6478bd642f);
	h += (uintptr_t)x->data * UINT64_C(0xe7037ed1a0b428db);
	return (uint32_t)(h >> 32 ^ h);
}

/* -- Storages -- */

static const _Atomic uint64_t nothing; /* where those are that nothing ends */

/* A place is counted in words of the tables. */
static inline const _Atomic uint64_t *storage_id_at(uint32_t place)
{
	return place ? (const _Atomic uint64_t *)tables + place : &nothing;
}

static inline uint32_t place_of(const struct storage *s)
{
	return (uint32_t)(&s->id - (const _Atomic uint64_t *)tables);
}

static inline bool lives(uint64_t storage, const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed) == storage;
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
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
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
static struct storage *storage_settle(struct torch_thread *t, struct storage_set *set)
{
	struct storage *s;

	storage_drop(set, t->fresh); /* that it was freed was not seen */
	s = storage_room(set);
	storage_fill(s, torch_id(t), t->fresh);
	t->fresh = NULL;
	return s;
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
	pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
}

void torch_storage_end(const void *data)
{
	struct storage_set *set = &tables->storages[set_of(data)];

	if (!lock(&set->lock)) {
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
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
	struct storage_set *set = &tables->storages[set_of(x->data)];
	struct storage *s;

	if (!lock(&set->lock))
		return false;
	if (as == CLAIM_ANEW)
		storage_drop(set, x->data);
	s = is_fresh(t, x) ? storage_settle(t, set) : storage_find(set, x);
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
		claim->place = place_of(s);
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

static uint32_t dims_intern(const int64_t *at, uint32_t dims)
{
	return at ? pasta_intern(at, dims * sizeof(*at)) : 0;
}

static bool is_layout(const struct torch_layout *l, const struct pasta_torch_tensor *x)
{
	return l->dtype_id && l->dims == x->dims && l->dtype == x->dtype &&
	       l->has_steps == !!x->steps && same_dims(l->shape, x->shape, x->dims) &&
	       (!x->steps || same_dims(l->steps, x->steps, x->dims));
}

/* The ids of its shape, strides and type, from the thread's or into them. Of one with many
 * dimensions only the ids are kept, for now. */
static const struct torch_layout *layout_get(struct torch_thread *t,
					     const struct pasta_torch_tensor *x, uint64_t hash)
{
	struct torch_layout *l = &t->layouts[hash >> (64 - TORCH_LAYOUT_BITS)];

	if (x->dims <= TORCH_DIMS && is_layout(l, x))
		return l;
	l->shape_id = dims_intern(x->shape, x->dims);
	l->steps_id = dims_intern(x->steps, x->dims);
	l->dtype_id = dtype_intern(x->dtype);
	l->dtype = x->dtype;
	l->dims = x->dims; /* which no other one is compared to where they are many */
	l->has_steps = x->steps;
	for (uint32_t i = 0; i < x->dims && i < TORCH_DIMS; i++) {
		l->shape[i] = x->shape[i];
		l->steps[i] = x->steps ? x->steps[i] : 0;
	}
	return l;
}

static void emit_tensor(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t id,
			const struct claim *claim, bool made, uint64_t now, uint64_t layout,
			struct pasta_batch *b)
{
	const struct torch_layout *l;
	struct pasta_event *ev;

	if (!pasta_agent_records(PASTA_KIND_TENSOR))
		return;
	l = layout_get(t, x, layout);
	ev = pasta_batch_add(b, PASTA_KIND_TENSOR, made ? PASTA_TENSOR_NEW : PASTA_TENSOR_FOUND,
			     PASTA_EVENT_SIZE(tensor));
	ev->time = now;
	ev->tensor.id = id;
	ev->tensor.base = claim->owner;
	ev->tensor.storage = claim->storage;
	ev->tensor.addr = (uintptr_t)x->addr;
	ev->tensor.bytes = x->bytes;
	ev->tensor.shape = l->shape_id;
	ev->tensor.strides = l->steps_id;
	ev->tensor.dtype = l->dtype_id;
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

static inline bool is_alive(const struct torch_tensor *tensor)
{
	return lives(tensor->storage, storage_id_at(tensor->place));
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
		if (!set->at[i].impl || !is_alive(&set->at[i]))
			return &set->at[i];
		if (touched(&set->at[i]) < touched(oldest))
			oldest = &set->at[i];
	}
	pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	return oldest;
}

/* What an operator gives back and neither was given nor made inside it is new, even where all that
 * can be seen of it is as it was: its address is used again. */
static bool is_same(const struct torch_tensor *tensor, uint32_t look, uint64_t since)
{
	return tensor && tensor->look == look && touched(tensor) >= since && is_alive(tensor);
}

/* In a locked set: the tensor is new, where the one before at its address was, or there is room.
 * NULL: its storage could not be told. */
static struct torch_tensor *tensor_make(struct torch_thread *t, struct tensor_set *set,
					struct torch_tensor *to, const struct pasta_torch_tensor *x,
					enum claim_as as, struct claim *claim)
{
	uint64_t id = torch_id(t);

	if (x->data && !storage_claim(t, x, id, as, claim))
		return NULL;
	if (!to)
		to = tensor_room(set);
	to->impl = x->impl;
	atomic_store_explicit(&to->id, id, memory_order_relaxed);
	to->storage = claim->storage;
	to->place = claim->place;
	if (!x->data && x->storage) /* nothing tells when it ends: a storage each */
		claim->storage = torch_id(t);
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
		tensor = tensor_make(t, set, tensor, x, as, claim);
		made = tensor != NULL;
	}
	if (tensor) {
		tensor->look = known->look;
		touch(tensor, now);
		known->tensor = tensor;
		known->lives = storage_id_at(tensor->place);
		known->impl = tensor->impl;
		known->id = tensor->id;
		known->storage = tensor->storage;
	}
	unlock(&set->lock);
	return made;
}

static inline struct torch_known *known_at(struct torch_thread *t,
					   const struct pasta_torch_tensor *x)
{
	return &t->known[set_of(x->impl) % TORCH_KNOWN];
}

__attribute__((noinline)) static uint64_t
tensor_new(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t since, uint64_t now,
	   struct pasta_batch *b, struct torch_known *known, uint64_t layout)
{
	enum claim_as as = CLAIM_KNOWN;
	struct pasta_torch_tensor base;
	struct claim claim = {0};
	bool made;

	*known = (struct torch_known){.look = look_of(x, layout)};
	if (since && atomic_load_explicit(&is_blind, memory_order_relaxed))
		as = torch_shim->base(x, &base) ? CLAIM_ANY : CLAIM_ANEW;
	made = tensor_add(t, x, since, now, as, known, &claim);
	if (!made && !known->id) {
		if (torch_shim->base(x, &base)) /* then that one comes first */
			tensor_new(t, &base, 0, now, b, known_at(t, &base), layout_hash(&base));
		*known = (struct torch_known){.look = look_of(x, layout)};
		made = tensor_add(t, x, since, now, CLAIM_ANY, known, &claim);
	}
	if (made)
		emit_tensor(t, x, known->id, &claim, since || (claim.seen && !claim.owner), now,
			    layout, b);
	else if (!known->id)
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	return known->id;
}

void torch_tensor_soon(const struct pasta_torch_tensor *x)
{
	struct tensor_set *set = &tables->tensors[set_of(x->impl)];

	__builtin_prefetch(set, 1);
	__builtin_prefetch(&set->at[TENSORS - 1].place, 1);
}

static inline uint64_t tensor_id(struct torch_thread *t, const struct pasta_torch_tensor *x,
				 uint64_t since, uint64_t now, struct pasta_batch *b)
{
	struct torch_known *known = known_at(t, x);
	uint64_t layout = layout_hash(x);

	if (known->impl != x->impl || known->look != look_of(x, layout) || is_fresh(t, x) ||
	    atomic_load_explicit(&known->tensor->id, memory_order_relaxed) != known->id ||
	    touched(known->tensor) < since || !lives(known->storage, known->lives))
		return tensor_new(t, x, since, now, b, known, layout);
	touch(known->tensor, now);
	return known->id;
}

void torch_args_add(struct torch_thread *t, struct pasta_batch *b, const struct pasta_torch_op *op,
		    uint32_t from, uint32_t to, uint64_t id, enum pasta_op_arg_sub sub,
		    uint64_t since)
{
	for (uint32_t i = from; i < to; i++) {
		const struct pasta_torch_tensor *x = &op->tensors[i];
		uint64_t tensor = tensor_id(t, x, since, op->time, b);
		struct pasta_event *ev;

		if (!id || !tensor)
			continue;
		ev = pasta_batch_add(b, PASTA_KIND_OP_ARG, sub, PASTA_EVENT_SIZE(op_arg));
		ev->time = op->time;
		ev->op_arg.op = id;
		ev->op_arg.tensor = tensor;
		ev->op_arg.index = x->index;
		ev->op_arg.list = x->list;
	}
}
