"""Whose models a command works with: those of a Python module, or of model repositories."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Annotated, Any

import typer

from .._load_module import found_in_module
from .._native import ModelControlMode
from ..errors import InvalidArgumentError, TritonError
from ..model import Model
from ..options import Options
from ..server import Server
from .runtime import errors_reported

__all__ = [
    "Backends",
    "FromModule",
    "ModelName",
    "Repositories",
    "Target",
    "found_target",
    "model_opened",
    "opened",
    "server_of",
]

_TARGET = (
    "module:name of a Server, or of a function that is called with a Server and adds models to it. The current folder "
    "is looked in first."
)

Target = Annotated[str | None, typer.Argument(help=_TARGET, show_default=False)]
FromModule = Annotated[str | None, typer.Option("--from", "-f", help=_TARGET, show_default=False)]
Repositories = Annotated[
    list[Path] | None,
    typer.Option(
        "--model-repository", "-r", help="A folder of models; may be given several times.", show_default=False
    ),
]
Backends = Annotated[
    Path | None,
    typer.Option("--backend-directory", help="Backends beside the runtime's: a folder of each.", show_default=False),
]
ModelName = Annotated[str, typer.Argument(help="The model's name.", show_default=False)]


@contextlib.contextmanager
def opened(
    target: str | None, repositories: list[Path] | None, backends: Path | None, *names: str
) -> Generator[Server]:
    """A running server with the target's models, or with those models of the repositories that are named.

    What the user can mend is reported as `errors_reported` does, and so are the errors of the block.
    """
    if target is None and not repositories:
        raise typer.BadParameter("give --model-repository, or --from module:name")
    found = found_target(target) if target is not None else None
    options = Options(
        model_repository=list(repositories or []),
        model_control_mode=ModelControlMode.EXPLICIT,
        startup_models=[] if target is not None else list(names),
        backend_directory=backends,
        # Nobody reads them, and Triton's look for a GPU's ends in an error message where there is none.
        metrics=False,
    )
    with errors_reported():
        try:
            with server_of(target, found, Server(options)) as server:
                yield server
        except (TypeError, ValueError) as error:
            if isinstance(error, TritonError):
                raise
            raise typer.BadParameter(str(error)) from None


@contextlib.contextmanager
def model_opened(
    name: str, version: int, target: str | None, repositories: list[Path] | None, backends: Path | None
) -> Generator[Model]:
    """A model that is ready, of a server that runs as long as the block."""
    with opened(target, repositories, backends, name) as server:
        models = server.models()
        if name not in models:
            known = ", ".join(sorted({each.name for each in models.values()})) or "none"
            typer.echo(f"error: there is no model {name!r}; there are: {known}", err=True)
            raise typer.Exit(1)
        if models[name].state != "READY":
            server.load(name)
        yield server.model(name, version)


def found_target(target: str) -> Server | Callable[[Server], Any]:
    """The Server or function at `module:name`; the current folder is looked in first."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        return found_in_module(target)
    except InvalidArgumentError as error:
        raise typer.BadParameter(str(error)) from None


def server_of(target: str | None, found: Server | Callable[[Server], Any] | None, server: Server) -> Server:
    """A running server with the target's models: the target itself, or `server`."""
    if isinstance(found, Server):
        if server.options.model_repository:
            raise typer.BadParameter(f"{target} is a Server, which has repositories of its own")
        return found.__enter__()
    server.start()
    if found is None:
        return server
    try:
        found(server)
    except BaseException:
        server.stop()
        raise
    return server
