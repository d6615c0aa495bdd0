"""``doctor``: whether inference works here, and what mends it where it does not."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import _native
from .. import runtime as runtimes
from ..errors import NotFoundError, TritonError

__all__ = ["Diagnosis", "Examination", "Finding", "Verdict", "diagnose", "doctor", "examine", "try_inference"]

_PACKAGE = "triton-inprocess"
_REINSTALL = f"python -m pip install --force-reinstall {_PACKAGE}"
_TRIAL = "import sys; from triton_inprocess.cli.doctor import try_inference; try_inference(sys.argv[1])"
_TRIAL_SECONDS = 60
_NAMES_SHOWN = 3
_ENTRY_POINT = "TRITONBACKEND_ModelInstanceExecute"


class Verdict(Enum):
    """What a finding says: `NOTE` is neither good nor bad, such as the lack of a GPU."""

    GOOD = "green"
    NOTE = "yellow"
    BAD = "red"


@dataclass(frozen=True)
class Finding:
    """One line of the screen; `remedy` is the command that mends a bad one."""

    subject: str
    verdict: Verdict
    text: str
    remedy: str | None = None


@dataclass(frozen=True)
class Examination:
    """What the trial process told: the loaded runtime, the time of one inference, or the error it ended with."""

    runtime: dict[str, Any] | None = None
    milliseconds: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class Diagnosis:
    """Everything that the screen shows, and whether a real inference worked."""

    findings: tuple[Finding, ...]
    inference_works: bool


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say whether inference works here, and what mends it where it does not (exit status 0: it works)."""
    diagnosis = diagnose()
    if as_json:
        typer.echo(json.dumps(_described(diagnosis), indent=2))
    else:
        Console().print(_screen(diagnosis.findings))
    if not diagnosis.inference_works:
        raise typer.Exit(1)


def diagnose() -> Diagnosis:
    """Looks at everything that inference needs, and infers."""
    package = (_python(), _wheel())
    machine = (_cuda(), _own_backend())
    try:
        library = runtimes.find()
    except TritonError as error:
        remedy = _remedy_of_missing_runtime()
        missing = Finding("runtime", Verdict.BAD, str(error), remedy)
        untried = Finding("inference", Verdict.BAD, "not tried: there is no runtime", remedy)
        return Diagnosis((*package, missing, *machine, untried), inference_works=False)
    examination = examine(library)
    found = Finding("runtime", Verdict.GOOD, str(library))
    about = _about_runtime(library, examination)
    return Diagnosis(
        (*package, found, *about, *machine, _inference(library, examination)),
        inference_works=examination.error is None,
    )


def examine(library: Path) -> Examination:
    """Loads `library` and infers with it in a process of its own, which a broken library may bring down."""
    command = [sys.executable, "-c", _TRIAL, str(library)]
    try:
        outcome = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TRIAL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Examination(error=f"no answer within {_TRIAL_SECONDS} seconds")
    told = _told(outcome.stdout)
    error = told.get("error")
    if error is None and outcome.returncode != 0:
        error = f"the process {_ending(outcome.returncode)}\n{_last_lines(outcome.stderr)}".strip()
    elif error is None and "milliseconds" not in told:
        error = "the process told nothing of an inference"
    return Examination(told.get("runtime"), told.get("milliseconds"), error)


def try_inference(library: str) -> None:
    """The trial, run in a process of its own: prints what it learns, one JSON object a line."""
    import time

    import numpy as np

    import triton_inprocess as ti

    try:
        runtime = ti.runtime.load(library)
        _tell(
            runtime={
                "api_version": runtime.api_version,
                "missing_functions": runtime.missing_functions,
                "backend_directories": [str(each) for each in runtime.backend_directories],
            }
        )
        sent = np.arange(16, dtype=np.float32)
        tensors = {"x": (np.float32, (16,))}
        with ti.Server() as server:
            model = server.add_model(_identity, name="doctor", inputs=tensors, outputs={"y": tensors["x"]})
            started = time.perf_counter()
            received = [response.outputs["y"].numpy() for response in model.infer(inputs={"x": sent})]
            elapsed = time.perf_counter() - started
        if len(received) != 1 or not np.array_equal(received[0], sent):
            _tell(error=f"a function that returns its input got {sent.tolist()} and gave {received}")
        else:
            _tell(milliseconds=elapsed * 1e3)
    except Exception as error:
        # Whatever it is, the screen is where it is wanted.
        _tell(error=f"{type(error).__name__}: {error}")


def _identity(x: Any) -> Any:
    return x


def _tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def _told(output: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for line in output.splitlines():
        try:
            what = json.loads(line)
        except ValueError:
            # Triton, or a library of the user's that starts with Python, may print as well.
            continue
        if isinstance(what, dict):
            told.update(cast("dict[str, Any]", what))
    return told


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-5:])


