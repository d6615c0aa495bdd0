#include "backend/function_registry.h"

#include <pthread.h>

#include <memory>
#include <utility>

namespace triton_inprocess {

FunctionRegistry& FunctionRegistry::instance() {
    // Never destroyed: Triton's threads may still ask while the process ends.
    static auto* registry = std::make_unique<FunctionRegistry>().release();
    static const int watching_forks = pthread_atfork(before_fork, after_fork, after_fork);
    static_cast<void>(watching_forks);
    return *registry;
}

void FunctionRegistry::before_fork() noexcept {
    instance().mutex_.lock();
}

void FunctionRegistry::after_fork() noexcept {
    instance().mutex_.unlock();
}

void FunctionRegistry::add(const std::string& model_directory, Ref<PythonFunction> function) {
    const std::scoped_lock guard(mutex_);
    functions_[model_directory] = std::move(function);
}

void FunctionRegistry::remove(const std::string& model_directory, const PythonFunction& function) noexcept {
    const std::scoped_lock guard(mutex_);
    const auto found = functions_.find(model_directory);
    if (found != functions_.end() && found->second.get() == &function) {
        functions_.erase(found);
    }
}

Ref<PythonFunction> FunctionRegistry::find(const std::string& model_directory) const {
    const std::scoped_lock guard(mutex_);
    const auto found = functions_.find(model_directory);
    return found != functions_.end() ? found->second : nullptr;
}

}  // namespace triton_inprocess
