#include "bindings/array_type.h"

#include <array>
#include <cstdint>

#include "tensor/dlpack.h"

namespace triton_inprocess {
namespace {

struct Kind {
    char letter;
    std::uint8_t code;  ///< DLPack's.
};

constexpr std::array<Kind, 4> kinds = {{
    {'f', dlpack::code_float},
    {'i', dlpack::code_int},
    {'u', dlpack::code_uint},
    {'b', dlpack::code_bool},
}};

constexpr std::size_t largest = 8;

}  // namespace

DataType data_type_of_array(char kind, std::size_t element_size) noexcept {
    for (const Kind& each : kinds) {
        if (each.letter == kind && element_size <= largest) {
            return dlpack::data_type_of({each.code, static_cast<std::uint8_t>(8 * element_size), 1});
        }
    }
    return TRITONSERVER_TYPE_INVALID;
}

std::string array_type_name(DataType data_type) {
    if (data_type == TRITONSERVER_TYPE_BYTES) {
        return "";
    }
    const std::uint8_t code = dlpack::type_of(data_type).code;
    for (const Kind& each : kinds) {
        if (each.code == code) {
            const std::size_t size = element_size(data_type);
            return (size == 1 ? "|" : "<") + std::string(1, each.letter) + std::to_string(size);
        }
    }
    return "";
}

}  // namespace triton_inprocess
