"""What comes before a stop, so that it is immediate and safe."""

from __future__ import annotations

import contextlib
import math
import time

from . import _native
from ._messages import list_of, object_of
from ._quiescence import wait_for_triton_threads
from .errors import TritonError

__all__ = ["UNLOAD_GRACE", "dependents_of", "model_index", "prepare_stop", "unloaded", "unloading"]

UNLOAD_GRACE = 0.5  # seconds that unloading may take where the exit timeout is shorter
_POLL = 0.001


def model_index(server: _native.Server, flags: int = 0) -> list[dict[str, str]]:
    """The models of a server (TRITONSERVER_ServerModelIndex)."""
    return list_of(server.model_index(flags))


def unloaded(entry: dict[str, str]) -> bool:
    """Whether an entry of the index is that of a model that is not there."""
    return entry.get("state", "UNAVAILABLE") == "UNAVAILABLE"


def dependents_of(server: _native.Server, name: str) -> set[str]:
    """The models that a loaded ensemble is made of, directly or by way of others; none for any other model."""
    found: set[str] = set()
    names = [name]
    while names:
        try:
            config = object_of(server.model_config(names.pop(), -1, 1))
        except TritonError:  # it is not loaded
            continue
        steps = {step["model_name"] for step in config.get("ensemble_scheduling", {}).get("step", [])}
        names += steps - found
        found |= steps
    return found


def unloading(server: _native.Server, names: set[str]) -> bool:
    """Whether one of these models is on its way out."""
    return any(entry["name"] in names and entry.get("state") == "UNLOADING" for entry in model_index(server))


def prepare_stop(server: _native.Server, explicit: bool, deadline: float, exit_timeout: int) -> None:
    """Close a server to requests, and leave the library as little to wait for as can be until the deadline.

    The library's own stop looks only once a second whether requests and models are gone, and unloads models whose
    threads may still be busy (see _quiescence). `explicit`: whether the models can be unloaded before.
    `exit_timeout`: the seconds that the library's own stop may take as it is.
    """
    if not server.stop_accepting(deadline - time.monotonic()):
        return  # a model is still being loaded: nothing can be unloaded
    while server.use_count and time.monotonic() < deadline:
        time.sleep(_POLL)
    if explicit:
        with contextlib.suppress(TritonError):  # whatever stays is for the library's own stop
            _unload_all(server, deadline)
    left = max(0, math.ceil(deadline - time.monotonic()))
    if left != exit_timeout:
        # The library need not wait for as long again, if it can be told so.
        with contextlib.suppress(TritonError):
            server.set_exit_timeout(left)
    wait_for_triton_threads()


def _unload_all(server: _native.Server, deadline: float) -> None:
    """Unload every model of a server in explicit mode, and wait for that."""
    staying = set()
    for name in _present(server):
        try:
            server.unload_model(name)
        except TritonError:  # it is for the library's own stop, and not waited for here
            staying.add(name)
    while time.monotonic() < deadline and not _present(server) <= staying:
        time.sleep(_POLL)


def _present(server: _native.Server) -> set[str]:
    """The models that are loaded, being loaded or being unloaded."""
    statistics = object_of(server.model_statistics("", -1))
    # The index lacks those whose repository was unregistered, the statistics those that are on their way.
    names = {entry["name"] for entry in statistics["model_stats"]}
    return names | {entry["name"] for entry in model_index(server) if not unloaded(entry)}
