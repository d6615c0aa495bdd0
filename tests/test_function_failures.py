"""What becomes of the failures of functions: who hears of them, what they say, and whom they leave alone."""

from __future__ import annotations

import asyncio
import functools
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, answer, needs_cancel
from helpers_functions import ROW, Array, add, array

import triton_inprocess as ti


def raise_deeply(x: Array) -> Array:
    return _deeper(x)


def _deeper(x: Array) -> Array:
    raise ValueError("no more coffee")


def generate_deeply(x: Array) -> Iterator[Array]:
    yield _deeper(x)


async def await_deeply(x: Array) -> Array:
    return _deeper(x)


EVERY_KIND = pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (raise_deeply, {}),
        (raise_deeply, {"isolate_failures": True}),
        (raise_deeply, {"batch": False, "max_batch_size": 4}),
        (lambda requests: [raise_deeply(each.inputs["x"]) for each in requests], {"requests": True}),
        (generate_deeply, {}),
        (await_deeply, {}),
    ],
    ids=["plain", "isolated", "sample", "requests", "generator", "async"],
)


# -- tracebacks --------------------------------------------------------------------------------------------------------


@EVERY_KIND
def test_the_cause_is_the_functions_traceback(
    server: ti.Server, function: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    model = add(server, function, **arguments)
    sent = array(0)[None] if arguments.get("max_batch_size") else array(0)
    with pytest.raises(ti.InternalError, match=r"^ValueError: no more coffee$") as caught:
        answer(model, x=sent)
    cause = caught.value.__cause__
    assert isinstance(cause, ti.FunctionTraceback)
    lines = cause.text.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: no more coffee"
    assert "in _deeper" in cause.text
    package = str(Path(ti.__file__).parent)
    assert package not in cause.text, "the frames of the package itself tell the author nothing"


def test_a_response_with_an_error_has_the_traceback(server: ti.Server) -> None:
    response = add(server, raise_deeply).infer({"x": array(0)}, raise_on_error=False).result()
    assert response.error is not None
    assert isinstance(response.error.__cause__, ti.FunctionTraceback)
    assert "in _deeper" in str(response.error.__cause__)


def test_async_callers_get_the_traceback(server: ti.Server) -> None:
    model = add(server, raise_deeply)

    async def ask() -> None:
        await model.async_infer({"x": array(0)})

    with pytest.raises(ti.InternalError) as caught:
        asyncio.run(ask())
    assert "in _deeper" in str(caught.value.__cause__)


def test_an_error_without_a_traceback_follows_one_with(server: ti.Server) -> None:
    # The same request is sent again: what the first answer left must not stick to the second.
    failing = [True, False]

    def function(x: Array) -> Array:
        if failing.pop(0):
            raise ValueError("once")
        return np.zeros((2, 2), np.float32)

    model = add(server, function)
    request = model.create_request(inputs={"x": array(0)})
    with pytest.raises(ti.InternalError, match="once") as first:
        model.infer(request).result()
    with pytest.raises(ti.InternalError, match="shape") as second:
        model.infer(request).result()
    assert first.value.__cause__ is not None
    assert second.value.__cause__ is None


def test_chained_exceptions_are_told(server: ti.Server) -> None:
    def function(x: Array) -> Array:
        try:
            return {}["beans"]  # type: ignore[no-any-return]
        except KeyError as error:
            raise RuntimeError("no coffee") from error

    with pytest.raises(ti.InternalError) as caught:
        answer(add(server, function), x=array(0))
    text = str(caught.value.__cause__)
    assert text.index("KeyError: 'beans'") < text.index("direct cause") < text.index("RuntimeError: no coffee")


def test_a_long_traceback_is_cut_in_the_middle(server: ti.Server) -> None:
    def function(x: Array) -> Array:
        raise ValueError("begin " + "very " * 100_000 + "long")

    with pytest.raises(ti.InternalError) as caught:
        answer(add(server, function), x=array(0))
    assert isinstance(caught.value.__cause__, ti.FunctionTraceback)
    text = caught.value.__cause__.text
    assert len(text) < 100_000
    assert text.startswith("Traceback")
    assert text.rstrip().endswith("long")


@EVERY_KIND
def test_no_frame_of_the_function_lives_on(
    server: ti.Server, function: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    class Marker:
        pass

    markers: list[weakref.ref[Marker]] = []

    def leave(x: Array) -> Array:
        local = Marker()
        markers.append(weakref.ref(local))
        raise ValueError("no")

    kinds: dict[str, Callable[..., Any]] = {"requests": lambda requests: [leave(each.inputs["x"]) for each in requests]}
    if function is generate_deeply:

        def generate(x: Array) -> Iterator[Array]:
            yield leave(x)

        kinds["x"] = generate
    elif function is await_deeply:

        async def wait(x: Array) -> Array:
            return leave(x)

        kinds["x"] = wait
    else:
        kinds["x"] = leave
    model = add(server, kinds["requests" if arguments.get("requests") else "x"], **arguments)
    sent = array(0)[None] if arguments.get("max_batch_size") else array(0)
    references = sys.getrefcount(sent)
    error = model.infer({"x": sent}, raise_on_error=False).result().error
    assert error is not None
    answer(add(server, lambda x: x, name="next"), x=array(0))  # has what was put aside dropped
    if function is await_deeply:
        gc.collect()  # a task and its exception may be garbage
    assert [marker() for marker in markers] == [None]
    assert sys.getrefcount(sent) == references


def test_a_traceback_goes_to_tritons_log(start_server: StartServer, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    server = start_server(log_file=log, log_error=True)
    for name, error in (("broken", ValueError("no coffee")), ("strict", ti.InvalidArgumentError("too small"))):

        def function(x: Array, error: BaseException = error) -> Array:
            raise error

        with pytest.raises(ti.TritonError):
            answer(add(server, function, name=name), x=array(0))
    text = log.read_text()
    assert "'broken' has failed" in text
    assert "in function" in text
    assert "ValueError: no coffee" in text
    assert "too small" not in text, "what a function refuses on purpose is for the caller, not for the log"


# -- classes of errors -------------------------------------------------------------------------------------------------


@EVERY_KIND
@pytest.mark.parametrize(
    "error",
    [
        ti.NotFoundError,
        ti.InvalidArgumentError,
        ti.UnavailableError,
        pytest.param(ti.CancelledError, marks=needs_cancel),  # an older library does not know its code
    ],
)
def test_a_triton_error_is_what_it_is(
    server: ti.Server, function: Callable[..., Any], arguments: dict[str, Any], error: type[ti.TritonError]
) -> None:
    def fail(x: Array) -> Array:
        raise error("on purpose")

    def generate(x: Array) -> Iterator[Array]:
        yield fail(x)

    async def wait(x: Array) -> Array:
        return fail(x)

    chosen: Callable[..., Any] = {generate_deeply: generate, await_deeply: wait}.get(function, fail)
    if arguments.get("requests"):
        chosen = lambda requests: [fail(each) for each in requests]  # noqa: E731
    model = add(server, chosen, **arguments)
    with pytest.raises(error, match=r"^on purpose$"):
        answer(model, x=array(0)[None] if arguments.get("max_batch_size") else array(0))


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()])
@EVERY_KIND
def test_what_ends_programs_ends_no_server(
    server: ti.Server, function: Callable[..., Any], arguments: dict[str, Any], error: BaseException
) -> None:
    def fail(x: Array) -> Array:
        raise error

    def generate(x: Array) -> Iterator[Array]:
        yield fail(x)

    async def wait(x: Array) -> Array:
        return fail(x)

    chosen: Callable[..., Any] = {generate_deeply: generate, await_deeply: wait}.get(function, fail)
    if arguments.get("requests"):
        chosen = lambda requests: [fail(each) for each in requests]  # noqa: E731
    model = add(server, chosen, **arguments)
    for _ in range(2):
        with pytest.raises(ti.TritonError):
            answer(model, x=array(0)[None] if arguments.get("max_batch_size") else array(0))
    assert server.live()


# -- wrong results -----------------------------------------------------------------------------------------------------


async def _coroutine(x: Array) -> Array:
    return x


def _generator(x: Array) -> Iterator[Array]:
    yield x


def _call(made: Callable[[Array], object], x: Array) -> object:
    return made(x)


@pytest.mark.parametrize(
    ("made", "words"),
    [(_coroutine, ["coroutine", "async def"]), (_generator, ["generator", "decoupled=True"])],
    ids=["coroutine", "generator"],
)
@pytest.mark.parametrize("arguments", [{}, {"isolate_failures": True}], ids=["direct", "runner"])
def test_a_coroutine_or_a_generator_is_no_result(
    server: ti.Server, made: Callable[[Array], object], words: list[str], arguments: dict[str, Any]
) -> None:
    with pytest.raises(ti.InternalError) as caught:
        answer(add(server, functools.partial(_call, made), name="odd", **arguments), x=array(0))
    for word in ["'odd'", "'y'", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "result", "words"),
    [
        ({"batch": False, "max_batch_size": 4}, None, ["None", "1 output"]),
        ({"batch": False, "max_batch_size": 4}, (array(1), array(1)), ["2 output", "1 output"]),
        ({"batch": False, "max_batch_size": 4}, {"z": array(1)}, ["'z'", "'y'"]),
        ({"batch": False, "max_batch_size": 4}, np.ones((1, 1), np.float32), ["'y'", "[1, 1]", "[-1]"]),
        ({"batch": False, "max_batch_size": 4}, np.ones(1), ["'y'", "FP64", "FP32"]),
        ({"batch": False, "max_batch_size": 4}, ["a"], ["'y'", "FP32"]),
        ({"requests": True}, None, ["NoneType", "list"]),
        ({"requests": True}, [], ["0 result", "1 request"]),
        ({"requests": True}, [array(1), array(2)], ["2 result", "1 request"]),
        ({"requests": True}, [None], ["None"]),
        ({"requests": True}, [np.ones(1)], ["'y'", "FP64", "FP32"]),
        ({"decoupled": True}, None, ["NoneType", "iterator"]),
        ({"decoupled": True}, array(1), ["ndarray", "iterator"]),
        ({"decoupled": True}, iter([None]), ["None"]),
        ({"decoupled": True}, iter([np.ones(1)]), ["'y'", "FP64", "FP32"]),
    ],
)
def test_a_wrong_result_is_named(
    server: ti.Server, arguments: dict[str, Any], result: object, words: list[str]
) -> None:
    function = (lambda requests: result) if arguments.get("requests") else (lambda x: result)
    model = add(server, function, name="careless", **arguments)
    with pytest.raises(ti.InternalError) as caught:
        answer(model, x=array(0)[None] if arguments.get("max_batch_size") else array(0))
    for word in ["'careless'", *words]:
        assert word in str(caught.value)


