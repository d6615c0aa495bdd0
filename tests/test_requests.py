"""The fields of a request."""

from __future__ import annotations

import asyncio
import dataclasses
import queue
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, if_supported, lacks, write_identity, write_model
from helpers_sequence import SEQUENCE, control_values

import triton_inprocess as ti

START, END = 1, 2


@pytest.fixture
def echo(server: ti.Server) -> ti.Model:
    return add_echo(server)


@pytest.fixture
def sent() -> dict[str, Any]:
    return {"x": np.arange(3, dtype=np.float32)}


# -- fields that come back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("request_id", ["one", "", "é 日本", "x" * 10_000])
def test_request_id(echo: ti.Model, sent: dict[str, Any], request_id: str) -> None:
    (response,) = echo.infer(inputs=sent, request_id=request_id)
    assert response.request_id == request_id


def test_without_a_request_id_it_is_empty(echo: ti.Model, sent: dict[str, Any]) -> None:
    for fields in ({}, {"request_id": None}):
        (response,) = echo.infer(inputs=sent, **fields)
        assert response.request_id == ""


def test_a_request_id_is_each_requests_own(echo: ti.Model, sent: dict[str, Any]) -> None:
    pending = [echo.infer(inputs=sent, request_id=str(number)) for number in range(20)]
    assert [next(responses).request_id for responses in pending] == [str(number) for number in range(20)]


@pytest.mark.parametrize("correlation_id", [1, 42, 2**64 - 1, np.uint64(7)])
def test_flags_and_numbers_of_sequences(start_identity: StartServer, repository: Path, correlation_id: int) -> None:
    write_model(repository, "sequence", SEQUENCE.format(id_type="UINT64"))
    model = start_identity().model("sequence")
    seen = []
    for flags in (START, 0, END, START | END):
        (response,) = model.infer(
            inputs={"INPUT0": np.ones((1, 2), np.float32)}, flags=flags, correlation_id=correlation_id
        )
        seen.append(control_values(response))
    number = int(correlation_id)
    assert seen == [(1, 0, number), (0, 0, number), (0, 1, number), (1, 1, number)]


@pytest.mark.parametrize("correlation_id", ["anna", "é 日本"])
def test_names_of_sequences(start_identity: StartServer, repository: Path, correlation_id: str) -> None:
    write_model(repository, "sequence", SEQUENCE.format(id_type="STRING"))
    model = start_identity().model("sequence")
    (response,) = model.infer(
        inputs={"INPUT0": np.ones((1, 2), np.float32)}, flags=START, correlation_id=correlation_id
    )
    assert control_values(response) == (1, 0, correlation_id.encode())


def test_a_sequence_without_an_id_is_refused(start_identity: StartServer, repository: Path) -> None:
    write_model(repository, "sequence", SEQUENCE.format(id_type="UINT64"))
    model = start_identity().model("sequence")
    with pytest.raises(ti.InvalidArgumentError, match="sequence"):
        list(model.infer(inputs={"INPUT0": np.ones((1, 2), np.float32)}, flags=START))


# -- fields that Triton acts upon --------------------------------------------------------------------------------------

PRIORITIES = "dynamic_batching { priority_levels: 2 default_priority_level: 2 }"

# A request may only shorten the time that the model allows.
TIMEOUTS = """
    dynamic_batching { default_queue_policy {
      timeout_action: REJECT allow_timeout_override: true default_timeout_microseconds: 10000000
    } }
"""


def start_busy(start_identity: StartServer, repository: Path, more: str) -> ti.Model:
    """A model that takes a while and executes one request at a time."""
    write_identity(repository, "busy", max_batch_size=1, parameters={"delay_us": 50_000}, more=more)
    return start_identity().model("busy")


ONE = {"INPUT0": np.ones((1, 1), np.float32)}


def test_priority_1_goes_first(start_identity: StartServer, repository: Path) -> None:
    busy = start_busy(start_identity, repository, PRIORITIES)
    done: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    # How many of them Triton has handed to the model already, whatever comes later, is up to its version.
    requests = [("running", 1), ("next", 0), ("after that", 0), ("late", 0), ("later", 2), ("urgent", 1)]
    for request_id, priority in requests:
        busy.infer(inputs=ONE, priority=priority, request_id=request_id, response_queue=done)
        time.sleep(0.005)
    order = [done.get(timeout=10).request_id for _ in requests]
    assert order[0] == "running"
    assert order.index("urgent") < order.index("late") < order.index("later")


