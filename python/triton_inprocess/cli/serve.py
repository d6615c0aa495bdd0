"""``serve``: models of a Python module, or of a model repository, on the network."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from .._load_module import found_in_module, load_module
from ..errors import InvalidArgumentError, TritonError
from ..server import Server
from .runtime import errors_reported

__all__ = ["serve"]

_TARGET = (
    "module:name of a Server, or of a function that is called with a Server and adds models to it. The current folder "
    "is looked in first."
)


def serve(  # noqa: PLR0917 - typer's options
    target: Annotated[str | None, typer.Argument(help=_TARGET, show_default=False)] = None,
    http: Annotated[str, typer.Option(help="host:port, or a port of the loopback interface.")] = "127.0.0.1:8000",
    metrics: Annotated[
        str | None, typer.Option(help="host:port of their own for the metrics.", show_default=False)
    ] = None,
    model_repository: Annotated[
        list[Path] | None, typer.Option(help="A folder of models; may be given several times.", show_default=False)
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with the bearer token that every request must bring.", show_default=False),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="A PEM file, for TLS.", show_default=False)] = None,
    private_key: Annotated[Path | None, typer.Option(help="The PEM file of its key.", show_default=False)] = None,
    allow_model_control: Annotated[bool, typer.Option("--allow-model-control")] = False,
    allow_model_upload: Annotated[bool, typer.Option("--allow-model-upload")] = False,
    allow_shared_memory: Annotated[bool, typer.Option("--allow-shared-memory")] = False,
    allow_log_settings: Annotated[bool, typer.Option("--allow-log-settings")] = False,
    access_log: Annotated[bool, typer.Option(help="Whether to write a line for each request.")] = True,
) -> None:
    """Serve models by HTTP (KServe's protocol) until Ctrl-C or SIGTERM, then answer what was accepted and end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("triton_inprocess.access").setLevel(logging.INFO if access_log else logging.WARNING)
    if target is None and not model_repository:
        raise typer.BadParameter("give module:name, or --model-repository")
    found = _found(target) if target is not None else None
    ended = threading.Event()
    _end_at_signals(ended)
    with errors_reported():
        try:
            token = token_file.read_text(encoding="utf-8").strip() if token_file is not None else None
            with _server(target, found, model_repository or []) as server:
                serving = server.serve(
                    http if not http.isdigit() else int(http),
                    metrics=metrics if metrics is None or not metrics.isdigit() else int(metrics),
                    token=token,
                    certificate=certificate,
                    private_key=private_key,
                    allow_model_control=allow_model_control,
                    allow_model_upload=allow_model_upload,
                    allow_shared_memory=allow_shared_memory,
                    allow_log_settings=allow_log_settings,
                )
                typer.echo(f"serving at {serving.url}", err=True)
                while not ended.wait(1.0):
                    if not serving.running:
                        raise typer.Exit(1)
        except ModuleNotFoundError as error:
            if error.name not in ("starlette", "uvicorn"):
                raise
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from None
        except (TypeError, ValueError) as error:
            if isinstance(error, TritonError):
                raise
            raise typer.BadParameter(str(error)) from None


def _end_at_signals(ended: threading.Event) -> None:
    def end(number: int, frame: FrameType | None) -> None:
        ended.set()
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _found(target: str) -> Any:
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        return found_in_module(target)
    except InvalidArgumentError as error:
        raise typer.BadParameter(str(error)) from None


def _server(target: str | None, found: Any, repositories: list[Path]) -> Server:
    """A running server with the target's models."""
    if isinstance(found, Server):
        if repositories:
            raise typer.BadParameter(f"{target} is a Server, which has repositories of its own")
        return found.__enter__()
    server = Server(model_repository=list(repositories))
    return server.start() if target is None else load_module(target, server)
