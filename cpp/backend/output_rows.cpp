#include "backend/output_rows.h"

#include <string_view>

#include "tensor/bytes_codec.h"

namespace triton_inprocess {

OutputRows::OutputRows(const Tensor& output, std::int64_t rows) : rows_(static_cast<std::size_t>(rows)) {
    const Buffer& buffer = *output.buffer();
    data_ = static_cast<const char*>(buffer.data());
    row_size_ = rows_ == 0 ? 0 : buffer.byte_size() / rows_;
    if (output.data_type() == TRITONSERVER_TYPE_BYTES && rows_ > 1) {
        find_offsets(output);
    }
}

void OutputRows::find_offsets(const Tensor& output) {
    const std::size_t byte_size = output.buffer()->byte_size();
    const std::vector<std::string_view> elements = decode_bytes(data_, byte_size, output.element_count());
    const std::size_t row_elements = elements.size() / rows_;
    for (std::size_t row = 0; row < rows_; ++row) {
        // An element begins where its length does.
        offsets_.push_back(row_elements == 0 ? 0
                                             : static_cast<std::size_t>(elements[row * row_elements].data() - data_) -
                                                   sizeof(std::uint32_t));
    }
    offsets_.push_back(byte_size);
}

}  // namespace triton_inprocess
