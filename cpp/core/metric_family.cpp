#include "core/metric_family.h"

#include <map>
#include <mutex>

#include "core/c_text.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

using Shared = std::shared_ptr<TRITONSERVER_MetricFamily>;

/// The C families that live, by name. The library does not count who uses a name: two C families of one name share what
/// the first to go frees. So each name has one C family here.
class Families {
  public:
    static Families& instance() {
        // Never destroyed: families may be dropped while the process ends.
        static auto* families = std::make_unique<Families>().release();
        return *families;
    }

    Shared get(TRITONSERVER_MetricKind kind, const std::string& name, const std::string& description) {
        const std::scoped_lock guard(mutex_);
        const auto found = families_.find(name);
        if (found == families_.end()) {
            families_.emplace(name, Family{make(kind, name, description), kind, description, 0});
        } else if (found->second.kind != kind || found->second.description != description) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                        "there is a metric family '" + name + "' of another kind or description");
        }
        Family& family = families_.at(name);
        ++family.users;
        return Shared(family.c_family, [name](TRITONSERVER_MetricFamily* /*unused*/) { instance().leave(name); });
    }

  private:
    struct Family {
        TRITONSERVER_MetricFamily* c_family;
        TRITONSERVER_MetricKind kind;
        std::string description;
        int users;
    };

    static TRITONSERVER_MetricFamily* make(TRITONSERVER_MetricKind kind, const std::string& name,
                                           const std::string& description) {
        TRITONSERVER_MetricFamily* family = nullptr;
        check(api().TRITONSERVER_MetricFamilyNew(&family, kind, name.c_str(), description.c_str()));
        return family;
    }

    void leave(const std::string& name) {
        const std::scoped_lock guard(mutex_);
        const auto found = families_.find(name);
        if (--found->second.users == 0) {
            ignore(api().TRITONSERVER_MetricFamilyDelete(found->second.c_family));
            families_.erase(found);
        }
    }

    std::mutex mutex_;
    std::map<std::string, Family> families_;
};

void check_name(const std::string& name) {
    // What is removed from a family of Triton's own, Triton would still write to.
    if (name.compare(0, 3, "nv_") == 0) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "the name of a metric family must not begin with nv_, which is for Triton's own: '" + name + "'");
    }
}

}  // namespace

MetricFamily::MetricFamily(TRITONSERVER_MetricKind kind, const std::string& name, const std::string& description) {
    c_text(name, "name");
    c_text(description, "description");
    check_name(name);
    family_ = Families::instance().get(kind, name, description);
}

TRITONSERVER_MetricKind MetricFamily::kind() const {
    TRITONSERVER_MetricKind kind = TRITONSERVER_METRIC_KIND_COUNTER;
    check(api().TRITONSERVER_GetMetricFamilyKind(family_.get(), &kind));
    return kind;
}

}  // namespace triton_inprocess
