// A server as a foreign front end sees it (the package tritonfrontend): it is given the address of this object in place
// of the C server, and the forwarder library asks here what it may do with that (see front_end_functions.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "abi/types.h"
#include "core/server_state.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class FrontEnd final : public RefCounted {
  public:
    /// What its clients may do.
    struct Access {
        bool model_control = false;
        bool model_upload = false;
        bool log_settings = false;
        std::int64_t max_in_flight = 0;
    };

    FrontEnd(Ref<ServerState> server, const Access& access) : server_(std::move(server)), access_(access) {}

    /// Makes one that `find` knows, until it is forgotten.
    static Ref<FrontEnd> open(Ref<ServerState> server, const Access& access);

    /// The front end whose handle this is; null for a C server.
    static Ref<FrontEnd> find(const TRITONSERVER_Server* handle);

    /// Whether the clients of any may change what Triton logs, which it has once per process.
    static bool any_changes_log();

    /// What the front end takes for the C server. Never dereferenced by anybody.
    TRITONSERVER_Server* handle() noexcept { return reinterpret_cast<TRITONSERVER_Server*>(this); }

    const Access& access() const noexcept { return access_; }
    const Ref<ServerState>& server() const noexcept { return server_; }

    /// Takes no request any more; what is in flight is answered.
    void close() noexcept { closed_.store(true); }

    /// Only when the front end is gone: its handle may be that of another object from now on.
    void forget() noexcept;

    /// Requests that are there, being made, executed, or answered, and other calls.
    std::int64_t in_flight() const noexcept { return requests_.load() + calls_.load(); }

    /// A call that is no request: it is answered as long as there is a server.
    class Call {
      public:
        /// Throws UNAVAILABLE when the server does not run.
        explicit Call(Ref<FrontEnd> front_end);
        ~Call();
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;

        TRITONSERVER_Server* server() const noexcept { return use_.get(); }

      private:
        const Ref<FrontEnd> front_end_;
        const ServerUse use_;
    };

    /// A request; keeps the C server, too.
    class Place {
      public:
        /// Throws UNAVAILABLE when no request is taken, or none more.
        explicit Place(Ref<FrontEnd> front_end);

        TRITONSERVER_Server* server() const noexcept { return use_.get(); }

      private:
        /// Among those that are counted.
        class Count {
          public:
            explicit Count(Ref<FrontEnd> front_end);
            ~Count();
            Count(const Count&) = delete;
            Count& operator=(const Count&) = delete;

            const Ref<ServerState>& server() const noexcept { return front_end_->server_; }

          private:
            const Ref<FrontEnd> front_end_;
        };

        const Count count_;
        const ServerUse use_;  ///< Given back before it is no longer counted.
    };

  private:
    const Ref<ServerState> server_;
    const Access access_;
    std::atomic<bool> closed_{false};
    std::atomic<std::int64_t> requests_{0};
    std::atomic<std::int64_t> calls_{0};
};

}  // namespace triton_inprocess
