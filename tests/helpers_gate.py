"""A model that a test holds up."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

__all__ = ["Gate"]


class Gate:
    """A function that waits, once it was called, until the gate is opened."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self.calls = 0

    def __call__(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        self.calls += 1
        self.entered.release()
        assert self.opened.wait(20)
        return x * 2

    def wait(self) -> None:
        """Until the function has been called."""
        assert self.entered.acquire(timeout=20)
