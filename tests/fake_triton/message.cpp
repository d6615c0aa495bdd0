#include "message.h"

#include "error.h"
#include "implementation.h"

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message, const char* base,
                                                              size_t byte_size) {
    const std::string text(base, byte_size);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || (text[first] != '{' && text[first] != '[')) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "failed to parse the JSON text: neither an object nor an array");
    }
    *message = new TRITONSERVER_Message(text);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
    delete &live(message);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message, const char** base,
                                                        size_t* byte_size) {
    const std::string& json = live(message).json;
    *base = json.data();
    *byte_size = json.size();
    return nullptr;
}

}  // namespace fake_triton::implementation
