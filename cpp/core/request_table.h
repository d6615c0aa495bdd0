// Which C requests are in flight for us: how the in-process backend finds whose memory an input is.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "abi/types.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class RequestBlock;

class RequestTable {
  public:
    static RequestTable& instance();

    void insert(const TRITONSERVER_InferenceRequest* request, RequestBlock* block);
    void erase(const TRITONSERVER_InferenceRequest* request) noexcept;
    Ref<RequestBlock> find(const TRITONSERVER_InferenceRequest* request) noexcept;

  private:
    struct Entry {
        const TRITONSERVER_InferenceRequest* request;
        RequestBlock* block;
    };
    // Sharded so that threads seldom meet; within a shard a scan of a few entries beats any hashing.
    struct alignas(64) Shard {
        std::mutex mutex;
        std::vector<Entry> entries;
    };

    Shard& shard(const TRITONSERVER_InferenceRequest* request) noexcept;

    std::array<Shard, 64> shards_;
};

}  // namespace triton_inprocess
