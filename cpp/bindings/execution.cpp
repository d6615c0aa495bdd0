#include "bindings/execution.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/batch.h"
#include "backend/function_call.h"
#include "backend/kept_inputs.h"
#include "backend/request_information.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/model_request.h"
#include "bindings/numpy.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// Requests that a function is called for. The runner answers them from any thread.
class Execution {
    std::shared_ptr<RequestBatch> batch_;
    std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();

    /// Triton is called without the GIL, and one call at a time: the runner may answer on one thread what it asks about
    /// on another.
    template <typename Function>
    auto with_batch(Function function) const {
        const DropDeferred drops;
        const ReleaseGil released;
        const std::scoped_lock guard(*mutex_);
        return function(*batch_);
    }

  public:
    explicit Execution(std::shared_ptr<RequestBatch> batch) : batch_(std::move(batch)) {}
    Execution(Execution&&) noexcept = default;
    ~Execution() {
        // Not when it returns: until now its results were on their way, which may be inputs.
        if (batch_ && returned_) {
            warn_of_kept_inputs(*batch_);
        }
    }

    std::size_t count() const {
        return with_batch([](RequestBatch& batch) { return batch.requests().size(); });
    }

    bool cancelled() const {
        return with_batch([](RequestBatch& batch) { return !batch.answered() && batch.cancelled(); });
    }

    bool request_cancelled(std::size_t index) const {
        return with_batch([&](RequestBatch& batch) {
            return index < batch.requests().size() && is_cancelled(batch.requests()[index]);
        });
    }

    /// For threads of a runner's own.
    void mark_thread() const { mark_executing(batch_->function()); }

    std::vector<std::int64_t> rows() const {
        return with_batch([](RequestBatch& batch) { return batch.rows(); });
    }

    std::vector<Tensor> tensors() {
        inputs_ = with_batch([](RequestBatch& batch) { return batch.read_inputs(); });
        return inputs_;
    }

    nb::dict arrays() {
        const std::vector<Tensor> inputs = tensors();
        nb::dict result;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            result[batch_->function().inputs()[i].name.c_str()] = to_array(inputs[i], true);
        }
        return result;
    }

    using Information = std::tuple<std::string, nb::object, std::uint32_t, std::uint64_t, nb::dict, nb::object>;

    Information information(std::size_t index) const {
        const RequestInformation read = with_batch([&](RequestBatch& batch) {
            if (index >= batch.requests().size()) {
                throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the request was answered");
            }
            return RequestInformation(batch.requests()[index]);
        });
        nb::dict parameters;
        for (const auto& [name, value] : read.parameters) {
            parameters[nb::str(name.c_str(), name.size())] =
                std::visit([](const auto& each) { return nb::cast(each); }, value);
        }
        nb::object correlation = std::visit([](const auto& each) { return nb::cast(each); }, read.correlation_id);
        return {read.id,         std::move(correlation), read.flags,
                read.timeout_us, std::move(parameters),  nb::cast(read.trace_id)};
    }

    void answer(nb::handle result) {
        std::vector<FunctionOutput> outputs = outputs_of(result);
        has_returned();
        with_batch([&](RequestBatch& batch) {
            batch.computation_ends();
            batch.answer(std::move(outputs));
        });
    }

    void send(nb::handle result) const {
        std::vector<FunctionOutput> outputs = outputs_of(result);
        with_batch([&](RequestBatch& batch) { batch.send(std::move(outputs)); });
    }

    void end() {
        has_returned();
        with_batch([](RequestBatch& batch) {
            batch.computation_ends();
            batch.end();
        });
    }

    void discard() {
        inputs_.clear();
        with_batch([](RequestBatch& batch) { batch.discard(); });
    }

    void fail(nb::handle exception) {
        inputs_.clear();
        const Error error = described(exception.ptr());
        with_batch([&](RequestBatch& batch) {
            if (!batch.answered()) {
                log_failure(batch.function(), error);
                batch.computation_ends();
                batch.fail(error);
            }
        });
    }

    std::vector<nb::object> take_requests() const {
        std::vector<std::unique_ptr<ModelRequest>> taken = with_batch([](RequestBatch& batch) {
            std::vector<std::unique_ptr<ModelRequest>> requests;
            for (TRITONBACKEND_Request* const each : batch.take()) {
                requests.push_back(std::make_unique<ModelRequest>(batch.function(), batch.instance(), each));
            }
            for (auto& each : requests) {
                try {
                    each->read();
                } catch (const Error& error) {
                    each->send({}, {}, &error, true, true);
                    each.reset();
                }
            }
            return requests;
        });
        std::vector<nb::object> result;
        for (auto& each : taken) {
            if (each) {
                result.push_back(make_model_request(std::move(each)));
            }
        }
        return result;
    }

    void report_taken(std::int64_t rows) const {
        with_batch([&](RequestBatch& batch) {
            batch.computation_ends();
            batch.report_taken(rows);
        });
    }

    void log_failure_of(nb::handle exception) const {
        const Error error = described(exception.ptr());
        with_batch([&](RequestBatch& batch) { log_failure(batch.function(), error); });
    }

    std::vector<nb::object> split() {
        inputs_.clear();
        std::vector<nb::object> parts;
        for (std::unique_ptr<RequestBatch>& each : with_batch([](RequestBatch& batch) { return batch.split(); })) {
            each->computation_begins();
            parts.push_back(make_execution(std::move(each)));
        }
        return parts;
    }

    void begin() const {
        with_batch([](RequestBatch& batch) { batch.computation_begins(); });
    }

  private:
    std::vector<FunctionOutput> outputs_of(nb::handle result) const {
        return take_outputs(result.ptr(), batch_->function(), batch_->total_rows(), inputs_);
    }

    /// The inputs go before the requests do: who gets the answer finds his memory let go.
    void has_returned() noexcept {
        inputs_.clear();
        returned_ = true;
    }

    std::vector<Tensor> inputs_;  ///< Until the function has returned.
    bool returned_ = false;
};

}  // namespace

