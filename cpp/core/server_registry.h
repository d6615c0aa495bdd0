// Every C server of the process, so that each is deleted only when that is safe.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "core/server_state.h"

namespace triton_inprocess {

class ServerRegistry {
  public:
    static ServerRegistry& instance();

    /// Creates and starts a C server; blocks while models load. Throws UNAVAILABLE once the interpreter ends.
    Ref<ServerState> start(const ServerOptions& options);

    /// Deletes all C servers, if every one of them is stopped and unused and none is being started: deleting one resets
    /// process-wide memory pools under the others. Otherwise it deletes none, and a later call will. Returns how many
    /// are left.
    std::size_t delete_stopped() noexcept;

    /// Stops every server that nobody stops; blocks. One that does not stop is left behind.
    void stop_all();

    /// To be called when the interpreter ends: no server is started any more. With a C server left behind, Triton's
    /// threads still run when the process ends, and the destructors of the library's globals would pull the ground from
    /// under them: a handler that runs before all of those (it is registered last) then ends the process at once, with
    /// the status it was to have.
    void prepare_exit();

  private:
    static void before_fork() noexcept;
    static void after_fork_in_parent() noexcept;
    static void after_fork_in_child() noexcept;

    std::size_t delete_stopped_locked() noexcept;

    std::mutex mutex_;
    std::size_t starting_ = 0;
    bool ending_ = false;
    bool forked_ = false;  ///< A child of a process with servers, whose threads are not here.
    std::vector<Ref<ServerState>> servers_;
};

}  // namespace triton_inprocess
