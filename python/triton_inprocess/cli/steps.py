"""What a command is at, on the standard error: its steps, and the models that a server is loading."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

__all__ = ["Steps"]

_ENDS = {"READY", "UNAVAILABLE"}


class Steps:
    """A line for each step and each model, with a spinner and the time that it has taken.

    Where no terminal is, a step is a line that comes when it begins, and so is each change of a model.
    """

    def __init__(self, console: Console | None = None) -> None:
        """Show them on a console, by default that of the standard error."""
        self._console = console if console is not None else Console(stderr=True, highlight=False)
        self._progress = Progress(
            SpinnerColumn(finished_text="✓" if self._console.encoding.startswith("utf") else "-"),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._models: dict[tuple[str, int], TaskID] = {}

    def __enter__(self) -> Steps:
        """Begin to show."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave what was shown as it is."""
        self._progress.stop()

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[None]:
        """One step, for as long as the block takes."""
        self._print(text)
        task = self._progress.add_task(text, total=1)
        try:
            yield
        except BaseException:
            self._progress.stop_task(task)
            raise
        self._progress.update(task, completed=1)

    def model(self, name: str, version: int, state: str, reason: str) -> None:
        """What `Server.load` and `Server.start` call as their `progress`."""
        label = name if version < 0 else f"{name}, version {version}"
        text = f"model {label}: {state.lower()}" + (f" ({reason})" if reason else "")
        self._print(text)
        description = f"  {Text(text).markup}"
        if (name, version) not in self._models:
            self._models[name, version] = self._progress.add_task(description, total=1)
        self._progress.update(
            self._models[name, version], description=description, completed=1 if state in _ENDS else 0
        )

    def _print(self, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(Text(text))
