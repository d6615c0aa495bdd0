"""``serve``: models of a Python module, or of a model repository, on the network."""

from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from ..errors import TritonError
from ..server import Server
from .runtime import errors_reported
from .targets import Repositories, Target, found_target, server_of

__all__ = ["serve"]


def serve(  # noqa: PLR0917 - typer's options
    target: Target = None,
    http: Annotated[str, typer.Option(help="host:port, or a port of the loopback interface.")] = "127.0.0.1:8000",
    metrics: Annotated[
        str | None, typer.Option(help="host:port of their own for the metrics.", show_default=False)
    ] = None,
    grpc: Annotated[
        str | None, typer.Option(help="host:port for gRPC, by NVIDIA's front end; CPython 3.12.", show_default=False)
    ] = None,
    engine: Annotated[str, typer.Option(help="What serves HTTP and the metrics: asgi or native.")] = "asgi",
    model_repository: Repositories = None,
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
    found = found_target(target) if target is not None else None
    ended = threading.Event()
    _end_at_signals(ended)
    with errors_reported():
        try:
            token = token_file.read_text(encoding="utf-8").strip() if token_file is not None else None
            with server_of(target, found, Server(model_repository=list(model_repository or []))) as server:
                serving = server.serve(
                    http if not http.isdigit() else int(http),
                    grpc=grpc if grpc is None or not grpc.isdigit() else int(grpc),
                    metrics=metrics if metrics is None or not metrics.isdigit() else int(metrics),
                    engine=engine,  # type: ignore[arg-type]  # checked there
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
            if error.name not in ("starlette", "uvicorn", "tritonfrontend", "pydantic"):
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