def test_a_request_waits_no_longer_than_its_timeout(start_identity: StartServer, repository: Path) -> None:
    busy = start_busy(start_identity, repository, TIMEOUTS)
    running = [busy.infer(inputs=ONE) for _ in range(3)]
    impatient = busy.infer(inputs=ONE, timeout=1000)
    patient = busy.infer(inputs=ONE)
    with pytest.raises(ti.UnavailableError, match=r"(?i)timeout"):
        list(impatient)
    for responses in (*running, patient):
        assert next(responses).error is None


@pytest.mark.parametrize("priority", [0, 1, 2**32 - 1, 2**32, 2**64 - 1])
def test_every_priority_can_be_sent(echo: ti.Model, sent: dict[str, Any], priority: int) -> None:
    wide = ["TRITONSERVER_InferenceRequestSetPriorityUInt64"] if priority >= 2**32 else []  # since 1.23
    with if_supported(*wide):
        assert next(echo.infer(inputs=sent, priority=priority)).error is None


@pytest.mark.parametrize("timeout", [0, 1_000_000, 2**64 - 1])
def test_every_timeout_can_be_sent(echo: ti.Model, sent: dict[str, Any], timeout: int) -> None:
    assert next(echo.infer(inputs=sent, timeout=timeout)).error is None


@pytest.mark.parametrize(
    ("parameters", "types"),
    [
        ({}, []),
        (None, []),
        ({"text": "é", "number": -5, "truth": True, "fraction": 2.5}, ["String", "Int", "Bool", "Double"]),
        ({"numpy": np.int64(3), "numpy truth": np.bool_(True)}, ["Int", "Bool"]),
        ({"numpy fraction": np.float64(0.5)}, ["Double"]),
        ({"least": -(2**63), "most": 2**63 - 1, "empty": ""}, ["Int", "String"]),
    ],
)
def test_parameters(echo: ti.Model, sent: dict[str, Any], parameters: dict[str, Any] | None, types: list[str]) -> None:
    # Since 1.21; fractions since 1.28.
    with if_supported(*(f"TRITONSERVER_InferenceRequestSet{each}Parameter" for each in types)):
        assert next(echo.infer(inputs=sent, parameters=parameters)).error is None
    assert next(echo.infer(inputs=sent)).error is None


def colour() -> dict[str, str]:
    """A parameter, where the runtime can be given any."""
    return {} if lacks("TRITONSERVER_InferenceRequestSetStringParameter") else {"colour": "green"}


@pytest.mark.parametrize("requested", [["OUTPUT0"], ["OUTPUT1"], ["OUTPUT0", "OUTPUT1"], ("OUTPUT1",), None])
def test_requested_outputs(start_identity: StartServer, repository: Path, requested: Any) -> None:
    both = """
        input [ { name: "INPUT1" data_type: TYPE_INT8 dims: [ 1 ] } ]
        output [ { name: "OUTPUT1" data_type: TYPE_INT8 dims: [ 1 ] } ]
    """
    write_identity(repository, more=both)
    model = start_identity().model("identity")
    inputs = {"INPUT0": np.ones(2, np.float32), "INPUT1": np.ones(1, np.int8)}
    (response,) = model.infer(inputs=inputs, requested_outputs=requested)
    assert set(response.outputs) == set(requested or ["OUTPUT0", "OUTPUT1"])


@pytest.mark.parametrize("where", ["cpu", ti.MemoryType.CPU, None])
def test_outputs_in_host_memory(echo: ti.Model, sent: dict[str, Any], where: Any) -> None:
    (response,) = echo.infer(inputs=sent, output_memory_type=where)
    assert response.outputs["y"].memory_type is ti.MemoryType.CPU


# -- the request as an object ------------------------------------------------------------------------------------------


def test_a_request_is_filled_and_changed_field_by_field(echo: ti.Model) -> None:
    request = echo.create_request()
    assert isinstance(request, ti.InferenceRequest)
    assert request.model is echo
    request.inputs = {"x": np.ones(2, np.float32)}
    request.request_id = "one"
    (first,) = echo.infer(request)
    request.inputs["x"] = np.zeros(3, np.float32)
    request.request_id = "two"
    (second,) = echo.infer(inference_request=request)
    assert (first.request_id, first.outputs["y"].numpy().tolist()) == ("one", [1, 1])
    assert (second.request_id, second.outputs["y"].numpy().tolist()) == ("two", [0, 0, 0])


def test_a_request_can_be_made_without_the_model(echo: ti.Model, sent: dict[str, Any]) -> None:
    request = ti.InferenceRequest(echo, "one", inputs=sent)
    (response,) = echo.infer(request)
    assert response.request_id == "one"


