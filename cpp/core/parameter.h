// A named value: for the load of a model, the names of a repository's models or the labels of a metric.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "abi/types.h"
#include "tensor/buffer.h"

namespace triton_inprocess {

class Parameter {
  public:
    /// Whether there are DOUBLE parameters: from C API 1.28 on. Before, their number in the ABI was that of BYTES.
    static bool doubles() noexcept;

    Parameter(std::string name, const std::string& value);
    Parameter(std::string name, std::int64_t value);
    Parameter(std::string name, bool value);
    Parameter(std::string name, double value);

    /// BYTES: Triton reads the buffer's memory whenever it uses the parameter.
    Parameter(std::string name, Ref<Buffer> bytes);

    const TRITONSERVER_Parameter* get() const noexcept { return parameter_.get(); }
    const std::string& name() const noexcept { return name_; }
    TRITONSERVER_ParameterType type() const noexcept { return type_; }

  private:
    struct Delete {
        void operator()(TRITONSERVER_Parameter* parameter) const noexcept;
    };
    using Owned = std::unique_ptr<TRITONSERVER_Parameter, Delete>;

    static Owned made(const std::string& name, TRITONSERVER_ParameterType type, const void* value);

    std::string name_;
    TRITONSERVER_ParameterType type_;
    Ref<Buffer> bytes_;
    Owned parameter_;
};

}  // namespace triton_inprocess
