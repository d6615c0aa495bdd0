"""A session of what users' low-level code does today, unchanged but for its import line."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import write_identity
from helpers_lifetime import run_script

SETUP = """
import asyncio, concurrent.futures, ctypes, json, os, queue, shutil, sys, threading, time
import numpy as np
from triton_inprocess.capi import (
    TRITONSERVER_BufferAttributes,
    TRITONSERVER_DataType,
    TRITONSERVER_InferenceRequest,
    TRITONSERVER_InferenceTrace,
    TRITONSERVER_InferenceTraceActivity,
    TRITONSERVER_InferenceTraceLevel,
    TRITONSERVER_LogFormat,
    TRITONSERVER_LogLevel,
    TRITONSERVER_MemoryType,
    TRITONSERVER_Metric,
    TRITONSERVER_MetricFamily,
    TRITONSERVER_MetricFormat,
    TRITONSERVER_MetricKind,
    TRITONSERVER_ModelBatchFlag,
    TRITONSERVER_ModelControlMode,
    TRITONSERVER_ModelIndexFlag,
    TRITONSERVER_ModelTxnPropertyFlag,
    TRITONSERVER_Parameter,
    TRITONSERVER_ParameterType,
    TRITONSERVER_RateLimitMode,
    TRITONSERVER_RequestFlag,
    TRITONSERVER_RequestReleaseFlag,
    TRITONSERVER_ResponseAllocator,
    TRITONSERVER_ResponseCompleteFlag,
    TRITONSERVER_Server,
    TRITONSERVER_ServerOptions,
    InvalidArgumentError, NotFoundError, TritonError, UnsupportedError,
)

REPOSITORY = os.environ["TEST_REPOSITORY"]

def server_options(mode=TRITONSERVER_ModelControlMode.POLL):
    options = TRITONSERVER_ServerOptions()
    options.set_server_id("testing_server")
    options.set_min_supported_compute_capability(7.0)
    options.set_model_repository_path(REPOSITORY)
    options.set_model_control_mode(mode)
    options.set_backend_directory(os.environ["TEST_BACKENDS"])
    options.set_strict_model_config(True)
    options.set_strict_readiness(True)
    options.set_exit_on_error(True)
    options.set_exit_timeout(30)
    options.set_rate_limiter_mode(TRITONSERVER_RateLimitMode.OFF)
    options.set_pinned_memory_pool_byte_size(1 << 20)
    options.set_model_load_thread_count(2)
    options.set_buffer_manager_thread_count(2)
    options.set_metrics(True)
    options.set_gpu_metrics(False)
    options.set_log_info(False)
    options.set_log_warn(False)
    options.set_log_error(False)
    options.set_log_verbose(0)
    options.set_log_format(TRITONSERVER_LogFormat.ISO8601)
    return options

INPUT = (ctypes.c_int32 * 4)(5, 6, 7, 8)

def new_request(server, name="identity", with_data=True):
    request = TRITONSERVER_InferenceRequest(server, name, -1)
    request.id = "the request"
    request.add_input("INPUT0", TRITONSERVER_DataType.INT32, [1, 4])
    if with_data:
        request.append_input_data(
            "INPUT0", ctypes.addressof(INPUT), ctypes.sizeof(INPUT), TRITONSERVER_MemoryType.CPU, 0)
    return request

