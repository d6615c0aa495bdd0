"""What comes before a stop, so that it is immediate."""

from __future__ import annotations

import contextlib
import json
import time

from . import _native
from ._quiescence import wait_for_triton_threads
from .errors import TritonError, UnsupportedError

__all__ = ["UNLOAD_GRACE", "model_index", "unload_all", "unloaded"]

UNLOAD_GRACE = 0.5  # seconds that unloading may take where the exit timeout is shorter
_UNLOAD_POLL = 0.001


def model_index(server: _native.Server, flags: int = 0) -> list[dict[str, str]]:
    """The models of a server (TRITONSERVER_ServerModelIndex)."""
    value = json.loads(server.model_index(flags).serialize_to_json())
    assert isinstance(value, list)
    return value


def unloaded(entry: dict[str, str]) -> bool:
    """Whether an entry of the index is that of a model that is not there."""
    return entry.get("state", "UNAVAILABLE") == "UNAVAILABLE"


def unload_all(server: _native.Server, deadline: float) -> None:
    """Unload every model of a server in explicit mode, and wait for that until the deadline (time.monotonic).

    The library looks only once a second whether the models are gone; without models it does not wait at all.
    """
    staying = set()
    for name in _present(server):
        try:
            server.unload_model(name)
        except TritonError:  # it is for the library's own stop, and not waited for here
            staying.add(name)
    while time.monotonic() < deadline:
        if _present(server) <= staying:
            wait_for_triton_threads()  # that unload what neither list has
            return
        time.sleep(_UNLOAD_POLL)
    # The time is used up: the library need not wait for as long again, if it can be told so.
    with contextlib.suppress(UnsupportedError):
        server.set_exit_timeout(0)


def _present(server: _native.Server) -> set[str]:
    """The models that are loaded, being loaded or being unloaded."""
    statistics = json.loads(server.model_statistics("", -1).serialize_to_json())
    # The index lacks those whose repository was unregistered, the statistics those that are on their way.
    names = {entry["name"] for entry in statistics["model_stats"]}
    return names | {entry["name"] for entry in model_index(server) if not unloaded(entry)}
