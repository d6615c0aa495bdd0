#include "bindings/runtime.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/cached_attribute.h"
#include "bindings/gil.h"
#include "core/front_end_functions.h"
#include "runtime/function_table.h"
#include "runtime/runtime.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute find_and_load("triton_inprocess.runtime", "load");

using Description = std::tuple<std::string, std::pair<std::uint32_t, std::uint32_t>, std::vector<std::string>>;

Description describe(const Runtime& runtime) {
    return {runtime.path(), {runtime.major(), runtime.minor()}, runtime.missing_functions()};
}

Description load(const std::string& path) {
    const ReleaseGil released;
    return describe(Runtime::load(path));
}

std::optional<Description> loaded() {
    const Runtime* const runtime = Runtime::loaded();
    return runtime != nullptr ? std::optional<Description>(describe(*runtime)) : std::nullopt;
}

}  // namespace

void ensure_runtime() {
    if (Runtime::loaded() == nullptr) {
        find_and_load.get()();
    }
}

void register_runtime(nb::module_& module) {
    using namespace nb::literals;
    module.def(
        "load_runtime", &load, "path"_a,
        "Open the libtritonserver at `path`. Returns its real path, the version of its C API and the names of the "
        "functions that it lacks.");
    module.def("loaded_runtime", &loaded, "What load_runtime returned, or None while no runtime is loaded.");
    module.def(
        "available", &available, "function"_a,
        "Whether the loaded library has the function of that name; False for one that this package does not know.");
    module.def(
        "open_forwarder", [](const std::string& path) { Runtime::open_forwarder(path, front_end_functions()); },
        "path"_a, "Put Triton's C names into the global scope by opening the forwarder library at `path`.");
}

}  // namespace triton_inprocess
