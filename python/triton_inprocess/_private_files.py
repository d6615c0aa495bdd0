"""A server's own folder: the models that Python functions serve as, and the backends that Triton is to see."""

# The file speaks os.path, for the reason that runtime.py tells; tempfile and shutil take as long.
# ruff: noqa: PTH102, PTH104, PTH106, PTH112, PTH114, PTH117, PTH118, PTH123, PTH208, PTH211
from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterable, Mapping

from ._extension_file import BACKEND_NAME

__all__ = ["PrivateFiles"]

_PREFIX = "triton-inprocess-server-"
_LOCK = "lock"
_CONFIG = "config.pbtxt"
_MAKING_SECONDS = 3600.0


class PrivateFiles:
    """The folder, locked for as long as it is used: what no process locks is left over and removed by the next one."""

    def __init__(
        self, extension: str, backend_directories: Iterable[str], own_backends: Iterable[str] = (BACKEND_NAME,)
    ) -> None:
        """Make the folder. `extension` is our backend, under each of its names, `own_backends`; of others of one name,
        that in the first directory wins.
        """
        place = _temporary_folder()
        _remove_stale(place)
        self.root = os.path.join(place, _PREFIX + os.urandom(8).hex())
        os.mkdir(self.root, 0o700)
        self._lock = _lock(self.root)
        self.models = os.path.join(self.root, "models")
        os.mkdir(self.models)
        self.backends = os.path.join(self.root, "backends")
        os.mkdir(self.backends)
        self.start_log = os.path.join(self.root, "start.log")
        self._link_backends(extension, own_backends, backend_directories)

    def _link_backends(self, extension: str, names: Iterable[str], directories: Iterable[str]) -> None:
        for name in names:
            own = os.path.join(self.backends, name)
            os.mkdir(own)
            # The dynamic linker recognises the file, so that Triton gets the extension that Python has loaded.
            os.symlink(extension, os.path.join(own, f"libtriton_{name}.so"))
        for directory in directories:
            for name in sorted(os.listdir(directory)):
                backend = os.path.join(directory, name)
                link = os.path.join(self.backends, name)
                if os.path.isdir(backend) and not os.path.lexists(link):
                    os.symlink(os.path.realpath(backend), link)

    def model_folder(self, name: str) -> str:
        """Where a model is, or will be."""
        return os.path.join(self.models, name)

    def write_model(self, name: str, version: int, config: str, warm_up: Mapping[str, bytes] | None = None) -> None:
        """Write a model's configuration, its (empty) version folder and what it is warmed up with.

        Triton takes a version that is there already for a new one.
        """
        folder = self.model_folder(name)
        _make(folder)  # but not its parents: they are there, or were removed for good
        _make(os.path.join(folder, str(version)))
        self.touch_version(name, version)
        if warm_up:
            _make(os.path.join(folder, "warmup"))
            for file, content in warm_up.items():
                with open(os.path.join(folder, "warmup", file), "wb") as opened:
                    opened.write(content)
        self.write_config(name, config)

    def read_config(self, name: str) -> str:
        """A model's configuration."""
        with open(os.path.join(self.model_folder(name), _CONFIG), encoding="utf-8") as opened:
            return opened.read()

    def write_config(self, name: str, config: str) -> None:
        """Put another configuration in the place of a model's."""
        with open(os.path.join(self.model_folder(name), _CONFIG), "w", encoding="utf-8") as opened:
            opened.write(config)

    def read_start_log(self) -> str:
        """What Triton has written there; nothing when it has not."""
        with contextlib.suppress(FileNotFoundError), open(self.start_log, errors="replace") as opened:
            return opened.read()
        return ""

    def touch_version(self, name: str, version: int) -> None:
        """Have Triton take a version for a new one; nothing happens when there is none."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(os.path.join(self.model_folder(name), str(version)))

    def remove_version(self, name: str, version: int) -> None:
        """Remove the folder of a model's version; nothing happens when there is none."""
        _remove(os.path.join(self.model_folder(name), str(version)))

    def remove_model(self, name: str) -> None:
        """Remove a model's folder; nothing happens when there is none."""
        _remove(self.model_folder(name))

    def remove(self) -> None:
        """Remove everything; the second time nothing happens."""
        if self._lock is not None:
            _remove(self.root)
            os.close(self._lock)
            self._lock = None


def _temporary_folder() -> str:
    """What tempfile.gettempdir() returns, which is asked only if it is there already or the case is not clear."""
    if "tempfile" not in sys.modules:
        given = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp")
        if os.path.isabs(given) and os.access(given, os.R_OK | os.W_OK | os.X_OK) and os.path.isdir(given):
            return os.path.realpath(given)
    import tempfile

    return os.path.realpath(tempfile.gettempdir())


def _make(folder: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)


def _remove(folder: str) -> None:
    # Not by shutil: imported while Python exits, it would take the status of a process that Ctrl-C has ended from it.
    for parent, folders, files in os.walk(folder, topdown=False):
        for path in (os.path.join(parent, name) for name in (*files, *folders)):
            with contextlib.suppress(OSError):
                (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _lock(root: str) -> int | None:
    # Locked before it gets its name: who looks for stale folders never sees it unlocked.
    unnamed = os.path.join(root, f"{_LOCK}.new")
    descriptor = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.rename(unnamed, os.path.join(root, _LOCK))
    return descriptor


def _remove_stale(place: str) -> None:
    with os.scandir(place) as entries:  # a folder with thousands of entries, as it may be
        roots = [entry.path for entry in entries if entry.name.startswith(_PREFIX)]
    for root in roots:
        if _abandoned(root):
            _remove(root)


def _abandoned(root: str) -> bool:
    try:
        descriptor = os.open(os.path.join(root, _LOCK), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return _left_half_made(root)
    except OSError:  # somebody else's
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def _left_half_made(root: str) -> bool:
    """Whether whoever made or removed it was killed meanwhile: it takes no time, so that an old one is nobody's."""
    try:
        found = os.lstat(root)
    except OSError:
        return False
    return found.st_uid == os.geteuid() and time.time() - found.st_mtime > _MAKING_SECONDS
