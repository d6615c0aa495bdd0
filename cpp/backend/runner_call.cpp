#include "backend/runner_call.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "backend/batch.h"
#include "backend/function_call.h"
#include "bindings/errors.h"
#include "bindings/execution.h"
#include "bindings/gil.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// How the runner knows an instance: by an address, for the names are those of the model's next load, too.
nb::int_ key_of(const TRITONBACKEND_ModelInstance* instance) {
    return nb::int_(reinterpret_cast<std::uintptr_t>(instance));
}

std::string name_of(TRITONBACKEND_ModelInstance* instance) {
    const char* name = nullptr;
    check(api().TRITONBACKEND_ModelInstanceName(instance, &name));
    return name;
}

/// The runner's method of that name with the arguments; throws what it raises.
void call_runner(const PythonFunction& function, const char* method, const nb::tuple& arguments) {
    const NativeThreadObject runner(function.function().release().ptr());
    if (runner.get() == nullptr) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "model '" + function.model_name() + "' was removed");
    }
    const NativeThreadObject callable(attribute_on_native_thread(runner.get(), method));
    const NativeThreadObject result(
        callable.get() != nullptr ? call_on_native_thread(callable.get(), arguments.ptr(), nullptr) : nullptr);
    if (result.get() == nullptr) {
        throw take_function_error();
    }
}

/// Tells the runner of an end; what that raises goes to Triton's log.
template <typename Arguments>
void tell_end(PythonFunction& function, const char* method, Arguments arguments) noexcept {
    try {
        const NativeThreadGil gil;
        const Executing scope(function);
        if (function.function().is_valid()) {
            call_runner(function, method, arguments());
        }
    } catch (const Error& error) {
        log_failure(function, error);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // Out of memory: the runner goes untold.
    }
}

}  // namespace

void execute_by_runner(PythonFunction& function, TRITONBACKEND_ModelInstance* instance,
                       std::vector<std::unique_ptr<RequestBatch>> batches) noexcept {
    std::vector<std::shared_ptr<RequestBatch>> shared;
    shared.reserve(batches.size());
    for (auto& batch : batches) {
        shared.push_back(std::move(batch));
        shared.back()->computation_begins();
    }
    std::optional<Error> failure;
    {
        const NativeThreadGil gil;
        const Executing scope(function);
        drop_deferred();
        try {
            nb::list executions;
            for (const auto& batch : shared) {
                executions.append(make_execution(batch));
            }
            call_runner(function, "execute", nb::make_tuple(key_of(instance), executions));
        } catch (const Error& error) {
            failure.emplace(error);
        } catch (nb::python_error& error) {  // of ours: making the arguments failed
            error.restore();
            failure.emplace(take_function_error());
        } catch (const std::exception& error) {
            failure.emplace(TRITONSERVER_ERROR_INTERNAL, error.what());
        }
    }
    if (failure) {
        log_failure(function, *failure);
        for (const auto& batch : shared) {
            batch->fail(*failure);
        }
    }
}

void begin_instance(PythonFunction& function, TRITONBACKEND_ModelInstance* instance) {
    const std::string name = name_of(instance);
    try {
        const NativeThreadGil gil;
        const Executing scope(function);
        call_runner(function, "begin_instance", nb::make_tuple(key_of(instance), name));
    } catch (const Error& error) {
        log_failure(function, error);
        throw;
    }
}

void end_instance(PythonFunction& function, TRITONBACKEND_ModelInstance* instance) noexcept {
    tell_end(function, "end_instance", [&] { return nb::make_tuple(key_of(instance)); });
}

void require_ready(PythonFunction& function, TRITONBACKEND_ModelInstance* instance) {
    const NativeThreadGil gil;
    call_runner(function, "require_ready", nb::make_tuple(key_of(instance)));
}

void begin_model(PythonFunction& function, const std::string& config) {
    const NativeThreadGil gil;
    const Executing scope(function);
    call_runner(function, "begin_model", nb::make_tuple(config));
}

void end_model(PythonFunction& function) noexcept {
    tell_end(function, "end_model", [] { return nb::make_tuple(); });
}

}  // namespace triton_inprocess
