"""TRITONSERVER_ResponseAllocator of triton_inprocess.capi: what its functions are called with, and what they do wrong.

The query function is called for backends that ask beforehand where an output will lie; neither the identity backend
nor functions do, so its calls are left to the tests with the fake library.
"""

from __future__ import annotations

import ctypes
import gc
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import write_identity
from helpers_capi_inference import (
    CPU,
    FLOATS,
    FP32,
    PATIENCE,
    Host,
    Memory,
    Told,
    X,
    after_triton,
    answer,
    content,
    run_capi_script,
    running_host,
)
from helpers_lifetime import wait_until

import triton_inprocess as ti
from triton_inprocess import capi

Allocator = capi.TRITONSERVER_ResponseAllocator
MemoryType = capi.TRITONSERVER_MemoryType

ERRORS = [
    ti.UnknownError,
    ti.InternalError,
    ti.NotFoundError,
    ti.InvalidArgumentError,
    ti.UnavailableError,
    ti.UnsupportedError,
    ti.AlreadyExistsError,
    ti.CancelledError,
]


@pytest.fixture(scope="module")
def host(identity_backend: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    repository = tmp_path_factory.mktemp("models")
    write_identity(repository, "bytes", data_type="STRING")
    with running_host(identity_backend, repository) as host:
        host.server.add_model(
            lambda INPUT0: {"OUTPUT0": INPUT0, "OUTPUT1": INPUT0 * 2},
            name="two",
            inputs=FLOATS["inputs"],
            outputs={"OUTPUT0": (np.float32, (-1,)), "OUTPUT1": (np.float32, (-1,))},
        )
        yield host


def outcome(host: Host, allocator: Any, model: str = "fast", user: Any = None) -> Any:
    """The only response to a request whose outputs the allocator places."""
    request = host.request(model)
    told = Told(request, allocator, user)
    host.capi.infer_async(request)
    (response,) = told.complete()
    return response


@contextmanager
def unraisable() -> Iterator[queue.Queue[Any]]:
    """What sys.unraisablehook is told meanwhile: (exception, object)."""
    hook = sys.unraisablehook
    told: queue.Queue[Any] = queue.Queue()
    sys.unraisablehook = lambda told_of: told.put((told_of.exc_value, told_of.object))
    try:
        yield told
    finally:
        sys.unraisablehook = hook


# -- what is called when -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["fast", "function"])
def test_the_functions_are_called_with_what_is_documented(host: Host, model: str) -> None:
    log: list[tuple[Any, ...]] = []
    user, buffer_user = object(), object()
    block = ctypes.create_string_buffer(64)
    address = ctypes.addressof(block)

    def alloc(*arguments: Any) -> Any:
        log.append(("alloc", *arguments))
        return address, buffer_user, CPU, 0

    def release(*arguments: Any) -> None:
        log.append(("release", *arguments))

    def start(*arguments: Any) -> None:
        log.append(("start", *arguments))

    def describe(allocator: Any, name: Any, attributes: Any, given: Any, buffer_given: Any) -> Any:
        assert isinstance(attributes, capi.TRITONSERVER_BufferAttributes)
        log.append(("attributes", allocator, name, given, buffer_given))
        return attributes

    allocator = Allocator(alloc_function=alloc, release_function=release, start_function=start)
    allocator.set_buffer_attributes_function(describe)
    response = outcome(host, allocator, model, user)
    response.throw_if_response_error()
    assert log == [
        ("start", allocator, user),
        ("alloc", allocator, "OUTPUT0", 32, CPU, 0, user),
        ("attributes", allocator, "OUTPUT0", user, buffer_user),
    ]
    assert response.output(0) == ("OUTPUT0", FP32, (8,), address, 32, CPU, 0, buffer_user)
    assert response.output(0)[7] is buffer_user
    assert (np.frombuffer(bytes(block), np.float32)[:8] == X).all()
    log.clear()
    del response
    wait_until(lambda: log, 5)
    assert log == [("release", allocator, address, buffer_user, 32, CPU, 0)]


def test_the_functions_are_called_for_each_response_of_a_stream(host: Host) -> None:
    memory = Memory()
    starts: list[Any] = []
    request = host.request("stream")
    told = Told(request, memory.allocator(lambda *arguments: starts.append(arguments)), "user")
    host.capi.infer_async(request)
    responses = told.complete()
    assert memory.allocated == 3
    assert len(starts) == 3
    assert [(content(response) == X).all() for response in responses[:3]] == [True] * 3
    assert len({response.output(0)[3] for response in responses[:3]}) == 3
    del responses
    memory.wait_until_released()


def test_the_functions_are_called_for_each_output(host: Host) -> None:
    memory = Memory()
    response = outcome(host, memory.allocator(), "two")
    assert sorted(entry[1] for entry in memory.log) == ["OUTPUT0", "OUTPUT1"]
    for i in range(2):
        name, *_, buffer_user = response.output(i)
        assert buffer_user == f"buffer of {name}"
        assert (content(response, i) == X * (2 if name == "OUTPUT1" else 1)).all()
    del response
    memory.wait_until_released()


@pytest.mark.parametrize("address", [0, ctypes.addressof(ctypes.create_string_buffer(1))], ids=["0", "any"])
def test_outputs_without_bytes(host: Host, address: int) -> None:
    log: list[tuple[Any, ...]] = []

    def alloc(_allocator: Any, *rest: Any) -> Any:
        log.append(("alloc", *rest))
        return address, "buffer", CPU, 0

    def release(_allocator: Any, *rest: Any) -> None:
        log.append(("release", *rest))

    request = host.request("fast", np.zeros(0, np.float32))
    told = Told(request, Allocator(alloc, release), "user")
    host.capi.infer_async(request)
    (response,) = told.complete()
    response.throw_if_response_error()
    assert response.output(0) == ("OUTPUT0", FP32, (0,), address, 0, CPU, 0, "buffer")
    assert log == [("alloc", "OUTPUT0", 0, CPU, 0, "user")]
    del response
    wait_until(lambda: len(log) == 2, 5)
    assert log[1] == ("release", address, "buffer", 0, CPU, 0)


def test_a_caller_gets_outputs_in_its_own_numpy_array(host: Host) -> None:
    target = np.zeros(8, np.float32)
    allocator = Allocator(lambda *_: (target.ctypes.data, target, CPU, 0), lambda *_: None)
    array = X.copy()
    request = host.request("fast", array)
    told = Told(request, allocator)
    for i in range(10):
        array[:] = i
        host.capi.infer_async(request)
        (response,) = told.complete()
        assert response.output(0)[3] == target.ctypes.data
        assert response.output(0)[7] is target
        assert (target == i).all()


def test_without_an_allocator_memory_is_found(host: Host) -> None:
    response = outcome(host, None)
    assert len(response.output(0)) == 7
    assert (content(response) == X).all()


def test_user_objects_are_any_objects(host: Host) -> None:
    for user in (None, 3, "text", [], {}, object(), Allocator, sys):
        seen: list[Any] = []
        memory = Memory()

        def alloc(*arguments: Any, seen: list[Any] = seen, memory: Memory = memory, user: Any = user) -> Any:
            seen.append(arguments[-1])
            address, _, kind, kind_id = memory.alloc(*arguments)
            return address, user, kind, kind_id

        response = outcome(host, Allocator(alloc, memory.release), user=user)
        assert seen[0] is user
        assert response.output(0)[7] is user
        del response
        memory.wait_until_released()


# -- released once -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["fast", "function", "stream", "two"])
def test_memory_is_released_once_when_nobody_gets_the_response(host: Host, model: str) -> None:
    memory = Memory()
    request = host.request(model)
    done = threading.Semaphore(0)
    request.set_response_callback(memory.allocator(), None, lambda response, flags, user: done.release(), None)
    host.capi.infer_async(request)
    for _ in range(4 if model == "stream" else 1):
        assert done.acquire(timeout=PATIENCE)
    memory.wait_until_released()
    assert memory.released == {"stream": 3, "two": 2}.get(model, 1)


def test_memory_is_released_once_when_the_response_callback_fails(host: Host) -> None:
    memory = Memory()

    def respond(response: Any, flags: int, user: Any) -> None:
        raise ValueError("no")

    with unraisable() as told:
        request = host.request()
        request.set_response_callback(memory.allocator(), None, respond, None)
        host.capi.infer_async(request)
        error, function = told.get(timeout=PATIENCE)
        assert str(error) == "no"
        assert function is respond
        error.__traceback__ = None
        del error
        memory.wait_until_released()
    assert memory.released == 1


def test_memory_is_released_when_the_model_fails_after_it_was_allocated(host: Host) -> None:
    """GPU memory is refused by the identity backend, once it has it."""
    memory = Memory()

    def alloc(*arguments: Any) -> Any:
        address, user, _, _ = memory.alloc(*arguments)
        return address, user, MemoryType.GPU, 3

    response = outcome(host, Allocator(alloc, memory.release))
    with pytest.raises(ti.UnsupportedError, match="GPU"):
        response.throw_if_response_error()
    memory.wait_until_released()
    assert memory.log[-1] == ("release", "buffer of OUTPUT0", 32, MemoryType.GPU, 3)


def test_memory_of_another_kind_is_passed_through(host: Host) -> None:
    memory = Memory()

    def alloc(*arguments: Any) -> Any:
        address, user, _, _ = memory.alloc(*arguments)
        return address, user, MemoryType.CPU_PINNED, -7

    response = outcome(host, Allocator(alloc, memory.release))
    response.throw_if_response_error()
    assert response.output(0)[5:7] == (MemoryType.CPU_PINNED, -7)
    del response
    memory.wait_until_released()
    assert memory.log[-1] == ("release", "buffer of OUTPUT0", 32, MemoryType.CPU_PINNED, -7)


def test_memory_is_released_in_the_thread_that_drops_the_response(host: Host) -> None:
    threads: list[int] = []
    memory = Memory()

    def release(*arguments: Any) -> None:
        threads.append(threading.get_ident())
        memory.release(*arguments)

    allocator = Allocator(memory.alloc, release)
    response = outcome(host, allocator)
    assert threads == []
    del response
    assert threads == [threading.get_ident()]
    box = [outcome(host, allocator)]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join(PATIENCE)
    assert len(threads) == 2
    assert threads[1] != threading.get_ident()


def test_a_release_while_an_exception_is_raised_does_not_disturb_it(host: Host) -> None:
    memory = Memory()
    allocator = memory.allocator()

    def fail() -> None:
        _response = outcome(host, allocator)
        raise KeyError("mine")

    for _ in range(10):
        with pytest.raises(KeyError, match="mine") as raised:
            fail()
        raised.value.__traceback__ = None
        del raised
    memory.wait_until_released()


def test_an_allocator_is_dropped_while_responses_live(host: Host) -> None:
    memory = Memory()
    allocator = memory.allocator()
    responses = [outcome(host, allocator) for _ in range(5)]
    count = sys.getrefcount(memory)
    del allocator
    assert all((content(response) == X).all() for response in responses)
    assert memory.released == 0
    del responses
    memory.wait_until_released()
    assert sys.getrefcount(memory) <= count


def test_an_allocator_is_dropped_while_a_request_is_in_flight(host: Host) -> None:
    memory = Memory()
    request = host.request("gated")
    told = Told(request, memory.allocator())
    with host.in_flight(request):
        del request
    (response,) = told.complete()
    assert (content(response) == X).all()
    del response
    memory.wait_until_released()


def test_one_allocator_for_several_requests(host: Host) -> None:
    memory = Memory()
    allocator = memory.allocator()
    arrays = [X + i for i in range(20)]
    requests = [host.request(("fast", "function")[i % 2], array) for i, array in enumerate(arrays)]
    tolds = [Told(request, allocator, i) for i, request in enumerate(requests)]
    for request in requests:
        host.capi.infer_async(request)
    for array, told in zip(arrays, tolds, strict=True):
        (response,) = told.complete()
        assert (content(response) == array).all()
    del response
    memory.wait_until_released()
    assert memory.released == 20
    assert sorted(entry[-1] for entry in memory.log if entry[0] == "alloc") == list(range(20))


def test_an_allocator_in_use_is_not_changed(host: Host) -> None:
    memory = Memory()
    allocator = memory.allocator()
    requests = [host.request("gated"), host.request("gated")]
    tolds = [Told(request, allocator) for request in requests]
    allocator.set_query_function(lambda *_: (CPU, 0))
    setters: list[Callable[[Any], None]] = [allocator.set_query_function, allocator.set_buffer_attributes_function]
    with host.in_flight(requests[0]):
        host.capi.infer_async(requests[1])
        for setter in setters:
            with pytest.raises(ti.UnavailableError, match="used by a request in flight"):
                setter(lambda *_: None)
            with pytest.raises(TypeError, match="_function"):
                setter(None)
    for told in tolds:
        told.complete()

    def changeable() -> bool:
        try:
            allocator.set_query_function(lambda *_: (CPU, 0))
        except ti.UnavailableError:
            return False
        return True

    wait_until(changeable)
    failing = host.request()
    failing.remove_all_inputs()
    Told(failing, allocator)
    with pytest.raises(ti.InvalidArgumentError):
        host.capi.infer_async(failing)
    allocator.set_buffer_attributes_function(lambda _a, _n, attributes, _u, _b: attributes)
    outcome(host, allocator).throw_if_response_error()


def test_what_cannot_be_called_is_refused() -> None:
    for arguments, name in (
        ((None, print), "alloc_function"),
        ((print, 3), "release_function"),
        ((print, print, "start"), "start_function"),
    ):
        with pytest.raises(TypeError, match=name):
            Allocator(*arguments)  # type: ignore[arg-type]
    function: Any = print
    with pytest.raises(TypeError):
        Allocator(function)  # type: ignore[call-arg]
    Allocator(function, function, None)


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def failing_allocator(memory: Memory, where: str, error: BaseException) -> Allocator:
    def fail(*_: Any) -> Any:
        raise error

    if where == "alloc":
        return Allocator(fail, memory.release)
    if where == "start":
        return memory.allocator(fail)
    allocator = memory.allocator()
    allocator.set_buffer_attributes_function(fail)
    return allocator


@pytest.mark.parametrize("where", ["alloc", "attributes"])
@pytest.mark.parametrize("model", ["fast", "function"])
def test_a_triton_error_fails_the_request_with_its_class(host: Host, where: str, model: str) -> None:
    for kind in ERRORS:
        memory = Memory()
        response = outcome(host, failing_allocator(memory, where, kind("what went wrong: é")), model)
        with pytest.raises(ti.TritonError, match="what went wrong: é") as raised:
            response.throw_if_response_error()
        assert type(raised.value) is after_triton(kind)
        assert response.output_count == 0


@pytest.mark.parametrize("where", ["alloc", "attributes"])
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3), MemoryError("a\0b")], ids=repr)
def test_another_exception_fails_the_request_as_an_internal_error(host: Host, where: str, error: BaseException) -> None:
    response = outcome(host, failing_allocator(Memory(), where, error))
    with pytest.raises(ti.InternalError, match=type(error).__name__):
        response.throw_if_response_error()


