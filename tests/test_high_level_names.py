"""Every name of the high-level interface that code written for `tritonserver` uses, one by one."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import inspect
import queue
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SET_INT_PARAMETER, StartServer, add_echo, lacks

import triton_inprocess as tritonserver  # the one line that is changed

CLASSES = [
    "Server",
    "Options",
    "Model",
    "InferenceRequest",
    "InferenceResponse",
    "Tensor",
    "MemoryBuffer",
    "Metric",
    "MetricFamily",
    "RateLimiterResource",
    "ModelLoadDeviceLimit",
    "LogMessage",
]
ENUMS = [
    "DataType",
    "MemoryType",
    "DLDeviceType",
    "InstanceGroupKind",
    "LogFormat",
    "LogLevel",
    "MetricFormat",
    "MetricKind",
    "ModelBatchFlag",
    "ModelControlMode",
    "ModelTxnPropertyFlag",
    "RateLimitMode",
]
ERRORS = [
    "UnknownError",
    "InternalError",
    "NotFoundError",
    "InvalidArgumentError",
    "UnavailableError",
    "UnsupportedError",
    "AlreadyExistsError",
    "CancelledError",
]
OWN = ["MemoryAllocator", "NativeMemoryAllocator"]

MEMBERS = {
    "Server": [
        "start",
        "stop",
        "live",
        "ready",
        "metadata",
        "metrics",
        "model",
        "_ptr",
        "_server",
        "capi",
        "models",
        "load",
        "unload",
        "register_model_repository",
        "unregister_model_repository",
        "poll_model_repository",
    ],
    "Model": [
        "create_request",
        "infer",
        "async_infer",
        "metadata",
        "ready",
        "batch_properties",
        "transaction_properties",
        "statistics",
        "config",
        "name",
        "version",
        "state",
        "reason",
    ],
    "InferenceResponse": [
        "model",
        "request_id",
        "parameters",
        "outputs",
        "error",
        "classification_label",
        "final",
        "labels",
    ],
    "Tensor": [
        "data_type",
        "shape",
        "memory_buffer",
        "data_ptr",
        "memory_type",
        "memory_type_id",
        "size",
        "__dlpack__",
        "__dlpack_device__",
        "to_string_array",
        "to_bytes_array",
        "from_string_array",
        "from_bytes_array",
        "from_dlpack",
        "to_host",
        "to_device",
    ],
    "MemoryBuffer": ["data_ptr", "memory_type", "memory_type_id", "size", "owner", "from_dlpack"],
    "ResponseIterator": ["__iter__", "__next__", "cancel"],
    "AsyncResponseIterator": ["__aiter__", "__anext__", "cancel"],
    "MemoryAllocator": ["allocate", "free"],
}

OPTIONS = [
    "model_repository",
    "server_id",
    "model_control_mode",
    "startup_models",
    "strict_model_config",
    "rate_limiter_mode",
    "rate_limiter_resources",
    "pinned_memory_pool_size",
    "cuda_memory_pool_sizes",
    "cache_config",
    "cache_directory",
    "min_supported_compute_capability",
    "exit_on_error",
    "strict_readiness",
    "exit_timeout",
    "buffer_manager_thread_count",
    "model_load_thread_count",
    "model_load_retry_count",
    "model_namespacing",
    "enable_peer_access",
    "log_file",
    "log_info",
    "log_warn",
    "log_error",
    "log_format",
    "log_verbose",
    "log_callback",
    "metrics",
    "gpu_metrics",
    "cpu_metrics",
    "metrics_interval",
    "backend_directory",
    "repo_agent_directory",
    "model_load_device_limits",
    "backend_configuration",
    "host_policies",
    "metrics_configuration",
]

REQUEST = [
    "model",
    "request_id",
    "flags",
    "correlation_id",
    "priority",
    "timeout",
    "inputs",
    "parameters",
    "output_memory_type",
    "response_queue",
]

X = np.arange(3, dtype=np.float32)


@pytest.mark.parametrize("name", [*CLASSES, *OWN])
def test_classes(name: str) -> None:
    assert inspect.isclass(getattr(tritonserver, name)) or callable(getattr(tritonserver, name))
    assert name in tritonserver.__all__
    assert name in dir(tritonserver)


@pytest.mark.parametrize("name", ENUMS)
def test_enums(name: str) -> None:
    assert issubclass(getattr(tritonserver, name), enum.Enum)
    assert name in tritonserver.__all__


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    assert issubclass(getattr(tritonserver, name), tritonserver.TritonError)
    assert name in tritonserver.__all__


def test_the_version() -> None:
    assert isinstance(tritonserver.__version__, str)


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in MEMBERS.items() for name in names])
def test_members(owner: str, name: str) -> None:
    assert hasattr(getattr(tritonserver, owner), name)


def test_the_fields_of_options_come_first_and_in_order() -> None:
    assert [field.name for field in dataclasses.fields(tritonserver.Options)][: len(OPTIONS)] == OPTIONS


def test_the_fields_of_requests_come_first_and_in_order() -> None:
    assert [field.name for field in dataclasses.fields(tritonserver.InferenceRequest)][: len(REQUEST)] == REQUEST


def test_a_servers_objects(server: tritonserver.Server) -> None:
    assert server.capi is server._server
    assert isinstance(server.capi, tritonserver.capi.TRITONSERVER_Server)
    assert server._ptr() != 0
    assert isinstance(server.options, tritonserver.Options)


def test_a_model_is_loaded_with_parameters(start_server: StartServer, repository: Path) -> None:
    with start_server(model_repository=repository) as server:
        with pytest.raises(tritonserver.TritonError):
            server.load("absent", {"config": '{"backend": "identity"}'})
        with pytest.raises(tritonserver.TritonError):
            server.load(name="absent", parameters=None)


def test_the_way_of_a_request(server: tritonserver.Server) -> None:
    add_echo(server)
    model = server.model(name="echo", version=-1)
    responses: queue.SimpleQueue[Any] = queue.SimpleQueue()
    request = model.create_request(
        request_id="one",
        flags=0,
        correlation_id=7,
        priority=0,
        timeout=0,
        inputs={"x": X},
        parameters={} if lacks(SET_INT_PARAMETER) else {"text": "t", "number": 1, "truth": True},
        output_memory_type=tritonserver.MemoryType.CPU,
        response_queue=responses,
    )
    assert isinstance(request, tritonserver.InferenceRequest)
    (response,) = model.infer(inference_request=request, raise_on_error=True)
    for each in response, responses.get(timeout=20):
        assert (each.request_id, each.error, each.classification_label, each.final) == ("one", None, None, True)
        assert each.outputs["y"].to_host().tolist() == X.tolist()

    async def use() -> list[Any]:
        return [each async for each in model.async_infer(inputs={"x": X})]

    assert len(asyncio.run(use())) == 1
    assert isinstance(model.batch_properties(), tritonserver.ModelBatchFlag)
    assert isinstance(model.transaction_properties(), tritonserver.ModelTxnPropertyFlag)
    assert model.config(config_version=1)["name"] == model.metadata()["name"] == "echo"
    assert model.ready()
    assert "model_stats" in model.statistics()


def test_memory_has_its_owner() -> None:
    buffer = tritonserver.MemoryBuffer(X.ctypes.data, tritonserver.MemoryType.CPU, 0, X.nbytes, X)
    assert buffer.owner is X
    assert tritonserver.MemoryBuffer(0, tritonserver.MemoryType.CPU, 0, 0, None).owner is None
    assert tritonserver.MemoryBuffer.from_dlpack(X).data_ptr == X.ctypes.data


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        tritonserver.MemoryType.CPU,
        (tritonserver.MemoryType.CPU, 0),
        (tritonserver.DLDeviceType.CPU, 0),
    ],
)
def test_a_tensor_moves(device: Any) -> None:
    tensor = tritonserver.Tensor.from_dlpack(X)
    assert tensor.to_device(device).to_host().tolist() == X.tolist()


def test_text_goes_both_ways() -> None:
    assert tritonserver.Tensor.from_string_array(np.array(["a", "é"])).to_string_array().tolist() == ["a", "é"]
    assert tritonserver.Tensor.from_bytes_array(np.array([b"a", b"b"])).to_bytes_array().tolist() == [b"a", b"b"]


@pytest.mark.usefixtures("server")
def test_metrics_and_messages() -> None:
    family = tritonserver.MetricFamily(tritonserver.MetricKind.COUNTER, "names_total", "Names.")
    metric = tritonserver.Metric(family, {"a": "b"})
    assert tritonserver.Metric(family=family, labels=None) is not metric
    tritonserver.LogMessage(tritonserver.LogLevel.INFO, "a name")
    tritonserver.RateLimiterResource("r", 1, 0)
    tritonserver.ModelLoadDeviceLimit(tritonserver.InstanceGroupKind.CPU, 0, 0.5)
