"""An array of each of Triton's types that NumPy has, with what is at the edge of it."""

from __future__ import annotations

import numpy as np

__all__ = ["TYPES"]

TYPES = {
    "BOOL": np.array([True, False, True]),
    "UINT8": np.array([0, 255], np.uint8),
    "UINT16": np.array([0, 65535], np.uint16),
    "UINT32": np.array([0, 2**32 - 1], np.uint32),
    "UINT64": np.array([0, 2**64 - 1], np.uint64),
    "INT8": np.array([-128, 127], np.int8),
    "INT16": np.array([-(2**15), 2**15 - 1], np.int16),
    "INT32": np.array([-(2**31), 2**31 - 1], np.int32),
    "INT64": np.array([-(2**63), 2**63 - 1], np.int64),
    "FP16": np.array([1.5, -65504, 6e-8], np.float16),
    "FP32": np.array([0.1, -3e38, 1e-45], np.float32),
    "FP64": np.array([0.1, -1e308, 5e-324], np.float64),
    "BYTES": np.array([b"a", b"", "ä".encode(), b"x" * 1000], np.object_),
}
