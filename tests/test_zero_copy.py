"""Memory that goes through a Python function as a model without a copy, both ways, and when it must not."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import answer, examples, run_python
from helpers_functions import Array, Y, add
from helpers_lifetime import wait_until
from hypothesis import given
from hypothesis import strategies as st

import triton_inprocess as ti

pytestmark = pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")

LARGE = 100_000
ROWS = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}, "max_batch_size": 8}


@pytest.fixture(scope="module")
def server(runtime: ti.runtime.Runtime) -> Iterator[ti.Server]:
    """The server of all tests here: each removes its models, or has names of its own."""
    with ti.Server() as server:
        yield server


@pytest.fixture(autouse=True)
def _without_models(server: ti.Server) -> Iterator[None]:
    yield
    for name in {name for name in server.models() if isinstance(name, str)}:
        server.remove_model(name)


def address(array: Array) -> int:
    # Not array.ctypes, which is an object that refers to the array.
    return int(array.__array_interface__["data"][0])


def vector(value: float = 1, size: int = LARGE) -> Array:
    return np.full(size, value, np.float32)


def counts(model: ti.Model) -> tuple[int, int, int, int]:
    read = model.byte_counts
    assert read is not None
    return read.inputs_shared, read.inputs_copied, read.outputs_adopted, read.outputs_copied


class Telling:
    """Calls a function and notes where its result lies, without keeping it."""

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self.function = function
        self.addresses: list[int] = []

    def __call__(self, x: Array) -> Any:
        return self.noted(self.function(x))

    def noted(self, result: Any) -> Any:
        self.addresses.append(address(result))
        return result


# -- outputs that a response takes over --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x + 1, id="new"),
        pytest.param(lambda x: x[:1] + 1, id="of one number"),
        pytest.param(lambda x: (x + 1).reshape(-1, 1)[:, 0], id="most of a new one"),
        pytest.param(lambda x: np.concatenate([x, x])[: x.size] + 1, id="computed"),
    ],
)
def test_a_response_has_the_memory_of_an_array_that_nobody_else_has(
    server: ti.Server, function: Callable[[Array], Array]
) -> None:
    telling = Telling(function)
    model = add(server, telling)
    received = answer(model, x=vector())
    assert [address(received)] == telling.addresses
    assert counts(model) == (4 * LARGE, 0, received.nbytes, 0)
    assert received.flags.writeable
    received[:] = 5
    assert (answer(model, x=vector(3)) == 4).all()
    assert (received == 5).all()


def test_outputs_of_several_names_are_taken_over_alike(server: ti.Server) -> None:
    addresses: list[int] = []

    def function(x: Array) -> dict[str, Array]:
        results = {"y": x + 1, "z": x + 2}
        addresses.extend(address(each) for each in results.values())
        return results

    model = add(server, function, outputs={**Y, "z": (np.float32, (-1,))})
    outputs = model(x=vector())
    assert [address(outputs[name].numpy()) for name in ("y", "z")] == addresses
    assert ((outputs["y"].numpy() == 2) & (outputs["z"].numpy() == 3)).all()


def in_generator(telling: Telling) -> Callable[[Array], Iterator[Array]]:
    def function(x: Array) -> Iterator[Array]:
        yield telling(x)
        yield telling(x)

    return function


def in_async_generator(telling: Telling) -> Callable[[Array], AsyncIterator[Array]]:
    async def function(x: Array) -> AsyncIterator[Array]:
        yield telling(x)
        yield telling(x)

    return function


def in_coroutine(telling: Telling) -> Callable[..., Any]:
    async def function(x: Array) -> Array:
        return telling(x)

    return function


def with_context(telling: Telling) -> Callable[..., Any]:
    def function(x: Array, *, context: ti.RequestContext) -> Array:
        return telling(x)

    return function


def in_list(telling: Telling) -> Callable[..., Any]:
    return lambda requests: [telling(each.inputs["x"]) for each in requests]


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        pytest.param(in_generator, {}, id="generator"),
        pytest.param(in_async_generator, {}, id="async generator"),
        pytest.param(in_coroutine, {}, id="async function"),
        pytest.param(with_context, {}, id="context"),
        pytest.param(in_list, {"requests": True}, id="requests"),
    ],
)
def test_functions_of_every_kind(server: ti.Server, kind: Callable[[Telling], Any], arguments: dict[str, Any]) -> None:
    telling = Telling(lambda x: x + 1)
    model = add(server, kind(telling), **arguments)
    received = [each.outputs["y"].numpy() for each in model.infer({"x": vector()}) if each.outputs]
    assert [address(each) for each in received] == telling.addresses
    assert all((each == 2).all() for each in received)


def test_joined_samples_are_not_copied_again(server: ti.Server) -> None:
    model = add(server, lambda x: x + 1, batch=False, **ROWS)
    assert (answer(model, x=np.ones((2, LARGE), np.float32)) == 2).all()
    assert counts(model)[2:] == (2 * 4 * LARGE, 0)


def test_the_requests_of_a_batch_get_parts_of_one_array(server: ti.Server) -> None:
    telling = Telling(lambda x: x * 2)
    batching = ti.Batching(max_queue_delay_us=5_000_000, preferred_sizes=[6])
    model = add(server, telling, batching=batching, **ROWS)
    sent = [np.full((rows, LARGE), rows, np.float32) for rows in (1, 2, 3)]
    received = [each.result().outputs["y"].numpy() for each in [model.infer({"x": array}) for array in sent]]
    (first,) = telling.addresses
    assert [address(each) for each in received] == [first, first + 4 * LARGE, first + 3 * 4 * LARGE]
    assert counts(model) == (0, 6 * 4 * LARGE, 6 * 4 * LARGE, 0)
    received[1][:] = 0  # the rows of one are nobody else's
    del received[0]
    gc.collect()
    garbage = [vector(-1) for _ in range(8)]
    assert (received[0] == 0).all()
    assert (received[1] == 6).all()
    del garbage


# -- outputs that are copied -------------------------------------------------------------------------------------------


class Derived(np.ndarray[Any, Any]):
    """Not numpy's own class: it may know of its memory in ways of its own."""


