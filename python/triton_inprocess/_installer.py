"""Fetching a runtime: the library and the backends out of NVIDIA's `nvidia-pytriton` wheel, taken by pip.

Only wheels whose SHA-256 is written down here are unpacked. A runtime appears under its final name by one rename, so
an install that is killed leaves none behind; what it had unpacked is removed by the next one.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from . import runtime
from .errors import AlreadyExistsError, InvalidArgumentError, NotFoundError, UnavailableError, UnsupportedError

__all__ = ["DEFAULT_VERSION", "PINS", "Installation", "install", "known_versions"]

DEFAULT_VERSION = "0.7.0"

#: (version, machine) of each known wheel of nvidia-pytriton, with the SHA-256 of that file.
PINS: dict[tuple[str, str], str] = {
    ("0.7.0", "x86_64"): "21f063ff93bb426d0c06b7a55e7eb9efcfe62c0dddd9a908e9877e18710128df",
    ("0.7.0", "aarch64"): "f99e07ee56fe065337453956afba17d2673e02ec6a632c3de26ce6e7b32a0898",
    ("0.6.0", "x86_64"): "d102ce46237bbdf094fbcc7a0f02db3bc9dd4a9f683cc2fd746d6c9b9858bdf5",
    ("0.5.0", "x86_64"): "f46a3c03fb0893948f57c1d5470998a6f403f2c8036d7af944c817a8fba31a46",
    ("0.4.2", "x86_64"): "8f79e8bda28961a49d5c64474c17664e10b1bb08018b7ee7bcbd81bcff86e266",
    ("0.3.1", "x86_64"): "cf885f5581d3585ca2eb8c372e9d914e1ba1f6266fe8a7c057083d3e4a874a71",
    ("0.1.5", "x86_64"): "b711c175e9ccfee7aad52d57f81c74e3707194d4321da8b45d1d64a0a7cc7504",
}

_PACKAGE = "nvidia-pytriton"
_MARKER = "triton-inprocess-runtime.json"
_PYTHON_BACKEND_STUB = "triton_python_backend_stub"
_NEEDED_FOLDERS = (
    "nvidia_pytriton.libs",
    "pytriton/tritonserver/backends",
    "pytriton/tritonserver/caches",
    "pytriton/tritonserver/python_backend_stubs",
)
_COPY_BYTES = 1 << 20

Report = Callable[[str], None]


@dataclass(frozen=True)
class Installation:
    """A fetched runtime: its prefix, and whether this call fetched it (`False`: it was there already)."""

    version: str
    path: Path
    fresh: bool


def known_versions(machine: str | None = None) -> tuple[str, ...]:
    """The versions that can be fetched for `machine` (by default this one), as `platform.machine()` calls it."""
    machine = platform.machine() if machine is None else machine
    return tuple(version for version, each in PINS if each == machine)


def install(
    version: str = DEFAULT_VERSION,
    destination: str | os.PathLike[str] | None = None,
    report: Report = lambda text: None,
) -> Installation:
    """Fetches runtime `version` into the folder `destination`, by default one in the user's cache folder.

    Where that version is installed already, it is kept. `report` is told what is being done, for showing it.
    Installs into one folder wait for each other.

    Raises `InvalidArgumentError` for a version that is not known, `UnsupportedError` where there is no wheel for
    this machine, `AlreadyExistsError` when the folder holds something else, `UnavailableError` when pip is missing,
    cannot fetch the wheel, or fetches one that is not the known one, and `OSError` when the disk refuses.
    """
    checksum = _checksum_of(version)
    target = _target(version, destination)
    # What is there is whole, so it needs no lock, and no folder that may be written to.
    if _holds(target, version):
        return Installation(version, target, fresh=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target, report) as lock:
        _remove_left_behind(target)
        if _holds(target, version):
            return Installation(version, target, fresh=False)
        with _staging(target) as staging:
            wheel = _download(version, staging, lock, report)
            _check(wheel, checksum)
            report(f"unpacking {wheel.name}")
            tree = staging / "tree"
            tree.mkdir()
            _unpack(wheel, tree)
            _link_stub(tree)
            _write_marker(tree, version, wheel.name, checksum)
            _move_into_place(tree, target, staging)
    return Installation(version, target, fresh=True)


def _checksum_of(version: str) -> str:
    machine = platform.machine()
    if sys.platform != "linux" or not known_versions(machine):
        raise UnsupportedError(f"no Triton runtime can be fetched for {sys.platform} on {machine}")
    checksum = PINS.get((version, machine))
    if checksum is None:
        known = ", ".join(known_versions(machine))
        raise InvalidArgumentError(f"version: '{version}' is not a known runtime for {machine}; known are {known}")
    return checksum


def _target(version: str, destination: str | os.PathLike[str] | None) -> Path:
    if destination is None:
        return runtime.runtimes_directory() / version
    if not os.fspath(destination):
        raise InvalidArgumentError("destination: '' is no path; expected the folder to install into")
    target = Path(destination).expanduser().absolute()
    if not target.name:
        raise InvalidArgumentError(f"destination: '{target}' cannot be a runtime's folder")
    return target


@contextmanager
def _locked(target: Path, report: Report) -> Generator[int]:
    """Holds the lock of `target`; yields its file descriptor, whose heirs hold the lock too."""
    path = target.with_name(f".{target.name}.lock")
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _acquire(lock, report)
            # Whoever held the lock before removed the file: a lock on a file without a name excludes nobody.
            if _is_at(lock, path):
                break
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
    try:
        yield lock
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _acquire(lock: int, report: Report) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        report("waiting for another install to end")
        fcntl.flock(lock, fcntl.LOCK_EX)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _staging_prefix(target: Path) -> str:
    return f".{target.name}.installing-"


@contextmanager
def _staging(target: Path) -> Generator[Path]:
    # Beside the target, since a rename does not cross file systems.
    staging = Path(tempfile.mkdtemp(prefix=_staging_prefix(target), dir=target.parent))
    try:
        yield staging
    finally:
        shutil.rmtree(staging)


def _remove_left_behind(target: Path) -> None:
    """Removes what killed installs left; nobody else is at it, because the lock is held."""
    prefix = _staging_prefix(target)
    for path in target.parent.iterdir():
        if path.name.startswith(prefix):
            shutil.rmtree(path)


def _holds(target: Path, version: str) -> bool:
    """Whether `target` holds that version, whole. Raises when it holds anything that is not ours to replace."""
    if not target.is_dir():
        if os.path.lexists(target):
            raise AlreadyExistsError(f"destination: '{target}' is not a folder")
        return False
    if not any(target.iterdir()):
        return False
    present = _marked_version(target)
    if present is None:
        raise AlreadyExistsError(
            f"destination: '{target}' is not empty and holds no runtime that this command installed"
        )
    if present != version:
        raise AlreadyExistsError(
            f"destination: '{target}' holds version {present}: remove it, or choose another folder for {version}"
        )
    try:
        runtime.find(target)
    except NotFoundError:
        return False
    return True


def _marked_version(target: Path) -> str | None:
    try:
        content = json.loads((target / _MARKER).read_text(encoding="utf-8"))
        return str(content["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _download(version: str, staging: Path, lock: int, report: Report) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise UnavailableError(
            f"pip, which fetches the runtime, is missing from {sys.executable}: "
            "add it with `python -m ensurepip` (or `uv pip install pip`)"
        )
    folder = staging / "download"
    folder.mkdir()
    report(f"downloading {_PACKAGE} {version}")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), f"{_PACKAGE}=={version}"]
    # pip inherits the lock: were this process killed, nobody would remove the folder while pip writes into it.
    outcome = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        pass_fds=(lock,),
    )
    wheels = sorted(folder.glob("*.whl"))
    if outcome.returncode != 0 or len(wheels) != 1:
        raise UnavailableError(
            f"pip could not fetch {_PACKAGE} {version}, whose wheels are for {platform.machine()} Linux with "
            f"glibc 2.35 or newer (this is {' '.join(platform.libc_ver()) or 'no glibc'}). It ended with status "
            f"{outcome.returncode} and said:\n{(outcome.stderr or outcome.stdout).strip()}"
        )
    return wheels[0]


def _check(wheel: Path, expected: str) -> None:
    digest = hashlib.sha256()
    with wheel.open("rb") as file:
        while block := file.read(_COPY_BYTES):
            digest.update(block)
    if digest.hexdigest() != expected:
        raise UnavailableError(
            f"{wheel.name} is not the known file and was not installed: "
            f"its SHA-256 is {digest.hexdigest()}, expected {expected}"
        )


def _unpack(wheel: Path, tree: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        members = archive.infolist()
        for member in members:
            _refuse_escape(member, wheel)
        for member in members:
            if not member.is_dir() and _is_needed(PurePosixPath(member.filename)):
                _extract(archive, member, tree)


def _refuse_escape(member: zipfile.ZipInfo, wheel: Path) -> None:
    # orig_filename is what the archive says; filename has been tidied for this platform.
    for name in (member.filename, member.orig_filename):
        if not name or name.startswith("/") or "\\" in name or "\0" in name or ".." in PurePosixPath(name).parts:
            raise UnavailableError(f"{wheel.name} was not installed: its member {name!r} lies outside of it")
    mode = member.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UnavailableError(f"{wheel.name} was not installed: {member.filename!r} is neither file nor folder")


def _is_needed(name: PurePosixPath) -> bool:
    if any(name.is_relative_to(folder) for folder in _NEEDED_FOLDERS):
        return True
    return name.parts[0].endswith(".dist-info") and name.name == "LICENSE"


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, tree: Path) -> None:
    path = tree / member.filename
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, path.open("xb") as file:
        shutil.copyfileobj(source, file, _COPY_BYTES)
    if (member.external_attr >> 16) & 0o111:
        mode = stat.S_IMODE(path.stat().st_mode)
        # Executable for whoever may read it.
        path.chmod(mode | (mode & 0o444) >> 2)


def _link_stub(tree: Path) -> None:
    """Puts this Python's stub where Triton's python backend expects one; wheels of old have it there already."""
    triton = tree / "pytriton" / "tritonserver"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = triton / "python_backend_stubs" / version / _PYTHON_BACKEND_STUB
    link = triton / "backends" / "python" / _PYTHON_BACKEND_STUB
    if stub.is_file() and link.parent.is_dir() and not link.exists():
        link.symlink_to(os.path.relpath(stub, link.parent))


def _write_marker(tree: Path, version: str, wheel: str, checksum: str) -> None:
    content = {"version": version, "wheel": wheel, "sha256": checksum}
    (tree / _MARKER).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _move_into_place(tree: Path, target: Path, staging: Path) -> None:
    try:
        runtime.find(tree)
    except NotFoundError as error:
        raise UnavailableError(f"the wheel holds no libtritonserver and was not installed: {error}") from error
    if target.is_dir() and any(target.iterdir()):
        # A damaged install of ours (see _holds): out of the way first, to be removed with the staging folder.
        target.rename(staging / "damaged")
    # Over an empty folder, too, this is one step.
    tree.rename(target)
