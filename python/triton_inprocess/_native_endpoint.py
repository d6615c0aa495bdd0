"""What NVIDIA's front end can be told, and what it cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._access import Access, access_of
from ._limits import Limits
from ._native_listener import NativeListener, front_end_class
from .errors import UnsupportedError
from .serving import bind

if TYPE_CHECKING:
    from .serving import Listener, Wanted

__all__ = ["native_openers"]

_APART = "an endpoint that is to have it is opened by a call of serve of its own, with http= and engine='asgi'"


def native_openers(kinds: list[str], wanted: Wanted) -> dict[str, Callable[[str | int], Listener]]:
    """What opens addresses of each kind ("http", "grpc", "metrics"); raises for what would not be heeded."""
    limits = wanted.limits if wanted.limits is not None else Limits()
    if not isinstance(limits, Limits):
        raise TypeError(f"limits must be Limits, not {type(limits).__name__}")
    access = access_of(token=wanted.token, **wanted.access)
    return {kind: _opener(kind, wanted, access, limits) for kind in kinds}


def _opener(kind: str, wanted: Wanted, access: Access, limits: Limits) -> Callable[[str | int], Listener]:
    asked = "grpc" if kind == "grpc" else f"engine={wanted.engine!r}"
    front_end = front_end_class(kind, asked)
    _refuse(kind, asked, wanted, access, limits)
    files: dict[str, Any] = {}
    if kind == "grpc" and wanted.certificate is not None and wanted.private_key is not None:
        files = {"certificate": wanted.certificate, "private_key": wanted.private_key}
        for path in files.values():
            Path(path).open("rb").close()  # what cannot be read is said here, and not in a log
    return lambda address: NativeListener(
        kind,
        front_end,
        wanted.server,
        partial(bind, kind, address),
        max_in_flight=limits.max_in_flight,
        allow_model_control=access.allow_model_control,
        allow_model_upload=access.allow_model_upload,
        allow_log_settings=access.allow_log_settings,
        **files,
    )


def _refuse(kind: str, asked: str, wanted: Wanted, access: Access, limits: Limits) -> None:
    if access.token is not None:
        raise UnsupportedError(f"token: {asked} cannot ask for one; {_APART}")
    if kind != "grpc" and access.allow_origins:
        raise UnsupportedError(f"allow_origins: {asked} does not look at where a request comes from; {_APART}")
    if kind != "grpc" and wanted.certificate is not None:
        raise UnsupportedError(f"certificate: {asked} has no TLS; {_APART}")
    for field in dataclasses.fields(Limits):
        if field.name != "max_in_flight" and getattr(limits, field.name) != field.default:
            raise UnsupportedError(f"limits.{field.name}: {asked} knows no limit but max_in_flight; {_APART}")
    if kind != "metrics" and not access.allow_shared_memory:
        raise UnsupportedError(
            f"allow_shared_memory: {asked} lets every client have this process read and write shared memory of this "
            "machine, and cannot be told not to: say allow_shared_memory=True where that is no danger, or serve "
            "HTTP with engine='asgi'"
        )
