"""Fetching a runtime: through the real pip, from a tiny wheel in a folder that stands for the package index."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import signal
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from triton_inprocess import _installer, runtime
from triton_inprocess.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
    UnsupportedError,
)

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MACHINE = platform.machine()
VERSION = "7.8.9"
LIBRARY = "nvidia_pytriton.libs/libtritonserver-0123abcd.so"
STUB = "triton_python_backend_stub"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="runtimes exist for Linux only")


def build_wheel(folder: Path, version: str = VERSION, extra: dict[str, bytes] | None = None) -> Path:
    """A wheel laid out like nvidia-pytriton's, a few hundred bytes in size."""
    information = f"nvidia_pytriton-{version}.dist-info"
    plain = {
        LIBRARY: b"library",
        "nvidia_pytriton.libs/libneeded.so.1": b"needed",
        "pytriton/__init__.py": b"raise AssertionError('not needed')",
        "pytriton/tritonserver/backends/python/libtriton_python.so": b"backend",
        "pytriton/tritonserver/caches/local/libtritoncache_local.so": b"cache",
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: nvidia-pytriton\nVersion: {version}\n".encode(),
        f"{information}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{information}/RECORD": b"",
        f"{information}/LICENSE": b"licence",
        **(extra or {}),
    }
    executable = {
        "pytriton/tritonserver/bin/tritonserver": b"not needed",
        f"pytriton/tritonserver/python_backend_stubs/{PYTHON}/{STUB}": b"stub",
        f"pytriton/tritonserver/python_backend_stubs/3.8/{STUB}": b"old stub",
    }
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"nvidia_pytriton-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for contents, mode in ((plain, 0o644), (executable, 0o755)):
            for name, content in contents.items():
                member = zipfile.ZipInfo(name)
                member.external_attr = (stat.S_IFREG | mode) << 16
                archive.writestr(member, content)
    return wheel


def pin(monkeypatch: pytest.MonkeyPatch, wheel: Path, version: str = VERSION) -> None:
    monkeypatch.setitem(_installer.PINS, (version, MACHINE), hashlib.sha256(wheel.read_bytes()).hexdigest())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which pip looks for wheels; nothing else is asked."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(runtime.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(runtime, "_SYSTEM_PREFIX", str(tmp_path / "opt" / "tritonserver"))
    return folder


