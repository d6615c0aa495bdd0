"""``models list``, ``config``, ``metadata`` and ``statistics``: what is in a model repository."""

from __future__ import annotations

import contextlib
import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import TritonError
from ..model import Model
from .targets import Backends, FromModule, ModelName, Repositories, model_opened, opened

__all__ = ["app"]

app: typer.Typer = typer.Typer(help="Look at the models of a repository or of a module.", no_args_is_help=True)

Version = Annotated[int, typer.Option(help="The version; -1 is the latest that is served.")]


@app.command(name="list")
def list_models(
    model_repository: Repositories = None,
    from_module: FromModule = None,
    backend_directory: Backends = None,
    load: Annotated[bool, typer.Option("--load", help="Load every model first, and say what became of it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the models, their versions and states. Exit status 1: with --load, one of them could not be loaded."""
    with opened(from_module, model_repository, backend_directory) as server:
        if load:
            for name in sorted({each.name for each in server.models().values()}):
                _try_to_load(server.model(name))
        entries = [
            {"name": model.name, "version": model.version, "state": model.state, "reason": model.reason or None}
            for key, model in server.models().items()
            if not isinstance(key, str)
        ]
    if as_json:
        typer.echo(json.dumps(entries, indent=2))
    else:
        Console().print(_table(entries))
    if load and any(entry["state"] != "READY" for entry in entries):
        raise typer.Exit(1)


@app.command()
def config(
    name: ModelName,
    model_repository: Repositories = None,
    from_module: FromModule = None,
    backend_directory: Backends = None,
    version: Version = -1,
) -> None:
    """Print a model's configuration, as Triton completed it, as JSON."""
    with model_opened(name, version, from_module, model_repository, backend_directory) as model:
        _print(model.config())


@app.command()
def metadata(
    name: ModelName,
    model_repository: Repositories = None,
    from_module: FromModule = None,
    backend_directory: Backends = None,
    version: Version = -1,
) -> None:
    """Print the names, types and shapes of a model's inputs and outputs, as JSON."""
    with model_opened(name, version, from_module, model_repository, backend_directory) as model:
        _print(model.metadata())


@app.command()
def statistics(
    name: ModelName,
    model_repository: Repositories = None,
    from_module: FromModule = None,
    backend_directory: Backends = None,
    version: Version = -1,
) -> None:
    """Print Triton's counts and durations for a model, as JSON: after loading, of its warm-up alone."""
    with model_opened(name, version, from_module, model_repository, backend_directory) as model:
        _print(model.statistics())


def _try_to_load(model: Model) -> None:
    if model.server.models()[model.name].state == "READY":
        return  # a module has added it
    with contextlib.suppress(TritonError):  # the list says what became of it, and why
        model.server.load(model.name)


def _print(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, indent=2))


def _table(entries: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("model", "version", "state", "reason"):
        table.add_column(title, overflow="fold")
    for entry in entries:
        version = "" if entry["version"] < 0 else str(entry["version"])
        state = entry["state"] or "not loaded"
        table.add_row(Text(entry["name"]), version, state.lower(), Text(entry["reason"] or ""))
    return table
