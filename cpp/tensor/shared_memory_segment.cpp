#include "tensor/shared_memory_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "tensor/system_error.h"

namespace triton_inprocess {
namespace {

constexpr const char* folder = "/dev/shm";
constexpr mode_t owner_only = S_IRUSR | S_IWUSR;
constexpr std::size_t longest_name = 250;

std::string path_of(const std::string& name) {
    return std::string(folder) + "/" + name;
}

/// The name by which the kernel gives the file behind a descriptor, whether it has any other or not.
std::string path_of(const FileDescriptor& descriptor) {
    return "/proc/self/fd/" + std::to_string(descriptor.number());
}

struct stat status_of(const FileDescriptor& descriptor) {
    struct stat status = {};
    if (fstat(descriptor.number(), &status) != 0) {
        throw system_error(errno, "cannot look at a shared memory segment");
    }
    return status;
}

}  // namespace

std::string SharedMemorySegment::name_of(const std::string& key) {
    const std::string name = key.substr(key.rfind('/', 0) == 0 ? 1 : 0);
    if (name.empty() || name == "." || name == ".." || name.size() > longest_name ||
        name.find('/') != std::string::npos || name.find('\0') != std::string::npos) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "the name of shared memory must have 1 to " + std::to_string(longest_name) +
                        " bytes, without a slash but for one in front of it, and not be '.' or '..', not '" + key +
                        "'");
    }
    return name;
}

SharedMemorySegment::SharedMemorySegment(FileDescriptor descriptor, Access access)
    : descriptor_(std::move(descriptor)) {
    const struct stat status = status_of(descriptor_);
    if (!S_ISREG(status.st_mode)) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the file is no shared memory");
    }
    device_ = status.st_dev;
    inode_ = status.st_ino;
    const auto byte_size = static_cast<std::size_t>(status.st_size);
    if (byte_size == 0) {
        return;
    }
    const int protection = access == Access::writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const data = mmap(nullptr, byte_size, protection, MAP_SHARED, descriptor_.number(), 0);
    if (data == MAP_FAILED) {
        throw system_error(errno, "cannot map " + std::to_string(byte_size) + " bytes of shared memory");
    }
    data_ = data;
    byte_size_ = byte_size;
}

SharedMemorySegment::SharedMemorySegment(SharedMemorySegment&& other) noexcept {
    *this = std::move(other);
}

SharedMemorySegment& SharedMemorySegment::operator=(SharedMemorySegment&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(data_, other.data_);
    std::swap(byte_size_, other.byte_size_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    return *this;
}

SharedMemorySegment::~SharedMemorySegment() {
    if (data_ != nullptr) {
        munmap(data_, byte_size_);
    }
}

SharedMemorySegment SharedMemorySegment::create(std::size_t byte_size) {
    const std::string action = "cannot create a shared memory segment of " + std::to_string(byte_size) + " bytes";
    FileDescriptor descriptor(::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, owner_only));
    if (!descriptor) {
        throw system_error(errno, action);
    }
    // What the process's mask took away.
    if (fchmod(descriptor.number(), owner_only) != 0) {
        throw system_error(errno, action);
    }
    int failure = EFBIG;
    if (byte_size <= static_cast<std::size_t>(INT64_MAX)) {
        do {
            failure = posix_fallocate(descriptor.number(), 0, static_cast<off_t>(byte_size));
        } while (failure == EINTR);
    }
    if (failure != 0) {
        throw system_error(failure, action);
    }
    return SharedMemorySegment(std::move(descriptor), Access::writable);
}

SharedMemorySegment SharedMemorySegment::open(const std::string& name, Access access) {
    // What shm_open does; that a pipe of that name is not waited for comes in addition.
    const int flags = (access == Access::writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    FileDescriptor descriptor(::open(path_of(name).c_str(), flags));
    if (!descriptor) {
        throw system_error(errno, "cannot open the shared memory '" + name + "'");
    }
    return SharedMemorySegment(std::move(descriptor), access);
}

bool SharedMemorySegment::publish(const std::string& name) {
    if (linkat(AT_FDCWD, path_of(descriptor_).c_str(), AT_FDCWD, path_of(name).c_str(), AT_SYMLINK_FOLLOW) == 0) {
        return true;
    }
    if (errno != EEXIST) {
        throw system_error(errno, "cannot give shared memory the name '" + name + "'");
    }
    return false;
}

bool SharedMemorySegment::unlink(const std::string& name) const {
    struct stat status = {};
    const std::string path = path_of(name);
    return lstat(path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_ &&
           ::unlink(path.c_str()) == 0;
}

bool SharedMemorySegment::linked() const {
    return status_of(descriptor_).st_nlink != 0;
}

void SharedMemorySegment::check() const {
    struct stat status = {};
    if (fstat(descriptor_.number(), &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "the file descriptor of a shared memory segment was closed by other code of this process");
    }
    if (static_cast<std::size_t>(status.st_size) < byte_size_) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "a shared memory segment of " + std::to_string(byte_size_) +
                                                        " bytes was cut to " + std::to_string(status.st_size));
    }
}

std::size_t SharedMemorySegment::read(void* target, std::size_t byte_size) const {
    const ssize_t count = pread(descriptor_.number(), target, byte_size, 0);
    if (count < 0) {
        throw system_error(errno, "cannot read shared memory");
    }
    return static_cast<std::size_t>(count);
}

FileDescriptor SharedMemorySegment::reopen() const {
    FileDescriptor descriptor(::open(path_of(descriptor_).c_str(), O_RDWR | O_CLOEXEC));
    if (!descriptor) {
        throw system_error(errno, "cannot open a shared memory segment once more");
    }
    return descriptor;
}

}  // namespace triton_inprocess