class Keeping:
    """A function that can still reach what it has returned."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.buffer = vector(7)

    def result(self, x: Array) -> Array:
        result = x + 1
        self.kept.append(result)
        return result

    def view_of_it(self, x: Array) -> Array:
        result = x + 1
        self.kept.append(result[1:])
        return result

    def weakly(self, x: Array) -> Array:
        result = x + 1
        self.kept.append(weakref.ref(result))
        return result

    def view_of_kept(self, x: Array) -> Array:
        result = x + 1
        self.kept.append(result)
        return result[:]

    def weakly_base(self, x: Array) -> Array:
        result = x + 1
        self.kept.append(weakref.ref(result))
        return result[:]

    def same(self, x: Array) -> Array:
        np.add(x, 1, out=self.buffer)
        return self.buffer

    def dictionary(self, x: Array) -> dict[str, Array]:
        self.kept.append({"y": x + 1})
        return dict(self.kept[-1])


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(Keeping().result, id="kept"),
        pytest.param(Keeping().view_of_it, id="a view of it kept"),
        pytest.param(Keeping().weakly, id="kept weakly"),
        pytest.param(Keeping().view_of_kept, id="a view of one that is kept"),
        pytest.param(Keeping().weakly_base, id="a view of one that is kept weakly"),
        pytest.param(Keeping().same, id="the same one each time"),
        pytest.param(Keeping().dictionary, id="kept in a dict"),
        pytest.param(lambda x: x, id="the input"),
        pytest.param(lambda x: x[:], id="a view of the input"),
        pytest.param(lambda x: (x + 1).view(Derived), id="of a derived class"),
        pytest.param(lambda x: np.zeros(3 * x.size, np.float32)[: x.size], id="a small part"),
        pytest.param(lambda x: np.zeros(2 * x.size, np.float32)[::2], id="not contiguous"),
        pytest.param(lambda x: np.frombuffer(bytearray(4 * x.size), np.float32), id="over other memory"),
        pytest.param(lambda x: ti.Tensor.from_any(x + 1), id="a tensor over an array"),
    ],
)
def test_what_others_may_reach_is_copied(server: ti.Server, function: Callable[[Array], Any]) -> None:
    model = add(server, function)
    received = answer(model, x=vector(1))
    expected = received.copy()
    assert counts(model) == (received.nbytes, 0, 0, received.nbytes)
    assert received.flags.writeable
    answer(model, x=vector(2))
    np.testing.assert_array_equal(received, expected)


def test_two_outputs_that_share_memory_are_copied(server: ti.Server) -> None:
    def function(x: Array) -> tuple[Array, Array]:
        result = x + 1
        return result, result[:]

    model = add(server, function, outputs={**Y, "z": (np.float32, (-1,))})
    outputs = model(x=vector())
    outputs["y"].numpy()[:] = 5
    assert (outputs["z"].numpy() == 2).all()
    assert counts(model)[2:] == (0, 8 * LARGE)


def test_never_means_never(server: ti.Server) -> None:
    model = add(server, lambda x: x + 1, adopt="never")
    assert (answer(model, x=vector()) == 2).all()
    assert counts(model)[2:] == (0, 4 * LARGE)


def test_texts_are_copied(server: ti.Server) -> None:
    texts = {"x": (object, (-1,))}, {"y": (object, (-1,))}
    model = server.add_model(
        lambda x: np.array([each * 2 for each in x], object), name="texts", inputs=texts[0], outputs=texts[1]
    )
    sent = ["a" * 3000, "b"]
    assert model(x=sent)["y"].to_string_array().tolist() == ["a" * 6000, "bb"]
    assert counts(model) == (3009, 0, 0, 6010)


class Allocator(ti.MemoryAllocator):
    """Of the receiver's own."""

    def allocate(
        self, byte_size: int, memory_type: ti.MemoryType, memory_type_id: int, tensor_name: str, /
    ) -> ti.MemoryBuffer:
        memory = np.zeros(byte_size, np.uint8)
        return ti.MemoryBuffer(address(memory), ti.MemoryType.CPU, 0, byte_size, memory)


