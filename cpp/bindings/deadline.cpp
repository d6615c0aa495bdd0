#include "bindings/deadline.h"

#include <algorithm>

#include "bindings/arguments.h"
#include "bindings/errors.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

constexpr double maximum = 1e9;  // which a clock of nanoseconds holds

}  // namespace

Deadline Deadline::of(nb::handle seconds) {
    Deadline result;
    if (seconds.is_none()) {
        return result;
    }
    const double value = float_argument("deadline", seconds);
    if (!(value > 0 && value <= maximum)) {
        throw nb::value_error(
            ("deadline must be from 0 to 1e9 seconds, and more than 0, not " + text_of(seconds)).c_str());
    }
    result.seconds_ = value;
    result.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
    return result;
}

Deadline::Clock::duration Deadline::remaining() const noexcept {
    return std::max(end_ - Clock::now(), Clock::duration::zero());
}

void Deadline::raise(const std::string& model) const {
    PyErr_Format(PyExc_TimeoutError,
                 "model '%s' has not answered within the deadline of %s s; the request is cancelled", model.c_str(),
                 nb::str(nb::float_(seconds_)).c_str());
    throw nb::python_error();
}

}  // namespace triton_inprocess
