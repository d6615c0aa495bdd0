"""What a model's object is told when it begins."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["InstanceContext"]


@dataclass(frozen=True)
class InstanceContext:
    """What `initialize(context)` of a model's object is called with.

    Attributes:
        model: Name of the model.
        version: Its version.
        instance: Name of the instance, as Triton calls it; of the first one for an object that all instances share.
        instances: How many there are.
    """

    model: str
    version: int
    instance: str
    instances: int
