"""Sending requests: what comes back, and which keywords there are. Read by type checkers only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import numpy as np
from typing_extensions import assert_type

import triton_inprocess as ti

server = ti.Server()
model = server.model("m")
inputs = {"x": np.zeros(3, np.float32)}

# One response, several of them, several requests; in a thread and in an event loop.
assert_type(model, ti.Model)
assert_type(model(x=[1, 2, 3]), dict[str, ti.Tensor])
assert_type(model.infer(inputs), ti.ResponseIterator)
assert_type(model.infer(inputs).result(), ti.InferenceResponse)
assert_type(model.infer(inputs=inputs, deadline=0.5).result().outputs["y"], ti.Tensor)
assert_type(model.infer_many([inputs], 8), Iterator[ti.InferenceResponse])
assert_type(model.async_infer_many([inputs], ordered=False), AsyncIterator[ti.InferenceResponse])
for response in model.infer(inputs, max_pending_responses=4):
    assert_type(response, ti.InferenceResponse)


async def in_a_loop() -> None:
    assert_type(model.async_infer(inputs), ti.AsyncResponseIterator)
    assert_type(await model.async_infer(inputs), ti.InferenceResponse)
    async for each in model.async_infer(inputs, request_id="a"):
        assert_type(each, ti.InferenceResponse)


# Every keyword is a field of InferenceRequest, of its type.
request = model.create_request(inputs=inputs, priority=1, correlation_id="s", output_memory_type="gpu:1")
assert_type(request, ti.InferenceRequest)
assert_type(model.infer(request), ti.ResponseIterator)
assert_type(model.infer(request, raise_on_error=False), ti.ResponseIterator)
model.infer(inputs, dead_line=0.5)  # type: ignore[call-overload] # pyright: ignore[reportCallIssue]
model.infer(inputs, deadline="soon")  # type: ignore[call-overload] # pyright: ignore[reportArgumentType]
model.infer(request, deadline=0.5)  # type: ignore[call-overload] # pyright: ignore[reportArgumentType]
model.infer(3)  # type: ignore[call-overload] # pyright: ignore[reportCallIssue, reportArgumentType]
model.async_infer(inputs, flag=1)  # type: ignore[call-overload] # pyright: ignore[reportCallIssue]
model.create_request(input=inputs)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
model.infer_many([inputs], inputs=inputs)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
model.infer(inputs).results()  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]

# A sequence says itself where it begins and which one it is.
with model.sequence() as sequence:
    assert_type(sequence, ti.Sequence)
    assert_type(sequence.infer(inputs, end=True, deadline=1), ti.ResponseIterator)
    sequence.infer(inputs, flags=1)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
