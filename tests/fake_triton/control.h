// How a test commands the fake libtritonserver. The functions have C linkage: C++ finds them by dlsym in the library
// that it has loaded, Python by ctypes. All of them may be called on any thread, and before the first server is made.
#pragma once

#include <cstdint>

extern "C" {
#define FAKE_TRITON_CONTROL __attribute__((visibility("default")))

/// Makes calls of the named function fail with an error of the given code (a TRITONSERVER_Error_Code) and message
/// instead of doing anything: the `first`-th call from now on (1: the next one) and those after it, `count` in all (0:
/// for ever). Replaces what was said of that function before. False for a function that does not exist or that returns
/// no error.
FAKE_TRITON_CONTROL bool fake_triton_fail(const char* function, std::uint64_t first, std::uint64_t count,
                                          std::int32_t code, const char* message);

/// Makes the next `count` submissions fail while they are enqueued: the call fails and the request stays the caller's,
/// but the trace is released.
FAKE_TRITON_CONTROL void fake_triton_fail_enqueueing(std::uint64_t count);

/// Has every request submitted from now on wait for that long before it is executed. A cancelled one waits no longer.
FAKE_TRITON_CONTROL void fake_triton_delay(std::uint32_t milliseconds);

/// Has each submission that succeeds return that much later than the request can be executed.
FAKE_TRITON_CONTROL void fake_triton_linger(std::uint32_t milliseconds);

/// In which order a request's callbacks come.
enum FakeTritonOrder {
    FAKE_TRITON_RESPONSE_FIRST = 0,  ///< The final response, then the release; both on one thread.
    FAKE_TRITON_RELEASE_FIRST = 1,   ///< The release, then every response.
    FAKE_TRITON_TOGETHER = 2,        ///< The release on a thread of its own, while the responses are sent.
};
FAKE_TRITON_CONTROL void fake_triton_order(std::int32_t order);

/// Has every response come on a thread of its own, still one after the other.
FAKE_TRITON_CONTROL void fake_triton_respond_on_own_threads(bool enable);

/// Which callbacks are not called. What was dropped is kept: `fake_triton_deliver_dropped` makes up for it.
enum FakeTritonDrop {
    FAKE_TRITON_DROP_FINAL_RESPONSE = 1,
    FAKE_TRITON_DROP_RELEASE = 2,
};
FAKE_TRITON_CONTROL void fake_triton_drop(std::uint32_t what);

/// Calls the dropped callbacks on another thread and waits for them; returns how many there were.
FAKE_TRITON_CONTROL std::uint64_t fake_triton_deliver_dropped();

/// Calls each release callback with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE before anything else.
FAKE_TRITON_CONTROL void fake_triton_reschedule(bool enable);

/// Releases the child traces of an ensemble after the trace that was given with the request, not before it.
FAKE_TRITON_CONTROL void fake_triton_release_child_traces_last(bool enable);

/// What TRITONSERVER_ApiVersion says from now on; 1.34 by default.
FAKE_TRITON_CONTROL void fake_triton_set_api_version(std::uint32_t major, std::uint32_t minor);

/// How many objects of a C type are alive, by the name without its prefix: "InferenceRequest".
FAKE_TRITON_CONTROL std::uint64_t fake_triton_live(const char* type);

/// How often the named function was called; also calls that were made to fail count. -1 for one that does not exist.
FAKE_TRITON_CONTROL std::int64_t fake_triton_calls(const char* function);

/// Forgets everything that was said above and all counts of calls. Objects and what was dropped stay.
FAKE_TRITON_CONTROL void fake_triton_reset();

#undef FAKE_TRITON_CONTROL
}
