#include "faults.h"

#include <type_traits>

namespace fake_triton {
namespace {

struct FunctionFact {
    const char* name;
    bool returns_error;
};

constexpr std::array<FunctionFact, function_count> facts = {{
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) \
    {#name, std::is_same_v<returns, TRITONSERVER_Error*>},
#include "abi/functions.def"
#undef TRITON_FUNCTION
}};

/// function_count for a name that is none.
std::size_t index_of(const std::string& function) noexcept {
    std::size_t index = 0;
    while (index < function_count && function != facts[index].name) {
        ++index;
    }
    return index;
}

}  // namespace

const char* name_of(Function function) noexcept {
    return facts[static_cast<std::size_t>(function)].name;
}

Faults& Faults::instance() {
    static auto* const faults = new Faults;
    return *faults;
}

bool Faults::plan(const std::string& function, std::uint64_t first, std::uint64_t count, TRITONSERVER_Error_Code code,
                  const std::string& message) {
    const std::size_t index = index_of(function);
    if (index == function_count || !facts[index].returns_error) {
        return false;
    }
    const std::scoped_lock guard(mutex_);
    Plan& plan = plans_[index];
    plan.before = first == 0 ? 0 : first - 1;
    plan.left = count;
    plan.code = code;
    plan.message = message;
    plan.armed.store(true, std::memory_order_relaxed);
    return true;
}

TRITONSERVER_Error* Faults::enter(Function function) {
    const auto index = static_cast<std::size_t>(function);
    calls_[index].fetch_add(1, std::memory_order_relaxed);
    Plan& plan = plans_[index];
    if (!plan.armed.load(std::memory_order_relaxed)) {
        return nullptr;
    }
    const std::scoped_lock guard(mutex_);
    if (!plan.armed.load(std::memory_order_relaxed)) {
        return nullptr;
    }
    if (plan.before != 0) {
        --plan.before;
        return nullptr;
    }
    if (plan.left != 0 && --plan.left == 0) {
        plan.armed.store(false, std::memory_order_relaxed);
    }
    return failure(plan.code, plan.message);
}

std::int64_t Faults::calls(const std::string& function) const noexcept {
    const std::size_t index = index_of(function);
    return index == function_count ? -1 : calls_[index].load(std::memory_order_relaxed);
}

void Faults::reset() {
    const std::scoped_lock guard(mutex_);
    for (std::size_t index = 0; index < function_count; ++index) {
        plans_[index].armed.store(false, std::memory_order_relaxed);
        calls_[index].store(0, std::memory_order_relaxed);
    }
}

}  // namespace fake_triton