def values_of(response, index=0):
    name, data_type, shape, address, byte_size, memory_type, memory_type_id, *user_object = response.output(index)
    target = (ctypes.c_int32 * (byte_size // 4))()
    ctypes.memmove(ctypes.addressof(target), address, byte_size)
    return list(target)

buffers = {}

def alloc_fn(allocator, tensor_name, byte_size, memory_type, memory_type_id, user_object):
    buffer = ctypes.create_string_buffer(byte_size)
    buffers[ctypes.addressof(buffer)] = buffer
    return ctypes.addressof(buffer), buffer, TRITONSERVER_MemoryType.CPU, 0

def release_fn(allocator, buffer, buffer_user_object, byte_size, memory_type, memory_type_id):
    assert ctypes.addressof(buffer_user_object) == buffer
    assert ctypes.sizeof(buffer_user_object) == byte_size
    del buffers[buffer]
"""

SESSIONS = {
    "a server's information": """
server = TRITONSERVER_Server(server_options())
assert server.is_live() and server.is_ready() and server.model_is_ready("identity", -1)
assert server.model_is_ready("identity", 1) and not server.model_is_ready("nowhere", -1)
flags, voidp = server.model_batch_properties("identity", -1)
assert server.model_batch_properties("identity", -1) == (int(TRITONSERVER_ModelBatchFlag.FIRST_DIM), 0)
assert server.model_transaction_properties("identity", -1) == (int(TRITONSERVER_ModelTxnPropertyFlag.ONE_TO_ONE), 0)
assert server.model_transaction_properties("stream", -1) == (int(TRITONSERVER_ModelTxnPropertyFlag.DECOUPLED), 0)
metadata = json.loads(server.metadata().serialize_to_json())
assert metadata["name"] == "testing_server" and "extensions" in metadata and "version" in metadata
metadata = json.loads(server.model_metadata("identity", -1).serialize_to_json())
assert metadata["name"] == "identity" and metadata["inputs"][0]["name"] == "INPUT0"
statistics = json.loads(server.model_statistics("identity", -1).serialize_to_json())
assert statistics["model_stats"][0]["name"] == "identity"
config = json.loads(server.model_config("identity", -1, 1).serialize_to_json())
assert config["name"] == "identity"
index = json.loads(server.model_index(TRITONSERVER_ModelIndexFlag.READY).serialize_to_json())
assert {each["name"] for each in index} == {"identity", "stream"}
metrics = server.metrics()
assert "nv_" in metrics.formatted(TRITONSERVER_MetricFormat.PROMETHEUS)
try:
    server.model_metadata("nowhere", -1)
    raise SystemExit("no error")
except NotFoundError:
    pass
""",
    "polling": """
server = TRITONSERVER_Server(server_options())
os.rename(f"{REPOSITORY}/identity", f"{REPOSITORY}/identity_before")
os.rename(f"{REPOSITORY}/../extra", f"{REPOSITORY}/extra")
os.rename(f"{REPOSITORY}/identity_before", f"{REPOSITORY}/identity")
server.poll_model_repository()
assert server.model_is_ready("extra", 1)
try:
    server.load_model("extra")
    raise SystemExit("no error")
except TritonError:
    pass
os.rename(f"{REPOSITORY}/extra", f"{REPOSITORY}/../extra")
server.poll_model_repository()
for _ in range(1000):
    if not server.model_is_ready("extra", 1):
        break
    time.sleep(0.01)
assert not server.model_is_ready("extra", 1)
""",
    "explicit control": """
server = TRITONSERVER_Server(server_options(TRITONSERVER_ModelControlMode.EXPLICIT))
assert not server.model_is_ready("identity", 1)
server.load_model("identity")
assert server.model_is_ready("identity", 1)
config = json.loads(server.model_config("identity", 1, 1).serialize_to_json())
config["max_batch_size"] = 32
server.load_model_with_parameters("identity", [TRITONSERVER_Parameter("config", json.dumps(config))])
assert json.loads(server.model_config("identity", 1, 1).serialize_to_json())["max_batch_size"] == 32
server.unload_model("identity")
for _ in range(1000):
    if not server.model_is_ready("identity", 1):
        break
    time.sleep(0.01)
server.load_model("identity")
server.unload_model_and_dependents("identity")
server.unregister_model_repository(REPOSITORY)
try:
    server.load_model("identity")
    raise SystemExit("no error")
except TritonError:
    pass
server.register_model_repository(REPOSITORY, [TRITONSERVER_Parameter("identity", "renamed")])
index = json.loads(server.model_index(0).serialize_to_json())
assert "renamed" in {each["name"] for each in index}
""",
    "a request's properties": """
server = TRITONSERVER_Server(server_options())
request = TRITONSERVER_InferenceRequest(server, model_name="identity", model_version=-1)
assert (request.id, request.flags, request.correlation_id, request.priority, request.timeout_microseconds) == (
    "", 0, 0, 0, 0)
request.id = "other"
request.flags = TRITONSERVER_RequestFlag.SEQUENCE_START | TRITONSERVER_RequestFlag.SEQUENCE_END
request.correlation_id = 2
request.priority = 3
request.timeout_microseconds = 4
assert (request.id, request.correlation_id, request.timeout_microseconds) == ("other", 2, 4)
assert request.priority == 0  # for Triton, what a model without priority levels is told
assert request.flags == 3
request.correlation_id_string = "a sequence"
assert request.correlation_id_string == "a sequence"
request.add_input("INPUT0", TRITONSERVER_DataType.INT32, (1, 4))
request.remove_input("INPUT0")
request.add_raw_input("RAW")
request.remove_all_inputs()
request.add_input(name="INPUT0", data_type=TRITONSERVER_DataType.INT32, shape=np.array((1, 4), np.int64))
request.append_input_data("INPUT0", ctypes.addressof(INPUT), 16, TRITONSERVER_MemoryType.CPU, 0)
request.remove_all_input_data("INPUT0")
attributes = TRITONSERVER_BufferAttributes()
attributes.memory_type = TRITONSERVER_MemoryType.CPU
attributes.memory_type_id = 0
attributes.byte_size = 16
request.append_input_data_with_buffer_attributes("INPUT0", ctypes.addressof(INPUT), attributes)
request.append_input_data_with_host_policy(
    "INPUT0", ctypes.addressof(INPUT), 16, TRITONSERVER_MemoryType.CPU, 0, "host_policy_name")
request.add_requested_output("OUTPUT0")
request.remove_requested_output("OUTPUT0")
request.add_requested_output("OUTPUT0")
request.remove_all_requested_outputs()
for setter, value in (
    ("set_string_parameter", "s"), ("set_int_parameter", 1),
    ("set_bool_parameter", True), ("set_double_parameter", 0.5),
):
    try:
        getattr(request, setter)("key", value)
    except UnsupportedError as error:
        assert "C API" in str(error)
""",
    "an inference with an allocator and callbacks": """
server = TRITONSERVER_Server(server_options())
allocator = TRITONSERVER_ResponseAllocator(
    alloc_function=alloc_fn, release_function=release_fn, start_function=lambda allocator, user_object: None)
def query(allocator, user_object, tensor_name, byte_size, memory_type, memory_type_id):
    return TRITONSERVER_MemoryType.CPU, 0
def describe(allocator, tensor_name, buffer_attributes, user_object, buffer_user_object):
    buffer_attributes.memory_type = TRITONSERVER_MemoryType.CPU
    buffer_attributes.byte_size = ctypes.sizeof(buffer_user_object)
    return buffer_attributes
allocator.set_query_function(query)
allocator.set_buffer_attributes_function(describe)
released, responses = queue.Queue(), queue.Queue()
def request_release(request, flags, user_object):
    assert flags == TRITONSERVER_RequestReleaseFlag.ALL
    user_object.put(request)
def response_complete(response, flags, user_object):
    assert flags == TRITONSERVER_ResponseCompleteFlag.FINAL
    user_object.put(response)
request = new_request(server)
request.set_release_callback(request_release, released)
request.set_response_callback(allocator, None, response_complete, responses)
server.infer_async(request)
response = responses.get(timeout=20)
assert released.get(timeout=20) is request
response.throw_if_response_error()
assert response.model == ("identity", 1)
assert response.id == "the request"
assert response.parameter_count == 0
assert response.output_count == 1
name, data_type, shape, address, byte_size, memory_type, memory_type_id, buffer = response.output(0)
assert (name, data_type, tuple(shape), byte_size, memory_type, memory_type_id) == (
    "OUTPUT0", TRITONSERVER_DataType.INT32, (1, 4), 16, TRITONSERVER_MemoryType.CPU, 0)
assert ctypes.addressof(buffer) == address and address in buffers
assert values_of(response) == [5, 6, 7, 8]
del response
for _ in range(1000):
    if not buffers:
        break
    time.sleep(0.01)
assert not buffers
""",
    "an inference without an allocator": """
server = TRITONSERVER_Server(server_options())
request = new_request(server)
future = concurrent.futures.Future()
request.get_next_response(future)
server.infer_async(request, None)
response, flags = future.result(20)
assert flags == TRITONSERVER_ResponseCompleteFlag.FINAL
assert len(response.output(0)) == 7
assert values_of(response) == [5, 6, 7, 8]
assert response.output_classification_label(0, 0) in ("", None)
async def main():
    request = new_request(server)
    future = asyncio.get_running_loop().create_future()
    request.get_next_response(future)
    server.infer_async(request=request)
    response, flags = await asyncio.wait_for(future, 20)
    return values_of(response)
assert asyncio.run(main()) == [5, 6, 7, 8]
""",
    "a decoupled model": """
server = TRITONSERVER_Server(server_options())
request = new_request(server, "stream")
values, last = [], False
server.infer_async(request)
while not last:
    future = concurrent.futures.Future()
    request.get_next_response(future)
    response, flags = future.result(20)
    last = flags == TRITONSERVER_ResponseCompleteFlag.FINAL
    if response is not None and response.output_count:
        values.append(values_of(response))
        if response.parameter_count:
            name, kind, value = response.parameter(0)
            assert (name, kind, value) == ("index", TRITONSERVER_ParameterType.INT, len(values) - 1)
assert values == [[5, 6, 7, 8]] * 3
""",
    "an error": """
server = TRITONSERVER_Server(server_options())
request = new_request(server, with_data=False)
try:
    server.infer_async(request)
    future = concurrent.futures.Future()
    request.get_next_response(future)
    future.result(20)[0].throw_if_response_error()
    raise SystemExit("no error")
except TritonError:
    pass
for wrong in (lambda: TRITONSERVER_InferenceRequest(server, "nowhere", -1), lambda: request.remove_input("nowhere")):
    try:
        wrong()
        raise SystemExit("no error")
    except (NotFoundError, InvalidArgumentError):
        pass
""",
    "a trace": """
server = TRITONSERVER_Server(server_options())
activities, traces = [], queue.Queue()
def activity(trace, activity, timestamp_ns, user_object):
    assert timestamp_ns > 0
    user_object.append(activity)
def release(trace, user_object):
    traces.put(trace)
trace = TRITONSERVER_InferenceTrace(
    level=TRITONSERVER_InferenceTraceLevel.TIMESTAMPS, parent_id=123, activity_function=activity,
    release_function=release, trace_userp=activities)
request = new_request(server)
server.infer_async(request, trace)
future = concurrent.futures.Future()
request.get_next_response(future)
assert values_of(future.result(20)[0]) == [5, 6, 7, 8]
released = traces.get(timeout=20)
assert released.id == trace.id and released.parent_id == 123
assert (released.model_name, released.model_version) == ("identity", 1)
assert TRITONSERVER_InferenceTraceActivity.REQUEST_START in activities
assert TRITONSERVER_InferenceTraceActivity.REQUEST_END in activities
tensors = []
def tensor_activity(trace, activity, name, data_type, base, byte_size, shape, memory_type, memory_type_id, user_object):
    target = (ctypes.c_int32 * 4)()
    ctypes.memmove(ctypes.addressof(target), base, byte_size)
    tensors.append((name, data_type, list(shape), list(target)))
trace = TRITONSERVER_InferenceTrace(
    TRITONSERVER_InferenceTraceLevel.TIMESTAMPS | TRITONSERVER_InferenceTraceLevel.TENSORS, 0, activity,
    tensor_activity, release, activities)
request = new_request(server)
server.infer_async(request, trace)
traces.get(timeout=20)
assert ("INPUT0", TRITONSERVER_DataType.INT32, [1, 4], [5, 6, 7, 8]) in tensors
assert ("OUTPUT0", TRITONSERVER_DataType.INT32, [1, 4], [5, 6, 7, 8]) in tensors
""",
    "metrics of one's own": """
server = TRITONSERVER_Server(server_options())
family = TRITONSERVER_MetricFamily(TRITONSERVER_MetricKind.GAUGE, "my_gauge", "its description")
metric = TRITONSERVER_Metric(family, [TRITONSERVER_Parameter("label", "value")])
metric.set_value(5)
assert metric.value == 5.0
metric.increment(2)
metric.set_value(metric.value + 3)
assert metric.value == 10.0
assert metric.kind == TRITONSERVER_MetricKind.GAUGE
text = server.metrics().formatted(TRITONSERVER_MetricFormat.PROMETHEUS)
assert 'my_gauge{label="value"} 10' in text
counter = TRITONSERVER_Metric(
    TRITONSERVER_MetricFamily(kind=TRITONSERVER_MetricKind.COUNTER, name="my_counter", description="d"), labels=[])
counter.increment(1.5)
assert counter.value == 1.5
try:
    counter.set_value(1)
    raise SystemExit("no error")
except UnsupportedError:
    pass
""",
}


@pytest.fixture(scope="module")
def environment(identity_backend: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("compatibility")
    repository = folder / "models"
    repository.mkdir()
    write_identity(repository, "identity", data_type="INT32", dims=(4,), max_batch_size=8)
    write_identity(repository, "stream", data_type="INT32", dims=(1, 4), decoupled=True, parameters={"responses": 3})
    write_identity(folder, "extra")
    return {"TEST_REPOSITORY": str(repository), "TEST_BACKENDS": str(identity_backend)}


@pytest.mark.parametrize("session", SESSIONS)
def test_todays_code_runs_unchanged(environment: dict[str, str], session: str) -> None:
    # The identity backend finds Triton's functions in the global scope, which Triton's own container has anyway.
    forwarder = "import triton_inprocess; triton_inprocess.runtime.open_forwarder()\n"
    result = run_script(forwarder + SETUP + SESSIONS[session] + "print('done')\n", environment=environment, timeout=30)
    assert result.check(within=15).output == "done\n"
    assert [line for line in result.errors.splitlines() if "NVML" not in line and "pinned" not in line] == []


def test_the_runtime_is_found_and_loaded_by_itself(environment: dict[str, str]) -> None:
    source = """
from triton_inprocess.capi import *
options = TRITONSERVER_ServerOptions()
options.set_model_repository_path(os.path.dirname(os.environ["TEST_REPOSITORY"]) + "/none")
os.makedirs(os.path.dirname(os.environ["TEST_REPOSITORY"]) + "/none", exist_ok=True)
options.set_log_info(False)
options.set_model_control_mode(TRITONSERVER_ModelControlMode.POLL)
server = TRITONSERVER_Server(options)
print(server.is_live(), TRITONSERVER_DataTypeString(TRITONSERVER_DataType.FP32), api_version() >= (1, 17))
"""
    assert run_script(source, environment=environment).check(within=15).output == "True FP32 True\n"
