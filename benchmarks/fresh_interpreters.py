"""What can be measured once per process, so in a new one each time; all of them on this process's core."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .errors import BenchmarkError

_TIMEOUT = 120.0

_IMPORT = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""

# As the floor's start: opening libtritonserver and the forwarder is part of it, importing the package is not.
_START = """
import sys, time
import triton_inprocess as ti
repository, backends, model = sys.argv[1:]
start = time.perf_counter()
ti.runtime.open_forwarder()
with ti.Server(model_repository=repository, backend_directory=backends, startup_models=[model]):
    print(time.perf_counter() - start, flush=True)
"""


def import_seconds(module: str) -> float:
    """How long the import of a module takes that nothing has imported before."""
    return _seconds(_IMPORT.format(module=module))


def start_seconds(repository: Path, backend_directory: Path) -> float:
    """How long a server takes to start that has one model."""
    from .repository import MODEL_NAME

    return _seconds(_START, str(repository), str(backend_directory), MODEL_NAME)


def _seconds(code: str, *arguments: str) -> float:
    command = [sys.executable, "-c", code, *arguments]
    # A user's second import finds compiled modules; without them, the compiler would be measured.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT, env=environment)
    if result.returncode != 0:
        raise BenchmarkError(f"an interpreter ended with status {result.returncode}:\n{result.stderr.strip()}")
    return float(result.stdout)
