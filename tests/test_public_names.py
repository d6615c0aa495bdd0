"""The names, parameters and defaults that users' existing code relies on, and how it uses them.

Such code was written for `tritonserver`: the import is the one line of it that is changed.
"""

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
from conftest import CANCEL, SET_INT_PARAMETER, StartServer, add_echo, if_supported, lacks, write_identity

import triton_inprocess as ti

CLASSES = [
    "Server",
    "Options",
    "Model",
    "InferenceRequest",
    "InferenceResponse",
    "Tensor",
    "SharedMemoryPool",
    "SharedTensor",
    "MemoryBuffer",
    "RateLimiterResource",
    "ModelLoadDeviceLimit",
    "LogMessage",
    "Metric",
    "MetricFamily",
    "TritonError",
    "TensorSpec",
    "Batching",
    "MemoryAllocator",
    "NativeMemoryAllocator",
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

OPTIONS: dict[str, Any] = {
    "model_repository": [],
    "server_id": "triton",
    "model_control_mode": None,
    "startup_models": [],
    "strict_model_config": False,
    "rate_limiter_mode": ti.RateLimitMode.OFF,
    "rate_limiter_resources": [],
    "pinned_memory_pool_size": 1 << 28,
    "cuda_memory_pool_sizes": {},
    "cache_config": {},
    "cache_directory": None,
    "min_supported_compute_capability": 6.0,
    "exit_on_error": True,
    "strict_readiness": True,
    "exit_timeout": 30,
    "buffer_manager_thread_count": 0,
    "model_load_thread_count": 4,
    "model_load_retry_count": 0,
    "model_namespacing": False,
    "enable_peer_access": True,
    "log_file": None,
    "log_info": False,
    "log_warn": False,
    "log_error": False,
    "log_format": ti.LogFormat.DEFAULT,
    "log_verbose": 0,
    "log_callback": None,
    "metrics": True,
    "gpu_metrics": True,
    "cpu_metrics": True,
    "metrics_interval": 2000,
    "backend_directory": None,
    "repo_agent_directory": None,
    "model_load_device_limits": [],
    "backend_configuration": {},
    "host_policies": {},
    "metrics_configuration": {},
    "log_to_logging": False,
    "trace": None,
    "output_memory_allocator": None,
    "python_models": "stub",
}

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

X = np.arange(3, dtype=np.float32)

NO_DEFAULT = inspect.Parameter.empty

SIGNATURES: dict[str, list[tuple[str, Any]]] = {
    "LogMessage": [("level", NO_DEFAULT), ("message", NO_DEFAULT)],
    "MetricFamily": [("kind", NO_DEFAULT), ("name", NO_DEFAULT), ("description", NO_DEFAULT)],
    "Metric": [("family", NO_DEFAULT), ("labels", None), ("buckets", None)],
    "Server": [("options", None), ("options_fields", NO_DEFAULT)],
    "Server.start": [
        ("self", NO_DEFAULT),
        ("wait_until_ready", False),
        ("polling_interval", 0.1),
        ("timeout", None),
        ("progress", None),
    ],
    "Server.stop": [("self", NO_DEFAULT), ("timeout", None)],
    "Server.live": [("self", NO_DEFAULT)],
    "Server.ready": [("self", NO_DEFAULT)],
    "Server.metadata": [("self", NO_DEFAULT)],
    "Server.metrics": [("self", NO_DEFAULT), ("format", ti.MetricFormat.PROMETHEUS), ("parsed", False)],
    "Server.model": [("self", NO_DEFAULT), ("name", ...), ("version", -1), ("declaration", NO_DEFAULT)],
    "Server.models": [("self", NO_DEFAULT), ("exclude_not_ready", False)],
    "Server.load": [
        ("self", NO_DEFAULT),
        ("name", NO_DEFAULT),
        ("parameters", None),
        ("config", None),
        ("files", None),
        ("progress", None),
    ],
    "Server.unload": [
        ("self", NO_DEFAULT),
        ("model", NO_DEFAULT),
        ("unload_dependents", False),
        ("wait_until_unloaded", False),
        ("polling_interval", 0.1),
        ("timeout", None),
    ],
    "Server.register_model_repository": [("self", NO_DEFAULT), ("path", NO_DEFAULT), ("name_mapping", None)],
    "Server.unregister_model_repository": [("self", NO_DEFAULT), ("path", NO_DEFAULT)],
    "Server.poll_model_repository": [("self", NO_DEFAULT)],
    "Server.remove_model": [("self", NO_DEFAULT), ("name", NO_DEFAULT)],
    "Model.create_request": [("self", NO_DEFAULT), ("fields", NO_DEFAULT)],
    "Model.infer": [
        ("self", NO_DEFAULT),
        ("inference_request", None),
        ("raise_on_error", True),
        ("fields", NO_DEFAULT),
    ],
    "Model.async_infer": [
        ("self", NO_DEFAULT),
        ("inference_request", None),
        ("raise_on_error", True),
        ("fields", NO_DEFAULT),
    ],
    "Model.metadata": [("self", NO_DEFAULT)],
    "Model.ready": [("self", NO_DEFAULT)],
    "Model.batch_properties": [("self", NO_DEFAULT)],
    "Model.transaction_properties": [("self", NO_DEFAULT)],
    "Model.statistics": [("self", NO_DEFAULT)],
    "Model.config": [("self", NO_DEFAULT), ("config_version", 1)],
}

# In this order; requested_outputs and trace are this project's own.
REQUEST_FIELDS: dict[str, Any] = {
    "model": dataclasses.MISSING,
    "request_id": None,
    "flags": 0,
    "correlation_id": None,
    "priority": 0,
    "timeout": 0,
    "inputs": {},
    "parameters": {},
    "output_memory_type": None,
    "response_queue": None,
    "requested_outputs": None,
    "outputs": None,
    "deadline": None,
    "trace": None,
    "output_memory_allocator": None,
    "max_pending_responses": None,
}


def defaults(dataclass: type) -> dict[str, Any]:
    return {
        field.name: field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        for field in dataclasses.fields(dataclass)
    }


@pytest.mark.parametrize("name", [*CLASSES, *ENUMS, *ERRORS, "runtime"])
def test_the_package_has_the_name_and_exports_it(name: str) -> None:
    assert hasattr(ti, name)
    assert name in ti.__all__
    assert name in dir(ti)


@pytest.mark.parametrize("name", CLASSES)
def test_classes_can_be_called(name: str) -> None:
    assert callable(getattr(ti, name))


@pytest.mark.parametrize("name", ENUMS)
def test_enums_are_enums(name: str) -> None:
    assert issubclass(getattr(ti, name), enum.Enum)


@pytest.mark.parametrize("owner", MEMBERS)
def test_members(owner: str) -> None:
    assert [name for name in MEMBERS[owner] if not hasattr(getattr(ti, owner), name)] == []


def test_everything_exported_exists() -> None:
    assert sorted(set(ti.__all__)) == sorted(ti.__all__)
    for name in ti.__all__:
        assert hasattr(ti, name)


def test_the_version_is_a_version() -> None:
    assert all(part.isdecimal() for part in ti.__version__.split("."))


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_triton_errors(name: str) -> None:
    error = getattr(ti, name)
    assert issubclass(error, ti.TritonError)
    assert error is not ti.TritonError


def test_errors_are_also_the_builtin_that_fits() -> None:
    assert issubclass(ti.InvalidArgumentError, ValueError)
    assert issubclass(ti.NotFoundError, LookupError)


def test_options_have_the_fields_defaults_and_order() -> None:
    assert list(defaults(ti.Options).items()) == list(OPTIONS.items())


def test_options_share_no_default_object() -> None:
    ti.Options().startup_models.append("changed")
    assert ti.Options().startup_models == []


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name: str) -> None:
    target = ti
    for part in name.split("."):
        target = getattr(target, part)
    parameters = inspect.signature(target).parameters  # type: ignore[arg-type]
    assert [(each.name, each.default) for each in parameters.values()] == SIGNATURES[name]


