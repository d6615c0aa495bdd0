#include "core/output_offer.h"

#include <utility>

namespace triton_inprocess {
namespace {

thread_local OutputOffer* innermost = nullptr;

}  // namespace

OutputOffer::OutputOffer(Ref<Buffer> buffer) noexcept
    : buffer_(std::move(buffer)), outer_(std::exchange(innermost, this)) {}

OutputOffer::~OutputOffer() {
    innermost = outer_;
}

Ref<Buffer> OutputOffer::take(std::size_t byte_size) noexcept {
    OutputOffer* const offer = innermost;
    // Triton releases only what has an address.
    if (offer == nullptr || !offer->buffer_ || offer->buffer_->data() == nullptr || byte_size == 0 ||
        offer->buffer_->byte_size() != byte_size) {
        return nullptr;
    }
    offer->taken_ = true;
    return std::move(offer->buffer_);
}

}  // namespace triton_inprocess
