#include "support/fake_triton.h"

#include <dlfcn.h>

#include <chrono>
#include <thread>

#include "runtime/runtime.h"
#include "support/symbols.h"

namespace triton_inprocess::testing {
namespace {

FakeTriton resolve() {
    load_runtime();
    void* const library = dlopen(TRITON_INPROCESS_TEST_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    const auto set = [library](auto& pointer, const char* name) { set_to_symbol(library, pointer, name); };
    FakeTriton result = {};
    set(result.fail, "fake_triton_fail");
    set(result.fail_enqueueing, "fake_triton_fail_enqueueing");
    set(result.delay, "fake_triton_delay");
    set(result.linger, "fake_triton_linger");
    set(result.order, "fake_triton_order");
    set(result.respond_on_own_threads, "fake_triton_respond_on_own_threads");
    set(result.drop, "fake_triton_drop");
    set(result.deliver_dropped, "fake_triton_deliver_dropped");
    set(result.reschedule, "fake_triton_reschedule");
    set(result.release_child_traces_last, "fake_triton_release_child_traces_last");
    set(result.set_api_version, "fake_triton_set_api_version");
    set(result.live, "fake_triton_live");
    set(result.calls, "fake_triton_calls");
    set(result.reset, "fake_triton_reset");
    return result;
}

}  // namespace

void load_runtime() {
    Runtime::load(TRITON_INPROCESS_TEST_LIBRARY);
}

const FakeTriton& fake() {
    static const FakeTriton functions = resolve();
    return functions;
}

bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

Error error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "no error was thrown";
    return Error(TRITONSERVER_ERROR_UNKNOWN, "");
}

}  // namespace triton_inprocess::testing
