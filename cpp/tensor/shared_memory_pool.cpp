#include "tensor/shared_memory_pool.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "runtime/error.h"
#include "tensor/byte_lock.h"
#include "tensor/random_number.h"
#include "tensor/shared_memory_registry.h"

namespace triton_inprocess {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t heap_start = page;
constexpr std::uint64_t format_version = 1;
constexpr std::array<char, 8> format_magic = {'T', 'r', 'i', 't', 'P', 'o', 'o', 'l'};

// Which byte stands for what.
constexpr std::int64_t user_byte = 0;
constexpr std::int64_t operation_byte = 1;
constexpr std::int64_t first_holder_byte = 2;

struct SegmentHeader {
    std::array<char, 8> magic;
    std::uint64_t version;
    std::uint64_t segment_id;
    std::uint64_t heap_size;
    std::atomic<std::uint64_t> next_id;
};
static_assert(sizeof(SegmentHeader) <= heap_start);

/// What a process reads of the header, once: nobody may change it afterwards.
struct HeaderValues {
    std::array<char, 8> magic;
    std::uint64_t version;
    std::uint64_t segment_id;
    std::uint64_t heap_size;
};
static_assert(sizeof(HeaderValues) == offsetof(SegmentHeader, next_id));

std::string own_name() {
    constexpr const char* digits = "0123456789abcdef";
    std::string name = "triton-inprocess-";
    for (std::uint64_t number = random_number() | std::uint64_t{1} << 63; number != 0; number /= 16) {
        name += digits[number % 16];
    }
    return name;
}

bool is_pool(const SharedMemorySegment& segment) {
    std::array<char, 8> magic = {};
    return segment.read(magic.data(), magic.size()) == magic.size() && magic == format_magic;
}

/// Throws INVALID_ARG for what is no whole pool of this version.
HeaderValues read_header(const SharedMemorySegment& segment, const std::string& name) {
    const std::string what = "the shared memory '" + name + "' cannot be opened as a pool: ";
    HeaderValues values = {};
    if (segment.read(&values, sizeof(values)) != sizeof(values) || values.magic != format_magic) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    what + "it was made by something else. A SharedTensor with its key, offset and byte size opens it");
    }
    if (values.version != format_version) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    what + "its format is that of another version of triton_inprocess (" +
                        std::to_string(values.version) + ", not " + std::to_string(format_version) + ")");
    }
    if (segment.byte_size() < heap_start || values.heap_size != segment.byte_size() - heap_start ||
        values.heap_size == 0 || values.heap_size % page != 0) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, what + "it has " + std::to_string(segment.byte_size()) +
                                                        " bytes, but claims to have " + std::to_string(heap_start) +
                                                        " and " + std::to_string(values.heap_size));
    }
    return values;
}

/// Removes the segment's name if all who used it are dead.
bool remove_if_stale(const SharedMemorySegment& segment, const std::string& name) {
    if (!try_lock_byte(segment.descriptor(), user_byte, ByteLock::exclusive)) {
        return false;
    }
    segment.unlink(name);
    // Who has opened it meanwhile and waits for this lock sees that it is gone.
    unlock_byte(segment.descriptor(), user_byte);
    return true;
}

/// As above, for whatever is of that name.
void remove_if_stale_pool(const std::string& name) {
    try {
        const auto segment = SharedMemorySegment::open(name, SharedMemorySegment::Access::writable);
        if (is_pool(segment)) {
            remove_if_stale(segment, name);
        }
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
        // It is gone by now, or somebody else's: nothing of ours to remove.
    }
}

void remove_stale_pools() {
    std::error_code failure;
    for (std::filesystem::directory_iterator entry("/dev/shm", failure), end; !failure && entry != end;
         entry.increment(failure)) {
        struct stat status = {};
        if (lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
            static_cast<std::size_t>(status.st_size) > heap_start) {
            remove_if_stale_pool(entry->path().filename().string());
        }
    }
}

std::size_t heap_size_for(std::size_t byte_size) {
    if (byte_size == 0 || byte_size > static_cast<std::size_t>(INT64_MAX) - heap_start - page) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "byte_size must be positive and less than what can be addressed, not " + std::to_string(byte_size));
    }
    return (byte_size + page - 1) / page * page;
}

/// The lock that whoever changes the heap holds.
class HeapLock {
  public:
    explicit HeapLock(int descriptor) : descriptor_(descriptor) {
        lock_byte(descriptor_, operation_byte, ByteLock::exclusive);
    }
    ~HeapLock() { unlock_byte(descriptor_, operation_byte); }
    HeapLock(const HeapLock&) = delete;
    HeapLock& operator=(const HeapLock&) = delete;

  private:
    int descriptor_;
};