def test_all_fields_of_a_request_object_are_sent(start_identity: StartServer, repository: Path) -> None:
    write_model(repository, "sequence", SEQUENCE.format(id_type="UINT64"))
    model = start_identity().model("sequence")
    done: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    request = model.create_request(
        request_id="one",
        flags=START,
        correlation_id=7,
        priority=1,
        timeout=10_000_000,
        inputs={"INPUT0": np.ones((1, 2), np.float32)},
        parameters=colour(),
        output_memory_type="cpu",
        response_queue=done,
        requested_outputs=["OUTPUT_ID", "OUTPUT_START"],
    )
    (response,) = model.infer(request)
    assert set(response.outputs) == {"OUTPUT_ID", "OUTPUT_START"}
    assert response.outputs["OUTPUT_ID"].numpy().item() == 7
    assert response.outputs["OUTPUT_START"].numpy().item() == 1
    assert done.get(timeout=5).request_id == "one"


def test_a_request_can_be_sent_again_and_at_once(echo: ti.Model, sent: dict[str, Any]) -> None:
    request = echo.create_request(inputs=sent, request_id="one")
    for _ in range(3):
        (response,) = echo.infer(request)
        assert response.outputs["y"].numpy().tolist() == [0, 1, 2]
    pending = [echo.infer(request) for _ in range(10)]
    assert all(next(responses).outputs["y"].numpy().tolist() == [0, 1, 2] for responses in pending)
    with ThreadPoolExecutor(4) as pool:
        received = list(pool.map(lambda _: next(echo.infer(request)).outputs["y"].numpy().tolist(), range(40)))
    assert received == [[0, 1, 2]] * 40

    async def use() -> list[str]:
        return [response.request_id async for response in echo.async_infer(request)]

    assert asyncio.run(use()) == ["one"]


def test_sending_changes_no_request(echo: ti.Model, sent: dict[str, Any]) -> None:
    request = echo.create_request(inputs=sent, parameters=colour(), requested_outputs=["y"])
    before = dataclasses.replace(request, inputs=dict(request.inputs), parameters=dict(request.parameters))
    list(echo.infer(request))
    for field in dataclasses.fields(request):
        assert getattr(request, field.name) is getattr(before, field.name) or field.name in ("inputs", "parameters")
    assert list(request.inputs) == ["x"]
    assert request.inputs["x"] is sent["x"]
    assert request.parameters == colour()


def test_the_request_of_another_model_of_that_name_will_do(
    server: ti.Server, echo: ti.Model, sent: dict[str, Any]
) -> None:
    (response,) = server.model("echo").infer(echo.create_request(inputs=sent))
    assert response.outputs["y"].numpy().tolist() == [0, 1, 2]


def test_a_request_is_for_its_model(server: ti.Server, echo: ti.Model, sent: dict[str, Any]) -> None:
    other = add_echo(server, name="other")
    with pytest.raises(ValueError, match=r"'echo'.*'other'"):
        other.infer(echo.create_request(inputs=sent))
    with pytest.raises(ValueError, match=r"'echo'.*'other'"):
        other.async_infer(echo.create_request(inputs=sent))


@pytest.mark.parametrize("model", [None, "echo", 3])
def test_a_requests_model_is_a_model(echo: ti.Model, sent: dict[str, Any], model: Any) -> None:
    with pytest.raises(TypeError, match="Model"):
        echo.infer(ti.InferenceRequest(model, inputs=sent))


# -- what is refused ---------------------------------------------------------------------------------------------------


def infer_async(model: ti.Model, **fields: Any) -> list[ti.InferenceResponse]:
    async def use() -> list[ti.InferenceResponse]:
        return [response async for response in model.async_infer(**fields)]

    return asyncio.run(use())


