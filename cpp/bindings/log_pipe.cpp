#include "bindings/log_pipe.h"

#include <nanobind/stl/string.h>

#include <string>

#include "bindings/gil.h"
#include "core/log_pipe.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

bool wait(LogPipe& pipe) {
    const ReleaseGil guard;
    return pipe.wait();
}

nb::tuple take(LogPipe& pipe) {
    const LogPipe::Batch batch = pipe.take();
    nb::list lines;
    for (const std::string& line : batch.lines) {
        lines.append(nb::bytes(line.data(), line.size()));
    }
    return nb::make_tuple(lines, batch.dropped);
}

void close(LogPipe& pipe) {
    const ReleaseGil guard;
    pipe.close();
}

}  // namespace

void register_log_pipe(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<LogPipe>(module, "LogPipe", "A pipe that Triton logs into; emptied by a thread that needs no GIL.")
        .def(nb::init<std::size_t>(), "capacity"_a = LogPipe::default_capacity,
             "A pipe that holds so many bytes of lines at most; those that come when it is full are dropped.")
        .def_prop_ro("path", &LogPipe::path, "What Triton takes for a log file.")
        .def("wait", &wait, "Sleep until there is something to take; False once the pipe is closed and empty.")
        .def("take", &take, nb::sig("def take(self) -> tuple[list[bytes], int]"),
             "The lines that have come, and how many were dropped after them.")
        .def("close", &close, "End the reading; nobody may write any more.");
}

}  // namespace triton_inprocess
