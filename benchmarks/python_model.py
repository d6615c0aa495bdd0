"""The same inferences through this package."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import triton_inprocess as ti

from .errors import BenchmarkError
from .measurement import Measurement
from .repository import ELEMENT_COUNT, INPUT_NAME, MODEL_NAME, OUTPUT_NAME

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class PythonModel:
    """A model of a running server, called by way of `Model.infer` and `Model.async_infer`."""

    name: str
    model: ti.Model
    array: FloatArray
    input_name: str
    output_name: str

    def check(self) -> None:
        """Raises BenchmarkError unless the model answers once, with what it was sent."""
        answers = [
            response.outputs[self.output_name].numpy()
            for response in self.model.infer(inputs={self.input_name: self.array})
        ]
        if len(answers) != 1 or not np.array_equal(answers[0], self.array):
            raise BenchmarkError(f"'{self.name}' does not answer with its input: {answers}")

    def seconds(self, measurement: Measurement, inferences: int) -> float:
        """The time that so many inferences take, in seconds."""
        if measurement.kind == "latency":
            return self._one_at_a_time(inferences)
        return asyncio.run(self._in_flight(measurement.in_flight, inferences))

    def _one_at_a_time(self, inferences: int) -> float:
        model, array, input_name, output_name = self.model, self.array, self.input_name, self.output_name
        start = time.perf_counter()
        for _ in range(inferences):
            for response in model.infer(inputs={input_name: array}):
                response.outputs[output_name].numpy()
        return time.perf_counter() - start

    async def _in_flight(self, in_flight: int, inferences: int) -> float:
        turns = iter(range(inferences))  # shared: whoever is ready takes the next one, as the floor does
        start = time.perf_counter()
        await asyncio.gather(*(self._worker(turns) for _ in range(in_flight)))
        return time.perf_counter() - start

    async def _worker(self, turns: Iterator[int]) -> None:
        model, array, input_name, output_name = self.model, self.array, self.input_name, self.output_name
        for _ in turns:
            async for response in model.async_infer(inputs={input_name: array}):
                response.outputs[output_name].numpy()


def _echo(x: FloatArray) -> FloatArray:
    return x


def python_models(server: ti.Server) -> list[PythonModel]:
    """The C++ identity model of the repository, and a Python function that does the same, on a running server."""
    array = np.arange(ELEMENT_COUNT, dtype=np.float32)
    function = server.add_model(
        _echo,
        name="echo",
        inputs=[ti.TensorSpec("x", ti.DataType.FP32, (ELEMENT_COUNT,))],
        outputs=[ti.TensorSpec("y", ti.DataType.FP32, (ELEMENT_COUNT,))],
    )
    models = [
        PythonModel("C++ model", server.model(MODEL_NAME), array, INPUT_NAME, OUTPUT_NAME),
        PythonModel("Python function", function, array, "x", "y"),
    ]
    for model in models:
        model.check()
    return models
