"""The very file that Python has loaded the extension from, even if another one takes its name later (an upgrade)."""

from __future__ import annotations

import os

from . import _native

__all__ = ["EXTENSION_PATH"]

# Opened with the import and never closed: Triton must find the file that is loaded, or it would load a second one.
EXTENSION_PATH = f"/proc/self/fd/{os.open(str(_native.__file__), os.O_RDONLY | os.O_CLOEXEC)}"
