"""Finding and loading the Triton runtime: the `libtritonserver` that this process serves with.

A process has one runtime. It is looked for, in this order, at

1. the path given to `load` or `find`: the library itself, or the folder (prefix) of a runtime,
2. ``$TRITON_INPROCESS_RUNTIME``, a path of the same kind (empty counts as not set),
3. ``/opt/tritonserver``, where Triton's containers have it,
4. the copies that ``python -m triton_inprocess runtime install`` fetched, the newest version first,
5. an installed ``nvidia-pytriton`` wheel, which is never imported.

The first two are somebody's decision: where they hold no library, that is an error and nothing else is tried.
"""

# The file speaks os.path: importing pathlib takes longer than the start of a server may take beyond Triton's own.
# ruff: noqa: PTH100, PTH111, PTH112, PTH113, PTH117, PTH118, PTH120, PTH208
from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from . import _native
from .errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "INSTALL_COMMAND",
    "InstalledRuntime",
    "Runtime",
    "find",
    "installed",
    "load",
    "open_forwarder",
    "runtimes_directory",
]

ENVIRONMENT_VARIABLE = "TRITON_INPROCESS_RUNTIME"
INSTALL_COMMAND = "python -m triton_inprocess runtime install"

BACKENDS, CACHES, REPO_AGENTS = "backends", "caches", "repoagents"

_SYSTEM_PREFIX = "/opt/tritonserver"
_WHEEL_LIBRARIES = "nvidia_pytriton.libs"
_WHEEL_TRITON = "pytriton/tritonserver"
_EXPECTED = (
    "expected a libtritonserver.so, or a folder that holds lib/libtritonserver.so "
    f"or {_WHEEL_LIBRARIES}/libtritonserver-*.so"
)
_FORWARDER = "libtriton_forwarder.so"


@dataclass(frozen=True)
class Runtime:
    """The loaded runtime.

    `path` is the library, free of symbolic links; `api_version` its C API as (major, minor). The directories are
    those that came with the library, empty where it brought none. `missing_functions` names the functions of the C
    API that the library does not have: calling one raises `UnsupportedError`.
    """

    path: Path
    api_version: tuple[int, int]
    backend_directories: tuple[Path, ...]
    missing_functions: tuple[str, ...]
    cache_directories: tuple[Path, ...] = ()
    repo_agent_directories: tuple[Path, ...] = ()


class InstalledRuntime(NamedTuple):
    """A runtime on this machine: what it was found as, its library, and its version where that is known."""

    source: str
    path: Path
    version: str | None = None


class _Place(NamedTuple):
    """One place that is looked at; without a `prefix`, `problem` says why there is nothing to look at."""

    source: str
    prefix: str | None
    version: str | None = None
    problem: str = ""

    def library(self) -> str | None:
        return _library_in(self.prefix) if self.prefix is not None else None

    def why_none(self) -> str:
        if self.prefix is None:
            return f"{self.source}: {self.problem}"
        return f"{self.prefix} ({self.source}): {_why_none_in(self.prefix)}"


def load(path: str | os.PathLike[str] | None = None) -> Runtime:
    """Loads the runtime at `path` (library or prefix), or the one that is found without it, and returns it.

    Loading what is loaded already returns it again, and so does `path=None` once any runtime is loaded.

    Raises `NotFoundError` when there is none, `InvalidArgumentError` for a file that is not a libtritonserver,
    `UnsupportedError` for one whose C API is too old or of another major version, and `AlreadyExistsError` when
    another runtime is loaded.
    """
    return _describe(*load_library(path))


def load_library(path: str | os.PathLike[str] | None = None) -> tuple[str, tuple[int, int], list[str]]:
    """Does what `load` does; for the start of a server, which has no time to import pathlib.

    Returns the library, its C API as (major, minor), and the functions that it lacks.
    """
    if path is None:
        loaded = _native.loaded_runtime()
        if loaded is not None:
            return loaded
    return _native.load_runtime(_find(path))


def find(path: str | os.PathLike[str] | None = None) -> Path:
    """The library that `load(path)` would open in a process with no runtime yet, free of symbolic links.

    Raises `NotFoundError`: for a given path that holds no library, else listing each place that was looked at.
    """
    return _path(_find(path))


