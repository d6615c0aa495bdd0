"""What ``bench`` shows: a table of the loads that were measured."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .load import Level

__all__ = ["LevelsScreen"]

_REFRESH_SECONDS = 0.25
_TITLES = ("batch", "req/s", "inf/s", "p50 ms", "p90 ms", "p99 ms", "batch run", "queue ms")


class LevelsScreen:
    """The table, which grows on a terminal while it is measured and is printed at the end elsewhere."""

    def __init__(self, name: str, console: Console, quiet: bool) -> None:
        """`quiet`: nothing of it stays."""
        self.levels: list[Level] = []
        self._name = name
        self._console = console
        self._quiet = quiet
        self._live = Live(console=console, auto_refresh=False, transient=quiet)

    def __enter__(self) -> LevelsScreen:
        """Begin to show."""
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Leave the table."""
        if self._console.is_terminal:
            self._live.stop()
        elif not self._quiet and self.levels:
            self._console.print(self._shown(None))

    def add(self, level: Level) -> None:
        """Show a level that is complete."""
        self.levels.append(level)
        self._live.update(self._shown(None), refresh=True)

    async def follow(self, level: Level) -> None:
        """Show a level as it is measured, until this is cancelled."""
        while self._console.is_terminal:
            self._live.update(self._shown(level), refresh=True)
            await asyncio.sleep(_REFRESH_SECONDS)

    def _shown(self, current: Level | None) -> Group:
        levels = self.levels
        table = Table(title=Text(f"model {self._name}"), title_justify="left", box=None, pad_edge=False)
        first = levels[0] if levels else current
        kind = "sent/s" if first is not None and first.load.open else "in flight"
        for title in (kind, *_TITLES):
            table.add_column(title, justify="right")
        for level in levels:
            table.add_row(*_cells(level.row()))
        if current is not None:
            sent = f"{len(current.latencies):,} …"
            table.add_row(f"{current.load.amount:g}", str(current.load.batch_size or 1), sent)
        errors = [
            f"{each.failures} failed at {each.load.amount:g} {each.load.kind}: {each.first_error}"
            for each in levels
            if each.failures
        ]
        return Group(table, *(Text(error, style="red") for error in errors))


def _cells(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"{row['load']:g}"
    yield str(row["batch_size"])
    yield f"{row['requests_per_second']:,.0f}"
    yield f"{row['inferences_per_second']:,.0f}"
    for name in ("p50_ms", "p90_ms", "p99_ms"):
        yield _number(row[name], 3)
    yield _number(row["mean_executed_batch"], 1)
    yield _number(row["mean_queue_ms"], 3)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