@pytest.mark.parametrize(
    ("fields", "error", "word"),
    [
        ({"request_id": 3}, TypeError, "request_id"),
        ({"request_id": b"one"}, TypeError, "request_id"),
        ({"request_id": "a\0b"}, ValueError, "request_id"),
        ({"flags": "start"}, TypeError, "flags"),
        ({"flags": True}, TypeError, "flags"),
        ({"flags": -1}, ValueError, "flags"),
        ({"flags": 2**32}, ValueError, "flags"),
        ({"correlation_id": 1.5}, TypeError, "correlation_id"),
        ({"correlation_id": -1}, ValueError, "correlation_id"),
        ({"correlation_id": 2**64}, ValueError, "correlation_id"),
        ({"correlation_id": "a\0"}, ValueError, "correlation_id"),
        ({"correlation_id": "x" * 200}, (ValueError, ti.TritonError), "(?i)correlation"),
        ({"priority": "high"}, TypeError, "priority"),
        ({"priority": -1}, ValueError, "priority"),
        ({"priority": 2**64}, ValueError, "priority"),
        ({"timeout": 0.5}, TypeError, "timeout"),
        ({"timeout": None}, TypeError, "timeout"),
        ({"timeout": -1}, ValueError, "timeout"),
        ({"parameters": ["colour"]}, TypeError, "parameters"),
        ({"parameters": {3: "green"}}, TypeError, "parameter"),
        ({"parameters": {"colour": None}}, TypeError, "colour"),
        ({"parameters": {"colour": b"green"}}, TypeError, "colour"),
        ({"parameters": {"colour": [1]}}, TypeError, "colour"),
        ({"parameters": {"colour": 2**63}}, (ValueError, OverflowError), "colour"),
        ({"parameters": {"colour": "a\0b"}}, ValueError, "colour"),
        ({"output_memory_type": ti.MemoryType.GPU}, ti.UnsupportedError, "output_memory_type"),
        ({"output_memory_type": "gpu:1"}, ti.UnsupportedError, "output_memory_type"),
        ({"output_memory_type": 3}, (TypeError, ti.UnsupportedError), "output_memory_type"),
        ({"response_queue": []}, TypeError, "response_queue"),
        ({"response_queue": "queue"}, TypeError, "response_queue"),
        ({"requested_outputs": "y"}, TypeError, "requested_outputs"),
        ({"requested_outputs": 3}, TypeError, "requested_outputs"),
        ({"requested_outputs": [3]}, TypeError, "requested output"),
        ({"requested_outputs": ["nowhere"]}, ti.InvalidArgumentError, "nowhere"),
        ({"inputs": None}, TypeError, "inputs"),
        ({"inputs": [1]}, TypeError, "inputs"),
        ({"inputs": np.ones(3)}, TypeError, "inputs"),
        ({"inputs": {3: np.ones(3)}}, TypeError, "name of an input"),
        ({"colour": "green"}, TypeError, "colour"),
        ({"model": "echo"}, TypeError, "model"),
    ],
    ids=str,
)
def test_a_wrong_field_is_refused_by_name(
    echo: ti.Model, sent: dict[str, Any], fields: dict[str, Any], error: Any, word: str
) -> None:
    # What is known only when the request is executed may come with the response.
    for send in (ti.Model.infer, infer_async):
        with pytest.raises(error, match=word):
            list(send(echo, **{"inputs": sent, **fields}))
    assert answer(echo, **sent).tolist() == [0, 1, 2]


def test_wrong_fields_of_request_objects_are_refused_by_name(echo: ti.Model, sent: dict[str, Any]) -> None:
    for field, value in {
        "flags": "start",
        "timeout": 0.5,
        "parameters": ["colour"],
        "requested_outputs": "y",
    }.items():
        request = echo.create_request(inputs=sent)
        setattr(request, field, value)
        with pytest.raises(TypeError, match=field):
            echo.infer(request)
    with pytest.raises(TypeError, match="colour"):
        echo.create_request(colour="green")


@pytest.mark.parametrize("inputs", [3, "x", None, [("x", 1)]])
def test_inputs_of_request_objects_are_a_mapping(echo: ti.Model, inputs: Any) -> None:
    with pytest.raises(TypeError, match="inputs"):
        echo.infer(echo.create_request(inputs=inputs))


@pytest.mark.parametrize("request_", [3, "x", [1], ti.Options])
def test_a_request_is_a_request_or_inputs(echo: ti.Model, request_: Any) -> None:
    with pytest.raises(TypeError, match="inference_request"):
        echo.infer(request_)


def test_a_request_and_fields_exclude_each_other(echo: ti.Model, sent: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="request_id"):
        echo.infer(echo.create_request(inputs=sent), request_id="one")
    with pytest.raises(TypeError, match="inputs"):
        echo.infer(sent, inputs=sent)
    (response,) = echo.infer(sent, request_id="one")
    assert response.request_id == "one"


def test_a_refused_request_keeps_nothing(echo: ti.Model) -> None:
    array = np.ones(3, np.float32)
    references = sys.getrefcount(array)
    for _ in range(100):
        with pytest.raises(ti.InvalidArgumentError):
            echo.infer(inputs={"x": array, "nowhere": array})
        with pytest.raises(TypeError):
            echo.infer(inputs={"x": array}, flags="start")
    answer(echo, x=np.zeros(1, np.float32))
    assert sys.getrefcount(array) == references
