"""Where outputs come from, when a user says so."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import MemoryBuffer, MemoryType

__all__ = ["MemoryAllocator", "frees"]


class MemoryAllocator(ABC):
    """Gives the memory for outputs: of a request (`output_memory_allocator`) or of all of a server (`Options`).

    Its methods are called on Triton's threads, by several of them in turn, for they need Python's lock.
    NativeMemoryAllocator does without it.
    """

    @abstractmethod
    def allocate(
        self, byte_size: int, memory_type: MemoryType, memory_type_id: int, tensor_name: str, /
    ) -> MemoryBuffer:
        """Memory for an output (TRITONSERVER_ResponseAllocatorAllocFn_t).

        What it raises becomes the request's error: a TritonError as it is, anything else as an InternalError.

        Args:
            byte_size: How many bytes are needed; the memory may have more. 0 is possible.
            memory_type: Where the memory is wanted: the request's `output_memory_type`, from which another place is an
                error, or what Triton would like best.
            memory_type_id: The number of the device.
            tensor_name: The output's name.

        Returns:
            Writable memory that nothing else uses as long as the output's tensor, or an array over it, lives. It is
            refused with InvalidArgumentError when it is too small, read-only or elsewhere than asked for.
        """

    def free(self, memory_buffer: MemoryBuffer, /) -> None:  # noqa: B027 (nothing to do is the rule)
        """Take back what `allocate` returned, which neither Triton nor a tensor uses any more.

        It is called exactly once for each, on any thread, also when the request failed, after the server has stopped,
        and at the end of the interpreter for what Python drops then. (It does not drop a numpy array in a global of the
        very module that has the allocator's class: its garbage collector does not look into arrays.) Where a class does
        not override it, the memory goes with the MemoryBuffer's owner. Its exceptions go to sys.unraisablehook.
        """


def frees(allocator: MemoryAllocator) -> bool:
    """Whether it wants its memory back."""
    return getattr(allocator.free, "__func__", None) is not MemoryAllocator.free