def test_memory_that_the_receiver_has_given_is_written_to(server: ti.Server) -> None:
    model = add(server, lambda x: x + 1)
    target = np.zeros(LARGE, np.float32)
    response = model.infer({"x": vector()}, outputs={"y": target}).result()
    assert address(response.outputs["y"].numpy()) == address(target)
    assert (target == 2).all()
    response = model.infer({"x": vector(2)}, output_memory_allocator=Allocator()).result()
    assert (response.outputs["y"].numpy() == 3).all()
    assert counts(model)[2:] == (0, 2 * 4 * LARGE)


def test_between_the_steps_of_an_ensemble_is_copied(server: ti.Server) -> None:
    first = add(server, lambda x: x + 1, "first")
    second = add(server, lambda x: x * 2, "second")
    ensemble = server.add_ensemble(
        "both",
        [
            ti.EnsembleStep("first", inputs={"x": "IN"}, outputs={"y": "between"}),
            ti.EnsembleStep("second", inputs={"x": "between"}, outputs={"y": "OUT"}),
        ],
    )
    for number in range(5):
        assert (answer(ensemble, "OUT", IN=vector(number)) == (number + 1) * 2).all()
    size = 5 * 4 * LARGE
    assert counts(first)[2:] == (0, size)
    assert counts(second)[:2] == (0, size)
    assert ensemble.byte_counts is None
    server.remove_model("both")


# -- the author's promise ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [16, LARGE])
def test_always_takes_what_the_function_keeps(server: ti.Server, size: int) -> None:
    state = vector(7, size)
    before = sys.getrefcount(state)
    model = add(server, lambda x: state, adopt="always")
    received = [answer(model, x=vector()) for _ in range(3)]
    assert {address(each) for each in received} == {address(state)}
    assert counts(model)[2:] == (3 * state.nbytes, 0)
    assert not any(each.flags.writeable for each in received)
    with pytest.raises(ValueError, match="WRITEABLE"):
        received[0].setflags(write=True)
    assert sys.getrefcount(state) > before
    del received
    wait_until(lambda: sys.getrefcount(state) == before)