def test_add_model_takes_the_function_and_then_only_keywords() -> None:
    parameters = inspect.signature(ti.Server.add_model).parameters
    keywords = {each.name: each.default for each in parameters.values() if each.kind is each.KEYWORD_ONLY}
    assert keywords == {
        "name": NO_DEFAULT,
        "inputs": None,
        "outputs": None,
        "max_batch_size": 0,
        "batching": None,
        "instances": 1,
        "version": 1,
        "batch": True,
        "requests": False,
        "decoupled": None,
        "isolate_failures": False,
        "max_concurrency": 1024,
        "adopt": "auto",
        "copy_inputs": False,
        "response_cache": False,
        "warm_up": (),
        "rate_limiter": None,
        "instance_group": (),
        "config": None,
        "replace": False,
    }
    assert list(parameters)[:2] == ["self", "fn"]


def test_requests_have_the_fields_defaults_and_order() -> None:
    assert list(defaults(ti.InferenceRequest).items()) == list(REQUEST_FIELDS.items())


def test_resources_and_limits_take_their_fields_in_order() -> None:
    assert [field.name for field in dataclasses.fields(ti.RateLimiterResource)] == ["name", "count", "device"]
    assert [field.name for field in dataclasses.fields(ti.ModelLoadDeviceLimit)] == ["kind", "device", "fraction"]


