/* shimvalues.hpp - hashes and describes the arguments and results of PyTorch's operators. Only
 * shim.cpp includes this file. */
#ifndef PASTA_HANDLERS_TORCH_SHIMVALUES_HPP
#define PASTA_HANDLERS_TORCH_SHIMVALUES_HPP

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstring>
#include <functional>
#include <sstream>
#include <string>

#include "handlers/torch/shim.h"

namespace
{

/* The PyTorch Profiler describes the same types of values, and lists of numbers up to the same
 * length. */
enum class Type { kOther, kTensor, kTensors, kScalar, kScalars, kText };
constexpr size_t kScalars = 30;

bool is_scalar(const c10::IValue &value)
{
	return value.isInt() || value.isBool() || value.isDouble() || value.isComplexDouble();
}

Type list_type(const c10::IValue &value)
{
	if (value.isTensorList())
		return Type::kTensors;
	const auto list = value.toListRef();
	if (list.size() < kScalars && (list.empty() || is_scalar(list[0])))
		return Type::kScalars;
	return Type::kOther;
}

Type type_of(const c10::IValue &value)
{
	if (value.isTensor())
		return value.toTensor().defined() ? Type::kTensor : Type::kOther;
	if (is_scalar(value))
		return Type::kScalar;
	if (value.isList())
		return list_type(value);
	return value.isString() ? Type::kText : Type::kOther;
}

/* Products that are independent of each other are computed in parallel. */
inline uint64_t hash_dims(c10::IntArrayRef dims, uint64_t factor)
{
	uint64_t h = 0;

	for (int64_t n : dims) {
		h += static_cast<uint64_t>(n) * factor;
		factor *= UINT64_C(0x589965cc75374cc3);
	}
	return h;
}

/* Returns false if reading the shape would throw, or would run Python code of a subclass. */
inline bool has_plain_shape(const at::Tensor &tensor)
{
	const auto *impl = tensor.unsafeGetTensorImpl();
	const auto keys = impl->key_set();

	return !impl->has_symbolic_sizes_strides() && !keys.has(c10::DispatchKey::Python) &&
	       !keys.has(c10::DispatchKey::NestedTensor);
}

/* Throws for tensors without a shape or without strides. */
inline uint64_t hash_shape(const at::Tensor &tensor)
{
	const auto *impl = tensor.unsafeGetTensorImpl();
	const auto dims = impl->sizes();
	uint64_t h = (static_cast<uint64_t>(c10::typeMetaToScalarType(impl->dtype())) << 8 |
		      dims.size() << 16 | 1) *
		     UINT64_C(0x8ebc6af09c88c6e3);

	h += hash_dims(dims, UINT64_C(0xd6e8feb86659fd93));
	if (!impl->is_contiguous())
		h += hash_dims(impl->strides(), UINT64_C(0xa0761d6478bd642f));
	return h;
}

inline uint64_t hash_tensor(const at::Tensor &tensor)
{
	try {
		if (!tensor.defined())
			return 0;
		if (!has_plain_shape(tensor))
			return static_cast<uint64_t>(tensor.scalar_type()) + 1;
		return hash_shape(tensor);
	} catch (...) {
		return static_cast<uint64_t>(tensor.scalar_type()) + 1;
	}
}

inline uint64_t hash_add(uint64_t h, uint64_t value)
{
	const auto product = static_cast<unsigned __int128>(h ^ UINT64_C(0xe7037ed1a0b428db)) *
			     (value ^ UINT64_C(0x9e3779b97f4a7c15));

	return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hash_int(int64_t value)
{
	return static_cast<uint64_t>(value) * 4 + 1;
}

uint64_t hash_scalar(const c10::IValue &value)
{
	double number[2] = {0, 0};
	uint64_t bits[2];

	if (value.isInt())
		return hash_int(value.toInt());
	if (value.isBool())
		return static_cast<uint64_t>(value.toBool()) * 4 + 2;
	if (value.isDouble()) {
		number[0] = value.toDouble();
	} else if (value.isComplexDouble()) {
		number[0] = value.toComplexDouble().real();
		number[1] = value.toComplexDouble().imag();
	}
	memcpy(bits, number, sizeof(bits));
	return hash_add(bits[0], bits[1] + value.isDouble());
}

uint64_t hash_list(const c10::IValue &value, bool tensors)
{
	const auto list = value.toListRef();
	uint64_t h = list.size();

	for (const auto &each : list)
		h = hash_add(h, tensors ? hash_tensor(each.toTensor()) : hash_scalar(each));
	return h;
}

uint64_t hash_other(const c10::IValue &value)
{
	switch (type_of(value)) {
	case Type::kTensors:
		return hash_list(value, true);
	case Type::kScalars:
		return hash_list(value, false);
	case Type::kText:
		return std::hash<std::string>{}(value.toStringRef());
	default:
		return 0;
	}
}

/* Most values are tensors, integers or none. */
inline uint64_t hash_value(const c10::IValue &value)
{
	if (value.isTensor())
		return hash_tensor(value.toTensor());
	if (value.isInt())
		return hash_int(value.toInt());
	if (value.isNone())
		return 0;
	return is_scalar(value) ? hash_scalar(value) : hash_other(value);
}

/* Returns a hash of everything that the descriptions of the values contain; never 0. */
template <typename List> uint64_t hash_values(const List &values)
{
	uint64_t h = values.size();

	for (const auto &value : values)
		h = hash_add(h, hash_value(value));
	return h | 1;
}

/* -- Texts -- */

std::string dims_text(c10::IntArrayRef dims)
{
	std::string text = "[";

	for (size_t i = 0; i < dims.size(); i++)
		text += (i ? "," : "") + std::to_string(dims[i]);
	return text + "]";
}

std::string tensor_shape(const at::Tensor &tensor, bool typed)
{
	if (!has_plain_shape(tensor))
		return typed ? "-" : "[]";
	try {
		const auto dims = tensor.unsafeGetTensorImpl()->sizes();
		const auto name = tensor.dtype().name();
		std::string text = typed ? std::string(name.data(), name.size()) : "";

		return typed && dims.empty() ? text : text + dims_text(dims);
	} catch (...) {
		return typed ? "-" : "[]";
	}
}

std::string tensor_strides(const at::Tensor &tensor, bool always)
{
	const auto *impl = tensor.unsafeGetTensorImpl();

	try {
		if (has_plain_shape(tensor) && (always || !impl->is_contiguous()))
			return dims_text(impl->strides());
	} catch (...) {
	}
	return always ? "[]" : "";
}

/* Describes the tensors of a list by a function. */
template <typename Describe> std::string list_text(const c10::IValue &value, Describe describe)
{
	std::string text = "[";

	for (const auto &each : value.toListRef())
		text += (text.size() > 1 ? "," : "") +
			(each.toTensor().defined() ? describe(each.toTensor()) : "[]");
	return text + "]";
}

std::string shape_text(const c10::IValue &value)
{
	switch (type_of(value)) {
	case Type::kTensor:
		return tensor_shape(value.toTensor(), true);
	case Type::kTensors:
		return "TensorList" + (value.toListRef().empty()
					       ? std::string()
					       : list_text(value, [](const at::Tensor &tensor) {
							 return tensor_shape(tensor, false);
						 }));
	case Type::kScalar:
		return "Scalar";
	case Type::kScalars:
		return "ScalarList";
	default:
		return "-";
	}
}

std::string scalar_text(const c10::IValue &value)
{
	const Type type = type_of(value);
	std::ostringstream out;

	if (type == Type::kText)
		out << value.toStringRef();
	else if (type == Type::kScalar || type == Type::kScalars)
		out << value;
	std::string text = out.str();
	for (char &c : text)
		c = c == ';' ? ',' : c;
	return text;
}

std::string strides_text(const c10::IValue &value)
{
	const Type type = type_of(value);

	if (type == Type::kTensor)
		return tensor_strides(value.toTensor(), false);
	if (type != Type::kTensors)
		return "";
	for (const auto &each : value.toListRef())
		if (each.toTensor().defined() && !tensor_strides(each.toTensor(), false).empty())
			return list_text(value, [](const at::Tensor &tensor) {
				return tensor_strides(tensor, true);
			});
	return "";
}

std::string values_text(const pasta_torch_op *op, pasta_torch_description what, size_t size)
{
	const auto *values = static_cast<const c10::IValue *>(op->values);
	std::string text;
	bool any = false;

	for (size_t i = 0; i < op->value_count && text.size() <= size; i++) {
		const std::string each = what == PASTA_TORCH_SHAPES    ? shape_text(values[i])
					 : what == PASTA_TORCH_SCALARS ? scalar_text(values[i])
								       : strides_text(values[i]);

		text += (!i ? "" : what == PASTA_TORCH_SHAPES ? ", " : ";") + each;
		any = any || !each.empty();
	}
	return any ? text : "";
}

size_t describe(const pasta_torch_op *op, pasta_torch_description what, char *to, size_t size)
{
	try {
		std::string text = values_text(op, what, size);

		if (text.size() > size)
			text.replace(size - 3, std::string::npos, "...");
		memcpy(to, text.data(), text.size());
		return text.size();
	} catch (...) {
		return 0;
	}
}

} // namespace

#endif
