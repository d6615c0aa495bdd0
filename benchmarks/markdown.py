"""The results as a Markdown table between two markers of a document, so that they are easy to refresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .environment import Environment
from .errors import BenchmarkError
from .report import goal_text
from .results import Cell, Results, Summary

BEGIN = "<!-- benchmarks: begin -->"
END = "<!-- benchmarks: end -->"


def write_between_markers(file: Path, text: str) -> None:
    """Puts the text in place of what stands between the markers; raises BenchmarkError where they are not."""
    try:
        document = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BenchmarkError(f"--markdown {file}: {error.strerror}") from error
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BenchmarkError(f"--markdown {file}: expected a line '{BEGIN}' and after it a line '{END}'")
    file.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def as_markdown(results: Results, environment: Environment, goals_of: str) -> str:
    """A table with a line for each quantity; the goals are set beside what the subject `goals_of` has reached."""
    subjects = results.subjects
    lines = [_line(["", *subjects, "goal"]), _line([":--", *("--:" for _ in subjects), ":--"])]
    for measurement, quantity in results.rows():
        cells = [results.cell(subject, measurement, quantity) for subject in subjects]
        if any(cells):
            named = f"{quantity.title} ({quantity.unit.text})"
            base = "" if measurement.base == "the floor" else f"; first: {measurement.base}"
            judged = results.cell(goals_of, measurement, quantity)
            pinned = environment.pinned_to_core is not None
            goal = goal_text(judged) if judged is not None and pinned else ""
            lines.append(_line([f"{named}{base}", *map(_cell, cells), goal]))
    return "\n".join([*lines, "", *_notes(environment)]) + "\n"


def _notes(environment: Environment) -> Iterator[str]:
    command, *others = environment.lines()
    yield f"{command.replace('Command: ', 'Command: `')}`"
    for line in others:
        yield ""
        yield line


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    text = _numbers(cell.summary, cell.quantity.unit.digits)
    if cell.comparison is None:
        return text
    sign = {"ratio": "x ", "difference": "+ "}[cell.measurement.comparison]
    return f"{text}<br>**{sign}{cell.comparison.median:,.2f}** ({_range(cell.comparison, 2)})"


def _numbers(summary: Summary, digits: int) -> str:
    return f"{summary.median:,.{digits}f} ({_range(summary, digits)})"


def _range(summary: Summary, digits: int) -> str:
    return f"{summary.minimum:,.{digits}f}-{summary.maximum:,.{digits}f}"