/// Makes the description that of a holder; returns which.
std::size_t claim(int descriptor) {
    for (std::size_t holder = 0; holder < SharedHeap::holder_count; ++holder) {
        if (try_lock_byte(descriptor, first_holder_byte + static_cast<std::int64_t>(holder), ByteLock::exclusive)) {
            return holder;
        }
    }
    throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the shared memory pool is open " +
                                                    std::to_string(SharedHeap::holder_count) +
                                                    " times already, and cannot be once more");
}

}  // namespace

/// The right to change the heap, among all threads of all processes.
class SharedMemoryPool::Operation {
  public:
    explicit Operation(SharedMemoryPool& pool) : threads_(pool.operation_mutex_), processes_(checked(pool)) {}

  private:
    static int checked(const SharedMemoryPool& pool) {
        if (pool.orphaned_) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                        "the shared memory pool '" + pool.name_ +
                            "' belongs to the process that this one was forked from: there was no place or no file "
                            "descriptor left for this one; open it by its name");
        }
        pool.segment_.check();
        return pool.segment_.descriptor();
    }

    std::scoped_lock<std::mutex> threads_;
    HeapLock processes_;
};

std::shared_ptr<SharedMemoryPool> SharedMemoryPool::create(const std::string& key, std::size_t byte_size) {
    const std::string name = key.empty() ? own_name() : SharedMemorySegment::name_of(key);
    const std::size_t heap_size = heap_size_for(byte_size);
    remove_stale_pools();
    SharedMemorySegment segment = SharedMemorySegment::create(heap_start + heap_size);
    // It has no name yet: others find it whole.
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): in place
    new (segment.data()) SegmentHeader{format_magic, format_version, random_number() | 1, heap_size, {1}};
    SharedHeap(static_cast<char*>(segment.data()) + heap_start, heap_size).format();
    lock_byte(segment.descriptor(), user_byte, ByteLock::shared);
    auto pool = std::make_shared<SharedMemoryPool>(Private(), name, std::move(segment));
    SharedMemoryRegistry::instance().add(*pool);
    if (!pool->segment_.publish(name)) {
        throw Error(TRITONSERVER_ERROR_ALREADY_EXISTS,
                    "there is shared memory named '" + name + "' already: choose another name, or open it");
    }
    return pool;
}

std::shared_ptr<SharedMemoryPool> SharedMemoryPool::open(const std::string& key) {
    const std::string name = SharedMemorySegment::name_of(key);
    SharedMemorySegment segment = SharedMemorySegment::open(name, SharedMemorySegment::Access::writable);
    read_header(segment, name);
    if (remove_if_stale(segment, name)) {
        throw Error(
            TRITONSERVER_ERROR_NOT_FOUND,
            "the shared memory pool '" + name + "' was left behind by processes that are dead; it is removed now");
    }
    lock_byte(segment.descriptor(), user_byte, ByteLock::shared);
    if (!segment.linked()) {
        throw Error(TRITONSERVER_ERROR_NOT_FOUND, "the shared memory pool '" + name + "' was just removed");
    }
    auto pool = std::make_shared<SharedMemoryPool>(Private(), name, std::move(segment));
    SharedMemoryRegistry::instance().add(*pool);
    return pool;
}

std::shared_ptr<SharedMemoryPool> SharedMemoryPool::open(const std::string& key, std::uint64_t segment_id) {
    std::shared_ptr<SharedMemoryPool> pool = SharedMemoryRegistry::instance().find(segment_id);
    if (!pool) {
        pool = open(key);
        if (pool->segment_id() != segment_id) {
            throw Error(TRITONSERVER_ERROR_NOT_FOUND, "the shared memory pool '" + pool->name() +
                                                          "' is not the one that the shared tensor lies in: that one "
                                                          "was removed, and another got its name");
        }
    }
    return pool;
}

SharedMemoryPool::SharedMemoryPool(Private /*unused*/, std::string name, SharedMemorySegment segment)
    : name_(std::move(name)),
      segment_(std::move(segment)),
      heap_size_(segment_.byte_size() - heap_start),
      heap_(static_cast<char*>(segment_.data()) + heap_start, heap_size_) {
    segment_id_ = read_header(segment_, name_).segment_id;
    const Operation operation(*this);
    claim_holder();
}

SharedMemoryPool::~SharedMemoryPool() {
    SharedMemoryRegistry::instance().remove(*this);
}

void SharedMemoryPool::claim_holder() {
    holder_ = claim(segment_.descriptor());
    SharedHeap::Holders own = {};
    own[holder_ / 64] = std::uint64_t{1} << (holder_ % 64);
    // Whoever was this holder before may have died with blocks.
    heap_.remove(own);
}

void SharedMemoryPool::drop_dead_holders() {
    const SharedHeap::Holders all = heap_.holders();
    SharedHeap::Holders dead = {};
    for (std::size_t holder = 0; holder < SharedHeap::holder_count; ++holder) {
        if (SharedHeap::contains(all, holder) && holder != holder_ &&
            !byte_is_locked(segment_.descriptor(), first_holder_byte + static_cast<std::int64_t>(holder))) {
            dead[holder / 64] |= std::uint64_t{1} << (holder % 64);
        }
    }
    if (dead != SharedHeap::Holders{}) {
        heap_.remove(dead);
    }
}

