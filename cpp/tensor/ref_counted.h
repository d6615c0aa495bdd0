// Plain intrusive reference counting for what Triton's threads share. Python never sees these objects, so counting
// them needs no GIL.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace triton_inprocess {

class RefCounted {
  public:
    RefCounted() = default;
    RefCounted(const RefCounted&) = delete;
    RefCounted& operator=(const RefCounted&) = delete;

    void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

    void release() const noexcept {
        if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            const_cast<RefCounted*>(this)->dispose();
        }
    }

    /// Whether there is one reference only. Somebody else's may come or go meanwhile, unless that one is the caller's.
    bool unique() const noexcept { return count_.load(std::memory_order_acquire) == 1; }

  protected:
    virtual ~RefCounted() = default;

    /// Called when nobody refers to the object any more; a pooled class returns it to its pool instead.
    virtual void dispose() noexcept { delete this; }  // NOLINT(cppcoreguidelines-owning-memory)

  private:
    mutable std::atomic<std::uint32_t> count_{0};
};

template <typename T>
class Ref {
  public:
    Ref() noexcept = default;
    Ref(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
    explicit Ref(T* object) noexcept : object_(object) { retain(); }
    Ref(const Ref& other) noexcept : object_(other.object_) { retain(); }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    template <typename U, typename = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    Ref(Ref<U> other) noexcept : object_(other.detach()) {}  // NOLINT(google-explicit-constructor)
    ~Ref() {
        if (object_ != nullptr) {
            object_->release();
        }
    }
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }

    /// Takes over a reference that was given away by `detach`.
    static Ref adopt(T* object) noexcept {
        Ref result;
        result.object_ = object;
        return result;
    }

    /// Gives the reference away: whoever receives the pointer releases it.
    [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }

    T* get() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

  private:
    void retain() const noexcept {
        if (object_ != nullptr) {
            object_->retain();
        }
    }

    T* object_ = nullptr;
};

template <typename T, typename... Arguments>
Ref<T> make_ref(Arguments&&... arguments) {
    return Ref<T>(new T(std::forward<Arguments>(arguments)...));  // NOLINT(cppcoreguidelines-owning-memory)
}

}  // namespace triton_inprocess
