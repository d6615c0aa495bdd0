#include "parameter.h"

#include "implementation.h"

namespace fake_triton::implementation {

TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(const char* name, const TRITONSERVER_ParameterType type,
                                                  const void* value) {
    switch (type) {
        case TRITONSERVER_PARAMETER_STRING:
            return new TRITONSERVER_Parameter(name, std::string(static_cast<const char*>(value)));
        case TRITONSERVER_PARAMETER_INT:
            return new TRITONSERVER_Parameter(name, *static_cast<const std::int64_t*>(value));
        case TRITONSERVER_PARAMETER_BOOL:
            return new TRITONSERVER_Parameter(name, *static_cast<const bool*>(value));
        case TRITONSERVER_PARAMETER_DOUBLE:
            return new TRITONSERVER_Parameter(name, *static_cast<const double*>(value));
        case TRITONSERVER_PARAMETER_BYTES:
            break;  // they need a size: TRITONSERVER_ParameterBytesNew
    }
    return nullptr;
}

TRITONSERVER_Parameter* TRITONSERVER_ParameterBytesNew(const char* name, const void* byte_ptr, const uint64_t size) {
    // The bytes stay the caller's in the real library; reading them here shows a sanitizer that they are there.
    return new TRITONSERVER_Parameter(name,
                                      ParameterValue::bytes(std::string(static_cast<const char*>(byte_ptr), size)));
}

void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter* parameter) {
    delete &live(parameter);
}

}  // namespace fake_triton::implementation
