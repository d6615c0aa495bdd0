"""`make test-runtimes`: which runtimes it takes, and that no failure gets lost in its summary."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROJECT

from triton_inprocess import _installer

pytestmark = pytest.mark.skipif(not _installer.known_versions(), reason="there is no runtime for this machine")

tool = pytest.importorskip("tools.runtimes", reason="the tools are in the project's folder alone")

TESTS = """
import pytest

def test_good(): pass
def test_good_too(): pass
def test_bad(): assert False
def test_none(): pytest.skip("none")
@pytest.fixture
def broken(): raise RuntimeError
def test_error(broken): pass
@pytest.mark.xfail
def test_expected(): assert False
"""


def test_every_version_can_be_fetched_and_the_newest_is_the_default() -> None:
    assert {(version, "x86_64") for version in tool.VERSIONS} <= set(_installer.PINS)
    assert tool.VERSIONS[-1] == _installer.DEFAULT_VERSION


def test_versions_are_chosen_by_name_and_by_age() -> None:
    everything = tool.fetchable()
    assert tool.chosen([]) == everything
    assert tool.chosen(["newest", "oldest"]) == list(dict.fromkeys([everything[0], everything[-1]]))
    assert tool.chosen([everything[-1], "newest"]) == [everything[-1]]
    with pytest.raises(SystemExit, match=r"1\.2\.3: not among oldest, newest, "):
        tool.chosen(["1.2.3"])


def test_only_the_newest_runs_with_every_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(tool.PYTHONS, "/some/python")
    environments = {version: tool.environment_for(version, tmp_path) for version in tool.fetchable()}
    assert [version for version, each in environments.items() if tool.PYTHONS in each] == [tool.fetchable()[-1]]
    assert {each["TRITON_INPROCESS_RUNTIME"] for each in environments.values()} == {str(tmp_path)}


def test_tests_are_counted_from_the_report(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", "-c", os.devnull, "test_some.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 1, result.stdout
    assert tool.counts_of(report) == (2, 2, 2)


@pytest.mark.parametrize(
    ("outcome", "good"),
    [
        (tool.Outcome("1", "1.1", 0, 60.5, passed=3, skipped=1), True),
        (tool.Outcome("1", "1.1", 1, 60.5, passed=3, failed=1), False),
        (tool.Outcome("1", "1.1", -11, 60.5), False),  # a crash leaves no report
        (tool.Outcome("1", "1.1", 5, 60.5), False),  # no tests
    ],
    ids=["good", "failed", "crashed", "empty"],
)
def test_any_failure_fails_the_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outcome: tool.Outcome, good: bool
) -> None:
    well = tool.Outcome("2", "1.2", 0, 1, passed=7)
    outcomes = iter([outcome, *[well] * (len(tool.fetchable()) - 1)])
    monkeypatch.setattr(tool, "fetch", lambda version: PROJECT)
    monkeypatch.setattr(tool, "run", lambda *arguments: next(outcomes))
    monkeypatch.setattr(sys, "argv", ["runtimes.py", "--", "-q"])
    assert tool.main() == (0 if good else 1)
    text = capsys.readouterr().out
    assert ("FAILED" in text) is not good
    assert "1:00" in text