@pytest.mark.parametrize("kind", [ti.UnavailableError, ti.CancelledError, ValueError])
def test_an_exception_in_the_start_function_is_not_lost(host: Host, kind: type[Exception]) -> None:
    """Triton only logs it; so the request fails all the same, or sys.unraisablehook is told."""
    memory = Memory()
    error = kind("what went wrong")
    with unraisable() as told:
        response = outcome(host, failing_allocator(memory, "start", error))
        if response.output_count:
            assert not told.empty(), "nobody was told"
            assert told.get()[0] is error
        else:
            expected = after_triton(kind)
            with pytest.raises(expected, match="what went wrong") as raised:
                response.throw_if_response_error()
            assert type(raised.value) is expected
        del response
        memory.wait_until_released()


def test_memory_is_released_when_the_buffer_attributes_function_fails(host: Host) -> None:
    for model in ("fast", "function"):
        memory = Memory()
        response = outcome(host, failing_allocator(memory, "attributes", ti.UnavailableError("no")), model)
        with pytest.raises(ti.UnavailableError):
            response.throw_if_response_error()
        del response
        assert memory.allocated == 1
        memory.wait_until_released()


def test_a_request_is_usable_after_its_allocator_failed(host: Host) -> None:
    memory = Memory()
    fails = True

    def alloc(*arguments: Any) -> Any:
        if fails:
            raise ti.UnavailableError("not now")
        return memory.alloc(*arguments)

    request = host.request()
    told = Told(request, Allocator(alloc, memory.release))
    for fails in (True, False, True, False):
        host.capi.infer_async(request)
        (response,) = told.complete()
        if fails:
            with pytest.raises(ti.UnavailableError, match="not now"):
                response.throw_if_response_error()
        else:
            assert (content(response) == X).all()
        del response
    memory.wait_until_released()


