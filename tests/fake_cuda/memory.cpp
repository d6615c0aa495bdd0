#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace fake_cuda {
namespace {

std::size_t rounded(std::size_t byte_size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (byte_size + page - 1) / page * page;
}

}  // namespace

Allocation::~Allocation() {
    if (kind != Kind::pinned) {
        munmap(reinterpret_cast<void*>(address), mapped);
    }
    munmap(shadow, mapped);
    if (file >= 0) {
        close(file);
    }
}

std::shared_ptr<Allocation> Memory::map(Allocation::Kind kind, int device, std::size_t byte_size, int file) {
    const std::size_t mapped = rounded(byte_size);
    void* const guarded = mmap(nullptr, mapped, PROT_NONE, MAP_SHARED, file, 0);
    void* const shadow = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (guarded == MAP_FAILED || shadow == MAP_FAILED) {
        close(file);
        return nullptr;
    }
    auto result = std::make_shared<Allocation>();
    result->kind = kind;
    result->device = device;
    result->address = reinterpret_cast<std::uintptr_t>(guarded);
    result->byte_size = byte_size;
    result->mapped = mapped;
    result->shadow = static_cast<char*>(shadow);
    result->file = file;
    allocations_[result->address] = result;
    return result;
}

std::shared_ptr<Allocation> Memory::allocate(int device, std::size_t byte_size, bool pooled) {
    const int file = memfd_create("fake_cuda", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(rounded(byte_size))) != 0) {
        close(file);
        return nullptr;
    }
    auto result = map(Allocation::Kind::device, device, byte_size, file);
    if (result) {
        result->pooled = pooled;
    }
    return result;
}

std::shared_ptr<Allocation> Memory::allocate_pinned(std::size_t byte_size) {
    const std::size_t mapped = rounded(byte_size);
    void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    auto result = std::make_shared<Allocation>();
    result->kind = Allocation::Kind::pinned;
    result->address = reinterpret_cast<std::uintptr_t>(memory);
    result->byte_size = byte_size;
    result->mapped = mapped;
    result->shadow = static_cast<char*>(memory);
    allocations_[result->address] = result;
    return result;
}

std::shared_ptr<Allocation> Memory::import(int device, std::size_t byte_size, std::int64_t process, int file) {
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
    const int own = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat facts = {};
    if (own < 0 || fstat(own, &facts) != 0 || facts.st_size < static_cast<off_t>(byte_size)) {
        close(own);
        return nullptr;
    }
    for (const auto& [address, each] : allocations_) {
        if (each->kind == Allocation::Kind::imported && each->inode == facts.st_ino) {
            close(own);
            ++each->opens;
            return each;
        }
    }
    auto result = map(Allocation::Kind::imported, device, byte_size, own);
    if (result) {
        result->inode = facts.st_ino;
        result->opens = 1;
    }
    return result;
}

std::shared_ptr<Allocation> Memory::find(std::uintptr_t address) const {
    auto next = allocations_.upper_bound(address);
    if (next == allocations_.begin()) {
        return nullptr;
    }
    const auto& candidate = std::prev(next)->second;
    return address - candidate->address < candidate->mapped ? candidate : nullptr;
}

bool Memory::whole(std::uintptr_t address, std::size_t byte_size) const {
    const auto found = find(address);
    return !found || (byte_size <= found->byte_size && address - found->address <= found->byte_size - byte_size);
}

char* Memory::pointer(std::uintptr_t address) const {
    const auto found = find(address);
    return found ? found->shadow + (address - found->address) : reinterpret_cast<char*>(address);
}

std::uint64_t Memory::count(Allocation::Kind kind) const {
    std::uint64_t result = 0;
    for (const auto& [address, each] : allocations_) {
        result += each->kind == kind ? 1 : 0;
    }
    return result;
}

}  // namespace fake_cuda
