"""Servers: their options, their models, their metrics. Read by type checkers only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typing_extensions import assert_type

import triton_inprocess as ti

server = ti.Server(model_repository=Path("models"), log_verbose=1, gpu_metrics=False)
assert_type(server.options, ti.Options)
assert_type(server.start(), ti.Server)
ti.Server(ti.Options(exit_timeout=3))
ti.Server(model_repository=[Path("a"), Path("b")])
ti.Server(model_repositories="models")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
ti.Server(exit_timeout="long")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
ti.Server(model_control_mode="explicit")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

with server as entered:
    assert_type(entered, ti.Server)


async def in_a_loop() -> None:
    async with server as entered:
        assert_type(entered, ti.Server)


assert_type(server.metadata(), dict[str, Any])
assert_type(server.models(), dict[str | tuple[str, int], ti.Model])
assert_type(server.load("m", config={"backend": "identity"}), ti.Model)
server.load("m", files={"1/model": "text"})  # type: ignore[dict-item] # pyright: ignore[reportArgumentType]

assert_type(server.metrics(), str)
assert_type(server.metrics(ti.MetricFormat.PROMETHEUS), str)
assert_type(server.metrics(parsed=True), ti.MetricsReport)
server.metrics(parsed=1)  # type: ignore[call-overload] # pyright: ignore[reportCallIssue, reportArgumentType]

serving = server.serve(8000, token="secret")
assert_type(serving, ti.Serving)
assert_type(serving.url, str)
server.serve(engine="apache")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

family = ti.MetricFamily(ti.MetricKind.COUNTER, "n_total", "How many.")
ti.Metric(family, {"camera": "north"}).increment(1)
ti.MetricFamily("counter", "n_total", "How many.")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

assert_type(ti.runtime.find(), Path)
assert_type(ti.runtime.load().api_version, tuple[int, int])
