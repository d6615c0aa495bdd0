// A server with one model, set as `triton_inprocess.Server` sets it.
#pragma once

#include <memory>
#include <string>

#include "abi/types.h"

namespace triton_inprocess::benchmarks {

class Server {
  public:
    Server(const std::string& model_repository, const std::string& backend_directory, std::string model_name);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    TRITONSERVER_Server* get() const noexcept { return server_; }
    const std::string& model_name() const noexcept { return model_name_; }

  private:
    std::string model_name_;
    TRITONSERVER_Server* server_ = nullptr;
};

}  // namespace triton_inprocess::benchmarks
