#include "bindings/log_pipe.h"

#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "bindings/gil.h"
#include "core/log_pipe.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

nb::list read_lines(LogPipe& pipe) {
    std::vector<std::string> lines;
    {
        const ReleaseGil guard;
        lines = pipe.read_lines();
    }
    nb::list result;
    for (const std::string& line : lines) {
        result.append(nb::bytes(line.data(), line.size()));
    }
    return result;
}

void close(LogPipe& pipe) {
    const ReleaseGil guard;
    pipe.close();
}

}  // namespace

void register_log_pipe(nb::module_& module) {
    nb::class_<LogPipe>(module, "LogPipe", "A pipe that Triton logs into; emptied by a thread that needs no GIL.")
        .def(nb::init<>())
        .def_prop_ro("path", &LogPipe::path)
        .def("read_lines", &read_lines, nb::sig("def read_lines(self) -> list[bytes]"),
             "Wait for lines and return all that have come; none at all once the pipe is closed and empty.")
        .def("close", &close, "End the reading; nobody may write any more.");
}

}  // namespace triton_inprocess
