"""TRITONSERVER_InferenceRequest of triton_inprocess.capi: its properties, who owns it when, and its life cycle."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import examples, write_identity
from helpers_capi_inference import (
    CPU,
    FINAL,
    FP32,
    PATIENCE,
    Host,
    Memory,
    Told,
    X,
    answer,
    content,
    explicit_options,
    fill,
    filled,
    next_response,
    run_capi_script,
    running_host,
    seconds_of,
)
from helpers_lifetime import wait_until
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

import triton_inprocess as ti
from triton_inprocess import capi

Request = capi.TRITONSERVER_InferenceRequest
ALL = capi.TRITONSERVER_RequestReleaseFlag.ALL


@pytest.fixture(scope="module")
def host(identity_backend: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    repository = tmp_path_factory.mktemp("models")
    write_identity(repository, "priorities", more=PRIORITIES)
    write_identity(repository, "typed_UINT8", data_type="UINT8")
    with running_host(identity_backend, repository) as host:
        yield host


PRIORITIES = "dynamic_batching { priority_levels: 5 default_priority_level: 2 }"


def supported(function: str, use: Callable[[], object]) -> bool:
    """Whether the library has the function; if not, asserts that the use of it says so."""
    if capi.available(function):
        return True
    with pytest.raises(ti.UnsupportedError, match=function):
        use()
    return False


# -- properties --------------------------------------------------------------------------------------------------------


def test_a_new_request_is_empty(host: Host) -> None:
    request = Request(host.capi, "fast", -1)
    assert (request.id, request.flags, request.correlation_id, request.timeout_microseconds) == ("", 0, 0, 0)
    assert request.priority == 0


def test_a_request_is_made_by_keywords_too(host: Host) -> None:
    request = Request(server=host.capi, model_name="fast", model_version=1)
    request.add_input(name="INPUT0", data_type=FP32, shape=[8])
    request.append_input_data(
        name="INPUT0", address=X.ctypes.data, byte_size=X.nbytes, memory_type=CPU, memory_type_id=0
    )
    assert (content(answer(host.capi, request)) == X).all()


@pytest.mark.parametrize("text", ["", "hello", "é日本", "a" * 1000, "sequence 1"])
def test_the_id_comes_back_with_the_response(host: Host, text: str) -> None:
    request = host.request()
    request.id = text
    assert request.id == text
    assert answer(host.capi, request).id == text


@pytest.mark.parametrize("wrong", [None, 3, b"id"])
def test_an_id_that_is_no_text_is_a_type_error_that_names_it(host: Host, wrong: Any) -> None:
    request = host.request()
    request.id = "before"
    with pytest.raises(TypeError, match="id"):
        request.id = wrong
    assert request.id == "before"


def test_flags_are_an_int_flag_or_an_int(host: Host) -> None:
    request = host.request()
    flag = capi.TRITONSERVER_RequestFlag
    for value in (flag.SEQUENCE_START, flag.SEQUENCE_START | flag.SEQUENCE_END, 2, 0, np.uint8(3)):
        request.flags = value
        assert request.flags == int(value)
        assert flag(request.flags) == flag(int(value))
    for wrong, kind in ((-1, ValueError), (2**32, ValueError), ("1", TypeError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(kind, match="flags"):
            request.flags = wrong  # type: ignore[assignment]
    assert request.flags == 3


def test_a_correlation_id_is_a_number_or_a_text_and_raises_for_the_wrong_kind(host: Host) -> None:
    request = host.request()
    with pytest.raises(ti.InvalidArgumentError):
        _ = request.correlation_id_string
    for number in (0, 1, 2**63, 2**64 - 1, np.uint64(7)):
        request.correlation_id = number
        assert request.correlation_id == int(number)
        with pytest.raises(ti.InvalidArgumentError):
            _ = request.correlation_id_string
    request.correlation_id_string = "sequence é"
    assert request.correlation_id_string == "sequence é"
    with pytest.raises(ti.InvalidArgumentError):
        _ = request.correlation_id
    for wrong, kind in ((-1, ValueError), (2**64, ValueError), ("1", TypeError), (None, TypeError), (True, TypeError)):
        with pytest.raises(kind, match="correlation_id"):
            request.correlation_id = wrong  # type: ignore[assignment]
    request.correlation_id = 5
    assert request.correlation_id == 5


@pytest.mark.parametrize("wrong", [3, None, b"x", "a\0b"])
def test_a_wrong_correlation_id_string_names_it(host: Host, wrong: Any) -> None:
    request = host.request()
    with pytest.raises((TypeError, ValueError), match="correlation_id_string"):
        request.correlation_id_string = wrong
    assert request.correlation_id == 0


def test_priorities_are_those_that_the_model_has(host: Host) -> None:
    request = host.request("priorities")
    request.priority = 5
    assert request.priority == 5
    request.priority = 9
    assert request.priority == 2, "the default level"
    for wrong, kind in ((-1, ValueError), (2**32, ValueError), ("1", TypeError), (None, TypeError)):
        with pytest.raises(kind, match="priority"):
            request.priority = wrong  # type: ignore[assignment]
    plain = host.request()
    plain.priority = 3
    assert plain.priority == 0, "a model without levels"


def test_priorities_have_64_bits_or_are_unsupported(host: Host) -> None:
    request = host.request("priorities")
    if not supported("TRITONSERVER_InferenceRequestSetPriorityUInt64", lambda: setattr(request, "priority_uint64", 1)):
        with pytest.raises(ti.UnsupportedError, match="TRITONSERVER_InferenceRequestPriorityUInt64"):
            _ = request.priority_uint64
        return
    request.priority_uint64 = 4
    assert request.priority_uint64 == request.priority == 4
    request.priority_uint64 = 2**64 - 1
    assert request.priority_uint64 == 2
    for wrong, kind in ((-1, ValueError), (2**64, ValueError), ("1", TypeError)):
        with pytest.raises(kind, match="priority_uint64"):
            request.priority_uint64 = wrong  # type: ignore[assignment]


def test_the_timeout_is_in_microseconds(host: Host) -> None:
    request = host.request()
    for value in (1, 10**9, 2**64 - 1, 0):
        request.timeout_microseconds = value
        assert request.timeout_microseconds == value
    for wrong, kind in ((-1, ValueError), (2**64, ValueError), (1.5, TypeError), (None, TypeError)):
        with pytest.raises(kind, match="timeout"):
            request.timeout_microseconds = wrong  # type: ignore[assignment]


# -- inputs and outputs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(8,), [8], np.array([8]), (np.int64(8),), range(8, 9)], ids=repr)
def test_a_shape_is_any_sequence_of_ints(host: Host, shape: Any) -> None:
    request = Request(host.capi, "fast", -1)
    request.add_input("INPUT0", FP32, shape)
    request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, CPU, 0)
    assert answer(host.capi, request).output(0)[2] == (8,)


@pytest.mark.parametrize("shape", [8, None, "8", [8.0], ["8"], [2**63], [None]], ids=repr)
def test_what_is_no_shape_is_a_type_error(host: Host, shape: Any) -> None:
    request = Request(host.capi, "fast", -1)
    with pytest.raises((TypeError, OverflowError), match="shape"):
        request.add_input("INPUT0", FP32, shape)
    fill(request)
    assert (content(answer(host.capi, request)) == X).all()


def test_a_raw_input_has_the_type_and_shape_of_the_model(host: Host) -> None:
    request = Request(host.capi, "typed_UINT8", -1)
    request.add_raw_input("INPUT0")
    data = np.arange(7, dtype=np.uint8)
    request.append_input_data("INPUT0", data.ctypes.data, data.nbytes, CPU, 0)
    response = answer(host.capi, request)
    response.throw_if_response_error()
    assert (content(response, data_type=np.uint8) == data).all()
    with pytest.raises(ti.InvalidArgumentError):
        request.add_raw_input("INPUT0")


def test_a_raw_input_is_the_only_one(host: Host) -> None:
    request = host.request()
    with pytest.raises(ti.InvalidArgumentError):
        request.add_raw_input("INPUT1")
    assert (content(answer(host.capi, request)) == X).all()


def test_an_input_is_appended_in_pieces(host: Host) -> None:
    request = Request(host.capi, "fast", -1)
    request.add_input("INPUT0", FP32, (8,))
    for i in range(8):
        request.append_input_data("INPUT0", X.ctypes.data + 4 * i, 4, CPU, 0)
    assert (content(answer(host.capi, request)) == X).all()


def test_an_input_is_appended_with_a_host_policy(host: Host) -> None:
    request = Request(host.capi, "fast", -1)
    request.add_input("INPUT0", FP32, (8,))
    request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, CPU, 0)
    other = X + 1
    request.append_input_data_with_host_policy("INPUT0", other.ctypes.data, other.nbytes, CPU, 0, "nobody's")
    assert (content(answer(host.capi, request)) == X).all(), "the data of another host policy"
    with pytest.raises(ti.InvalidArgumentError, match="host_policy"):
        request.append_input_data_with_host_policy("INPUT0", X.ctypes.data, 4, CPU, 0, "a\0b")


def test_an_input_is_appended_with_buffer_attributes(host: Host) -> None:
    request = Request(host.capi, "fast", -1)
    request.add_input("INPUT0", FP32, (8,))
    attributes = capi.TRITONSERVER_BufferAttributes()
    attributes.byte_size = X.nbytes
    attributes.memory_type = CPU
    request.append_input_data_with_buffer_attributes("INPUT0", X.ctypes.data, attributes)
    attributes.byte_size = 0
    del attributes
    assert (content(answer(host.capi, request)) == X).all()
    with pytest.raises(TypeError, match="buffer_attributes"):
        request.append_input_data_with_buffer_attributes("INPUT0", X.ctypes.data, None)  # type: ignore[arg-type]


def test_an_address_of_0_is_for_0_bytes_only(host: Host) -> None:
    request = Request(host.capi, "fast", -1)
    request.add_input("INPUT0", FP32, (0,))
    attributes = capi.TRITONSERVER_BufferAttributes()
    attributes.byte_size = 4
    for append in (
        lambda: request.append_input_data("INPUT0", 0, 4, CPU, 0),
        lambda: request.append_input_data_with_host_policy("INPUT0", 0, 4, CPU, 0, "policy"),
        lambda: request.append_input_data_with_buffer_attributes("INPUT0", 0, attributes),
    ):
        with pytest.raises(ti.InvalidArgumentError, match="address of 4 bytes for input 'INPUT0' is 0"):
            append()
    request.append_input_data("INPUT0", 0, 0, CPU, 0)
    response = answer(host.capi, request)
    response.throw_if_response_error()
    assert response.output(0)[2] == (0,)
    assert response.output(0)[4] == 0


def test_inputs_and_their_data_are_removed(host: Host) -> None:
    request = host.request()
    request.remove_all_input_data("INPUT0")
    other = X + 1
    request.append_input_data("INPUT0", other.ctypes.data, other.nbytes, CPU, 0)
    assert (content(answer(host.capi, request)) == other).all()
    request.remove_input("INPUT0")
    fill(request)
    assert (content(answer(host.capi, request)) == X).all()
    request.remove_all_inputs()
    fill(request, other)
    assert (content(answer(host.capi, request)) == other).all()


def test_outputs_are_asked_for(host: Host) -> None:
    request = host.request()
    request.add_requested_output("OUTPUT0")
    request.add_requested_output("OUTPUT0")
    assert answer(host.capi, request).output_count == 1
    request.remove_requested_output("OUTPUT0")
    request.add_requested_output("nothing")
    with pytest.raises(ti.InvalidArgumentError, match="nothing"):
        host.capi.infer_async(request)
    request.remove_all_requested_outputs()
    assert answer(host.capi, request).output_count == 1


def test_wrong_names_are_told(host: Host) -> None:
    request = host.request()
    for action in (
        lambda: request.add_input("INPUT0", FP32, (8,)),
        lambda: request.append_input_data("nothing", X.ctypes.data, 4, CPU, 0),
        lambda: request.remove_input("nothing"),
        lambda: request.remove_all_input_data("nothing"),
    ):
        with pytest.raises(ti.InvalidArgumentError, match=r"INPUT0|nothing"):
            action()
    attributes = capi.TRITONSERVER_BufferAttributes()
    for use in (
        lambda name: request.add_input(name, FP32, (8,)),
        request.add_raw_input,
        request.remove_input,
        request.remove_all_input_data,
        request.add_requested_output,
        request.remove_requested_output,
        lambda name: request.append_input_data(name, X.ctypes.data, 4, CPU, 0),
        lambda name: request.append_input_data_with_host_policy(name, X.ctypes.data, 4, CPU, 0, "p"),
        lambda name: request.append_input_data_with_buffer_attributes(name, X.ctypes.data, attributes),
    ):
        with pytest.raises(ti.InvalidArgumentError, match="name must not contain a NUL"):
            use("INPUT0\0more")
        for wrong in (None, 3, b"INPUT0"):
            with pytest.raises(TypeError, match="name"):
                use(wrong)  # type: ignore[arg-type]
    assert (content(answer(host.capi, request)) == X).all()


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("address", -1),
        ("address", 2**64),
        ("address", None),
        ("address", "0"),
        ("address", 1.0),
        ("byte_size", -1),
        ("byte_size", 2**64),
        ("memory_type", "CPU"),
        ("memory_type", None),
        ("memory_type", FP32),
        ("memory_type_id", 2**63),
        ("memory_type_id", None),
    ],
)
def test_wrong_arguments_of_an_append_are_told(host: Host, field: str, wrong: Any) -> None:
    request = host.request()
    arguments = {
        "name": "INPUT0",
        "address": X.ctypes.data,
        "byte_size": 4,
        "memory_type": CPU,
        "memory_type_id": 0,
        field: wrong,
    }
    with pytest.raises((TypeError, ValueError, OverflowError), match=field):
        request.append_input_data(**arguments)
    assert (content(answer(host.capi, request)) == X).all()


# -- parameters --------------------------------------------------------------------------------------------------------


class Index:
    def __index__(self) -> int:
        return 5


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("string", ["", "text", "é日本"], [(3, TypeError), (None, TypeError), (b"x", TypeError), ("a\0b", ValueError)]),
        (
            "int",
            [0, -(2**63), 2**63 - 1, np.int64(3), np.uint8(3), Index()],
            [
                (True, TypeError),
                (np.True_, TypeError),
                (1.0, TypeError),
                ("1", TypeError),
                (None, TypeError),
                (2**63, OverflowError),
                (-(2**63) - 1, OverflowError),
            ],
        ),
        ("bool", [True, False, np.True_], [(1, TypeError), (0, TypeError), ("true", TypeError), (None, TypeError)]),
        (
            "double",
            [0.5, 1, float("inf"), float("nan"), np.float32(1), np.float64(1)],
            [(True, TypeError), ("1", TypeError), (None, TypeError), (1j, TypeError)],
        ),
    ],
)
def test_parameters_are_of_exact_types(host: Host, kind: str, good: list[Any], bad: list[Any]) -> None:
    request = host.request()
    set_parameter = getattr(request, f"set_{kind}_parameter")
    for value, error in bad:
        with pytest.raises(error, match="value"):
            set_parameter("key", value)
    function = f"TRITONSERVER_InferenceRequestSet{kind.capitalize()}Parameter"
    if not supported(function, lambda: set_parameter("key", good[0])):
        return
    for i, value in enumerate(good):
        set_parameter(f"key {i}", value)
    for wrong in (None, 3, b"key"):
        with pytest.raises(TypeError, match="key"):
            set_parameter(wrong, good[0])
    response = answer(host.capi, request)
    response.throw_if_response_error()


@pytest.mark.parametrize(("kind", "value"), [("string", "x"), ("int", 1), ("bool", True), ("double", 0.5)])
def test_a_key_that_c_would_cut_is_told_by_the_argument_name(host: Host, kind: str, value: Any) -> None:
    request = host.request()
    if not capi.available(f"TRITONSERVER_InferenceRequestSet{kind.capitalize()}Parameter"):
        return  # the test before this one looks at that
    with pytest.raises(ti.InvalidArgumentError, match=r"^key must not contain a NUL"):
        getattr(request, f"set_{kind}_parameter")("a\0b", value)


# -- making and sending ------------------------------------------------------------------------------------------------


def test_a_request_for_an_unknown_model_is_not_found(host: Host) -> None:
    with pytest.raises(ti.NotFoundError, match="nothing"):
        Request(host.capi, "nothing", -1)
    with pytest.raises(ti.NotFoundError, match=r"fast.*7"):
        Request(host.capi, "fast", 7)


def test_wrong_arguments_of_a_request_are_told(host: Host) -> None:
    for server in (None, 3, host.server, capi.TRITONSERVER_ServerOptions()):
        with pytest.raises(TypeError, match="server"):
            Request(server, "fast", -1)  # type: ignore[arg-type]
    for name, error in ((None, TypeError), (3, TypeError), (b"fast", TypeError), ("a\0b", ValueError)):
        with pytest.raises(error, match="model_name"):
            Request(host.capi, name, -1)  # type: ignore[arg-type]
    for version in ("1", None, 1.0, 2**63):
        with pytest.raises((TypeError, OverflowError), match="model_version"):
            Request(host.capi, "fast", version)  # type: ignore[arg-type]


def test_callbacks_that_cannot_be_called_are_refused(host: Host) -> None:
    request = host.request()
    with pytest.raises(TypeError, match="request_release_function"):
        request.set_release_callback(None, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="response_function"):
        request.set_response_callback(None, None, 3, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="allocator"):
        request.set_response_callback(3, None, print, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="future"):
        request.get_next_response(3)  # type: ignore[arg-type]
    assert (content(answer(host.capi, request)) == X).all()


@pytest.mark.parametrize("model", ["fast", "function", "stream", "empty", "fails"])
def test_callbacks_are_called_with_what_was_given(host: Host, model: str) -> None:
    request = host.request(model)
    request.id = "the id"
    calls: list[tuple[Any, ...]] = []
    completed = threading.Semaphore(0)

    def respond(response: Any, flags: int, user: Any) -> None:
        calls.append(("response", response, flags, user))
        if flags & FINAL:
            completed.release()

    def release(released: Any, flags: int, user: Any) -> None:
        calls.append(("release", released, flags, user))
        completed.release()

    one, two = object(), object()
    request.set_response_callback(None, None, respond, one)
    request.set_release_callback(release, two)
    host.capi.infer_async(request)
    for _ in range(2):
        assert completed.acquire(timeout=PATIENCE)
    (_, released, flags, user) = next(call for call in calls if call[0] == "release")
    assert released is request
    assert flags == ALL
    assert user is two
    responses = [call for call in calls if call[0] == "response"]
    assert all(call[3] is one for call in responses)
    expected = {"fast": [1], "function": [1], "stream": [0, 0, 0, 1], "empty": [1], "fails": [0, 1]}[model]
    assert [call[2] for call in responses] == expected
    got = [call[1] for call in responses]
    if model in ("stream", "empty", "fails"):
        assert got.pop() is None
    assert [response.id for response in got] == ["the id"] * len(got)


@pytest.mark.parametrize("model", ["fast", "function", "stream", "empty", "gated"])
def test_a_request_in_flight_may_be_dropped(host: Host, model: str) -> None:
    request = host.request(model)
    told = Told(request)
    req2 = request
    host.capi.infer_async(request)
    del request, req2
    responses = told.complete()
    assert all((content(response) == X).all() for response in responses if response is not None)
    assert told.nothing_more()


def test_every_name_of_a_request_is_the_same_object(host: Host) -> None:
    request = host.request("gated")
    other = request
    with host.in_flight(request):
        with pytest.raises(ti.UnavailableError):
            other.id = "x"
        with pytest.raises(ti.UnavailableError):
            host.capi.infer_async(other)
    assert (content(next_response(other)[0]) == X).all()
    request.id = "y"
    assert other.id == "y"


def test_a_request_in_flight_holds_what_it_needs_and_then_lets_go(host: Host) -> None:
    class User:
        pass

    users = [User() for _ in range(3)]
    counts = [sys.getrefcount(user) for user in users]
    memory = Memory()
    request = host.request("gated")
    completed = threading.Semaphore(0)
    request.set_response_callback(
        memory.allocator(), users[0], lambda response, flags, user: completed.release(), users[1]
    )
    request.set_release_callback(lambda request, flags, user: completed.release(), users[2])
    with host.in_flight(request):
        del request
        for user, count in zip(users, counts, strict=True):
            assert sys.getrefcount(user) > count
        del user
    for _ in range(2):
        assert completed.acquire(timeout=PATIENCE)
    memory.wait_until_released()
    memory.log.clear()
    wait_until(lambda: [sys.getrefcount(user) for user in users] == counts, 5)


MUTATIONS: list[Callable[[Any], object]] = [
    lambda request: setattr(request, "id", "x"),
    lambda request: setattr(request, "flags", 1),
    lambda request: setattr(request, "correlation_id", 1),
    lambda request: setattr(request, "correlation_id_string", "x"),
    lambda request: setattr(request, "priority", 1),
    lambda request: setattr(request, "timeout_microseconds", 1),
    lambda request: request.add_input("INPUT1", FP32, (8,)),
    lambda request: request.add_raw_input("INPUT1"),
    lambda request: request.remove_input("INPUT0"),
    lambda request: request.remove_all_inputs(),
    lambda request: request.append_input_data("INPUT0", X.ctypes.data, 4, CPU, 0),
    lambda request: request.append_input_data_with_host_policy("INPUT0", X.ctypes.data, 4, CPU, 0, "p"),
    lambda request: request.append_input_data_with_buffer_attributes(
        "INPUT0", X.ctypes.data, capi.TRITONSERVER_BufferAttributes()
    ),
    lambda request: request.remove_all_input_data("INPUT0"),
    lambda request: request.add_requested_output("OUTPUT0"),
    lambda request: request.remove_requested_output("OUTPUT0"),
    lambda request: request.remove_all_requested_outputs(),
    lambda request: request.set_release_callback(print, None),
    lambda request: request.set_response_callback(None, None, print, None),
]

MAYBE_MISSING: dict[str, Callable[[Any], object]] = {
    "TRITONSERVER_InferenceRequestSetPriorityUInt64": lambda request: setattr(request, "priority_uint64", 1),
    "TRITONSERVER_InferenceRequestSetStringParameter": lambda request: request.set_string_parameter("k", "v"),
    "TRITONSERVER_InferenceRequestSetIntParameter": lambda request: request.set_int_parameter("k", 1),
    "TRITONSERVER_InferenceRequestSetBoolParameter": lambda request: request.set_bool_parameter("k", True),
    "TRITONSERVER_InferenceRequestSetDoubleParameter": lambda request: request.set_double_parameter("k", 0.5),
}


def test_a_request_in_flight_can_be_read_but_not_changed(host: Host) -> None:
    request = host.request("gated")
    request.id = "the id"
    request.flags = 3
    request.correlation_id = 4
    request.timeout_microseconds = 10**9
    told = Told(request)
    mutations = [*MUTATIONS, *(use for name, use in MAYBE_MISSING.items() if capi.available(name))]
    with host.in_flight(request):
        began = time.monotonic()
        for mutation in mutations:
            with pytest.raises(ti.UnavailableError, match="in flight"):
                mutation(request)
        with pytest.raises(ti.UnavailableError, match="in flight"):
            host.capi.infer_async(request)
        assert time.monotonic() - began < 2, "nothing was waited for"
        assert (request.id, request.flags, request.correlation_id) == ("the id", 3, 4)
        assert (request.priority, request.timeout_microseconds) == (0, 10**9)
        with pytest.raises(ti.InvalidArgumentError):
            _ = request.correlation_id_string
        if capi.available("TRITONSERVER_InferenceRequestIsCancelled"):
            assert request.is_cancelled() is False
        assert told.nothing_more()
    (response,) = told.complete()
    assert (content(response) == X).all()
    for mutation in mutations[:6]:
        mutation(request)


def test_a_request_is_sent_again_after_it_completed(host: Host) -> None:
    for model in ("fast", "function"):
        array = X.copy()
        request = host.request(model, array)
        told = Told(request)
        for i in range(50):
            array[:] = i
            request.id = str(i)
            host.capi.infer_async(request)
            (response,) = told.complete()
            assert response.id == str(i)
            assert (content(response) == i).all()
            assert told.nothing_more(), "callbacks come once for each time"
        assert (content(response) == 49).all()


def test_a_decoupled_request_is_sent_again(host: Host) -> None:
    request = host.request("stream")
    told = Told(request)
    for _ in range(10):
        host.capi.infer_async(request)
        assert len(told.complete()) == 4
        assert told.nothing_more()


def test_callbacks_may_be_changed_between_submissions(host: Host) -> None:
    request = host.request()
    first = Told(request)
    host.capi.infer_async(request)
    first.complete()
    second = Told(request)
    host.capi.infer_async(request)
    second.complete()
    assert first.nothing_more()


@pytest.mark.parametrize("fault", ["wrong input", "no input", "missing data", "wrong output", "wrong type"])
@pytest.mark.parametrize("callbacks", [True, False])
def test_a_failed_submission_leaves_the_request_usable(host: Host, fault: str, callbacks: bool) -> None:
    request = Request(host.capi, "fast", -1)
    memory = Memory()

    class User:
        pass

    users = [User() for _ in range(3)]
    told = None
    if callbacks:
        told = Told(request, memory.allocator(), users[0])
    if fault == "wrong input":
        fill(request, name="nothing")
    elif fault == "missing data":
        request.add_input("INPUT0", FP32, (8,))
    elif fault == "wrong output":
        fill(request)
        request.add_requested_output("nothing")
    elif fault == "wrong type":
        request.add_input("INPUT0", capi.TRITONSERVER_DataType.FP64, (4,))
        request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, CPU, 0)
    request.id = "kept"
    counts = [sys.getrefcount(user) for user in users], sys.getrefcount(request)
    sent = False
    for _ in range(10):
        with contextlib.suppress(ti.InvalidArgumentError):
            host.capi.infer_async(request)
            sent = True
        if sent:
            assert fault == "missing data", "older versions let the model find out"
            break
        # Nothing is in flight, no callback comes, and nobody holds anything.
        assert told is None or told.nothing_more()
        wait_until(lambda: ([sys.getrefcount(user) for user in users], sys.getrefcount(request)) == counts, 5)
    if sent and told is not None:
        told.complete()
    elif sent:
        next_response(request)
        wait_until_completed(request)
    assert request.id == "kept"
    request.remove_all_inputs()
    request.remove_all_requested_outputs()
    fill(request)
    host.capi.infer_async(request)
    if told is not None:
        (response,) = told.complete()
    else:
        response, _ = next_response(request)
    assert (content(response) == X).all()
    assert response.id == "kept"


def test_a_failed_submission_lets_go_of_callbacks_when_the_request_is_dropped(host: Host) -> None:
    gone: list[int] = []

    class User:
        def __init__(self, number: int) -> None:
            self.number = number

        def __call__(self, *_: Any) -> None:
            raise AssertionError("called")

        def __del__(self) -> None:
            gone.append(self.number)

    request = Request(host.capi, "fast", -1)
    request.set_response_callback(None, User(0), User(1), User(2))
    request.set_release_callback(User(3), User(4))
    with pytest.raises(ti.InvalidArgumentError):
        host.capi.infer_async(request)
    del request
    wait_until(lambda: sorted(gone) == [0, 1, 2, 3, 4], 5)


@pytest.mark.parametrize("model", ["fast", "function"])
def test_a_request_is_sent_again_inside_the_callback_that_completes_it(host: Host, model: str) -> None:
    request = host.request(model)
    done = threading.Event()
    log: list[str] = []
    sent: list[str] = []
    slow: list[float] = []

    def send_again(where: str) -> None:
        log.append(where)
        if len(sent) == 20:
            if len(log) >= 2 * 21:
                done.set()
            return
        began = time.monotonic()
        try:
            host.capi.infer_async(request)
        except ti.UnavailableError:
            pass
        else:
            sent.append(where)
        slow.append(time.monotonic() - began)

    request.set_response_callback(None, None, lambda *_: send_again("response"), None)
    request.set_release_callback(lambda *_: send_again("release"), None)
    host.capi.infer_async(request)
    assert done.wait(PATIENCE), (log, sent)
    assert log.count("response") == log.count("release") == 21
    assert max(slow) < 0.9, "it waited for what cannot come before it returns"


def test_a_request_is_changed_inside_the_callback_that_completes_it(host: Host) -> None:
    request = host.request()
    results: Future[str] = Future()

    def release(released: Any, _flags: int, _user: Any) -> None:
        try:
            released.id = "changed"
            released.set_release_callback(lambda *_: None, None)
            results.set_result(released.id)
        except BaseException as error:
            results.set_exception(error)

    request.set_release_callback(release, None)
    request.set_response_callback(None, None, lambda *_: None, None)
    host.capi.infer_async(request)
    assert results.result(PATIENCE) == "changed"


def test_a_request_is_dropped_inside_its_callbacks(host: Host) -> None:
    for model in ("fast", "function"):
        for callback in ("response", "release"):
            request = host.request(model)
            held = [request]
            done = threading.Semaphore(0)

            def drop(
                where: str, held: list[Any] = held, callback: str = callback, done: threading.Semaphore = done
            ) -> None:
                if where == callback:
                    held.clear()
                done.release()

            request.set_response_callback(None, None, lambda *_, drop=drop: drop("response"), None)
            request.set_release_callback(lambda *_, drop=drop: drop("release"), None)
            host.capi.infer_async(request)
            del request
            for _ in range(2):
                assert done.acquire(timeout=PATIENCE)


def wait_until_completed(request: Request) -> None:
    """Without looking at its responses."""

    def changeable() -> bool:
        try:
            request.remove_requested_output("nothing")
        except ti.UnavailableError:
            return False
        return True

    wait_until(changeable)


def test_a_change_while_the_response_is_being_told_holds_nobody_up(host: Host) -> None:
    """The release comes when the callback returns; waiting for it must not keep the callback from running."""
    told, go_on, released = threading.Event(), threading.Event(), threading.Event()
    moments: list[float] = []

    def respond(*_: Any) -> None:
        told.set()
        while not go_on.wait(0.005):
            moments.append(time.monotonic())

    request = host.request()
    request.set_response_callback(None, None, respond, None)
    request.set_release_callback(lambda *_: released.set(), None)
    host.capi.infer_async(request)
    assert told.wait(PATIENCE)
    began = time.monotonic()
    with pytest.raises(ti.UnavailableError, match="in flight"):
        request.id = "changed"
    moments.append(time.monotonic())
    go_on.set()
    assert released.wait(PATIENCE)
    gaps = [later - earlier for earlier, later in zip([began, *moments], moments, strict=False)]
    assert max(gaps) < 0.5, "the GIL was held while waiting"
    assert moments[-1] - began < 2, "it waits for a second at most"


# -- futures -----------------------------------------------------------------------------------------------------------


def test_a_future_before_and_after_the_response(host: Host) -> None:
    request = host.request("gated")
    before: Future[Any] = Future()
    with host.in_flight(request):
        request.get_next_response(before)
        assert not before.done()
    assert (content(before.result(PATIENCE)[0]) == X).all()
    assert before.result()[1] == FINAL
    host.capi.infer_async(request)
    wait_until_completed(request)
    after: Future[Any] = Future()
    request.get_next_response(after)
    assert (content(after.result(PATIENCE)[0]) == X).all()
    earliest: Future[Any] = Future()
    request.get_next_response(earliest)
    host.capi.infer_async(request)
    assert (content(earliest.result(PATIENCE)[0]) == X).all()


def test_futures_get_the_responses_of_a_stream_in_their_order(host: Host) -> None:
    request = host.request("stream")
    for sent_first in (True, False):
        futures: list[Future[Any]] = [Future() for _ in range(4)]
        if sent_first:
            host.capi.infer_async(request)
        for future in futures:
            request.get_next_response(future)
        if not sent_first:
            host.capi.infer_async(request)
        answers = [future.result(PATIENCE) for future in futures]
        assert [flags for _, flags in answers] == [0, 0, 0, FINAL]
        assert [response.parameter(0)[2] for response, _ in answers[:3]] == [0, 1, 2]
        assert answers[3][0] is None
        wait_until_completed(request)


def test_the_empty_final_response_is_none(host: Host) -> None:
    request = host.request("empty")
    host.capi.infer_async(request)
    assert next_response(request) == (None, FINAL)


def test_two_outstanding_futures_of_one_response(host: Host) -> None:
    request = host.request("gated")
    first, second = Future[Any](), Future[Any]()
    request.get_next_response(first)
    with host.in_flight(request):
        request.get_next_response(second)
    assert first.result(PATIENCE)[1] == FINAL
    assert not second.done()
    request.id = "2"
    host.capi.infer_async(request)
    assert second.result(PATIENCE)[0].id == "2"


def test_a_cancelled_future_gets_nothing_and_loses_nothing(host: Host) -> None:
    request = host.request("stream")
    futures: list[Future[Any]] = [Future() for _ in range(6)]
    futures[0].cancel()
    for future in futures:
        request.get_next_response(future)
    futures[3].cancel()
    host.capi.infer_async(request)
    got = [futures[i].result(PATIENCE) for i in (1, 2, 4, 5)]
    assert [response.parameter(0)[2] for response, _ in got[:3]] == [0, 1, 2]
    assert got[3] == (None, FINAL)


def test_a_future_that_is_done_already_loses_no_response(host: Host) -> None:
    request = host.request()
    used: Future[Any] = Future()
    used.set_result("something else")
    with contextlib.suppress(ValueError, RuntimeError):  # one may say so at once
        request.get_next_response(used)
    host.capi.infer_async(request)
    response, flags = next_response(request)
    assert flags == FINAL
    assert (content(response) == X).all()
    assert used.result() == "something else"


def test_a_future_that_is_given_twice_loses_no_response(host: Host) -> None:
    request = host.request("stream")
    twice: Future[Any] = Future()
    request.get_next_response(twice)
    with contextlib.suppress(ValueError, RuntimeError):  # one may say so at once
        request.get_next_response(twice)
    host.capi.infer_async(request)
    first = twice.result(PATIENCE)
    rest = [next_response(request) for _ in range(3)]
    assert [response.parameter(0)[2] for response, _ in [first, *rest[:2]]] == [0, 1, 2]
    assert rest[2] == (None, FINAL)


def test_a_future_and_a_callback_exclude_each_other(host: Host) -> None:
    request = host.request()
    Told(request)
    with pytest.raises(ti.InvalidArgumentError, match="response callback"):
        request.get_next_response(Future())


def test_a_done_callback_of_a_future_asks_for_the_next(host: Host) -> None:
    request = host.request("stream")
    numbers: list[int] = []
    done = threading.Event()

    def ask() -> None:
        future: Future[Any] = Future()
        future.add_done_callback(note)
        request.get_next_response(future)

    def note(future: Future[Any]) -> None:
        response, flags = future.result()
        if flags & FINAL:
            done.set()
            return
        numbers.append(response.parameter(0)[2])
        ask()

    ask()
    host.capi.infer_async(request)
    assert done.wait(PATIENCE)
    assert numbers == [0, 1, 2]


def test_asyncio_futures(host: Host) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        request = host.request("stream")
        for _ in range(3):
            early = [loop.create_future() for _ in range(2)]
            for future in early:
                request.get_next_response(future)
            host.capi.infer_async(request)
            answers = [await asyncio.wait_for(future, PATIENCE) for future in early]
            for _ in range(2):
                future = loop.create_future()
                request.get_next_response(future)
                answers.append(await asyncio.wait_for(future, PATIENCE))
            assert [response.parameter(0)[2] for response, _ in answers[:3]] == [0, 1, 2]
            assert answers[3] == (None, FINAL)
            wait_until_completed(request)

    asyncio.run(main())


def test_many_requests_in_one_event_loop(host: Host) -> None:
    async def one(value: int) -> None:
        array = np.full(8, value, np.float32)
        request = host.request("fast", array)
        future = asyncio.get_running_loop().create_future()
        request.get_next_response(future)
        host.capi.infer_async(request)
        response, _ = await asyncio.wait_for(future, PATIENCE)
        assert (content(response) == value).all()

    async def main() -> None:
        await asyncio.gather(*(one(value) for value in range(200)))

    asyncio.run(main())


def test_asyncio_futures_that_are_cancelled_lose_nothing(host: Host) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        request = host.request("stream")
        cancelled = [loop.create_future() for _ in range(2)]
        for future in cancelled:
            request.get_next_response(future)
            future.cancel()
        host.capi.infer_async(request)
        numbers = []
        for _ in range(3):
            future = loop.create_future()
            request.get_next_response(future)
            numbers.append((await asyncio.wait_for(future, 5))[0].parameter(0)[2])
        assert numbers == [0, 1, 2]

    asyncio.run(main())


def test_an_asyncio_future_that_is_cancelled_at_the_last_moment_does_not_change_the_order(host: Host) -> None:
    """The loop was told of the responses, but the futures have not got them yet."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        request = host.request("stream")
        released = threading.Event()
        request.set_release_callback(lambda *_: released.set(), None)
        futures = [loop.create_future() for _ in range(3)]
        for future in futures:
            request.get_next_response(future)
        host.capi.infer_async(request)
        assert released.wait(PATIENCE)
        wait_until_completed(request)
        futures[0].cancel()
        futures += [loop.create_future() for _ in range(2)]
        for future in futures[3:]:
            request.get_next_response(future)
        answers = [await asyncio.wait_for(future, 5) for future in futures[1:]]
        numbers = [None if response is None else response.parameter(0)[2] for response, _ in answers]
        assert numbers == [0, 1, 2, None]

    asyncio.run(main())


