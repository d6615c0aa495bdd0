"""Sets of properties that the C API reports as bits."""

from __future__ import annotations

import enum

__all__ = ["ModelBatchFlag", "ModelTxnPropertyFlag"]


class ModelBatchFlag(enum.IntFlag):
    """How a model batches (TRITONSERVER_ModelBatchFlag)."""

    UNKNOWN = 1
    FIRST_DIM = 2


class ModelTxnPropertyFlag(enum.IntFlag):
    """How a model responds (TRITONSERVER_ModelTxnPropertyFlag)."""

    ONE_TO_ONE = 1
    DECOUPLED = 2
