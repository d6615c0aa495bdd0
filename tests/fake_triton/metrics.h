// A server's metrics at one moment.
#pragma once

#include <string>
#include <utility>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_Metrics : fake_triton::Live<TRITONSERVER_Metrics> {
    static constexpr const char* type_name = "Metrics";

    explicit TRITONSERVER_Metrics(std::string prometheus) : text(std::move(prometheus)) {}

    const std::string text;
};
