"""What Triton is told of an exception that a model's function has raised."""

from __future__ import annotations

from . import errors

__all__ = ["describe"]


def describe(error: BaseException) -> tuple[int, str]:
    """The error code and the message: that of a TritonError as it is, any other with its class before it."""
    try:
        text = str(error)
    except Exception:
        text = "(an exception whose description failed, too)"
    if not isinstance(error, errors.TritonError):
        name = type(error).__name__
        text = f"{name}: {text}" if text else name
    # What is no UTF-8 (surrogates) is escaped, and a C string ends at a NUL.
    return errors.code_of(error), text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