nb::object make_execution(std::shared_ptr<RequestBatch> batch) {
    return nb::cast(Execution(std::move(batch)));
}

void register_execution(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Execution>(module, "Execution",
                          "Requests that a model's function is called for. What is dropped unanswered fails.")
        .def_prop_ro("count", &Execution::count, "How many requests these are; none once they are answered.")
        .def_prop_ro("rows", &Execution::rows, "How many rows of the batch each has, once the inputs were read.")
        .def_prop_ro("cancelled", &Execution::cancelled, "Whether Triton was asked to cancel all of them.")
        .def("request_cancelled", &Execution::request_cancelled, "index"_a,
             "Whether Triton was asked to cancel one of them; False once it is answered.")
        .def("mark_thread", &Execution::mark_thread,
             "From now on the calling thread is one that executes the model: see executing_model.")
        .def("arrays", &Execution::arrays, nb::sig("def arrays(self) -> dict[str, typing.Any]"),
             "The inputs of all requests, joined, as read-only numpy arrays.")
        .def("tensors", &Execution::tensors, "The inputs of all requests, joined, in the order of their declaration.")
        .def("information", &Execution::information, "index"_a,
             nb::sig("def information(self, index: int) -> tuple[str, int | str, int, int, "
                     "dict[str, str | int | bool | float], int | None]"),
             "Id, correlation id, flags, timeout in microseconds, parameters and the trace's id of a request.")
        .def("answer", &Execution::answer, "result"_a.none(), nb::sig("def answer(self, result: object) -> None"),
             "Answer the requests with what the function has returned, each with its rows.")
        .def("send", &Execution::send, "result"_a.none(), nb::sig("def send(self, result: object) -> None"),
             "Send a response that others will follow: for decoupled models.")
        .def("end", &Execution::end, "No more responses: for decoupled models.")
        .def("fail", &Execution::fail, "exception"_a, nb::sig("def fail(self, exception: BaseException) -> None"),
             "Answer the requests with an error; nothing happens when they are answered.")
        .def("discard", &Execution::discard, "Let the requests go, which nobody waits for.")
        .def("split", &Execution::split, nb::sig("def split(self) -> list[Execution]"),
             "Each request alone; this one has none any more.")
        .def("take_requests", &Execution::take_requests, nb::sig("def take_requests(self) -> list[ModelRequest]"),
             "The requests for a Triton Python model, but those that cannot be read, which fail; this one has none any "
             "more.")
        .def("report_taken", &Execution::report_taken, "rows"_a,
             "For Triton's statistics: requests that were taken were executed together.")
        .def("log_failure", &Execution::log_failure_of, "exception"_a,
             nb::sig("def log_failure(self, exception: BaseException) -> None"),
             "Write an exception of the model's code to Triton's log.")
        .def("begin", &Execution::begin, "For Triton's statistics: the computation begins now.");
}

}  // namespace triton_inprocess
