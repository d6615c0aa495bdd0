#include "core/parameter.h"

#include <utility>

#include "core/c_text.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {

void Parameter::Delete::operator()(TRITONSERVER_Parameter* parameter) const noexcept {
    api().TRITONSERVER_ParameterDelete(parameter);
}

bool Parameter::doubles() noexcept {
    return available("TRITONSERVER_InferenceRequestSetDoubleParameter");
}

Parameter::Owned Parameter::made(const std::string& name, TRITONSERVER_ParameterType type, const void* value) {
    if (type == TRITONSERVER_PARAMETER_DOUBLE && !doubles()) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "the loaded library has no parameters of type DOUBLE; the first C API that has them is 1.28");
    }
    Owned parameter(api().TRITONSERVER_ParameterNew(c_text(name, "name"), type, value));
    if (!parameter) {
        throw Error(TRITONSERVER_ERROR_INTERNAL, "the library made no parameter '" + name + "'");
    }
    return parameter;
}

Parameter::Parameter(std::string name, const std::string& value)
    : name_(std::move(name)),
      type_(TRITONSERVER_PARAMETER_STRING),
      parameter_(made(name_, type_, c_text(value, "value"))) {}

Parameter::Parameter(std::string name, std::int64_t value)
    : name_(std::move(name)), type_(TRITONSERVER_PARAMETER_INT), parameter_(made(name_, type_, &value)) {}

Parameter::Parameter(std::string name, bool value)
    : name_(std::move(name)), type_(TRITONSERVER_PARAMETER_BOOL), parameter_(made(name_, type_, &value)) {}

Parameter::Parameter(std::string name, double value)
    : name_(std::move(name)), type_(TRITONSERVER_PARAMETER_DOUBLE), parameter_(made(name_, type_, &value)) {}

Parameter::Parameter(std::string name, Ref<Buffer> bytes)
    : name_(std::move(name)),
      type_(TRITONSERVER_PARAMETER_BYTES),
      bytes_(std::move(bytes)),
      parameter_(api().TRITONSERVER_ParameterBytesNew(c_text(name_, "name"), bytes_->data(), bytes_->byte_size())) {
    if (!parameter_) {
        throw Error(TRITONSERVER_ERROR_INTERNAL, "the library made no parameter '" + name_ + "'");
    }
}

}  // namespace triton_inprocess
