// A named value: of load parameters, metric labels, requests and responses.
#pragma once

#include <cstdint>
#include <string>

#include "live.h"
#include "parameter_value.h"

struct TRITONSERVER_Parameter : fake_triton::Live<TRITONSERVER_Parameter> {
    static constexpr const char* type_name = "Parameter";

    TRITONSERVER_Parameter(std::string parameter_name, fake_triton::ParameterValue parameter_value)
        : name(std::move(parameter_name)), value(std::move(parameter_value)) {}

    const std::string name;
    const fake_triton::ParameterValue value;
};
