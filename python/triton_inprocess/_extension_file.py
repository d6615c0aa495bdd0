"""The file that Python has loaded the extension from, which is a backend too: Triton must be led to the same one."""

from __future__ import annotations

import os

from . import _native
from .errors import InternalError

__all__ = ["BACKEND_NAME", "extension_path"]

BACKEND_NAME = "triton_inprocess"

_PATH = os.path.realpath(str(_native.__file__))


def _identity() -> tuple[int, int]:
    found = os.stat(_PATH)  # noqa: PTH116
    return found.st_dev, found.st_ino


_loaded = _identity()


def extension_path() -> str:
    """Its path. Raises InternalError when another file has taken its name (an upgrade): Triton would load that one."""
    try:
        same = _identity() == _loaded
    except OSError:
        same = False
    if not same:
        raise InternalError(f"'{_PATH}' was replaced after this process had loaded it: restart the process")
    return _PATH
