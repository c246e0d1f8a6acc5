/*
 * tensors.c - which tensor is which: numbers for addresses that PyTorch uses again.
 *
 * Two tables of sets, each with a lock that is held for a moment: tensors by the address of their
 * TensorImpl, storages by that of their data. A storage ends when its memory is freed, and with it
 * its tensors. Both are bounded: the one that was not used for longest makes room.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/state.h"
#include "handlers/torch/torch.h"

enum { SET_BITS = 14, SETS = 1 << SET_BITS, TENSORS = 5, STORAGES = 6, SPINS = 20000 };

struct tensor {
	const void *impl;
	uint64_t id, storage, look, touched;
	uint32_t place; /* of the storage */
};

struct tensor_set {
	_Atomic uint32_t lock;
	struct tensor at[TENSORS];
} __attribute__((aligned(64)));

struct storage {
	const void *data, *impl; /* impl NULL: no tensor had it yet */
	_Atomic uint64_t id;	 /* 0: there is none here */
	uint64_t owner;		 /* its first tensor */
	uint64_t touched;
};

struct storage_set {
	_Atomic uint32_t lock;
	struct storage at[STORAGES];
} __attribute__((aligned(64)));

struct tables {
	struct tensor_set tensors[SETS];
	struct storage_set storages[SETS];
};

static struct tables *tables;
static _Atomic bool is_blind;

