#include "registry.h"

#include <cstdint>
#include <new>

#include "breach.h"

namespace fake_triton {

Registry& Registry::instance() {
    // Never destroyed: objects may die while the process ends.
    static auto* const registry = new Registry;
    return *registry;
}

Registry::Shard& Registry::shard(const void* object) noexcept {
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object) >> 4);
    return shards_[(address * 0x9E3779B97F4A7C15ULL) >> 58];
}

void Registry::add(const void* object, const char* type) {
    Shard& target = shard(object);
    const std::scoped_lock guard(target.mutex);
    target.alive.emplace(object, type);
}

void Registry::remove(const void* object) {
    Shard& target = shard(object);
    const std::scoped_lock guard(target.mutex);
    target.dead.insert(target.alive.extract(object));
}

void Registry::require(const void* object, const char* type) {
    if (object == nullptr) {
        breach(std::string("NULL was given for a ") + type);
    }
    Shard& target = shard(object);
    const std::scoped_lock guard(target.mutex);
    const auto alive = target.alive.find(object);
    if (alive == target.alive.end()) {
        const auto dead = target.dead.find(object);
        breach(dead == target.dead.end() ? describe(object, type) + " was never made, or deleted long ago"
                                         : describe(object, dead->second) + " is deleted already");
    }
    if (std::string(alive->second) != type) {
        breach(describe(object, alive->second) + " was given for a " + type);
    }
}

std::size_t Registry::count(const std::string& type) {
    std::size_t count = 0;
    for (Shard& each : shards_) {
        const std::scoped_lock guard(each.mutex);
        for (const auto& [object, object_type] : each.alive) {
            count += type == object_type ? 1 : 0;
        }
    }
    return count;
}

void* Registry::allocate(std::size_t size) {
    return ::operator new(size);
}

void Registry::bury(void* memory) noexcept {
    Shard& target = shard(memory);
    const std::scoped_lock guard(target.mutex);
    target.graves.push_back(memory);
    if (target.graves.size() > graves_per_shard) {
        target.dead.erase(target.graves.front());
        ::operator delete(target.graves.front());
        target.graves.pop_front();
    }
}

}  // namespace fake_triton