@pytest.mark.parametrize("size", [16, LARGE])
def test_always_hands_the_input_back(server: ti.Server, size: int) -> None:
    model = add(server, lambda x: x[1:], adopt="always")
    sent = vector(3, size)
    death = weakref.ref(sent)
    received = answer(model, x=sent)
    assert address(received) == address(sent) + 4
    assert counts(model) == (sent.nbytes, 0, sent.nbytes - 4, 0)
    del sent
    garbage = [vector(-1) for _ in range(8)]
    assert (received == 3).all()
    del received, garbage
    wait_until(lambda: death() is None)


def test_always_leaves_what_nobody_reaches_writable(server: ti.Server) -> None:
    received = answer(add(server, lambda x: x + 1, adopt="always"), x=vector(1, 16))
    received[:] = 5
    assert (received == 5).all()


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"adopt": "sometimes"}, ValueError, "adopt must be 'auto', 'always' or 'never', not 'sometimes'"),
        ({"adopt": None}, ValueError, "adopt must be 'auto', 'always' or 'never', not None"),
        ({"copy_inputs": 1}, TypeError, "copy_inputs must be a bool, not int"),
    ],
)
def test_bad_arguments(server: ti.Server, arguments: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        add(server, lambda x: x, **arguments)


# -- inputs ------------------------------------------------------------------------------------------------------------


def test_copied_inputs_are_the_functions_own(server: ti.Server) -> None:
    kept: list[Array] = []

    def function(x: Array) -> Array:
        kept.append(x)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = add(server, function, copy_inputs=True)
        sent = vector(3)
        received = answer(model, x=sent)
        sent[:] = 5
        assert address(kept[0]) != address(sent)
        assert (kept[0] == 3).all()
        assert (received == 3).all()
        assert not kept[0].flags.writeable
        assert counts(model) == (0, sent.nbytes, 0, sent.nbytes)


class Kept(list[Any]):
    """What a function has kept of its inputs."""

    def keep(self, x: Any) -> Any:
        self.append(x)
        return x + 1


def keeping_generator(kept: Kept) -> Callable[..., Any]:
    def function(x: Array) -> Iterator[Array]:
        yield kept.keep(x)

    return function


def keeping_coroutine(kept: Kept) -> Callable[..., Any]:
    async def function(x: Array) -> Array:
        return kept.keep(x)  # type: ignore[no-any-return]

    return function


def keeping_context(kept: Kept) -> Callable[..., Any]:
    def function(x: Array, *, context: ti.RequestContext) -> Array:
        return kept.keep(x[1:])[:-1]  # type: ignore[no-any-return]

    return function


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        pytest.param(lambda kept: kept.keep, {}, id="whole"),
        pytest.param(lambda kept: lambda x: kept.keep(x[::2]), {}, id="view"),
        pytest.param(lambda kept: lambda x: kept.append(x) or x, {}, id="returned, too"),
        pytest.param(keeping_context, {}, id="context"),
        pytest.param(keeping_generator, {}, id="generator"),
        pytest.param(keeping_coroutine, {}, id="async function"),
        pytest.param(
            lambda kept: lambda requests: [kept.keep(each.inputs["x"]) for each in requests],
            {"requests": True},
            id="requests",
        ),
    ],
)
def test_who_keeps_an_input_is_warned_once(
    server: ti.Server, kind: Callable[[Kept], Any], arguments: dict[str, Any]
) -> None:
    kept = Kept()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = add(server, kind(kept), "hoarder", **arguments)
        for number in range(3):
            for _ in model.infer({"x": vector(number)}):
                pass
        wait_until(lambda: caught)
        for _ in model.infer({"x": vector(3)}):
            pass
        server.remove_model("hoarder")
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert "model 'hoarder' keeps an input beyond the call" in str(warning.message)
    assert "copy_inputs=True" in str(warning.message)
    assert [float(each[0]) for each in kept] == [0, 1, 2, 3]