def test_an_event_loop_that_is_closed_loses_no_response(host: Host) -> None:
    request = host.request("gated")

    async def ask() -> None:
        request.get_next_response(asyncio.get_running_loop().create_future())

    with host.in_flight(request):
        asyncio.run(ask())
    assert (content(next_response(request)[0]) == X).all()


# -- cancelling --------------------------------------------------------------------------------------------------------


def cancel_is_supported(host: Host) -> bool:
    request = host.request()
    return supported("TRITONSERVER_InferenceRequestCancel", request.cancel)


def test_is_cancelled_is_supported_or_says_so(host: Host) -> None:
    request = host.request()
    if supported("TRITONSERVER_InferenceRequestIsCancelled", request.is_cancelled):
        answer(host.capi, request)
        assert request.is_cancelled() is False


def test_cancelling_before_during_and_after_twice(host: Host) -> None:
    if not cancel_is_supported(host):
        return
    request = host.request("slow")
    told = Told(request)
    request.cancel()
    request.cancel()
    for _ in range(2):
        host.capi.infer_async(request)
        assert request.is_cancelled() is False, "it was cancelled before it was sent"
        request.cancel()
        request.cancel()
        assert request.is_cancelled() is True
        (response,) = told.complete()
        with pytest.raises(ti.CancelledError):
            response.throw_if_response_error()
        assert response.output_count == 0
        request.cancel()
        request.cancel()
    assert told.nothing_more()
    host.capi.infer_async(request)
    (response,) = told.complete()
    response.throw_if_response_error()
    assert (content(response) == X).all(), "the next time is a new one"


