#include "tensor/byte_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "tensor/system_error.h"

namespace triton_inprocess {
namespace {

struct flock request(std::int64_t byte, short type) noexcept {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
}

short type_of(ByteLock kind) noexcept {
    return kind == ByteLock::shared ? F_RDLCK : F_WRLCK;
}

}  // namespace

void lock_byte(int descriptor, std::int64_t byte, ByteLock kind) {
    struct flock lock = request(byte, type_of(kind));
    while (fcntl(descriptor, F_OFD_SETLKW, &lock) != 0) {
        if (errno != EINTR) {
            throw system_error(errno, "cannot lock a shared memory segment");
        }
    }
}

bool try_lock_byte(int descriptor, std::int64_t byte, ByteLock kind) {
    struct flock lock = request(byte, type_of(kind));
    if (fcntl(descriptor, F_OFD_SETLK, &lock) == 0) {
        return true;
    }
    if (errno == EAGAIN || errno == EACCES) {
        return false;
    }
    throw system_error(errno, "cannot lock a shared memory segment");
}

void unlock_byte(int descriptor, std::int64_t byte) noexcept {
    struct flock lock = request(byte, F_UNLCK);
    fcntl(descriptor, F_OFD_SETLK, &lock);
}

bool byte_is_locked(int descriptor, std::int64_t byte) {
    struct flock lock = request(byte, F_WRLCK);
    if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0) {
        throw system_error(errno, "cannot ask for the locks of a shared memory segment");
    }
    return lock.l_type != F_UNLCK;
}

}  // namespace triton_inprocess