ADDRESS = ctypes.addressof(BLOCK := ctypes.create_string_buffer(64))

WRONG_RESULTS: list[Any] = [
    None,
    3,
    "four",
    (),
    (ADDRESS, None, CPU),
    (ADDRESS, None, CPU, 0, 0),
    [ADDRESS, None, CPU, 0],
    (0, None, CPU, 0),
    (-1, None, CPU, 0),
    (2**64, None, CPU, 0),
    (float(ADDRESS), None, CPU, 0),
    (str(ADDRESS), None, CPU, 0),
    (None, None, CPU, 0),
    (True, None, CPU, 0),
    (ADDRESS, None, FP32, 0),
    (ADDRESS, None, "CPU", 0),
    (ADDRESS, None, None, 0),
    (ADDRESS, None, 99, 0),
    (ADDRESS, None, CPU, 2**63),
    (ADDRESS, None, CPU, "0"),
    (ADDRESS, None, CPU, None),
]


class Hostile:
    def __repr__(self) -> str:
        raise ValueError("no")

    def __index__(self) -> int:
        raise ValueError("no")

    def __len__(self) -> int:
        raise ValueError("no")


@pytest.mark.parametrize(
    "result",
    [*WRONG_RESULTS, Hostile(), (Hostile(), None, CPU, 0), (ADDRESS, None, CPU, Hostile())],
    ids=lambda result: "hostile" if "Hostile" in object.__repr__(result) else None,
)
def test_a_wrong_result_of_alloc_fails_the_request_and_says_what_is_right(host: Host, result: Any) -> None:
    released: list[Any] = []
    response = outcome(host, Allocator(lambda *_: result, lambda *arguments: released.append(arguments)))
    with pytest.raises(ti.InvalidArgumentError, match="alloc_function must return"):
        response.throw_if_response_error()
    assert response.output_count == 0
    assert released == []


