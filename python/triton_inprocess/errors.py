"""The exceptions: one class per error code of Triton's C API, all under TritonError."""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "CancelledError",
    "FunctionTraceback",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "TritonError",
    "UnavailableError",
    "UnknownError",
    "UnsupportedError",
]


class TritonError(Exception):
    """Base of every error that Triton or this package reports."""


class UnknownError(TritonError):
    """An error of no known kind (TRITONSERVER_ERROR_UNKNOWN)."""


class InternalError(TritonError):
    """Something went wrong inside Triton, a backend or a model (TRITONSERVER_ERROR_INTERNAL)."""


class NotFoundError(TritonError, LookupError):
    """What was named does not exist (TRITONSERVER_ERROR_NOT_FOUND)."""


class InvalidArgumentError(TritonError, ValueError):
    """An argument is wrong (TRITONSERVER_ERROR_INVALID_ARG)."""


class UnavailableError(TritonError):
    """What was asked for exists, but not now: a stopped server, a full queue (TRITONSERVER_ERROR_UNAVAILABLE)."""


class UnsupportedError(TritonError, NotImplementedError):
    """What was asked for cannot be done here (TRITONSERVER_ERROR_UNSUPPORTED)."""


class AlreadyExistsError(TritonError):
    """What was to be made is there already (TRITONSERVER_ERROR_ALREADY_EXISTS)."""


class CancelledError(TritonError):
    """The request was cancelled (TRITONSERVER_ERROR_CANCELLED)."""


class FunctionTraceback(Exception):
    """The traceback of a model's function that has failed in this process: the `__cause__` of the error it led to.

    It is text, so that no frame of the function lives on. What the function has raised is the last line.

    Attributes:
        text: The traceback, as Python prints it.
    """

    def __init__(self, text: str) -> None:
        """Made where a response's error is."""
        super().__init__(text)
        self.text: str = text

    def __str__(self) -> str:
        """The traceback, on lines of its own."""
        return f'\n"""\n{self.text.rstrip()}\n"""'


_CODES: dict[type[TritonError], int] = {  # TRITONSERVER_Error_Code
    UnknownError: 0,
    InternalError: 1,
    NotFoundError: 2,
    InvalidArgumentError: 3,
    UnavailableError: 4,
    UnsupportedError: 5,
    AlreadyExistsError: 6,
    CancelledError: 7,
}


def class_of(code: int) -> type[TritonError]:
    """The exception for a TRITONSERVER_Error_Code."""
    return next((kind for kind, each in _CODES.items() if each == code), UnknownError)


def code_of(error: BaseException) -> int:
    """The TRITONSERVER_Error_Code that an exception means: INTERNAL for one that is none of Triton's."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), 1)
