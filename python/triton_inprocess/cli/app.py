"""The commands, put together."""

from __future__ import annotations

import typer

from . import bench, doctor, infer, models, runtime, serve
from .plots import PlotOption, require_matplotlib

__all__ = ["app"]

_DEMO_MODULES = {"sklearn", "rich"}

app: typer.Typer = typer.Typer(
    help="NVIDIA Triton Inference Server inside a Python process.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(runtime.app, name="runtime")
app.add_typer(models.app, name="models")
app.command()(infer.infer)
app.command()(bench.bench)
app.command()(doctor.doctor)
app.command()(serve.serve)


@app.command()
def demo(plot: PlotOption = None) -> None:
    """Serve a classifier of handwritten digits from this process and measure it."""
    require_matplotlib(plot)
    # Only here: the other commands do without scikit-learn.
    try:
        from .demo import run

        with runtime.errors_reported():
            run(plot)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _DEMO_MODULES:
            raise
        typer.echo(f"the demo needs {missing}: python -m pip install 'triton-inprocess[demo]'", err=True)
        raise typer.Exit(1) from None
