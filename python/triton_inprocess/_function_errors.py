"""What Triton is told of an exception that a model's function has raised."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType

from . import errors

__all__ = ["describe"]

_PACKAGE = str(Path(__file__).parent)
_LONGEST = 64 << 10  # characters of a traceback: its middle is left out beyond that


def describe(error: BaseException) -> tuple[int, str, str]:
    """The error code, the message and the traceback of an exception.

    The message is that of a TritonError as it is, any other with its class before it. The traceback is empty when
    nobody's code but this package's was involved.
    """
    try:
        text = str(error)
    except Exception:
        text = "(an exception whose description failed, too)"
    if not isinstance(error, errors.TritonError):
        name = type(error).__name__
        text = f"{name}: {text}" if text else name
    return errors.code_of(error), _plain(text), _plain(_traceback_of(error))


def _traceback_of(error: BaseException) -> str:
    frames = _users_frames(error.__traceback__)
    if frames is None:
        return ""
    try:
        lines = traceback.format_exception(type(error), error, frames)
    except Exception:  # its description failed, or that of what it was caused by
        lines = ["Traceback (most recent call last):\n", *traceback.format_tb(frames), f"{type(error).__name__}\n"]
    text = "".join(lines)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"
    return text


def _users_frames(frames: TracebackType | None) -> TracebackType | None:
    """Without the outermost frames that are this package's own."""
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        frames = frames.tb_next
    return frames


def _plain(text: str) -> str:
    """What is no UTF-8 (surrogates) is escaped, and a C string ends at a NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
