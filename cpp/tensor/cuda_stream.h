// A stream of a GPU that is the caller's for as long as this object lives; the GPU's context is the thread's meanwhile.
#pragma once

#include "tensor/cuda_context.h"
#include "tensor/cuda_device.h"

namespace triton_inprocess {

class CudaStream {
  public:
    explicit CudaStream(CudaDevice& device);
    /// Waits for what was put into the stream, unless `synchronize` did.
    ~CudaStream();
    CudaStream(const CudaStream&) = delete;
    CudaStream& operator=(const CudaStream&) = delete;

    CUstream get() const noexcept { return stream_; }
    CudaDevice& device() const noexcept { return *device_; }

    /// Puts a copy into the stream. The addresses may be of any kind and of any GPU's memory; both sides must last
    /// until the stream was waited for.
    void copy(void* target, const void* source, std::size_t byte_size);

    /// The same, from the memory of another GPU, to this stream's.
    void copy_from(CudaDevice& other, void* target, const void* source, std::size_t byte_size);

    /// Blocks until everything in the stream is done; throws what went wrong with it.
    void synchronize();

  private:
    CudaDevice* device_;
    CudaContext context_;
    CUstream stream_;
    bool idle_ = true;
};

/// Blocks until everything that `stream`, anybody's of that GPU, was given is done.
void wait_for_stream(CudaDevice& device, CUstream stream);

/// Blocks until everything that the GPU's default stream was given is done.
void wait_for_default_stream(CudaDevice& device);

/// Has what `consumer` (a stream of `device`) does from now on wait for what is in the GPU's default stream by now. The
/// calling thread does not wait.
void wait_for_default_stream(CudaDevice& device, CUstream consumer);

}  // namespace triton_inprocess