def test_cancelling_from_other_threads_many_times(host: Host) -> None:
    if not cancel_is_supported(host):
        return
    request = host.request()
    told = Told(request)
    done = threading.Event()
    errors: list[BaseException] = []

    def cancel() -> None:
        try:
            while not done.is_set():
                request.cancel()
                request.is_cancelled()
        except BaseException as error:
            errors.append(error)

    host.capi.infer_async(request)
    told.complete()
    threads = [threading.Thread(target=cancel) for _ in range(2)]
    for thread in threads:
        thread.start()
    outcomes = {"good": 0, "cancelled": 0}
    for _ in range(1000):
        host.capi.infer_async(request)
        (response,) = told.complete()
        try:
            response.throw_if_response_error()
            outcomes["good"] += 1
        except ti.CancelledError:
            outcomes["cancelled"] += 1
    done.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert errors == []
    assert sum(outcomes.values()) == 1000


def test_cancelling_ten_thousand_times(host: Host) -> None:
    if not cancel_is_supported(host):
        return
    request = host.request()
    for _ in range(2_500):
        request.cancel()
        host.capi.infer_async(request)
        request.cancel()
        response, flags = next_response(request)
        assert flags == FINAL
        request.cancel()
        request.cancel()
        try:
            response.throw_if_response_error()
        except ti.CancelledError:
            continue


