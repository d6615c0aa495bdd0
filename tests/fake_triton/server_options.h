// Options of a server that is to be made. What the real library leaves uninitialised has no value until it is set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_ServerOptions : fake_triton::Live<TRITONSERVER_ServerOptions> {
    static constexpr const char* type_name = "ServerOptions";

    std::string server_id = "triton";
    std::vector<std::string> repositories;
    TRITONSERVER_ModelControlMode control_mode = TRITONSERVER_MODEL_CONTROL_NONE;
    bool metrics = true;
    unsigned exit_timeout = 30;
    std::optional<unsigned> model_load_retry_count;
    std::optional<bool> peer_access;
};
