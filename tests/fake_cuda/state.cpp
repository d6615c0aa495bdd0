#include "state.h"

namespace fake_cuda {

State& State::instance() {
    static auto* const state = [] {
        auto* const made = new State;
        for (int i = 0; i < most_devices; ++i) {
            CUctx_st& context = made->contexts[static_cast<std::size_t>(i)];
            context.device = i;
            context.default_stream.context = &context;
            context.thread_stream.context = &context;
        }
        return made;
    }();
    return *state;
}

CUstream State::find(CUstream handle, CUcontext context) {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    if (number == 0 || number == CU_STREAM_LEGACY) {
        return context != nullptr ? &context->default_stream : nullptr;
    }
    if (number == CU_STREAM_PER_THREAD) {
        return context != nullptr ? &context->thread_stream : nullptr;
    }
    return streams.count(handle) != 0 ? handle : nullptr;
}

std::vector<CUcontext>& pushed() {
    thread_local std::vector<CUcontext> contexts;
    return contexts;
}

}  // namespace fake_cuda
