#include "error.h"

#include "implementation.h"

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* msg) {
    return failure(code, msg);
}

void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) {
    delete &live(error);
}

TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) {
    return live(error).code;
}

const char* TRITONSERVER_ErrorCodeString(TRITONSERVER_Error* error) {
    switch (live(error).code) {
        case TRITONSERVER_ERROR_UNKNOWN:
            return "Unknown";
        case TRITONSERVER_ERROR_INTERNAL:
            return "Internal";
        case TRITONSERVER_ERROR_NOT_FOUND:
            return "Not found";
        case TRITONSERVER_ERROR_INVALID_ARG:
            return "Invalid argument";
        case TRITONSERVER_ERROR_UNAVAILABLE:
            return "Unavailable";
        case TRITONSERVER_ERROR_UNSUPPORTED:
            return "Unsupported";
        case TRITONSERVER_ERROR_ALREADY_EXISTS:
            return "Already exists";
        case TRITONSERVER_ERROR_CANCELLED:
            return "Cancelled";
    }
    return "<invalid code>";
}

const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) {
    return live(error).message.c_str();
}

}  // namespace fake_triton::implementation
