/*
 * shim.cpp - reports PyTorch's operators, tensors and memory to the agent through a C interface.
 *
 * python/accelprof/_torch.py compiles this file on the machine where the program runs, once for
 * each installed PyTorch. If PASTA_TORCH_CUDA is defined, the shim also reports segments of device
 * memory.
 */
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#ifdef PASTA_TORCH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#endif

#include <cstdio>
#include <exception>
#include <memory>

#include "handlers/torch/shim.h"
#include "handlers/torch/shimvalues.hpp"

namespace
{

using torch::profiler::impl::ActiveProfilerType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;
using torch::profiler::impl::ProfilerStateBase;

constexpr uint32_t kPart = 32; /* maximum number of tensors reported in one call */

pasta_torch_agent agent;

uint16_t device_number(c10::Device device)
{
	if (device.is_cpu())
		return 0;
	return static_cast<uint16_t>((device.has_index() ? device.index() : 0) + 1);
}

/* -- Memory -- */

#ifdef PASTA_TORCH_CUDA
void on_trace(const c10::cuda::CUDACachingAllocator::TraceEntry &entry)
{
	using Entry = c10::cuda::CUDACachingAllocator::TraceEntry;
	pasta_torch_memory m{};

	if (entry.action_ == Entry::SEGMENT_ALLOC || entry.action_ == Entry::SEGMENT_MAP)
		m.bytes = static_cast<int64_t>(entry.size_);
	else if (entry.action_ == Entry::SEGMENT_FREE || entry.action_ == Entry::SEGMENT_UNMAP)
		m.bytes = -static_cast<int64_t>(entry.size_);
	else
		return;
	m.addr = reinterpret_cast<const void *>(entry.addr_);
	m.device = static_cast<uint32_t>(entry.device_) + 1;
	agent.segment(&m);
}

void report_segments()
{
	for (const auto &segment : c10::cuda::CUDACachingAllocator::snapshot().segments) {
		pasta_torch_memory m{};

		m.addr = reinterpret_cast<const void *>(segment.address);
		m.bytes = static_cast<int64_t>(segment.total_size);
		m.device = static_cast<uint32_t>(segment.device) + 1;
		agent.segment(&m);
	}
}

/* PyTorch's allocator has no devices before CUDA is initialized, so this function is called only
 * after the first report of device memory. The allocator that uses cudaMallocAsync has no segments,
 * and throws an exception. */
void watch_segments()
{
	static const bool once = [] {
		try {
			c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(on_trace);
			report_segments();
		} catch (const std::exception &) {
			return false;
		}
		return true;
	}();
	(void)once;
}
std::atomic<bool> has_device{false};
#endif

/* Receives PyTorch's memory reports. PyTorch expects a ProfilerStateBase in its profiler slot, so
 * this class is derived from ProfilerStateBase, with profiling disabled. */
class Reports final : public ProfilerStateBase
{
      public:
	Reports() : ProfilerStateBase(ProfilerConfig(ProfilerState::Disabled))
	{
	}

	/* Older versions of PyTorch pass signed totals. Depending on the version, one of these two
	 * functions overrides PyTorch's function. */
	void reportMemoryUsage(void *ptr, int64_t bytes, size_t allocated, size_t reserved,
			       c10::Device device)
	{
		report(ptr, bytes, allocated, reserved, device);
	}
	void reportMemoryUsage(void *ptr, int64_t bytes, int64_t allocated, int64_t reserved,
			       c10::Device device)
	{
		report(ptr, bytes, static_cast<uint64_t>(allocated),
		       static_cast<uint64_t>(reserved), device);
	}
	bool memoryProfilingEnabled() const override
	{
		return true;
	}
	ActiveProfilerType profilerType() override
	{
		return ActiveProfilerType::NONE;
	}

