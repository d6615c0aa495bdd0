"""Whose code runs: what a Triton Python model does not say when it calls another model, or loads one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import ref

from ._model_servers import servers
from .errors import InvalidArgumentError, UnavailableError

if TYPE_CHECKING:
    from .server import Server

__all__ = ["ModelContext", "current_context", "current_server", "running_in"]


@dataclass(frozen=True)
class ModelContext:
    """The model whose code runs, and its server."""

    server: ref[Server]
    model: str
    version: int
    directory: str


_current: ContextVar[ModelContext | None] = ContextVar("triton_inprocess_model", default=None)


@contextlib.contextmanager
def running_in(context: ModelContext) -> Iterator[None]:
    """The model's code runs meanwhile, on this thread and in the asyncio tasks that it starts."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)


def current_context() -> ModelContext | None:
    """The model whose code this is; None on threads of its own, and elsewhere."""
    return _current.get()


def current_server() -> Server:
    """The server of the model whose code this is.

    On a thread of the model's own, which does not tell, it is the only server of the process. Raises UnavailableError
    when the server is gone, and InvalidArgumentError when there are several to choose from, or none.
    """
    context = _current.get()
    if context is not None:
        server = context.server()
        if server is None:
            raise UnavailableError(f"the server of model {context.model!r} is gone")
        return server
    running = list(servers.values())
    if len(running) != 1:
        raise InvalidArgumentError(
            f"pb_utils is to ask a server for a model, and {len(running)} are there: on a thread of the model's own it "
            "cannot tell which one. Make the InferenceRequest in initialize or execute, or run the thread in a copy of "
            "their context (contextvars.copy_context)"
        )
    return running[0]
