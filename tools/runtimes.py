"""Runs the tests once with each of several Triton runtimes: `runtimes.py [VERSION]... [-- PYTEST_ARGUMENT...]`.

A version is one of nvidia-pytriton, or `oldest` or `newest`; without any, all of them are run. What is not on this
machine is fetched, as `runtime install` does it. The newest runs with every Python in TRITON_INPROCESS_TEST_PYTHONS,
the others with this one alone: how a process ends with a Python has little to do with the runtime.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from dataclasses import dataclass
from pathlib import Path

from triton_inprocess import TritonError, _installer

ROOT = Path(__file__).resolve().parent.parent
#: One version of nvidia-pytriton for each C API that it has had, the oldest first.
VERSIONS = ("0.1.5", "0.3.1", "0.4.2", "0.5.0", "0.7.0")
PYTHONS = "TRITON_INPROCESS_TEST_PYTHONS"
ABOUT = """
import triton_inprocess as ti
runtime = ti.runtime.load()
print("%d.%d" % runtime.api_version, len(runtime.missing_functions))
"""


@dataclass(frozen=True)
class Outcome:
    """What a run of the tests has come to."""

    version: str
    api_version: str
    status: int
    seconds: float
    passed: int = 0
    skipped: int = 0
    failed: int = 0

    @property
    def good(self) -> bool:
        """Whether every test has passed, and there were tests."""
        return self.status == 0 and self.passed > 0 and self.failed == 0


def fetchable() -> list[str]:
    """The versions that there are for this machine, the oldest first."""
    known = _installer.known_versions()
    return [version for version in VERSIONS if version in known]


def chosen(names: list[str]) -> list[str]:
    """The versions that are meant, in the order of their age."""
    versions = fetchable()
    if not versions:
        raise SystemExit("there is no runtime for this machine")
    meant = {{"oldest": versions[0], "newest": versions[-1]}.get(name, name) for name in names}
    unknown = sorted(meant.difference(versions))
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: not among oldest, newest, {', '.join(versions)}")
    return [version for version in versions if not names or version in meant]


def fetch(version: str) -> Path:
    """The folder of a runtime, which is fetched unless it is there."""
    try:
        return _installer.install(version, report=lambda text: print(text, flush=True)).path
    except (TritonError, OSError) as error:
        raise SystemExit(f"error: {error}") from None


def environment_for(version: str, runtime: Path) -> dict[str, str]:
    """The environment of a run."""
    environment = {**os.environ, "TRITON_INPROCESS_RUNTIME": str(runtime)}
    if version != fetchable()[-1]:
        environment.pop(PYTHONS, None)
    return environment


def about(environment: dict[str, str]) -> tuple[str, str]:
    """The C API of the runtime, and how many functions it lacks: asked of a process that loads it."""
    command = [sys.executable, "-c", ABOUT]
    answer = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    api_version, missing = answer.split()
    return api_version, missing


def run(version: str, heading: str, runtime: Path, arguments: list[str]) -> Outcome:
    """Run the tests with one runtime."""
    environment = environment_for(version, runtime)
    api_version, missing = about(environment)
    title = f" {heading}: nvidia-pytriton {version}, C API {api_version}, {missing} functions missing "
    print(f"\n{title:=^100}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *arguments]
        begin = time.monotonic()
        status = subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode
        seconds = time.monotonic() - begin
        # A run that died has written none.
        counts = counts_of(report) if report.exists() else (0, 0, 0)
    return Outcome(version, api_version, status, seconds, *counts)


def counts_of(report: Path) -> tuple[int, int, int]:
    """How many tests have passed, were skipped and have failed, in a report of pytest."""
    passed = skipped = failed = 0
    for test in xml.etree.ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in test}
        if kinds & {"failure", "error"}:
            failed += 1
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return passed, skipped, failed


def summary(outcomes: list[Outcome]) -> str:
    """A line for each runtime."""
    lines = [f"{'runtime':8} {'C API':>6} {'passed':>7} {'skipped':>8} {'failed':>7} {'time':>7}"]
    for each in outcomes:
        time_taken = f"{int(each.seconds // 60)}:{int(each.seconds % 60):02}"
        verdict = "" if each.good else f"  FAILED (pytest ended with status {each.status})"
        lines.append(
            f"{each.version:8} {each.api_version:>6} {each.passed:7} {each.skipped:8} {each.failed:7} {time_taken:>7}"
            + verdict
        )
    return "\n".join(lines)


def main() -> int:
    """Run them all, however early something fails."""
    names = sys.argv[1:]
    arguments: list[str] = []
    if "--" in names:
        names, arguments = names[: names.index("--")], names[names.index("--") + 1 :]
    versions = chosen(names)
    runtimes = {version: fetch(version) for version in versions}
    outcomes = [
        run(version, f"{number} of {len(versions)}", runtimes[version], arguments)
        for number, version in enumerate(versions, start=1)
    ]
    print(f"\n{' the same wheel with every runtime ':=^100}\n\n{summary(outcomes)}")
    return 0 if all(outcome.good for outcome in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
