// The native module's table of contents.
#include <nanobind/intrusive/counter.h>
#include <nanobind/nanobind.h>

#include "bindings/allocated_tensor.h"
#include "bindings/async_response_iterator.h"
#include "bindings/capi/buffer_attributes.h"
#include "bindings/capi/functions.h"
#include "bindings/capi/inference_request.h"
#include "bindings/capi/inference_response.h"
#include "bindings/capi/inference_trace.h"
#include "bindings/capi/message.h"
#include "bindings/capi/metric.h"
#include "bindings/capi/metric_args.h"
#include "bindings/capi/metric_family.h"
#include "bindings/capi/metrics.h"
#include "bindings/capi/parameter.h"
#include "bindings/capi/response_allocator.h"
#include "bindings/capi/server.h"
#include "bindings/capi/server_options.h"
#include "bindings/cuda_array_interface.h"
#include "bindings/device.h"
#include "bindings/enums.h"
#include "bindings/errors.h"
#include "bindings/event_loop_hub.h"
#include "bindings/execution.h"
#include "bindings/front_end.h"
#include "bindings/gil.h"
#include "bindings/infer.h"
#include "bindings/inference_response.h"
#include "bindings/log_pipe.h"
#include "bindings/memory_allocator.h"
#include "bindings/memory_buffer.h"
#include "bindings/model_handle.h"
#include "bindings/model_request.h"
#include "bindings/python_function.h"
#include "bindings/response_iterator.h"
#include "bindings/response_wait.h"
#include "bindings/response_window.h"
#include "bindings/runtime.h"
#include "bindings/shared_memory_pool.h"
#include "bindings/shared_tensor.h"
#include "bindings/shutdown.h"
#include "bindings/single_import.h"
#include "bindings/tensor.h"
#include "bindings/trace_queue.h"
#include "bindings/trace_record.h"

namespace nb = nanobind;
namespace ti = triton_inprocess;

extern "C" PyObject* PyInit__native();  // NOLINT(bugprone-reserved-identifier): Python's name

NB_MODULE(_native_once, module) {
    ti::claim_import();
    module.doc() = "The native part of triton_inprocess. Not for direct use: names here change without notice.";
    nb::intrusive_init(
        [](PyObject* object) noexcept {
            const nb::gil_scoped_acquire guard;
            Py_INCREF(object);
        },
        [](PyObject* object) noexcept {
            if (nb::is_alive()) {
                const nb::gil_scoped_acquire guard;
                Py_DECREF(object);
            }
        });

    ti::enable_deferred_drops();
    ti::enable_unlocked_waits();
    ti::register_errors(module);
    ti::register_enums(module);
    ti::register_runtime(module);
    ti::register_shutdown(module);
    ti::register_log_pipe(module);
    ti::register_memory_buffer(module);
    ti::register_memory_allocator(module);
    ti::register_tensor(module);
    ti::register_allocated_tensor(module);
    ti::register_device(module);
    ti::register_cuda_array_interface(module);
    ti::register_shared_memory_pool(module);
    ti::register_shared_tensor(module);
    ti::register_functions(module);
    ti::register_parameter(module);
    ti::register_message(module);
    ti::register_buffer_attributes(module);
    ti::register_metrics(module);
    ti::register_metric_family(module);
    ti::register_metric_args(module);
    ti::register_metric(module);
    ti::register_inference_trace(module);
    ti::register_response_allocator(module);
    ti::register_capi_response(module);
    ti::register_server_options(module);
    ti::register_server(module);
    ti::register_front_end(module);
    ti::register_capi_request(module);
    ti::register_inference_response(module);
    ti::register_event_loop_hub(module);
    ti::register_response_wait(module);
    ti::register_response_iterator(module);
    ti::register_response_window(module);
    ti::register_async_response_iterator(module);
    ti::register_model_handle(module);
    ti::register_trace_record(module);
    ti::register_trace_queue(module);
    ti::register_infer(module);
    ti::register_model_request(module);
    ti::register_execution(module);
    ti::register_python_function(module);
}

// What Python calls.
extern "C" NB_EXPORT PyObject* PyInit__native() {
    PyObject* const refused = ti::refused_module();
    return refused != nullptr ? refused : PyInit__native_once();
}