@pytest.fixture
def wheel(index: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = build_wheel(index)
    pin(monkeypatch, made)
    return made


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.usefixtures("wheel")
def test_the_needed_files_are_installed_and_found() -> None:
    told: list[str] = []
    installation = _installer.install(VERSION, report=told.append)
    assert installation == _installer.Installation(VERSION, runtime.runtimes_directory() / VERSION, fresh=True)
    assert runtime.find() == installation.path / LIBRARY
    assert contents(installation.path) == {
        LIBRARY,
        "nvidia_pytriton.libs/libneeded.so.1",
        "pytriton/tritonserver/backends/python/libtriton_python.so",
        f"pytriton/tritonserver/backends/python/{STUB}",
        "pytriton/tritonserver/caches/local/libtritoncache_local.so",
        f"pytriton/tritonserver/python_backend_stubs/{PYTHON}/{STUB}",
        f"pytriton/tritonserver/python_backend_stubs/3.8/{STUB}",
        f"nvidia_pytriton-{VERSION}.dist-info/LICENSE",
        "triton-inprocess-runtime.json",
    }
    assert names_in(installation.path.parent) == [VERSION]
    assert any("downloading" in text for text in told)


@pytest.mark.usefixtures("wheel")
def test_the_stub_of_this_python_is_executable_where_the_python_backend_expects_it(tmp_path: Path) -> None:
    _installer.install(VERSION, tmp_path / "runtime")
    stub = tmp_path / "runtime" / "pytriton" / "tritonserver" / "backends" / "python" / STUB
    assert stub.is_symlink()
    assert stub.read_bytes() == b"stub"
    assert os.access(stub, os.X_OK)
    assert not (tmp_path / "runtime" / LIBRARY).stat().st_mode & 0o111
    # The tree can be moved as a whole.
    (tmp_path / "runtime").rename(tmp_path / "moved")
    assert (tmp_path / "moved" / "pytriton" / "tritonserver" / "backends" / "python" / STUB).read_bytes() == b"stub"


@pytest.mark.usefixtures("wheel")
def test_without_a_stub_for_this_python_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class LaterPython:
        major, minor = 3, 99

    monkeypatch.setattr(sys, "version_info", LaterPython)
    _installer.install(VERSION, tmp_path / "runtime")
    assert not os.path.lexists(tmp_path / "runtime" / "pytriton" / "tritonserver" / "backends" / "python" / STUB)


def test_a_stub_that_the_wheel_has_in_place_is_kept(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"pytriton/tritonserver/backends/python/{STUB}"
    pin(monkeypatch, build_wheel(index, extra={name: b"in place"}))
    _installer.install(VERSION, tmp_path / "runtime")
    assert (tmp_path / "runtime" / name).read_bytes() == b"in place"


def test_an_installed_version_is_kept(wheel: Path) -> None:
    path = _installer.install(VERSION).path
    before = (path / LIBRARY).stat()
    wheel.unlink()
    assert _installer.install(VERSION) == _installer.Installation(VERSION, path, fresh=False)
    assert (path / LIBRARY).stat() == before


@pytest.mark.usefixtures("wheel")
def test_an_install_of_ours_that_lost_its_library_is_replaced() -> None:
    path = _installer.install(VERSION).path
    (path / LIBRARY).unlink()
    assert _installer.install(VERSION).fresh
    assert (path / LIBRARY).read_bytes() == b"library"
    assert names_in(path.parent) == [VERSION]


@pytest.mark.usefixtures("wheel")
def test_an_empty_folder_is_taken_and_a_relative_one_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert _installer.install(VERSION, "empty").path == tmp_path / "empty"
    assert runtime.find("empty") == tmp_path / "empty" / LIBRARY


@pytest.mark.usefixtures("wheel")
def test_a_folder_with_something_else_is_not_touched(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.txt").write_text("precious")
    with pytest.raises(AlreadyExistsError, match="taken' is not empty"):
        _installer.install(VERSION, taken)
    with pytest.raises(AlreadyExistsError, match="is not a folder"):
        _installer.install(VERSION, taken / "thesis.txt")
    assert contents(taken) == {"thesis.txt"}


def test_a_folder_with_another_version_is_not_touched(
    index: Path, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin(monkeypatch, build_wheel(index, "7.9.0"), "7.9.0")
    _installer.install(VERSION, tmp_path / "runtime")
    with pytest.raises(AlreadyExistsError, match=f"holds version {VERSION}"):
        _installer.install("7.9.0", tmp_path / "runtime")


def test_a_wheel_with_another_hash_is_refused(index: Path, wheel: Path) -> None:
    expected = hashlib.sha256(wheel.read_bytes()).hexdigest()
    build_wheel(index, extra={"nvidia_pytriton.libs/evil.so": b"evil"})
    with pytest.raises(UnavailableError) as caught:
        _installer.install(VERSION)
    assert expected in str(caught.value)
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in str(caught.value)
    assert names_in(runtime.runtimes_directory()) == []


@pytest.mark.parametrize("name", ["../evil", "/evil", "nvidia_pytriton.libs/../../evil", "a\\..\\evil"])
def test_a_member_outside_of_the_wheel_is_refused(
    index: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin(monkeypatch, build_wheel(index, extra={name: b"evil"}))
    with pytest.raises(UnavailableError, match="lies outside"):
        _installer.install(VERSION)
    assert names_in(runtime.runtimes_directory()) == []
    assert not list(tmp_path.rglob("*evil"))


def test_a_symbolic_link_in_the_wheel_is_refused(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = build_wheel(index)
    with zipfile.ZipFile(made, "a") as archive:
        link = zipfile.ZipInfo("nvidia_pytriton.libs/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc")
    pin(monkeypatch, made)
    with pytest.raises(UnavailableError, match="neither file nor folder"):
        _installer.install(VERSION)


def test_a_wheel_without_a_library_is_refused(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LIBRARY", "nvidia_pytriton.libs/other.so")
    pin(monkeypatch, build_wheel(index))
    with pytest.raises(UnavailableError, match="holds no libtritonserver"):
        _installer.install(VERSION)
    assert names_in(runtime.runtimes_directory()) == []


@pytest.mark.usefixtures("index")
def test_an_unknown_version_is_refused_and_the_known_ones_are_listed() -> None:
    with pytest.raises(InvalidArgumentError, match=r"'6\.6\.6'.*0\.7\.0"):
        _installer.install("6.6.6")
    assert not runtime.runtimes_directory().exists()


@pytest.mark.usefixtures("index")
def test_what_pip_says_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_installer.PINS, (VERSION, MACHINE), "0" * 64)
    with pytest.raises(UnavailableError, match=f"(?s)glibc.*nvidia-pytriton=={VERSION}"):
        _installer.install(VERSION)
    assert names_in(runtime.runtimes_directory()) == []


@pytest.mark.usefixtures("wheel")
def test_an_environment_without_pip_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pip" else real(name))
    with pytest.raises(UnavailableError, match="ensurepip"):
        _installer.install(VERSION)


@pytest.mark.parametrize("destination", ["", "/"])
@pytest.mark.usefixtures("wheel")
def test_a_destination_that_cannot_be_one_is_refused(destination: str) -> None:
    with pytest.raises((InvalidArgumentError, AlreadyExistsError), match="destination"):
        _installer.install(VERSION, destination)


def test_a_machine_without_wheels_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert _installer.known_versions() == ()
    with pytest.raises(UnsupportedError, match="riscv64"):
        _installer.install()


def test_every_pin_is_a_hash_and_the_default_is_known_on_both_machines() -> None:
    assert all(len(checksum) == 64 and int(checksum, 16) for checksum in _installer.PINS.values())
    assert len(set(_installer.PINS.values())) == len(_installer.PINS)
    assert {machine for version, machine in _installer.PINS if version == _installer.DEFAULT_VERSION} == {
        "x86_64",
        "aarch64",
    }


# An install in a process of its own, with the pin of the test's wheel; it says what it did.
CHILD = """
import sys
sys.path[:] = {path!r}
from triton_inprocess import _installer
_installer.PINS[{key!r}] = {checksum!r}
{before}
print(_installer.install({version!r}).fresh, flush=True)
"""


def start_install(wheel: Path, before: str = "") -> subprocess.Popen[str]:
    script = CHILD.format(
        path=sys.path,
        key=(VERSION, MACHINE),
        checksum=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        before=before,
        version=VERSION,
    )
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


HANG_BEFORE_RENAME = """
import time
def hang(*arguments):
    print("unpacked", flush=True)
    time.sleep(600)
_installer._move_into_place = hang
"""


def test_a_killed_install_leaves_nothing_half_made_and_the_next_one_cleans_up(wheel: Path) -> None:
    with start_install(wheel, HANG_BEFORE_RENAME) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "unpacked\n"
        child.send_signal(signal.SIGKILL)
    root = runtime.runtimes_directory()
    assert not (root / VERSION).exists()
    assert all(not each.path.is_relative_to(root) for each in runtime.installed())
    left = [name for name in names_in(root) if "installing" in name]
    assert len(left) == 1, "the killed install had unpacked into a folder beside the final one"
    assert _installer.install(VERSION).fresh
    assert names_in(root) == [VERSION]


def test_an_interrupted_install_cleans_up_itself(wheel: Path) -> None:
    with start_install(wheel, HANG_BEFORE_RENAME) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "unpacked\n"
        child.send_signal(signal.SIGINT)
    assert names_in(runtime.runtimes_directory()) == []


def test_of_concurrent_installs_one_installs_and_the_others_keep_it(wheel: Path) -> None:
    children = [start_install(wheel) for _ in range(4)]
    answers = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0] * 4
    assert sorted(answers) == ["False\n"] * 3 + ["True\n"]
    assert names_in(runtime.runtimes_directory()) == [VERSION]


def test_a_waiting_install_says_so(wheel: Path) -> None:
    with start_install(wheel, HANG_BEFORE_RENAME) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "unpacked\n"
        told: list[str] = []

        def report(text: str) -> None:
            told.append(text)
            child.kill()

        assert _installer.install(VERSION, report=report).fresh
    assert told[0] == "waiting for another install to end"


@pytest.mark.usefixtures("wheel")
def test_what_was_installed_is_written_down() -> None:
    path = _installer.install(VERSION).path
    written = json.loads((path / "triton-inprocess-runtime.json").read_text())
    assert written["version"] == VERSION
    assert written["sha256"] == _installer.PINS[VERSION, MACHINE]
    with pytest.raises(NotFoundError):
        runtime.find(path / "pytriton")