def test_cancelling_a_dropped_stream_ends_it(host: Host, identity_backend: Path, repository: Path) -> None:
    if not cancel_is_supported(host):
        return
    write_identity(repository, "long", decoupled=True, parameters={"responses": 10_000, "delay_us": 1_000})
    server = capi.TRITONSERVER_Server(explicit_options(repository, identity_backend))
    server.load_model("long")
    request = filled(server, "long")
    told = Told(request)
    server.infer_async(request)
    assert told.response() is not None
    request.cancel()
    del request
    responses = told.complete()
    assert len(responses) < 9_000
    assert seconds_of(server.stop) < 2


# -- any order ---------------------------------------------------------------------------------------------------------


class Tracked:
    """A request with what it should be."""

    def __init__(self, host: Host) -> None:
        self.request: Request | None = Request(host.capi, "gated", -1)
        self.told = Told(self.request)
        self.array: Any = None
        self.id = ""
        self.in_flight = False
        self.cancelled = False
        self.sent: tuple[Any, str] | None = None


class LifeCycle(RuleBasedStateMachine):
    """Several requests for a model that answers when the rule `complete` lets it."""

    host: Host
    requests: Bundle[Tracked] = Bundle("requests")

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[Tracked] = []
        self.dropped: list[Tracked] = []
        self.kept: list[tuple[Any, Any]] = []
        self.number = 0
        self.host.gate.close()

    def changes(self, tracked: Tracked, action: Callable[[Any], object]) -> bool:
        """Whether the action was allowed, which it must be exactly when the request is not in flight."""
        if tracked.in_flight and tracked.cancelled:
            return False  # it may be completed already: what is cancelled before it is begun does not pass the gate
        if tracked.in_flight:
            with pytest.raises(ti.UnavailableError):
                action(tracked.request)
            return False
        action(tracked.request)
        return True

    @rule(target=requests)
    def build(self) -> Tracked:
        tracked = Tracked(self.host)
        self.alive.append(tracked)
        return tracked

    @rule(tracked=requests)
    def append(self, tracked: Tracked) -> None:
        self.number += 1
        array = np.full(3, self.number, np.float32)

        def refill(request: Any) -> None:
            request.remove_all_inputs()
            fill(request, array)

        if self.changes(tracked, refill):
            tracked.array = array

    @rule(tracked=requests)
    def empty(self, tracked: Tracked) -> None:
        if self.changes(tracked, lambda request: request.remove_all_inputs()):
            tracked.array = None

    @rule(tracked=requests, text=st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=5))
    def name(self, tracked: Tracked, text: str) -> None:
        if self.changes(tracked, lambda request: setattr(request, "id", text)):
            tracked.id = text

    @rule(tracked=requests)
    def submit(self, tracked: Tracked) -> None:
        if tracked.array is None and not tracked.in_flight:
            with pytest.raises(ti.InvalidArgumentError):
                self.host.capi.infer_async(tracked.request)  # type: ignore[arg-type]
        elif self.changes(tracked, self.host.capi.infer_async):
            tracked.in_flight = True
            tracked.cancelled = False
            tracked.sent = tracked.array, tracked.id

    @rule(tracked=requests)
    def cancel(self, tracked: Tracked) -> None:
        assert tracked.request is not None
        if capi.available("TRITONSERVER_InferenceRequestCancel"):
            tracked.request.cancel()
            tracked.cancelled = tracked.cancelled or tracked.in_flight
            if tracked.in_flight:
                assert tracked.request.is_cancelled()

    @rule(tracked=consumes(requests))
    def drop(self, tracked: Tracked) -> None:
        tracked.request = None
        self.alive.remove(tracked)
        if tracked.in_flight:
            self.dropped.append(tracked)
        else:
            assert tracked.told.nothing_more()

    @rule()
    def complete(self) -> None:
        self.host.gate.opened.set()
        for tracked in [*self.alive, *self.dropped]:
            if tracked.in_flight:
                (response,) = tracked.told.complete()
                self.check(tracked, response)
                tracked.in_flight = False
        self.dropped.clear()
        self.host.gate.close()

    def check(self, tracked: Tracked, response: Any) -> None:
        assert tracked.sent is not None
        array, text = tracked.sent
        assert response.id == text
        try:
            response.throw_if_response_error()
        except ti.CancelledError:
            assert tracked.cancelled
            return
        assert (content(response) == array).all()
        self.kept.append((response, array))

    @rule()
    def look_at_what_was_kept(self) -> None:
        for response, array in self.kept:
            assert (content(response) == array).all()
        self.kept.clear()

    @invariant()
    def requests_are_as_they_should_be(self) -> None:
        for tracked in self.alive:
            assert tracked.request is not None
            assert tracked.request.id == tracked.id
            if not tracked.in_flight:
                assert tracked.told.nothing_more()

    def teardown(self) -> None:
        self.complete()
        self.look_at_what_was_kept()
        self.host.gate.opened.set()


