// A JSON text of Triton's: metadata, statistics, a configuration.
#pragma once

#include <memory>
#include <string>

#include "abi/types.h"

namespace triton_inprocess {

class Message {
  public:
    /// The library keeps the text as it is: it does not look whether it is JSON.
    explicit Message(const std::string& json);

    /// Takes over a C message.
    explicit Message(TRITONSERVER_Message* message) noexcept : message_(message) {}

    std::string to_json() const;

  private:
    struct Delete {
        void operator()(TRITONSERVER_Message* message) const noexcept;
    };
    std::unique_ptr<TRITONSERVER_Message, Delete> message_;
};

}  // namespace triton_inprocess
