"""Errors of Triton Python models."""

from __future__ import annotations

from typing import Final

from . import errors
from ._checks import check_integer

__all__ = ["TritonError", "TritonModelException"]


class TritonModelException(Exception):
    """What the functions of `pb_utils` raise; a model that raises it fails its requests with the message."""


class TritonError:
    """An error that a response carries (TRITONSERVER_Error). It is no exception: hand it to an InferenceResponse."""

    UNKNOWN: Final = 0
    INTERNAL: Final = 1
    NOT_FOUND: Final = 2
    INVALID_ARG: Final = 3
    UNAVAILABLE: Final = 4
    UNSUPPORTED: Final = 5
    ALREADY_EXISTS: Final = 6
    CANCELLED: Final = 7

    __slots__ = ("_code", "_message")

    def __init__(self, message: str, code: int = 1) -> None:
        """An error with a message and one of the codes of this class.

        Raises TypeError for a message that is no str or a code that is no int, ValueError for another code.
        """
        if not isinstance(message, str):
            raise TypeError(f"message must be a str, not {type(message).__name__}")
        check_integer("code", code, self.UNKNOWN, self.CANCELLED)
        self._message: str = message
        self._code: int = code

    def code(self) -> int:
        """The code."""
        return self._code

    def message(self) -> str:
        """The message."""
        return self._message

    def __str__(self) -> str:
        """The message."""
        return self._message

    def __repr__(self) -> str:
        """Message and code."""
        return f"TritonError({self._message!r}, {self._code})"

    def _exception(self) -> errors.TritonError:
        return errors.class_of(self._code)(self._message)

    @classmethod
    def _of(cls, error: BaseException) -> TritonError:
        return cls(str(error), errors.code_of(error))
