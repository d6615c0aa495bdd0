// The one place where Triton's errors become Python exceptions and the other way round.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "runtime/error.h"

namespace triton_inprocess {

/// str(object) as UTF-8; what is none (surrogates) is escaped.
std::string text_of(nanobind::handle object);

/// The exception object for an error: an instance of the class of triton_inprocess.errors for its code.
nanobind::object to_exception(const Error& error);

/// The error for the pending exception, which a user's Python function raised on one of Triton's threads; takes it. See
/// triton_inprocess._function_errors.describe.
Error take_function_error() noexcept;

/// The error that an exception means which was raised by a function, with its traceback as the detail. As above, but
/// throws what goes wrong.
Error described(PyObject* exception);

void register_errors(nanobind::module_& module);

}  // namespace triton_inprocess
