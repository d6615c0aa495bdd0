"""Requests that a model gets before its callers'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._checks import check_integer

__all__ = ["WarmUp"]


@dataclass(frozen=True)
class WarmUp:
    """A request that Triton sends to each instance before the model is ready; one that fails, fails the load.

    Attributes:
        inputs: An input each: an array, or anything else that can become a tensor. With a batch dimension it is that
            of one sample, without the dimension.
        batch_size: How often the sample is repeated along the batch dimension.
        count: How many times the request is sent. More than 1 needs C API 1.19.
        name: What Triton's log calls it.
    """

    inputs: Mapping[str, Any]
    batch_size: int = 1
    count: int = 1
    name: str = "warm-up"

    def __post_init__(self) -> None:
        """Check the fields; raises TypeError or ValueError naming the one that is wrong."""
        if not isinstance(self.inputs, Mapping):
            raise TypeError(f"inputs of a WarmUp must be a dict, not {type(self.inputs).__name__}")
        check_integer("batch_size", self.batch_size, 1, 2**31 - 1)
        check_integer("count", self.count, 1, 2**32 - 1)
        if not isinstance(self.name, str):
            raise TypeError(f"name of a WarmUp must be a str, not {type(self.name).__name__}")
