#include "bindings/capi/message.h"

#include <nanobind/stl/string.h>

#include "bindings/runtime.h"
#include "core/message.h"

namespace nb = nanobind;

namespace triton_inprocess {

void register_message(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Message>(module, "TRITONSERVER_Message", "A JSON text of Triton's (TRITONSERVER_Message).")
        .def(
            "__init__",
            [](Message* self, const std::string& serialized_json) {
                ensure_runtime();
                new (self) Message(serialized_json);
            },
            "serialized_json"_a,
            "A message with the given text, which is kept as it is (TRITONSERVER_MessageNewFromSerializedJson).")
        .def("serialize_to_json", &Message::to_json, "The JSON text (TRITONSERVER_MessageSerializeToJson).");
}

}  // namespace triton_inprocess
