"""Types and shapes from annotations, and inputs as other things than numpy arrays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import numpy as np
import pytest
from conftest import NUMPY_KNOWS_DLPACK_1, answer, needs_string_dtype, shown

import triton_inprocess as ti

Array = np.ndarray[Any, Any]
Vector = Annotated[Array, ti.Spec("FP32", [-1])]


def array(*values: float) -> Array:
    return np.array(values, np.float32)


def described(model: ti.Model) -> dict[str, list[tuple[str, str, list[int]]]]:
    metadata = model.metadata()
    return {
        kind: [(each["name"], each["datatype"], each["shape"]) for each in metadata[kind]]
        for kind in ("inputs", "outputs")
    }


# -- annotations -------------------------------------------------------------------------------------------------------


def one(x: Vector) -> Annotated[Array, ti.Spec("INT64", [1], name="length")]:
    return np.array([len(x)])


def unnamed(x: Vector) -> Vector:
    return x


def two(
    x: Vector, scale: Annotated[Array, ti.Spec(np.float64, (1,))]
) -> tuple[Vector, Annotated[Array, ti.Spec("BOOL", [1], name="positive")]]:
    return x * np.float32(scale[0]), np.array([scale[0] > 0])


class Result(TypedDict):
    label: Annotated[Array, ti.Spec("BYTES", [1])]
    score: Annotated[Array, ti.Spec("FP32", [1])]


def named(x: Vector) -> Result:
    return {"score": x[:1], "label": np.array([b"cat"], object)}


def streamed(x: Vector) -> Iterator[Annotated[Array, ti.Spec("FP32", [-1], name="part")]]:
    yield x


def optional(x: Vector, y: int = 3) -> Vector:
    return x + np.float32(y)


class Whole:
    def __call__(self, x: Vector) -> Vector:
        return x


X = [("x", "FP32", [-1])]


@pytest.mark.parametrize(
    ("function", "inputs", "outputs"),
    [
        (one, X, [("length", "INT64", [1])]),
        (unnamed, X, [("output", "FP32", [-1])]),
        (two, [*X, ("scale", "FP64", [1])], [("output_0", "FP32", [-1]), ("positive", "BOOL", [1])]),
        (named, X, [("label", "BYTES", [1]), ("score", "FP32", [1])]),
        (streamed, X, [("part", "FP32", [-1])]),
        (optional, X, [("output", "FP32", [-1])]),
        (Whole, X, [("output", "FP32", [-1])]),
        (Whole(), X, [("output", "FP32", [-1])]),
        (Whole().__call__, X, [("output", "FP32", [-1])]),
    ],
    ids=["one", "unnamed", "tuple", "TypedDict", "generator", "default", "class", "object", "method"],
)
def test_annotations_say_types_and_shapes(server: ti.Server, function: Any, inputs: Any, outputs: Any) -> None:
    assert described(server.add_model(function, name="model")) == {"inputs": inputs, "outputs": outputs}


def test_annotated_functions_work(server: ti.Server) -> None:
    model = server.add_model(two, name="two")
    response = model.infer({"x": array(1, 2), "scale": [3.0]}).result()
    assert response.outputs["output_0"].numpy().tolist() == [3, 6]
    assert response.outputs["positive"].numpy().tolist() == [True]
    assert server.add_model(named, name="named")(x=array(5))["label"].to_bytes_array().tolist() == [b"cat"]


def test_a_batch_dimension_is_named(server: ti.Server) -> None:
    def function(
        x: Annotated[Array, ti.Spec("FP32", ["batch", 2])],
    ) -> Annotated[Array, ti.Spec("FP32", ["batch", 1], name="sum")]:
        return x.sum(axis=1, keepdims=True)

    with pytest.raises(ValueError, match="max_batch_size"):
        server.add_model(function, name="sums")
    model = server.add_model(function, name="sums", max_batch_size=4)
    assert described(model) == {"inputs": [("x", "FP32", [-1, 2])], "outputs": [("sum", "FP32", [-1, 1])]}
    assert answer(model, "sum", x=np.ones((3, 2), np.float32)).tolist() == [[2], [2], [2]]


def test_arguments_win_over_annotations(server: ti.Server) -> None:
    model = server.add_model(unnamed, name="model", outputs={"y": (np.float32, (2,))})
    assert described(model) == {"inputs": X, "outputs": [("y", "FP32", [2])]}


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda x: x, "inputs.*'x'"),
        (lambda **all: all, "inputs"),
        (lambda: 1, "inputs"),
    ],
    ids=shown,
)
def test_missing_annotations_of_inputs_are_named(server: ti.Server, function: Any, word: str) -> None:
    with pytest.raises(TypeError, match=word):
        server.add_model(function, name="model", outputs={"y": (np.float32, (1,))})


def _no_result(x: Vector) -> Any: ...
def _plain_result(x: Vector) -> Array: ...
def _half_a_tuple(x: Vector) -> tuple[Vector, Array]: ...
def _two_specs(x: Vector) -> Annotated[Array, ti.Spec("FP32", [1]), ti.Spec("FP64", [1])]: ...


class Half(TypedDict):
    a: Vector
    b: Array


def _half_a_dict(x: Vector) -> Half: ...


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (_no_result, "outputs"),
        (_plain_result, "outputs"),
        (_half_a_tuple, "element 1"),
        (_half_a_dict, "'b' of Half"),
        (_two_specs, "2 Specs"),
    ],
    ids=["none", "plain", "tuple", "TypedDict", "two"],
)
def test_missing_annotations_of_outputs_are_named(server: ti.Server, function: Any, word: str) -> None:
    with pytest.raises(TypeError, match=word):
        server.add_model(function, name="model")


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        (("FP33", [1]), TypeError, "FP33"),
        (("FP32", 3), TypeError, "shape"),
        (("FP32", "batch"), TypeError, "shape"),
        (("FP32", [1.5]), TypeError, "1.5"),
        (("FP32", [1, "batch"]), TypeError, "first"),
        (("FP32", ["batch"]), ValueError, "batch"),
        (("FP32", [1], 3), TypeError, "name"),
        (("FP32", [1], None, "string"), ValueError, "BYTES"),
        (("BYTES", [1], None, "words"), ValueError, "bytes_as"),
    ],
    ids=shown,
)
def test_a_wrong_spec_is_refused(arguments: Any, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        ti.Spec(*arguments)


def test_a_spec_shows_what_it_says() -> None:
    assert repr(ti.Spec(np.float32, ["batch", -1], name="y")) == "Spec('FP32', ['batch', -1], name='y')"
    assert repr(ti.Spec(str, [2], bytes_as="raw")) == "Spec('BYTES', [2], bytes_as='raw')"


# -- BYTES -------------------------------------------------------------------------------------------------------------


@needs_string_dtype
def test_bytes_come_as_strings_on_request(server: ti.Server) -> None:
    seen: list[Any] = []

    def function(
        x: Annotated[Array, ti.Spec("BYTES", [-1], bytes_as="string")],
    ) -> Annotated[Array, ti.Spec("BYTES", [-1], name="y")]:
        seen.append((x.dtype.kind, x.flags.writeable))
        return np.strings.upper(x)

    model = server.add_model(function, name="upper")
    assert model(x=["ä", "bc", ""])["y"].to_string_array().tolist() == ["Ä", "BC", ""]
    assert seen == [("T", False)]


@pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")
def test_bytes_come_raw_on_request(server: ti.Server) -> None:
    kept: list[Array] = []

    def function(
        x: Annotated[Array, ti.Spec("BYTES", [-1], bytes_as="raw")],
    ) -> Annotated[Array, ti.Spec("INT64", [1], name="size")]:
        kept.append(x)
        return np.array([x.size])

    model = server.add_model(function, name="raw")
    assert answer(model, "size", x=["ab", "c"]).tolist() == [11]
    gc.collect()
    assert kept[0].tobytes() == b"\2\0\0\0ab\1\0\0\0c"
    assert (kept[0].dtype, kept[0].flags.writeable) == (np.dtype(np.uint8), False)


# -- tensors and other libraries' arrays -------------------------------------------------------------------------------


def test_inputs_come_as_tensors_on_request(server: ti.Server) -> None:
    addresses: list[int] = []

    def function(x: Annotated[ti.Tensor, ti.Spec("FP32", [-1])]) -> Vector:
        addresses.append(x.data_ptr)
        return x.numpy()

    sent = array(1, 2)
    assert answer(server.add_model(function, name="model"), "output", x=sent).tolist() == [1, 2]
    assert addresses == [sent.ctypes.data]


def test_an_annotation_needs_no_spec(server: ti.Server) -> None:
    def function(x: ti.Tensor) -> ti.Tensor:
        assert isinstance(x, ti.Tensor)
        return x

    specs = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    assert answer(server.add_model(function, name="model", **specs), x=array(1)).tolist() == [1]


class Foreign:
    """An array of a library that knows DLPack: this module, with the function below."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


