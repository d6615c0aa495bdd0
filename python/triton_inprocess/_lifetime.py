"""The end of the interpreter: every server is stopped while Python still works."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from typing import TYPE_CHECKING

from . import _native
from ._background import thread_ids

if TYPE_CHECKING:
    from typing import TypeGuard

    from ._capi_server import TRITONSERVER_Server
    from .server import Server

__all__ = ["running_servers"]

running_servers: weakref.WeakSet[Server | TRITONSERVER_Server] = weakref.WeakSet()


def _is_capi(server: Server | TRITONSERVER_Server) -> TypeGuard[TRITONSERVER_Server]:
    return isinstance(server, _native.Server)


def _stop_servers() -> bool:
    """Returns whether other threads remain, which may use anything of ours."""
    for server in sorted(running_servers, key=_is_capi):  # a Server has more to do than the C server in it
        try:
            (server._stop_or_warn if _is_capi(server) else server.stop)()
        except Exception as error:  # such as a warning made an error; the others are to be stopped all the same
            sys.excepthook(type(error), error, error.__traceback__)
    # Threads that are no daemons have ended by now.
    return threading.active_count() > 1 or bool(thread_ids())


# A function of C++ is the hook: at the first line of one of Python's, a Ctrl-C could end it.
atexit.register(_native.end_interpreter, _stop_servers)
