// Keeps Python's signal handlers away from code that must come to its end.
#pragma once

#include <nanobind/nanobind.h>

#include <csignal>
#include <vector>

namespace triton_inprocess {

/// While it lives, no handler of Python's runs, so none raises anything in between, such as KeyboardInterrupt: the
/// signals come at its end. Signals that Python does not handle act as ever. For the main thread, with the GIL.
class DeferredSignals {
  public:
    /// `getsignal`: that of the module _signal, which is C.
    explicit DeferredSignals(nanobind::handle getsignal);
    ~DeferredSignals();
    DeferredSignals(const DeferredSignals&) = delete;
    DeferredSignals& operator=(const DeferredSignals&) = delete;

  private:
    struct Former {
        int number;
        struct sigaction action;
    };

    std::vector<Former> former_;
};

}  // namespace triton_inprocess
