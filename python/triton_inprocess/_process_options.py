"""Options that Triton has once per process: the servers that run at the same time must agree on them.

A server that leaves such an option at its default goes along with the others. What two servers ask for and differ in is
refused, and so is another size or interval than the first server has fixed.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from dataclasses import replace
from types import MethodType
from typing import Any, NamedTuple

from ._capi_server_options import TRITONSERVER_ServerOptions
from .errors import InvalidArgumentError
from .options import Options

__all__ = ["claim", "log_of_another", "log_to", "release"]

# Whoever asks for something else than the default has it; the others go along.
_LOGGING = ("log_info", "log_warn", "log_error", "log_verbose", "log_format")
_DESTINATIONS = ("log_file", "log_callback", "log_to_logging")
# The first server fixes them, by its default, too.
_POOL = ("pinned_memory_pool_size",)
_METRICS = ("metrics_interval", "metrics_configuration")

_WHAT = {
    **dict.fromkeys((*_LOGGING, *_DESTINATIONS), "one log"),
    **dict.fromkeys(_POOL, "one pool of pinned memory"),
    **dict.fromkeys(_METRICS, "one set of metrics"),
}

_DEFAULTS = Options()

# By whom; in the order of their starts. No lock: each change is one step, and a signal handler may come at any point.
_claims: dict[int, Options] = {}
_log_paths: dict[int, str] = {}


def claim(server: int, options: Options) -> Options:
    """Enter what a server that is about to start asks for; returns its options with what the process has already.

    Raises InvalidArgumentError, naming the option and both values, for a contradiction to a server that runs.
    """
    others = list(_claims.values())
    try:
        _check_each(options, others)
    except InvalidArgumentError:
        gc.collect()  # a server that nobody has any more but the collector stops by that
        others = list(_claims.values())
        _check_each(options, others)
    # Without what may know the server, which would never be collected then.
    _claims[server] = replace(options, trace=None, log_callback=_identity_of(options.log_callback))
    return replace(options, **_merged([options, *others]))


def release(server: int) -> None:
    """A server has stopped, or has not started: the others' logging goes on as they asked for it."""
    _log_paths.pop(server, None)
    gone = _claims.pop(server, None)
    others = list(_claims.values())
    if gone is None or not others:
        return
    before, after = _merged([gone, *others]), _merged(others)
    if before != after:
        setters = TRITONSERVER_ServerOptions()
        for name, value in after.items():
            if value != before[name]:
                getattr(setters, f"set_{name}")(value)


def log_to(server: int, path: str) -> None:
    """A server that is about to start has the process's log go to `path`."""
    _log_paths[server] = path


def log_of_another(server: int) -> tuple[int, str] | None:
    """The last of the other servers that said where to log to, and where."""
    return next(((each, path) for each, path in reversed(list(_log_paths.items())) if each != server), None)


def _merged(all_options: Iterable[Options]) -> dict[str, Any]:
    merged = {name: getattr(_DEFAULTS, name) for name in _LOGGING}
    for options in all_options:
        for name in _LOGGING:
            if _asked(options, name):
                merged[name] = getattr(options, name)
    return merged


def _check_each(options: Options, others: Iterable[Options]) -> None:
    for other in others:
        _check(options, other)


def _check(options: Options, other: Options) -> None:
    for name in _LOGGING:
        if _asked(options, name) and _asked(other, name):
            _require_equal(options, name, other, name)
    destination, others = _destination(options), _destination(other)
    if destination is not None and others is not None:
        _require_equal(options, destination, other, others)
    for name in _POOL:
        if _asked(options, name):
            _require_equal(options, name, other, name)
    for name in _METRICS:
        if options.metrics and other.metrics and _asked(options, name):
            _require_equal(options, name, other, name)


def _asked(options: Options, name: str) -> bool:
    return bool(getattr(options, name) != getattr(_DEFAULTS, name))


def _destination(options: Options) -> str | None:
    return next((name for name in _DESTINATIONS if getattr(options, name) not in (None, False)), None)


def _require_equal(options: Options, name: str, other: Options, others_name: str) -> None:
    value, others = getattr(options, name), getattr(other, others_name)
    if name == others_name and (_comparable(name, value) == _comparable(name, others)):
        return
    raise InvalidArgumentError(
        f"{name}={value!r} contradicts {others_name}={others!r} of server {other.server_id!r}, which runs in this "
        f"process: Triton has {_WHAT[name]} per process"
    )


def _comparable(name: str, value: Any) -> Any:
    if name == "log_callback":
        return _identity_of(value)
    return os.path.realpath(value) if name == "log_file" else value


class _Identity(NamedTuple):
    """What a function is known by while somebody else keeps it."""

    numbers: tuple[int, ...]
    text: str

    def __call__(self, *_: object) -> None:
        """Never called: it only stands where a function does."""

    def __repr__(self) -> str:
        return self.text


def _identity_of(function: Any) -> Any:
    if function is None or isinstance(function, _Identity):
        return function
    parts = (function.__self__, function.__func__) if isinstance(function, MethodType) else (function,)
    return _Identity(tuple(id(part) for part in parts), repr(function))
