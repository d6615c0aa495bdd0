// A shared library opened for as long as this object lives.
#pragma once

#include <string>

namespace triton_inprocess {

class Library {
  public:
    /// Opens the file at `path`; `flags` as for dlopen. Throws INVALID_ARG with the linker's reason.
    Library(const std::string& path, int flags);
    ~Library();
    Library(Library&& other) noexcept;
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    Library& operator=(Library&&) = delete;

    void* handle() const noexcept { return handle_; }
    void* symbol(const char* name) const noexcept;

    /// Leaves the library open until the process ends: Triton's threads may run in it until then.
    void keep_open() noexcept { handle_ = nullptr; }

  private:
    void* handle_;
};

}  // namespace triton_inprocess
