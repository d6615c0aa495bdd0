"""The results as a table, and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from .environment import Environment
from .measurement import Measurement, Quantity
from .results import Cell, Results, Summary


def print_table(results: Results, subjects: Sequence[str], title: str, console: Console) -> None:
    """Prints one line per quantity that one of these subjects has, with what each is beside the base."""
    table = Table(title=title, show_lines=True)
    table.add_column("median\n(min-max)", no_wrap=True)
    for subject in (results.base, *subjects):
        table.add_column(subject, justify="right", no_wrap=True)
    for measurement, quantity in results.rows():
        cells = [results.cell(subject, measurement, quantity) for subject in subjects]
        if any(cells):
            base = results.cell(results.base, measurement, quantity)
            table.add_row(row_title(measurement, quantity), *(cell_text(cell) for cell in (base, *cells)))
    console.print(table)


def print_environment(environment: Environment, console: Console) -> None:
    """Prints how the results came about, and which peers are missing."""
    lines = environment.lines() + [
        f"Not measured: {name}: {reason}" for name, reason in environment.missing_peers.items()
    ]
    console.print("\n".join(lines), style="dim", highlight=False, soft_wrap=True, markup=False)


def row_title(measurement: Measurement, quantity: Quantity) -> str:
    """The quantity in words with its unit and what it is compared with, if that is not the floor."""
    base = "" if measurement.base == "the floor" else f"\nfirst: {measurement.base}"
    sense = "more is better" if quantity.unit.more_is_better else "less is better"
    return f"{quantity.title}\n({quantity.unit.text}, {sense}){base}"


def cell_text(cell: Cell | None) -> str:
    """The value and what it is beside the base; missed goals stand out."""
    if cell is None:
        return ""
    lines = ["\n".join(_lines(cell.summary, cell.quantity.unit.digits))]
    if cell.comparison is not None:
        median, extremes = _lines(cell.comparison, 2)
        sign = {"ratio": "x ", "difference": "+ "}[cell.measurement.comparison]
        lines.append(f"[bold]{sign}{median}[/] {extremes}")
    return "\n".join(lines)


def goal_text(cell: Cell) -> str:
    """What is good enough, in words, and whether it was reached; empty where there is no goal."""
    goal = cell.quantity.goal
    if goal is None:
        return ""
    bound = "at least" if cell.quantity.unit.more_is_better else "at most"
    sign = "+ " if cell.measurement.comparison == "difference" and goal.of == "comparison" else "x "
    return f"{bound} {sign}{goal.limit:g}: {'missed' if cell.missed else 'reached'}"


def as_document(results: Results, environment: Environment) -> dict[str, Any]:
    """The environment and, per quantity and subject, values and summaries."""
    return {"environment": asdict(environment), "results": [_entry(cell) for cell in results.cells()]}


def as_json(results: Results, environment: Environment) -> str:
    """The same as text."""
    return json.dumps(as_document(results, environment), indent=2) + "\n"


def _entry(cell: Cell) -> dict[str, Any]:
    comparison = cell.comparison
    return {
        "measurement": cell.measurement.name,
        "quantity": cell.quantity.title,
        "unit": cell.quantity.unit.text,
        "more_is_better": cell.quantity.unit.more_is_better,
        "subject": cell.subject,
        "base": cell.measurement.base,
        "summary": asdict(cell.summary),
        "comparison": None if comparison is None else {"kind": cell.measurement.comparison, **asdict(comparison)},
        "goal": None if cell.quantity.goal is None else cell.quantity.goal.limit,
        "values": list(cell.values),
    }


def _lines(summary: Summary, digits: int) -> tuple[str, str]:
    median, minimum, maximum = (f"{value:,.{digits}f}" for value in (summary.median, summary.minimum, summary.maximum))
    return median, f"({minimum}-{maximum})"