def test_rows_of_one_request_must_be_alike(server: ti.Server) -> None:
    model = add(server, lambda x: np.ones(int(x[0]), np.float32), batch=False, max_batch_size=4)
    with pytest.raises(ti.InternalError, match=r"'y'.*\[1\].*\[2\]"):
        answer(model, x=np.array([[1], [2]], np.float32))


# -- who is left alone -------------------------------------------------------------------------------------------------


def unlucky(x: Array) -> Array:
    if 13 in x:
        raise ValueError("unlucky")
    return x


@pytest.mark.parametrize(
    ("function", "arguments", "alone"),
    [
        (unlucky, {}, False),
        (unlucky, {"isolate_failures": True}, True),
        (unlucky, {"batch": False}, True),
        (lambda requests: [_tried(each) for each in requests], {"requests": True}, True),
        (lambda requests: [unlucky(each.inputs["x"]) for each in requests], {"requests": True}, False),
    ],
    ids=["whole", "isolated", "sample", "requests", "requests at once"],
)
def test_whom_a_bad_row_fails(
    server: ti.Server, function: Callable[..., Any], arguments: dict[str, Any], alone: bool
) -> None:
    batching = ti.Batching(max_queue_delay_us=5_000_000, preferred_sizes=[4])
    model = add(server, function, **ROW, max_batch_size=4, batching=batching, **arguments)
    sent = {value: model.infer({"x": array(value)[:, None]}, raise_on_error=False) for value in (1, 2, 13, 3)}
    received = {value: responses.result() for value, responses in sent.items()}
    failed = {value for value, response in received.items() if response.error is not None}
    assert failed == ({13} if alone else {1, 2, 13, 3})
    assert "unlucky" in str(received[13].error)
    for value in set(sent) - failed:
        assert received[value].outputs["y"].numpy().tolist() == [[value]]


