#include "bindings/copies.h"

#include <nanobind/nanobind.h>

#include <cstring>
#include <optional>
#include <string>

#include "bindings/gil.h"
#include "tensor/data_type.h"
#include "tensor/host_buffer_pool.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// Releases the GIL for a copy that takes longer than giving the GIL away and getting it back.
class ReleaseGilIfLarge {
  public:
    explicit ReleaseGilIfLarge(std::size_t byte_size) noexcept {
        if (byte_size >= large) {
            released_.emplace();
        }
    }

  private:
    static constexpr std::size_t large = std::size_t{256} << 10;
    std::optional<ReleaseGil> released_;
};

}  // namespace

Ref<Buffer> gathered(const Layout& layout, const void* source) {
    const std::size_t byte_size = layout.byte_size();
    Ref<Buffer> target = HostBufferPool::instance().allocate(byte_size);
    const ReleaseGilIfLarge released(byte_size);
    layout.gather(source, target->data());
    return target;
}

Ref<Buffer> copied(const Buffer& source) {
    Ref<Buffer> target = HostBufferPool::instance().allocate(source.byte_size());
    if (source.byte_size() != 0) {
        const ReleaseGilIfLarge released(source.byte_size());
        std::memcpy(target->data(), source.data(), source.byte_size());
    }
    return target;
}

void refuse_copy(const char* what, const Layout& layout) {
    const std::string message = std::string(what) + " of shape " +
                                shape_text(layout.shape.data(), layout.shape.size()) + " and strides " +
                                strides_text(layout) + " bytes" + (layout.swapped ? " in the other byte order" : "") +
                                " cannot become a tensor without a copy, and copy is False";
    throw nb::value_error(message.c_str());
}

}  // namespace triton_inprocess
