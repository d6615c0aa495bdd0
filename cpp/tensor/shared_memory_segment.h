// A POSIX shared memory object and its mapping.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/file_descriptor.h"

namespace triton_inprocess {

/// Movable, and empty after a move. A name is that of the file in /dev/shm, without the slash that a key begins with.
class SharedMemorySegment {
  public:
    enum class Access { read_only, writable };

    /// The name in a name or key of the user's, which may begin with a slash; throws INVALID_ARG for what is none.
    static std::string name_of(const std::string& key);

    SharedMemorySegment() noexcept = default;
    SharedMemorySegment(SharedMemorySegment&& other) noexcept;
    SharedMemorySegment& operator=(SharedMemorySegment&& other) noexcept;
    ~SharedMemorySegment();

    /// Memory of `byte_size` bytes that has no name yet, all zero, readable by this user only. It is allocated at once:
    /// what is not there is UNAVAILABLE now instead of a SIGBUS later.
    static SharedMemorySegment create(std::size_t byte_size);

    /// Throws NOT_FOUND when there is none of that name.
    static SharedMemorySegment open(const std::string& name, Access access);

    /// Gives it a name, under which others find it whole; returns false if there is one of that name.
    bool publish(const std::string& name);

    /// Removes the name, if it still is that of this segment; returns whether it was.
    bool unlink(const std::string& name) const;

    /// Whether any name is left.
    bool linked() const;

    /// Throws UNAVAILABLE when the file behind the mapping is not what it was: made smaller, which would end in a
    /// SIGBUS, or its descriptor closed by others.
    void check() const;

    /// Copies what lies at the start of the file, which may be shorter; returns the number of bytes.
    std::size_t read(void* target, std::size_t byte_size) const;

    /// Another open file description of the same file.
    FileDescriptor reopen() const;

    /// Takes another descriptor of the same file instead.
    void replace_descriptor(FileDescriptor descriptor) noexcept { descriptor_ = std::move(descriptor); }

    void* data() const noexcept { return data_; }
    std::size_t byte_size() const noexcept { return byte_size_; }
    int descriptor() const noexcept { return descriptor_.number(); }

  private:
    SharedMemorySegment(FileDescriptor descriptor, Access access);

    FileDescriptor descriptor_;
    void* data_ = nullptr;
    std::size_t byte_size_ = 0;
    unsigned long long device_ = 0;
    unsigned long long inode_ = 0;
};

}  // namespace triton_inprocess
