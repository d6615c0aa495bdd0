// What the native side knows of a Python Model: where requests go, and what they are checked against.
#pragma once

#include <nanobind/intrusive/counter.h>
#include <nanobind/intrusive/ref.h>
#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/class_labels.h"
#include "core/model_signature.h"
#include "core/server.h"

namespace triton_inprocess {

class ModelHandle {
  public:
    ModelHandle(nanobind::ref<Server> server, std::string name, std::int64_t version)
        : server_(std::move(server)), name_(std::move(name)), version_(version) {}

    const Ref<ServerState>& server() const noexcept { return server_->state(); }
    const std::string& name() const noexcept { return name_; }
    std::int64_t version() const noexcept { return version_; }

    /// The model's signature, read again when models were loaded or unloaded since. Throws what the C API says of a
    /// model that is not there.
    Ref<const ModelSignature> signature();

    /// The signature as the model is now: a network front end loads models, too.
    Ref<const ModelSignature> read_signature();

    /// Where the labels of the model's classes are kept; null if it has none, as far as its signature says.
    Ref<ClassLabels> labels() {
        if (!labelled_.load(std::memory_order_relaxed)) {
            return nullptr;
        }
        const std::scoped_lock guard(mutex_);
        return labels_;
    }

  private:
    const nanobind::ref<Server> server_;
    const std::string name_;
    const std::int64_t version_;
    std::mutex mutex_;
    Ref<const ModelSignature> signature_;
    Ref<ClassLabels> labels_;
    std::atomic<bool> labelled_{false};
    std::uint64_t read_at_ = 0;  ///< The server's count of changes then.
};

void register_model_handle(nanobind::module_& module);

}  // namespace triton_inprocess
