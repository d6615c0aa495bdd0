"""Sets of properties that the C API passes as bits."""

from __future__ import annotations

import enum

__all__ = [
    "InferenceTraceLevel",
    "ModelBatchFlag",
    "ModelIndexFlag",
    "ModelTxnPropertyFlag",
    "RequestFlag",
    "RequestReleaseFlag",
    "ResponseCompleteFlag",
]


class _Flag(enum.IntFlag):
    def __str__(self) -> str:
        """The names as Triton spells them, joined by "|"; the number where a bit has none."""
        names = [member.name for member in type(self) if member.value and member & self and member.name is not None]
        known = sum(member.value for member in type(self) if member.value & self.value)
        if not self.value:
            return next((name for name, member in type(self).__members__.items() if not member.value), "0")
        return "|".join(names) if known == self.value else str(int(self))


class InferenceTraceLevel(_Flag):
    """What a trace tells of (TRITONSERVER_InferenceTraceLevel)."""

    DISABLED = 0
    MIN = 1
    MAX = 2
    TIMESTAMPS = 4
    TENSORS = 8


class RequestFlag(_Flag):
    """Where in its sequence a request is (TRITONSERVER_RequestFlag)."""

    SEQUENCE_START = 1
    SEQUENCE_END = 2


class RequestReleaseFlag(_Flag):
    """What a release means (TRITONSERVER_RequestReleaseFlag)."""

    ALL = 1
    RESCHEDULE = 2


class ResponseCompleteFlag(_Flag):
    """What follows a response (TRITONSERVER_ResponseCompleteFlag)."""

    FINAL = 1


class ModelBatchFlag(_Flag):
    """How a model batches (TRITONSERVER_ModelBatchFlag)."""

    UNKNOWN = 1
    FIRST_DIM = 2


class ModelIndexFlag(_Flag):
    """What an index holds (TRITONSERVER_ModelIndexFlag)."""

    READY = 1


class ModelTxnPropertyFlag(_Flag):
    """How a model responds (TRITONSERVER_ModelTxnPropertyFlag)."""

    ONE_TO_ONE = 1
    DECOUPLED = 2
