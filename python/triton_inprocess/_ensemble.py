"""The configuration of an ensemble, derived from its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._checks import check_integer
from ._model_config import merged, to_text
from .batching import MAXIMUM_BATCH
from .ensemble_step import EnsembleStep
from .function_model import check_name
from .tensor_spec import TensorSpecs, to_specs

__all__ = ["ensemble_config"]

_Config = Mapping[str, Any]


def ensemble_config(
    name: str,
    steps: Sequence[EnsembleStep],
    *,
    inputs: TensorSpecs | None,
    outputs: TensorSpecs | None,
    max_batch_size: int | None,
    config: _Config | None,
    config_of: Callable[[str, int], _Config],
) -> str:
    """config.pbtxt of an ensemble; raises TypeError or ValueError naming the argument, or the step."""
    check_name(name)
    if isinstance(steps, (str, bytes, Mapping)) or not isinstance(steps, Sequence):
        raise TypeError(f"steps must be a list of EnsembleSteps, not {type(steps).__name__}")
    for step in steps:
        if not isinstance(step, EnsembleStep):
            raise TypeError(f"steps must hold EnsembleSteps, not {type(step).__name__}")
    if not steps:
        raise ValueError("steps must not be empty")
    if config is not None and not isinstance(config, Mapping):
        raise TypeError(f"config must be a dict or None, not {type(config).__name__}")
    tensors = _Tensors(steps)
    if inputs is None or outputs is None or max_batch_size is None:
        tensors.describe(steps, config_of)
    size = tensors.batch_size() if max_batch_size is None else max_batch_size
    check_integer("max_batch_size", size, 0, MAXIMUM_BATCH)
    result: dict[str, Any] = {
        "name": name,
        "platform": "ensemble",
        "max_batch_size": size,
        "input": _declared("inputs", inputs, tensors.read_only, tensors, size),
        "output": _declared("outputs", outputs, tensors.unread, tensors, size),
        "ensemble_scheduling": {
            "step": [
                {
                    "model_name": step.model,
                    "model_version": step.version,
                    "input_map": dict(step.inputs),
                    "output_map": dict(step.outputs),
                }
                for step in steps
            ]
        },
    }
    return to_text(merged(result, config or {}))


class _Tensors:
    """The tensors of an ensemble: who writes and who reads them, and what they are."""

    def __init__(self, steps: Sequence[EnsembleStep]) -> None:
        written: list[str] = []
        read: list[str] = []
        for step in steps:
            written += step.outputs.values()
            read += [tensor for tensor in step.inputs.values() if tensor not in read]
        twice = sorted({tensor for tensor in written if written.count(tensor) > 1})
        if twice:
            raise ValueError(f"steps write {twice[0]!r} more than once")
        self.read_only = [tensor for tensor in read if tensor not in written]
        self.unread = [tensor for tensor in written if tensor not in read]
        if not self.read_only:
            raise ValueError("steps read nothing that no other step writes: the ensemble would have no input")
        if not self.unread:
            raise ValueError("steps write nothing that no other step reads: the ensemble would have no output")
        self.known: dict[str, tuple[str, list[int], int]] = {}  # data type, dims, max_batch_size of the model
        self._sizes: list[int] = []

    def describe(self, steps: Sequence[EnsembleStep], config_of: Callable[[str, int], _Config]) -> None:
        """Look at the models' configurations."""
        for step in steps:
            config = config_of(step.model, step.version)
            size = int(config.get("max_batch_size", 0))
            self._sizes.append(size)
            for kind, names in (("input", step.inputs), ("output", step.outputs)):
                entries = {entry["name"]: entry for entry in config.get(kind, [])}
                for name, tensor in names.items():
                    if name not in entries:
                        raise ValueError(
                            f"model {step.model!r} has no {kind} {name!r}, it has {', '.join(map(repr, entries))}"
                        )
                    entry = entries[name]
                    self.known.setdefault(tensor, (entry["data_type"], [int(size) for size in entry["dims"]], size))

    def batch_size(self) -> int:
        """The largest batch that every step takes; 0 when one of them has no batch dimension."""
        return min(self._sizes)

    def entry(self, tensor: str, batch_size: int) -> dict[str, Any]:
        """A tensor as the configuration has it."""
        data_type, dims, size = self.known[tensor]
        return {"name": tensor, "data_type": data_type, "dims": [-1, *dims] if size > 0 and batch_size == 0 else dims}


def _declared(
    argument: str, specs: TensorSpecs | None, names: list[str], tensors: _Tensors, batch_size: int
) -> list[dict[str, Any]]:
    if specs is None:
        return [tensors.entry(name, batch_size) for name in names]
    declared = to_specs(argument, specs)
    if not declared:
        raise ValueError(f"{argument} must not be empty")
    return [spec.config() for spec in declared]
