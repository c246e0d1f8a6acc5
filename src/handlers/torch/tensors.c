/*
 * tensors.c - assigns unique ids to tensors and storages, although PyTorch reuses their addresses.
 * Two set-associative tables find tensors by the address of their TensorImpl, and storages by the
 * address of their data. Each set of a table has its own lock. A storage ends when its memory is
 * freed, and the storage's tensors end at the same time. The tables have a fixed size: in a full
 * set, a new entry replaces an old one. Each thread caches the tensors that it has used, so that
 * finding them again needs no lock.
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
	const void *data, *impl; /* impl is NULL if no tensor has used the storage yet */
	_Atomic uint64_t id;	 /* 0: the entry is free */
	uint64_t owner;		 /* the id of the first tensor that used the storage */
};

struct storage_set {
	_Atomic uint32_t lock;
	uint32_t next; /* index of the entry that is replaced next */
	struct storage at[STORAGES];
} __attribute__((aligned(128)));

struct tables {
	struct tensor_set tensors[SETS];
	struct storage_set storages[SETS];
};

/* Each set fills two adjacent cache lines, which processors fetch together. */
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
	/* A forked child starts with empty tables, because a lock that another thread holds during
	 * the fork would stay locked in the child. */
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

/* Returns false if another thread holds the lock for a long time, because the program must not wait
 * for the lock. */
static bool set_lock(_Atomic uint32_t *lock)
{
	for (int i = 0; atomic_exchange_explicit(lock, 1, memory_order_acquire); i++) {
		if (i == SPINS)
			return false;
		if (i % 100 == 99)
			sched_yield();
	}
	return true;
}

static void set_unlock(_Atomic uint32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

/* Neighbouring addresses map to neighbouring sets, because allocators go through memory in order.
 */
static inline size_t table_set(const void *address)
{
	uintptr_t a = (uintptr_t)address;

	return ((a >> 6) + (a >> 21) * 0x9e5) & (SETS - 1);
}

/* The hash is a sum of independent products, which the processor computes in parallel. */
static inline uint64_t tensor_layout_hash(const struct pasta_torch_tensor *x)
{
	uint64_t h = ((uint64_t)x->dtype << 32 | (uint64_t)x->device << 16 | x->dims) *
		     UINT64_C(0x8ebc6af09c88c6e3);
	uint64_t factor = UINT64_C(0xd6e8feb86659fd93);
	const int64_t *strides = x->strides ? x->strides : x->shape;

	for (uint32_t i = 0; i < x->dims; i++, factor *= UINT64_C(0x589965cc75374cc3))
		h += (uint64_t)x->shape[i] * factor + (uint64_t)strides[i] * (factor + 2);
	return h;
}

/* Returns a hash of the properties that identify a tensor. If one property differs, the tensor is a
 * different tensor. */
static inline uint32_t tensor_signature(const struct pasta_torch_tensor *x, uint64_t layout)
{
	uint64_t h = layout + (uintptr_t)x->storage * UINT64_C(0x9e3779b97f4a7c15);

	h += (uintptr_t)x->addr * UINT64_C(0xa0761d6478bd642f);
	h += (uintptr_t)x->data * UINT64_C(0xe7037ed1a0b428db);
	return (uint32_t)(h >> 32 ^ h);
}

/* -- Storages -- */

static const _Atomic uint64_t
	/* always 0, which is the storage id of tensors whose storage has no reported end */
	never_ends;

/* A slot is the position of a storage's id, in words from the start of the tables. */
static inline const _Atomic uint64_t *storage_id_in(uint32_t slot)
{
	return slot ? (const _Atomic uint64_t *)tables + slot : &never_ends;
}

static inline uint32_t storage_slot(const struct storage *s)
{
	return (uint32_t)(&s->id - (const _Atomic uint64_t *)tables);
}

static inline bool storage_lives(uint64_t storage, const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed) == storage;
}

/* Returns a free entry of the set, or an entry in use that may be overwritten. The caller holds the
 * set's lock. */
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

static void storage_remove(struct storage_set *set, const void *data)
{
	for (int i = 0; i < STORAGES; i++)
		if (set->at[i].data == data)
			atomic_store_explicit(&set->at[i].id, 0, memory_order_relaxed);
}

void torch_storage_prefetch(const void *data)
{
	__builtin_prefetch(&tables->storages[table_set(data)], 1);
	__builtin_prefetch(&tables->storages[table_set(data)].at[STORAGES - 1].owner, 1);
}

/* Add to the set the memory that the thread has newly allocated. The caller holds the set's
 * lock. */
static struct storage *storage_add_fresh(struct torch_thread *t, struct storage_set *set)
{
	struct storage *s;

