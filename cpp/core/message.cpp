#include "core/message.h"

#include <cstddef>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

// The library parses by recursion, without a limit of its own: deeper texts would exhaust the stack.
constexpr std::size_t deepest = 1000;

void check_depth(const std::string& json) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > deepest) {
                throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                            "the JSON text is nested more than " + std::to_string(deepest) + " levels deep");
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
}

}  // namespace

void Message::Delete::operator()(TRITONSERVER_Message* message) const noexcept {
    ignore(api().TRITONSERVER_MessageDelete(message));
}

Message::Message(const std::string& json) {
    check_depth(json);
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
