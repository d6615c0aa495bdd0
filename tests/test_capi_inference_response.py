"""TRITONSERVER_InferenceResponse of triton_inprocess.capi: what it says, and that it outlives everything.

Parameters of every type but INT are left to the tests with the fake library: the identity backend sends INT only.
"""

from __future__ import annotations

import copy
import ctypes
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import identity_config, write_identity, write_model
from helpers_capi_inference import (
    CPU,
    FINAL,
    FP32,
    PATIENCE,
    Host,
    Told,
    X,
    after_triton,
    answer,
    content,
    explicit_options,
    filled,
    next_response,
    run_capi_script,
    running_host,
    seconds_of,
)

import triton_inprocess as ti
from triton_inprocess import capi

DataType = capi.TRITONSERVER_DataType

NUMPY_TYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BF16": np.uint16,  # its bits
}


def in_config(data_type: str) -> str:
    return "STRING" if data_type == "BYTES" else data_type


def write_labels(repository: Path, name: str, text: str) -> None:
    """A model whose output has labels, as that file says."""
    output = 'name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ]'
    config = identity_config(name).replace(output, output + ' label_filename: "labels.txt"')
    (write_model(repository, name, config) / "labels.txt").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def host(identity_backend: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    repository = tmp_path_factory.mktemp("models")
    for data_type in (*NUMPY_TYPES, "BYTES"):
        write_identity(repository, f"typed_{data_type}", data_type=in_config(data_type), dims=(-1, -1))
    write_identity(repository, "versions", versions=(2, 5), more="version_policy { all {} }")
    write_identity(repository, "batching", max_batch_size=4)
    write_identity(repository, "fails_later", decoupled=True, parameters={"responses": 3, "fail_after": 1})
    write_labels(repository, "labels", "cat\n\ndog\n\n\nbird é\n")
    with running_host(identity_backend, repository) as host:
        yield host


def send(host: Host, model: str, data_type: Any, shape: tuple[int, ...], data: bytes) -> Any:
    """The response to a request with these bytes."""
    array = np.frombuffer(data, np.uint8)
    request = capi.TRITONSERVER_InferenceRequest(host.capi, model, -1)
    request.add_input("INPUT0", data_type, shape)
    request.append_input_data("INPUT0", array.ctypes.data if data else 0, len(data), CPU, 0)
    response = answer(host.capi, request)
    response.throw_if_response_error()
    return response


# -- what it says ------------------------------------------------------------------------------------------------------


def test_a_response_says_who_answers_what(host: Host) -> None:
    for version, told in ((-1, 5), (2, 2), (5, 5)):
        request = capi.TRITONSERVER_InferenceRequest(host.capi, "versions", version)
        request.id = f"version {version}"
        request.add_input("INPUT0", FP32, (8,))
        request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, CPU, 0)
        response = answer(host.capi, request)
        assert response.model == ("versions", told)
        assert isinstance(response.model, tuple)
        assert response.id == f"version {version}"
        assert response.parameter_count == 0
        assert response.output_count == 1
        assert response.throw_if_response_error() is None
    assert answer(host.capi, host.request()).id == ""


def test_a_response_of_a_function(host: Host) -> None:
    response = answer(host.capi, host.request("function"))
    assert response.model == ("function", 1)
    assert (content(response) == X).all()


def test_an_output_is_told_in_full(host: Host) -> None:
    response = answer(host.capi, host.request())
    told = response.output(0)
    assert isinstance(told, tuple)
    name, data_type, shape, address, byte_size, memory_type, memory_type_id = told
    assert name == "OUTPUT0"
    assert data_type is FP32
    assert type(shape) is tuple
    assert shape == (8,)
    assert all(type(dimension) is int for dimension in shape)
    assert type(address) is int
    assert address != 0
    assert byte_size == 32
    assert memory_type is CPU
    assert memory_type_id == 0
    assert response.output(index=0) == told, "the same each time"


@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (0, 3), (3, 0), (7, 1)], ids=str)
@pytest.mark.parametrize("data_type", list(NUMPY_TYPES))
def test_an_output_of_every_type(host: Host, data_type: str, shape: tuple[int, ...]) -> None:
    dtype = np.dtype(NUMPY_TYPES[data_type])
    count = int(np.prod(shape))
    array = (np.arange(count) % 2 if data_type == "BOOL" else np.arange(count) * 3).astype(dtype).reshape(shape)
    wanted = getattr(DataType, data_type)
    response = send(host, f"typed_{data_type}", wanted, shape, array.tobytes())
    name, told_type, told_shape, _, byte_size, *_ = response.output(0)
    assert (name, told_type, told_shape, byte_size) == ("OUTPUT0", wanted, shape, array.nbytes)
    result = content(response, data_type=dtype)
    assert result.dtype == dtype
    assert (result == array).all()


