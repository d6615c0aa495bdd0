"""Other interpreters, for what several processes do with each other."""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import subprocess
import sys
from typing import Any

__all__ = ["Peer"]


class Peer:
    """Another interpreter, which runs what it is told."""

    PROGRAM = """
import base64, gc, os, pickle, signal, sys
import numpy as np
import triton_inprocess as ti
for line in sys.stdin:
    code, values = pickle.loads(base64.b64decode(line))
    globals().update(values)
    result = None
    try:
        exec(code)
    except ti.TritonError as error:
        result = f"{type(error).__name__}: {error}"
    print(base64.b64encode(pickle.dumps(result)).decode(), flush=True)
"""

    def __init__(self, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", self.PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def begin(self, code: str, **values: Any) -> None:
        assert self.process.stdin is not None
        print(base64.b64encode(pickle.dumps((code, values))).decode(), file=self.process.stdin, flush=True)

    def run(self, code: str, **values: Any) -> Any:
        """What the code has put into `result`; the text of an error of ours."""
        self.begin(code, **values)
        return self.finish()

    def finish(self) -> Any:
        """The result of what was begun."""
        assert self.process.stdout is not None
        return pickle.loads(base64.b64decode(self.process.stdout.readline()))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Let it end by itself."""
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate(timeout=30)
