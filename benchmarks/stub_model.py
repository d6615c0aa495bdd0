"""A model of Triton's python backend: a process of its own, which runs another one for the model, by shared memory.

`python -m benchmarks.stub_model REPOSITORY BACKENDS` is that process: it answers lines `ELEMENTS COUNT` by the time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import triton_inprocess as ti

from . import sync_calls
from .artifacts import PROJECT
from .errors import BenchmarkError
from .line_process import LineProcess
from .target import Target

_NAME = "increment"
_CONFIGURATION = f"""\
name: "{_NAME}"
backend: "python"
input [ {{ name: "x" data_type: TYPE_FP32 dims: [ -1 ] }} ]
output [ {{ name: "y" data_type: TYPE_FP32 dims: [ -1 ] }} ]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
"""
_MODEL = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(each, "x").as_numpy() for each in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("y", array + 1)]) for array in arrays]
"""
_ASK = "import sys, sysconfig; print(*sys.version_info[:2], sysconfig.get_config_var('LIBDIR'))"


@dataclass(frozen=True)
class StubModel:
    """The running model, or why there is none."""

    process: LineProcess | None
    missing: str = ""

    def seconds(self, elements: int, count: int) -> float:
        """What each of so many inferences takes."""
        assert self.process is not None
        return float(self.process.ask(f"{elements} {count}")["seconds"]) / count


@contextmanager
def stub_model(python: Path | None, runtime: Path, folder: Path) -> Iterator[StubModel]:
    """Starts it with that interpreter, which has a numpy before 2: the stub of the runtime knows no other.

    `folder` is an empty one, for its files.
    """
    if python is None:
        yield StubModel(None, "--stub-python names no interpreter with a numpy before 2")
        return
    try:
        process = _start(python, runtime, folder)
    except (BenchmarkError, OSError, subprocess.CalledProcessError) as error:
        yield StubModel(None, str(error))
        return
    with process:
        yield StubModel(process)


def _start(python: Path, runtime: Path, folder: Path) -> LineProcess:
    told = subprocess.run([python, "-c", _ASK], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    installed = runtime.parent.parent / "pytriton" / "tritonserver"
    backend = shutil.copytree(installed / "backends" / "python", folder / "backends" / "python")
    stub = installed / "python_backend_stubs" / ".".join(told[:2]) / "triton_python_backend_stub"
    Path(shutil.copy(stub, backend)).chmod(0o700)  # the wheel has lost the permission
    model = folder / "models" / _NAME
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_text(_CONFIGURATION, encoding="utf-8")
    (model / "1" / "model.py").write_text(_MODEL, encoding="utf-8")
    environment = {
        # The stub takes the first python3 on it.
        "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")]),
        "LD_LIBRARY_PATH": os.pathsep.join([told[2], str(runtime.parent)]),
        "PYTHONPATH": os.pathsep.join([str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    command: list[str | Path] = [sys.executable, "-m", "benchmarks.stub_model", folder / "models", folder / "backends"]
    return LineProcess("Triton's python backend", command, environment)


def _write(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)


def main() -> None:
    """Serves the lines of standard input."""
    with ti.Server(model_repository=sys.argv[1], backend_directory=sys.argv[2]) as server:
        model = server.model(_NAME)
        received = model(x=np.arange(4, dtype=np.float32))["y"].numpy()
        if received.tolist() != [1, 2, 3, 4]:
            _write({"error": f"the model does not add 1: {received}"})
            return
        _write({"ready": True})
        for line in sys.stdin:
            elements, count = map(int, line.split())
            target = Target(model, np.arange(elements, dtype=np.float32), "x", "y")
            _write({"seconds": sync_calls.result(target, count)})


if __name__ == "__main__":
    main()