@pytest.mark.parametrize("result", [None, 3, ADDRESS, "attributes", (), Hostile()], ids=lambda _: "wrong")
def test_a_wrong_result_of_the_buffer_attributes_function_fails_the_request(host: Host, result: Any) -> None:
    memory = Memory()
    allocator = memory.allocator()
    allocator.set_buffer_attributes_function(lambda *_: result)
    response = outcome(host, allocator)
    with pytest.raises(ti.InvalidArgumentError, match="buffer_attributes_function must return"):
        response.throw_if_response_error()


def test_functions_with_the_wrong_number_of_parameters(host: Host) -> None:
    function: Any = lambda: None  # noqa: E731
    response = outcome(host, Allocator(function, function))
    with pytest.raises(ti.InternalError, match="TypeError"):
        response.throw_if_response_error()


def test_buffer_attributes_may_be_kept_and_made(host: Host) -> None:
    kept: list[Any] = []

    def describe(_a: Any, _n: Any, attributes: Any, _u: Any, _b: Any) -> Any:
        kept.append(attributes)
        made = capi.TRITONSERVER_BufferAttributes()
        made.byte_size = 32
        return made

    memory = Memory()
    allocator = memory.allocator()
    allocator.set_buffer_attributes_function(describe)
    for _ in range(3):
        response = outcome(host, allocator)
        response.throw_if_response_error()
        assert (content(response) == X).all()
    for attributes in kept:  # which Triton's own are gone under
        attributes.byte_size = 5
        assert attributes.byte_size == 5
        assert attributes.memory_type is CPU


