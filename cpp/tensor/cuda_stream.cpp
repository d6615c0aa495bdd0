#include "tensor/cuda_stream.h"

#include "tensor/cuda_event.h"

namespace triton_inprocess {
namespace {

CUdeviceptr address(const void* pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

CUstream default_stream() noexcept {
    return reinterpret_cast<CUstream>(CU_STREAM_LEGACY);
}

/// Ordered with the default stream, in which most programs work: what somebody has put there comes first.
CUstream make_stream(const CudaDevice& device) {
    CUstream stream = nullptr;
    device.driver().check(device.functions().cuStreamCreate(&stream, CU_STREAM_DEFAULT),
                          "cuStreamCreate for " + device.name());
    return stream;
}

}  // namespace

CudaStream::CudaStream(CudaDevice& device) : device_(&device), context_(device), stream_(device.take_stream()) {
    if (stream_ == nullptr) {
        stream_ = make_stream(device);
    }
}

CudaStream::~CudaStream() {
    // After a failure something may still run that uses memory which is about to go.
    if (idle_ || device_->functions().cuStreamSynchronize(stream_) == CUDA_SUCCESS) {
        device_->keep_stream(stream_);
    } else {
        static_cast<void>(device_->functions().cuStreamDestroy(stream_));
    }
}

void CudaStream::copy(void* target, const void* source, std::size_t byte_size) {
    idle_ = false;
    device_->driver().check(device_->functions().cuMemcpyAsync(address(target), address(source), byte_size, stream_),
                            "copying " + std::to_string(byte_size) + " bytes with " + device_->name());
}

void CudaStream::copy_from(CudaDevice& other, void* target, const void* source, std::size_t byte_size) {
    idle_ = false;
    wait_for_default_stream(other, stream_);  // the other GPU's; this one's is waited for anyway
    device_->driver().check(
        device_->functions().cuMemcpyPeerAsync(address(target), device_->context(), address(source), other.context(),
                                               byte_size, stream_),
        "copying " + std::to_string(byte_size) + " bytes from " + other.name() + " to " + device_->name());
}

void CudaStream::synchronize() {
    idle_ = false;
    device_->driver().check(device_->functions().cuStreamSynchronize(stream_),
                            "waiting for a stream of " + device_->name());
    idle_ = true;
}

void wait_for_stream(CudaDevice& device, CUstream stream) {
    const CudaContext context(device);
    device.driver().check(device.functions().cuStreamSynchronize(stream), "waiting for a stream of " + device.name());
}

void wait_for_default_stream(CudaDevice& device) {
    wait_for_stream(device, default_stream());
}

void wait_for_default_stream(CudaDevice& device, CUstream consumer) {
    if (consumer == default_stream()) {
        return;  // it is the same
    }
    const CudaContext context(device);
    CudaEvent(device, default_stream()).hold_back(consumer);
}

}  // namespace triton_inprocess
