"""A step of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ._checks import check_integer

__all__ = ["EnsembleStep"]


@dataclass(frozen=True)
class EnsembleStep:
    """One model of an ensemble, and the tensors of the ensemble that it reads and writes.

    Attributes:
        model: Name of the model.
        inputs: Each of its inputs, and the tensor of the ensemble that it gets.
        outputs: Its outputs, and how the ensemble calls them; those that are left out are not used.
        version: Its version; -1 for the latest that is served.
    """

    model: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    version: int = -1

    def __post_init__(self) -> None:
        """Check the fields; raises TypeError or ValueError naming the one that is wrong."""
        if not isinstance(self.model, str):
            raise TypeError(f"model of an EnsembleStep must be a name, not {type(self.model).__name__}")
        for argument, names in (("inputs", self.inputs), ("outputs", self.outputs)):
            if not isinstance(names, Mapping):
                raise TypeError(f"{argument} of an EnsembleStep must be a dict, not {type(names).__name__}")
            for name, tensor in names.items():
                if not isinstance(name, str) or not isinstance(tensor, str):
                    raise TypeError(f"{argument} of an EnsembleStep must map str to str, not {name!r} to {tensor!r}")
            if not names:
                raise ValueError(f"{argument} of the EnsembleStep of model {self.model!r} must not be empty")
        check_integer("version", self.version, -1, 2**63 - 1)
