#include "bindings/model_request.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/function_call.h"
#include "bindings/errors.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// A model's request. Triton is called without the GIL: whoever hears of an answer may want it.
class BoundRequest {
    std::unique_ptr<ModelRequest> request_;

    template <typename Function>
    auto unlocked(Function function) const {
        const DropDeferred drops;
        const ReleaseGil released;
        return function(*request_);
    }

  public:
    explicit BoundRequest(std::unique_ptr<ModelRequest> request) noexcept : request_(std::move(request)) {}
    BoundRequest(BoundRequest&&) noexcept = default;
    BoundRequest& operator=(BoundRequest&&) = delete;
    BoundRequest(const BoundRequest&) = delete;
    BoundRequest& operator=(const BoundRequest&) = delete;
    ~BoundRequest() {
        if (request_) {
            const ReleaseGil released;
            request_.reset();
        }
    }

    nb::list inputs() const {
        nb::list result;
        for (const ModelRequest::NamedTensor& each : request_->inputs()) {
            result.append(nb::make_tuple(each.name, each.tensor));
        }
        return result;
    }

    const std::vector<std::string>& requested_outputs() const noexcept { return request_->requested_outputs(); }
    const std::string& trace_context() const noexcept { return request_->trace_context(); }
    std::int64_t rows() const noexcept { return request_->rows(); }
    const std::string& request_id() const noexcept { return request_->information().id; }
    const std::variant<std::uint64_t, std::string>& correlation_id() const noexcept {
        return request_->information().correlation_id;
    }
    std::uint32_t flags() const noexcept { return request_->information().flags; }
    std::uint64_t timeout() const noexcept { return request_->information().timeout_us; }

    nb::dict parameters() const {
        nb::dict result;
        for (const auto& [name, value] : request_->information().parameters) {
            result[nb::str(name.c_str(), name.size())] =
                std::visit([](const auto& each) { return nb::cast(each); }, value);
        }
        return result;
    }

    bool cancelled() const {
        return unlocked([](const ModelRequest& request) { return request.cancelled(); });
    }

    bool open() const {
        return unlocked([](const ModelRequest& request) { return request.open(); });
    }

    void send(const std::vector<std::pair<std::string, Tensor>>& outputs, const nb::dict& parameters, bool final,
              bool release) const {
        std::vector<ModelRequest::NamedTensor> named;
        named.reserve(outputs.size());
        for (const auto& [name, tensor] : outputs) {
            named.push_back({name, tensor});
        }
        const ModelRequest::Parameters values = to_parameters(parameters);
        unlocked([&](ModelRequest& request) {
            request.send(named, values, nullptr, final, release);
            named.clear();
        });
    }

    void fail(nb::handle exception, const nb::dict& parameters, bool final, bool release) const {
        const Error error = described(exception.ptr());
        const ModelRequest::Parameters values = to_parameters(parameters);
        unlocked([&](ModelRequest& request) { request.send({}, values, &error, final, release); });
    }

    void close() const {
        unlocked([](ModelRequest& request) { request.close(); });
    }

    void release(bool succeeded) const {
        unlocked([&](ModelRequest& request) { request.release(succeeded); });
    }

    void reschedule() const {
        unlocked([](ModelRequest& request) { request.reschedule(); });
    }

  private:
    static ModelRequest::Parameters to_parameters(const nb::dict& parameters) {
        ModelRequest::Parameters result;
        for (const auto& [name, value] : parameters) {
            result.emplace_back(nb::cast<std::string>(name), to_value(value));
        }
        return result;
    }

    static ModelRequest::Parameters::value_type::second_type to_value(nb::handle value) {
        if (PyBool_Check(value.ptr())) {  // first: it is an int, too
            return nb::cast<bool>(value);
        }
        if (PyLong_Check(value.ptr()) != 0) {
            return nb::cast<std::int64_t>(value);
        }
        if (PyFloat_Check(value.ptr()) != 0) {
            return nb::cast<double>(value);
        }
        return nb::cast<std::string>(value);
    }
};

}  // namespace

nb::object make_model_request(std::unique_ptr<ModelRequest> request) {
    return nb::cast(BoundRequest(std::move(request)));
}

void register_model_request(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<BoundRequest>(module, "ModelRequest",
                             "A request to a Triton Python model. What is dropped unanswered fails.")
        .def_prop_ro("inputs", &BoundRequest::inputs, nb::sig("def inputs(self) -> list[tuple[str, Tensor]]"))
        .def_prop_ro("requested_outputs", &BoundRequest::requested_outputs)
        .def_prop_ro("trace_context", &BoundRequest::trace_context)
        .def_prop_ro("rows", &BoundRequest::rows, "How much of the batch it is; 1 without a batch dimension.")
        .def_prop_ro("request_id", &BoundRequest::request_id)
        .def_prop_ro("correlation_id", &BoundRequest::correlation_id)
        .def_prop_ro("flags", &BoundRequest::flags)
        .def_prop_ro("timeout", &BoundRequest::timeout, "In microseconds.")
        .def_prop_ro("parameters", &BoundRequest::parameters,
                     nb::sig("def parameters(self) -> dict[str, str | int | bool | float]"))
        .def_prop_ro("cancelled", &BoundRequest::cancelled, "Whether Triton was asked to cancel it.")
        .def_prop_ro("open", &BoundRequest::open, "Whether there can be more responses.")
        .def("send", &BoundRequest::send, "outputs"_a, "parameters"_a, "final"_a, "release"_a,
             nb::sig("def send(self, outputs: list[tuple[str, Tensor]], parameters: dict[str, str | int | bool | "
                     "float], final: bool, release: bool) -> None"),
             "Send a response, the last one if `final`; `release` gives the request back before.")
        .def("fail", &BoundRequest::fail, "exception"_a, "parameters"_a, "final"_a, "release"_a,
             nb::sig("def fail(self, exception: BaseException, parameters: dict[str, str | int | bool | float], "
                     "final: bool, release: bool) -> None"),
             "Likewise, a response that is an error.")
        .def("close", &BoundRequest::close, "No more responses.")
        .def("release", &BoundRequest::release, "succeeded"_a, "Give the request back; responses may follow.")
        .def("reschedule", &BoundRequest::reschedule, "Give the request back to be executed again.");
}

}  // namespace triton_inprocess
