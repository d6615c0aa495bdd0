"""Objects of bound classes whose __init__ never ran, and forged values: TypeError or ValueError, nothing is kept."""

from __future__ import annotations

import asyncio
import gc
import pickle
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers_capi_inference import filled

import triton_inprocess as ti
from triton_inprocess import _native, capi

X = np.arange(4, dtype=np.float32)

BOUND = [each for each in vars(_native).values() if type(each).__name__ == "nb_type"]

# What Python asks of every object, initialized or not.
UNIVERSAL = {
    *dir(object),
    "__weakref__",
    "__dict__",
    "__del__",
    "__iter__",
    "__aiter__",
    "__enter__",
    "__class_getitem__",
}


class Unfinished(capi.TRITONSERVER_ResponseAllocator):
    def __init__(self) -> None:
        pass


def bare(kind: type) -> Any:
    return kind.__new__(kind)


@pytest.fixture(autouse=True)
def _warnings() -> Iterator[None]:
    """nanobind warns of such objects besides."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "nanobind: attempted to access an uninitialized instance")
        yield


@pytest.mark.parametrize("kind", [*BOUND, capi.TRITONSERVER_Server], ids=lambda kind: kind.__name__)
def test_its_methods_and_properties(runtime: ti.runtime.Runtime, kind: type) -> None:
    target = bare(kind)
    for name in sorted(set(dir(kind)) - UNIVERSAL):
        if name.startswith("from_") or (name.startswith("_") and not name.startswith("__")):
            continue  # a static method, or private
        for arguments in ((), ("cpu",), (0,)):
            with pytest.raises(TypeError):
                getattr(target, name)(*arguments)


@pytest.mark.parametrize("make", [Unfinished, lambda: bare(capi.TRITONSERVER_ResponseAllocator)])
def test_an_allocator(server: ti.Server, make: Callable[[], Any]) -> None:
    class User:
        pass

    server.add_model(lambda x: x, name="m", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    request = capi.TRITONSERVER_InferenceRequest(server.capi, "m", -1)
    user = User()
    known = weakref.ref(user)
    with pytest.raises(TypeError, match=r"allocator is a .* that was not initialized"):
        request.set_response_callback(make(), user, lambda *_: None, user)
    del user
    del request
    gc.collect()
    assert known() is None


def test_a_request_a_trace_and_what_they_are_made_of(server: ti.Server) -> None:
    native = server.capi
    server.add_model(lambda x: x, name="m", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    with pytest.raises(TypeError, match=r"request is a .* that was not initialized"):
        native.infer_async(bare(capi.TRITONSERVER_InferenceRequest))
    request = filled(native, "m", X, "x")
    calls: list[Callable[[], object]] = [
        lambda: native.infer_async(request, bare(capi.TRITONSERVER_InferenceTrace)),
        lambda: request.append_input_data_with_buffer_attributes(
            "x", X.ctypes.data, bare(capi.TRITONSERVER_BufferAttributes)
        ),
        lambda: capi.TRITONSERVER_InferenceRequest(bare(capi.TRITONSERVER_Server), "m", -1),
        lambda: native.load_model_with_parameters("m", [bare(capi.TRITONSERVER_Parameter)]),
        lambda: native.register_model_repository("/tmp", [bare(capi.TRITONSERVER_Parameter)]),
        lambda: _native.Server(bare(_native.ServerOptions)),
        lambda: ti.Tensor.from_any(X).share(bare(ti.SharedMemoryPool)),
        lambda: ti.Tensor(ti.DataType.FP32, (4,), bare(ti.MemoryBuffer)),
        lambda: ti.Tensor.from_any(bare(ti.Tensor)),
        lambda: server.model("m").infer(inputs={"x": bare(ti.Tensor)}),
        lambda: ti.Tensor.to_host(bare(ti.Tensor)),
        lambda: ti.Tensor.to_device(bare(ti.Tensor), "cpu"),
        lambda: ti.Tensor.to_device(5, "cpu"),  # type: ignore[arg-type]
        lambda: ti.AsyncResponseIterator.__anext__(5),  # type: ignore[arg-type]
        lambda: ti.AsyncResponseIterator.__await__(bare(ti.AsyncResponseIterator)),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()
    assert native.use_count == 1  # the request, which is as it was


def test_an_awaited_iterator_that_is_none() -> None:
    async def wait() -> None:
        await bare(ti.AsyncResponseIterator)

    with pytest.raises(TypeError, match="self is a AsyncResponseIterator that was not initialized"):
        asyncio.run(wait())


def test_a_bare_member_of_an_enumeration() -> None:
    tensor = ti.Tensor.from_any(X)
    forged: Any = object.__new__(ti.MemoryType)
    for device in (forged, (forged, 0), (int.__new__(ti.DLDeviceType), 0)):
        with pytest.raises(TypeError, match=r"device(\[0\])? must be .*MemoryType"):
            tensor.to_device(device)


WHERE = ("k", 0, 4, 0, 0)
ON_GPU = (bytes(64), 0, 0, 4, True, 5, 6)


@pytest.mark.parametrize(
    ("state", "error", "field"),
    [
        ((WHERE, 11, 5), TypeError, "shape"),
        ((WHERE, 11, [1]), TypeError, "shape"),
        ((WHERE, 11, ("1",)), TypeError, "shape"),
        ((WHERE, 11, (2**70,)), ValueError, "shape"),
        ((WHERE, 11, (-1,)), ValueError, "shape"),
        ((WHERE, "FP32", (1,)), TypeError, "data_type"),
        ((WHERE, 99, (1,)), ValueError, "data_type"),
        ((WHERE, 0, (1,)), ti.InvalidArgumentError, "data type"),
        ((WHERE, 11), ti.InvalidArgumentError, "3 values"),
        ((5, 11, (1,)), TypeError, "location"),
        (((), 11, (1,)), ti.InvalidArgumentError, "location"),
        (((5, *WHERE[1:]), 11, (1,)), TypeError, r"location\[0\]"),
        ((WHERE[:4], 11, (1,)), ti.InvalidArgumentError, "location"),
        ((("\ud800", *WHERE[1:]), 11, (1,)), ValueError, "key"),
        ((("a\0b", *WHERE[1:]), 11, (1,)), ValueError, "key"),
        ((("k", 0.5, 4, 0, 0), 11, (1,)), TypeError, "offset"),
        ((("k", 0, -4, 0, 0), 11, (1,)), ValueError, "byte_size"),
        ((("k", 0, 4, None, 0), 11, (1,)), TypeError, "segment_id"),
        ((("k", 0, 4, 0, 2**64), 11, (1,)), ValueError, "id"),
        (((b"x", *ON_GPU[1:]), 11, (1,)), ti.InvalidArgumentError, "ipc_handle"),
        ((ON_GPU[:6], 11, (1,)), ti.InvalidArgumentError, "location"),
        (((ON_GPU[0], "0", *ON_GPU[2:]), 11, (1,)), TypeError, "memory_type_id"),
        (((*ON_GPU[:4], 2, 5, 6), 11, (1,)), TypeError, "read_only"),
        (((*ON_GPU[:5], "5", 6), 11, (1,)), TypeError, "process"),
        (((*ON_GPU[:6], -6), 11, (1,)), ValueError, "number"),
    ],
)
def test_a_forged_pickle(state: Any, error: type[Exception], field: str) -> None:

    # What pickle writes of a SharedTensor, with another state in it.
    made: Any = type("Forged", (), {"__reduce__": lambda _: (copyreg_newobj, (ti.SharedTensor,), state)})()
    text = pickle.dumps(made)
    with pytest.raises(error, match=field):
        pickle.loads(text)


def copyreg_newobj(kind: type) -> Any:
    return kind.__new__(kind)


class Producer:
    """Something with DLPack's methods."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError("asked although its device is none")

    def __dlpack_device__(self) -> Any:
        return self.device


@pytest.mark.parametrize("device", [None, 5, (1,), (1, "a"), (1, 2**70), (1, 0, 0), ("a", 0)], ids=repr)
def test_a_device_of_dlpack_that_is_none(device: Any) -> None:
    with pytest.raises(TypeError, match="__dlpack_device__ of a Producer must return a pair of ints"):
        ti.Tensor.from_dlpack(Producer(device))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"copy": "yes"}, "copy"),
        ({"copy": 1}, "copy"),
        ({"max_version": "1"}, "max_version"),
        ({"max_version": ()}, "max_version"),
        ({"max_version": 1}, "max_version"),
        ({"max_version": ("1", 0)}, "max_version"),
        ({"dl_device": (1, "a")}, "dl_device"),
        ({"dl_device": (1, 2**70)}, "dl_device"),
        ({"stream": "x"}, "stream"),
    ],
)
def test_arguments_of_dlpack(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(TypeError, match=named):
        ti.Tensor.from_any(X).__dlpack__(**arguments)
