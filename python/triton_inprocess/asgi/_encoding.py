"""The content codings gzip and deflate."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from enum import Enum

from .._async_call import in_background
from ._errors import HttpError

__all__ = ["Coding", "Decompressor", "compressed"]

_LEVEL = 1  # the network of a model server is fast
_IN_PLACE = 1 << 16  # bytes that the event loop compresses itself


class Coding(Enum):
    """How a body is compressed."""

    GZIP = "gzip"
    DEFLATE = "deflate"

    @property
    def window_bits(self) -> int:
        """What zlib calls it."""
        return 31 if self is Coding.GZIP else 15

    @classmethod
    def of(cls, header: str | None) -> Coding | None:
        """The coding that `Content-Encoding` names; raises HttpError 415 for an unknown one."""
        name = (header or "").strip().lower()
        if name in ("", "identity"):
            return None
        try:
            return cls(name.removeprefix("x-"))
        except ValueError:
            raise HttpError(
                415,
                f"the body is encoded as {name!r:.100}; gzip and deflate are understood",
                {"accept-encoding": "gzip, deflate"},
            ) from None

    @classmethod
    def accepted(cls, header: str | None) -> Coding | None:
        """The coding that `Accept-Encoding` likes best, or None."""
        if not header:
            return None
        best, best_quality = None, 0.0
        for entry in header.split(","):
            name, _, parameter = entry.partition(";")
            quality = _quality(parameter)
            name = name.strip().lower()
            if name in ("gzip", "deflate") and quality > best_quality:
                best, best_quality = cls(name), quality
        return best


def _quality(parameter: str) -> float:
    name, _, value = parameter.partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


class Decompressor:
    """Decompresses a body of bounded size as it comes in."""

    def __init__(self, coding: Coding, most: int) -> None:
        """`most`: bytes that may come out."""
        self._coding = coding
        self._zlib = zlib.decompressobj(coding.window_bits)
        self._left = most
        self._most = most

    def feed(self, part: bytes) -> bytes:
        """What comes out; raises HttpError 413 when it is too much, and 400 when it is not of the coding."""
        try:
            result = self._zlib.decompress(part, self._left + 1)
        except zlib.error as error:
            raise HttpError(400, f"the body is not what {self._coding.value} makes: {error}") from None
        if self._zlib.unused_data:
            raise HttpError(400, f"something follows the end of the {self._coding.value} data in the body")
        self._left -= len(result)
        if self._left < 0:
            raise HttpError(413, f"the decompressed body has more than {self._most} bytes, the most allowed")
        return result

    def finish(self) -> None:
        """Raises HttpError 400 when the data are cut short."""
        if not self._zlib.eof:
            raise HttpError(400, f"the {self._coding.value} data in the body are cut short")


async def compressed(coding: Coding, parts: Sequence[bytes | memoryview], length: int) -> bytes:
    """All parts, compressed; many of them on another thread."""

    def compress() -> bytes:
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, coding.window_bits)
        return b"".join([*map(compressor.compress, parts), compressor.flush()])

    return compress() if length <= _IN_PLACE else await in_background(compress)
