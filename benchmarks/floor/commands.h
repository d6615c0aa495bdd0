// What the program does for a line of its input.
#pragma once

#include <string>

#include "inference.h"
#include "server.h"

namespace triton_inprocess::benchmarks {

class Commands {
  public:
    /// `server` must outlive this object.
    explicit Commands(const Server& server) : server_(server), inference_(server) {}

    /// Does what the line says and returns the answer; throws Error, saying what is wrong with the line.
    std::string serve(const std::string& line);

  private:
    const Server& server_;
    Inference inference_;
};

}  // namespace triton_inprocess::benchmarks