      private:
	static void report(void *ptr, int64_t bytes, uint64_t allocated, uint64_t reserved,
			   c10::Device device)
	{
		const pasta_torch_memory m{ptr, bytes, allocated, reserved, device_number(device)};

#ifdef PASTA_TORCH_CUDA
		if (m.device)
			has_device.store(true, std::memory_order_relaxed);
#endif
		agent.memory(&m);
	}
};

/* The object is never freed, because threads refer to it until they end. */
const std::shared_ptr<Reports> &reports()
{
	static auto *made = new std::shared_ptr<Reports>(std::make_shared<Reports>());

	return *made;
}
Reports *ours;

/* Occupy the calling thread's profiler slot if it is free. */
inline void acquire_slot()
{
	if (!(agent.records & (PASTA_TORCH_TENSORS | PASTA_TORCH_MEMORY)))
		return;
	auto *current = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);

	if (C10_LIKELY(current == ours))
		return;
	if (current)
		agent.blind();
	else
		c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, reports());
}

/* The profiler slot is a stack. The shim's entry can be removed only while this entry is on top. */
void release_slot()
{
	try {
		if (ours &&
		    c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) == ours)
			c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
	} catch (...) {
		agent.blind();
	}
}

/* -- Tensors -- */

inline bool read_tensor(const at::TensorBase &tensor, pasta_torch_tensor *to)
{
	const auto *impl = tensor.unsafeGetTensorImpl();

	if (!tensor.defined())
		return false;
	const auto shape = impl->sizes();
	to->impl = impl;
	to->shape = shape.data();
	to->dims = static_cast<uint32_t>(shape.size());
	to->dtype = static_cast<uint8_t>(tensor.scalar_type());
	to->device = device_number(impl->device());
	to->storage = to->data = to->addr = nullptr;
	to->strides = nullptr;
	to->bytes = 0;
	if (!impl->has_storage())
		return true;
	const auto *storage = impl->unsafe_storage().unsafeGetStorageImpl();
	to->strides = impl->strides().data();
	to->storage = storage;
	to->data = storage->data_ptr().get();
	to->bytes = storage->nbytes();
	if (to->data)
		to->addr = static_cast<const char *>(to->data) +
			   impl->storage_offset() * static_cast<int64_t>(impl->itemsize());
	return true;
}

/* Collects an operator's tensors, and reports them in groups of at most kPart. */
class Tensors
{
      public:
	Tensors(pasta_torch_op *op, void (*report)(pasta_torch_op *)) : op_(op), report_(report)
	{
		op->tensors = tensors_;
	}

	void add(const c10::IValue &value, uint32_t index)
	{
		if (value.isTensor())
			add_one(value.toTensor(), index, 0);
		else if (value.isList())
			add_list(value.toListRef(), index);
	}
	void done()
	{
		op_->more = 0;
		report_(op_);
	}

      private:
	void add_list(c10::ArrayRef<c10::IValue> list, uint32_t index)
	{
		uint32_t at = 0;

		for (const auto &value : list) {
			if (value.isTensor())
				add_one(value.toTensor(), index, at);
			else if (!value.isNone())
				return;
			at++;
		}
	}

	/* Tensors of some types have no shape: reading the shape throws an exception. */
	void add_one(const at::Tensor &tensor, uint32_t index, uint32_t list)
	{
		pasta_torch_tensor *to = &tensors_[op_->count];

		try {
			if (!read_tensor(tensor, to))
				return;
		} catch (...) {
			agent.dropped(1);
			return;
		}
		to->index = index;
		to->list = list;
		if (++op_->count < kPart)
			return;
		op_->more = 1;
		report_(op_);
		op_->count = 0;
	}

	pasta_torch_op *op_;
	void (*report_)(pasta_torch_op *);
	pasta_torch_tensor tensors_[kPart];
};

int base_of(const pasta_torch_tensor *tensor, pasta_torch_tensor *base)
{
	try {
		auto *impl = static_cast<c10::TensorImpl *>(const_cast<void *>(tensor->impl));
		const auto self = at::Tensor::wrap_tensor_impl(
			c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(
				impl));

		return self.is_view() && read_tensor(self._base(), base);
	} catch (...) {
		return 0;
	}
}

const char *dtype_name(uint8_t dtype)
{
	return c10::toString(static_cast<c10::ScalarType>(dtype));
}

