"""Whose models a command works with: those of a Python module, or of model repositories."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Annotated, Any

import typer

from .._native import ModelControlMode
from ..errors import TritonError
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


def found_target(target: str) -> Any:
    """The Server or function at `module:name`; the current folder is looked in first."""
    module_name, colon, name = target.partition(":")
    if not (module_name and colon and name):
        raise typer.BadParameter(f"the target must be module:name, not {target!r}")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise
        raise typer.BadParameter(f"there is no module {error.name!r}") from None
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise typer.BadParameter(f"module {module_name!r} has no {name!r}")
        found = getattr(found, part)
    if not (isinstance(found, Server) or callable(found)):
        raise typer.BadParameter(f"{target} is neither a Server nor a function, but a {type(found).__name__}")
    return found


def server_of(target: str | None, found: Any, server: Server) -> Server:
    """A running server with the target's models: the target itself, or `server`."""
    if isinstance(found, Server):
        if server.options.model_repository:
            raise typer.BadParameter(f"{target} is a Server, which has repositories of its own")
        return found.__enter__()
    server.start()
    if found is None:
        return server
    try:
        try:
            inspect.signature(found).bind(server)
        except TypeError:
            raise typer.BadParameter(f"{target} must take one argument, the Server to add models to") from None
        found(server)
    except BaseException:
        server.stop()
        raise
    return server
