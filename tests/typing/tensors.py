"""Tensors and memory. Read by type checkers only."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import assert_type

import triton_inprocess as ti

tensor = ti.Tensor.from_any([1, 2, 3], data_type="FP32")
assert_type(tensor, ti.Tensor)
assert_type(tensor.shape, tuple[int, ...])
assert_type(tensor.data_type, ti.DataType)
assert_type(tensor.numpy(), np.ndarray[Any, np.dtype[Any]])
assert_type(tensor.to_bytes_array(), np.ndarray[Any, np.dtype[np.object_]])
assert_type(tensor.to_host(), ti.Tensor)
assert_type(tensor.to_device((ti.MemoryType.GPU, 1)), ti.Tensor)
np.from_dlpack(tensor)
tensor.to_device(1.5)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
tensor.shape = (3,)  # type: ignore[misc] # pyright: ignore[reportAttributeAccessIssue]
ti.Tensor.from_any(1, copy="never")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

with ti.SharedMemoryPool(byte_size=1 << 20) as pool:
    assert_type(pool.empty("FP32", (2, 2)), ti.Tensor)
    handle = tensor.share(pool)
    assert_type(handle, ti.SharedTensor)
    assert_type(handle.open(), ti.Tensor)
ti.SharedMemoryPool(byte_size="1 MiB")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


class Arena(ti.MemoryAllocator):
    def allocate(
        self, byte_size: int, memory_type: ti.MemoryType, memory_type_id: int, tensor_name: str
    ) -> ti.MemoryBuffer:
        return ti.MemoryBuffer(0, memory_type, memory_type_id, byte_size, None)

    def free(self, memory_buffer: ti.MemoryBuffer) -> None:
        assert_type(memory_buffer.size, int)


ti.Server(output_memory_allocator=Arena())
ti.Server(output_memory_allocator=Arena)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