def _find(path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        return _library_given("path", path)
    environment = os.environ.get(ENVIRONMENT_VARIABLE)
    if environment:
        return _library_given(f"${ENVIRONMENT_VARIABLE}", environment)
    tried = [f"${ENVIRONMENT_VARIABLE}: not set"]
    for place in _places():
        library = place.library()
        if library is not None:
            return library
        tried.append(place.why_none())
    raise NotFoundError(
        "no Triton runtime was found. Looked at:\n"
        + "".join(f"  - {each}\n" for each in tried)
        + f"Fetch one with: {INSTALL_COMMAND}"
    )


def installed() -> tuple[InstalledRuntime, ...]:
    """Every runtime that is found without a path, in the order in which `find` would take it.

    Raises `NotFoundError` when ``$TRITON_INPROCESS_RUNTIME`` is set and holds none.
    """
    found: list[InstalledRuntime] = []
    environment = os.environ.get(ENVIRONMENT_VARIABLE)
    if environment:
        source = f"${ENVIRONMENT_VARIABLE}"
        found.append(InstalledRuntime(source, _path(_library_given(source, environment))))
    for place in _places():
        library = place.library()
        if library is not None:
            found.append(InstalledRuntime(place.source, _path(library), place.version))
    return tuple(found)


def runtimes_directory() -> Path:
    """The folder that `runtime install` puts its copies into, one a version: it need not exist.

    Raises `NotFoundError` when the user has no home folder and ``$XDG_CACHE_HOME`` does not name another.
    """
    return _path(_runtimes_directory())


def open_forwarder() -> None:
    """Puts the C API's functions into the global scope, loading the runtime first if none is.

    Backends and Python packages that were linked without naming libtritonserver need this before they are opened.
    Doing it again does nothing. Raises what `load` raises.
    """
    load_library()
    _native.open_forwarder(os.path.join(os.path.dirname(os.path.abspath(__file__)), _FORWARDER))


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)


def _paths(texts: list[str]) -> tuple[Path, ...]:
    return tuple(_path(text) for text in texts)


def _describe(path: str, api_version: tuple[int, int], missing_functions: list[str]) -> Runtime:
    major, minor = api_version
    return Runtime(
        path=_path(path),
        api_version=(major, minor),
        backend_directories=_paths(directories_beside(path, BACKENDS)),
        missing_functions=tuple(missing_functions),
        cache_directories=_paths(directories_beside(path, CACHES)),
        repo_agent_directories=_paths(directories_beside(path, REPO_AGENTS)),
    )


def directories_beside(library: str, name: str) -> list[str]:
    """The folders of that name, one of those below, that came with a library."""
    prefix = os.path.dirname(os.path.dirname(library))
    candidates = (os.path.join(prefix, name), os.path.join(prefix, _WHEEL_TRITON, name))
    return [each for each in candidates if os.path.isdir(each)]


def _library_given(argument: str, given: str | os.PathLike[str]) -> str:
    """The library at a path that somebody named: `argument` says who."""
    try:
        text: object = os.fspath(given)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise TypeError(f"{argument}: expected a str or a path, not {type(given).__name__}")
    if not text:
        raise NotFoundError(f"{argument}: '' is no path; {_EXPECTED}")
    path = os.path.expanduser(text)
    library = os.path.realpath(path) if os.path.isfile(path) else _library_in(path)
    if library is None:
        raise NotFoundError(f"{argument}: '{text}' {_why_none_in(path)}; {_EXPECTED}")
    return library


def _library_in(prefix: str) -> str | None:
    """The library in a prefix, free of symbolic links."""
    for folder in ("lib", "lib64"):
        library = os.path.join(prefix, folder, "libtritonserver.so")
        if os.path.isfile(library):
            return os.path.realpath(library)
    folder = os.path.join(prefix, _WHEEL_LIBRARIES)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    names = [name for name in names if name.startswith("libtritonserver-") and name.endswith(".so")]
    if len(names) > 1:
        raise InvalidArgumentError(
            f"'{folder}' holds several runtimes ({', '.join(names)}): "
            f"name one of these files by runtime.load(path) or ${ENVIRONMENT_VARIABLE}"
        )
    return os.path.realpath(os.path.join(folder, names[0])) if names else None


def _why_none_in(path: str) -> str:
    if os.path.isdir(path):
        return "holds no libtritonserver"
    return "is neither a file nor a folder" if os.path.lexists(path) else "does not exist"


def _places() -> Iterator[_Place]:
    yield _Place("where Triton's containers have it", _SYSTEM_PREFIX)
    yield from _fetched()
    yield _installed_wheel()


def _fetched() -> Iterator[_Place]:
    source = "fetched by runtime install"
    try:
        root = _runtimes_directory()
    except NotFoundError as error:
        yield _Place(source, None, problem=str(error))
        return
    versions = _versions_in(root)
    for name in versions:
        yield _Place(source, os.path.join(root, name), name)
    if not versions:
        yield _Place(source, root)


def _runtimes_directory() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    if not os.path.isabs(cache):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            raise NotFoundError("the user's cache folder is unknown: neither $HOME nor $XDG_CACHE_HOME is set")
        cache = os.path.join(home, ".cache")
    return os.path.join(cache, "triton-inprocess", "runtimes")


def _versions_in(root: str) -> list[str]:
    if not os.path.isdir(root):
        return []
    names = [name for name in os.listdir(root) if all(part.isdecimal() for part in name.split("."))]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")], reverse=True)


def _installed_wheel() -> _Place:
    # Only here, because it takes longer than the rest of this module together.
    from importlib.metadata import PackageNotFoundError, distribution

    source = "installed nvidia-pytriton wheel"
    try:
        wheel = distribution("nvidia-pytriton")
    except PackageNotFoundError:
        return _Place(source, None, problem="not installed in this environment")
    return _Place(source, os.path.realpath(str(wheel.locate_file(""))), wheel.version)
