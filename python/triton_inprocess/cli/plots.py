"""What ``--plot`` draws; matplotlib is imported for that alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["PlotOption", "plot_demo", "plot_levels", "require_matplotlib"]

PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE.png", help="Draw the results, too (needs matplotlib).", show_default=False),
]


def require_matplotlib(file: Path | None) -> None:
    """Ends the command before its work is done where `--plot` could not be followed."""
    if file is None:
        return
    try:
        import matplotlib.figure as _  # noqa: F401
    except ModuleNotFoundError:
        typer.echo("error: --plot needs matplotlib: python -m pip install matplotlib", err=True)
        raise typer.Exit(1) from None
    if not file.absolute().parent.is_dir():
        raise typer.BadParameter(f"--plot: there is no folder {str(file.absolute().parent)!r}")


def plot_demo(file: Path, batches: Mapping[int, int], milliseconds: Sequence[float]) -> None:
    """The batches that were formed, and how long the requests took."""
    import matplotlib.figure

    figure: Any = matplotlib.figure.Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.bar(list(batches), list(batches.values()))
    left.set(xlabel="batch size", ylabel="executions", title="batches that Triton formed")
    right.hist(milliseconds, bins=40)
    right.set(xlabel="latency [ms]", ylabel="requests", title="how long a request took")
    _save(figure, file)


def plot_levels(file: Path, title: str, levels: Sequence[Mapping[str, Any]]) -> None:
    """Throughput and latency over the load, a line for each batch size."""
    import matplotlib.figure

    figure: Any = matplotlib.figure.Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for size in dict.fromkeys(level["batch_size"] for level in levels):
        rows = [level for level in levels if level["batch_size"] == size]
        loads = [level["load"] for level in rows]
        left.plot(loads, [level["inferences_per_second"] for level in rows], marker="o", label=f"batch {size}")
        for percentile, style in (("p50_ms", "-"), ("p99_ms", "--")):
            values = [level[percentile] for level in rows]
            right.plot(loads, values, style, marker="o", label=f"{percentile[:3]}, batch {size}")
    for axes, label in ((left, "inferences per second"), (right, "latency [ms]")):
        axes.set(xlabel=levels[0]["load_kind"], ylabel=label)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="small")
    figure.suptitle(title, fontsize="medium")
    _save(figure, file)


def _save(figure: Any, file: Path) -> None:
    try:
        figure.savefig(file)
    except (OSError, ValueError) as error:  # such as an ending that matplotlib does not know
        typer.echo(f"error: --plot {file}: {error}", err=True)
        raise typer.Exit(1) from None
