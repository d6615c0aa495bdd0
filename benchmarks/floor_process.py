"""The floor: a C++ program that does the same inferences on Triton's C API."""

from __future__ import annotations

import json
import subprocess
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from .artifacts import Artifacts
from .errors import BenchmarkError
from .measurement import Measurement

_STOP_TIMEOUT = 30.0
_STANDARD_ERROR_TAIL = 4000


class FloorProcess:
    """The running program: it idles until it is asked for one repetition of a measurement."""

    name = "floor"

    def __init__(self, artifacts: Artifacts, runtime: str, model_repository: Path) -> None:
        """Starts the program with the runtime at that path; raises BenchmarkError when it does not get ready."""
        with ExitStack() as stack:
            # Triton's warnings go to a file: nobody reads a pipe while the program runs, so it could fill up.
            self._standard_error = stack.enter_context(
                tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
            )
            try:
                self._process = subprocess.Popen(
                    [artifacts.floor, runtime, artifacts.forwarder, model_repository, artifacts.backend_directory],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._standard_error,
                    text=True,
                )
            except OSError as error:
                raise BenchmarkError(f"cannot start the floor program: {error}") from error
            stack.callback(self._stop)
            self._answer()
            self._stack = stack.pop_all()

    def __enter__(self) -> FloorProcess:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def seconds(self, measurement: Measurement, inferences: int) -> float:
        """The time that so many inferences take, in seconds."""
        command = "latency" if measurement.kind == "latency" else f"rate {measurement.in_flight}"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{command} {inferences}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return float(self._answer()["seconds"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise BenchmarkError(f"the floor program says: {answer['error']}")
        return answer

    def _ended(self) -> BenchmarkError:
        status = self._process.wait(_STOP_TIMEOUT)
        self._standard_error.seek(0)
        tail = self._standard_error.read()[-_STANDARD_ERROR_TAIL:].strip()
        return BenchmarkError(f"the floor program ended with status {status}:\n{tail}")

    def _stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it may have ended already, with a command unread
            self._process.stdin.close()  # the end of its input ends the program
        try:
            self._process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
