#include "runtime/error.h"

#include <utility>

#include "runtime/function_table.h"

namespace triton_inprocess {

Error::Error(TRITONSERVER_Error_Code code, std::string message) : code_(code), message_(std::move(message)) {}

TRITONSERVER_Error* Error::to_c() const noexcept {
    return api().TRITONSERVER_ErrorNew(code_, message_.c_str());
}

void check(TRITONSERVER_Error* error) {
    if (error == nullptr) {
        return;
    }
    Error copy(api().TRITONSERVER_ErrorCode(error), api().TRITONSERVER_ErrorMessage(error));
    api().TRITONSERVER_ErrorDelete(error);
    throw copy;
}

void ignore(TRITONSERVER_Error* error) noexcept {
    if (error != nullptr) {
        api().TRITONSERVER_ErrorDelete(error);
    }
}

}  // namespace triton_inprocess
