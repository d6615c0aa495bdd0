"""The results as a picture; matplotlib is imported for that alone."""

from __future__ import annotations

from pathlib import Path

from .errors import BenchmarkError
from .results import Cell, Results

_INCHES_PER_BAR = 0.22
_BAR_HEIGHT = 0.8


def write_plot(results: Results, title: str, file: Path) -> None:
    """Draws how many times the base each subject is, with the extremes, on a logarithmic axis."""
    try:
        import matplotlib.figure
    except ImportError as error:
        raise BenchmarkError(f"--plot needs matplotlib ({error}); get it by: pip install matplotlib") from error
    rows = [row for row in results.rows() if row[0].comparison == "ratio"]
    subjects = results.subjects[1:]
    if not rows or not subjects:
        raise BenchmarkError("--plot: nothing was measured that is a multiple of the floor")
    height = 2 + len(rows) * len(subjects) * _INCHES_PER_BAR
    figure = matplotlib.figure.Figure(figsize=(9, height), layout="constrained")
    axes = figure.subplots()
    for number, subject in enumerate(subjects):
        cells = [results.cell(subject, *row) for row in rows]
        _draw(axes, cells, number, len(subjects), subject)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("times the floor (log scale; of rates more is better, of times less)")
    axes.set_yticks(range(len(rows)), [f"{quantity.title} [{quantity.unit.text}]" for _, quantity in rows])
    axes.invert_yaxis()
    axes.set_title(title, fontsize="small")
    axes.legend()
    figure.savefig(file)


def _draw(axes: object, cells: list[Cell | None], number: int, subjects: int, name: str) -> None:
    places, medians, below, above = [], [], [], []
    height = _BAR_HEIGHT / subjects
    for row, cell in enumerate(cells):
        if cell is not None and cell.comparison is not None:
            summary = cell.comparison
            places.append(row - _BAR_HEIGHT / 2 + (number + 0.5) * height)
            medians.append(summary.median)
            below.append(summary.median - summary.minimum)
            above.append(summary.maximum - summary.median)
    axes.barh(places, medians, height, xerr=[below, above], label=name)  # type: ignore[attr-defined]