def _tried(request: ti.FunctionRequest) -> Array | Exception:
    try:
        return unlucky(request.inputs["x"])
    except ValueError as error:
        return error


def test_after_a_failure_the_model_goes_on(server: ti.Server) -> None:
    for index, (function, more) in enumerate(
        (
            (unlucky, {"isolate_failures": True}),
            (unlucky, {"batch": False}),
            (_stream_unlucky, {}),
            (_await_unlucky, {}),
        )
    ):
        model = add(server, function, name=f"model{index}", **ROW, max_batch_size=4, **more)
        for value in (13, 1, 13, 2):
            responses = model.infer({"x": array(value)[:, None]}, raise_on_error=False)
            received = [each for each in responses if each.error is not None or each.outputs]
            assert len(received) == 1
            assert (received[0].error is not None) == (value == 13)


def _stream_unlucky(x: Array) -> Iterator[Array]:
    yield unlucky(x)


async def _await_unlucky(x: Array) -> Array:
    return unlucky(x)


def test_a_stream_that_fails_midway_has_sent_what_came_before(server: ti.Server) -> None:
    def function(x: Array) -> Iterator[Array]:
        yield x
        yield x + 1
        raise ValueError("no more")

    received = list(add(server, function).infer({"x": array(1)}, raise_on_error=False))
    assert [each.outputs["y"].numpy().tolist() for each in received[:2]] == [[1], [2]]
    assert "no more" in str(received[2].error)
    assert received[2].final
    assert len(received) == 3


