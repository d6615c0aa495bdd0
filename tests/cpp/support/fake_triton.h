// The fake libtritonserver, loaded as the process's runtime, and commanded.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "control.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess::testing {

/// Loads the library that this test program is for, once.
void load_runtime();

/// Its control functions; see control.h.
struct FakeTriton {
    decltype(&fake_triton_fail) fail;
    decltype(&fake_triton_fail_enqueueing) fail_enqueueing;
    decltype(&fake_triton_delay) delay;
    decltype(&fake_triton_linger) linger;
    decltype(&fake_triton_order) order;
    decltype(&fake_triton_respond_on_own_threads) respond_on_own_threads;
    decltype(&fake_triton_drop) drop;
    decltype(&fake_triton_deliver_dropped) deliver_dropped;
    decltype(&fake_triton_reschedule) reschedule;
    decltype(&fake_triton_release_child_traces_last) release_child_traces_last;
    decltype(&fake_triton_set_api_version) set_api_version;
    decltype(&fake_triton_live) live;
    decltype(&fake_triton_calls) calls;
    decltype(&fake_triton_reset) reset;
};

const FakeTriton& fake();

/// A test with a loaded runtime; what it tells the fake is forgotten afterwards.
class RuntimeTest : public ::testing::Test {
  protected:
    void SetUp() override {
        load_runtime();
        fake().reset();
    }
    void TearDown() override { fake().reset(); }
};

/// Waits until `condition` holds, for five seconds at most; returns whether it does.
bool eventually(const std::function<bool()>& condition);

/// The error that `action` throws; a test failure if it throws none.
Error error_of(const std::function<void()>& action);

}  // namespace triton_inprocess::testing
