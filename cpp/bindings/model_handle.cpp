#include "bindings/model_handle.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "bindings/cached_attribute.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute signature_of_config("triton_inprocess._signature", "of_config");

ModelSignature::Entry entry_of(nb::handle value) {
    const auto fields = nb::borrow<nb::tuple>(value);
    return {nb::cast<std::string>(fields[0]), nb::cast<TRITONSERVER_DataType>(fields[1]),
            nb::cast<std::vector<std::int64_t>>(fields[2]), nb::cast<bool>(fields[3]), nb::cast<bool>(fields[4])};
}

std::vector<ModelSignature::Entry> entries_of(nb::handle values) {
    std::vector<ModelSignature::Entry> entries;
    for (const nb::handle value : nb::borrow<nb::tuple>(values)) {
        entries.push_back(entry_of(value));
    }
    return entries;
}

}  // namespace

Ref<const ModelSignature> ModelHandle::signature() {
    {
        const std::scoped_lock guard(mutex_);
        if (signature_ && read_at_ == server()->model_changes()) {
            return signature_;
        }
    }
    return read_signature();
}

Ref<const ModelSignature> ModelHandle::read_signature() {
    const std::uint64_t now = server()->model_changes();
    std::string config;
    {
        const ReleaseGil guard;
        config = server_->model_config(name_, version_, 1).to_json();
    }
    const auto values = nb::borrow<nb::tuple>(signature_of_config.get()(config));
    Ref<const ModelSignature> result = make_ref<const ModelSignature>(name_, nb::cast<std::int64_t>(values[0]),
                                                                      entries_of(values[1]), entries_of(values[2]));
    const bool labelled = nb::cast<bool>(values[3]);
    const std::scoped_lock guard(mutex_);
    labels_ = labelled ? make_ref<ClassLabels>() : nullptr;
    labelled_.store(labelled);
    signature_ = result;
    read_at_ = now;
    return result;
}

void register_model_handle(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<ModelHandle>(module, "ModelHandle", "Where the requests of a Model go.")
        .def(
            "__init__",
            [](ModelHandle* self, Server& server, std::string name, std::int64_t version) {
                new (self) ModelHandle(nb::ref<Server>(&server), std::move(name), version);
            },
            "server"_a, "name"_a, "version"_a);
}

}  // namespace triton_inprocess
