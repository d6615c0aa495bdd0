#include "backend/output_conversion.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "backend/shared_input.h"
#include "bindings/cached_attribute.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/numpy.h"
#include "bindings/numpy_abi.h"
#include "runtime/error.h"
#include "tensor/host_buffer_pool.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute general_conversion("triton_inprocess._convert", "to_output_tensor");

std::string expected_shape(const TensorSpec& spec, const PythonFunction& function, std::int64_t rows) {
    std::vector<std::int64_t> shape = spec.shape;
    if (function.batched()) {
        shape.insert(shape.begin(), rows);
    }
    return shape_text(shape.data(), shape.size());
}

void check_shape(const Tensor& tensor, const TensorSpec& spec, const PythonFunction& function, std::int64_t rows) {
    const auto& shape = tensor.shape();
    const std::size_t batch_dimensions = function.batched() ? 1 : 0;
    const bool right = shape.size() >= batch_dimensions && (batch_dimensions == 0 || shape[0] == rows) &&
                       spec.admits(shape.data() + batch_dimensions, shape.size() - batch_dimensions);
    if (!right) {
        refuse_result(function, "returned output '" + spec.name + "' of shape " +
                                    shape_text(shape.data(), shape.size()) + ", expected " +
                                    expected_shape(spec, function, rows));
    }
}

/// What the general conversion makes of a value: lists, other array types, strided arrays, BYTES. It runs Python code.
Tensor convert(PyObject* value, const TensorSpec& spec, const PythonFunction& function) {
    const nb::tuple arguments = nb::make_tuple(nb::handle(value), spec.data_type);
    const NativeThreadObject tensor(call_on_native_thread(general_conversion.get().ptr(), arguments.ptr(), nullptr));
    if (tensor.get() == nullptr) {
        refuse_result(function, "returned output '" + spec.name + "' that is no " + data_type_name(spec.data_type) +
                                    " tensor: " + take_function_error().message());
    }
    return nb::cast<const Tensor&>(nb::handle(tensor.get()));
}

Tensor with_memory(const Tensor& tensor, Ref<Buffer> buffer) {
    return Tensor(tensor.data_type(), tensor.shape(), std::move(buffer));
}

void check_tensor(Tensor& tensor, const TensorSpec& spec, const PythonFunction& function, std::int64_t rows) {
    if (spec.data_type == TRITONSERVER_TYPE_BF16 && tensor.data_type() == TRITONSERVER_TYPE_UINT16) {
        tensor = Tensor(spec.data_type, tensor.shape(), tensor.buffer());  // the bits, for want of a numpy type
    }
    if (tensor.buffer()->memory_type() == TRITONSERVER_MEMORY_GPU) {
        refuse_result(function, "returned output '" + spec.name + "' in GPU memory, expected host memory");
    }
    if (tensor.data_type() != spec.data_type) {
        refuse_result(function, "returned output '" + spec.name + "' of type " + data_type_name(tensor.data_type()) +
                                    ", expected " + data_type_name(spec.data_type));
    }
    check_shape(tensor, spec, function, rows);
}

bool lies_within(const Buffer& part, const Buffer& whole) noexcept {
    const auto* const begin = static_cast<const char*>(whole.data());
    const auto* const data = static_cast<const char*>(part.data());
    const std::less_equal<> not_after;  // what are parts of different memory compares, too
    return part.byte_size() != 0 && not_after(begin, data) &&
           not_after(data + part.byte_size(), begin + whole.byte_size());
}

/// The same bytes as a part of the input that they lie in, without what the function made over it; or null.
Ref<Buffer> part_of_input(const Buffer& output, const std::vector<Tensor>& inputs) {
    for (const Tensor& input : inputs) {
        const Ref<Buffer>& buffer = input.buffer();
        if (lies_within(output, *buffer)) {
            const auto* const shared = dynamic_cast<const SharedInput*>(buffer.get());
            return make_ref<BufferSlice>(output.data(), output.byte_size(),
                                         shared != nullptr ? shared->memory() : buffer, true);
        }
    }
    return nullptr;
}

/// Whether the memory is pooled and has no other owner: the conversion has put a copy there.
bool is_own_copy(const Buffer& buffer) noexcept {
    return buffer.unique() && dynamic_cast<const HostBuffer*>(&buffer) != nullptr;
}

/// As the author promises that nobody will write there; readers of a response must not, either.
Tensor read_only(const Tensor& tensor) {
    const Ref<Buffer>& buffer = tensor.buffer();
    return buffer->read_only()
               ? tensor
               : with_memory(tensor, make_ref<BufferSlice>(buffer->data(), buffer->byte_size(), buffer, true));
}

}  // namespace

void refuse_result(const PythonFunction& function, const std::string& reason) {
    throw Error(TRITONSERVER_ERROR_INTERNAL, "the function of model '" + function.model_name() + "' " + reason);
}

FunctionOutput to_output(PyObject* value, bool sole, const TensorSpec& spec, const PythonFunction& function,
                         std::int64_t rows, const std::vector<Tensor>& inputs) {
    using Adoption = PythonFunction::Adoption;
    const bool adopted = function.adoption() != Adoption::never && sole && is_sole_array(value);
    std::optional<Tensor> over_array = tensor_over_array(value, !adopted);
    const bool is_array = over_array.has_value();
    Tensor tensor = is_array ? *std::move(over_array) : convert(value, spec, function);
    check_tensor(tensor, spec, function, rows);
    if (Ref<Buffer> part = part_of_input(*tensor.buffer(), inputs)) {
        return {with_memory(tensor, std::move(part)), function.adoption() == Adoption::always, false};
    }
    if (!is_array && is_own_copy(*tensor.buffer())) {
        return {std::move(tensor), true, true};
    }
    if (function.adoption() == Adoption::always) {
        return {adopted ? std::move(tensor) : read_only(tensor), true, false};
    }
    return {std::move(tensor), adopted, false};
}

}  // namespace triton_inprocess
