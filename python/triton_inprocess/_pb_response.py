"""Responses of Triton Python models, and of models that they ask."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ._pb_error import TritonError
from ._pb_tensor import Tensor

__all__ = ["InferenceResponse", "checked_parameters"]

Parameters = Mapping[str, "str | int | bool | float"]


class InferenceResponse:
    """A response: outputs, or an error."""

    __slots__ = ("_error", "_outputs", "_parameters")

    def __init__(
        self,
        output_tensors: Sequence[Tensor] | None = None,
        error: TritonError | None = None,
        parameters: Parameters | None = None,
    ) -> None:
        """A response of outputs, or an error, in which case nobody sees the outputs.

        Raises TypeError for what is none of these, and ValueError for two outputs of one name.
        """
        outputs = list(output_tensors or ())
        for each in outputs:
            if not isinstance(each, Tensor):
                raise TypeError(f"output_tensors must hold pb_utils.Tensor objects, not {type(each).__name__}")
        names = [each.name() for each in outputs]
        if len(set(names)) != len(names):
            raise ValueError(f"output_tensors has two of one name: {names}")
        if error is not None and not isinstance(error, TritonError):
            raise TypeError(f"error must be a pb_utils.TritonError or None, not {type(error).__name__}")
        self._outputs: list[Tensor] = outputs
        self._error: TritonError | None = error
        self._parameters: dict[str, str | int | bool | float] = checked_parameters(parameters)

    def output_tensors(self) -> list[Tensor]:
        """The outputs; empty for an error."""
        return self._outputs

    def has_error(self) -> bool:
        """Whether it is an error."""
        return self._error is not None

    def error(self) -> TritonError | None:
        """The error, or None."""
        return self._error

    def parameters(self) -> str:
        """The parameters, as the text of a JSON object."""
        return json.dumps(self._parameters)


def checked_parameters(parameters: object) -> dict[str, str | int | bool | float]:
    """The parameters of a request or response as a dict; TypeError or ValueError for what Triton cannot send."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise TypeError(f"parameters must be a dict or None, not {type(parameters).__name__}")
    for name, value in parameters.items():
        if not isinstance(name, str):
            raise TypeError(f"each name in parameters must be a str, not {type(name).__name__}")
        if not isinstance(value, (str, int, float)):
            raise TypeError(f"parameters[{name!r}] must be a str, int, bool or float, not {type(value).__name__}")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError(f"parameters[{name!r}] must fit into 64 bits, not {value}")
    return dict(parameters)
