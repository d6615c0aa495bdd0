"""Names for types that signatures use more than once."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Array", "ObjectArray"]

Array = np.ndarray[Any, np.dtype[Any]]
ObjectArray = np.ndarray[Any, np.dtype[np.object_]]
