// Memory that the driver knows. That of a GPU is mapped twice: at its address nobody may touch it, and the GPU's side
// (the shadow) is known to the fake alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "abi/cuda.h"

namespace fake_cuda {

struct Operation;

struct Allocation {
    enum class Kind { device, pinned, imported };

    Kind kind = Kind::device;
    int device = 0;
    std::uintptr_t address = 0;
    std::size_t byte_size = 0;
    std::size_t mapped = 0;
    char* shadow = nullptr;  ///< For pinned memory, the memory itself.
    int file = -1;
    bool pooled = false;
    std::shared_ptr<Operation> made;  ///< What allocates it in a stream's order.
    std::uint64_t inode = 0;          ///< Imported memory: that of the file.
    int opens = 0;                    ///< Imported memory: how often it was opened and not closed.

    ~Allocation();
};

/// Not locked: State is.
class Memory {
  public:
    /// Null when the system has none.
    std::shared_ptr<Allocation> allocate(int device, std::size_t byte_size, bool pooled);
    std::shared_ptr<Allocation> allocate_pinned(std::size_t byte_size);
    /// Another process's, by its descriptor of the file; null when it is none.
    std::shared_ptr<Allocation> import(int device, std::size_t byte_size, std::int64_t process, int file);

    /// The allocation that has the address, or null: then it is the host's.
    std::shared_ptr<Allocation> find(std::uintptr_t address) const;
    /// Whether the range lies in one allocation, or in none.
    bool whole(std::uintptr_t address, std::size_t byte_size) const;
    /// Where the range is read and written.
    char* pointer(std::uintptr_t address) const;

    void erase(std::uintptr_t address) { allocations_.erase(address); }
    std::uint64_t count(Allocation::Kind kind) const;

  private:
    std::shared_ptr<Allocation> map(Allocation::Kind kind, int device, std::size_t byte_size, int file);

    std::map<std::uintptr_t, std::shared_ptr<Allocation>> allocations_;
};

}  // namespace fake_cuda