std::size_t SharedMemoryPool::free_byte_size() {
    const Operation operation(*this);
    drop_dead_holders();
    return heap_.space().free;
}

Ref<SharedBuffer> SharedMemoryPool::allocate(std::size_t byte_size) {
    Ref<SharedBuffer> buffer = make_ref<SharedBuffer>(shared_from_this(), false);
    const Operation operation(*this);
    const std::uint64_t id = static_cast<SegmentHeader*>(segment_.data())->next_id.fetch_add(1);
    const std::scoped_lock guard(held_mutex_);
    std::optional<SharedHeap::Block> block = heap_.allocate(byte_size, id, holder_);
    if (!block) {
        drop_dead_holders();
        block = heap_.allocate(byte_size, id, holder_);
    }
    if (!block) {
        const SharedHeap::Space space = heap_.space();
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "the shared memory pool '" + name_ + "' has no room for " + std::to_string(byte_size) +
                        " bytes: " + std::to_string(space.free) + " of its " + std::to_string(heap_size_) +
                        " bytes are free, and the largest tensor that fits has " + std::to_string(space.largest));
    }
    bind(*buffer, *block, block->data(), byte_size);
    return buffer;
}

Ref<SharedBuffer> SharedMemoryPool::hold(std::uint64_t id, std::uint64_t offset, std::size_t byte_size,
                                         bool read_only) {
    Ref<SharedBuffer> buffer = make_ref<SharedBuffer>(shared_from_this(), read_only);
    if (offset < heap_start || offset - heap_start > heap_size_ || byte_size > heap_size_) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the shared tensor's " + std::to_string(byte_size) +
                                                        " bytes at offset " + std::to_string(offset) +
                                                        " are not in the shared memory pool '" + name_ + "'");
    }
    const std::uint64_t data = offset - heap_start;
    const Operation operation(*this);
    // A buffer of this process that lets go of the same block does so before or after.
    const std::scoped_lock guard(held_mutex_);
    bind(*buffer, heap_.hold(id, data, byte_size, holder_), data, byte_size);
    return buffer;
}

void SharedMemoryPool::bind(SharedBuffer& buffer, const SharedHeap::Block& block, std::uint64_t data,
                            std::size_t byte_size) {
    try {
        ++held_[block.offset];
    } catch (const std::bad_alloc&) {
        heap_.release(block.offset, holder_);  // there was no entry: no other buffer needs it
        throw;
    }
    buffer.block_ = block;
    buffer.data_ = static_cast<char*>(segment_.data()) + heap_start + data;
    buffer.byte_size_ = byte_size;
    buffer.holds_ = true;
}

void SharedMemoryPool::release(const SharedHeap::Block& block) noexcept {
    const std::scoped_lock guard(held_mutex_);
    const auto count = held_.find(block.offset);
    if (--count->second != 0) {
        return;
    }
    held_.erase(count);
    if (!orphaned_) {  // what an orphan holds is its parent's
        heap_.release(block.offset, holder_);
    }
}

void SharedMemoryPool::unlink() {
    // Who removes a name holds this lock or is the last user: nobody can put another segment in its place meanwhile.
    const Operation operation(*this);
    segment_.unlink(name_);
}

void SharedMemoryPool::leave() noexcept {
    if (std::exchange(left_, true) || orphaned_) {
        return;
    }
    try {
        segment_.check();
        // Given up first and asked for then: of two who leave at once, the later sees the other gone.
        unlock_byte(segment_.descriptor(), user_byte);
        remove_if_stale(segment_, name_);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // The next one to create a pool removes it.
    }
}

void SharedMemoryPool::before_fork() noexcept {
    operation_mutex_.lock();
    held_mutex_.lock();
    if (left_ || orphaned_) {
        return;
    }
    try {
        segment_.check();
        FileDescriptor descriptor = segment_.reopen();
        const HeapLock guard(segment_.descriptor());
        lock_byte(descriptor.number(), user_byte, ByteLock::shared);
        child_holder_ = claim(descriptor.number());
        heap_.copy_holder(holder_, child_holder_);
        child_descriptor_ = std::move(descriptor);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // The child's pool says so when it is used.
    }
}

void SharedMemoryPool::after_fork_in_parent() noexcept {
    child_descriptor_ = FileDescriptor();
    held_mutex_.unlock();
    operation_mutex_.unlock();
}

void SharedMemoryPool::after_fork_in_child() noexcept {
    orphaned_ = orphaned_ || !child_descriptor_;
    holder_ = child_holder_;
    // The parent's description is closed here, so that its locks end with the parent.
    segment_.replace_descriptor(std::move(child_descriptor_));
    held_mutex_.unlock();
    operation_mutex_.unlock();
}

}  // namespace triton_inprocess