@pytest.mark.parametrize("model", ["fast", "function"])
def test_exceptions_in_callbacks_go_to_the_unraisablehook(host: Host, model: str) -> None:
    def fail(where: str) -> Callable[..., Any]:
        def function(*_: Any) -> Any:
            raise RuntimeError(where)

        return function

    with unraisable() as told:
        memory = Memory()
        request = host.request(model)
        request.set_response_callback(Allocator(memory.alloc, fail("memory")), None, fail("response"), None)
        request.set_release_callback(fail("release"), None)
        host.capi.infer_async(request)
        texts = sorted(str(told.get(timeout=PATIENCE)[0]) for _ in range(3))
        assert texts == ["memory", "release", "response"]
        host.capi.infer_async(request)
        texts = sorted(str(told.get(timeout=PATIENCE)[0]) for _ in range(3))
        assert texts == ["memory", "release", "response"]
    assert (content(answer(host.capi, host.request(model))) == X).all()


def test_a_keyboard_interrupt_and_a_system_exit_in_callbacks_do_not_end_the_process(
    identity_backend: Path, repository: Path
) -> None:
    source = """
told = queue.Queue()
sys.unraisablehook = lambda args: told.put(args.exc_type.__name__)
server = explicit("fast")
memory = Memory()
for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration):
    def fail(*_):
        raise kind
    request = filled(server)
    request.set_response_callback(capi.TRITONSERVER_ResponseAllocator(memory.alloc, fail), None, fail, None)
    request.set_release_callback(fail, None)
    server.infer_async(request)
    assert [told.get(timeout=10) for _ in range(3)] == [kind.__name__] * 3
server.stop()
print("done")
"""
    result = run_capi_script(source, identity_backend, repository).check(within=15)
    assert result.output == "done\n"


