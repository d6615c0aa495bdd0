#include "core/json_depth.h"

#include <cstddef>

#include "runtime/error.h"

namespace triton_inprocess {
namespace {

constexpr std::size_t deepest = 1000;

}  // namespace

void check_json_depth(const std::string& json) {
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

}  // namespace triton_inprocess
