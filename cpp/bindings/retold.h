// Errors told again, with what they are about in front.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "runtime/error.h"

namespace triton_inprocess {

/// Throws the Python error again with the prefix, and as the cause; returns if its class needs more than a text.
void retell(nanobind::python_error& error, const std::string& prefix);

/// What `function` returns; what it throws begins with what `prefix` returns.
template <typename Prefix, typename Function>
auto retold(const Prefix& prefix, const Function& function) {
    try {
        return function();
    } catch (const Error& error) {
        throw Error(error.code(), prefix() + error.message());
    } catch (const nanobind::builtin_exception& error) {
        throw nanobind::builtin_exception(error.type(), (prefix() + error.what()).c_str());
    } catch (nanobind::python_error& error) {
        retell(error, prefix());
        throw;
    }
}

}  // namespace triton_inprocess
