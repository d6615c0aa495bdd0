"""What the tests share: the runtime, servers, models of the identity backend, and requests at the C API's level."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from helpers_gate import Gate

import triton_inprocess as ti

PROJECT = Path(__file__).resolve().parent.parent

# `benchmarks` is not installed; the identity backend is built by it.
if str(PROJECT) not in sys.path:
    sys.path.insert(0, str(PROJECT))

# A shell's background jobs ignore Ctrl-C, and so would every interpreter that the tests start from one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

StartServer = Callable[..., ti.Server]

CANCEL = "TRITONSERVER_InferenceRequestCancel"  # since C API 1.25
SET_INT_PARAMETER = "TRITONSERVER_InferenceRequestSetIntParameter"  # since 1.21

# Few examples by default, many with --hypothesis-profile=nightly.
hypothesis.settings.register_profile("nightly", print_blob=True)


def examples(count: int, **more: Any) -> hypothesis.settings:
    """How a property is tried: `count` examples, and as long as each takes."""
    many = hypothesis.settings.get_current_profile_name() == "nightly"
    return hypothesis.settings(deadline=None, max_examples=count * (20 if many else 1), **more)


needs_cancel = pytest.mark.needs(CANCEL)
needs_string_dtype = pytest.mark.skipif(
    not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"), reason="numpy < 2"
)
NUMPY_KNOWS_DLPACK_1 = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
needs_dlpack_1 = pytest.mark.skipif(not NUMPY_KNOWS_DLPACK_1, reason="numpy < 2.1 has DLPack before 1.0")


def by_dlpack(tensor: ti.Tensor) -> list[np.ndarray[Any, Any]]:
    """What numpy makes of a tensor by DLPack; nothing where it could not be told that the memory is read-only."""
    return [np.from_dlpack(tensor)] if NUMPY_KNOWS_DLPACK_1 else []


def shown(value: object) -> str:
    """A value as the name of a test, which is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


@pytest.fixture(scope="session")
def runtime() -> ti.runtime.Runtime:
    """The loaded runtime, which is fetched first on a machine that has none."""
    try:
        return ti.runtime.load()
    except ti.NotFoundError:
        from triton_inprocess import _installer

        return ti.runtime.load(_installer.install().path)


@pytest.fixture(autouse=True)
def _needed_functions(request: pytest.FixtureRequest) -> None:
    """Skips a test with the mark `needs(function, ...)` where the runtime lacks one of them."""
    needed = [str(name) for mark in request.node.iter_markers("needs") for name in mark.args]
    if needed:
        runtime = request.getfixturevalue("runtime")
        lacking = [name for name in needed if name in runtime.missing_functions]
        if lacking:
            pytest.skip(f"needs {', '.join(lacking)}, which {c_api(runtime)} lacks")


def c_api(runtime: ti.runtime.Runtime) -> str:
    """The runtime's C API, for people."""
    return "C API " + ".".join(map(str, runtime.api_version))


def lacks(function: str) -> bool:
    """Whether the loaded runtime is older than a function of the C API."""
    return function in ti.runtime.load().missing_functions


def if_supported(*functions: str) -> AbstractContextManager[object]:
    """For what needs these functions: with a runtime that lacks one, the error is expected that says so."""
    lacking = [function for function in functions if lacks(function)]
    if not lacking:
        return nullcontext()
    return pytest.raises(ti.UnsupportedError, match=rf"\b{lacking[0]} is not in .*first C API that has it is 1\.\d+")


@pytest.fixture(scope="session")
def identity_backend(runtime: ti.runtime.Runtime) -> Path:
    """The backend directory of the C++ identity backend, which finds Triton's functions in the global scope."""
    from benchmarks.artifacts import Artifacts

    artifacts = Artifacts(PROJECT / "build" / "benchmarks")
    artifacts.build()
    ti.runtime.open_forwarder()
    return artifacts.backend_directory


@pytest.fixture
def start_server(runtime: ti.runtime.Runtime) -> Iterator[StartServer]:
    """Starts servers with the given options; they are stopped after the test."""
    servers: list[ti.Server] = []

    def start(**options: Any) -> ti.Server:
        server = ti.Server(**options)
        servers.append(server)
        return server.start()

    yield start
    for server in reversed(servers):
        server.stop()


@pytest.fixture
def server(start_server: StartServer) -> ti.Server:
    """A running server without models."""
    return start_server()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Opened at the end, so that a server can stop."""
    gate = Gate()
    yield gate
    gate.opened.set()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty model repository."""
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


@pytest.fixture
def start_identity(start_server: StartServer, identity_backend: Path, repository: Path) -> StartServer:
    """Starts servers on `repository` that have the identity backend."""

    def start(**options: Any) -> ti.Server:
        return start_server(model_repository=repository, backend_directory=identity_backend, **options)

    return start


def identity_config(
    name: str,
    *,
    data_type: str = "FP32",
    dims: Sequence[int] = (-1,),
    max_batch_size: int = 0,
    parameters: Mapping[str, int] | None = None,
    decoupled: bool = False,
    more: str = "",
) -> str:
    """The configuration of a model that copies INPUT0 to OUTPUT0; `parameters` are those of the identity backend."""
    shape = ", ".join(map(str, dims))
    lines = [
        f'name: "{name}"',
        'backend: "identity"',
        f"max_batch_size: {max_batch_size}",
        f'input [ {{ name: "INPUT0" data_type: TYPE_{data_type} dims: [ {shape} ] }} ]',
        f'output [ {{ name: "OUTPUT0" data_type: TYPE_{data_type} dims: [ {shape} ] }} ]',
        *(
            f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}'
            for key, value in (parameters or {}).items()
        ),
    ]
    if "instance_group" not in more:
        lines.append("instance_group [ { kind: KIND_CPU count: 1 } ]")
    if decoupled:
        lines.append("model_transaction_policy { decoupled: true }")
    return "\n".join([*lines, more]) + "\n"


def write_model(repository: Path, name: str, config: str, versions: Sequence[int] = (1,)) -> Path:
    """Write a model into a repository; returns its folder."""
    folder = repository / name
    for version in versions:
        (folder / str(version)).mkdir(parents=True)
    (folder / "config.pbtxt").write_text(config, encoding="utf-8")
    return folder


def write_identity(repository: Path, name: str = "identity", versions: Sequence[int] = (1,), **config: Any) -> Path:
    """Write a model of the identity backend into a repository; returns its folder."""
    return write_model(repository, name, identity_config(name, **config), versions)


def add_echo(
    server: ti.Server, data_type: Any = np.float32, shape: Sequence[int] = (-1,), name: str = "echo", **arguments: Any
) -> ti.Model:
    """Add a Python function as a model that answers input `x` as output `y`."""
    return server.add_model(
        lambda x: x, name=name, inputs={"x": (data_type, shape)}, outputs={"y": (data_type, shape)}, **arguments
    )


def answer(model: ti.Model, output: str = "y", **inputs: Any) -> np.ndarray[Any, Any]:
    """The named output of the only response to a request with the given inputs."""
    (response,) = model.infer(inputs=inputs)
    return response.outputs[output].numpy()


def run_beside_tests(
    code: str, *, timeout: float = 60, status: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter that finds the tests' modules, where warnings are errors; it ends with `status`."""
    path = os.pathsep.join(filter(None, [str(PROJECT / "tests"), os.environ.get("PYTHONPATH", "")]))
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert result.returncode == status, f"exit status {result.returncode}\n{result.stdout}{result.stderr}"
    return result


def run_python(code: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter of its own, where warnings are errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
