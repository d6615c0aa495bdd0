// Every object that the fake has handed out, by address: how a pointer is known to be alive before it is followed.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

namespace fake_triton {

class Registry {
  public:
    static Registry& instance();

    void add(const void* object, const char* type);
    void remove(const void* object);

    /// Ends the process unless `object` is alive and of that type.
    void require(const void* object, const char* type);

    std::size_t count(const std::string& type);

    /// Not inlined: the compiler would complain of an operator new that is and an operator delete that is not.
    [[gnu::noinline]] static void* allocate(std::size_t size);
    /// Takes a dead object's memory. It is given back late, so that its address tells for long that it is dead.
    void bury(void* memory) noexcept;

  private:
    static constexpr std::size_t graves_per_shard = 512;

    // Sharded: one lock for all would order whatever threads do between two calls, and so hide races from a sanitizer.
    struct Shard {
        std::mutex mutex;
        std::unordered_map<const void*, const char*> alive;
        std::unordered_map<const void*, const char*> dead;
        std::deque<void*> graves;
    };

    Shard& shard(const void* object) noexcept;

    std::array<Shard, 64> shards_;
};

}  // namespace fake_triton
