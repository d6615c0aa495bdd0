"""Python functions as models."""

from __future__ import annotations

import ctypes
import functools
import gc
import queue
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, shown, write_identity, write_model

import triton_inprocess as ti

Array = np.ndarray[Any, Any]

X = {"x": (np.float32, (-1,))}
Y = {"y": (np.float32, (-1,))}


def array(*values: float) -> Array:
    return np.array(values, np.float32)


def add(server: ti.Server, function: Callable[..., Any], name: str = "model", **arguments: Any) -> ti.Model:
    """Add a function of `x` that returns `y`, both vectors of FP32 if nothing else is said."""
    return server.add_model(function, **{"name": name, "inputs": X, "outputs": Y, **arguments})


class Gate:
    """A function that says that it was called, waits to be let go on, and then answers its input."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.batch_sizes: list[int] = []

    def __call__(self, x: Array) -> Array:
        self.batch_sizes.append(len(x))
        self.entered.release()
        assert self.go_on.wait(10)
        return x


# -- how it is declared ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [ti.DataType.FP32, "FP32", np.float32, np.dtype(np.float32), "float32", "<f4", "f"])
def test_a_type_may_be_named_in_many_ways(server: ti.Server, dtype: Any) -> None:
    model = add(server, lambda x: x, inputs={"x": (dtype, [-1])}, outputs=[ti.TensorSpec("y", dtype, [-1])])
    assert answer(model, x=array(1)).tolist() == [1]


def test_specifications_may_be_a_list(server: ti.Server) -> None:
    model = server.add_model(
        lambda a, b: (b, a),
        name="swap",
        inputs=[ti.TensorSpec("a", ti.DataType.FP32, (1,)), ti.TensorSpec("b", "INT8", (2,))],
        outputs=(ti.TensorSpec("first", np.int8, (2,)), ti.TensorSpec("second", np.float32, (1,))),
    )
    (response,) = model.infer(inputs={"a": array(5), "b": np.array([1, 2], np.int8)})
    assert response.outputs["first"].numpy().tolist() == [1, 2]
    assert response.outputs["second"].numpy().tolist() == [5]


class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Array) -> Array:
        return x * np.float32(self.factor)

    def method(self, x: Array) -> Array:
        return self(x)


@pytest.mark.parametrize(
    "function",
    [
        Scale(2),
        Scale(2).method,
        functools.partial(lambda factor, x: x * np.float32(factor), 2),
        lambda **all: all["x"] * 2,
    ],
    ids=["object", "method", "partial", "keywords"],
)
def test_whatever_can_be_called_is_a_function(server: ti.Server, function: Callable[..., Any]) -> None:
    assert answer(add(server, function), x=array(1, 2)).tolist() == [2, 4]


def test_the_version_is_the_models(server: ti.Server) -> None:
    model = add(server, lambda x: x, version=7)
    assert model.metadata()["versions"] == ["7"]
    assert answer(server.model("model", 7), x=array(1)).tolist() == [1]
    assert ("model", 7) in server.models()
    with pytest.raises(ti.TritonError):
        server.model("model", 1).infer(inputs={"x": array(1)})


def test_instances_are_on_the_cpu(server: ti.Server) -> None:
    (group,) = add(server, lambda x: x, instances=3).config()["instance_group"]
    assert (group["kind"], group["count"]) == ("KIND_CPU", 3)


# -- what it returns ---------------------------------------------------------------------------------------------------

TWO_OUTPUTS = {"sum": (np.float32, (-1,)), "count": (np.int64, (1,))}


@pytest.mark.parametrize(
    "function",
    [
        lambda x: {"count": np.array([len(x)]), "sum": x + 1},
        lambda x: (x + 1, np.array([len(x)])),
        lambda x: (list(x + 1), [len(x)]),
        lambda x: (ti.Tensor.from_dlpack(x + 1), ti.Tensor.from_dlpack(np.array([len(x)]))),
        lambda x: {"sum": (x + 1)[::1], "count": (len(x),)},
    ],
    ids=["dict", "tuple", "tuple of lists", "tuple of tensors", "dict of others"],
)
def test_results_may_be_a_dict_or_a_tuple(server: ti.Server, function: Callable[..., Any]) -> None:
    (response,) = add(server, function, outputs=TWO_OUTPUTS).infer(inputs={"x": array(1, 2)})
    assert {name: tensor.numpy().tolist() for name, tensor in response.outputs.items()} == {
        "sum": [2, 3],
        "count": [2],
    }


@pytest.mark.parametrize(
    "result",
    [array(1, 2), [1, 2], [1.0, 2.0], {"y": array(1, 2)}, (array(1, 2),), {"y": [1, 2]}, array(1, 0, 2)[::2]],
    ids=["array", "list", "list of floats", "dict", "tuple", "dict of list", "strided"],
)
def test_one_result_may_be_given_alone(server: ti.Server, result: Any) -> None:
    received = answer(add(server, lambda x: result), x=array(0))
    assert (received.tolist(), received.dtype) == ([1, 2], np.float32)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, ["None"]),
        ({"z": array(1)}, ["'z'"]),
        ({}, ["0", "1"]),
        ({"y": array(1), "z": array(1)}, ["'z'"]),
        ((), ["0", "1"]),
        ((array(1), array(1)), ["2", "1"]),
        (np.ones(1, np.float64), ["'y'", "FP64", "FP32"]),
        (np.ones(1, np.int32), ["'y'", "INT32", "FP32"]),
        (["a"], ["'y'"]),
        (np.ones((1, 1), np.float32), ["'y'", "[1,1]", "[-1]"]),
        (np.float32(1), ["'y'"]),
        ({"y": None}, ["'y'"]),
        (object(), ["'y'"]),
        (np.ma.MaskedArray([1], [True], np.float32), ["'y'", "mask"]),
        ({1: array(1)}, ["1"]),
    ],
    ids=shown,
)
def test_a_wrong_result_is_described(server: ti.Server, result: Any, words: list[str]) -> None:
    with pytest.raises(ti.TritonError) as caught:
        answer(add(server, lambda x: result, name="careless"), x=array(0))
    text = str(caught.value).replace(", ", ",")
    for word in [*words, "careless"]:
        assert word in text


@pytest.mark.parametrize("shape", [(3,), (1, 2), (2, 2), ()])
def test_a_result_of_the_wrong_shape_is_described(server: ti.Server, shape: tuple[int, ...]) -> None:
    model = add(server, lambda x: np.zeros(shape, np.float32), outputs={"y": (np.float32, (2,))})
    with pytest.raises(ti.InternalError, match=r"'y'.*shape.*\[2\]"):
        answer(model, x=array(0))


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_result_of_another_batch_size_is_described(server: ti.Server, rows: int) -> None:
    model = add(server, lambda x: np.zeros((rows, 1), np.float32), outputs={"y": (np.float32, (1,))}, max_batch_size=4)
    with pytest.raises(ti.InternalError, match=r"'y'.*shape"):
        answer(model, x=np.zeros((2, 1), np.float32))


def test_after_wrong_results_right_ones_arrive(server: ti.Server) -> None:
    results: list[Any] = [None, array(1), "x", array(2)]
    model = add(server, lambda x: results.pop(0))
    for right in (None, [1], None, [2]):
        if right is None:
            with pytest.raises(ti.TritonError):
                answer(model, x=array(0))
        else:
            assert answer(model, x=array(0)).tolist() == right


def test_only_requested_outputs_are_sent(server: ti.Server) -> None:
    model = add(server, lambda x: (x, np.array([len(x)])), outputs=TWO_OUTPUTS)
    for requested in (["count"], ["sum"], ["count", "sum"]):
        (response,) = model.infer(inputs={"x": array(1, 2)}, requested_outputs=requested)
        assert set(response.outputs) == set(requested)


def test_requested_outputs_are_each_requests_own_within_a_batch(server: ti.Server) -> None:
    model = add(
        server,
        lambda x: (x, x + 1),
        outputs={"a": (np.float32, (1,)), "b": (np.float32, (1,))},
        inputs={"x": (np.float32, (1,))},
        max_batch_size=8,
        batching=ti.Batching(max_queue_delay_us=5_000_000, preferred_sizes=[4]),
    )
    wanted = [["a"], ["b"], ["a", "b"], None]
    sent = [model.infer(inputs={"x": np.full((1, 1), 5, np.float32)}, requested_outputs=each) for each in wanted]
    received = [
        {name: tensor.numpy().tolist() for name, tensor in next(responses).outputs.items()} for responses in sent
    ]
    assert statistics_of(model) == (4, 1, {4: 1})
    assert received == [{"a": [[5]]}, {"b": [[6]]}, {"a": [[5]], "b": [[6]]}, {"a": [[5]], "b": [[6]]}]


# -- errors ------------------------------------------------------------------------------------------------------------


class Stubborn(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no description")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no more coffee"), "ValueError: no more coffee"),
        (KeyError("bean"), "KeyError: 'bean'"),
        (ZeroDivisionError(), "ZeroDivisionError"),
        (ValueError("é 日本"), "é 日本"),
        (ValueError("half \ud800"), "half"),
        (ValueError("a\0b"), "a"),
        (StopIteration("over"), "over"),
        (MemoryError(), "MemoryError"),
        (Stubborn(), "description"),
        (SystemExit(3), "3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit("gone"), "gone"),
        (ti.NotFoundError("no such page"), "^no such page$"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_exception_is_the_answer(server: ti.Server, error: BaseException, text: str) -> None:
    def fail(x: Array) -> Array:
        raise error

    model = add(server, fail)
    for _ in range(2):
        with pytest.raises(ti.TritonError, match=text):
            answer(model, x=array(0))


def test_an_exception_fails_exactly_that_batch(server: ti.Server) -> None:
    batches: list[list[float]] = []

    def fail_on_13(x: Array) -> Array:
        batches.append(x[:, 0].tolist())
        if 13 in x:
            raise ValueError(f"unlucky {len(batches)}")
        return x

    model = add(
        server,
        fail_on_13,
        inputs={"x": (np.float32, (1,))},
        outputs={"y": (np.float32, (1,))},
        max_batch_size=4,
        batching=ti.Batching(max_queue_delay_us=1000),
    )
    sent = {number: model.infer(inputs={"x": array(number)[:, None]}, raise_on_error=False) for number in range(32)}
    received = {number: next(responses) for number, responses in sent.items()}
    unlucky = next(batch for batch in batches if 13 in batch)
    assert sorted(number for batch in batches for number in batch) == list(range(32))
    for number, response in received.items():
        if number in unlucky:
            assert f"unlucky {batches.index(unlucky) + 1}" in str(response.error)
        else:
            assert response.outputs["y"].numpy().tolist() == [[number]]


def test_an_exception_keeps_nothing_of_the_request(server: ti.Server) -> None:
    def fail(x: Array) -> Array:
        raise ValueError("no")

    model = add(server, fail)
    sent = array(1, 2, 3)
    references = sys.getrefcount(sent)
    with pytest.raises(ti.TritonError):
        answer(model, x=sent)
    answer(add_echo(server), x=array(0))
    assert sys.getrefcount(sent) == references


def test_arguments_that_the_function_does_not_take(server: ti.Server) -> None:
    # Said at once where the function tells what it takes, and at the first call where it does not.
    for function in (lambda z: z, lambda: 1, lambda x, y: x):
        with pytest.raises(TypeError, match=r"fn cannot be called with the inputs x"):
            add(server, function)
    assert server.models() == {}

    class Untold:
        __signature__ = "none"

        def __call__(self, z: object) -> object:
            return z

    with pytest.raises(ti.TritonError, match=r"TypeError.*'x'"):
        answer(add(server, Untold()), x=array(1))


def test_a_repository_with_an_ensemble_of_missing_models_does_not_start(
    runtime: ti.runtime.Runtime, tmp_path: Path
) -> None:
    (tmp_path / "joined" / "1").mkdir(parents=True)
    (tmp_path / "joined" / "config.pbtxt").write_text("""
