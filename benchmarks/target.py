"""A model of a running server, and what is sent to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import triton_inprocess as ti

from .errors import BenchmarkError

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Target:
    """A model that answers with what it is sent, and an array for it."""

    model: ti.Model
    array: FloatArray
    input_name: str
    output_name: str

    @property
    def inputs(self) -> dict[str, FloatArray]:
        """The inputs of one request."""
        return {self.input_name: self.array}

    def check(self) -> None:
        """Raises BenchmarkError unless the model answers once, with what it was sent."""
        answers = [response.outputs[self.output_name].numpy() for response in self.model.infer(self.inputs)]
        if len(answers) != 1 or not np.array_equal(answers[0], self.array):
            raise BenchmarkError(f"model '{self.model.name}' does not answer with its input: {answers}")