legacy = False


def from_dlpack(value: Any) -> Foreign:
    version = {} if legacy else {"max_version": (1, 0)}
    value.__dlpack__(**version)  # as a consumer that can, or cannot, be told that memory is read-only
    return Foreign(np.from_dlpack(value) if not legacy else value.numpy())


@pytest.mark.parametrize("old", [False, True])
def test_arrays_of_a_library_come_by_dlpack(server: ti.Server, monkeypatch: pytest.MonkeyPatch, old: bool) -> None:
    monkeypatch.setitem(globals(), "legacy", old)
    addresses: list[int] = []

    def function(x: Foreign) -> Foreign:
        assert isinstance(x, Foreign)
        addresses.append(x.array.ctypes.data)
        return Foreign(x.array * 2)

    specs = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    function.__annotations__ = {"x": Foreign}
    sent = array(1, 2)
    assert answer(server.add_model(function, name="model", **specs), x=sent).tolist() == [2, 4]
    # Whoever cannot be told that it must not write gets a copy.
    assert (addresses == [sent.ctypes.data]) == (NUMPY_KNOWS_DLPACK_1 and not old)
    assert sent.tolist() == [1, 2]


def test_jax_arrays_come_by_annotation(server: ti.Server) -> None:
    jax = pytest.importorskip("jax")

    def function(x: Any) -> Any:
        assert isinstance(x, jax.Array)
        return x * 2

    function.__annotations__ = {"x": jax.Array}
    specs = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    for name, more in (("whole", {}), ("sample", {"batch": False, "max_batch_size": 2})):
        model = server.add_model(function, name=name, **specs, **more)
        sent = array(1, 2)[None] if more else array(1, 2)
        assert answer(model, x=sent).tolist() == (sent * 2).tolist()


def test_torch_tensors_come_by_annotation(server: ti.Server) -> None:
    torch = pytest.importorskip("torch")

    def function(x: Any) -> Any:
        assert isinstance(x, torch.Tensor)
        return x * 2

    function.__annotations__ = {"x": torch.Tensor}
    specs = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    assert answer(server.add_model(function, name="model", **specs), x=array(1, 2)).tolist() == [2, 4]


def test_bytes_cannot_be_another_librarys(server: ti.Server) -> None:
    def function(x: Foreign) -> Any: ...

    function.__annotations__ = {"x": Foreign}
    with pytest.raises(TypeError, match=r"'x' of type BYTES.*Foreign"):
        server.add_model(function, name="model", inputs={"x": (str, (1,))}, outputs={"y": (str, (1,))})


def test_a_tensor_has_no_rows(server: ti.Server) -> None:
    def function(x: ti.Tensor) -> Any: ...

    specs = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    with pytest.raises(TypeError, match=r"'x'.*batch=True"):
        server.add_model(function, name="model", **specs, batch=False, max_batch_size=2)