def _python() -> Finding:
    name = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    return Finding("Python", Verdict.GOOD, name)


def _wheel() -> Finding:
    folder = Path(runtimes.__file__).parent
    try:
        number = version(_PACKAGE)
    except PackageNotFoundError:
        text = f"{folder} is not an installed package"
        return Finding(_PACKAGE, Verdict.BAD, text, f"python -m pip install {_PACKAGE}")
    return Finding(_PACKAGE, Verdict.GOOD, f"{number}, numpy {version('numpy')}, {folder}")


def _remedy_of_missing_runtime() -> str:
    if os.environ.get(runtimes.ENVIRONMENT_VARIABLE):
        return f"unset {runtimes.ENVIRONMENT_VARIABLE}"
    return runtimes.INSTALL_COMMAND


def _remedy_of_broken_runtime(library: Path) -> str:
    if _is_fetched(library):
        return f"rm -r {shlex.quote(str(library.parent.parent))} && {runtimes.INSTALL_COMMAND}"
    return f'export {runtimes.ENVIRONMENT_VARIABLE}="$({runtimes.INSTALL_COMMAND})"'


def _is_fetched(library: Path) -> bool:
    try:
        return library.is_relative_to(os.path.realpath(runtimes.runtimes_directory()))
    except NotFoundError:
        return False


def _about_runtime(library: Path, examination: Examination) -> Iterator[Finding]:
    runtime = examination.runtime
    if runtime is None:
        yield Finding("C API", Verdict.BAD, "the library cannot be loaded", _remedy_of_broken_runtime(library))
        return
    yield Finding("C API", Verdict.GOOD, ".".join(str(each) for each in runtime["api_version"]))
    yield _functions(runtime["missing_functions"])
    yield _backends([Path(each) for each in runtime["backend_directories"]])


def _functions(missing: Sequence[str]) -> Finding:
    if not missing:
        return Finding("functions", Verdict.GOOD, "all there")
    names = ", ".join(missing[:_NAMES_SHOWN]) + (", ..." if len(missing) > _NAMES_SHOWN else "")
    text = f"{len(missing)} missing, whose use is an UnsupportedError: {names}"
    return Finding("functions", Verdict.NOTE, text)


def _backends(directories: Sequence[Path]) -> Finding:
    names = sorted(
        each.parent.name for directory in directories for each in directory.glob("*/libtriton_*.so") if each.is_file()
    )
    if not names:
        return Finding("backends", Verdict.NOTE, "none but our own: Python functions can be served, model files not")
    return Finding("backends", Verdict.GOOD, ", ".join(names))


def _cuda() -> Finding:
    """The driver's version; its lack is no fault, since everything runs on the CPU, too."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Finding("CUDA driver", Verdict.NOTE, "none: inference is on the CPU")
    status = driver.cuInit(0)
    number, count = ctypes.c_int(), ctypes.c_int()
    if status == 0:
        status = driver.cuDriverGetVersion(ctypes.byref(number)) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status != 0:
        return Finding("CUDA driver", Verdict.NOTE, f"it answers with CUDA error {status}: inference is on the CPU")
    major, minor = number.value // 1000, number.value % 1000 // 10
    devices = "1 GPU" if count.value == 1 else f"{count.value} GPUs"
    return Finding("CUDA driver", Verdict.GOOD, f"CUDA {major}.{minor}, {devices}")


def _own_backend() -> Finding:
    """The extension is the backend of Python functions: Triton opens this very file and asks it to execute."""
    extension = str(_native.__file__)
    try:
        getattr(ctypes.CDLL(extension), _ENTRY_POINT)
    except (OSError, AttributeError) as error:
        return Finding("own backend", Verdict.BAD, str(error), _REINSTALL)
    return Finding("own backend", Verdict.GOOD, extension)


def _inference(library: Path, examination: Examination) -> Finding:
    if examination.error is not None:
        remedy = _remedy_of_broken_runtime(library) if examination.runtime is None else _REINSTALL
        return Finding("inference", Verdict.BAD, examination.error, remedy)
    text = f"a Python function answered, the first time after {examination.milliseconds:.2f} ms"
    return Finding("inference", Verdict.GOOD, text)


def _described(diagnosis: Diagnosis) -> dict[str, Any]:
    findings = [
        {"subject": each.subject, "verdict": each.verdict.name.lower(), "text": each.text, "remedy": each.remedy}
        for each in diagnosis.findings
    ]
    return {"inference_works": diagnosis.inference_works, "findings": findings}


def _screen(findings: Sequence[Finding]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(finding.text)
        if finding.remedy is not None:
            text.append("\nmend it with: ").append(finding.remedy, style="bold")
        table.add_row(Text(finding.verdict.name.lower(), style=finding.verdict.value), Text(finding.subject), text)
    return table
