"""Models of functions of `x` that return `y`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import triton_inprocess as ti

__all__ = ["ROW", "Array", "X", "Y", "add", "add_with_sum", "array"]

Array = np.ndarray[Any, Any]

X = {"x": (np.float32, (-1,))}
Y = {"y": (np.float32, (-1,))}
ROW = {"inputs": {"x": (np.float32, (1,))}, "outputs": {"y": (np.float32, (1,))}}


def array(*values: float) -> Array:
    return np.array(values, np.float32)


def add(server: ti.Server, function: Callable[..., Any], name: str = "model", **arguments: Any) -> ti.Model:
    """Add a function of `x` that returns `y`, both vectors of FP32 if nothing else is said."""
    return server.add_model(function, **{"name": name, "inputs": X, "outputs": Y, **arguments})


def add_with_sum(server: ti.Server) -> ti.Model:
    """Add a function of `x`: y is x; z is its sum."""
    outputs = {**Y, "z": (np.float32, (1,))}
    return add(server, lambda x: {"y": x, "z": x.sum(keepdims=True)}, "m", outputs=outputs)