@pytest.mark.parametrize(
    "elements",
    [[b""], [b"a\0b", "é日本".encode(), b"", b"x" * 100_000], [], [b"one", b"two"]],
    ids=["empty", "any", "none", "two"],
)
def test_an_output_of_bytes(host: Host, elements: list[bytes]) -> None:
    encoded = b"".join(len(element).to_bytes(4, "little") + element for element in elements)
    response = send(host, "typed_BYTES", DataType.BYTES, (len(elements), 1), encoded)
    assert response.output(0)[1] is DataType.BYTES
    assert response.output(0)[2] == (len(elements), 1)
    assert content_of_bytes(response) == encoded


def content_of_bytes(response: Any) -> bytes:
    _, _, _, address, byte_size, *_ = response.output(0)
    return ctypes.string_at(address, byte_size)


def test_an_output_with_a_batch_dimension(host: Host) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    response = send(host, "batching", FP32, (2, 3), array.tobytes())
    assert (content(response) == array).all()


def test_the_parameters_of_a_stream(host: Host) -> None:
    request = host.request("stream")
    host.capi.infer_async(request)
    responses = [next_response(request) for _ in range(4)]
    assert [flags for _, flags in responses] == [0, 0, 0, FINAL]
    for number, (response, _) in enumerate(responses[:3]):
        assert response.parameter_count == 1
        name, kind, value = response.parameter(0)
        assert (name, kind, value) == ("index", capi.TRITONSERVER_ParameterType.INT, number)
        assert type(value) is int
    assert responses[3][0] is None


@pytest.mark.parametrize("index", [1, 2, 2**32, 2**64 - 1])
def test_an_index_beyond_the_count_is_an_invalid_argument(host: Host, index: int) -> None:
    response = answer(host.capi, host.request())
    with pytest.raises(ti.InvalidArgumentError, match=f"no output {index}: the response has 1"):
        response.output(index)
    with pytest.raises(ti.InvalidArgumentError, match=f"no output {index}: the response has 1"):
        response.output_classification_label(index, 0)
    with pytest.raises(ti.InvalidArgumentError, match=f"no parameter {index}: the response has 0"):
        response.parameter(index)
    with pytest.raises(ti.InvalidArgumentError, match="no parameter 0"):
        response.parameter(0)


@pytest.mark.parametrize("index", [-1, 2**64, "0", None, 0.0])
def test_what_is_no_index_is_an_error_that_names_it(host: Host, index: Any) -> None:
    response = answer(host.capi, host.request())
    for ask in (response.output, response.parameter, lambda index: response.output_classification_label(index, 0)):
        with pytest.raises((TypeError, IndexError, OverflowError), match="index"):
            ask(index)


def test_a_response_cannot_be_made_copied_or_changed(host: Host) -> None:
    with pytest.raises(TypeError):
        capi.TRITONSERVER_InferenceResponse()
    response = answer(host.capi, host.request())
    for action in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            action(response)
    for name in ("model", "id", "output_count", "parameter_count"):
        with pytest.raises(AttributeError):
            setattr(response, name, 1)


# -- errors ------------------------------------------------------------------------------------------------------------


def test_an_error_is_raised_when_it_is_asked_for(host: Host) -> None:
    request = host.request("fails_later")
    request.id = "the id"
    host.capi.infer_async(request)
    good, bad, more, end = (next_response(request)[0] for _ in range(4))
    for response in (good, more):
        response.throw_if_response_error()
        assert (content(response) == X).all()
    for _ in range(2):
        with pytest.raises(ti.InternalError, match="response 1 fails"):
            bad.throw_if_response_error()
    assert bad.output_count == 0
    assert bad.model == ("fails_later", 1)
    assert bad.id == "the id"
    assert end is None
    with pytest.raises(ti.InvalidArgumentError):
        bad.output(0)


@pytest.mark.parametrize(
    "kind",
    [
        ti.UnknownError,
        ti.InternalError,
        ti.NotFoundError,
        ti.InvalidArgumentError,
        ti.UnavailableError,
        ti.UnsupportedError,
        ti.AlreadyExistsError,
        ti.CancelledError,
        ValueError,
    ],
)
def test_the_error_of_a_function_is_of_its_class(server: ti.Server, kind: type[Exception]) -> None:
    def fail(INPUT0: Any) -> Any:
        raise kind("what went wrong: é")

    server.add_model(fail, name="m", inputs={"INPUT0": (np.float32, (-1,))}, outputs={"OUTPUT0": (np.float32, (-1,))})
    response = answer(server.capi, filled(server.capi, "m"))
    expected = after_triton(kind)
    with pytest.raises(expected, match="what went wrong: é") as raised:
        response.throw_if_response_error()
    assert type(raised.value) is expected