bool torch_tensors_open(void)
{
	if (!tables)
		tables = pasta_memory_new(sizeof(*tables));
	/* A lock that another thread held would stay taken in a child. */
	if (tables && madvise(tables, sizeof(*tables), MADV_WIPEONFORK)) {
		pasta_memory_free(tables, sizeof(*tables));
		tables = NULL;
	}
	return tables != NULL;
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

static inline size_t set_of(const void *address)
{
	return mix(0, (uintptr_t)address >> 4) >> 7 & (SETS - 1);
}

/* All that makes it another tensor when it changes. */
static inline uint64_t look_of(const struct pasta_torch_tensor *x)
{
	uint64_t h = mix((uintptr_t)x->storage, (uintptr_t)x->addr);

	h = mix(h, (uint64_t)x->dtype << 32 | (uint64_t)x->device << 16 | x->dims);
	h = mix(h, (uintptr_t)x->data);
	for (uint32_t i = 0; i < x->dims; i++)
		h = mix(h, (uint64_t)x->shape[i]);
	for (uint32_t i = 0; x->steps && i < x->dims; i++)
		h = mix(h, (uint64_t)x->steps[i]);
	return h;
}

/* -- Storages -- */

static struct storage *storage_at(uint32_t place)
{
	return &tables->storages[place / STORAGES].at[place % STORAGES];
}

static bool lives(const struct tensor *tensor)
{
	return !tensor->storage ||
	       atomic_load_explicit(&storage_at(tensor->place)->id, memory_order_relaxed) ==
		       tensor->storage;
}

/* In a locked set: a free place, or that of the one that was not used for longest. */
static struct storage *storage_room(struct storage_set *set)
{
	struct storage *oldest = &set->at[0];

	for (int i = 0; i < STORAGES; i++) {
		if (!set->at[i].id)
			return &set->at[i];
		if (set->at[i].touched < oldest->touched)
			oldest = &set->at[i];
	}
	if (oldest->impl)
		pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
	return oldest;
}

static void storage_fill(struct storage *s, uint64_t id, const void *data, uint64_t now)
{
	s->data = data;
	s->impl = NULL;
	s->owner = 0;
	s->touched = now;
	atomic_store_explicit(&s->id, id, memory_order_relaxed);
}

static void storage_drop(struct storage_set *set, const void *data)
{
	for (int i = 0; i < STORAGES; i++)
		if (set->at[i].data == data)
			atomic_store_explicit(&set->at[i].id, 0, memory_order_relaxed);
}

void torch_storage_begin(struct torch_thread *t, const void *data, uint64_t now)
{
	struct storage_set *set = &tables->storages[set_of(data)];

	if (!lock(&set->lock)) {
		pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
		return;
	}
	storage_drop(set, data); /* that it was freed was not seen */
	storage_fill(storage_room(set), torch_id(t), data, now);
	unlock(&set->lock);
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

/* What is known of a new tensor's storage. */
struct claim {
	uint64_t storage, owner; /* owner 0: the tensor itself */
	uint32_t place;
	bool seen; /* its memory was given out before our eyes */
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

static bool storage_known(const struct pasta_torch_tensor *x)
{
	struct storage_set *set = &tables->storages[set_of(x->data)];
	bool known;

	if (!lock(&set->lock))
		return true;
	known = storage_find(set, x) != NULL;
	unlock(&set->lock);
	return known;
}

/* Find or make the storage of a tensor that will have this id. anew: what is known of it is of
 * another one, which is gone. */
static bool storage_claim(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t id,
			  bool anew, uint64_t now, struct claim *claim)
{
	struct storage_set *set = &tables->storages[set_of(x->data)];
	struct storage *s;

	if (!lock(&set->lock))
		return false;
	if (anew)
		storage_drop(set, x->data);
	s = storage_find(set, x);
	claim->seen = s != NULL;
	if (!s) {
		s = storage_room(set);
		storage_fill(s, torch_id(t), x->data, now);
	}
	if (!s->impl) {
		s->impl = x->storage;
		s->owner = id;
	}
	s->touched = now;
	claim->storage = s->id;
	claim->owner = s->owner == id ? 0 : s->owner;
	claim->place = (uint32_t)((size_t)(set - tables->storages) * STORAGES) +
		       (uint32_t)(s - set->at);
	unlock(&set->lock);
	return true;
}

/* -- Their events -- */

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
	if (known->id && known->dims == dims && !memcmp(known->at, at, dims * sizeof(*at)))
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
		{"Byte", "uint8"},	       {"Char", "int8"},
		{"Short", "int16"},	       {"Int", "int32"},
		{"Long", "int64"},	       {"Half", "float16"},
		{"Float", "float32"},	       {"Double", "float64"},
		{"ComplexHalf", "complex32"},  {"ComplexFloat", "complex64"},
		{"ComplexDouble", "complex128"}, {"Bool", "bool"},
		{"BFloat16", "bfloat16"},      {"QInt8", "qint8"},
		{"QUInt8", "quint8"},	       {"QInt32", "qint32"},
		{"QUInt4x2", "quint4x2"},      {"QUInt2x4", "quint2x4"},
		{"UInt16", "uint16"},	       {"UInt32", "uint32"},
		{"UInt64", "uint64"},	       {"Float8_e5m2", "float8_e5m2"},
		{"Float8_e4m3fn", "float8_e4m3fn"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return name;
}

static uint32_t dtype_id(struct torch_thread *t, uint8_t dtype)
{
	uint32_t *id = &t->dtypes[dtype % TORCH_DTYPES];

	if (dtype >= TORCH_DTYPES)
		return pasta_intern_str(dtype_text(torch_shim->dtype(dtype)));
	if (!*id)
		*id = pasta_intern_str(dtype_text(torch_shim->dtype(dtype)));
	return *id;
}

static void emit_tensor(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t id,
			const struct claim *claim, bool made, uint64_t now)
{
	struct pasta_event ev;

	if (!pasta_agent_wants(PASTA_TENSOR))
		return;
	pasta_event_init(&ev, PASTA_TENSOR, made ? PASTA_TENSOR_NEW : PASTA_TENSOR_FOUND,
			 PASTA_EVENT_SIZE(tensor));
	ev.time = now;
	ev.tensor.id = id;
	ev.tensor.base = claim->owner;
	ev.tensor.storage = claim->storage;
	ev.tensor.addr = (uintptr_t)x->addr;
	ev.tensor.bytes = x->bytes;
	ev.tensor.shape = shape_id(t, x->shape, x->dims);
	ev.tensor.strides = shape_id(t, x->steps, x->dims);
	ev.tensor.dtype = dtype_id(t, x->dtype);
	ev.tensor.device = x->device;
	pasta_emit(&ev);
}

/* -- Tensors -- */

static struct tensor *tensor_find(struct tensor_set *set, const void *impl)
{
	for (int i = 0; i < TENSORS; i++)
		if (set->at[i].impl == impl)
			return &set->at[i];
	return NULL;
}

static struct tensor *tensor_room(struct tensor_set *set)
{
	struct tensor *oldest = &set->at[0];

	for (int i = 0; i < TENSORS; i++) {
		if (!set->at[i].impl || !lives(&set->at[i]))
			return &set->at[i];
		if (set->at[i].touched < oldest->touched)
			oldest = &set->at[i];
	}
	pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
	return oldest;
}

/* What an operator gives back and neither was given nor made inside it is new, even where all that
 * can be seen of it is as it was: its address is used again. */
static bool is_same(const struct tensor *tensor, uint64_t look, uint64_t since)
{
	return tensor && tensor->look == look && tensor->touched >= since && lives(tensor);
}

/* In a locked set. False: its storage could not be told. */
static bool tensor_make(struct torch_thread *t, struct tensor_set *set, struct tensor *to,
			const struct pasta_torch_tensor *x, uint64_t look, bool anew, uint64_t now,
			struct claim *claim)
{
	uint64_t id = torch_id(t);

	if (x->data && !storage_claim(t, x, id, anew, now, claim))
		return false;
	if (!x->data && x->storage) /* nothing tells when it ends: a storage each */
		claim->storage = torch_id(t);
	if (!to)
		to = tensor_room(set);
	*to = (struct tensor){
		.impl = x->impl,
		.id = id,
		.storage = x->data ? claim->storage : 0,
		.look = look,
		.touched = now,
		.place = claim->place,
	};
	return true;
}

__attribute__((noinline)) static uint64_t
tensor_new(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t look,
	   uint64_t since, uint64_t now)
{
	struct tensor_set *set = &tables->tensors[set_of(x->impl)];
	struct pasta_torch_tensor base;
	struct claim claim = {0};
	struct tensor *tensor;
	bool anew = false, made = false;
	uint64_t id = 0;

	if (since && atomic_load_explicit(&is_blind, memory_order_relaxed))
		anew = !torch_shim->base(x, &base);
	else if (x->data && !storage_known(x) && torch_shim->base(x, &base))
		torch_tensor_id(t, &base, 0, now);
	if (!lock(&set->lock)) {
		pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
		return 0;
	}
	tensor = tensor_find(set, x->impl);
	if (is_same(tensor, look, since)) { /* another thread was faster */
		id = tensor->id;
	} else if (tensor_make(t, set, tensor, x, look, anew, now, &claim)) {
		id = tensor ? tensor->id : tensor_find(set, x->impl)->id;
		made = true;
	}
	unlock(&set->lock);
	if (made)
		emit_tensor(t, x, id, &claim, since || (claim.seen && !claim.owner), now);
	else if (!id)
		pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
	return id;
}

uint64_t torch_tensor_id(struct torch_thread *t, const struct pasta_torch_tensor *x, uint64_t since,
			 uint64_t now)
{
	struct tensor_set *set = &tables->tensors[set_of(x->impl)];
	uint64_t look = look_of(x), id = 0;
	struct tensor *tensor;

	if (lock(&set->lock)) {
		tensor = tensor_find(set, x->impl);
		if (is_same(tensor, look, since)) {
			id = tensor->id;
			tensor->touched = now;
		}
		unlock(&set->lock);
	}
	return id ? id : tensor_new(t, x, look, since, now);
}
