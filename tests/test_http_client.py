"""The HTTP endpoints with NVIDIA's own client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("tritonclient.http")

import tritonclient.http as client_module
from conftest import SET_INT_PARAMETER, StartServer, add_echo, needs_cancel, write_identity
from helpers_http import add_twice
from helpers_labels import write_classifier
from helpers_types import TYPES

import triton_inprocess as ti

Client = Any


@pytest.fixture
def connect() -> Iterator[Any]:
    clients: list[Client] = []

    def connect(serving: ti.Serving, **arguments: Any) -> Client:
        clients.append(client_module.InferenceServerClient(serving.url.removeprefix("http://"), **arguments))
        return clients[-1]

    yield connect
    for each in clients:
        each.close()


def tensor(array: Any, data_type: str, name: str = "x", binary: bool = True) -> Any:
    result = client_module.InferInput(name, list(array.shape), data_type)
    result.set_data_from_numpy(array, binary_data=binary)
    return result


def output(name: str = "y", **arguments: Any) -> Any:
    return client_module.InferRequestedOutput(name, **arguments)


@pytest.mark.parametrize("binary_out", [True, False])
@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("data_type", TYPES)
def test_every_type_comes_back(
    server: ti.Server, connect: Any, data_type: str, binary_in: bool, binary_out: bool
) -> None:
    data = TYPES[data_type]
    add_echo(server, data_type)
    with server.serve(0) as serving:
        client = connect(serving)

        def infer() -> Any:
            inputs = [tensor(data, data_type, binary=binary_in)]
            return client.infer("echo", inputs, outputs=[output(binary_data=binary_out)])

        if data_type == "FP16" and not (binary_in and binary_out):
            with pytest.raises(Exception, match=r"JSON is not supported|FP16"):
                infer()
            return
        found = infer().as_numpy("y")
    if data_type == "BYTES" and not binary_out:
        found = np.array([each.encode() if isinstance(each, str) else each for each in found], np.object_)
    assert found.dtype == data.dtype
    assert np.array_equal(found, data)


def test_bf16(server: ti.Server, connect: Any) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    add_echo(server, "BF16")
    data = np.array([1.5, -2.0, 3e38], ml_dtypes.bfloat16)
    with server.serve(0) as serving:
        result = connect(serving).infer("echo", [tensor(data, "BF16")], outputs=[output(binary_data=True)])
        assert result.get_output("y")["datatype"] == "BF16"
        assert np.array_equal(result.as_numpy("y"), data)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compression(server: ti.Server, connect: Any, coding: str) -> None:
    add_twice(server)
    data = np.arange(10_000, dtype=np.float32)
    with server.serve(0) as serving:
        result = connect(serving).infer(
            "twice",
            [tensor(data, "FP32")],
            outputs=[output(binary_data=True)],
            request_compression_algorithm=coding,
            response_compression_algorithm=coding,
        )
        assert np.array_equal(result.as_numpy("y"), data * 2)


def test_64_mib(server: ti.Server, connect: Any) -> None:
    add_twice(server)
    data = np.random.default_rng(1).random(16 << 20, np.float32)
    with server.serve(0) as serving:
        client = connect(serving, network_timeout=100, connection_timeout=100)
        result = client.infer("twice", [tensor(data, "FP32")], outputs=[output(binary_data=True)])
        assert np.array_equal(result.as_numpy("y"), data * 2)


def test_what_the_client_asks_of_a_server(start_identity: StartServer, repository: Path, connect: Any) -> None:
    write_identity(repository)
    server = start_identity()
    with server.serve(0, allow_model_control=True, allow_model_upload=True, allow_log_settings=True) as serving:
        client = connect(serving)
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("identity", "1")
        assert client.get_server_metadata()["name"] == "triton"
        assert client.get_model_metadata("identity")["outputs"][0]["name"] == "OUTPUT0"
        assert client.get_model_config("identity")["backend"] == "identity"
        assert client.get_inference_statistics("identity")["model_stats"][0]["name"] == "identity"
        assert client.get_inference_statistics()["model_stats"]
        assert [each["name"] for each in client.get_model_repository_index()] == ["identity"]
        client.unload_model("identity")
        assert not client.is_model_ready("identity")
        client.load_model("identity")
        config = {**server.model("identity").config(), "max_batch_size": 4}
        config["input"][0]["dims"] = config["output"][0]["dims"] = ["1"]
        client.load_model("identity", config=json.dumps(config))
        assert client.get_model_config("identity")["max_batch_size"] == 4
        assert "log_info" in client.get_log_settings()
        with pytest.raises(client_module.InferenceServerException, match="trace"):
            client.get_trace_settings()


def test_files_that_are_brought_along(start_identity: StartServer, repository: Path, connect: Any) -> None:
    write_identity(repository)
    server = start_identity()
    with server.serve(0, allow_model_control=True, allow_model_upload=True) as serving:
        config = json.dumps({**server.model("identity").config(), "name": "brought"})
        client = connect(serving)
        client.load_model("brought", config=config, files={"file:1/weights": b"\0\1"})
        data = np.ones(3, np.float32)
        result = client.infer("brought", [tensor(data, "FP32", "INPUT0")])
        assert np.array_equal(result.as_numpy("OUTPUT0"), data)


def test_errors_have_status_and_message(server: ti.Server, connect: Any) -> None:
    add_twice(server)
    with server.serve(0) as serving:
        client = connect(serving)
        for call, status, message in (
            (lambda: client.infer("none", [tensor(np.ones(1, np.float32), "FP32")]), "404", "none"),
            (lambda: client.infer("twice", [tensor(np.ones(1, np.int32), "INT32")]), "400", "INT32"),
            (lambda: client.infer("twice", [tensor(np.ones(1, np.float32), "FP32", "z")]), "400", "'z'"),
            (lambda: client.infer("twice", []), "400", "'x'"),
            (lambda: client.unload_model("twice"), "403", "allow_model_control"),
        ):
            with pytest.raises(client_module.InferenceServerException, match=message) as caught:
                call()
            assert caught.value.status() == status


@pytest.mark.needs(SET_INT_PARAMETER)
def test_priority_timeout_and_parameters(server: ti.Server, connect: Any) -> None:
    add_twice(server)
    with server.serve(0) as serving:
        data = np.ones(2, np.float32)
        result = connect(serving).infer(
            "twice", [tensor(data, "FP32")], request_id="7", timeout=10_000_000, priority=1, parameters={"mine": 1}
        )
        assert result.get_response()["id"] == "7"


def test_sequences(start_identity: StartServer, repository: Path, connect: Any) -> None:
    write_identity(repository, max_batch_size=1, more="sequence_batching { }")
    with start_identity().serve(0) as serving:
        client = connect(serving)
        for identity in (5, "five"):
            for start, end in ((True, False), (False, True)):
                result = client.infer(
                    "identity",
                    [tensor(np.ones((1, 1), np.float32), "FP32", "INPUT0")],
                    sequence_id=identity,
                    sequence_start=start,
                    sequence_end=end,
                )
                assert result.as_numpy("OUTPUT0").tolist() == [[1.0]]


def test_classes(server: ti.Server, connect: Any) -> None:
    add_echo(server)
    with server.serve(0) as serving:
        data = np.array([1, 5, 3], np.float32)
        result = connect(serving).infer("echo", [tensor(data, "FP32")], outputs=[output(class_count=2)])
        assert result.as_numpy("y").tolist() == [b"5.000000:1", b"3.000000:2"]


def test_classes_with_labels(start_identity: StartServer, repository: Path, connect: Any) -> None:
    write_classifier(repository)
    with start_identity().serve(0) as serving:
        data = np.array([1, 5, 3], np.float32)
        wanted = [output("OUTPUT0", class_count=2)]
        result = connect(serving).infer("classifier", [tensor(data, "FP32", "INPUT0")], outputs=wanted)
        assert result.as_numpy("OUTPUT0").tolist() == [b"5.000000:1:dog", b"3.000000:2:bird"]


def test_many_at_once(server: ti.Server, connect: Any) -> None:
    """Each answer is that of its own request."""
    add_twice(server)
    with server.serve(0) as serving:
        client = connect(serving, concurrency=16)
        sent = [np.full(3, number, np.float32) for number in range(200)]
        pending = [client.async_infer("twice", [tensor(each, "FP32")]) for each in sent]
        for data, each in zip(sent, pending, strict=True):
            assert np.array_equal(each.get_result().as_numpy("y"), data * 2)


def test_shared_memory(server: ti.Server, connect: Any) -> None:
    shared_memory = pytest.importorskip("tritonclient.utils.shared_memory")
    add_twice(server)
    data = np.arange(8, dtype=np.float32)
    region = shared_memory.create_shared_memory_region("mine", "/ti_http_test", 64)
    try:
        shared_memory.set_shared_memory_region(region, [data])
        with server.serve(0, allow_shared_memory=True) as serving:
            client = connect(serving)
            client.register_system_shared_memory("mine", "/ti_http_test", 64)
            assert client.get_system_shared_memory_status()[0]["byte_size"] == 64
            sent = client_module.InferInput("x", [8], "FP32")
            sent.set_shared_memory("mine", 32)
            wanted = output()
            wanted.set_shared_memory("mine", 32, offset=32)
            client.infer("twice", [sent], outputs=[wanted])
            found = shared_memory.get_contents_as_numpy(region, np.float32, [8], offset=32)
            assert np.array_equal(found, data * 2)
            client.unregister_system_shared_memory("mine")
            assert client.get_system_shared_memory_status() == []
    finally:
        shared_memory.destroy_shared_memory_region(region)


@needs_cancel
def test_a_client_s_timeout_cancels_the_request(server: ti.Server, connect: Any, gate: Any) -> None:
    vector = {"x": (np.float32, (-1,))}
    server.add_model(gate, name="gate", inputs=vector, outputs={"y": vector["x"]})
    with server.serve(0) as serving:
        client = connect(serving, network_timeout=0.2)
        with pytest.raises(Exception, match=r"timed out|timeout"):
            client.infer("gate", [tensor(np.ones(1, np.float32), "FP32")])
        gate.opened.set()
        assert connect(serving).is_server_live()