def test_specifications_take_their_fields_in_order() -> None:
    spec = ti.TensorSpec("x", ti.DataType.FP32, (2, -1))
    assert (spec.name, spec.data_type, spec.shape) == ("x", ti.DataType.FP32, (2, -1))
    batching = ti.Batching(500, [8])
    assert (batching.max_queue_delay_us, list(batching.preferred_sizes)) == (500, [8])


def test_a_memory_buffer_takes_its_fields_in_order() -> None:
    array = np.arange(3, dtype=np.int16)
    buffer = ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, array.nbytes, array)
    tensor = ti.Tensor(ti.DataType.INT16, (3,), buffer)
    assert (buffer.data_ptr, buffer.memory_type, buffer.memory_type_id, buffer.size) == (
        array.ctypes.data,
        ti.MemoryType.CPU,
        0,
        6,
    )
    assert (tensor.data_type, tensor.shape, tensor.memory_buffer.data_ptr) == (
        ti.DataType.INT16,
        (3,),
        array.ctypes.data,
    )


def test_buffers_and_tensors_take_their_fields_by_name() -> None:
    array = np.arange(3, dtype=np.int16)
    buffer = ti.MemoryBuffer(
        data_ptr=array.ctypes.data, memory_type=ti.MemoryType.CPU, memory_type_id=0, size=array.nbytes, owner=array
    )
    tensor = ti.Tensor(data_type=ti.DataType.INT16, shape=[3], memory_buffer=buffer)
    assert tensor.numpy().tolist() == [0, 1, 2]


def test_a_tensor_has_its_attributes(server: ti.Server) -> None:
    (response,) = add_echo(server).infer(inputs={"x": np.ones(3, np.float32)})
    tensor = response.outputs["y"]
    assert isinstance(tensor, ti.Tensor)
    assert (tensor.data_type, tensor.shape, tensor.size) == (ti.DataType.FP32, (3,), 12)
    assert (tensor.memory_type, tensor.memory_type_id) == (ti.MemoryType.CPU, 0)
    assert tensor.data_ptr == tensor.numpy().ctypes.data
    assert tensor.__dlpack_device__() == (1, 0)


def test_a_response_has_its_attributes(server: ti.Server) -> None:
    model = add_echo(server)
    (response,) = model.infer(inputs={"x": np.ones(3, np.float32)}, request_id="one")
    assert isinstance(response, ti.InferenceResponse)
    assert response.model is model
    assert (response.request_id, response.parameters, response.error, response.final) == ("one", {}, None, True)
    assert list(response.outputs) == ["y"]


def test_iterators_can_be_cancelled(server: ti.Server) -> None:
    model = add_echo(server)
    iterator = model.infer(inputs={"x": np.ones(3, np.float32)})
    assert isinstance(iterator, ti.ResponseIterator)
    list(iterator)
    with if_supported(CANCEL):
        iterator.cancel()

    async def use() -> None:
        responses = model.async_infer(inputs={"x": np.ones(3, np.float32)})
        assert isinstance(responses, ti.AsyncResponseIterator)
        async for _ in responses:
            pass
        with if_supported(CANCEL):
            responses.cancel()

    asyncio.run(use())


def test_a_model_has_its_attributes(server: ti.Server) -> None:
    add_echo(server)
    model = server.models()["echo", 1]
    assert isinstance(model, ti.Model)
    assert (model.name, model.version, model.state) == ("echo", 1, "READY")
    assert not model.reason


