"""What a classifier has found, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._native import DataType
from .errors import UnsupportedError

if TYPE_CHECKING:
    from ._native import InferenceResponse

__all__ = ["best_label"]


def best_label(response: InferenceResponse) -> str | None:
    """What InferenceResponse.classification_label is."""
    for name, labels in response.labels.items():
        tensor = response.outputs[name]
        rows = [size for size in tensor.shape if size != 1]
        if tensor.data_type is DataType.BYTES or len(rows) > 1 or 0 in rows:
            raise UnsupportedError(
                f"output {name!r} is {tensor.data_type.name} of shape {list(tensor.shape)}, of which no one class is "
                "the best: take its labels from `labels`"
            )
        values = np.asarray(tensor.to_host().tolist()).ravel() if tensor.data_type is DataType.BF16 else None
        best = int(np.argmax(tensor.to_host().numpy() if values is None else values))
        return labels[best] if best < len(labels) else ""
    return None
