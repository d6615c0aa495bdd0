#include "backend/input_gatherer.h"

#include <cstring>
#include <string>
#include <utility>

#include "core/request_block.h"
#include "runtime/error.h"
#include "runtime/function_table.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess {
namespace {

Ref<Buffer> share(TRITONBACKEND_Request* request, const RequestInput::Piece& piece, const Ref<InputWatch>& watch) {
    // The backend's request is the server's C request.
    const Ref<RequestBlock> block = RequestBlock::find(reinterpret_cast<const TRITONSERVER_InferenceRequest*>(request));
    if (!block) {
        return nullptr;
    }
    Ref<Buffer> whole = block->owner_of(piece.data);
    if (!whole) {
        return nullptr;
    }
    return make_ref<SharedInput>(const_cast<void*>(piece.data), piece.byte_size, std::move(whole), watch);
}

Ref<Buffer> copy_pieces(const std::vector<RequestInput>& inputs, std::size_t byte_size) {
    Ref<Buffer> buffer = HostBufferPool::instance().allocate(byte_size);
    auto* target = static_cast<char*>(buffer->data());
    for (const RequestInput& input : inputs) {
        for (const RequestInput::Piece& piece : input.pieces) {
            std::memcpy(target, piece.data, piece.byte_size);
            target += piece.byte_size;
        }
    }
    return buffer;
}

}  // namespace

RequestInput read_input(TRITONBACKEND_Request* request, const TensorSpec& spec) {
    TRITONBACKEND_Input* input = nullptr;
    check(api().TRITONBACKEND_RequestInput(request, spec.name.c_str(), &input));
    const char* name = nullptr;
    DataType data_type = TRITONSERVER_TYPE_INVALID;
    const std::int64_t* shape = nullptr;
    std::uint32_t rank = 0;
    std::uint64_t byte_size = 0;
    std::uint32_t piece_count = 0;
    check(api().TRITONBACKEND_InputProperties(input, &name, &data_type, &shape, &rank, &byte_size, &piece_count));
    if (data_type != spec.data_type) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "input '" + spec.name + "' is " + data_type_name(data_type) +
                                                        ", declared as " + data_type_name(spec.data_type));
    }
    RequestInput result;
    result.shape.assign(shape, shape + rank);
    result.pieces.reserve(piece_count);
    for (std::uint32_t i = 0; i < piece_count; ++i) {
        const void* data = nullptr;
        std::uint64_t size = 0;
        MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
        std::int64_t memory_type_id = 0;
        check(api().TRITONBACKEND_InputBuffer(input, i, &data, &size, &memory_type, &memory_type_id));
        if (memory_type == TRITONSERVER_MEMORY_GPU) {
            throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "input '" + spec.name +
                                                            "' is in GPU memory: a Python function gets "
                                                            "host memory only");
        }
        if (size != 0) {
            result.pieces.push_back({data, size});
            result.byte_size += size;
        }
    }
    return result;
}

Tensor gather_input(PythonFunction& function, const TensorSpec& spec, TRITONBACKEND_Request* const* requests,
                    const std::vector<RequestInput>& inputs, const Ref<InputWatch>& watch) {
    std::vector<std::int64_t> shape = inputs.front().shape;
    std::size_t byte_size = 0;
    std::int64_t rows = 0;
    for (const RequestInput& input : inputs) {
        byte_size += input.byte_size;
        rows += input.shape.empty() ? 0 : input.shape.front();
    }
    if (inputs.size() > 1) {
        shape.front() = rows;
    }
    Ref<Buffer> buffer;
    if (inputs.size() == 1 && inputs.front().pieces.size() == 1 && !function.copies_inputs()) {
        buffer = share(requests[0], inputs.front().pieces.front(), watch);
    }
    ByteCounts& counts = function.byte_counts();
    ByteCounts::add(buffer ? counts.inputs_shared : counts.inputs_copied, byte_size);
    if (!buffer) {
        buffer = copy_pieces(inputs, byte_size);
    }
    return Tensor(spec.data_type, std::move(shape), std::move(buffer));
}

}  // namespace triton_inprocess