platform: "ensemble"
max_batch_size: 0
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] } ]
ensemble_scheduling { step [ { model_name: "nowhere" model_version: -1
  input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } } ] }
""")
    with pytest.raises(ti.InternalError, match=r"(?s)'joined' was not loaded.*nowhere"):
        ti.Server(model_repository=tmp_path).start()
    with ti.Server(model_repository=tmp_path, exit_on_error=False) as server:
        assert not server.model("joined").ready()


# -- the arrays that it gets -------------------------------------------------------------------------------------------


def test_one_requests_array_is_the_callers_own_memory(server: ti.Server) -> None:
    seen: list[tuple[int, tuple[int, ...], bool]] = []
    model = add(
        server,
        lambda x: seen.append((x.ctypes.data, x.shape, x.flags.writeable)) or x,
        inputs={"x": (np.float32, (-1, -1))},
        outputs={"y": (np.float32, (-1, -1))},
    )
    whole = np.arange(20, dtype=np.float32).reshape(4, 5)
    part = whole[1:3]
    for sent in (whole, part):
        np.testing.assert_array_equal(answer(model, x=sent), sent)
    assert seen == [(whole.ctypes.data, (4, 5), False), (part.ctypes.data, (2, 5), False)]


def test_a_batched_requests_array_is_the_callers_own_memory(server: ti.Server) -> None:
    seen: list[int] = []
    model = add(
        server,
        lambda x: seen.append(x.ctypes.data) or x,
        max_batch_size=8,
        batching=ti.Batching(),
    )
    sent = np.ones((3, 2), np.float32)
    answer(model, x=sent)
    assert seen == [sent.ctypes.data]


def test_the_arrays_cannot_be_written_to(server: ti.Server) -> None:
    def try_to(x: Array) -> Array:
        for attempt in (
            lambda: x.__setitem__(0, 5),
            lambda: x.setflags(write=True),
            x.sort,
            lambda: np.add(x, 1, out=x),
        ):
            try:
                attempt()
            except ValueError:
                continue
            raise AssertionError("it could be written to")
        return x

    sent = array(3, 1, 2)
    assert answer(add(server, try_to), x=sent).tolist() == [3, 1, 2]
    assert sent.tolist() == [3, 1, 2]


def test_arrays_of_several_requests_are_gathered(server: ti.Server) -> None:
    gate = Gate()
    seen: list[Array] = []

    def function(x: Array) -> Array:
        seen.append(x)
        return gate(x)

    model = add(
        server,
        function,
        inputs={"x": (np.float32, (2,))},
        outputs={"y": (np.float32, (2,))},
        max_batch_size=8,
        batching=ti.Batching(max_queue_delay_us=5_000_000, preferred_sizes=[6]),
    )
    arrays = [np.full((rows, 2), rows, np.float32) for rows in (1, 2, 3)]
    sent = [model.infer(inputs={"x": each}) for each in arrays]
    gate.go_on.set()
    received = [next(responses).outputs["y"].numpy() for responses in sent]
    for expected, each in zip(arrays, received, strict=True):
        np.testing.assert_array_equal(each, expected)
    assert gate.batch_sizes == [6]
    (gathered,) = seen
    np.testing.assert_array_equal(gathered, np.concatenate(arrays))
    assert not gathered.flags.writeable
    assert gathered.ctypes.data not in {each.ctypes.data for each in arrays}


@pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")
def test_an_array_that_is_kept_stays_valid(server: ti.Server) -> None:
    kept: list[Array] = []
    model = add(server, lambda x: kept.append(x) or x)
    for number in range(20):
        answer(model, x=np.full(10_000, number, np.float32))
    others = [np.full(10_000, -1, np.float32) for _ in range(20)]
    assert [set(each) for each in kept] == [{number} for number in range(20)]
    server.stop()
    assert [set(each) for each in kept] == [{number} for number in range(20)]
    del others


@pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")
def test_an_array_that_is_kept_keeps_the_callers_and_no_longer(server: ti.Server) -> None:
    kept: list[Array] = []
    model = add(server, lambda x: kept.append(x[1:]) or x)
    sent = array(1, 2, 3)
    death = weakref.ref(sent)
    answer(model, x=sent)
    address = sent.ctypes.data
    del sent
    gc.collect()
    assert death() is not None
    assert (kept[0].tolist(), kept[0].ctypes.data) == ([2, 3], address + 4)
    kept.clear()
    answer(add_echo(server), x=array(0))
    assert death() is None


@pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")
def test_a_kept_gathered_array_stays_valid(server: ti.Server) -> None:
    kept: list[Array] = []
    model = add(
        server,
        lambda x: kept.append(x) or x,
        max_batch_size=16,
        batching=ti.Batching(max_queue_delay_us=2000),
    )
    for _ in range(3):
        sent = [model.infer(inputs={"x": np.full((1, 1000), number, np.float32)}) for number in range(16)]
        for responses in sent:
            next(responses)
    rows = [row for each in kept for row in each]
    assert len(rows) == 48
    assert sorted(float(row[0]) for row in rows) == sorted([*range(16)] * 3)
    assert all((row == row[0]).all() for row in rows)


@pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")
def test_a_kept_array_does_not_hold_up_its_request_or_the_stop(server: ti.Server) -> None:
    kept: list[Array] = []
    model = add(server, lambda x: kept.append(x) or x)
    answer(model, x=array(1))
    begin = time.monotonic()
    server.remove_model("model")
    server.stop()
    assert time.monotonic() - begin < 2
    assert kept[0].tolist() == [1]


def test_returning_the_input_gives_the_caller_memory_of_its_own(server: ti.Server) -> None:
    sent = array(1, 2, 3)
    received = answer(add_echo(server), x=sent)
    received[:] = 0
    assert sent.tolist() == [1, 2, 3]


def test_a_result_that_the_function_keeps_stays_its_own(server: ti.Server) -> None:
    state = array(1, 2, 3)
    model = add(server, lambda x: state)
    received = answer(model, x=array(0))
    received[:] = 0
    assert state.tolist() == [1, 2, 3]
    state[:] = 7
    assert received.tolist() == [0, 0, 0]
    assert answer(model, x=array(0)).tolist() == [7, 7, 7]


def test_zero_sizes(server: ti.Server) -> None:
    seen: list[tuple[int, ...]] = []
    model = add(
        server,
        lambda x: seen.append(x.shape) or x,
        inputs={"x": (np.float32, (-1, 3))},
        outputs={"y": (np.float32, (-1, 3))},
    )
    received = answer(model, x=np.zeros((0, 3), np.float32))
    assert (seen, received.shape) == ([(0, 3)], (0, 3))


def test_zero_sizes_in_a_batch(server: ti.Server) -> None:
    model = add(server, lambda x: x, max_batch_size=4, batching=ti.Batching(max_queue_delay_us=1000))
    sent = [model.infer(inputs={"x": np.zeros((rows, 0), np.float32)}) for rows in (1, 2, 1)]
    assert [next(responses).outputs["y"].shape for responses in sent] == [(1, 0), (2, 0), (1, 0)]


def test_bfloat16(server: ti.Server) -> None:
    seen: list[Any] = []
    model = add(
        server,
        lambda x: seen.append(x.dtype) or x * 2,
        inputs={"x": ("BF16", (-1,))},
        outputs={"y": (ml_dtypes.bfloat16, (-1,))},
    )
    received = answer(model, x=np.array([1.5, -3], ml_dtypes.bfloat16))
    assert (received.dtype, received.tolist(), seen) == (ml_dtypes.bfloat16, [3, -6], [ml_dtypes.bfloat16])


def test_bfloat16_in_a_batch(server: ti.Server) -> None:
    model = add(
        server,
        lambda x: x,
        inputs={"x": ("BF16", (2,))},
        outputs={"y": ("BF16", (2,))},
        max_batch_size=4,
        batching=ti.Batching(max_queue_delay_us=5000),
    )
    sent = [model.infer(inputs={"x": np.full((1, 2), number, ml_dtypes.bfloat16)}) for number in range(4)]
    assert [next(each).outputs["y"].numpy().tolist() for each in sent] == [[[n, n]] for n in range(4)]


def test_bits_may_be_returned_for_bfloat16(server: ti.Server) -> None:
    model = add(server, lambda x: np.array([0x3F80, 0xC000], np.uint16), outputs={"y": ("BF16", (-1,))})
    assert answer(model, x=array(0)).tolist() == [1, -2]


# -- batches -----------------------------------------------------------------------------------------------------------


def test_a_batch_has_the_leading_dimension(server: ti.Server) -> None:
    shapes: list[tuple[int, ...]] = []
    model = add(
        server,
        lambda x: shapes.append(x.shape) or x.sum(axis=1, keepdims=True),
        inputs={"x": (np.float32, (4,))},
        outputs={"y": (np.float32, (1,))},
        max_batch_size=8,
    )
    received = answer(model, x=np.ones((3, 4), np.float32))
    assert (received.tolist(), shapes) == ([[4], [4], [4]], [(3, 4)])


@pytest.mark.parametrize("rows", [9, 100])
def test_a_batch_that_is_too_large_is_refused(server: ti.Server, rows: int) -> None:
    model = add(server, lambda x: x, inputs={"x": (np.float32, (4,))}, max_batch_size=8, name="small")
    with pytest.raises(ti.InvalidArgumentError, match="small") as caught:
        model.infer(inputs={"x": np.ones((rows, 4), np.float32)})
    assert "8" in str(caught.value)


def statistics_of(model: ti.Model) -> tuple[int, int, dict[int, int]]:
    """How many inferences, in how many executions, and how many of these were of which size."""
    (statistics,) = model.statistics()["model_stats"]
    sizes = {entry["batch_size"]: entry["compute_infer"]["count"] for entry in statistics["batch_stats"]}
    return statistics["inference_count"], statistics["execution_count"], sizes


def test_batching_joins_requests(server: ti.Server) -> None:
    gate = Gate()
    model = add(server, gate, max_batch_size=16, batching=ti.Batching(max_queue_delay_us=5000))
    sent = [model.infer(inputs={"x": array(number)[:, None]}) for number in range(48)]
    gate.go_on.set()
    for number, responses in enumerate(sent):
        (response,) = responses
        assert response.outputs["y"].numpy().tolist() == [[number]]
    inferences, executions, sizes = statistics_of(model)
    assert inferences == 48
    assert 3 <= executions <= 12
    assert executions == len(gate.batch_sizes)
    assert sizes == {size: gate.batch_sizes.count(size) for size in gate.batch_sizes}
    assert max(gate.batch_sizes) <= 16


def test_without_batching_each_request_is_executed_alone(server: ti.Server) -> None:
    model = add(server, lambda x: x, max_batch_size=16)
    for responses in [model.infer(inputs={"x": array(number)[:, None]}) for number in range(20)]:
        list(responses)
    assert statistics_of(model) == (20, 20, {1: 20})


def test_a_preferred_size_goes_without_delay(server: ti.Server) -> None:
    gate = Gate()
    gate.go_on.set()
    batching = ti.Batching(max_queue_delay_us=3_000_000, preferred_sizes=[4, 8])
    model = add(server, gate, max_batch_size=16, batching=batching)
    begin = time.monotonic()
    for responses in [model.infer(inputs={"x": array(number)[:, None]}) for number in range(4)]:
        list(responses)
    assert time.monotonic() - begin < 2.5
    assert gate.batch_sizes == [4]
    configuration = model.config()["dynamic_batching"]
    assert configuration["preferred_batch_size"] == [4, 8]
    assert configuration["max_queue_delay_microseconds"] == 3_000_000


def test_the_delay_is_waited_for(server: ti.Server) -> None:
    model = add(server, lambda x: x, max_batch_size=16, batching=ti.Batching(max_queue_delay_us=100_000))
    begin = time.monotonic()
    answer(model, x=array(1)[:, None])
    assert 0.09 < time.monotonic() - begin < 2


def test_requests_of_different_shapes_are_not_joined(server: ti.Server) -> None:
    shapes: list[tuple[int, ...]] = []
    model = add(
        server,
        lambda x: shapes.append(x.shape) or x,
        max_batch_size=16,
        batching=ti.Batching(max_queue_delay_us=2000),
    )
    widths = [1, 2, 2, 3, 3, 3, 1, 2] * 3
    sent = [model.infer(inputs={"x": np.full((1, width), number, np.float32)}) for number, width in enumerate(widths)]
    for number, (width, responses) in enumerate(zip(widths, sent, strict=True)):
        (response,) = responses
        assert response.outputs["y"].numpy().tolist() == [[number] * width]
    assert sum(shape[0] for shape in shapes) == len(widths)


def test_requests_of_several_rows_are_joined_and_parted(server: ti.Server) -> None:
    model = add(
        server,
        lambda x, words: (x * 2, np.char.upper(words.astype("S"))),
        inputs={"x": (np.float32, (2,)), "words": (str, (1,))},
        outputs={"y": (np.float32, (2,)), "loud": (str, (1,))},
        max_batch_size=16,
        batching=ti.Batching(max_queue_delay_us=5000),
    )
    rows = [1, 4, 2, 7, 3, 1, 5, 2]
    sent = [
        model.infer(
            inputs={
                "x": np.full((count, 2), number, np.float32),
                "words": np.array([["w" * (number + row + 1)] for row in range(count)], object),
            }
        )
        for number, count in enumerate(rows)
    ]
    for number, (count, responses) in enumerate(zip(rows, sent, strict=True)):
        (response,) = responses
        assert response.outputs["y"].numpy().tolist() == [[2 * number] * 2] * count
        assert response.outputs["loud"].to_string_array().tolist() == [
            ["W" * (number + row + 1)] for row in range(count)
        ]


# -- instances and threads ---------------------------------------------------------------------------------------------


def test_several_instances_execute_at_once(server: ti.Server) -> None:
    barrier = threading.Barrier(3)
    model = add(server, lambda x: barrier.wait(10) * 0 + x, instances=3)
    sent = [model.infer(inputs={"x": array(number)}) for number in range(3)]
    assert [next(responses).outputs["y"].numpy().tolist() for responses in sent] == [[0], [1], [2]]


def test_one_instance_executes_one_after_the_other(server: ti.Server) -> None:
    inside = threading.Lock()

    def alone(x: Array) -> Array:
        assert inside.acquire(blocking=False), "two at once"
        try:
            time.sleep(0.001)
            return x
        finally:
            inside.release()

    model = add(server, alone)
    for responses in [model.infer(inputs={"x": array(number)}) for number in range(30)]:
        list(responses)


def test_a_threads_own_values_last(server: ti.Server) -> None:
    local = threading.local()

    def count(x: Array) -> Array:
        local.calls = getattr(local, "calls", 0) + 1
        return x * 0 + np.float32(local.calls)

    model = add(server, count)
    assert [answer(model, x=array(0)).tolist() for _ in range(5)] == [[1], [2], [3], [4], [5]]


def test_a_threads_own_values_end_with_the_model(server: ti.Server) -> None:
    class Value:
        pass

    local = threading.local()
    deaths: list[weakref.ref[Value]] = []

    def keep(x: Array) -> Array:
        local.value = Value()
        deaths.append(weakref.ref(local.value))
        return x

    model = add(server, keep)
    answer(model, x=array(0))
    assert deaths[0]() is not None
    server.remove_model("model")
    deadline = time.monotonic() + 5
    while deaths[0]() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert deaths[0]() is None


def test_other_threads_run_while_a_function_does(server: ti.Server) -> None:
    gate = Gate()
    model = add(server, gate)
    responses = model.infer(inputs={"x": array(1)})
    assert gate.entered.acquire(timeout=10)
    assert answer(add_echo(server), x=array(2)).tolist() == [2]
    gate.go_on.set()
    assert next(responses).outputs["y"].numpy().tolist() == [1]


def test_functions_may_call_models(server: ti.Server) -> None:
    inner = add(server, lambda x: x + 1, name="inner")
    middle = add(server, lambda x: answer(inner, x=x) * 2, name="middle")
    outer = add(server, lambda x: answer(middle, x=x) - 1, name="outer")
    assert answer(outer, x=array(1, 2)).tolist() == [3, 5]


def test_functions_may_add_and_remove_models(server: ti.Server) -> None:
    def function(x: Array) -> Array:
        inner = add(server, lambda x: x + 1, name="inner")
        try:
            return answer(inner, x=x)
        finally:
            server.remove_model("inner")

    model = add(server, function)
    for _ in range(3):
        assert answer(model, x=array(1)).tolist() == [2]


def test_functions_may_start_threads(server: ti.Server) -> None:
    def function(x: Array) -> Array:
        with ThreadPoolExecutor(2) as pool:
            return np.array(list(pool.map(lambda each: each + 1, x)), np.float32)

    assert answer(add(server, function), x=array(1, 2)).tolist() == [2, 3]


# -- adding, removing, and names ---------------------------------------------------------------------------------------


def test_a_removed_model_is_gone(server: ti.Server) -> None:
    model = add(server, lambda x: x)
    answer(model, x=array(1))
    server.remove_model("model")
    assert not model.ready()
    assert "model" not in server.models(exclude_not_ready=True)
    with pytest.raises((ti.UnavailableError, ti.NotFoundError), match="model"):
        model.infer(inputs={"x": array(1)})


def test_a_removed_models_function_is_let_go(server: ti.Server) -> None:
    function = Scale(2)
    death = weakref.ref(function)
    answer(add(server, function), x=array(1))
    del function
    assert death() is not None
    server.remove_model("model")
    gc.collect()
    assert death() is None


def test_a_stopped_servers_functions_are_let_go(start_server: StartServer) -> None:
    server = start_server()
    function = Scale(2)
    death = weakref.ref(function)
    answer(add(server, function), x=array(1))
    del function
    server.stop()
    gc.collect()
    assert death() is None


def test_the_name_of_a_removed_model_is_free_again(server: ti.Server) -> None:
    for factor in (2, 3, 4):
        model = add(server, Scale(factor))
        assert answer(model, x=array(1)).tolist() == [factor]
        server.remove_model("model")


def test_another_model_of_a_removed_models_name_may_be_quite_different(server: ti.Server) -> None:
    add(server, lambda x: x)
    server.remove_model("model")
    model = server.add_model(
        lambda words: words,
        name="model",
        inputs={"words": (str, (-1,))},
        outputs={"z": (str, (-1,))},
        max_batch_size=2,
    )
    assert answer(model, "z", words=[["a"]]).tolist() == [[b"a"]]


def test_removing_waits_for_requests_in_flight(server: ti.Server) -> None:
    gate = Gate()
    model = add(server, gate)
    sent = [model.infer(inputs={"x": array(number)}) for number in range(3)]
    assert gate.entered.acquire(timeout=10)
    with ThreadPoolExecutor(1) as pool:
        removal = pool.submit(server.remove_model, "model")
        time.sleep(0.02)
        assert not removal.done()
        gate.go_on.set()
        removal.result(10)
    assert [next(responses).outputs["y"].numpy().tolist() for responses in sent] == [[0], [1], [2]]


def test_a_name_is_used_once(server: ti.Server) -> None:
    model = add(server, Scale(2))
    with pytest.raises(ti.AlreadyExistsError, match="model"):
        add(server, Scale(3))
    assert answer(model, x=array(1)).tolist() == [2]


@pytest.mark.parametrize("loaded", [True, False])
def test_names_of_the_repositories_are_taken(start_identity: StartServer, repository: Path, loaded: bool) -> None:
    write_identity(repository, "taken")
    write_identity(repository, "other")
    server = start_identity(startup_models=["taken" if loaded else "other"])
    with pytest.raises(ti.AlreadyExistsError, match="taken"):
        add(server, lambda x: x, name="taken")
    assert server.model("taken").ready() is loaded


def test_several_threads_may_add_one_name_and_one_succeeds(server: ti.Server) -> None:
    barrier = threading.Barrier(4)

    def try_to(number: int) -> int | None:
        barrier.wait(10)
        try:
            add(server, Scale(number))
        except ti.AlreadyExistsError:
            return None
        return number

    with ThreadPoolExecutor(4) as pool:
        (winner,) = [number for number in pool.map(try_to, range(1, 5)) if number is not None]
    assert answer(server.model("model"), x=array(1)).tolist() == [winner]


def test_only_added_models_can_be_removed(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    server = start_identity()
    for name in ("identity", "nowhere"):
        with pytest.raises(ti.NotFoundError, match=name):
            server.remove_model(name)
    assert server.model("identity").ready()


def test_a_model_can_be_removed_once(server: ti.Server) -> None:
    add(server, lambda x: x)
    server.remove_model("model")
    with pytest.raises(ti.NotFoundError, match="model"):
        server.remove_model("model")


def test_an_added_model_can_be_unloaded_and_loaded_again(server: ti.Server) -> None:
    model = add(server, Scale(2))
    for _ in range(2):
        server.unload("model", wait_until_unloaded=True, polling_interval=0.001)
        assert not model.ready()
        server.load("model")
        assert answer(model, x=array(1)).tolist() == [2]
    server.unload(model, wait_until_unloaded=True, polling_interval=0.001)
    server.remove_model("model")
    assert answer(add(server, Scale(3)), x=array(1)).tolist() == [3]


def test_an_added_model_can_be_loaded_while_it_is(server: ti.Server) -> None:
    model = add(server, Scale(2))
    server.load("model")
    assert answer(model, x=array(1)).tolist() == [2]


@pytest.mark.parametrize("mode", [ti.ModelControlMode.NONE, ti.ModelControlMode.POLL])
def test_in_other_modes_nothing_can_be_added(start_server: StartServer, mode: ti.ModelControlMode) -> None:
    with pytest.raises(ti.UnavailableError, match=rf"model_control_mode.*{mode.name}"):
        add(start_server(model_control_mode=mode), lambda x: x)


def test_a_model_that_triton_refuses_leaves_nothing(server: ti.Server) -> None:
    # More bytes than the name of a folder may have is caught before; a name with a slash, too.
    for name in ("", ".", "..", "a/b", "a\0b", "n" * 256):
        with pytest.raises(ValueError, match="name"):
            add(server, lambda x: x, name=name)
    assert server.models() == {}


def test_many_models_on_one_server(server: ti.Server) -> None:
    models = [add(server, Scale(number), name=f"model{number}") for number in range(30)]
    assert [answer(model, x=array(1)).tolist() for model in models] == [[number] for number in range(30)]
    assert len(server.models()) == 60


def test_two_servers_keep_their_models_apart(start_server: StartServer) -> None:
    first, second = start_server(), start_server()
    models = [add(server, Scale(factor)) for server, factor in ((first, 2), (second, 3))]
    assert [answer(model, x=array(1)).tolist() for model in models] == [[2], [3]]
    first.stop()
    assert answer(models[1], x=array(1)).tolist() == [3]


def test_functions_serve_beside_models_of_a_repository(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    server = start_identity()
    model = add(server, lambda x: answer(server.model("identity"), "OUTPUT0", INPUT0=x) + 1)
    assert answer(model, x=array(1)).tolist() == [2]


# -- ensembles ---------------------------------------------------------------------------------------------------------

STEP = """
    step [ {{
      model_name: "{model}" model_version: -1
      input_map {{ key: "{input}" value: "{source}" }}
      output_map {{ key: "{output}" value: "{target}" }}
    }} ]
