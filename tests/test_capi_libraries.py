"""Libraries older and newer than this package, made from the fake.

A process has one runtime, so each test runs an interpreter; the fake is commanded by `fake` there.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from fake import RunWithFake, fake_library, run_with_fake
from fake_triton import make_lacking
from helpers_capi_faults import FUNCTIONS, run_clean

__all__ = ["fake_library", "run_with_fake"]

#: How each function that is not in the oldest supported C API (1.17) is reached, in a library that lacks them all.
OPTIONAL_USES = {
    "TRITONSERVER_GetMetricFamilyKind": "family.kind",
    "TRITONSERVER_InferenceRequestCancel": "request.cancel()",
    "TRITONSERVER_InferenceRequestIsCancelled": "request.is_cancelled()",
    "TRITONSERVER_InferenceRequestPriorityUInt64": "request.priority_uint64",
    "TRITONSERVER_InferenceRequestSetBoolParameter": "request.set_bool_parameter('a', True)",
    "TRITONSERVER_InferenceRequestSetDoubleParameter": "request.set_double_parameter('a', 0.5)",
    "TRITONSERVER_InferenceRequestSetIntParameter": "request.set_int_parameter('a', 1)",
    "TRITONSERVER_InferenceRequestSetPriorityUInt64": "setattr(request, 'priority_uint64', 1)",
    "TRITONSERVER_InferenceRequestSetStringParameter": "request.set_string_parameter('a', 'b')",
    "TRITONSERVER_InferenceTraceContext": "trace.context",
    "TRITONSERVER_InferenceTraceReportActivity": "trace.report_activity(1, 'a')",
    "TRITONSERVER_InferenceTraceRequestId": "trace.request_id",
    "TRITONSERVER_InferenceTraceSetContext": "setattr(trace, 'context', 'a')",
    "TRITONSERVER_InferenceTraceSpawnChildTrace": "trace.spawn_child_trace()",
    "TRITONSERVER_MetricArgsNew": "capi.TRITONSERVER_MetricArgs()",
    "TRITONSERVER_MetricObserve": "metric.observe(1.0)",
    "TRITONSERVER_ServerOptionsSetCacheConfig": "made.set_cache_config('local', '{}')",
    "TRITONSERVER_ServerOptionsSetCacheDirectory": "made.set_cache_directory('/')",
    "TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize": "made.set_cuda_virtual_address_size(0, 1)",
    "TRITONSERVER_ServerOptionsSetEnablePeerAccess": "made.set_enable_peer_access(True)",
    "TRITONSERVER_ServerOptionsSetMetricsConfig": "made.set_metrics_config('a', 'b', 'c')",
    "TRITONSERVER_ServerOptionsSetModelConfigName": "made.set_model_config_name('a')",
    "TRITONSERVER_ServerOptionsSetModelLoadRetryCount": "made.set_model_load_retry_count(1)",
    "TRITONSERVER_ServerOptionsSetModelNamespacing": "made.set_model_namespacing(True)",
    "TRITONSERVER_ServerSetExitTimeout": "server.set_exit_timeout(1)",
}

#: Those that only an object of another optional function leads to: a library that lacks these alone.
OPTIONAL_USES_OF_ARGS = {
    "TRITONSERVER_MetricArgsSetHistogram": "args.set_histogram([1.0])",
    "TRITONSERVER_MetricNewWithArgs": "capi.TRITONSERVER_Metric(family, [], args)",
}

#: Its failure, and so its lack, is ignored.
OPTIONAL_WITHOUT_USE = {"TRITONSERVER_MetricArgsDelete"}


def optional_functions() -> set[str]:
    table = (Path(__file__).resolve().parent.parent / "cpp" / "abi" / "functions.def").read_text(encoding="utf-8")
    rows = re.findall(r"^TRITON_FUNCTION\(SERVER, (\w+), 1, (\d+),", table, re.MULTILINE)
    return {name for name, minor in rows if int(minor) > 17}


def test_a_library_of_the_oldest_api(run_with_fake: RunWithFake, fake_library: Path, tmp_path: Path) -> None:
    optional = optional_functions()
    assert optional == {*OPTIONAL_USES, *OPTIONAL_USES_OF_ARGS, *OPTIONAL_WITHOUT_USE}
    library = make_lacking(fake_library, tmp_path / "libtritonserver.so", optional)
    run_clean(
        run_with_fake,
        f"""
