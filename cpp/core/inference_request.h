// A request as its author sees it: it can be filled, sent, and sent again when it is completed.
#pragma once

#include <nanobind/intrusive/counter.h>

#include <cstdint>
#include <string>

#include "core/request_block.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

/// While the request is in flight, everything that would change it throws UNAVAILABLE.
class InferenceRequest : public nanobind::intrusive_base {
  public:
    /// Throws NOT_FOUND for a model or version that the server does not serve.
    InferenceRequest(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version,
                     RequestBlock::Use use);

    void set_id(const std::string& id);
    void set_flags(std::uint32_t flags);
    void set_correlation_id(std::uint64_t id);
    void set_correlation_id(const std::string& id);
    void set_priority(std::uint64_t priority);
    void set_timeout_microseconds(std::uint64_t timeout);

    /// The request reads the tensor's memory until it is released; the tensor's buffer is kept for that long.
    void add_input(const std::string& name, const Tensor& tensor);
    void remove_input(const std::string& name);
    void add_requested_output(const std::string& name);

    void set_parameter(const std::string& name, const std::string& value);
    void set_parameter(const std::string& name, std::int64_t value);
    void set_parameter(const std::string& name, bool value);
    void set_parameter(const std::string& name, double value);

    void submit(Ref<ResponseQueue> queue) { block_->submit(std::move(queue)); }
    void cancel() { block_->cancel(); }
    bool in_flight() const noexcept { return block_->in_flight(); }

    const Ref<RequestBlock>& block() const noexcept { return block_; }

  private:
    Ref<RequestBlock> block_;
};

}  // namespace triton_inprocess
