"""Functions as models. Read by type checkers only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import triton_inprocess as ti

Floats = npt.NDArray[np.float32]

server = ti.Server()


def double(x: Floats) -> Floats:
    return x * 2


vector = {"x": (np.float32, (-1,))}
assert_type(server.add_model(double, name="double", inputs=vector, outputs={"y": ("FP32", [-1])}), ti.Model)
server.add_model(double, name="double", inputs=[ti.TensorSpec("x", np.float32, (-1,))], batching=ti.Batching())
server.add_model(double)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
server.add_model("double", name="d")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
server.add_model(double, name="d", batching=True)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
server.add_model(double, name="d", max_batch=8)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


# The decorator leaves the function as it is.
@server.model
def plain(
    x: Annotated[Floats, ti.Spec("FP32", [-1])], *, context: ti.RequestContext
) -> Annotated[Floats, ti.Spec("FP32", [-1], name="y")]:
    assert_type(context.request_id, str)
    return x


@server.model(max_batch_size=8, batching=ti.Batching(max_queue_delay_us=100), isolate_failures=True)
def stream(x: Floats) -> Iterator[Floats]:
    yield x


@server.model(name="later", max_concurrency=4)
async def later(x: Floats) -> AsyncIterator[Floats]:
    yield x


assert_type(stream(np.zeros(3, np.float32)), Iterator[Floats])
plain(1, context=None)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
server.model(max_batch=8)  # type: ignore[call-overload] # pyright: ignore[reportCallIssue]
server.model(batching=8)  # type: ignore[call-overload] # pyright: ignore[reportArgumentType]


class Counter:
    def initialize(self, context: ti.InstanceContext) -> None:
        assert_type(context.instance, str)

    def __call__(self, requests: list[ti.FunctionRequest]) -> list[dict[str, Any] | Exception]:
        return [dict(request.inputs) for request in requests]


server.add_model(Counter, name="counter", requests=True, inputs=vector, outputs=vector)
assert_type(server.add_ensemble("both", [ti.EnsembleStep("a", inputs={"x": "x"}, outputs={"y": "y"})]), ti.Model)
server.add_ensemble("both", ["a"])  # type: ignore[list-item] # pyright: ignore[reportArgumentType]
ti.Spec("FP32")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