	/* an old entry exists if the handler has not seen the free of earlier memory */
	storage_remove(set, t->fresh);
	s = storage_room(set);
	storage_fill(s, torch_id(t), t->fresh);
	t->fresh = NULL;
	return s;
}

void torch_storage_add_fresh(struct torch_thread *t)
{
	struct storage_set *set = &tables->storages[table_set(t->fresh)];

	if (set_lock(&set->lock)) {
		storage_add_fresh(t, set);
		set_unlock(&set->lock);
		return;
	}
	t->fresh = NULL;
	pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
}

void torch_storage_end(const void *data)
{
	struct storage_set *set = &tables->storages[table_set(data)];

	if (!set_lock(&set->lock)) {
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		return;
	}
	storage_remove(set, data);
	set_unlock(&set->lock);
}

static inline bool storage_is_fresh(const struct torch_thread *t,
				    const struct pasta_torch_tensor *x)
{
	return x->data && x->data == t->fresh;
}

/* The storage that a new tensor uses. */
struct claim {
	uint64_t storage, owner; /* `owner` 0: the tensor itself */
	uint32_t slot;
	bool seen; /* whether the handler has seen the allocation of the storage's memory */
};

enum claim_as {
	CLAIM_KNOWN, /* accept only a storage that is in the table */
	CLAIM_ANY,   /* add the storage if it is not in the table */
	CLAIM_ANEW,  /* replace the entry at this address, because the free of its storage was not
			seen */
};

/* Returns the table entry of the tensor's storage. If the storage has no entry, returns an entry
 * for the same memory that no tensor has used yet. If there is no such entry either, returns NULL.
 * The caller holds the set's lock. */
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

/* Find or add the storage of a new tensor, whose id will be `id`. Returns false if `as` is
 * CLAIM_KNOWN and the storage is not in the table, or if the set's lock could not be acquired. */
static bool storage_claim(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t id,
			  enum claim_as as, struct claim *claim)
{
	struct storage_set *set = &tables->storages[table_set(x->data)];
	struct storage *s;

	if (!set_lock(&set->lock))
		return false;
	if (as == CLAIM_ANEW)
		storage_remove(set, x->data);
	s = storage_is_fresh(t, x) ? storage_add_fresh(t, set) : storage_find(set, x);
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
		claim->slot = storage_slot(s);
	}
	set_unlock(&set->lock);
	return s != NULL;
}

/* -- Records of tensors -- */

/* For the dimensions of a tensor, a loop is faster than memcmp, because tensors have few
 * dimensions. */
static inline bool layout_same_dims(const int64_t *a, const int64_t *b, uint32_t dims)
{
	for (uint32_t i = 0; i < dims; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* Returns the Python name of a data type, which differs from its name in PyTorch's C++ code. */
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

static bool layout_matches(const struct torch_layout *l, const struct pasta_torch_tensor *x)
{
	return l->dtype_id && l->dims == x->dims && l->dtype == x->dtype &&
	       l->has_strides == !!x->strides && layout_same_dims(l->shape, x->shape, x->dims) &&
	       (!x->strides || layout_same_dims(l->strides, x->strides, x->dims));
}

/* Returns the interned ids of a tensor's shape, strides and type, from the thread's cache. A tensor
 * with more than TORCH_DIMS dimensions is not cached. The entry that is returned for such a tensor
 * is valid only until the next call. */
static const struct torch_layout *layout_get(struct torch_thread *t,
					     const struct pasta_torch_tensor *x, uint64_t hash)
{
	struct torch_layout *l = &t->layouts[hash >> (64 - TORCH_LAYOUT_BITS)];

	if (x->dims <= TORCH_DIMS && layout_matches(l, x))
		return l;
	l->shape_id = dims_intern(x->shape, x->dims);
	l->strides_id = dims_intern(x->strides, x->dims);
	l->dtype_id = dtype_intern(x->dtype);
	l->dtype = x->dtype;
	l->dims = x->dims; /* more than TORCH_DIMS: never compared */
	l->has_strides = x->strides;
	for (uint32_t i = 0; i < x->dims && i < TORCH_DIMS; i++) {
		l->shape[i] = x->shape[i];
		l->strides[i] = x->strides ? x->strides[i] : 0;
	}
	return l;
}

static void tensor_emit(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t id,
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
	ev->tensor.strides = l->strides_id;
	ev->tensor.dtype = l->dtype_id;
	ev->tensor.device = x->device;
}

/* -- Tensors -- */

static inline uint64_t tensor_touched(const struct torch_tensor *tensor)
{
	return atomic_load_explicit(&tensor->touched, memory_order_relaxed);
}

static inline void tensor_touch(struct torch_tensor *tensor, uint64_t now)
{
	atomic_store_explicit(&tensor->touched, now, memory_order_relaxed);
}

static inline bool tensor_is_alive(const struct torch_tensor *tensor)
{
	return storage_lives(tensor->storage, storage_id_in(tensor->slot));
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
		if (!set->at[i].impl || !tensor_is_alive(&set->at[i]))
			return &set->at[i];
		if (tensor_touched(&set->at[i]) < tensor_touched(oldest))
			oldest = &set->at[i];
	}
	pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	return oldest;
}

/* Returns whether a table entry still describes the tensor. If an operator returns a tensor that
 * was last used before the operator began (`since`), the tensor is new even if its properties are
 * unchanged, because PyTorch has reused the tensor's address. */
static bool tensor_is_same(const struct torch_tensor *tensor, uint32_t signature, uint64_t since)
{
	return tensor && tensor->signature == signature && tensor_touched(tensor) >= since &&
	       tensor_is_alive(tensor);
}

/* Make a table entry for a new tensor. `to` is the entry of an older tensor at the same address,
 * which is overwritten, or NULL. Returns NULL if the tensor's storage cannot be found. The caller
 * holds the set's lock. */
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
	to->slot = claim->slot;
	if (!x->data && x->storage) /* the end of a storage without memory is not reported, so each
				       tensor gets its own storage id */
		claim->storage = torch_id(t);
	return to;
}

