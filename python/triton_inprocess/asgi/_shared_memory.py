"""The system shared memory that clients have registered."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import DataType, SharedTensor
from ..errors import AlreadyExistsError, InvalidArgumentError, NotFoundError, UnavailableError
from ._body import Bytes

__all__ = ["SharedMemory"]

_MOST_REGIONS = 256


class _Region:
    """Memory of a client, mapped for as long as anybody uses it."""

    def __init__(self, key: str, offset: int, byte_size: int) -> None:
        self.key, self.offset, self.byte_size = key, offset, byte_size
        shared = SharedTensor(key, offset, byte_size, DataType.UINT8, (byte_size,))
        self.bytes: Bytes = shared.open(writable=True).numpy()


class SharedMemory:
    """The regions by name. Clients may read and write them: only who is trusted with that should register any."""

    def __init__(self) -> None:
        """With no region."""
        self._regions: dict[str, _Region] = {}

    def register(self, name: str, key: str, offset: int, byte_size: int) -> None:
        """Open a region; raises InvalidArgumentError where there is none, AlreadyExistsError for a name in use."""
        if name in self._regions:
            raise AlreadyExistsError(f"shared memory region {name!r} is registered already")
        if len(self._regions) >= _MOST_REGIONS:
            raise UnavailableError(f"{_MOST_REGIONS} regions of shared memory are registered, the most allowed")
        if byte_size < 1:
            raise InvalidArgumentError(f"'byte_size' of shared memory region {name!r} must be 1 or more")
        try:
            self._regions[name] = _Region(key, offset, byte_size)
        except (OSError, TypeError, ValueError) as error:
            if isinstance(error, InvalidArgumentError):
                raise
            raise InvalidArgumentError(f"shared memory region {name!r}: {error}") from None

    def unregister(self, name: str | None) -> None:
        """Forget a region, or all; one that is not there is forgotten already."""
        if name is None:
            self._regions.clear()
        else:
            self._regions.pop(name, None)

    def status(self, name: str | None) -> list[dict[str, Any]]:
        """The regions, or one."""
        if name is not None:
            self._region(name)
        return [
            {"name": each, "key": region.key, "offset": region.offset, "byte_size": region.byte_size}
            for each, region in self._regions.items()
            if name in (None, each)
        ]

    def view(self, name: str, offset: int, byte_size: int) -> Bytes:
        """A part of a region; raises InvalidArgumentError when it lies outside."""
        region = self._region(name)
        if byte_size > region.byte_size - offset:
            raise InvalidArgumentError(
                f"{byte_size} bytes at {offset} are not within the {region.byte_size} of shared memory region {name!r}"
            )
        return region.bytes[offset : offset + byte_size]

    def write(self, place: tuple[str, int, int], data: memoryview, output: str) -> None:
        """Write an output; raises InvalidArgumentError when it is larger than its place."""
        name, offset, byte_size = place
        if len(data) > byte_size:
            raise InvalidArgumentError(
                f"output {output!r} has {len(data)} bytes, and {byte_size} are given in shared memory region {name!r}"
            )
        self.view(name, offset, len(data))[:] = np.frombuffer(data, np.uint8)

    def _region(self, name: str) -> _Region:
        region = self._regions.get(name)
        if region is None:
            raise NotFoundError(f"there is no shared memory region {name!r}")
        return region
