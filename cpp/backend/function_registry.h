// Which Python function belongs to which folder of a private model repository.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "backend/python_function.h"

namespace triton_inprocess {

class FunctionRegistry {
  public:
    static FunctionRegistry& instance();

    void add(const std::string& model_directory, Ref<PythonFunction> function);
    /// Nothing happens when another function has taken its place.
    void remove(const std::string& model_directory, const PythonFunction& function) noexcept;

    /// Null for a folder that nobody has registered.
    Ref<PythonFunction> find(const std::string& model_directory) const;

  private:
    // A thread of Triton's may be in here while the process forks, and the child would wait for it for ever.
    static void before_fork() noexcept;
    static void after_fork() noexcept;

    mutable std::mutex mutex_;
    std::map<std::string, Ref<PythonFunction>> functions_;
};

}  // namespace triton_inprocess
