"""Other libraries' arrays, where they are installed: nothing here imports them for its own use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triton_inprocess as ti

X = np.arange(6, dtype=np.float32)


def own() -> ti.Tensor:
    """A tensor whose memory is its own, and may be written."""
    return ti.Tensor.from_any(X, copy=True)


def test_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    source = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert ti.Tensor.from_any(source, copy=False).data_ptr == source.data_ptr()
    assert ti.Tensor.from_any(source.T).tolist() == source.T.tolist()
    assert ti.Tensor.from_any(source[:, ::2]).tolist() == source[:, ::2].tolist()
    halves = source.to(torch.bfloat16)
    assert ti.Tensor.from_any(halves).data_type == ti.DataType.BF16
    with pytest.raises(TypeError, match="float8"):
        ti.Tensor.from_any(source.to(torch.float8_e4m3fn))
    tensor = own()
    target = torch.from_dlpack(tensor)
    assert target.data_ptr() == tensor.data_ptr
    target[0] = 9
    assert tensor.tolist()[0] == 9
    back = torch.from_dlpack(ti.Tensor.from_any(halves, copy=True))
    assert back.dtype == torch.bfloat16


def test_jax() -> None:
    numpy: Any = pytest.importorskip("jax.numpy")
    source = numpy.arange(6.0).reshape(2, 3)
    assert ti.Tensor.from_any(source, copy=False).data_ptr == source.unsafe_buffer_pointer()
    assert ti.Tensor.from_any(source.T).tolist() == source.T.tolist()
    assert ti.Tensor.from_any(numpy.arange(3, dtype=numpy.bfloat16)).data_type == ti.DataType.BF16
    with pytest.raises(TypeError, match=r"float8.*UINT8"):
        ti.Tensor.from_any(numpy.zeros(3, numpy.float8_e4m3fn))
    tensor = own()
    target = numpy.from_dlpack(tensor)
    assert target.tolist() == X.tolist()


def test_arrow() -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    source = arrow.array([1, 2, 3], arrow.int32())
    tensor = ti.Tensor.from_any(source, copy=False)
    assert (tensor.data_type, tensor.tolist()) == (ti.DataType.INT32, [1, 2, 3])
    assert ti.Tensor.from_any(source[1:]).tolist() == [2, 3]
    with pytest.raises(TypeError, match="null"):
        ti.Tensor.from_any(arrow.array([1, None]))


def test_cupy_in_host_memory() -> None:
    cupyx: Any = pytest.importorskip("cupyx")
    source = cupyx.empty_pinned(3, np.float32)
    assert ti.Tensor.from_any(source, copy=False).data_ptr == source.ctypes.data