def test_models_are_keyed_by_name_and_by_name_and_version(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, versions=(1, 3), more="version_policy { all {} }")
    models = start_identity().models()
    assert set(models) == {"identity", ("identity", 1), ("identity", 3)}


def test_the_server_answers_with_its_objects(server: ti.Server) -> None:
    assert server.capi is server._server
    assert isinstance(server.capi, ti.capi.TRITONSERVER_Server)
    assert server.options == ti.Options()
    assert isinstance(server._ptr(), int)
    assert server._ptr() != 0
    assert isinstance(server.metadata(), dict)
    assert isinstance(server.metrics(), str)
    assert isinstance(server.metrics(ti.MetricFormat.PROMETHEUS), str)


@pytest.mark.usefixtures("runtime")
def test_start_returns_the_server() -> None:
    server = ti.Server()
    try:
        assert server.start(True, 0.01, 10) is server
        assert server.ready()
    finally:
        server.stop()


def test_the_runtime_has_its_attributes(runtime: ti.runtime.Runtime) -> None:
    assert runtime.path.is_file()
    assert runtime.api_version[0] == 1
    assert all(directory.is_dir() for directory in runtime.backend_directories)
    assert isinstance(runtime.missing_functions, tuple)


def test_a_model_is_loaded_with_parameters(start_server: StartServer, repository: Path) -> None:
    with start_server(model_repository=repository) as server:
        with pytest.raises(ti.TritonError):
            server.load("absent", {"config": '{"backend": "identity"}'})
        with pytest.raises(ti.TritonError):
            server.load(name="absent", parameters=None)


def test_the_way_of_a_request(server: ti.Server) -> None:
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
        output_memory_type=ti.MemoryType.CPU,
        response_queue=responses,
    )
    assert isinstance(request, ti.InferenceRequest)
    (response,) = model.infer(inference_request=request, raise_on_error=True)
    for each in response, responses.get(timeout=20):
        assert (each.request_id, each.error, each.classification_label, each.final) == ("one", None, None, True)
        assert each.outputs["y"].to_host().tolist() == X.tolist()

    async def use() -> list[Any]:
        return [each async for each in model.async_infer(inputs={"x": X})]

    assert len(asyncio.run(use())) == 1
    assert isinstance(model.batch_properties(), ti.ModelBatchFlag)
    assert isinstance(model.transaction_properties(), ti.ModelTxnPropertyFlag)
    assert model.config(config_version=1)["name"] == model.metadata()["name"] == "echo"
    assert model.ready()
    assert "model_stats" in model.statistics()


def test_memory_has_its_owner() -> None:
    buffer = ti.MemoryBuffer(X.ctypes.data, ti.MemoryType.CPU, 0, X.nbytes, X)
    assert buffer.owner is X
    assert ti.MemoryBuffer(0, ti.MemoryType.CPU, 0, 0, None).owner is None
    assert ti.MemoryBuffer.from_dlpack(X).data_ptr == X.ctypes.data


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        ti.MemoryType.CPU,
        (ti.MemoryType.CPU, 0),
        (ti.DLDeviceType.CPU, 0),
    ],
)
def test_a_tensor_moves(device: Any) -> None:
    tensor = ti.Tensor.from_dlpack(X)
    assert tensor.to_device(device).to_host().tolist() == X.tolist()


def test_text_goes_both_ways() -> None:
    assert ti.Tensor.from_string_array(np.array(["a", "é"])).to_string_array().tolist() == ["a", "é"]
    assert ti.Tensor.from_bytes_array(np.array([b"a", b"b"])).to_bytes_array().tolist() == [b"a", b"b"]


@pytest.mark.usefixtures("server")
def test_metrics_and_messages() -> None:
    family = ti.MetricFamily(ti.MetricKind.COUNTER, "names_total", "Names.")
    metric = ti.Metric(family, {"a": "b"})
    assert ti.Metric(family=family, labels=None) is not metric
    ti.LogMessage(ti.LogLevel.INFO, "a name")
    ti.RateLimiterResource("r", 1, 0)
    ti.ModelLoadDeviceLimit(ti.InstanceGroupKind.CPU, 0, 0.5)
