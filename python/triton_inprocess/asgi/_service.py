"""What the endpoints share: the server, and what clients may do with it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgumentError
from ..model import Model
from ..tracing import Tracing
from ._admission import Admission
from ._shared_memory import SharedMemory

if TYPE_CHECKING:
    from starlette.types import Scope

    from .._access import Access
    from .._capi_server import TRITONSERVER_Server
    from .._limits import Limits
    from ..server import Server

__all__ = ["Service"]

_MOST_MODELS = 256
_UNTRACED = nullcontext()


class Service:
    """A server as its clients see it. It may be started after this was made."""

    def __init__(self, server: Server, access: Access, limits: Limits) -> None:
        """For one application."""
        self.server = server
        self.access = access
        self.limits = limits
        self.admission = Admission(limits)
        self.memory: SharedMemory | None = SharedMemory() if access.allow_shared_memory else None
        self._native: TRITONSERVER_Server | None = None
        self._models: dict[tuple[str, int], Model] = {}

    @property
    def native(self) -> TRITONSERVER_Server:
        """The C API's server; kept, so that what was accepted is answered while the Server is being stopped."""
        if self._native is None:
            self._native = self.server.capi
        return self._native

    def model(self, name: str, version: int) -> Model:
        """The model that a path names."""
        model = self._models.get((name, version))
        if model is None:
            model = Model(self.server, name, version, native=self.native)
        return model

    def remember(self, model: Model) -> None:
        """Keep a model that has answered; names that there is nothing behind are not kept."""
        key = model.name, model.version
        if key not in self._models:
            if len(self._models) >= _MOST_MODELS:
                self._models.clear()
            self._models[key] = model

    def traced(self, scope: Scope) -> AbstractContextManager[object]:
        """What a request's headers mean to those who trace: see Tracing.headers."""
        tracing = self.server.options.trace
        headers = tracing.headers if isinstance(tracing, Tracing) else None
        if headers is None:
            return _UNTRACED
        return headers({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})

    @staticmethod
    def named(parameters: dict[str, Any]) -> tuple[str, int]:
        """Name and version (-1: the latest) in the parameters of a path."""
        return _model_name(parameters["name"]), _version(parameters.get("version"))


def _model_name(name: str) -> str:
    # The names of folders: none may lead out of the repository.
    if name in (".", "..") or any(each in name for each in "/\\\0"):
        raise InvalidArgumentError(f"{name!r} cannot be the name of a model")
    return name


def _version(text: str | None) -> int:
    if text is None:
        return -1
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidArgumentError(f"failed to get model version from specified version string {text!r:.40}")
    return int(text)
