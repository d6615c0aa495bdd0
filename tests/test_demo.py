"""The demo: the numbers it prints are right, and it fails when an answer is wrong."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import triton_inprocess as ti

pytest.importorskip("sklearn")
pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from triton_inprocess.cli import demo
from triton_inprocess.cli.app import app
from triton_inprocess.cli.plots import plot_demo

REQUESTS = 899
LOAD_HALVES = demo.load_halves
IN_FLIGHT = 64


def value(output: str, name: str) -> str:
    """What stands behind a name in the printed results."""
    match = re.search(rf"^{re.escape(name)}  +(.*?) *$", output, re.MULTILINE)
    assert match is not None, output
    return match.group(1)


def _first(digits: demo.Digits, count: int) -> demo.Digits:
    return demo.Digits(digits.images[:count], digits.labels[:count])


def charted(output: str) -> dict[int, tuple[int, str]]:
    """The bar chart: executions and bar by batch size."""
    chart = output.partition("batches that Triton formed")[2]
    rows = re.findall(r"^ +(\d+) +(\d+)  (\S+) *$", chart, re.MULTILINE)
    return {int(size): (int(executions), bar) for size, executions, bar in rows}


@pytest.fixture(scope="module")
def output(runtime: ti.runtime.Runtime) -> str:
    """What the demo prints where no terminal is."""
    result = subprocess.run(
        [sys.executable, "-m", "triton_inprocess", "demo"],
        env={
            **os.environ,
            "TRITON_INPROCESS_RUNTIME": str(runtime.path),
            "COLUMNS": "100",
            "PYTHONIOENCODING": "utf-8",
        },
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    steps = ["training a classifier", "starting Triton", "loading the classifier", "classifying"]
    assert sorted(map(result.stderr.index, steps)) == list(map(result.stderr.index, steps))
    assert "100%" in result.stderr
    return result.stdout


def test_every_answer_is_that_of_a_direct_call(output: str) -> None:
    assert value(output, "requests") == f"{REQUESTS}, one image each, {IN_FLIGHT} in flight"
    assert value(output, "agreement with direct calls") == "100.00%"


def test_accuracy_is_the_classifiers(output: str) -> None:
    seen, unseen = demo.load_halves()
    answers = demo.train(seen).predict(unseen.images.reshape(REQUESTS, -1))
    assert value(output, "accuracy") == f"{np.mean(answers == unseen.labels):.2%}"


def test_latencies_and_rate_fit_together(output: str) -> None:
    median, p95, p99 = map(float, value(output, "latency p50 / p95 / p99").removesuffix(" ms").split(" / "))
    assert 0 < median <= p95 <= p99
    rate = float(value(output, "requests per second").replace(",", ""))
    # At least half of the requests took the median: so many, with so many in flight, take at least this long.
    shortest = REQUESTS / 2 * (median - 0.01) / 1e3 / IN_FLIGHT
    assert 0 < rate <= REQUESTS / shortest


def test_chart_holds_every_request(output: str) -> None:
    chart = charted(output)
    assert sum(size * executions for size, (executions, _) in chart.items()) == REQUESTS
    assert list(chart) == sorted(chart)
    assert max(chart) > 1, "Triton joined no requests"


def test_bars_are_as_long_as_their_numbers(output: str) -> None:
    chart = charted(output)
    most = max(executions for executions, _ in chart.values())
    for executions, bar in chart.values():
        assert len(bar) == pytest.approx(40 * executions / most, abs=1)


def test_output_is_plain_text_without_a_terminal(output: str) -> None:
    assert "\x1b" not in output


@pytest.mark.usefixtures("runtime")
def test_a_wrong_answer_fails_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    serve = demo.serve

    def serve_zeros(server: ti.Server, classifier: Any) -> ti.Model:
        del classifier
        zeros: Any = SimpleNamespace(predict=lambda images: np.zeros(len(images), np.int64))
        return serve(server, zeros)

    monkeypatch.setattr(demo, "serve", serve_zeros)
    monkeypatch.setenv("COLUMNS", "100")
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 1
    assert float(value(result.stdout, "agreement with direct calls").removesuffix("%")) < 50
    assert "answers differ" in result.stdout


def test_the_results_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot_demo(tmp_path / "demo.png", {1: 3, 32: 20}, [0.5, 1.5, 2.0])
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("runtime")
def test_a_picture_that_cannot_be_written_fails_the_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo, "load_halves", lambda: tuple(_first(half, 40) for half in LOAD_HALVES()))
    result = CliRunner().invoke(app, ["demo", "--plot", str(tmp_path / "demo.unknown")])
    assert result.exit_code == 1
    assert "agreement with direct calls  100.00%" in result.stdout
    assert "error: --plot" in result.stderr
    assert "unknown" in result.stderr


def test_no_runtime_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INPROCESS_RUNTIME", "/nowhere")
    result = subprocess.run(
        [sys.executable, "-m", "triton_inprocess", "demo"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert "'/nowhere' does not exist" in result.stderr


class SlowModel:
    """Answers each image with its first pixel, and remembers how many requests were in flight at once."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.most_in_flight = 0

    async def async_infer(self, inputs: Mapping[str, Any]) -> AsyncIterator[Any]:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0.01)
        self.in_flight -= 1
        label = inputs["image"][:, 0, :1]
        yield SimpleNamespace(outputs={"label": SimpleNamespace(numpy=lambda: label)})


def test_client_keeps_to_its_limit_and_measures_each_request() -> None:
    model: Any = SlowModel()
    images = np.arange(20, dtype=np.float32).repeat(64).reshape(20, 8, 8)
    answered: list[None] = []
    traffic = asyncio.run(demo.send(model, images, 5, lambda: answered.append(None)))
    assert traffic.labels.tolist() == list(range(20))
    assert len(answered) == 20
    assert model.most_in_flight == 5
    # Waiting for one's turn is not part of it: four turns of 10 ms, of which each request sees its own.
    assert traffic.seconds >= 0.039
    assert (traffic.latencies >= 0.009).all()
    assert np.median(traffic.latencies) < traffic.seconds / 2
