#include "bindings/representation.h"

#include <string>

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

nb::str quoted(const std::string& text) {
    // Triton's text may be anything.
    return nb::repr(
        nb::str(nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"))));
}

nb::str name_of(nb::handle model) {
    // The garbage collector may have taken it.
    return model.is_valid() && nb::hasattr(model, "name") ? nb::repr(model.attr("name")) : nb::str("?");
}

}  // namespace

nb::str represent(const BoundResponse& bound) {
    const InferenceResponse& response = *bound.response;
    nb::object result;
    if (response.error) {
        result = nb::str("error={}").format(quoted(response.error->message()));
    } else {
        nb::list names;
        for (const InferenceResponse::Output& output : response.outputs) {
            names.append(nb::str(output.name.c_str(), output.name.size()));
        }
        result = nb::str("outputs={!r}").format(names);
    }
    nb::object id = nb::str("");
    if (!response.request_id.empty()) {
        id = nb::str("request_id={}, ").format(quoted(response.request_id));
    }
    return nb::str("InferenceResponse(model={}, version={}, {}{}, final={})")
        .format(name_of(bound.model), response.model_version, id, result, response.final);
}

nb::str represent(const char* type, const PendingRequest& request) {
    return nb::str("<{} of model {}, {}>")
        .format(type, name_of(request.model()), request.finished() ? "finished" : "in flight");
}

}  // namespace triton_inprocess
