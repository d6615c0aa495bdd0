"""The benchmark of functions as models: it runs, and tells what is missed."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import functions
from benchmarks.functions import Line, Outcome, measure
from benchmarks.stub_model import stub_model


def outcome(ours: float, base: float, **goal: Any) -> Outcome:
    return measure(Line("line", lambda: ours, "base", lambda: base, **goal), 3)


@pytest.mark.parametrize(
    ("goal", "words", "missed"),
    [
        ({}, "", False),
        ({"most": 20}, "at most 20 µs", False),
        ({"most": 19}, "at most 19 µs", True),
        ({"most_times": 2}, "at most x 2", False),
        ({"most_times": 1.9}, "at most x 1.9", True),
        ({"least_times": 2}, "at least x 2", False),
        ({"least_times": 2.1}, "at least x 2.1", True),
    ],
)
def test_goals(goal: dict[str, Any], words: str, missed: bool) -> None:
    result = outcome(20e-6, 10e-6, **goal)
    assert (result.goal, result.missed) == (words, missed)
    assert (result.ours.median, result.base.median, result.ratio.median) == pytest.approx((20, 10, 2))


def test_rates_are_compared_as_rates() -> None:
    result = outcome(1e-3, 2e-3, unit="1/s")
    assert (result.ours.median, result.base.median, result.ratio.median) == pytest.approx((1000, 500, 2))


def test_the_first_round_does_not_count() -> None:
    seconds = itertools.chain([100.0], itertools.repeat(1.0))
    line = Line("line", lambda: next(seconds), "base", lambda: 1.0, unit="x")
    assert measure(line, 3).ours.maximum == 1


def test_it_runs(
    identity_backend: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "LARGE_ELEMENTS", 5000)
    file = tmp_path / "results.json"
    assert (
        functions.main(["--one-core", "--no-pin", "--repetitions", "1", "--inferences", "40", "--json", str(file)]) == 0
    )
    printed = capsys.readouterr().out
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert "Not measured: Triton's python backend: --stub-python names no interpreter" in printed
    assert len(results) == 9
    for each in results:
        assert each["ours"]["median"] > 0, each
        assert each["base"]["median"] > 0, each


def test_a_stub_that_cannot_start_is_said(tmp_path: Path) -> None:
    with stub_model(tmp_path / "python", tmp_path / "libtritonserver.so", tmp_path / "folder") as stub:
        assert stub.process is None
        assert "No such file or directory" in stub.missing
