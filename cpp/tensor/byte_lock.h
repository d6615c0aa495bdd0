// Locks on single bytes of a file, between processes. They belong to the open file description and the kernel takes
// them back when the last descriptor of it is closed, however its process ended: nothing is left locked by the dead,
// and whether somebody lives can be asked without process ids, which are used again and differ from container to
// container.
#pragma once

#include <cstdint>

namespace triton_inprocess {

enum class ByteLock { shared, exclusive };

/// Waits until no other description holds a lock in the way.
void lock_byte(int descriptor, std::int64_t byte, ByteLock kind);

/// As above, but returns false instead of waiting. A lock that the description has on the byte is changed to `kind`.
bool try_lock_byte(int descriptor, std::int64_t byte, ByteLock kind);

/// Without effect if it is not locked.
void unlock_byte(int descriptor, std::int64_t byte) noexcept;

/// Whether another description holds a lock on the byte.
bool byte_is_locked(int descriptor, std::int64_t byte);

}  // namespace triton_inprocess
