#include "bindings/front_end.h"

#include <cstdint>

#include "core/front_end.h"
#include "core/server.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

struct FrontEndHandle {
    Ref<FrontEnd> front_end;
};

void open(FrontEndHandle* self, const Server& server, bool model_control, bool model_upload, bool log_settings,
          std::int64_t max_in_flight) {
    FrontEnd::Access access;
    access.model_control = model_control;
    access.model_upload = model_upload;
    access.log_settings = log_settings;
    access.max_in_flight = max_in_flight;
    new (self) FrontEndHandle{FrontEnd::open(server.state(), access)};
}

}  // namespace

void register_front_end(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<FrontEndHandle>(
        module, "FrontEnd",
        "A server for a foreign front end, which finds Triton's C functions in the global scope: "
        "what it may do, and what is in flight.")
        .def("__init__", &open, "server"_a, nb::kw_only(), "allow_model_control"_a, "allow_model_upload"_a,
             "allow_log_settings"_a, "max_in_flight"_a)
        .def_prop_ro(
            "address",
            [](const FrontEndHandle& self) { return reinterpret_cast<std::uintptr_t>(self.front_end->handle()); },
            "What the front end takes for the address of the C server.")
        .def_prop_ro(
            "in_flight", [](const FrontEndHandle& self) { return self.front_end->in_flight(); },
            "Requests that are not answered and released, and calls that have not returned.")
        .def(
            "close", [](const FrontEndHandle& self) { self.front_end->close(); },
            "Take no request any more; what is in flight is answered.")
        .def(
            "forget", [](const FrontEndHandle& self) { self.front_end->forget(); },
            "The front end is gone, and does not call any more.");
}

}  // namespace triton_inprocess
