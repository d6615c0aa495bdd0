"""The body of a request, read into memory where its tensors can stay."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError
from ._encoding import Coding, Decompressor
from ._errors import HttpError
from ._exchange import Exchange

__all__ = ["Bytes", "parse_json", "read_body", "read_json"]

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_ALIGNMENT = 64  # of the first tensor


async def read_body(exchange: Exchange, header_length: int = 0) -> Bytes:
    """The whole body, decompressed. What comes after `header_length` bytes is aligned as tensors should be.

    Raises HttpError 413 for too large a body, 408 for one that comes too slowly, 503 where there is no room for it.
    """
    limits = exchange.limits
    coding = Coding.of(exchange.header("content-encoding"))
    length = _content_length(exchange)
    if length is not None and length > limits.max_body_bytes:
        raise HttpError(413, f"the body has {length} bytes, and {limits.max_body_bytes} is the most allowed")
    if coding is None and length is not None:
        return await _read_sized(exchange, length, header_length)
    return await _read_parts(exchange, coding, header_length)


async def read_json(exchange: Exchange) -> dict[str, Any]:
    """The body as a JSON object; none is an empty one."""
    body = await read_body(exchange)
    return parse_json(exchange, body) if len(body) else {}


def parse_json(exchange: Exchange, part: Bytes) -> dict[str, Any]:
    """A part of the body as a JSON object; raises InvalidArgumentError where it is none, HttpError 413 if too large."""
    if len(part) > exchange.limits.max_json_bytes:
        raise HttpError(
            413, f"the JSON has {len(part)} bytes, and {exchange.limits.max_json_bytes} is the most allowed"
        )
    try:
        value = json.loads(str(part.data, "utf-8"))
    except RecursionError:
        raise InvalidArgumentError("the JSON of the request is nested too deeply") from None
    except ValueError as error:  # UnicodeDecodeError is one, and so is that of a number with too many digits
        raise InvalidArgumentError(f"failed to parse the request JSON buffer: {error}") from None
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"the JSON of the request must be an object, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return {list: "an array", str: "a string", bool: "a boolean"}.get(type(value), "a number")


def _content_length(exchange: Exchange) -> int | None:
    text = exchange.header("content-length")
    if text is None:
        return 0 if exchange.body_over else None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise HttpError(400, f"Content-Length must be a number of bytes, not {text!r}")
    return int(text)


def _empty(length: int, header_length: int) -> Bytes:
    buffer = np.empty(length + _ALIGNMENT, np.uint8)
    start = -(buffer.ctypes.data + header_length) % _ALIGNMENT
    return buffer[start : start + length]


def _reserve(exchange: Exchange, byte_size: int) -> None:
    if exchange.ticket is not None:
        exchange.ticket.reserve(byte_size)


async def _read_sized(exchange: Exchange, length: int, header_length: int) -> Bytes:
    _reserve(exchange, length)
    body = _empty(length, header_length)
    deadline = _deadline(exchange)
    filled = 0
    while not exchange.body_over:
        part = await exchange.receive_part(deadline - asyncio.get_running_loop().time())
        if filled + len(part) > length:
            raise HttpError(400, f"the body has more bytes than the {length} of its Content-Length")
        body.data[filled : filled + len(part)] = part
        filled += len(part)
    if filled != length:
        raise HttpError(400, f"the body has {filled} bytes, and its Content-Length says {length}")
    return body


async def _read_parts(exchange: Exchange, coding: Coding | None, header_length: int) -> Bytes:
    most = exchange.limits.max_body_bytes
    decompressor = Decompressor(coding, most) if coding is not None else None
    deadline = _deadline(exchange)
    parts, filled, received = [], 0, 0
    while not exchange.body_over:
        part = await exchange.receive_part(deadline - asyncio.get_running_loop().time())
        received += len(part)
        if received > most:
            raise HttpError(413, f"the body has more than {most} bytes, the most allowed")
        if decompressor is not None:
            part = decompressor.feed(part)
        _reserve(exchange, 2 * len(part))  # the parts, and the whole that is made of them
        parts.append(part)
        filled += len(part)
    if decompressor is not None:
        decompressor.finish()
    body = _empty(filled, header_length)
    offset = 0
    for part in parts:
        body.data[offset : offset + len(part)] = part
        offset += len(part)
    return body


def _deadline(exchange: Exchange) -> float:
    return asyncio.get_running_loop().time() + exchange.limits.body_timeout