def test_an_unraisablehook_that_fails_does_no_harm(identity_backend: Path, repository: Path) -> None:
    source = """
def hook(args):
    raise ValueError("the hook, too")
sys.unraisablehook = hook
server = explicit("fast")
released = threading.Event()
def fail(*_):
    raise KeyError("no")
request = filled(server)
request.set_response_callback(None, None, fail, None)
request.set_release_callback(lambda *_: released.set(), None)
for _ in range(3):
    released.clear()
    server.infer_async(request)
    assert released.wait(10)
server.stop()
print("done")
"""
    result = run_capi_script(source, identity_backend, repository)
    assert result.status == 0, result.errors
    assert result.output == "done\n"
    assert "Fatal" not in result.errors


def test_requests_are_sent_and_answered_inside_an_alloc(host: Host) -> None:
    memory = Memory()

    def alloc(*arguments: Any) -> Any:
        inner = answer(host.capi, host.request("function"))
        assert (content(inner) == X).all()
        return memory.alloc(*arguments)

    response = outcome(host, Allocator(alloc, memory.release))
    response.throw_if_response_error()
    assert (content(response) == X).all()
    del response
    memory.wait_until_released()


def test_a_request_is_sent_inside_a_release(host: Host) -> None:
    memory = Memory()
    inner: list[Any] = []

    def release(*arguments: Any) -> None:
        memory.release(*arguments)
        if len(inner) < 3:
            inner.append(answer(host.capi, host.request()))

    for _ in range(3):
        outcome(host, Allocator(memory.alloc, release))
    memory.wait_until_released()
    assert all((content(response) == X).all() for response in inner)


# -- the collector -----------------------------------------------------------------------------------------------------


class Canary:
    """Says that it is gone."""

    def __init__(self, gone: list[str], name: str = "canary") -> None:
        self.gone = gone
        self.name = name
        self.other: Any = None

    def __del__(self) -> None:
        self.gone.append(self.name)


def collected(gone: list[str], expected: int = 1) -> bool:
    def look() -> bool:
        gc.collect()
        return len(gone) == expected

    wait_until(look, 5)
    return True


