// A request as its author sees it: it can be filled, sent, and sent again when it is completed.
#pragma once

#include <nanobind/intrusive/counter.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/buffer_attributes.h"
#include "core/request_block.h"
#include "core/trace_record.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

/// While the request is in flight, everything that would change it throws UNAVAILABLE.
class InferenceRequest : public nanobind::intrusive_base {
  public:
    /// Throws NOT_FOUND for a model or version that the server does not serve.
    InferenceRequest(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version,
                     RequestBlock::Use use);

    // What can be read, also while the request is in flight.
    std::string id();
    std::uint32_t flags();
    std::uint64_t correlation_id();
    std::string correlation_id_string();
    std::uint32_t priority();
    std::uint64_t priority_uint64();
    std::uint64_t timeout_microseconds();

    void set_id(const std::string& id);
    void set_flags(std::uint32_t flags);
    void set_correlation_id(std::uint64_t id);
    void set_correlation_id(const std::string& id);
    void set_priority(std::uint64_t priority);
    void set_priority_uint32(std::uint32_t priority);
    void set_priority_uint64(std::uint64_t priority);
    void set_timeout_microseconds(std::uint64_t timeout);

    /// An input of the tensor's type and shape. The request reads the tensor's memory until it is released; the
    /// tensor's buffer is kept for that long.
    void add_input(const std::string& name, const Tensor& tensor);

    // An input whose memory is given apart from it, by address: it must stay until the request is released.
    void add_input(const std::string& name, DataType data_type, const std::vector<std::int64_t>& shape);
    void add_raw_input(const std::string& name);
    void append_input_data(const std::string& name, const void* data, std::size_t byte_size, MemoryType memory_type,
                           std::int64_t memory_type_id);
    void append_input_data(const std::string& name, const void* data, std::size_t byte_size, MemoryType memory_type,
                           std::int64_t memory_type_id, const std::string& host_policy);
    void append_input_data(const std::string& name, const void* data, const BufferAttributes& attributes);
    void remove_all_input_data(const std::string& name);

    void remove_input(const std::string& name);
    void remove_all_inputs();
    void add_requested_output(const std::string& name);
    void remove_requested_output(const std::string& name);
    void remove_all_requested_outputs();

    void set_parameter(const std::string& key, const std::string& value);
    void set_parameter(const std::string& key, std::int64_t value);
    void set_parameter(const std::string& key, bool value);
    void set_parameter(const std::string& key, double value);

    /// What tells of the submission; with `child`, a trace that the record has spawned, below its root. Without
    /// any, the server may have one.
    void set_trace(Ref<TraceRecord> record, Ref<InferenceTrace> child = nullptr);

    /// The model's name and version are for a trace: Triton does not tell it those of a request that it refuses.
    /// With `outputs`, those go where it says.
    void submit(Ref<ResponseQueue> queue, Ref<RequestOutputs> outputs = nullptr, const std::string& model_name = {},
                std::int64_t model_version = -1);
    void submit(RequestBlock::Submission submission) { block_->submit(std::move(submission)); }
    void cancel() { block_->cancel(); }
    bool is_cancelled() { return block_->is_cancelled(); }
    bool in_flight() const noexcept { return block_->in_flight(); }

    const Ref<RequestBlock>& block() const noexcept { return block_; }

  private:
    void submit_traced(Ref<ResponseQueue> queue, Ref<RequestOutputs> outputs, TraceRecord& record,
                       const Ref<InferenceTrace>& child, const TraceRecord::Request& told);

    Ref<RequestBlock> block_;
    Ref<TraceRecord> trace_;
    Ref<InferenceTrace> child_trace_;
};

}  // namespace triton_inprocess
