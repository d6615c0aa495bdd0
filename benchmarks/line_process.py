"""A program that is asked by lines of text and answers each by a JSON object on a line."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import BenchmarkError

_STOP_TIMEOUT = 30.0
_STANDARD_ERROR_TAIL = 4000


class LineProcess:
    """The running program: it idles between two questions. `ready` is the line that it wrote when it was ready."""

    def __init__(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        """Starts the program, called `name` in errors; raises BenchmarkError when it does not get ready."""
        self.name = name
        with ExitStack() as stack:
            # What it logs goes to a file: nobody reads a pipe while the program runs, so it could fill up.
            self._standard_error = stack.enter_context(
                tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
            )
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._standard_error,
                    text=True,
                    env={**os.environ, **(environment or {})},
                )
            except OSError as error:
                raise BenchmarkError(f"cannot start {name}: {error}") from error
            stack.callback(self._stop)
            self.ready = self._answer()
            self._stack = stack.pop_all()

    def __enter__(self) -> LineProcess:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def identifier(self) -> int:
        """The process's number."""
        return self._process.pid

    def ask(self, question: str) -> dict[str, Any]:
        """Its answer; raises BenchmarkError for one that says why there is none, and when the program has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{question}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise BenchmarkError(f"{self.name} says: {answer['error']}")
        return answer

    def _ended(self) -> BenchmarkError:
        status = self._process.wait(_STOP_TIMEOUT)
        self._standard_error.seek(0)
        tail = self._standard_error.read()[-_STANDARD_ERROR_TAIL:].strip()
        return BenchmarkError(f"{self.name} ended with status {status}:\n{tail}")

    def _stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it may have ended already, with a question unread
            self._process.stdin.close()  # the end of its input ends the program
        try:
            self._process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
