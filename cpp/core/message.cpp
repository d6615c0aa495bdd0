#include "core/message.h"

#include <cstddef>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
void Message::Delete::operator()(TRITONSERVER_Message* message) const noexcept {
    ignore(api().TRITONSERVER_MessageDelete(message));
}

Message::Message(const std::string& json) {
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_MessageNewFromSerializedJson(&message, json.data(), json.size()));
    message_.reset(message);
}

std::string Message::to_json() const {
    const char* base = nullptr;
    std::size_t byte_size = 0;
    check(api().TRITONSERVER_MessageSerializeToJson(message_.get(), &base, &byte_size));
    return std::string(base, byte_size);
}

}  // namespace triton_inprocess
