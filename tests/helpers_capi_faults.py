"""Everything that triton_inprocess.capi can do, as a program for an interpreter of its own with the fake Triton."""

from __future__ import annotations

import csv
from pathlib import Path

from fake import RunWithFake

FACTS = Path(__file__).resolve().parent / "facts" / "tritonserver_functions.tsv"
with FACTS.open(encoding="utf-8", newline="") as file:
    #: What each function of the C API returns.
    FUNCTIONS = {row["name"]: row["returns"] for row in csv.DictReader(file, delimiter="\t")}

# Everything that capi can do, each step on its own: when one fails, the others go on.
SESSION = """
import ctypes, tempfile, weakref
from triton_inprocess import capi
Level = capi.TRITONSERVER_InferenceTraceLevel
CPU = capi.TRITONSERVER_MemoryType.CPU
FP32 = capi.TRITONSERVER_DataType.FP32
OBJECTS = (*OBJECTS, "InferenceTrace", "ResponseAllocator", "BufferAttributes", "MetricFamily", "Metric", "MetricArgs")
failures = []


def attempt(action):
    try:
        return action()
    except AttributeError as error:
        assert "NoneType" in str(error), error  # of an object whose making failed
    except ti.TritonError as error:
        failures.append(error.with_traceback(None))  # which would keep everything alive


class Memory:
    def __init__(self):
        self.blocks, self.allocated, self.released = {}, 0, 0
    def alloc(self, allocator, name, byte_size, memory_type, memory_type_id, user):
        block = ctypes.create_string_buffer(max(byte_size, 1))
        self.blocks[ctypes.addressof(block)] = block
        self.allocated += 1
        return ctypes.addressof(block), None, CPU, 0
    def release(self, allocator, address, *rest):
        del self.blocks[address]
        self.released += 1
    def allocator(self):
        made = capi.TRITONSERVER_ResponseAllocator(self.alloc, self.release, lambda allocator, user: None)
        attempt(lambda: made.set_query_function(lambda a, u, n, b, kind, number: (kind, number)))
        attempt(lambda: made.set_buffer_attributes_function(lambda a, n, attributes, u, b: attributes))
        return made


def options():
    made = capi.TRITONSERVER_ServerOptions()
    made.set_model_repository_path("/")
    made.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.EXPLICIT)
    made.set_exit_timeout(5)
    return made


def fill(request):
    request.add_input("INPUT0", FP32, X.shape)
    request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, CPU, 0)


def complete(server, request, allocator=None, trace=None):
    # Sends a request and waits for both callbacks; returns the responses.
    responses, done, released = [], threading.Event(), threading.Event()
    def respond(response, flags, user):
        responses.append(response)
        if flags & capi.TRITONSERVER_ResponseCompleteFlag.FINAL:
            done.set()
    def release(request, flags, user):
        if flags & capi.TRITONSERVER_RequestReleaseFlag.ALL:
            released.set()
    request.set_response_callback(allocator, None, respond, None)
    request.set_release_callback(release, None)
    server.infer_async(request, trace)
    assert done.wait(20) and released.wait(20)
    return responses


def tracer(log, level=Level.TIMESTAMPS | Level.TENSORS):
    return capi.TRITONSERVER_InferenceTrace(
        level, 0, lambda trace, activity, time, user: log.append(activity), lambda *arguments: None,
        lambda trace, user: log.append("released"), None)


def set_options():
    made = attempt(capi.TRITONSERVER_ServerOptions)
    if made is None:
        return
    values = {
        "model_control_mode": [capi.TRITONSERVER_ModelControlMode.NONE],
        "rate_limiter_mode": [capi.TRITONSERVER_RateLimitMode.OFF],
        "rate_limiter_resource": ["r", 1, -1],
        "log_file": [os.devnull], "log_format": [capi.TRITONSERVER_LogFormat.DEFAULT],
        "model_load_device_limit": [capi.TRITONSERVER_InstanceGroupKind.GPU, 0, 0.5],
        "cuda_memory_pool_byte_size": [0, 1], "cuda_virtual_address_size": [0, 1],
        "cache_config": ["local", "{}"], "min_supported_compute_capability": [6.0],
        "backend_config": ["b", "s", "v"], "host_policy": ["p", "s", "v"], "metrics_config": ["n", "s", "v"],
    }
    booleans = ("strict", "exit_on_error", "log_info", "log_warn", "log_error", "metrics", "gpu_metrics", "cpu_metrics",
                "namespacing", "peer_access", "strict_readiness")
    texts = ("server_id", "path", "startup_model", "config_name", "directory", "log_file")
    for name in dir(made):
        if not name.startswith(("set_", "add_")):
            continue
        field = name[4:]
        default = [False] if any(field.endswith(each) or field.startswith(each) for each in booleans) else [1]
        if any(field.endswith(each) for each in texts):
            default = ["x"]
        arguments = values.get(field, default)
        attempt(lambda: getattr(made, name)(*arguments))


def small_objects():
    for value in (True, 1, 2.5, "text", b"bytes"):
        attempt(lambda: capi.TRITONSERVER_Parameter("name", value))
    attempt(lambda: capi.TRITONSERVER_Message("{}").serialize_to_json())
    attributes = attempt(capi.TRITONSERVER_BufferAttributes)
    handle = (ctypes.c_char * 64)()
    for name, value in {"memory_type": CPU, "memory_type_id": 1, "byte_size": 8,
                        "cuda_ipc_handle": ctypes.addressof(handle)}.items():
        attempt(lambda: setattr(attributes, name, value))
        attempt(lambda: getattr(attributes, name))
    for spell, value in {"DataType": FP32, "MemoryType": CPU, "ParameterType": capi.TRITONSERVER_ParameterType.INT,
                         "InstanceGroupKind": capi.TRITONSERVER_InstanceGroupKind.CPU,
                         "InferenceTraceLevel": Level.TENSORS,
                         "InferenceTraceActivity": capi.TRITONSERVER_InferenceTraceActivity.QUEUE_START}.items():
        getattr(capi, f"TRITONSERVER_{spell}String")(value)
    capi.TRITONSERVER_StringToDataType("FP32"), capi.TRITONSERVER_DataTypeByteSize(FP32)
    capi.TRITONSERVER_ErrorCodeString(ti.InternalError("x"))
    capi.TRITONSERVER_LogIsEnabled(capi.TRITONSERVER_LogLevel.INFO)
    attempt(lambda: capi.TRITONSERVER_LogMessage(capi.TRITONSERVER_LogLevel.VERBOSE, "file", 1, "message"))
    attempt(capi.api_version)


def metrics():
    kinds = capi.TRITONSERVER_MetricKind
    for kind in kinds:
        family = attempt(lambda: capi.TRITONSERVER_MetricFamily(kind, f"my_{kind}", "mine"))
        if family is None:
            continue
        attempt(lambda: family.kind)
        args = None
        if kind is kinds.HISTOGRAM:
            args = attempt(capi.TRITONSERVER_MetricArgs)
            if args is None or attempt(lambda: args.set_histogram([1.0, 2.0]) or args) is None:
                continue
        metric = attempt(lambda: capi.TRITONSERVER_Metric(family, [capi.TRITONSERVER_Parameter("a", "b")], args))
        del family
        for use in ("kind", "value", "increment", "set", "observe"):
            attempt(lambda: getattr(metric, use) if use in ("kind", "value") else getattr(metric, use)(1.0))


def talk(server):
    memory = Memory()
    allocator = attempt(memory.allocator)
    request = attempt(lambda: capi.TRITONSERVER_InferenceRequest(server, "identity", -1))
    if request is None or allocator is None:
        return memory
    for name, value in {"id": "1", "flags": 1, "correlation_id": 2, "priority": 1, "priority_uint64": 1,
                        "timeout_microseconds": 0, "correlation_id_string": "three"}.items():
        attempt(lambda: setattr(request, name, value))
        attempt(lambda: getattr(request, name))
    attempt(lambda: request.set_string_parameter("s", "t"))
    attempt(lambda: request.set_int_parameter("i", 1))
    attempt(lambda: request.set_bool_parameter("b", True))
    attempt(lambda: request.set_double_parameter("d", 1.0))
    attempt(lambda: request.add_raw_input("INPUT0"))
    attempt(request.remove_all_inputs)
    attempt(lambda: request.add_input("INPUT0", FP32, X.shape))
    attempt(lambda: request.append_input_data_with_host_policy("INPUT0", X.ctypes.data, X.nbytes, CPU, 0, "policy"))
    attempt(lambda: request.remove_all_input_data("INPUT0"))
    attributes = attempt(capi.TRITONSERVER_BufferAttributes)
    if attributes is not None:
        attempt(lambda: setattr(attributes, "byte_size", X.nbytes))
        attempt(lambda: request.append_input_data_with_buffer_attributes("INPUT0", X.ctypes.data, attributes))
    attempt(lambda: request.remove_input("INPUT0"))
    attempt(lambda: request.add_requested_output("OUTPUT0"))
    attempt(lambda: request.remove_requested_output("OUTPUT0"))
    attempt(request.remove_all_requested_outputs)
    attempt(request.remove_all_inputs)
    attempt(lambda: fill(request))
    attempt(request.is_cancelled)
    for model in ("identity", "parameters", "labels", "error", "ensemble"):
        log = []
        trace = attempt(lambda: tracer(log))
        if trace is not None:
            attempt(lambda: setattr(trace, "context", "{}"))
            for name in ("id", "parent_id", "model_name", "model_version", "request_id", "context"):
                attempt(lambda: getattr(trace, name))
            attempt(lambda: trace.report_activity(1, "mine"))
            attempt(trace.spawn_child_trace)
        if model != "identity":
            request = attempt(lambda: capi.TRITONSERVER_InferenceRequest(server, model, -1))
            if request is None or attempt(lambda: fill(request) or request) is None:
                continue
        responses = attempt(lambda: complete(server, request, allocator, trace)) or []
        for response in responses:
            attempt(response.throw_if_response_error)
            for i in range(response.parameter_count):
                attempt(lambda: response.parameter(i))
            for i in range(response.output_count):
                response.output(i), response.output_classification_label(i, 0)
    plain = attempt(lambda: capi.TRITONSERVER_InferenceTrace(1, 0, lambda *a: None, lambda *a: None, None))
    fake.delay(5_000)
    late = attempt(lambda: capi.TRITONSERVER_InferenceRequest(server, "identity", -1))
    if late is not None and attempt(lambda: fill(late) or late) is not None:
        threading.Timer(0.01, lambda: attempt(late.cancel)).start()
        fake.delay(50)
        attempt(lambda: complete(server, late, None, plain))
    fake.delay(0)
    return memory


def session():
    small_objects()
    set_options()
    metrics()
    made = attempt(options)
    server = attempt(lambda: capi.TRITONSERVER_Server(made)) if made is not None else None
    if server is None:
        return
    attempt(lambda: server.set_exit_timeout(5))
    for ask in (server.is_live, server.is_ready, server.metadata, lambda: server.model_is_ready("identity", -1),
                lambda: server.model_batch_properties("identity", -1),
                lambda: server.model_transaction_properties("identity", -1),
                lambda: server.model_metadata("identity", -1), lambda: server.model_statistics("identity", -1),
                lambda: server.model_config("identity", -1, 1), lambda: server.model_index(0),
                lambda: server.metrics().formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS),
                lambda: server.register_model_repository("/tmp", []),
                lambda: server.unregister_model_repository("/tmp"), server.poll_model_repository,
                lambda: server.load_model("labels"), lambda: server.unload_model("cached"),
                lambda: server.unload_model_and_dependents("decoupled"),
                lambda: server.load_model_with_parameters("cached", [capi.TRITONSERVER_Parameter("config", "{}")])):
        attempt(ask)
    memory = talk(server)
    assert eventually(lambda: memory.allocated == memory.released), (memory.allocated, memory.released)
    attempt(server.stop)


def left():
    # The process's own allocator stays.
    return {kind: fake.live(kind) for kind in OBJECTS if fake.live(kind) > (kind == "ResponseAllocator")}


def nothing_is_left():
    return eventually(lambda: not left())
"""

HELPERS = """
class User:
    pass


def raised(kind, action):
    # The message of the error that it raises, which must be of that class and no subclass.
    try:
        action()
    except ti.TritonError as error:
        assert type(error) is kind, (kind, type(error), error)
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def made_request(server, model="identity"):
    request = capi.TRITONSERVER_InferenceRequest(server, model, -1)
    fill(request)
    return request


ALL = capi.TRITONSERVER_RequestReleaseFlag.ALL
RESCHEDULE = capi.TRITONSERVER_RequestReleaseFlag.RESCHEDULE
FINAL = capi.TRITONSERVER_ResponseCompleteFlag.FINAL
"""


def run_clean(run_with_fake: RunWithFake, code: str, library: Path | None = None, timeout: float = 60) -> None:
    """Run the code after SESSION; nothing may be said on the standard error, also not of a callback's exception."""
    more = {} if library is None else {"library": library}
    result = run_with_fake(SESSION + HELPERS + code, timeout=timeout, **more)
    assert "ownership breach" not in result.stderr, result.stderr
    assert "Traceback" not in result.stderr, result.stderr
