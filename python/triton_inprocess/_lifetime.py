"""The end of the interpreter: every server is stopped while Python still works."""

from __future__ import annotations

import atexit
import weakref
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from .server import Server

__all__ = ["running_servers"]

running_servers: weakref.WeakSet[Server] = weakref.WeakSet()


@atexit.register
def _end() -> None:
    for server in list(running_servers):
        server.stop()
    _native.shut_down()