@pytest.mark.parametrize("function", ["alloc", "release", "start", "query", "attributes"])
def test_an_allocator_whose_function_holds_it_is_collected(runtime: ti.runtime.Runtime, function: str) -> None:
    gone: list[str] = []
    canary = Canary(gone)

    def hold(*_: Any, kept: Any = canary) -> Any:
        return kept

    functions = {"alloc": print, "release": print, "start": None, function: hold}
    allocator = Allocator(functions["alloc"], functions["release"], functions["start"])  # type: ignore[arg-type]
    if function == "query":
        allocator.set_query_function(hold)
    elif function == "attributes":
        allocator.set_buffer_attributes_function(hold)
    canary.other = allocator
    del allocator, canary, hold, functions
    assert collected(gone)


@pytest.mark.parametrize("place", ["release", "release user", "allocator user", "response", "response user"])
@pytest.mark.parametrize("sent", [False, True])
def test_a_request_whose_callbacks_hold_it_is_collected(host: Host, place: str, sent: bool) -> None:
    gone: list[str] = []
    canary = Canary(gone)
    done = threading.Semaphore(0)

    def tell(*_: Any) -> None:
        done.release()

    def hold(*_: Any, kept: Any = canary) -> None:
        assert kept is not None
        done.release()

    request = host.request()
    canary.other = request
    request.set_response_callback(
        Memory().allocator(),
        canary if place == "allocator user" else None,
        hold if place == "response" else tell,
        canary if place == "response user" else None,
    )
    request.set_release_callback(hold if place == "release" else tell, canary if place == "release user" else None)
    if sent:
        host.capi.infer_async(request)
        for _ in range(2):
            assert done.acquire(timeout=PATIENCE)
    del request, canary, hold
    assert collected(gone)


def test_a_request_whose_future_holds_it_is_collected(host: Host) -> None:
    from concurrent.futures import Future

    gone: list[str] = []
    request = host.request()
    future: Future[Any] = Future()
    canary = Canary(gone)
    canary.other = request
    future.add_done_callback(lambda _, canary=canary: None)  # type: ignore[misc]
    request.get_next_response(future)
    del request, future, canary
    assert collected(gone)


def test_a_response_whose_buffer_user_object_holds_it_is_collected(host: Host) -> None:
    memory = Memory()
    gone: list[str] = []

    def alloc(*arguments: Any) -> Any:
        address, _, kind, kind_id = memory.alloc(*arguments)
        return address, Canary(gone), kind, kind_id

    response = outcome(host, Allocator(alloc, memory.release), "two")
    for i in range(2):
        response.output(i)[7].other = response
    del response
    memory.log.clear()
    assert collected(gone, 2)
    memory.wait_until_released()
    assert memory.released == 2


def test_a_release_gets_its_objects_whole_when_the_response_is_collected(host: Host) -> None:
    """As finalizers do: the collector has not yet taken anything apart when they are called."""
    seen: list[str] = []

    class User:
        def __init__(self, block: Any) -> None:
            self.block = block
            self.name = "whole"
            self.response: Any = None

    def alloc(_allocator: Any, _name: str, byte_size: int, *_: Any) -> Any:
        block = ctypes.create_string_buffer(byte_size)
        return ctypes.addressof(block), User(block), CPU, 0

    def release(allocator: Any, address: int, user: Any, *_: Any) -> None:
        seen.append(getattr(user, "name", "taken apart"))

    response = outcome(host, Allocator(alloc, release), "two")
    for i in range(2):
        response.output(i)[7].response = response
    del response
    wait_until(lambda: (gc.collect(), len(seen) == 2)[1], 5)
    assert seen == ["whole", "whole"]


def test_nothing_in_flight_is_collected(host: Host) -> None:
    gone: list[str] = []
    memory = Memory()
    canary = Canary(gone)
    done = threading.Semaphore(0)
    answers: list[Any] = []

    def respond(response: Any, flags: int, user: Any) -> None:
        answers.append(content(response))
        done.release()

    request = host.request("gated")
    canary.other = request
    request.set_response_callback(memory.allocator(), canary, respond, canary)
    request.set_release_callback(lambda request, flags, user: done.release(), canary)
    with host.in_flight(request):
        del request, canary
        for _ in range(3):
            gc.collect()
        assert gone == []
    for _ in range(2):
        assert done.acquire(timeout=PATIENCE)
    assert (answers[0] == X).all()
    memory.wait_until_released()
    memory.log.clear()
    assert collected(gone)


