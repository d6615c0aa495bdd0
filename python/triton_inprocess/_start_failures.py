"""Whether a server has started as it was asked to, judged here and not by the library.

The library would say only in its log which model failed, and unload the others at once, which it does not always
survive (see _quiescence).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._stopping import model_index
from .errors import UnavailableError

if TYPE_CHECKING:
    from . import _native

__all__ = ["start_failures"]


def start_failures(server: _native.Server, startup_models: Iterable[str], loads_everything: bool) -> list[str]:
    """What is wrong with a server that has started; the library's `exit_on_error` is to be off.

    `startup_models` are those that were asked for by name; `loads_everything`: whether all of the repositories' models
    were.
    """
    try:
        index = model_index(server)
    except UnavailableError as error:  # the library failed before it came to the models
        return [str(error)]
    failures = [
        f"model {entry['name']!r} failed to load: {entry['reason']}"
        for entry in index
        if entry.get("state") == "UNAVAILABLE" and entry.get("reason", "") not in ("", "unloaded")
    ]
    ready = {entry["name"] for entry in index if entry.get("state") == "READY"}
    known = {entry["name"] for entry in index}
    for name in startup_models:
        if name != "*" and name not in ready and (name not in known or not failures):
            failures.append(f"model {name!r} of startup_models is not in the model repository or failed to load")
    if loads_everything:
        # Such as an ensemble of models that are not there: Triton says nothing of it in the index.
        never_tried = sorted({entry["name"] for entry in index if "state" not in entry} - ready)
        failures += [f"model {name!r} was not loaded" for name in never_tried]
    return failures if failures or server.is_ready() else ["the server is not ready"]