/* Find the tensor in the table, or add it. Returns whether the tensor is new and needs a record. */
static bool tensor_add(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t since,
		       uint64_t now, enum claim_as as, struct torch_known *known,
		       struct claim *claim)
{
	struct tensor_set *set = &tables->tensors[table_set(x->impl)];
	struct torch_tensor *tensor;
	bool made = false;

	if (!set_lock(&set->lock))
		return false;
	tensor = tensor_find(set, x->impl);
	if (storage_is_fresh(t, x) || !tensor_is_same(tensor, known->signature, since)) {
		tensor = tensor_make(t, set, tensor, x, as, claim);
		made = tensor != NULL;
	}
	if (tensor) {
		tensor->signature = known->signature;
		tensor_touch(tensor, now);
		known->tensor = tensor;
		known->alive_id = storage_id_in(tensor->slot);
		known->impl = tensor->impl;
		known->id = tensor->id;
		known->storage = tensor->storage;
	}
	set_unlock(&set->lock);
	return made;
}

static inline struct torch_known *known_at(struct torch_thread *t,
					   const struct pasta_torch_tensor *x)
{
	return &t->known[table_set(x->impl) % TORCH_KNOWN];
}

__attribute__((noinline)) static uint64_t
tensor_new(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t since, uint64_t now,
	   struct pasta_batch *b, struct torch_known *known, uint64_t layout)
{
	enum claim_as as = CLAIM_KNOWN;
	struct pasta_torch_tensor base;
	struct claim claim = {0};
	bool made;

	*known = (struct torch_known){.signature = tensor_signature(x, layout)};
	if (since && atomic_load_explicit(&is_blind, memory_order_relaxed))
		as = torch_shim->base(x, &base) ? CLAIM_ANY : CLAIM_ANEW;
	made = tensor_add(t, x, since, now, as, known, &claim);
	if (!made && !known->id) {
		/* the tensor is a view, so its base tensor must be added first */
		if (torch_shim->base(x, &base))
			tensor_new(t, &base, 0, now, b, known_at(t, &base),
				   tensor_layout_hash(&base));
		*known = (struct torch_known){.signature = tensor_signature(x, layout)};
		made = tensor_add(t, x, since, now, CLAIM_ANY, known, &claim);
	}
	if (made)
		tensor_emit(t, x, known->id, &claim, since || (claim.seen && !claim.owner), now,
			    layout, b);
	else if (!known->id)
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	return known->id;
}

void torch_tensor_prefetch(const struct pasta_torch_tensor *x)
{
	struct tensor_set *set = &tables->tensors[table_set(x->impl)];

	__builtin_prefetch(set, 1);
	__builtin_prefetch(&set->at[TENSORS - 1].slot, 1);
}

static inline uint64_t tensor_id(struct torch_thread *t, const struct pasta_torch_tensor *x,
				 uint64_t since, uint64_t now, struct pasta_batch *b)
{
	struct torch_known *known = known_at(t, x);
	uint64_t layout = tensor_layout_hash(x);

	if (known->impl != x->impl || known->signature != tensor_signature(x, layout) ||
	    storage_is_fresh(t, x) ||
	    atomic_load_explicit(&known->tensor->id, memory_order_relaxed) != known->id ||
	    tensor_touched(known->tensor) < since ||
	    !storage_lives(known->storage, known->alive_id))
		return tensor_new(t, x, since, now, b, known, layout);
	tensor_touch(known->tensor, now);
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
