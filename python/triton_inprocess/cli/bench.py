"""``bench``: how fast a model answers in this process, under one load after the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ..model import Model
from .inputs import InputOptions, given_inputs, made_inputs, parameter_values, parsed_shapes
from .levels_screen import LevelsScreen
from .load import Level, Load, Sender
from .plots import PlotOption, plot_levels, require_matplotlib
from .targets import Backends, FromModule, ModelName, Repositories, model_opened

__all__ = ["bench"]


def bench(  # noqa: PLR0917 - typer's options
    name: ModelName,
    model_repository: Repositories = None,
    from_module: FromModule = None,
    backend_directory: Backends = None,
    version: Annotated[int, typer.Option(help="The version; -1 is the latest that is served.")] = -1,
    concurrency: Annotated[
        str, typer.Option("--concurrency", "-c", help="Requests in flight, one number after the other.")
    ] = "1,4,16,64",
    request_rate: Annotated[
        str | None,
        typer.Option(help="Requests per second instead, however long the answers take.", show_default=False),
    ] = None,
    batch_size: Annotated[
        str, typer.Option("--batch-size", "-b", help="Rows of each request, one number after the other.")
    ] = "1",
    seconds: Annotated[float, typer.Option(min=0.01, help="How long each load is sent.")] = 3.0,
    warm_up: Annotated[float, typer.Option(min=0.0, help="Seconds before each that do not count.")] = 0.5,
    inputs: InputOptions = None,
    inputs_file: Annotated[
        Path | None,
        typer.Option("--inputs", help="A JSON object of inputs by name; - is the standard input.", show_default=False),
    ] = None,
    shapes: Annotated[
        list[str] | None,
        typer.Option(
            "--shape",
            metavar="NAME=SIZE,…",
            help="The shape, without the batch, of an input that is made up.",
            show_default=False,
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="A parameter of the requests.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: PlotOption = None,
) -> None:
    """Measure a model: latency and throughput for each load and batch size, in this process and without a network.

    Inputs that are not given are random. Exit status 1: a request failed.
    """
    require_matplotlib(plot)
    given = given_inputs(inputs, inputs_file)
    amounts = (
        _numbers("--concurrency", concurrency) if request_rate is None else _numbers("--request-rate", request_rate)
    )
    sizes = _numbers("--batch-size", batch_size)
    sent_shapes, sent_parameters = parsed_shapes(shapes), parameter_values(parameters)
    with model_opened(name, version, from_module, model_repository, backend_directory) as model:
        batched = int(model.config().get("max_batch_size", 0)) > 0
        if not batched and sizes != [1]:
            raise typer.BadParameter(f"--batch-size: model {name!r} takes no batches")
        if batched and given:
            sizes = _rows_given(given, sizes)
        loads = [
            Load(amount, size if batched else None, open=request_rate is not None)
            for size in sizes
            for amount in amounts
        ]
        screen = LevelsScreen(name, Console(stderr=as_json), quiet=as_json)
        with screen:
            for load in loads:
                sent = _inputs(model, given, load.batch_size, sent_shapes)
                _check(model, sent, sent_parameters)
                sender = Sender(model, sent, sent_parameters)
                screen.add(_measured(sender, load, warm_up, seconds, screen))
    rows = [level.row() for level in screen.levels]
    if as_json:
        typer.echo(json.dumps({"model": name, "levels": rows}, indent=2))
    if plot is not None:
        plot_levels(plot, f"{name}, in process", rows)
    if any(level.failures for level in screen.levels):
        raise typer.Exit(1)


def _numbers(option: str, text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"{option} must be numbers from 1 on, with commas between them, not {text!r}")
    return [int(part) for part in parts]


def _rows_given(given: Mapping[str, Any], sizes: list[int]) -> list[int]:
    """The batch size of inputs that were given, which `--batch-size` must not contradict."""
    shape = np.shape(next(iter(given.values())))
    rows = shape[0] if shape else 1
    if sizes not in ([1], [rows]):
        raise typer.BadParameter(f"--batch-size: the inputs that were given have {rows} rows")
    return [rows]


def _inputs(
    model: Model, given: Mapping[str, Any], batch_size: int | None, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Any]:
    metadata = model.metadata()
    missing = [entry for entry in metadata["inputs"] if entry["name"] not in given]
    made = made_inputs({"inputs": missing}, batch_size, shapes)
    return {**given, **made}


def _check(model: Model, inputs: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    """One request before the rest: inputs that do not fit are an error of the command, not a column of failures."""
    for response in model.infer(inputs, parameters=parameters):
        del response


def _measured(sender: Sender, load: Load, warm_up: float, seconds: float, screen: LevelsScreen) -> Level:
    async def measure() -> Level:
        if warm_up:
            await sender.send(Level(load), warm_up)
        level = Level(load)
        refreshing = asyncio.ensure_future(screen.follow(level))
        try:
            await sender.send(level, seconds)
        finally:
            refreshing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await refreshing
        return level

    return asyncio.run(measure())