@pytest.mark.parametrize("adopt", ["auto", "always"])
def test_who_returns_an_input_is_not_warned(server: ti.Server, adopt: str) -> None:
    def with_context(x: Array, *, context: ti.RequestContext) -> Array:
        return x

    async def coroutine(x: Array) -> Array:
        return x[:]

    def generator(x: Array) -> Iterator[Array]:
        yield x
        yield x[::2]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        functions: tuple[Callable[..., Any], ...] = (
            lambda x: x,
            lambda x: x[::-1],
            with_context,
            coroutine,
            generator,
        )
        for index, function in enumerate(functions):
            model = add(server, function, f"model{index}", adopt=adopt)
            for _ in range(3):
                for _ in model.infer({"x": vector()}):
                    pass
            server.remove_model(f"model{index}")
        model = add(server, lambda requests: [each.inputs["x"] for each in requests], requests=True, adopt=adopt)
        for _ in range(3):
            model(x=vector())
        server.remove_model("model")
    assert [str(each.message) for each in caught] == []


def test_who_lets_go_of_an_input_a_moment_later_is_not_warned(server: ti.Server) -> None:
    def let_go_later(x: Array) -> Array:
        kept = [x]
        threading.Timer(0.03, kept.clear).start()  # as of a request that is answered and not released yet
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer(add(server, let_go_later), x=vector())
        server.remove_model("model")
    assert [str(each.message) for each in caught] == []


# -- what is counted ---------------------------------------------------------------------------------------------------


def test_the_statistics_tell_the_bytes(server: ti.Server) -> None:
    model = add(server, lambda x: x + 1)
    assert model.byte_counts == ti.ByteCounts(0, 0, 0, 0)
    answer(model, x=vector())
    (entry,) = model.statistics()["model_stats"]
    assert entry["byte_counts"] == {
        "inputs_shared": 4 * LARGE,
        "inputs_copied": 0,
        "outputs_adopted": 4 * LARGE,
        "outputs_copied": 0,
    }
    assert server.model("nobody").byte_counts is None
    assert server.model("model", 7).byte_counts is None


def test_each_version_has_its_own_counts(server: ti.Server) -> None:
    add(server, lambda x: x + 1)
    latest = add(server, lambda x: x + 2, version=2)
    answer(server.model("model", 1), x=vector(1, 10))
    answer(latest, x=vector(1, 20))
    assert counts(server.model("model", 1)) == (40, 0, 40, 0)
    assert counts(server.model("model", 2)) == counts(latest) == (80, 0, 80, 0)
    sizes = {
        each["version"]: each["byte_counts"]["inputs_shared"]
        for each in server.model("model", 1).statistics()["model_stats"]
    }
    assert sizes == {"1": 40}
    add(server, lambda x: x, version=2, replace=True)
    assert counts(latest) == (0, 0, 0, 0)


# -- lifetime ----------------------------------------------------------------------------------------------------------


def test_what_was_taken_over_goes_with_the_response(server: ti.Server) -> None:
    model = add(server, lambda x: x + 1)
    sent = vector(1, 1 << 20)
    answer(model, x=sent)
    tracemalloc.start()
    try:
        held = [answer(model, x=sent) for _ in range(8)]
        assert tracemalloc.get_traced_memory()[0] > 8 * sent.nbytes
        garbage = [vector(-1, 1 << 20) for _ in range(8)]
        assert all((each == 2).all() for each in held)
        del held, garbage
        wait_until(lambda: tracemalloc.get_traced_memory()[0] < sent.nbytes)
    finally:
        tracemalloc.stop()


def test_nothing_keeps_what_went_through(server: ti.Server) -> None:
    model = add(server, lambda x: x[1:])
    sent = vector()
    references = sys.getrefcount(sent)
    for _ in range(50):
        answer(model, x=sent)
    wait_until(lambda: sys.getrefcount(sent) == references)