# -- loading -----------------------------------------------------------------------------------------------------------


class Broken:
    def initialize(self, context: ti.InstanceContext) -> None:
        raise RuntimeError(f"no weights for {context.model}")

    def __call__(self, x: Array) -> Array:
        return x


@pytest.mark.parametrize("function", [Broken, Broken()], ids=["class", "object"])
def test_an_initialization_that_fails_fails_the_load(server: ti.Server, function: Any) -> None:
    with pytest.raises(ti.TritonError, match="RuntimeError: no weights for model") as caught:
        add(server, function)
    assert "in initialize" in str(caught.value.__cause__)
    assert "model" not in [name for name, model in server.models().items() if model.state == "READY"]
    assert answer(add(server, lambda x: x), x=array(1)).tolist() == [1]  # the name is free again


def test_a_constructor_that_fails_fails_the_load(server: ti.Server) -> None:
    class Unmade:
        def __init__(self) -> None:
            raise OSError("disk is full")

        def __call__(self, x: Array) -> Array:
            return x

    with pytest.raises(ti.TritonError, match="disk is full"):
        add(server, Unmade)


def test_a_finalization_that_fails_is_logged(start_server: StartServer, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    server = start_server(log_file=log, log_error=True)

    class Clumsy:
        def __call__(self, x: Array) -> Array:
            return x

        def finalize(self) -> None:
            raise RuntimeError("dropped it")

    add(server, Clumsy)
    server.remove_model("model")
    assert "dropped it" in log.read_text()
    assert server.live()


def test_an_instance_fails_while_others_have_begun(server: ti.Server) -> None:
    finalized = threading.Semaphore(0)
    made: list[int] = []

    class Second:
        def __init__(self) -> None:
            made.append(1)
            if len(made) == 2:
                raise RuntimeError("one too many")

        def __call__(self, x: Array) -> Array:
            return x

        def finalize(self) -> None:
            finalized.release()

    with pytest.raises(ti.TritonError, match="one too many"):
        add(server, Second, instances=2)
    assert finalized.acquire(timeout=10)
