"""KServe's HTTP protocol, as Triton speaks it, for a server of this process: an ASGI application (extra `http`)."""

from __future__ import annotations

from .._limits import Limits

try:
    from ._application import create_app
except ModuleNotFoundError as _error:
    if (_error.name or "").partition(".")[0] != "starlette":
        raise
    raise ModuleNotFoundError(
        "triton_inprocess.asgi needs starlette: python -m pip install 'triton-inprocess[http]'", name=_error.name
    ) from None

__all__ = ["Limits", "create_app"]