def test_the_collector_runs_all_the_time(identity_backend: Path, repository: Path) -> None:
    source = """
gc.set_threshold(1)
server = explicit("fast")
memory = Memory()
for i in range(100):
    request = filled(server)
    told = Told(request, memory.allocator(), request)
    server.infer_async(request)
    (response,) = told.complete()
    assert (content(response) == X).all()
    told.me = [told, request, response]
    del told, request, response
gc.set_threshold(700)
memory.log.clear()
gc.collect()
server.stop()
assert memory.allocated == memory.released == 100
print("done")
"""
    result = run_capi_script(source, identity_backend, repository).check(within=20)
    assert result.output == "done\n"


def test_a_release_that_looks_at_its_response_while_that_is_collected_does_no_harm(
    identity_backend: Path, repository: Path
) -> None:
    # A dict is tracked by the collector when something is put into it, here after the response: so it is cleared
    # after that, and the release finds the response in it amid being cleared.
    source = """
server = ti.Server().start()
server.add_model(lambda x: (x, x), name="two", inputs=SPECS["inputs"],
                 outputs={"y": (np.float32, (4,)), "an output with a longer name": (np.float32, (4,))})
blocks = []
released = []
def alloc(allocator, name, byte_size, kind, kind_id, user):
    blocks.append(ctypes.create_string_buffer(byte_size))
    return ctypes.addressof(blocks[-1]), {}, kind, kind_id
def release(allocator, address, user, *rest):
    response = user.get("response")
    if response is not None:
        for i in range(response.output_count):
            try:
                response.output(i)
                response.output_classification_label(i, 0)
            except ti.InvalidArgumentError:
                pass
    released.append(address)
allocator = capi.TRITONSERVER_ResponseAllocator(alloc, release)
for _ in range(20):
    request = filled(server.capi, "two", X[:4], "x")
    told = Told(request, allocator)
    server.capi.infer_async(request)
    (response,) = told.complete()
    response.throw_if_response_error()
    for i in range(2):
        response.output(i)[7]["response"] = response
    del response, request, told
    gc.collect()
assert len(released) == 40, released
print("done")
"""
    result = run_capi_script(source, identity_backend, repository).check(within=15)
    assert result.output == "done\n"


def test_a_release_that_changes_a_request_that_is_collected_does_no_harm(
    identity_backend: Path, repository: Path
) -> None:
    source = """
server = explicit("fast")
blocks = []
def alloc(allocator, name, byte_size, kind, kind_id, user):
    blocks.append(ctypes.create_string_buffer(byte_size))
    return ctypes.addressof(blocks[-1]), {}, kind, kind_id
def release(allocator, address, user, *rest):
    request = user.get("request")
    if request is not None:
        for _ in range(10):
            request.set_response_callback(None, [], lambda *_: None, [])
            request.set_release_callback(lambda *_: None, [])
        server.infer_async(request)
allocator = capi.TRITONSERVER_ResponseAllocator(alloc, release)
for place in range(30):
    request = filled(server)
    told = Told(request, allocator)
    server.infer_async(request)
    (response,) = told.complete()
    response.output(0)[7]["request"] = request
    if place % 3 == 0:
        request.set_response_callback(None, None, lambda *_: None, response)
    elif place % 3 == 1:
        request.set_response_callback(None, response, lambda *_: None, None)
    else:
        request.set_release_callback(lambda *_: None, response)
        request.set_response_callback(None, None, lambda *_: None, None)
    del request, told, response
    gc.collect()
server.stop()
gc.collect()
print("done")
"""
    result = run_capi_script(source, identity_backend, repository).check(within=30)
    assert result.output == "done\n"


def test_allocators_come_and_go_while_threads_infer(host: Host) -> None:
    errors: list[BaseException] = []
    memories = [Memory() for _ in range(3)]
    end = time.monotonic() + 0.5

    def work(memory: Memory) -> None:
        try:
            while time.monotonic() < end:
                response = outcome(host, memory.allocator(lambda *_: None), "two")
                response.throw_if_response_error()
                assert (content(response) == X).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(memory,)) for memory in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert errors == []
    for memory in memories:
        memory.wait_until_released()
