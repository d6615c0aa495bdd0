#include "tensor/system_error.h"

#include <cerrno>
#include <system_error>

namespace triton_inprocess {
namespace {

TRITONSERVER_Error_Code code_of(int error_number) noexcept {
    switch (error_number) {
        case ENOENT:
            return TRITONSERVER_ERROR_NOT_FOUND;
        case EEXIST:
            return TRITONSERVER_ERROR_ALREADY_EXISTS;
        case EINVAL:
        case ENAMETOOLONG:
        case EFBIG:
            return TRITONSERVER_ERROR_INVALID_ARG;
        case EACCES:
        case EPERM:
        case ENOSPC:
        case ENOMEM:
        case EMFILE:
        case ENFILE:
            return TRITONSERVER_ERROR_UNAVAILABLE;
        case EOPNOTSUPP:
        case ENOSYS:
            return TRITONSERVER_ERROR_UNSUPPORTED;
        default:
            return TRITONSERVER_ERROR_INTERNAL;
    }
}

}  // namespace

Error system_error(int error_number, const std::string& action) {
    return Error(code_of(error_number), action + ": " + std::generic_category().message(error_number));
}

}  // namespace triton_inprocess
