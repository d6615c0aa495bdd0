"""Which server a model is of that Triton has found in a repository: its backend's folder tells."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from .server import Server

__all__ = ["servers"]

# By the folder of backends that each server has for itself. It is known before the server is: models are loaded while
# it starts.
servers: WeakValueDictionary[str, Server] = WeakValueDictionary()
