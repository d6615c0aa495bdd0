#include "bindings/device.h"

#include <optional>
#include <string>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "runtime/error.h"
#include "tensor/cuda_driver.h"
#include "tensor/dlpack.h"
#include "tensor/tensor.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using dlpack::DeviceType;

constexpr const char* accepted =
    "'cpu', 'cpu_pinned', 'gpu', 'gpu:<number>', a MemoryType, a pair (MemoryType, number) or a pair (DLDeviceType, "
    "number)";

[[noreturn]] void wrong_value(const std::string& given) {
    throw nb::value_error(("device must be " + std::string(accepted) + ", not " + given).c_str());
}

std::string repr_of(nb::handle value) {
    return text_of(nb::steal(PyObject_Repr(value.ptr())));
}

/// The number of a GPU; -1 for what is no number of nine digits or less.
std::int64_t parse_number(const std::string& digits) {
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) {
        return -1;
    }
    return std::stol(digits);
}

MemoryPlace parse(const std::string& text, nb::handle given) {
    const std::string prefix = "gpu:";
    if (text == "cpu") {
        return {TRITONSERVER_MEMORY_CPU, 0};
    }
    if (text == "cpu_pinned") {
        return {TRITONSERVER_MEMORY_CPU_PINNED, 0};
    }
    if (text == "gpu") {
        return {TRITONSERVER_MEMORY_GPU, 0};
    }
    const std::int64_t id = text.compare(0, prefix.size(), prefix) == 0 ? parse_number(text.substr(prefix.size())) : -1;
    if (id < 0) {
        wrong_value(repr_of(given));
    }
    return {TRITONSERVER_MEMORY_GPU, id};
}

MemoryType memory_type_of(DeviceType device_type, nb::handle given) {
    const std::optional<MemoryType> memory_type = dlpack::memory_type_of(device_type);
    if (!memory_type) {
        wrong_value(repr_of(given) + ", for which Triton has no kind of memory");
    }
    return *memory_type;
}

MemoryPlace place_of_pair(nb::handle pair) {
    const nb::object kind = pair[0];
    MemoryPlace place;
    if (nb::isinstance<MemoryType>(kind)) {
        place.memory_type = nb::cast<MemoryType>(kind);
    } else if (nb::isinstance<DeviceType>(kind)) {
        place.memory_type = memory_type_of(nb::cast<DeviceType>(kind), pair);
    } else {
        // A bare number would be another kind of memory to Triton than to DLPack.
        wrong_type("device[0]", "a MemoryType or a DLDeviceType", kind);
    }
    place.memory_type_id = static_cast<std::int64_t>(unsigned_argument("device[1]", nb::object(pair[1]), INT32_MAX));
    if (place.memory_type != TRITONSERVER_MEMORY_GPU && place.memory_type_id != 0) {
        wrong_value(repr_of(pair) + ": the number for host memory is 0");
    }
    return place;
}

nb::object moved(nb::handle self, const MemoryPlace& place) {
    const auto& tensor = instance_argument<const Tensor>("self", "a Tensor", self);
    const Ref<Buffer> source = tensor.buffer();
    Ref<Buffer> target;
    {
        const ReleaseGil released;
        target = transfer(source, place);
    }
    if (target.get() == source.get()) {
        return nb::borrow(self);
    }
    return nb::cast(Tensor(tensor.data_type(), tensor.shape(), std::move(target)));
}

}  // namespace

MemoryPlace place_argument(nb::handle device) {
    if (PyUnicode_Check(device.ptr()) != 0) {
        return parse(text_of(device), device);
    }
    if (nb::isinstance<MemoryType>(device)) {
        return {nb::cast<MemoryType>(device), 0};
    }
    if (PyTuple_Check(device.ptr()) == 0) {
        wrong_type("device", accepted, device);
    }
    if (nb::len(device) != 2) {
        wrong_value(repr_of(device));
    }
    return place_of_pair(device);
}

nb::object to_device(nb::handle self, nb::handle device) {
    return moved(self, place_argument(device));
}

nb::object to_host(nb::handle self) {
    if (instance_argument<const Tensor>("self", "a Tensor", self).buffer()->memory_type() != TRITONSERVER_MEMORY_GPU) {
        return nb::borrow(self);
    }
    return moved(self, {TRITONSERVER_MEMORY_CPU, 0});
}

void require_host_memory(const Buffer& buffer) {
    if (buffer.memory_type() == TRITONSERVER_MEMORY_GPU) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "the tensor is in GPU memory, which numpy cannot read: to_host() copies it to the host's");
    }
}

void register_device(nb::module_& module) {
    nb::enum_<DeviceType>(module, "DLDeviceType", nb::is_arithmetic(),
                          "DLPack's kinds of devices (DLDeviceType), by their numbers there.")
        .value("CPU", DeviceType::cpu)
        .value("CUDA", DeviceType::cuda)
        .value("CUDA_HOST", DeviceType::cuda_host)
        .value("OPENCL", DeviceType::opencl)
        .value("VULKAN", DeviceType::vulkan)
        .value("METAL", DeviceType::metal)
        .value("VPI", DeviceType::vpi)
        .value("ROCM", DeviceType::rocm)
        .value("ROCM_HOST", DeviceType::rocm_host)
        .value("EXT_DEV", DeviceType::ext_dev)
        .value("CUDA_MANAGED", DeviceType::cuda_managed)
        .value("ONE_API", DeviceType::one_api)
        .value("WEBGPU", DeviceType::webgpu)
        .value("HEXAGON", DeviceType::hexagon)
        .value("MAIA", DeviceType::maia);
    module.def(
        "cuda_device_count",
        [] {
            const ReleaseGil released;
            return CudaDriver::instance().device_count();
        },
        "How many GPUs this process sees. Raises UnsupportedError, with the reason, where there is none.");
}

}  // namespace triton_inprocess
