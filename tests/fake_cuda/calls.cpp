#include "calls.h"

namespace fake_cuda {

bool known(const std::string& function) {
#define CUDA_FUNCTION(name, symbol, need, parameters, arguments) \
    if (function == #name) {                                     \
        return true;                                             \
    }
#include "abi/cuda_functions.def"
#undef CUDA_FUNCTION
    return false;
}

Calls& Calls::instance() {
    static auto* const calls = new Calls;
    return *calls;
}

bool Calls::plan(const std::string& function, std::uint64_t first, std::uint64_t count, CUresult result) {
    if (!known(function)) {
        return false;
    }
    const std::scoped_lock guard(mutex_);
    plans_[function] = {first == 0 ? 0 : first - 1, count, count == 0, result};
    return true;
}

std::int64_t Calls::count(const std::string& function) {
    if (!known(function)) {
        return -1;
    }
    const std::scoped_lock guard(mutex_);
    return counts_[function];
}

std::string Calls::log() {
    const std::scoped_lock guard(mutex_);
    return log_;
}

std::string Calls::breaches() {
    const std::scoped_lock guard(mutex_);
    return breaches_;
}

void Calls::reset() {
    const std::scoped_lock guard(mutex_);
    plans_.clear();
    counts_.clear();
    log_.clear();
    breaches_.clear();
}

bool Calls::enter(const char* function, CUresult& result) {
    const std::scoped_lock guard(mutex_);
    ++counts_[function];
    const auto found = plans_.find(function);
    if (found == plans_.end()) {
        return false;
    }
    Plan& plan = found->second;
    if (plan.before != 0) {
        --plan.before;
        return false;
    }
    result = plan.result;
    if (!plan.endless && --plan.left == 0) {
        plans_.erase(found);
    }
    return true;
}

void Calls::record(const char* function, const std::string& arguments, CUresult result) {
    const std::scoped_lock guard(mutex_);
    log_ += std::string(function) + "(" + arguments + ") = " + std::to_string(static_cast<int>(result)) + "\n";
}

void Calls::breach(const std::string& text) {
    const std::scoped_lock guard(mutex_);
    breaches_ += text + "\n";
}

}  // namespace fake_cuda