def test_the_life_cycle_in_any_order(host: Host) -> None:
    LifeCycle.host = host
    run_state_machine_as_test(
        LifeCycle,
        settings=examples(
            60,
            stateful_step_count=30,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# -- threads and the end -----------------------------------------------------------------------------------------------

STORM = """
sys.setswitchinterval(1e-5)
sent = 0
server = explicit("fast")
shared = [filled(server) for _ in range(3)]
done = threading.Event()
errors = []
def storm(action):
    i = 0
    while not done.is_set():
        i += 1
        try:
            action(i)
        except (ti.UnavailableError, ti.InvalidArgumentError):
            pass
        except BaseException as error:
            errors.append(error)
            done.set()
def send(i):
    global sent
    server.infer_async(shared[i % 3])
    sent += 1
def change(i):
    request = shared[i % 3]
    request.id = str(i)
    request.remove_all_inputs()
    fill(request)
def call_backs(i):
    request = shared[i % 3]
    if i % 2:
        request.set_response_callback(memory.allocator(), [i], lambda *_: None, [i])
    else:
        request.set_release_callback(lambda *_: None, [i])
def drop(i):
    shared[i % 3] = filled(server)
    time.sleep(0)
def read(i):
    request = shared[i % 3]
    request.id, request.flags, request.correlation_id
    if capi.available("TRITONSERVER_InferenceRequestCancel"):
        request.cancel()
def ask(i):
    request = shared[i % 3]
    future = concurrent.futures.Future()
    request.get_next_response(future)
    if i % 2:
        future.cancel()
memory = Memory()
actions = send, send, change, call_backs, drop, read, ask
threads = [threading.Thread(target=storm, args=(action,)) for action in actions]
for thread in threads:
    thread.start()
done.wait(1)
done.set()
for thread in threads:
    thread.join(20)
    assert not thread.is_alive()
assert not errors, errors
del shared
server.stop()
wait_until(lambda: memory.allocated == memory.released)
assert sent > 10, sent
print("done")
"""


def test_threads_that_use_one_request_at_once_do_no_harm(identity_backend: Path, repository: Path) -> None:
    result = run_capi_script(STORM, identity_backend, repository).check(within=30)
    assert result.output == "done\n"


def test_a_server_that_is_stopped_amid_requests(identity_backend: Path, repository: Path) -> None:
    source = STORM.replace("done.wait(1)", "done.wait(0.5); server.stop()")
    result = run_capi_script(source, identity_backend, repository).check(within=30)
    assert result.output == "done\n"


@pytest.mark.parametrize(
    "way",
    [
        "a request",
        "several requests",
        "callbacks and an allocator",
        "a future",
        "dropped",
        "a daemon thread that sends",
        "a function that waits",
        "an asyncio future",
    ],
)
def test_the_interpreter_ends_with_requests_in_flight(identity_backend: Path, repository: Path, way: str) -> None:
    ways = {
        "a request": "r = filled(server, 'slow'); server.infer_async(r)",
        "several requests": """
rs = [filled(server, 'slow') for _ in range(3)]
for r in rs: server.infer_async(r)""",
        "callbacks and an allocator": """
memory = Memory()
r = filled(server, 'slow'); told = Told(r, memory.allocator()); server.infer_async(r)""",
        "a future": """
r = filled(server, 'slow'); server.infer_async(r)
future = concurrent.futures.Future(); r.get_next_response(future)""",
        "dropped": "r = filled(server, 'slow'); server.infer_async(r); del r",
        "a daemon thread that sends": """
def send():
    while True:
        r = filled(server, 'fast')
        Told(r, Memory().allocator())
        server.infer_async(r)
threading.Thread(target=send, daemon=True).start()
time.sleep(0.1)""",
        "a function that waits": """
high = ti.Server().start()
high.add_model(lambda x: (time.sleep(0.3), x)[1], name="m", **SPECS)
r = capi.TRITONSERVER_InferenceRequest(high.capi, "m", -1); fill(r, X[:4], "x"); high.capi.infer_async(r)""",
        "an asyncio future": """
async def main():
    r = filled(server, 'slow')
    r.get_next_response(asyncio.get_running_loop().create_future())
    server.infer_async(r)
asyncio.run(main())""",
    }
    source = f"server = explicit('slow', 'fast')\n{ways[way]}"
    models: dict[str, Any] = {"slow": {"parameters": {"delay_us": 200_000}}, "fast": {}}
    run_capi_script(source, identity_backend, repository, models, timeout=20).check(within=10)


def test_memory_that_a_request_reads_is_the_callers(host: Host) -> None:
    """What is given by address is read when the model runs: the request keeps no copy."""
    block = (ctypes.c_float * 8)(*range(8))
    request = Request(host.capi, "gated", -1)
    request.add_input("INPUT0", FP32, (8,))
    request.append_input_data("INPUT0", ctypes.addressof(block), 32, CPU, 0)
    assert (content(answer(host.capi, request)) == X).all()
    block[0] = 100
    assert content(answer(host.capi, request))[0] == 100
