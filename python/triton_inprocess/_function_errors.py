"""What Triton is told of an exception that a model's function has raised."""

from __future__ import annotations

from . import errors

__all__ = ["describe"]

_CODES: dict[type[errors.TritonError], int] = {  # TRITONSERVER_Error_Code
    errors.UnknownError: 0,
    errors.InternalError: 1,
    errors.NotFoundError: 2,
    errors.InvalidArgumentError: 3,
    errors.UnavailableError: 4,
    errors.UnsupportedError: 5,
    errors.AlreadyExistsError: 6,
    errors.CancelledError: 7,
}


def describe(error: BaseException) -> tuple[int, str]:
    """The error code and the message: that of a TritonError as it is, any other with its class before it."""
    try:
        text = str(error)
    except Exception:
        text = "(an exception whose description failed, too)"
    code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), 1)
    if not isinstance(error, errors.TritonError):
        name = type(error).__name__
        text = f"{name}: {text}" if text else name
    # What is no UTF-8 (surrogates) is escaped, and a C string ends at a NUL.
    return code, text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
