"""The results, for people and for programs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from .measurement import Measurement
from .results import Results, Summary


@dataclass(frozen=True)
class Environment:
    """Under what circumstances the results came about."""

    python: str
    runtime: str
    api_version: str
    pinned_to_core: int | None
    inferences: int
    repetitions: int

    @property
    def pinning(self) -> str:
        """The pinning in words."""
        if self.pinned_to_core is None:
            return "not pinned: wake-ups between cores are included, and vary"
        return f"floor and Python both pinned to core {self.pinned_to_core}"


def print_table(results: Results, environment: Environment, console: Console) -> None:
    """Prints one line per measurement, with each subject's ratio to the floor."""
    table = Table(title="16 floats in and out, Python beside the C API (the floor)", show_lines=True)
    table.add_column("median\n(min-max)")
    for subject in results.subjects:
        ratio = "" if subject == results.floor else "\ntimes the floor"
        table.add_column(f"{subject}{ratio}", justify="right", no_wrap=True)
    for measurement in results.measurements:
        cells = [_cell(results, subject, measurement) for subject in results.subjects]
        table.add_row(measurement.title, *cells)
    console.print(table)
    console.print(
        f"Medians and extremes of {environment.repetitions} repetitions of {environment.inferences:,} inferences, "
        f"interleaved; {environment.pinning}.\n"
        "Latency: less is better. Requests/s: more is better. Python's latency includes the NumPy output.\n"
        f"Python {environment.python}, Triton C API {environment.api_version}, {environment.runtime}",
        style="dim",
        highlight=False,
        soft_wrap=True,
    )


def print_json(results: Results, environment: Environment) -> None:
    """Prints one JSON object: the environment and, per measurement and subject, values and summaries."""
    document = {
        "environment": asdict(environment),
        "results": [
            {
                "measurement": measurement.kind,
                "in_flight": measurement.in_flight,
                "unit": "microseconds" if measurement.kind == "latency" else "inferences per second",
                "subject": subject,
                "summary": asdict(results.summary(subject, measurement)),
                "ratio_to_floor": asdict(results.ratio(subject, measurement)),
                "values": results.values[subject, measurement],
            }
            for measurement in results.measurements
            for subject in results.subjects
        ],
    }
    print(json.dumps(document, indent=2))


def _cell(results: Results, subject: str, measurement: Measurement) -> str:
    digits = 1 if measurement.kind == "latency" else 0
    lines = [*_lines(results.summary(subject, measurement), digits)]
    if subject != results.floor:
        median, extremes = _lines(results.ratio(subject, measurement), 2)
        lines.append(f"[bold]x {median}[/] {extremes}")
    return "\n".join(lines)


def _lines(summary: Summary, digits: int) -> tuple[str, str]:
    median, minimum, maximum = (f"{value:,.{digits}f}" for value in (summary.median, summary.minimum, summary.maximum))
    return median, f"({minimum}-{maximum})"