def test_threads_that_receive_and_let_go(server: ti.Server) -> None:
    model = add(server, lambda x: x * 2, instances=2)
    failures: list[int] = []

    def work(number: int) -> None:
        for turn in range(20):
            received = [answer(model, x=vector(number * 100 + turn, 5000)) for _ in range(3)]
            failures.extend(turn for each in received if not (each == 2 * (number * 100 + turn)).all())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_what_was_taken_over_outlives_the_server_and_ends_with_the_process(runtime: ti.runtime.Runtime) -> None:
    result = run_python("""
        import numpy as np, threading
        import triton_inprocess as ti
        specs = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
        state = np.full(5000, 7, np.float32)
        held = []
        with ti.Server() as server:
            fresh = server.add_model(lambda x: x + 1, name="fresh", **specs)
            fixed = server.add_model(lambda x: state, name="fixed", adopt="always", **specs)
            for model in (fresh, fixed):
                held.append(model.infer({"x": np.ones(5000, np.float32)}).result())
        assert (held[0].outputs["y"].numpy() == 2).all() and (held[1].outputs["y"].numpy() == 7).all()
        last = ti.Server().start()
        model = last.add_model(lambda x: x + 1, name="fresh", **specs)
        model(x=state)
        held += [model.infer({"x": state}) for _ in range(50)]  # some are on their way when the interpreter ends
        print("fine")
    """)
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


# -- whatever a function does ------------------------------------------------------------------------------------------


class Behaviours:
    """Functions that do with memory what they should not; each returns 2 * x."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.buffers: dict[tuple[int, ...], Array] = {}

    def fresh(self, x: Array) -> Array:
        return x * 2

    def keep(self, x: Array) -> Array:
        self.kept = [*self.kept[-5:], x, x * 2]
        return self.kept[-1]  # type: ignore[no-any-return]

    def mutate(self, x: Array) -> Array:
        """What it has returned before, it writes to now."""
        result = x * 2
        for each in self.kept:
            if isinstance(each, np.ndarray) and each.flags.writeable:
                each[...] = -1
        self.kept = [*self.kept[-5:], result]
        return result

    def view_of_kept(self, x: Array) -> Array:
        self.kept = [*self.kept[-5:], x * 2]
        return self.kept[-1][...]  # type: ignore[no-any-return]

    def same_buffer(self, x: Array) -> Array:
        buffer = self.buffers.setdefault(x.shape, np.empty(x.shape, np.float32))
        np.multiply(x, 2, out=buffer)
        return buffer

    def view_of_input(self, x: Array) -> Array:
        """The caller sends what it returns."""
        return x[...]

    def view_of_fresh(self, x: Array) -> Array:
        return np.concatenate([x * 2, x])[: len(x)]

    def dictionary(self, x: Array) -> dict[str, Array]:
        return {"y": x * 2}


NAMES = ("fresh", "keep", "mutate", "view_of_kept", "same_buffer", "view_of_input", "view_of_fresh", "dictionary")


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[str, int, int, bool, bool]]:
    """Which function, with how many of which number, whether several at once, and whether the result is kept."""
    one = st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from([0, 1, 16, 1023, 1024, 1025, 20_000]),
        st.integers(1, 100),
        st.booleans(),
        st.booleans(),
    )
    return draw(st.lists(one, min_size=1, max_size=12))


@examples(40)
@given(calls=calls())
def test_whatever_a_function_does_the_answers_stay_right(
    behaving: dict[str, ti.Model], calls: list[tuple[str, int, int, bool, bool]]
) -> None:
    results: list[tuple[Array, int]] = []
    garbage: list[Array] = []
    for name, size, number, several, hold in calls:
        sent = [np.full((1, size), number + turn, np.float32) for turn in range(3 if several else 1)]
        expected = [(number + turn) * (1 if name == "view_of_input" else 2) for turn in range(len(sent))]
        pending = [behaving[name].infer({"x": each}) for each in sent]
        received = [each.result().outputs["y"].numpy() for each in pending]
        for array in sent:
            array[...] = -2  # the caller's memory is his again
        for array, value in zip(received, expected, strict=True):
            assert (array == value).all()
            if hold:
                results.append((array, value))
            else:
                array[...] = -3  # and so is the answer
        del sent, received, pending
        garbage.extend(np.full((1, size), -4, np.float32) for _ in range(3))
    for array, value in results:
        assert (array == value).all()


@pytest.fixture(scope="module")
def behaving(runtime: ti.runtime.Runtime) -> Iterator[dict[str, ti.Model]]:
    """Models of all behaviours, on a server of their own."""
    with ti.Server() as server, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield {
            name: add(
                server,
                getattr(Behaviours(), name),
                name,
                max_batch_size=4,
                batching=ti.Batching(max_queue_delay_us=500),
            )
            for name in NAMES
        }
