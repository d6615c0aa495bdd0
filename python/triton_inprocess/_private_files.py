"""A server's own folder: the models that Python functions serve as, and the backends that Triton is to see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ._extension_file import BACKEND_NAME

__all__ = ["PrivateFiles"]

_PREFIX = "triton-inprocess-server-"
_LOCK = "lock"
_MAKING_SECONDS = 3600.0


class PrivateFiles:
    """The folder, locked for as long as it is used: what no process locks is left over and removed by the next one."""

    def __init__(
        self, extension: str, backend_directories: Iterable[Path], own_backends: Iterable[str] = (BACKEND_NAME,)
    ) -> None:
        """Make the folder. `extension` is our backend, under each of its names, `own_backends`; of others of one name,
        that in the first directory wins.
        """
        _remove_stale()
        self.root = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        self._lock = _lock(self.root)
        self.models = self.root / "models"
        self.models.mkdir()
        self.backends = self.root / "backends"
        self.backends.mkdir()
        self._link_backends(extension, own_backends, backend_directories)

    def _link_backends(self, extension: str, names: Iterable[str], directories: Iterable[Path]) -> None:
        for name in names:
            own = self.backends / name
            own.mkdir()
            # The dynamic linker recognises the file, so that Triton gets the extension that Python has loaded.
            (own / f"libtriton_{name}.so").symlink_to(extension)
        for directory in directories:
            for backend in sorted(directory.iterdir()):
                link = self.backends / backend.name
                if backend.is_dir() and not link.exists():
                    link.symlink_to(backend.resolve())

    def write_model(self, name: str, version: int, config: str, warm_up: Mapping[str, bytes] | None = None) -> Path:
        """Write a model's configuration, its (empty) version folder and what it is warmed up with.

        Returns the model's folder. Triton takes a version that is there already for a new one.
        """
        folder = self.models / name
        folder.mkdir(exist_ok=True)  # but not its parents: they are there, or were removed for good
        (folder / str(version)).mkdir(exist_ok=True)
        os.utime(folder / str(version))
        if warm_up:
            (folder / "warmup").mkdir(exist_ok=True)
            for file, content in warm_up.items():
                (folder / "warmup" / file).write_bytes(content)
        (folder / "config.pbtxt").write_text(config, encoding="utf-8")
        return folder

    def read_config(self, name: str) -> str:
        """A model's configuration."""
        return (self.models / name / "config.pbtxt").read_text(encoding="utf-8")

    def write_config(self, name: str, config: str) -> None:
        """Put another configuration in the place of a model's."""
        (self.models / name / "config.pbtxt").write_text(config, encoding="utf-8")

    def touch_version(self, name: str, version: int) -> None:
        """Have Triton take a version for a new one; nothing happens when there is none."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.models / name / str(version))

    def remove_version(self, name: str, version: int) -> None:
        """Remove the folder of a model's version; nothing happens when there is none."""
        shutil.rmtree(self.models / name / str(version), ignore_errors=True)

    def remove_model(self, name: str) -> None:
        """Remove a model's folder; nothing happens when there is none."""
        shutil.rmtree(self.models / name, ignore_errors=True)

    def remove(self) -> None:
        """Remove everything; the second time nothing happens."""
        if self._lock is not None:
            shutil.rmtree(self.root, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _lock(root: Path) -> int | None:
    # Locked before it gets its name: who looks for stale folders never sees it unlocked.
    unnamed = root / f"{_LOCK}.new"
    descriptor = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    unnamed.rename(root / _LOCK)
    return descriptor


def _remove_stale() -> None:
    with os.scandir(tempfile.gettempdir()) as entries:  # a folder with thousands of entries, as it may be
        roots = [entry.path for entry in entries if entry.name.startswith(_PREFIX)]
    for root in roots:
        if _abandoned(root):
            shutil.rmtree(root, ignore_errors=True)


def _abandoned(root: str) -> bool:
    try:
        descriptor = os.open(os.path.join(root, _LOCK), os.O_RDWR | os.O_CLOEXEC)  # noqa: PTH118
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
