"""Tests a wheel where it would be used: `wheel_tests.py [WHEEL] [OPTION]... [-- PYTEST_ARGUMENT...]`.

Every Python of this machine gets a fresh environment with that very file, by default the one in dist/, and with the
lowest numpy that works there, and another with the newest; the tests of this folder run in each, with one Triton or
several (see runtimes.py). `--pythons 3.10,3.13`, `--numpy lowest` and `--runtime oldest` choose; without a
PYTEST_ARGUMENT that names files it is the whole suite.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pythons
import requirements

ROOT = Path(__file__).resolve().parent.parent
#: The first numpy that has a wheel for that Python, and is not older than the project's own lowest. A Python that is
#: not named here is too new to have an old one: it is tested with the newest alone.
LOWEST_NUMPY = {"3.10": "1.23.0", "3.11": "1.23.2", "3.12": "1.26.0", "3.13": "2.1.0", "3.14": "2.3.2"}
ABOUT = """
import numpy, sys, triton_inprocess
print(numpy.__version__)
print(triton_inprocess._native.__file__)
"""


@dataclass(frozen=True)
class Outcome:
    """What a run of the tests has come to."""

    python: str
    numpy: str
    status: int
    seconds: float


def needed_by_tests(project: dict[str, object]) -> list[str]:
    """What the tests need besides the wheel, which brings its own."""
    return [*requirements.requirements(project, "build"), *requirements.requirements(project, "dev")]


def make_environment(interpreter: str, folder: Path, wheel: Path, numpy: str) -> Path:
    """A fresh environment. Whatever is installed with the wheel must do with that numpy."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    needed = needed_by_tests(requirements.load_project())
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=numpy"]
    subprocess.run([*install, str(wheel), numpy, *needed], check=True)
    return python


def about(python: Path) -> tuple[str, Path]:
    """The numpy of an environment, and where it takes the native module from: not from this folder."""
    with tempfile.TemporaryDirectory() as elsewhere:
        answer = subprocess.run(
            [str(python), "-c", ABOUT], cwd=elsewhere, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    version, native = answer.split()
    return version, Path(native)


def run(version: str, python: Path, runtimes: list[str], arguments: list[str]) -> Outcome:
    """Run the tests in one environment, with each runtime."""
    numpy, native = about(python)
    if not native.is_relative_to(python.parent.parent):
        raise SystemExit(f"Python {version} takes {native}, which is not the wheel's")
    title = f" Python {version}, numpy {numpy} "
    print(f"\n{title:=^100}\n", flush=True)
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    # Neither the package of this folder nor another Python's environment may get in between.
    for name in "PYTHONPATH", "TRITON_INPROCESS_TEST_PYTHONS":
        environment.pop(name, None)
    command = [str(python), str(ROOT / "tools" / "runtimes.py"), *runtimes, "--", *arguments]
    begin = time.monotonic()
    status = subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode
    return Outcome(version, numpy, status, time.monotonic() - begin)


def wheel_in(dist: Path) -> Path:
    """The wheel of this machine in a folder."""
    wheels = sorted(dist.glob(f"*_{platform.machine()}.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"{dist} has {len(wheels)} wheels for this machine, not one: run 'make wheel' or name one")
    return wheels[0]


def chosen_pythons(names: str | None) -> dict[str, str]:
    """The interpreters that are meant; all that there are unless some are named."""
    found = pythons.interpreters()
    if names is None:
        return found
    missing = [name for name in names.split(",") if name not in found]
    if missing:
        raise SystemExit(f"Python {', '.join(missing)}: not on this machine, which has {', '.join(found)}")
    return {name: found[name] for name in names.split(",")}


def summary(outcomes: list[Outcome]) -> str:
    """A line for each environment."""
    lines = [f"{'Python':7} {'numpy':8} {'time':>7}"]
    for each in outcomes:
        time_taken = f"{int(each.seconds // 60)}:{int(each.seconds % 60):02}"
        verdict = "" if each.status == 0 else "  FAILED"
        lines.append(f"{each.python:7} {each.numpy:8} {time_taken:>7}{verdict}")
    return "\n".join(lines)


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and what is for pytest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, nargs="?")
    parser.add_argument("--pythons", metavar="VERSIONS", help="as in 3.10,3.13; every Python of this machine")
    parser.add_argument("--numpy", choices=["lowest", "newest", "both"], default="both")
    parser.add_argument(
        "--runtime", action="append", metavar="VERSION", help="oldest, newest (the default) or a version"
    )
    parser.add_argument("--environments", type=Path, default=ROOT / "build" / "environments", metavar="FOLDER")
    own, others = arguments, []
    if "--" in arguments:
        own, others = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    return parser.parse_args(own), others


def main() -> int:
    """Test in every environment, however early something fails."""
    options, arguments = parse(sys.argv[1:])
    wheel = (options.wheel or wheel_in(ROOT / "dist")).resolve(strict=True)
    outcomes = []
    for version, interpreter in chosen_pythons(options.pythons).items():
        lowest = LOWEST_NUMPY.get(version)
        numpys = {"lowest": f"numpy=={lowest}" if lowest else None, "newest": "numpy"}
        for name, numpy in numpys.items():
            if numpy is not None and options.numpy in (name, "both"):
                python = make_environment(
                    interpreter, options.environments.resolve() / f"{version}-{name}", wheel, numpy
                )
                outcomes.append(run(version, python, options.runtime or ["newest"], arguments))
    print(f"\n{' the same wheel in every environment ':=^100}\n\n{wheel.name}\n\n{summary(outcomes)}")
    return 0 if outcomes and all(outcome.status == 0 for outcome in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
