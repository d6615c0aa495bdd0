"""What becomes of models while they are loaded, told as the model index changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ._background import BackgroundCall
from ._stopping import model_index
from .errors import TritonError

if TYPE_CHECKING:
    from ._capi_server import TRITONSERVER_Server

__all__ = ["LoadProgress", "Progress"]

Progress = Callable[[str, int, str, str], object]

_LOOK = 0.02  # seconds between two looks at the index

_State = tuple[str, str]


class LoadProgress:
    """Loads models on threads of their own and meanwhile calls `progress(name, version, state, reason)` on this one."""

    def __init__(self, progress: Progress) -> None:
        """Check the callback; raises TypeError for one that is none."""
        if not callable(progress):
            raise TypeError(f"progress must be callable or None, not {type(progress).__name__}")
        self._progress = progress
        self._known: dict[tuple[str, int], _State] = {}
        self._told: set[str] = set()
        self._error: Exception | None = None
        self.interrupted = False

    def load(self, server: TRITONSERVER_Server, name: str, load: Callable[[], None]) -> None:
        """Load one model by `load`; raises what that raises."""
        self._known = _states(server)
        (call,) = self._watch(server, [load])
        for (each, version), (state, reason) in _states(server).items():
            if each == name and name not in self._told:  # it was loaded again, too fast to be seen
                self._tell(name, version, state, reason)
        try:
            if self._error is not None:
                raise self._error
        except Exception:
            call.result()  # what the load raises goes first, and has the callback's error as its context
        else:
            call.result()

    def load_startup_models(self, server: TRITONSERVER_Server, startup: Sequence[str], thread_count: int) -> None:
        """Load the models, or all of the index for "*". Whether one failed is to be seen in the index."""
        everything = "*" in startup
        waiting = [entry["name"] for entry in model_index(server)] if everything else []
        waiting += [name for name in startup if name != "*"]
        waiting = list(dict.fromkeys(waiting))

        def load() -> None:
            while waiting:
                with contextlib.suppress(IndexError, TritonError):
                    server._load_first(waiting.pop(0))

        try:
            self._watch(server, [load] * min(len(waiting), max(1, thread_count)))
        finally:
            waiting.clear()

    def raise_error(self) -> None:
        """Raise what the callback has raised."""
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # it holds this frame

    def _watch(
        self, server: TRITONSERVER_Server, functions: Sequence[Callable[[], None]]
    ) -> list[BackgroundCall[None]]:
        calls = [BackgroundCall(function) for function in functions]
        try:
            for call in calls:
                call.start()
            for call in calls:
                while not call.wait(_LOOK):
                    self._look(server)
            self._look(server)
        except BaseException:
            self.interrupted = True
            raise
        return calls

    def _look(self, server: TRITONSERVER_Server) -> None:
        for (name, version), state in _states(server).items():
            if self._known.get((name, version)) != state:
                self._known[name, version] = state
                self._tell(name, version, *state)

    def _tell(self, name: str, version: int, state: str, reason: str) -> None:
        self._told.add(name)
        if self._error is not None:
            return
        try:
            self._progress(name, version, state, reason)
        except Exception as error:
            self._error = error


def _states(server: TRITONSERVER_Server) -> dict[tuple[str, int], _State]:
    try:
        index = model_index(server)
    except TritonError:  # the callback has stopped the server
        return {}
    return {
        (entry["name"], int(entry.get("version", -1))): (entry["state"], entry.get("reason", ""))
        for entry in index
        if entry.get("state")
    }