/* -- Operators -- */

inline void fill(pasta_torch_op *op, const at::RecordFunction &fn)
{
	op->key = &fn;
	op->count = 0;
	op->more = 0;
	op->tensors = nullptr;
	op->time = op->id = 0;
	op->values = nullptr;
	op->value_count = op->values_hash = 0;
}

template <typename List> void fill_values(pasta_torch_op *op, const List &values)
{
	try {
		op->values_hash = hash_values(values);
		op->values = values.data();
		op->value_count = values.size();
	} catch (...) { /* the operator is recorded without descriptions */
	}
}

inline uint16_t scope_of(at::RecordScope scope)
{
	switch (scope) {
	case at::RecordScope::BACKWARD_FUNCTION:
		return PASTA_TORCH_BACKWARD;
	case at::RecordScope::USER_SCOPE:
		return PASTA_TORCH_USER;
	default:
		return PASTA_TORCH_FUNCTION;
	}
}

template <bool values, bool tensors>
std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction &fn)
{
	pasta_torch_op op;

	acquire_slot();
#ifdef PASTA_TORCH_CUDA
	if (has_device.load(std::memory_order_relaxed))
		watch_segments();
#endif
	fill(&op, fn);
	op.name = fn.name();
	op.seq = fn.seqNr();
	op.thread = fn.threadId();
	op.forward = fn.forwardThreadId();
	op.scope = scope_of(fn.scope());
	if (values && op.scope != PASTA_TORCH_USER)
		fill_values(&op, fn.inputs());
	if (!tensors) {
		agent.begin(&op);
		return nullptr;
	}
	Tensors all(&op, agent.begin);
	uint32_t index = 0;
	for (const auto &value : fn.inputs())
		all.add(value, index++);
	all.done();
	return nullptr;
}

template <bool values, bool tensors>
void on_end(const at::RecordFunction &fn, at::ObserverContext *)
{
	pasta_torch_op op;

	fill(&op, fn);
	if (!tensors) {
		agent.end(&op);
		return;
	}
	if (values && fn.scope() != at::RecordScope::USER_SCOPE)
		fill_values(&op, fn.outputs());
	Tensors all(&op, agent.end);
	uint32_t index = 0;
	for (const auto &value : fn.outputs())
		all.add(value, index++);
	all.done();
}

/* PyTorch copies the values that it passes to callbacks. Results are described only if their
 * tensors are needed anyway, because copying them would cost as much as describing the arguments.
 */
void watch_ops()
{
	const bool values = agent.records & PASTA_TORCH_VALUES;
	const bool tensors = agent.records & PASTA_TORCH_TENSORS, needs = values || tensors;
	using Callback = at::RecordFunctionCallback;
	auto callback = values	  ? tensors ? Callback(on_begin<true, true>, on_end<true, true>)
					    : Callback(on_begin<true, false>, on_end<true, false>)
			   : tensors ? Callback(on_begin<false, true>, on_end<false, true>)
				  : Callback(on_begin<false, false>, on_end<false, false>);

	at::addGlobalCallback(callback.needsInputs(needs).needsOutputs(tensors).scopes(
		{at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
		 at::RecordScope::USER_SCOPE}));
}

int start(char *why, size_t size)
{
	try {
		ours = reports().get();
		watch_ops();
		return 0;
	} catch (const std::exception &e) {
		snprintf(why, size, "PyTorch reports: %s", e.what());
		return -1;
	}
}

const pasta_torch_shim shim = {
	PASTA_TORCH_ABI, sizeof(shim), start, release_slot, base_of, dtype_name, describe,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const pasta_torch_shim *
pasta_torch_entry_2(const pasta_torch_agent *with, char *why, size_t size)
{
	if (with->abi != PASTA_TORCH_ABI || with->size < sizeof(agent)) {
		snprintf(why, size,
			 "the PyTorch shim has ABI version %d, but the agent has "
			 "version %u",
			 PASTA_TORCH_ABI, with->abi);
		return nullptr;
	}
	agent = *with;
	return &shim;
}
