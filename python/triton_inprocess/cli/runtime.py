"""``runtime install``, ``runtime list`` and ``runtime path``."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from .. import _installer
from .. import runtime as runtimes
from ..errors import TritonError

__all__ = ["app", "errors_reported"]

app: typer.Typer = typer.Typer(help="Fetch and find the Triton runtime.", no_args_is_help=True)

_VERSION_HELP = f"One of {', '.join(dict.fromkeys(version for version, _ in _installer.PINS))}."


@app.command()
def install(
    version: Annotated[str, typer.Option(help=_VERSION_HELP)] = _installer.DEFAULT_VERSION,
    dest: Annotated[
        Path | None,
        typer.Option(help="The folder to put it into; by default one in the user's cache.", show_default=False),
    ] = None,
) -> None:
    """Fetch a runtime with pip, check it, unpack it and print its folder."""
    console = Console(stderr=True)
    with errors_reported(), console.status("installing") as status:
        installation = _installer.install(version, dest, lambda text: status.update(escape(text)))
    word = "installed" if installation.fresh else "already installed"
    console.print(f"[green]runtime {installation.version} {word}[/]", highlight=False)
    # Alone on the standard output, so that a script can take it.
    typer.echo(installation.path)


@app.command(name="list")
def list_runtimes() -> None:
    """List the runtimes on this machine, the one in use first, and the versions that can be fetched."""
    with errors_reported():
        found = runtimes.installed()
    for number, each in enumerate(found):
        version = f"{each.version} " if each.version else ""
        typer.echo(f"{'*' if number == 0 else ' '} {version}{each.path}  ({each.source})")
    if not found:
        typer.echo("no runtime is installed")
    typer.echo(f"can be fetched: {', '.join(_installer.known_versions()) or 'none for this machine'}")


@app.command()
def path() -> None:
    """Print the library that is used when no path is given."""
    with errors_reported():
        typer.echo(runtimes.find())


@contextmanager
def errors_reported() -> Generator[None]:
    """Shows an error that the user can mend as its message alone, and exits with status 1."""
    try:
        yield
    except (TritonError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