"""


def ensemble_config(steps: Sequence[tuple[str, str, str]]) -> str:
    """Models in a row; a step is a model with its input and output."""
    tensors = ["IN", *(f"between{number}" for number in range(1, len(steps))), "OUT"]
    text = "".join(
        STEP.format(model=model, input=input, output=output, source=source, target=target)
        for (model, input, output), source, target in zip(steps, tensors, tensors[1:], strict=False)
    )
    return f"""
        name: "ensemble"
        platform: "ensemble"
        input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }} ]
        output [ {{ name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }} ]
        ensemble_scheduling {{ {text} }}
    """


def test_an_ensemble_of_added_models_and_others(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    write_model(
        repository,
        "ensemble",
        ensemble_config([("double", "x", "y"), ("identity", "INPUT0", "OUTPUT0"), ("increment", "x", "y")]),
    )
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT, startup_models=["identity"])
    kept: list[Array] = []
    add(server, Scale(2), name="double")
    add(server, lambda x: kept.append(x) or x + 1, name="increment")
    ensemble = server.load("ensemble")
    for number in range(10):
        assert answer(ensemble, "OUT", IN=np.full(1000, number, np.float32))[0] == 2 * number + 1
    # What came from another model is nobody's but the function's.
    assert [set(each) for each in kept] == [{2 * number} for number in range(10)]


def test_the_first_step_of_an_ensemble_may_keep_its_input(start_identity: StartServer, repository: Path) -> None:
    write_model(repository, "ensemble", ensemble_config([("model", "x", "y")]))
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)
    kept: list[Array] = []
    add(server, lambda x: kept.append(x) or x)
    ensemble = server.load("ensemble")
    for number in range(10):
        assert answer(ensemble, "OUT", IN=np.full(1000, number, np.float32))[0] == number
    others = [np.full(1000, -1, np.float32) for _ in range(10)]
    assert [set(each) for each in kept] == [{number} for number in range(10)]
    del others


def test_an_error_in_a_step_is_the_ensembles(start_identity: StartServer, repository: Path) -> None:
    write_model(repository, "ensemble", ensemble_config([("model", "x", "y"), ("fail", "x", "y")]))
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)

    def fail(x: Array) -> Array:
        raise ValueError("no more coffee")

    add(server, lambda x: x)
    add(server, fail, name="fail")
    ensemble = server.load("ensemble")
    with pytest.raises(ti.TritonError, match="no more coffee"):
        answer(ensemble, "OUT", IN=array(1))


# -- inputs in several buffers -----------------------------------------------------------------------------------------

POINTER = ctypes.c_void_p
ALLOCATE = ctypes.CFUNCTYPE(
    POINTER, POINTER, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int64, POINTER,
    ctypes.POINTER(POINTER), ctypes.POINTER(POINTER), ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int64),
)  # fmt: skip
FREE = ctypes.CFUNCTYPE(POINTER, POINTER, POINTER, POINTER, ctypes.c_size_t, ctypes.c_int, ctypes.c_int64)
RELEASE = ctypes.CFUNCTYPE(None, POINTER, ctypes.c_uint32, POINTER)
RESPOND = ctypes.CFUNCTYPE(None, POINTER, ctypes.c_uint32, POINTER)


class CApi:
    """As much of Triton's C API as an inference needs: this package itself gives each input one buffer."""

    def __init__(self, runtime: ti.runtime.Runtime) -> None:
        self.library = ctypes.CDLL(str(runtime.path))
        self.buffers: dict[int, Any] = {}
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Kept, for Triton keeps only the addresses.
        self.allocate, self.free = ALLOCATE(self._allocate), FREE(lambda *_: None)
        self.release, self.respond = RELEASE(self._released), RESPOND(self._responded)

    def call(self, name: str, *arguments: Any) -> None:
        function = getattr(self.library, f"TRITONSERVER_{name}")
        function.restype = POINTER
        error = function(*arguments)
        if error:
            message = self.library.TRITONSERVER_ErrorMessage
            message.restype = ctypes.c_char_p
            raise AssertionError(message(POINTER(error)).decode())

    def infer(self, server: ti.Server, model: str, name: str, shape: Sequence[int], parts: Sequence[bytes]) -> bytes:
        """The bytes of the only output, for one FP32 input that is given in parts."""
        allocator, request = POINTER(), POINTER()
        self.call("ResponseAllocatorNew", ctypes.byref(allocator), self.allocate, self.free, None)
        self.call(
            "InferenceRequestNew", ctypes.byref(request), POINTER(server._ptr()), model.encode(), ctypes.c_int64(-1)
        )
        shape_array = (ctypes.c_int64 * len(shape))(*shape)
        self.call(
            "InferenceRequestAddInput", request, name.encode(), ti.DataType.FP32.value, shape_array,
            ctypes.c_uint64(len(shape)),
        )  # fmt: skip
        kept = [ctypes.create_string_buffer(part, len(part)) for part in parts]
        for part in kept:
            self.call(
                "InferenceRequestAppendInputData", request, name.encode(), part, ctypes.c_size_t(len(part)), 0,
                ctypes.c_int64(0),
            )  # fmt: skip
        self.call("InferenceRequestSetReleaseCallback", request, self.release, None)
        self.call("InferenceRequestSetResponseCallback", request, allocator, None, self.respond, None)
        self.call("ServerInferAsync", POINTER(server._ptr()), request, None)
        results = [self.done.get(timeout=10) for _ in range(2)]
        self.call("InferenceRequestDelete", request)
        self.call("ResponseAllocatorDelete", allocator)
        (result,) = [each for each in results if each is not None]
        if isinstance(result, str):
            raise AssertionError(result)
        return bytes(result)

    def _allocate(self, _: Any, name: bytes, size: int, *rest: Any) -> None:
        buffer, user, memory_type, memory_type_id = rest[3:]
        memory = ctypes.create_string_buffer(max(size, 1))
        self.buffers[ctypes.addressof(memory)] = memory
        buffer[0], user[0], memory_type[0], memory_type_id[0] = ctypes.addressof(memory), None, 0, 0

    def _released(self, *_: Any) -> None:
        self.done.put(None)

    def _responded(self, response: int, *_: Any) -> None:
        try:
            self.call("InferenceResponseError", POINTER(response))
            base, size = POINTER(), ctypes.c_size_t()
            others = [ctypes.byref(ctypes.c_uint64()) for _ in range(7)]
            self.call(
                "InferenceResponseOutput", POINTER(response), 0, *others[:4], ctypes.byref(base), ctypes.byref(size),
                *others[4:],
            )  # fmt: skip
            result: Any = ctypes.string_at(base.value or 0, size.value) if size.value else b""
        except AssertionError as error:
            result = str(error)
        self.call("InferenceResponseDelete", POINTER(response))
        self.done.put(result)


