// A JSON text.
#pragma once

#include <string>
#include <utility>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_Message : fake_triton::Live<TRITONSERVER_Message> {
    static constexpr const char* type_name = "Message";

    explicit TRITONSERVER_Message(std::string text) : json(std::move(text)) {}

    const std::string json;
};
