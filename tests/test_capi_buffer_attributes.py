"""TRITONSERVER_BufferAttributes: where a piece of memory lies, and how large it is."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from conftest import examples, run_python
from hypothesis import given
from hypothesis import strategies as st

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

BufferAttributes = capi.TRITONSERVER_BufferAttributes
MemoryType = capi.TRITONSERVER_MemoryType
HANDLE_BYTES = 64


class Five:
    def __index__(self) -> int:
        return 5


class Unruly:
    def __index__(self) -> int:
        raise RuntimeError("no index")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


NO_INTEGERS: list[Any] = [None, "1", 1.0, b"1", [], Unruly(), np.float32(1), 1j]


def test_new_attributes_are_those_of_nothing_in_host_memory() -> None:
    # Dirtied memory shows what the library leaves uninitialised.
    for _ in range(50):
        dirty = [BufferAttributes() for _ in range(20)]
        for each in dirty:
            each.byte_size = 0x5555_5555_5555_5555
            each.memory_type_id = -1
            each.memory_type = MemoryType.GPU
        del dirty, each
        attributes = BufferAttributes()
        assert attributes.memory_type is MemoryType.CPU
        assert attributes.memory_type_id == 0
        assert attributes.byte_size == 0
        assert attributes.cuda_ipc_handle == 0


def test_they_are_the_same_in_a_fresh_process() -> None:
    result = run_python("""
    from triton_inprocess import capi
    each = capi.TRITONSERVER_BufferAttributes()
    print(each.memory_type, each.memory_type_id, each.byte_size, each.cuda_ipc_handle)
    """)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["CPU", "0", "0", "0"]


@given(
    memory_type=st.sampled_from(list(MemoryType)),
    memory_type_id=st.integers(-(1 << 63), (1 << 63) - 1),
    byte_size=st.integers(0, (1 << 64) - 1),
    order=st.permutations(["memory_type", "memory_type_id", "byte_size"]),
)
@examples(100)
def test_what_is_set_is_what_is_read(memory_type: Any, memory_type_id: int, byte_size: int, order: list[str]) -> None:
    values: dict[str, Any] = {"memory_type": memory_type, "memory_type_id": memory_type_id, "byte_size": byte_size}
    attributes = BufferAttributes()
    for name in order:
        setattr(attributes, name, values[name])
    assert {name: getattr(attributes, name) for name in order} == values
    assert attributes.memory_type is memory_type


@pytest.mark.parametrize("value", [-1, 0, 1, -(1 << 63), (1 << 63) - 1, np.int32(-5), np.int64(3), Five()])
def test_ids_may_be_negative(value: Any) -> None:
    attributes = BufferAttributes()
    attributes.memory_type_id = value
    assert attributes.memory_type_id == int(value.__index__())


@pytest.mark.parametrize("value", [*NO_INTEGERS, 1 << 63, -(1 << 63) - 1, 1 << 1000], ids=range(11))
def test_a_wrong_id_changes_nothing(value: Any) -> None:
    attributes = BufferAttributes()
    attributes.memory_type_id = 7
    with pytest.raises((TypeError, ValueError, OverflowError)):
        attributes.memory_type_id = value
    assert attributes.memory_type_id == 7


@pytest.mark.parametrize("value", [*NO_INTEGERS, -1, 1 << 64, -(1 << 1000)], ids=range(11))
def test_a_wrong_size_changes_nothing(value: Any) -> None:
    attributes = BufferAttributes()
    attributes.byte_size = 7
    with pytest.raises((TypeError, ValueError, OverflowError)):
        attributes.byte_size = value
    assert attributes.byte_size == 7


@pytest.mark.parametrize(
    "value", [None, "CPU", 3, -1, 1 << 70, capi.TRITONSERVER_DataType.FP32, Unruly()], ids=range(7)
)
def test_a_wrong_memory_type_changes_nothing(value: Any) -> None:
    attributes = BufferAttributes()
    attributes.memory_type = MemoryType.CPU_PINNED
    with pytest.raises((TypeError, ValueError)):
        attributes.memory_type = value
    assert attributes.memory_type is MemoryType.CPU_PINNED


@pytest.mark.parametrize("value", [*NO_INTEGERS, -1, 1 << 64], ids=range(10))
def test_a_wrong_handle_changes_nothing(value: Any) -> None:
    attributes = BufferAttributes()
    with pytest.raises((TypeError, ValueError, OverflowError)):
        attributes.cuda_ipc_handle = value
    assert attributes.cuda_ipc_handle == 0


def test_a_handle_at_0_is_refused() -> None:
    attributes = BufferAttributes()
    with pytest.raises(ti.InvalidArgumentError, match="address of 64 bytes"):
        attributes.cuda_ipc_handle = 0
    assert attributes.cuda_ipc_handle == 0


def test_the_content_of_a_handle_is_copied() -> None:
    content = bytes(range(HANDLE_BYTES))
    handle = ctypes.create_string_buffer(content, HANDLE_BYTES)
    attributes = BufferAttributes()
    attributes.cuda_ipc_handle = ctypes.addressof(handle)
    assert attributes.cuda_ipc_handle not in (0, ctypes.addressof(handle))
    ctypes.memset(handle, 0xFF, HANDLE_BYTES)
    del handle
    assert ctypes.string_at(attributes.cuda_ipc_handle, HANDLE_BYTES) == content


def test_a_handle_may_be_set_again() -> None:
    attributes = BufferAttributes()
    for content in (b"\0" * HANDLE_BYTES, b"\1" * HANDLE_BYTES, bytes(reversed(range(HANDLE_BYTES)))):
        handle = ctypes.create_string_buffer(content, HANDLE_BYTES)
        attributes.cuda_ipc_handle = ctypes.addressof(handle)
        assert ctypes.string_at(attributes.cuda_ipc_handle, HANDLE_BYTES) == content


def test_a_handle_may_be_set_to_its_own_copy() -> None:
    content = bytes(range(HANDLE_BYTES))
    handle = ctypes.create_string_buffer(content, HANDLE_BYTES)
    attributes = BufferAttributes()
    attributes.cuda_ipc_handle = ctypes.addressof(handle)
    attributes.cuda_ipc_handle = attributes.cuda_ipc_handle
    assert ctypes.string_at(attributes.cuda_ipc_handle, HANDLE_BYTES) == content


def test_the_handle_changes_nothing_else_and_nothing_else_changes_it() -> None:
    content = b"h" * HANDLE_BYTES
    handle = ctypes.create_string_buffer(content, HANDLE_BYTES)
    attributes = BufferAttributes()
    attributes.memory_type, attributes.memory_type_id, attributes.byte_size = MemoryType.GPU, 3, 1 << 40
    attributes.cuda_ipc_handle = ctypes.addressof(handle)
    assert (attributes.memory_type, attributes.memory_type_id, attributes.byte_size) == (MemoryType.GPU, 3, 1 << 40)
    attributes.memory_type, attributes.memory_type_id, attributes.byte_size = MemoryType.CPU, 0, 0
    assert ctypes.string_at(attributes.cuda_ipc_handle, HANDLE_BYTES) == content


def test_each_has_its_own_values() -> None:
    many = [BufferAttributes() for _ in range(100)]
    for i, each in enumerate(many):
        each.byte_size, each.memory_type_id = i, -i
    assert [(each.byte_size, each.memory_type_id) for each in many] == [(i, -i) for i in range(100)]


@pytest.mark.parametrize("name", ["memory_type", "memory_type_id", "byte_size", "cuda_ipc_handle"])
def test_properties_cannot_be_deleted(name: str) -> None:
    with pytest.raises(AttributeError):
        delattr(BufferAttributes(), name)


def test_a_misspelt_property_is_an_error() -> None:
    with pytest.raises(AttributeError):
        BufferAttributes().bytesize = 3  # type: ignore[attr-defined]


def test_all_memory_types_go_with_all_ids() -> None:
    attributes = BufferAttributes()
    for memory_type, memory_type_id in itertools.product(MemoryType, (-1, 0, 7)):
        attributes.memory_type, attributes.memory_type_id = memory_type, memory_type_id
        assert (attributes.memory_type, attributes.memory_type_id) == (memory_type, memory_type_id)
