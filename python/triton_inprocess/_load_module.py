"""Models that a module names: `module:name`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from .errors import InvalidArgumentError
from .server import Server

__all__ = ["found_in_module", "load_module"]


def load_module(target: str, server: Server | None = None) -> Server:
    """A running server with the models of a module: what `triton-inprocess serve module:name` serves.

    ::

        with load_module("app:models") as server:  # app.py: def models(server): server.add_model(...)
            ...

    Args:
        target: "module:name" of a function that is called with the server and adds models to it, or of a Server.
        server: The server to add them to, which is started if it is not; by default a new one.

    Returns the server, which runs. When the function raises, a server that was made here is stopped.

    Raises:
        TypeError: An argument is of the wrong type.
        InvalidArgumentError: `target` is not of that form, there is no such module or name, it is neither a Server nor
            a function of one argument, or it is a Server and `server` was given, too.

    It also raises what `Server.start` does, and what the module and the function raise.
    """
    if server is not None and not isinstance(server, Server):
        raise TypeError(f"server must be a Server or None, not {type(server).__name__}")
    found = found_in_module(target)
    if isinstance(found, Server):
        if server is not None:
            raise InvalidArgumentError(f"{target} is a Server, which takes no models of another one: give no server")
        return found.__enter__()
    made = Server() if server is None else server
    made.__enter__()
    try:
        found(made)
    except BaseException:
        if server is None:
            made.stop()
        raise
    return made


def found_in_module(target: object) -> Server | Callable[[Server], Any]:
    """The Server, or function of a server, that `target` names; raises what `load_module` says."""
    if not isinstance(target, str):
        raise TypeError(f"target must be a str, not {type(target).__name__}")
    module_name, colon, name = target.partition(":")
    if not (module_name and colon and name):
        raise InvalidArgumentError(f"the target must be module:name, not {target!r}")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise
        raise InvalidArgumentError(f"there is no module {error.name!r}") from None
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise InvalidArgumentError(f"module {module_name!r} has no {name!r}")
        found = getattr(found, part)
    if isinstance(found, Server):
        return found
    if not callable(found):
        raise InvalidArgumentError(f"{target} is neither a Server nor a function, but a {type(found).__name__}")
    try:
        inspect.signature(found).bind(None)
    except TypeError:
        raise InvalidArgumentError(f"{target} must take one argument, the Server to add models to") from None
    except ValueError:  # a builtin that does not tell
        pass
    function: Callable[[Server], Any] = found
    return function