fake.set_api_version(1, 17)
assert capi.api_version() == (1, 17)
for function in {sorted(FUNCTIONS)!r}:
    assert capi.available(function) == (function not in {optional!r}), function
made = options()
server = capi.TRITONSERVER_Server(made)
request = made_request(server)
trace = tracer([])
family = capi.TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.COUNTER, "a", "b")
metric = capi.TRITONSERVER_Metric(family, [])
for function, use in {OPTIONAL_USES!r}.items():
    message = raised(ti.UnsupportedError, lambda: eval(use))
    assert f"{{function}} is not in" in message and "the first C API that has it is 1." in message, message
# Doubles have come later than bytes, and have taken their number.
raised(ti.UnsupportedError, lambda: capi.TRITONSERVER_Parameter("a", 0.5))
(response,) = complete(server, made_request(server, "parameters"))
assert "'double'" in raised(ti.UnsupportedError, response.throw_if_response_error)
# The rest works, all of it.
metric.increment(1.0)
assert metric.value == 1.0
log = []
(response,) = complete(server, request, Memory().allocator(), tracer(log))
response.throw_if_response_error()
assert eventually(lambda: "released" in log)
del response, request, trace, metric, family, made
server.stop()
assert nothing_is_left() and fake.live("Server") == 0, left()
# The session as a whole fails in the same words only.
failures.clear()
session()
assert nothing_is_left() and fake.live("Server") == 0, left()
assert all(type(error) in (ti.UnsupportedError, ti.UnavailableError, ti.InternalError, ti.InvalidArgumentError)
           for error in failures), failures
""",
        library,
    )


def test_a_library_that_lacks_metric_args_functions(
    run_with_fake: RunWithFake, fake_library: Path, tmp_path: Path
) -> None:
    absent = {*OPTIONAL_USES_OF_ARGS, *OPTIONAL_WITHOUT_USE}
    library = make_lacking(fake_library, tmp_path / "libtritonserver.so", absent)
    run_clean(
        run_with_fake,
        f"""
family = capi.TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.HISTOGRAM, "a", "b")
args = capi.TRITONSERVER_MetricArgs()
for function, use in {OPTIONAL_USES_OF_ARGS!r}.items():
    assert not capi.available(function)
    assert f"{{function}} is not in" in raised(ti.UnsupportedError, lambda: eval(use))
del args  # stays, for want of its deletion
assert fake.live("MetricArgs") == 1
del family
assert fake.live("MetricFamily") == 0
""",
        library,
    )


def test_a_library_of_tomorrow(run_with_fake: RunWithFake, fake_library: Path, tmp_path: Path) -> None:
    # The fake with one function more: a library of its own that brings the fake along.
    source = tmp_path / "tomorrow.c"
    source.write_text("int TRITONSERVER_OfTomorrow(void) { return 1; }\n")
    library = tmp_path / "libtritonserver.so"
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, source, "-Wl,--no-as-needed"]
    subprocess.run([*command, fake_library, f"-Wl,-rpath,{fake_library.parent}"], check=True)
    run_clean(
        run_with_fake,
        f"""
assert ctypes.CDLL({str(library)!r}).TRITONSERVER_OfTomorrow() == 1
fake.set_api_version(1, 99)
assert capi.api_version() == (1, 99)
assert not capi.available("TRITONSERVER_OfTomorrow") and ti.runtime.load().missing_functions == ()
session()
assert nothing_is_left() and fake.live("Server") == 0, left()
never = [name for name in {sorted(FUNCTIONS)!r} if fake.calls(name) == 0]
assert not never, never
""",
        library,
    )