@pytest.mark.parametrize("cuts", [[], [4], [3], [4, 4], [0, 1, 5, 39, 40], [8, 16, 24, 32]])
@pytest.mark.parametrize("batched", [False, True])
def test_an_input_in_several_buffers_is_put_together(
    server: ti.Server, runtime: ti.runtime.Runtime, cuts: list[int], batched: bool
) -> None:
    seen: list[Array] = []
    batching = {"max_batch_size": 8, "batching": ti.Batching()} if batched else {}
    add(server, lambda x: seen.append(x) or x + 1, **batching)
    whole = np.arange(10, dtype=np.float32)
    content = whole.tobytes()
    parts = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    shape = (1, 10) if batched else (10,)
    received = np.frombuffer(CApi(runtime).infer(server, "model", "x", shape, parts), np.float32)
    np.testing.assert_array_equal(received, whole + 1)
    # It was copied: nobody knows how long the memory of other requests lives.
    np.testing.assert_array_equal(seen[0].reshape(-1), whole)


def test_an_error_reaches_other_callers(server: ti.Server, runtime: ti.runtime.Runtime) -> None:
    def fail(x: Array) -> Array:
        raise ValueError("no more coffee")

    add(server, fail)
    with pytest.raises(AssertionError, match="no more coffee"):
        CApi(runtime).infer(server, "model", "x", (1,), [b"abcd"])


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"fn": 3}, TypeError, "fn"),
        ({"fn": None}, TypeError, "fn"),
        ({"name": 3}, TypeError, "name"),
        ({"name": ""}, ValueError, "name"),
        ({"name": "a/b"}, ValueError, "name"),
        ({"inputs": 3}, TypeError, "inputs"),
        ({"inputs": None}, TypeError, "inputs"),
        ({"inputs": {}}, ValueError, "inputs"),
        ({"inputs": []}, ValueError, "inputs"),
        ({"inputs": "x"}, TypeError, "inputs"),
        ({"inputs": ["x"]}, TypeError, "inputs"),
        ({"inputs": [("x", np.float32, (1,))]}, TypeError, "inputs"),
        ({"inputs": {"x": np.float32}}, TypeError, "inputs.*x"),
        ({"inputs": {"x": (np.float32,)}}, TypeError, "inputs.*x"),
        ({"inputs": {3: (np.float32, (1,))}}, TypeError, "name"),
        ({"inputs": {"": (np.float32, (1,))}}, ValueError, "name"),
        ({"inputs": {"x": ("FP33", (1,))}}, TypeError, "FP33"),
        ({"inputs": {"x": (np.complex64, (1,))}}, TypeError, "complex64"),
        ({"inputs": {"x": (None, (1,))}}, TypeError, "None"),
        ({"inputs": {"x": (ti.DataType.INVALID, (1,))}}, TypeError, "INVALID"),
        ({"inputs": {"x": (np.float32, 3)}}, TypeError, "shape.*x"),
        ({"inputs": {"x": (np.float32, "3")}}, TypeError, "shape.*x"),
        ({"inputs": {"x": (np.float32, ())}}, ValueError, "shape.*x"),
        ({"inputs": {"x": (np.float32, (1.5,))}}, TypeError, "shape.*x"),
        ({"inputs": {"x": (np.float32, (-2,))}}, ValueError, "shape.*x"),
        ({"inputs": {"x": (np.float32, (True,))}}, TypeError, "shape.*x"),
        (
            {"inputs": [ti.TensorSpec("x", np.float32, (1,)), ti.TensorSpec("x", np.int8, (1,))]},
            ValueError,
            "inputs.*x",
        ),
        ({"outputs": {}}, ValueError, "outputs"),
        ({"outputs": {"y": np.float32}}, TypeError, "outputs.*y"),
        ({"outputs": [ti.TensorSpec("y", np.float32, (1,))] * 2}, ValueError, "outputs.*y"),
        ({"max_batch_size": -1}, ValueError, "max_batch_size"),
        ({"max_batch_size": 1.5}, TypeError, "max_batch_size"),
        ({"max_batch_size": True}, TypeError, "max_batch_size"),
        ({"max_batch_size": 1 << 31}, ValueError, "max_batch_size"),
        ({"batching": True}, TypeError, "batching"),
        ({"batching": ti.Batching()}, ValueError, "max_batch_size"),
        ({"batching": ti.Batching(preferred_sizes=[9]), "max_batch_size": 8}, ValueError, "preferred_sizes"),
        ({"instances": 0}, ValueError, "instances"),
        ({"instances": "2"}, TypeError, "instances"),
        ({"version": 0}, ValueError, "version"),
        ({"version": None}, TypeError, "version"),
        ({"colour": "green"}, TypeError, "colour"),
    ],
    ids=shown,
)
def test_a_wrong_declaration_is_refused_by_name(
    server: ti.Server, arguments: dict[str, Any], error: type[Exception], word: str
) -> None:
    declaration: dict[str, Any] = {"fn": lambda x: x, "name": "model", "inputs": X, "outputs": Y, **arguments}
    function = declaration.pop("fn")
    with pytest.raises(error, match=word):
        server.add_model(function, **declaration)
    assert server.models() == {}
    assert answer(add(server, lambda x: x), x=array(1)).tolist() == [1]


@pytest.mark.parametrize("missing", ["name", "inputs", "outputs"])
def test_what_is_missing_is_named(server: ti.Server, missing: str) -> None:
    declaration = {"name": "model", "inputs": X, "outputs": Y}
    del declaration[missing]
    with pytest.raises(TypeError, match=missing):
        server.add_model(lambda x: x, **declaration)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"max_queue_delay_us": -1}, ValueError, "max_queue_delay_us"),
        ({"max_queue_delay_us": 0.5}, TypeError, "max_queue_delay_us"),
        ({"max_queue_delay_us": 1 << 64}, ValueError, "max_queue_delay_us"),
        ({"preferred_sizes": [0]}, ValueError, "preferred_sizes"),
        ({"preferred_sizes": ["4"]}, TypeError, "preferred_sizes"),
        ({"preferred_sizes": 4}, TypeError, "preferred_sizes"),
        ({"preferred_sizes": "4"}, TypeError, "preferred_sizes"),
    ],
    ids=shown,
)
def test_wrong_batching_is_refused_by_name(arguments: dict[str, Any], error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        ti.Batching(**arguments)