# -- labels ------------------------------------------------------------------------------------------------------------


def test_the_labels_of_an_output(host: Host) -> None:
    response = answer(host.capi, host.request("labels"))
    labels = [response.output_classification_label(0, i) for i in range(8)]
    assert labels == ["cat", "", "dog", "", "", "bird é", "", ""]
    assert response.output_classification_label(index=0, class_index=2) == "dog"
    assert response.output_classification_label(0, 2**40) == ""
    request = host.request("labels")
    del response
    again = answer(host.capi, request)
    assert again.output_classification_label(0, 0) == "cat"


def test_an_output_without_labels_has_empty_ones(host: Host) -> None:
    response = answer(host.capi, host.request())
    assert [response.output_classification_label(0, i) for i in range(10)] == [""] * 10


def test_labels_are_not_lost_in_a_larger_output(host: Host) -> None:
    array = np.zeros(1000, np.float32)
    response = answer(host.capi, host.request("labels", array))
    assert response.output_classification_label(0, 5) == "bird é"
    assert response.output_classification_label(0, 999) == ""


def test_an_output_with_fewer_elements_than_labels(host: Host) -> None:
    response = answer(host.capi, host.request("labels", np.zeros(1, np.float32)))
    assert response.output_classification_label(0, 0) == "cat"


@pytest.mark.parametrize("index", [-1, "0", None, 2**64])
def test_what_is_no_class_is_an_error_that_names_it(host: Host, index: Any) -> None:
    response = answer(host.capi, host.request("labels"))
    with pytest.raises((TypeError, OverflowError), match="class_index"):
        response.output_classification_label(0, index)


# -- how long it lives -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["fast", "function", "labels"])
def test_a_response_outlives_request_server_and_stop(identity_backend: Path, tmp_path: Path, model: str) -> None:
    repository = tmp_path / "models"
    write_labels(repository, "labels", "cat\n")
    with running_host(identity_backend, repository) as host:
        request = host.request(model)
        request.id = "the id"
        responses = [answer(host.capi, request) for _ in range(10)]
        del request
        assert seconds_of(host.server.stop) < 1, "with an exit timeout of 30 s"
    del host
    for response in responses:
        assert response.model == (model, 1)
        assert response.id == "the id"
        assert (content(response) == X).all()
        assert response.output_classification_label(0, 0) == ("cat" if model == "labels" else "")
        with pytest.raises(ti.InvalidArgumentError):
            response.output(1)
        response.throw_if_response_error()


def test_kept_responses_and_requests_do_not_delay_the_stop_of_a_server(
    identity_backend: Path, repository: Path
) -> None:
    for name, settings in (("fast", {}), ("stream", {"decoupled": True, "parameters": {"responses": 50}})):
        write_identity(repository, name, **settings)  # type: ignore[arg-type]
    server = capi.TRITONSERVER_Server(explicit_options(repository, identity_backend))
    for name in ("fast", "stream"):
        server.load_model(name)
    requests = [filled(server) for _ in range(5)]
    kept = [answer(server, request) for request in requests]
    never_sent = filled(server)
    stream = filled(server, "stream")
    told = Told(stream)
    server.infer_async(stream)
    kept += told.complete()[:-1]
    unfetched = filled(server, "stream")
    released = threading.Event()
    unfetched.set_release_callback(lambda *_: released.set(), None)
    server.infer_async(unfetched)
    assert released.wait(PATIENCE)
    assert seconds_of(server.stop) < 1
    del server
    assert len(kept) == 55
    for response in kept:
        assert (content(response) == X).all()
    assert [next_response(unfetched)[0].parameter(0)[2] for _ in range(50)] == list(range(50))
    assert next_response(unfetched) == (None, FINAL)
    del never_sent, requests


def test_a_kept_response_does_not_change(host: Host) -> None:
    array = X.copy()
    request = host.request("fast", array)
    responses = []
    for i in range(200):
        array[:] = i
        responses.append(answer(host.capi, request))
    for i, response in enumerate(responses):
        assert (content(response) == i).all()
    assert len({response.output(0)[3] for response in responses}) == 200


def test_responses_are_dropped_in_any_thread(host: Host) -> None:
    request = host.request()
    for _ in range(100):
        box = [answer(host.capi, request)]
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_responses_outlive_the_interpreter_without_a_word(identity_backend: Path, repository: Path) -> None:
    source = """
server = explicit("fast")
request = filled(server)
memory = Memory()
told = Told(request, memory.allocator())
server.infer_async(request)
kept = told.complete()
own = answer(server, filled(server))
sys.kept = [kept, own]
"""
    run_capi_script(source, identity_backend, repository).check(within=10)
